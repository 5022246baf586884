// Fields of values in words, for messages: which one a byte belongs to, and what it holds.
#pragma once

#include "base/text.h"
#include "store/schema.h"

// Writes the path to the field that byte `offset` of a value belongs to: `place.x`, `slots[3].item`; of a type whose
// fields are not known, and of padding, `byte 12`. Elements of arrays of arrays are numbered through.
void mi_field_path(const mica_schema *schema, const mi_type *type, uint32_t offset, mi_text_out *out);

// Writes what that field holds: a number, `true`, a text in quotation marks, an entity as `7:2`, an enumerator by its
// name, a byte as `0x1f`. Values that differ read differently: fractions have as many digits as that takes, and what is
// not a number has its bits beside it.
void mi_field_value(const mica_schema *schema, const mi_type *type, uint32_t offset, const void *value,
                    mi_text_out *out);

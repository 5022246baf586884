// Fields that are indexed: which can be, where they lie in a value, and their values as words that compare like them.
#pragma once

#include "store/fields.h"
#include "store/refusal.h"
#include "store/schema.h"

#define MI_KEY_WORDS_MAX (MICA_INDEXED_TEXT_MAX / 8)

// How many indexes traits ask for.
uint32_t mi_index_traits_count(const mica_traits *traits);

// Whether a type's indexes can be had, as far as its own text says: nested types are looked up when somebody asks for
// the index. `declaration` is what the text says, NULL: nothing, because of `fault` (its reason is NULL: there is no
// text).
bool mi_index_traits_check(const mica_type *type, const mi_declaration *declaration, const mi_text_fault *fault,
                           mi_refusal *refusal);

// A field whose values are keys.
typedef struct mi_index_key {
    mica_field_kind kind;
    bool is_signed; // MICA_FIELD_ENUM
    uint32_t offset;
    uint32_t size;
    uint32_t word_count;
} mi_index_key;

// Finds the field of a registered type that a path leads to. False, with the error set: MICA_UNREFLECTED (fields on the
// way are not known), MICA_BAD_TYPE (there is none of that name, or nothing that can be indexed), MICA_OUT_OF_MEMORY.
bool mi_index_key_find(const mica_schema *schema, const mi_type *type, const char *path, mi_index_key *key,
                       const char *call);

// Writes the words of the key at `value`: `word_count` of them, which compare as the values do, from the first on.
// Numbers in ascending order with -0 as 0 and all NaN as one number above all others, false before true, entities by
// index and then generation, texts by their bytes. True: `value` is a text that does not fit into the field; the words
// are of what fits. A text is read up to its end: at most
// `size` bytes, and, if it `is_closed` by a zero for sure, one more.
bool mi_index_key_encode(const mi_index_key *key, const void *value, uint64_t *words, bool is_closed);

// The text of a struct's or an enumeration's body, read into fields or enumerators, without a schema: nested types are
// names until somebody looks them up.
#pragma once

#include <mica/schema.h>

#include "base/array.h"
#include "store/lexer.h"

// What a nested type was called.
typedef enum mi_nested {
    MI_NESTED_NONE,
    MI_NESTED_ANY, // a plain name
    MI_NESTED_STRUCT,
    MI_NESTED_ENUM
} mi_nested;

// A field as declared. Names are bytes of the text.
typedef struct mi_declared_field {
    uint32_t name_offset, name_length;
    uint32_t type_offset, type_length; // of a nested type
    mi_nested nested;
    mica_component type; // of a nested type: whoever looks it up fills this, kind, size and align
    mica_field_kind kind;
    uint32_t size, align; // of one element
    uint32_t own_align;   // asked for by an alignment specifier; 0: none
    uint32_t count;
    uint32_t offset; // filled by mi_declaration_lay_out
    bool is_array;
} mi_declared_field;

typedef struct mi_declared_enumerator {
    uint32_t name_offset, name_length;
    int64_t value;
} mi_declared_enumerator;

// What stands in a body: fields or enumerators, in order. Zero is empty.
typedef struct mi_declaration {
    MI_ARRAY(mi_declared_field) fields;
    MI_ARRAY(mi_declared_enumerator) enumerators;
    bool has_nested;
} mi_declaration;

typedef enum mi_parsed { MI_PARSED, MI_PARSED_FAULT, MI_PARSED_NO_MEMORY } mi_parsed;

// Reads the body of a MICA_KIND_STRUCT or MICA_KIND_ENUM. MI_PARSED_FAULT: the text is beyond what fields can say, or
// no C at all, and `fault` says where. Always to be followed by mi_declaration_free. O(bytes of the text), for an
// enumeration that refers to its own names O(bytes * enumerators).
mi_parsed mi_declaration_parse(mi_heap *heap, mica_type_kind kind, const char *text, mi_declaration *declaration,
                               mi_text_fault *fault);
void mi_declaration_free(mi_declaration *declaration, mi_heap *heap);

typedef struct mi_layout {
    uint32_t size;  // of the whole struct; UINT32_MAX: that, or more
    uint32_t align; // that the fields need
} mi_layout;

// Gives the fields their offsets by the rules of the C ABI, in a struct aligned to `align` bytes or to what its fields
// need, whichever is more. Sizes and alignments of all elements must be filled.
mi_layout mi_declaration_lay_out(mi_declaration *declaration, uint32_t align);

// The first enumerator whose value `byte_size` bytes cannot hold beside the others; NULL: none.
const mi_declared_enumerator *mi_declaration_misfit(const mi_declaration *declaration, uint32_t byte_size);

typedef enum mi_agreement { MI_AGREE, MI_DISAGREE, MI_AGREE_NO_MEMORY } mi_agreement;

// Whether two texts declare the same fields or enumerators in other words (`float x, y;` and `float x; float y;`).
mi_agreement mi_declarations_agree(mi_heap *heap, mica_type_kind kind, const char *a_text, const char *b_text);

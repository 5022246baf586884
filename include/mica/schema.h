/// \file schema.h
/// The set of component types that worlds share, and what is known of their fields.
///
/// A schema is reference-counted and may be used by any number of worlds on any threads; its functions may be called on
/// any thread at any time. Types are only ever added; what a schema hands out stays valid and unchanged until it is
/// gone.
#pragma once

#include <mica/memory.h>
#include <mica/result.h>
#include <mica/type.h>

MICA_BEGIN

typedef struct mica_schema mica_schema;

/// How a schema is made. Zero is the default everywhere.
typedef struct mica_schema_def {
    mica_allocator allocator; ///< zero: the default allocator; called under the schema's lock, on any thread
    mica_log_handler log;
    size_t fixed_byte_size; ///< 0: memory is taken as needed; otherwise so many bytes once, and none afterwards
} mica_schema_def;

/// Makes a schema with one reference, held by the caller; NULL: out of memory or half an allocator. `def` may be NULL.
/// O(1).
MICA_API mica_schema *mica_schema_create(const mica_schema_def *def);

/// Takes a further reference and returns `schema`. O(1).
MICA_API mica_schema *mica_schema_retain(mica_schema *schema);

/// Gives a reference back; the last one frees the schema. NULL is allowed. O(types) for the last.
MICA_API void mica_schema_release(mica_schema *schema);

/// The id of `type` in the schema; copies the descriptor, texts included, if its name is new. Required types are
/// registered along, in order of their distance. A descriptor whose name is known must agree with what is known: in
/// size, alignment, kind, traits (a default and what it stands for are the same; hooks: which of them there are; those
/// of the first descriptor stay) and fields. One without fields agrees with any; a type that was declared without gets
/// them from the first descriptor that has them.
///
/// 0 on failure, and then no type is added: `MICA_MISMATCH` (does not agree; the message says both, or names the
/// trait), `MICA_BAD_TYPE` (empty or overlong name, a size of 0 or over `MICA_SIZE_MAX`, an alignment that is no power
/// of two or over `MICA_ALIGN_MAX` or that does not divide the size, a tag with data or hooks, fields that disagree
/// with the size, names of an enumeration with values that it cannot hold, a second name for a relation),
/// `MICA_LIMIT` (`MICA_COMPONENT_MAX` types), `MICA_OUT_OF_MEMORY`, `MICA_INVALID`.
///
/// Traits are refused with `MICA_BAD_TYPE` if they contradict each other or the type: a storage or a layout that is not
/// known; in tables `stable`, `page_size`, `MICA_PACKED` and `MICA_PAGED`; in pools `MICA_LANES`, `stable` with
/// `MICA_PACKED`, `page_size` with `MICA_PACKED`, a `page_size` that is no power of two or over `MICA_PAGE_SIZE_MAX`, a
/// page of more than `MICA_PAGE_BYTE_SIZE_MAX` bytes (0 is the default, not a size); for tags `stable`, `layout`,
/// `page_size`, `always_dirty` and `track_rows`; for relations `MICA_POOL`, `always_dirty` and `toggle`; the hook
/// `read` without `write`; `MICA_LANES` with hooks or indexes, for an enumeration, over `MICA_LANES_SIZE_MAX` bytes or
/// `MICA_LANES_ALIGN_MAX`, and for fields that are not known by then: types of its fields are to be registered before.
/// An index is refused for a tag, an enumeration, a relation, an `always_dirty` type and a type whose fields are not
/// known; for a field that is not there, an array, or a text of more than `MICA_INDEXED_TEXT_MAX` bytes; the second
/// time for the same field. O(length of the texts + types that come along); O(1) without a lock for a descriptor that
/// was last used with this schema.
MICA_API mica_component mica_schema_register(mica_schema *schema, mica_type *type);

/// Registers the C type of `type` once more, under `name`: an independent component with the same size, alignment and
/// fields, for many tags or values of one type whose names are known at run time. `traits` NULL: those of `type`; if
/// they are given without hooks, the hooks are those of `type`. It is used by id; the name is copied. `MICA_NAMED`
/// (type.h) does the same for names that are known when a program is written. 0 on failure: as `mica_schema_register`;
/// a name that is known must agree with what is known. Not cached: O(length of the texts).
MICA_API mica_component mica_schema_register_named(mica_schema *schema, const mica_type *type, const char *name,
                                                   const mica_traits *traits);

/// The id of the type named `name`, or 0 (no error). O(length of the name).
MICA_API mica_component mica_schema_find(const mica_schema *schema, const char *name);

/// How many types the schema holds; their ids are 1 to this number. O(1).
MICA_API int32_t mica_schema_count(const mica_schema *schema);

/// What a schema knows of a component type.
typedef struct mica_component_info {
    mica_component id;
    mica_type_kind kind;
    uint32_t size;  ///< bytes of a value; 0 for a tag
    uint32_t align; ///< bytes
    bool transient;
    bool stable;
    bool always_dirty;
    bool toggle;
    bool track_rows;
    mica_storage storage; ///< `MICA_TABLE` or `MICA_POOL`
    mica_layout layout;   ///< of a pool with data: `MICA_PACKED` or `MICA_PAGED`; of a table: `MICA_LANES` if asked for
    uint32_t page_size;   ///< of a paged pool: values a page; otherwise 0
    const char *name;
    const mica_index_trait *indexes; ///< fields that can be asked for, in the order in which the type names them
    int32_t index_count;
    const mica_component *required; ///< all types that come along, direct ones first; never the type itself
    int32_t required_count;
    mica_hooks hooks;
} mica_component_info;

/// What is known of type `id`; NULL: `MICA_UNKNOWN`. O(1).
MICA_API const mica_component_info *mica_schema_info(const mica_schema *schema, mica_component id);

/// What a field holds.
typedef enum mica_field_kind {
    MICA_FIELD_BOOL,   ///< 1 byte
    MICA_FIELD_INT,    ///< signed, 1, 2, 4 or 8 bytes
    MICA_FIELD_UINT,   ///< unsigned, 1, 2, 4 or 8 bytes
    MICA_FIELD_FLOAT,  ///< 4 or 8 bytes
    MICA_FIELD_TEXT,   ///< `char [size]` that holds a text closed by zero; `char [n][size]` is an array of n texts
    MICA_FIELD_ENTITY, ///< a `mica_entity`
    MICA_FIELD_ENUM,   ///< an enumeration known to the schema as `type`, signed if one of its values is negative
    MICA_FIELD_STRUCT  ///< a struct known to the schema as `type`
} mica_field_kind;

/// One field of a struct, in order of declaration.
typedef struct mica_field {
    const char *name;
    mica_field_kind kind;
    mica_component type; ///< of an enumeration or a nested struct; 0 otherwise
    uint32_t offset;     ///< bytes from the start of the struct
    uint32_t size;       ///< bytes of one element; of a text, its capacity
    uint32_t count;      ///< elements, which follow each other; 1 if it is no array; arrays of arrays are flattened
    bool is_array;       ///< declared as an array, of one element too; a single text is none
} mica_field;

/// The fields of type `id` and their number (`count` may be NULL). NULL: `MICA_UNREFLECTED` (declared without fields, a
/// text beyond what `MICA_STRUCT` says, a nested type that the schema does not know or whose own fields are not known,
/// nested types that disagree with the size; each said in the message, with its place in the text), `MICA_UNKNOWN`,
/// `MICA_OUT_OF_MEMORY`. A tag and an enumeration have none: `MICA_UNREFLECTED`. What is known stays so; what is not
/// may come to be known with a further type. O(length of the text) the first time, then O(1) without a lock.
MICA_API const mica_field *mica_schema_fields(const mica_schema *schema, mica_component id, int32_t *count);

/// One name of an enumeration, with its value.
typedef struct mica_enumerator {
    const char *name;
    int64_t value;
} mica_enumerator;

/// The names of enumeration `id` in order of declaration and their number. NULL: as `mica_schema_fields`, and
/// `MICA_UNREFLECTED` for what is no enumeration. O(length of the text) the first time, then O(1) without a lock.
MICA_API const mica_enumerator *mica_schema_enumerators(const mica_schema *schema, mica_component id, int32_t *count);

MICA_END

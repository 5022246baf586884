/// \file type.h
/// Component types: the descriptor that stands beside a C type, and the macros that declare both.
///
/// A descriptor is static and belongs to the file that declares it. A schema copies it when it is first used and finds
/// it again by its name, so that two shared libraries that both declare `Position` mean one component.
#pragma once

#include <mica/config.h>
#include <mica/memory.h>
#include <mica/result.h>

MICA_BEGIN

/// A component type's id in a schema: dense, in order of registration; 0 is none.
typedef uint16_t mica_component;

/// Largest size of a component's value in bytes.
#define MICA_SIZE_MAX 65536u
/// Largest alignment of a component's value in bytes.
#define MICA_ALIGN_MAX 4096u
/// Longest name of a component type in bytes, without the closing zero.
#define MICA_NAME_MAX 1023u
/// How many component types a schema holds at most.
#define MICA_COMPONENT_MAX 65535u
/// How many types one type can require directly.
#define MICA_REQUIRED_MAX 8
/// How many indexes one type can ask for.
#define MICA_TYPE_INDEX_MAX 4
/// Largest text in bytes that can be indexed.
#define MICA_INDEXED_TEXT_MAX 256u

struct mica_world;

/// What hooks are told about their surroundings.
typedef struct mica_hook_context {
    const mica_allocator *allocator; ///< the world's allocator; what is taken from it is counted under "values"
    void *user;                      ///< the hooks' own `user`
} mica_hook_context;

/// Takes bytes in pieces.
typedef struct mica_sink {
    void (*put)(void *user, const void *bytes, size_t byte_size);
    void *user;
} mica_sink;

/// Functions for types that own something. Each works on `count` values that follow each other. A missing one means:
/// construct by zeros, copy and move by bytes, destruct by forgetting. They are called on the thread that calls the
/// library and must not call the world back. A type with `destruct` and without `copy` is move-only: it is set by
/// moving out of the caller's value, and entities that have it cannot be cloned.
typedef struct mica_hooks {
    /// Makes values in raw memory; false: could not, and nothing is left to destruct.
    bool (*construct)(void *values, int32_t count, const mica_hook_context *context) MICA_ZERO;
    /// Ends values; their memory is raw afterwards.
    void (*destruct)(void *values, int32_t count, const mica_hook_context *context) MICA_ZERO;
    /// Makes values in the raw memory `to` out of those in `from`, which are raw afterwards. The two do not overlap.
    void (*move)(void *to, void *from, int32_t count, const mica_hook_context *context) MICA_ZERO;
    /// Makes values in the raw memory `to` that equal those in `from`; false: could not, and nothing is left to
    /// destruct.
    bool (*copy)(void *to, const void *from, int32_t count, const mica_hook_context *context) MICA_ZERO;
    /// Hands what a value holds to the sink: pieces that are the same for equal values, in every process; no addresses
    /// and no padding. Checksums and comparisons see values of the type by it instead of by its fields; a type with
    /// `destruct` or `copy` whose fields are not known has to have it for them.
    void (*write)(const void *value, const mica_sink *sink, const mica_hook_context *context) MICA_ZERO;
    /// The inverse of `write`: makes a value in the raw memory `to` that holds what `byte_size` bytes tell, all pieces
    /// one behind the other. With it and `copy` deltas, and so journals, carry values of the type; without it they
    /// refuse them. The bytes may come from anywhere: nothing of them is to be trusted, nor is their address aligned,
    /// and they are gone after the call. `MICA_OK`, or with nothing left to destruct `MICA_OUT_OF_MEMORY` or
    /// `MICA_FORMAT`: `write` tells such bytes of no value. Any other code counts as `MICA_FORMAT`.
    mica_result (*read)(void *to, const void *bytes, size_t byte_size, const mica_hook_context *context) MICA_ZERO;
    void *user MICA_ZERO;
    /// \cond internal: set for the library's relations alone. Makes the relation known to a world that is about to use
    /// the type for the first time; false: out of memory.
    bool (*attach)(struct mica_world *world) MICA_ZERO;
    /// \endcond
} mica_hooks;

struct mica_type;

/// Where the values of a type live. It changes what is fast, the order of visit, and for how long the address of a
/// value is good; nothing else.
typedef enum mica_storage {
    MICA_STORAGE_DEFAULT, ///< in tables
    MICA_TABLE,           ///< in the chunks of tables: fastest to walk
    MICA_POOL             ///< in a sparse set of its own (pool.h): fastest to add and remove
} mica_storage;

/// How the values of a type lie in its storage.
typedef enum mica_layout {
    MICA_LAYOUT_DEFAULT, ///< pools: packed up to `MICA_PACKED_SIZE_MAX` bytes a value; paged above that, and if the
                         ///< type is stable or says a page size
    MICA_PACKED,         ///< pools: one array, which moves when it grows
    MICA_PAGED,          ///< pools: pages of `page_size` values, which never move
    MICA_LANES           ///< tables: an array a field (lane.h)
} mica_layout;

/// Largest value in bytes, and largest alignment, of a type whose layout is `MICA_LANES`.
#define MICA_LANES_SIZE_MAX 1024u
#define MICA_LANES_ALIGN_MAX 64u

/// Largest value in bytes that a pool keeps packed unless its type says otherwise.
#define MICA_PACKED_SIZE_MAX 32u
/// Values in a page of a pool unless its type says otherwise.
#define MICA_PAGE_SIZE_DEFAULT 1024u
/// Most values in a page of a pool.
#define MICA_PAGE_SIZE_MAX 65536u
/// Most bytes in a page of a pool.
#define MICA_PAGE_BYTE_SIZE_MAX (64u << 20)

/// What an index can be asked; see index.h.
typedef enum mica_index_kind {
    MICA_HASH,   ///< who has a value
    MICA_ORDERED ///< who has a value, or one of a range; who has the least and the greatest
} mica_index_kind;

/// An index that a type asks for: `{"hp", MICA_ORDERED}`.
typedef struct mica_index_trait {
    const char *field MICA_ZERO; ///< its name; of a field of a nested struct the path to it: `"place.x"`
    mica_index_kind kind MICA_ZERO;
} mica_index_trait;

/// What a type can ask for beside its declaration. Zero is the default everywhere. What contradicts itself is refused
/// when the type is registered; see `mica_schema_register`.
typedef struct mica_traits {
    bool transient MICA_ZERO;       ///< never saved, never sent
    mica_storage storage MICA_ZERO; ///< where values live
    bool stable MICA_ZERO;          ///< pools: a value keeps its address until it is removed or the pool is compacted
    mica_layout layout MICA_ZERO;
    uint32_t page_size MICA_ZERO; ///< paged pools: values a page, a power of two; 0: `MICA_PAGE_SIZE_DEFAULT`
    bool always_dirty MICA_ZERO;  ///< somebody writes values through addresses that the library does not see: they
                                  ///< count as changed all the time, and walks never hand out copies of them
    bool toggle MICA_ZERO;        ///< can be disabled on an entity without being removed
    bool track_rows MICA_ZERO; ///< `mica_changed` tells for each entity whether its value has changed, instead of for
                               ///< the column or page that it stands in (query.h)
    mica_index_trait indexes[MICA_TYPE_INDEX_MAX] MICA_ZERO; ///< fields by whose values entities are found (index.h);
                                                             ///< ends at the first without a name
    struct mica_type *
        required[MICA_REQUIRED_MAX] MICA_ZERO; ///< types that come along when this one is added; ends at the first NULL
    mica_hooks hooks MICA_ZERO;
} mica_traits;

/// What a type is.
typedef enum mica_type_kind {
    MICA_KIND_STRUCT, ///< plain data; fields known if their text stands in the descriptor
    MICA_KIND_TAG,    ///< no data
    MICA_KIND_ENUM    ///< an enumeration; the text holds its names
} mica_type_kind;

/// The static descriptor of a C type.
typedef struct mica_type {
    const char *name;
    const char *fields; ///< the body of the struct or enumeration as text, after macro expansion; NULL: not known
    uint32_t size;      ///< in bytes; 0 for a tag
    uint32_t align;     ///< in bytes, a power of two; 0 for a tag
    mica_type_kind kind;
    mica_traits traits;
    /// Serial number of the schema that used this descriptor last << 32 | id there, and `MICA_HEAD_POOL_BIT` or
    /// `MICA_HEAD_LANES_BIT`. Written by the library, relaxed atomic.
    uint64_t cache;
    /// The descriptor that kind, size, alignment and fields are taken over from, and hooks if none are given here: for
    /// another component of the same C type. NULL: everything stands here.
    const struct mica_type *same_as MICA_ZERO;
    bool same_traits MICA_ZERO; ///< all traits are taken over from `same_as` as well
} mica_type;

/// \cond internal: the bit of `mica_type.cache` that says that the type lives in a pool, above those of the id. Not for
/// programs: it changes from version to version.
#define MICA_HEAD_POOL_BIT 0x10000u
// The same for lanes: what holds it is over every id, so that no look-up for whole values finds any.
#define MICA_HEAD_LANES_BIT 0x20000u
/// \endcond

MICA_END

#define MICA_UNWRAP_(...) __VA_ARGS__
// Scans once more: analysers do not see by themselves that MICA_UNWRAP_ and parentheses make a call.
#define MICA_EXPAND_(...) __VA_ARGS__
#define MICA_TEXT_(...) #__VA_ARGS__
#define MICA_TEXT(...) MICA_TEXT_(__VA_ARGS__)

#ifdef __cplusplus
/// Builds a descriptor; C++17 has no designated initialisers.
constexpr mica_type mica_type_make(const char *name, const char *fields, uint32_t size, uint32_t align,
                                   mica_type_kind kind, mica_traits traits = mica_traits()) {
    return mica_type{name, fields, size, align, kind, traits, 0};
}
constexpr mica_type mica_type_make_named(const char *name, const mica_type *same_as, bool same_traits,
                                         mica_traits traits = mica_traits()) {
    return mica_type{name, nullptr, 0, 0, MICA_KIND_STRUCT, traits, 0, same_as, same_traits};
}
#define MICA_DESCRIPTOR_(T, NAME, TEXT, SIZE, ALIGN, KIND) \
    static MICA_UNUSED mica_type mica_type_##T = mica_type_make(NAME, TEXT, SIZE, ALIGN, KIND)
#define MICA_DESCRIPTOR_WITH_(T, NAME, TEXT, SIZE, ALIGN, KIND, TRAITS) \
    static MICA_UNUSED mica_type mica_type_##T =                        \
        mica_type_make(NAME, TEXT, SIZE, ALIGN, KIND, __extension__ mica_traits{MICA_EXPAND_(MICA_UNWRAP_ TRAITS)})
#define MICA_DESCRIPTOR_SAME_(T, NAME, SAME) \
    static MICA_UNUSED mica_type mica_type_##T = mica_type_make_named(NAME, &mica_type_##SAME, true)
#define MICA_DESCRIPTOR_SAME_WITH_(T, NAME, SAME, TRAITS)              \
    static MICA_UNUSED mica_type mica_type_##T = mica_type_make_named( \
        NAME, &mica_type_##SAME, false, __extension__ mica_traits{MICA_EXPAND_(MICA_UNWRAP_ TRAITS)})
#else
#define MICA_DESCRIPTOR_(T, NAME, TEXT, SIZE, ALIGN, KIND) \
    static MICA_UNUSED mica_type mica_type_##T = {         \
        .name = NAME, .fields = TEXT, .size = SIZE, .align = ALIGN, .kind = KIND}
#define MICA_DESCRIPTOR_WITH_(T, NAME, TEXT, SIZE, ALIGN, KIND, TRAITS) \
    static MICA_UNUSED mica_type mica_type_##T = {.name = NAME,         \
                                                  .fields = TEXT,       \
                                                  .size = SIZE,         \
                                                  .align = ALIGN,       \
                                                  .kind = KIND,         \
                                                  .traits = {MICA_EXPAND_(MICA_UNWRAP_ TRAITS)}}
#define MICA_DESCRIPTOR_SAME_(T, NAME, SAME) \
    static MICA_UNUSED mica_type mica_type_##T = {.name = NAME, .same_as = &mica_type_##SAME, .same_traits = true}
#define MICA_DESCRIPTOR_SAME_WITH_(T, NAME, SAME, TRAITS) \
    static MICA_UNUSED mica_type mica_type_##T = {        \
        .name = NAME, .traits = {MICA_EXPAND_(MICA_UNWRAP_ TRAITS)}, .same_as = &mica_type_##SAME}
#endif

/// Declares the C struct `T` and its descriptor, with its fields known by name:
/// `MICA_STRUCT(Position, { float x, y, z; });`
///
/// Known are fields of C's integers, `float`, `double`, `bool`, the types of `<stdint.h>`, `mica_entity`, and of
/// structs and enumerations that the schema knows by the same name; arrays of them, and of arrays, whose sizes are
/// constant expressions of numbers after macro expansion; `char` arrays, which hold texts; alignment specifiers. A
/// struct with anything else (pointers, bit-fields, unions, structs declared inside, initialisers, attributes) is a
/// component all the same; `mica_schema_fields` then says what is in the way.
#define MICA_STRUCT(T, ...)         \
    typedef struct T __VA_ARGS__ T; \
    MICA_DESCRIPTOR_(T, #T, MICA_TEXT(__VA_ARGS__), (uint32_t)sizeof(T), (uint32_t)MICA_ALIGNOF(T), MICA_KIND_STRUCT)

/// As `MICA_STRUCT`, with traits in parentheses: `MICA_STRUCT_WITH(Path, (.transient = true), { int32_t steps[8]; });`
#define MICA_STRUCT_WITH(T, TRAITS, ...)                                                                 \
    typedef struct T __VA_ARGS__ T;                                                                      \
    MICA_DESCRIPTOR_WITH_(T, #T, MICA_TEXT(__VA_ARGS__), (uint32_t)sizeof(T), (uint32_t)MICA_ALIGNOF(T), \
                          MICA_KIND_STRUCT, TRAITS)

/// As `MICA_STRUCT_WITH`, known in schemas and files by another name than in C.
#define MICA_STRUCT_NAMED_WITH(T, NAME, TRAITS, ...)                                                       \
    typedef struct T __VA_ARGS__ T;                                                                        \
    MICA_DESCRIPTOR_WITH_(T, NAME, MICA_TEXT(__VA_ARGS__), (uint32_t)sizeof(T), (uint32_t)MICA_ALIGNOF(T), \
                          MICA_KIND_STRUCT, TRAITS)

/// As `MICA_STRUCT`, known in schemas and files by another name than in C. Another struct with a field of this type
/// looks it up by its name in C, so such a struct's fields are not known.
#define MICA_STRUCT_NAMED(T, NAME, ...) \
    typedef struct T __VA_ARGS__ T;     \
    MICA_DESCRIPTOR_(T, NAME, MICA_TEXT(__VA_ARGS__), (uint32_t)sizeof(T), (uint32_t)MICA_ALIGNOF(T), MICA_KIND_STRUCT)

/// Makes an existing C type, such as one of somebody else's header, a component. Its fields are not known.
#define MICA_COMPONENT(T) \
    MICA_DESCRIPTOR_(T, #T, NULL, (uint32_t)sizeof(T), (uint32_t)MICA_ALIGNOF(T), MICA_KIND_STRUCT)

/// As `MICA_COMPONENT`, with traits in parentheses.
#define MICA_COMPONENT_WITH(T, TRAITS) \
    MICA_DESCRIPTOR_WITH_(T, #T, NULL, (uint32_t)sizeof(T), (uint32_t)MICA_ALIGNOF(T), MICA_KIND_STRUCT, TRAITS)

/// Declares a tag. There is no C type `T`, so reading its value does not compile.
#define MICA_TAG(T) MICA_DESCRIPTOR_(T, #T, NULL, 0, 0, MICA_KIND_TAG)

/// As `MICA_TAG`, with traits in parentheses.
#define MICA_TAG_WITH(T, TRAITS) MICA_DESCRIPTOR_WITH_(T, #T, NULL, 0, 0, MICA_KIND_TAG, TRAITS)

/// Declares the C enumeration `T`, known with its names: `MICA_ENUM(Color, { RED, GREEN });`
#define MICA_ENUM(T, ...)         \
    typedef enum T __VA_ARGS__ T; \
    MICA_DESCRIPTOR_(T, #T, MICA_TEXT(__VA_ARGS__), (uint32_t)sizeof(T), (uint32_t)MICA_ALIGNOF(T), MICA_KIND_ENUM)

/// Declares a further component of a C type that is one already: `MICA_NAMED(Home, Position);`. The C type `T` is
/// another name for `SAME`; the component is independent of that one and has its fields, hooks and traits. For tags
/// there is `MICA_TAG`, for names that come up at run time `mica_schema_register_named`.
#define MICA_NAMED(T, SAME) \
    typedef SAME T;         \
    MICA_DESCRIPTOR_SAME_(T, #T, SAME)

/// As `MICA_NAMED`, with traits of its own in parentheses: `MICA_NAMED_WITH(Home, Position, (.storage = MICA_POOL));`
/// The hooks are those of `SAME` if none are given.
#define MICA_NAMED_WITH(T, SAME, TRAITS) \
    typedef SAME T;                      \
    MICA_DESCRIPTOR_SAME_WITH_(T, #T, SAME, TRAITS)

/// The descriptor of a declared type: a `mica_type *`, also good in static initialisers.
#define mica_type_of(T) (&mica_type_##T)

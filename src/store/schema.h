// The component types of a schema, as the core sees them.
//
// Types are published once and never move: looking one up by id takes two loads and no lock. Everything else goes
// through the schema's lock. The structs stand here for inline functions; schema.c and reflect.c alone write them.
#pragma once

#include <mica/entity.h>
#include <mica/schema.h>

#include "base/array.h"
#include "base/atomic.h"
#include "base/heap.h"
#include "base/map.h"
#include "base/os.h"
#include "store/lexer.h"

#define MI_TYPE_PAGE_SIZE 256u

// Largest value in bytes that walks hand out copies of.
#define MI_COPIED_SIZE_MAX 256u

// What is known of a type's fields; see reflect.h.
typedef struct mi_reflection mi_reflection;

// One array of a component whose layout is MICA_LANES; see lanes.h.
typedef struct mi_lane {
    uint32_t offset; // of the field in a value
    uint32_t size;   // bytes of the field
    uint32_t before; // bytes of the fields of all lanes before it
} mi_lane;

// A component type. What is not marked otherwise is immutable once the type is published.
typedef struct mi_type {
    mica_component_info info; // first: mica_schema_info returns its address
    uint64_t name_key;        // first 8 bytes of the name, big-endian; decides most comparisons without the name
    bool has_construct;
    bool has_destruct;
    bool has_move;
    bool has_copy;
    bool movable_only; // destruct and no copy
    bool in_pool;      // lives in a pool; else in tables
    bool copies_rows;  // a walk may hand out copies of values: moved by bytes, not always dirty, not large
    bool brings_table; // its closure has a type that lives in tables
    bool brings_pool;  // its closure has a type that lives in a pool
    bool is_relation;  // written once, by mi_schema_mark_relation

    MI_ARRAY(mi_lane) lanes; // in order of declaration; none: values are whole

    uint64_t name_hash;
    char *name;
    MI_ARRAY(mica_component) closure; // what info.required points to
    mica_component required[MICA_REQUIRED_MAX];
    uint32_t required_count;                       // direct ones
    mica_index_trait indexes[MICA_TYPE_INDEX_MAX]; // what info.indexes points to

    // Written under the schema's lock after publication.
    char *fields;            // the text; NULL: none yet
    void *reflection;        // const mi_reflection *, published when the fields are first asked for and known
    uint32_t unreflected_at; // the schema's revision at which the fields were asked for in vain; 0: never
    mi_text_fault fault;     // what was wrong with the text then
    bool is_resolving;       // its fields are being found out
} mi_type;

struct mica_schema {
    uint32_t reference_count;
    uint32_t serial;
    uint32_t count;        // published after the types that it counts
    uint32_t revision;     // grows with every type and every text that comes to be known; starts at 1
    uint64_t image_number; // of the image made last (state/image.h); atomic
    mica_log_handler log;
    void *pages[(MICA_COMPONENT_MAX + MI_TYPE_PAGE_SIZE) / MI_TYPE_PAGE_SIZE]; // to pages of mi_type *, by id

    mi_lock lock; // for all that follows, and for all writing
    mi_heap heap;
    mi_map names; // to ids
};

// The way to types for which the fast one found nothing: under the lock. An id read from a descriptor's relaxed cache
// may run ahead of the type's publication; the lock orders the two.
const mi_type *mi_schema_type_locked(const mica_schema *schema, mica_component id);

// NULL: unknown. O(1), without a lock for types that exist.
static inline const mi_type *mi_schema_type(const mica_schema *schema, mica_component id) {
    void *const *page = (void *const *)mi_load_pointer(&schema->pages[id / MI_TYPE_PAGE_SIZE]);
    const mi_type *type = page != NULL ? (const mi_type *)mi_load_pointer(&page[id % MI_TYPE_PAGE_SIZE]) : NULL;
    return MICA_LIKELY(type != NULL) ? type : mi_schema_type_locked(schema, id);
}

// Whether there is more to its values than bytes.
static inline bool mi_type_has_hooks(const mi_type *type) {
    return type->has_construct || type->has_destruct || type->has_move || type->has_copy;
}

// Whether its values own something, so that their bytes do not say what they hold.
static inline bool mi_type_is_owning(const mi_type *type) {
    return type->has_copy || type->has_destruct;
}

// Whether hooks tell what such values hold and make them of it again.
static inline bool mi_type_is_told(const mi_type *type) {
    return type->has_copy && type->info.hooks.write != NULL && type->info.hooks.read != NULL;
}

// Whether values lie in lanes.
static inline bool mi_type_in_lanes(const mi_type *type) {
    return type->lanes.count > 0;
}

// Differs for all schemas of the process, those that are gone included; never 0.
static inline uint32_t mi_schema_serial(const mica_schema *schema) {
    return schema->serial;
}

// A schema that is const to its readers still finds out about fields, and locks, when it is asked.
static inline mica_schema *mi_schema_writable(const mica_schema *schema) {
    return (mica_schema *)(uintptr_t)schema;
}
static inline mi_lock *mi_schema_lock(const mica_schema *schema) {
    return &mi_schema_writable(schema)->lock;
}

// As mi_schema_type, for those who hold the lock.
static inline mi_type *mi_schema_type_at(const mica_schema *schema, mica_component id) {
    void **page = (void **)schema->pages[id / MI_TYPE_PAGE_SIZE];
    return page != NULL ? (mi_type *)page[id % MI_TYPE_PAGE_SIZE] : NULL;
}

// The id of the type of this name (`length` bytes), or 0. Under the lock.
mica_component mi_schema_find_locked(const mica_schema *schema, const char *name, size_t length);

// Bytes that the schema holds.
mica_memory_usage mi_schema_memory(const mica_schema *schema);

// Canonical order: that of the bytes of the names. Negative, 0 or positive.
int mi_type_compare_names(const mi_type *a, const mi_type *b);

// Says that values of the type change through link verbs alone. To be called before a world that shares the schema
// makes values of it; once is enough. Unknown ids are ignored.
void mi_schema_mark_relation(mica_schema *schema, mica_component id);

// Makes the fields of a type known if they can be: MICA_OK, MICA_UNREFLECTED, MICA_UNKNOWN or MICA_OUT_OF_MEMORY. Sets
// no error. What was MICA_OK once stays so, and is O(1).
mica_result mi_type_reflect(const mica_schema *schema, mica_component id);

// Calls `patch` with every entity field inside a value, those in nested structs and arrays included, until it returns
// false. True if the type is reflected. Needs memory the first time: mi_type_reflect before excludes that.
bool mi_type_patch_entities(const mica_schema *schema, mica_component id, void *value,
                            bool (*patch)(void *user, mica_entity *entity), void *user);

// Whether the type is reflected and has an entity field somewhere inside.
bool mi_type_has_entities(const mica_schema *schema, mica_component id);

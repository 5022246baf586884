// Verbs on one component of many entities: what their parts share.
//
// A verb is done as a whole or not at all, so it has three steps: all handles are looked at (many.c), all that can fail
// is done (room for rows and elements in many.c, values whose hooks may say no in many_apart.c), and then the entities
// change, in their order. What concerns bytes alone, and nobody who is told, is done by the columns of tables (many.c)
// or in the arrays of a pool (many_pool.c), the rest entity by entity (many_apart.c).
#pragma once

#include "world/world.h"

typedef enum mi_many_verb { MI_MANY_ADD, MI_MANY_SET, MI_MANY_REMOVE } mi_many_verb;

// Values of one type that are made before anything changes, one an entity, and moved in later.
typedef struct mi_many_values {
    const mi_type *type;
    uint8_t *values;
    bool *is_made; // and not moved in yet
} mi_many_values;

typedef struct mi_many {
    mica_world *world;
    const mi_type *type;
    mi_pool *pool; // NULL: the component lives in tables, or nobody has been in its pool
    const mica_entity *entities;
    uint32_t count;
    const uint8_t *values; // one an entity; NULL: constructed, or it is removed
    mi_many_verb verb;
    const char *call;
    // What looking at the entities has found out.
    uint32_t absent_count; // that do not have the component
    bool is_plain;         // all tables that rows leave or come to are
    bool is_own_apart;     // values of the component are made before anything changes,
    bool makes_apart;      // or those of what comes along
    uint32_t apart_count;
    mi_many_values *apart;
} mi_many;

static inline const void *mi_many_value(const mi_many *many, uint32_t number) {
    return many->values == NULL ? NULL : many->values + (size_t)number * many->type->info.size;
}

static inline bool mi_many_has(const mi_many *many, mica_entity entity, uint32_t location) {
    return many->pool != NULL ? mi_pool_has(many->pool, entity)
                              : mi_table_has(mi_store_table_at(&many->world->store, location), many->type->info.id);
}

// Say what is wrong with an entity, by its number.
mica_result mi_many_fail_stale(const mi_many *many, uint32_t number);
mica_result mi_many_fail_exists(const mi_many *many, uint32_t number, bool is_twice);

// The same by pool, for an add to and a removal from one that is simple, where nobody is told; all or none.
mica_result mi_many_put(mi_many *many);
mica_result mi_many_take(const mi_many *many);

// Finds out whether values have to be made before anything changes: a hook may say no, or what they are copied from may
// move.
bool mi_many_finds_apart(mi_many *many);
// Makes these values; anything but MICA_OK, with the error set: not all of them.
mica_result mi_many_make_apart(mi_many *many);
// Ends those that were not needed, and gives the memory back.
void mi_many_end_apart(mi_many *many);
// Changes all entities, one after the other. Room is there, values are made.
void mi_many_change(mi_many *many);

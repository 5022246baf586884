// What a restore is going to change, entity by entity: found before anything is changed, by comparing the world with
// the snapshot wherever they do not share images.
//
// The difference is what observers and others who listen would have to hear for what they know to be right afterwards.
// Entities are told apart by handle: one that gives way to another in its slot ends, and the other one is made.
#pragma once

#include "state/restore.h"

// Something that happens to an entity, as a signal tells it.
typedef struct mi_restore_signal {
    mica_entity entity;
    uint32_t number; // of the component; of the watched query; of what is marked, 0: the entity
    uint8_t kind;
} mi_restore_signal;

typedef struct mi_restore_signals {
    MI_ARRAY(mi_restore_signal) list;
    MI_ARRAY(uint32_t) order; // numbers in `list`: by entity index, then as observers are told of one entity
} mi_restore_signals;

// Where an entity is before the restore or after it, if it is not in the same place then and now.
typedef struct mi_restore_place {
    mica_entity entity;
    const mi_table *table;       // NULL: in a pool
    mi_pool *pool;               // NULL: in a table
    const mi_chunk_image *image; // after; NULL: before
    uint32_t row;                // in the image; else the location, or position
} mi_restore_place;

// Who comes to be disabled or killed, or to have a component disabled, or ceases to.
typedef struct mi_restore_mark {
    uint32_t entity_index;
    mica_component component; // 0: the entity as a whole
    bool kills;               // it is killed, or not any more
    bool is_member;           // afterwards
} mi_restore_mark;

typedef struct mi_difference {
    mica_world *world;
    const mica_snapshot *snapshot;
    bool is_complete; // false: out of memory
    MI_ARRAY(mi_restore_place) places;
    MI_ARRAY(uint32_t) place_order; // by entity and pool, before then after
    MI_ARRAY(mi_restore_mark) marks;
    MI_ARRAY(uint32_t) mark_order;
    MI_ARRAY(uint32_t) touched; // indices of entities that may match other queries afterwards, ascending
    MI_ARRAY(uint32_t) spare;
    mi_restore_signals before; // what goes
    mi_restore_signals after;  // what comes, and values that differ
} mi_difference;

// Finds the difference, without what queries it concerns; tables and pools that there will be are made. False: out of
// memory; it is to be freed all the same.
bool mi_difference_find(mi_difference *difference, mica_world *world, const mica_snapshot *snapshot);
void mi_difference_free(mi_difference *difference);

// The places of an entity, in order, from number `first` of `place_order` on; how many.
uint32_t mi_difference_places(const mi_difference *difference, mica_entity entity, uint32_t *first);
// The handle that a slot has before, or after; null: nobody lives there.
mica_entity mi_difference_handle(const mi_difference *difference, uint32_t entity_index, bool is_after);
// Adds a signal; out of memory, the difference is incomplete.
void mi_difference_add(mi_difference *difference, mi_restore_signals *signals, uint32_t kind, mica_entity entity,
                       uint32_t number);
// Puts the signals in order.
void mi_difference_sort(mi_difference *difference, mi_restore_signals *signals);

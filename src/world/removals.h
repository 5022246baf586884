// The log of who lost one component, in order of removal.
//
// Entries are numbered from 1 on, for good. Each knows the number of the entry of the same entity before it, so that a
// walk that begins at some entry names everybody once without remembering whom it has named.
#pragma once

#include "store/stamps.h"

#include <mica/entity.h>

typedef struct mi_removal {
    uint64_t version;
    uint64_t previous; // number of the entry of the same entity before this one; 0: none
} mi_removal;

typedef struct mi_removals {
    MI_ARRAY(mica_entity) entities; // beside `entries`
    MI_ARRAY(mi_removal) entries;   // ascending by version
    uint32_t first;                 // entries in front of this one are dropped
    uint64_t dropped_count;         // entries that are in the arrays no more: the number of the first one is this + 1
    mi_stamps last;                 // by entity: the number of its latest entry
    uint64_t dropped_version;       // of the latest entry that was dropped; 0: none was
    uint64_t lost_version;          // of the latest removal that there was no memory for; 0: none
} mi_removals;

// Notes that an entity loses the component. For want of memory: `lost_version` says so.
void mi_removals_add(mi_removals *removals, mi_heap *heap, mica_entity entity, uint64_t version);
// Drops the entries up to a version.
void mi_removals_drop(mi_removals *removals, uint64_t version);
// The first thing that is wrong, or NULL. O(entries).
const char *mi_removals_validate(const mi_removals *removals);
void mi_removals_free(mi_removals *removals, mi_heap *heap);
// Makes `copy`, which is empty, say the same; false: out of memory, and it is empty.
bool mi_removals_copy(const mi_removals *removals, mi_heap *heap, mi_removals *copy);

// The place of the first entry later than a version; the count of entries if there is none.
uint32_t mi_removals_find(const mi_removals *removals, uint64_t since);
// Whether an entity, alive or not, lost the component later than a version, as far as the log goes back.
bool mi_removals_has(const mi_removals *removals, mica_entity entity, uint64_t since);

// Whether the entry at a place is the first one of its entity from place `from` on.
static inline bool mi_removals_is_first(const mi_removals *removals, uint32_t place, uint32_t from) {
    return removals->entries.data[place].previous <= removals->dropped_count + from;
}

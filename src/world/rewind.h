// Versions across restores: what those who look at a world from outside are told.
//
// A restore brings the store's version and all stamps back to what they were, so that systems see in the ticks that
// follow just what they saw the first time. Whoever looks from outside has seen the ticks that are gone as well. The
// versions that he is given and hands in never go back: they are *outside versions*, which the public face speaks, and
// the stamps' are *inside versions*. The two are the same until a state is restored for the first time. What a restore
// has exchanged is noted beside the columns and pages, with the outside version of that moment.
//
// The version of a snapshot is later than all stamps in it (mi_rewind_line), so that a stamp tells whether it is older
// than the snapshot or not.
#pragma once

#include "world/world.h"

// In a version that changes are counted from: it is an outside one, of a world that was restored.
#define MI_SINCE_OUTSIDE (UINT64_C(1) << 63)
// So many restores are told apart; what was seen between older ones may all have changed.
#define MI_REWIND_SEGMENT_MAX 256u

// From an inside version on, up to where the next segment begins, this outside version and those that follow.
typedef struct mi_rewind_segment {
    uint64_t inside;
    uint64_t outside;
} mi_rewind_segment;

// Outside versions of the restores that have exchanged columns or pages last; 0: none has.
typedef struct mi_rewind_notes {
    MI_ARRAY(uint64_t) versions; // by page, or by chunk and column, the column of handles first
    uint32_t column_count;       // of a chunk, handles included; of a pool 1
    uint64_t latest;             // of `versions`
    uint64_t structure;          // of a pool, when the last restore ended: if it differs, values have moved since
} mi_rewind_notes;

typedef struct mi_rewind {
    uint64_t version; // outside: of the last restore; 0: there was none
    uint64_t telling; // outside: of the restore that is being told of; 0: none is
    bool tells_news;  // that restore keeps the world's versions: what it changes counts as changed now, for systems too
    uint32_t segment_count;
    mi_rewind_segment segments[MI_REWIND_SEGMENT_MAX]; // ascending in both versions
    MI_ARRAY(mi_rewind_notes) tables;                  // by table id
    MI_ARRAY(mi_rewind_notes) pools;                   // by number
    MI_ARRAY(uint32_t) chunk_places;                   // by chunk id: which chunk of its table it was last
} mi_rewind;

// Makes sure that the world can be restored: to be called first when a restore is prepared. False: out of memory.
bool mi_rewind_open(mica_world *world);
// Makes room for the notes of a table's first `chunk_count` chunks, or a pool's first `page_count` pages; false: out of
// memory.
bool mi_rewind_reserve(mica_world *world, const mi_table *table, uint32_t chunk_count);
bool mi_rewind_reserve_pool(mica_world *world, const mi_pool *pool, uint32_t page_count);

// A restore, when nothing can fail any more: begins before anything is exchanged, notes what is, and ends when all is
// in place. `version` is what the store's is going to be.
void mi_rewind_begin(mica_world *world, uint64_t version);
// `column` 0: the handles; from 1 on the table's columns in their order.
void mi_rewind_column(mica_world *world, const mi_table *table, uint32_t chunk_index, uint32_t column);
void mi_rewind_page(mica_world *world, const mi_pool *pool, uint32_t page);
// What the world and its parts have kept of how entities and values were is void from here on.
void mi_rewind_end(mica_world *world);

// The version of a snapshot if `latest` is the latest stamp of what it had to copy: what it shares with earlier ones
// is older. It becomes the store's as well.
static inline uint64_t mi_rewind_line(const mica_world *world, uint64_t latest) {
    return latest >= world->store.version ? latest + 1 : world->store.version;
}

// The outside version of an inside one; 0 is 0.
uint64_t mi_rewind_to_outside(const mi_rewind *rewind, uint64_t version);
static inline uint64_t mi_outside_version(const mica_world *world, uint64_t version) {
    return MICA_LIKELY(world->rewind == NULL) ? version : mi_rewind_to_outside(world->rewind, version);
}
// The latest inside version that is not later than an outside one; 0: what was seen then is not known any more, or
// `version` is 0.
uint64_t mi_rewind_to_inside(const mi_rewind *rewind, uint64_t version);
static inline uint64_t mi_inside_version(const mica_world *world, uint64_t version) {
    return MICA_LIKELY(world->rewind == NULL) ? version : mi_rewind_to_inside(world->rewind, version);
}
// The outside version of now, or of the restore that is being told of.
static inline uint64_t mi_outside_now(const mica_world *world) {
    return world->rewind != NULL && world->rewind->telling != 0 ? world->rewind->telling
                                                                : mi_outside_version(world, world->store.version);
}
// Whether observers are being told of what a restore is about to take: what they write will not last.
static inline bool mi_is_before_restore(const mica_world *world) {
    return world->rewind != NULL && world->rewind->telling > world->rewind->version;
}
// Whether what is told of now is no news for systems, since a restore brings back what they know.
static inline bool mi_is_retold(const mica_world *world) {
    return MICA_UNLIKELY(world->rewind != NULL) && world->rewind->telling != 0 && !world->rewind->tells_news;
}
// Since when changes count, in the terms of who asks: `version` comes from outside.
static inline uint64_t mi_since_outside(const mica_world *world, uint64_t version) {
    return (version < MI_SINCE_OUTSIDE ? version : MI_SINCE_OUTSIDE - 1) | world->outside_since;
}

// The outside version of the latest restore that has exchanged the column of a component (0: the handles), or what was
// moved into its chunk since; 0: none. The world was restored.
uint64_t mi_rewind_of_column(const mica_world *world, const mi_table *table, uint32_t chunk_index,
                             mica_component component);
// The same of a chunk by the location of one of its rows, and of a pool's page by one of its positions.
uint64_t mi_rewind_of_row(const mica_world *world, uint32_t location, mica_component component);
uint64_t mi_rewind_of_position(const mica_world *world, const mi_pool *pool, uint32_t position);

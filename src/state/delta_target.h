// The state that a delta leads to, in the making: a snapshot that shares with the base what the delta says nothing of.
//
// It is put together aside, while the world is in the state of the base, so that the world finds where a slot stands
// there. Nothing of the delta is trusted: what is put together is checked so far that restoring it leaves the world
// with all its invariants, or it is refused.
#pragma once

#include "state/capture.h"
#include "state/delta.h"
#include "state/delta_sums.h"

// As mica_delta_apply. Without `checks_sums` nobody asks whether the world, or what becomes of it, is what the delta
// says it is, so that fuzzing comes to what is behind that.
mica_result mi_delta_apply(mica_world *world, const void *bytes, size_t byte_size, mica_delta_direction direction,
                           const mica_restore_options *options, bool checks_sums);

// Rows of a table or pool, at both ends.
typedef struct mi_site {
    const mi_rows_image *base;        // NULL: there are none
    mi_rows_image *rows;              // what is made; the base's, with a reference of its own, until something differs
    const mica_component *components; // of `base` or `table` or `pool`
    uint32_t component_count;
    uint32_t pool_number; // 0: a table; else one more than the pool's number
    uint32_t row_count;   // in the target
    uint32_t first_touched;
    uint32_t touched_count;
    uint32_t dead_count; // in the target
    uint32_t dead_head;
} mi_site;

// A position at which something else stands in the target: a slot, 0 for nothing, or a tombstone as in mi_delta_rows.
typedef struct mi_touched {
    uint32_t row;
    uint64_t entry;
} mi_touched;

// Where a slot stands.
typedef struct mi_standing {
    uint32_t site;
    uint32_t row;
} mi_standing;

#define MI_SITE_NONE UINT32_MAX

// A slot that stands at another position of a table, or of a pool, than before, or came there.
typedef struct mi_moved {
    uint32_t slot;
    uint32_t space; // 0: of tables; else the site's pool_number
    mi_standing to;
} mi_moved;

typedef struct mi_target {
    mica_world *world;
    mi_heap *heap; // of what is needed meanwhile
    mi_vault *vault;
    const mi_delta *delta;
    bool forwards;
    bool checks_sums;
    bool is_limited;
    bool keeps_versions; // the world's: it has others than the base of the delta, or the delta knows nothing of them
    const mica_snapshot *base;
    bool is_blank;           // the base is no state of the world: nobody stands anywhere
    mica_snapshot *snapshot; // what is made
    const mi_type **types;   // by number in the delta
    MI_ARRAY(mi_site) sites;
    MI_ARRAY(uint32_t) rows_sites; // by number of the delta's rows
    MI_ARRAY(mi_touched) touched;
    MI_ARRAY(mi_moved) moved;
    mi_map moved_map;
    MI_ARRAY(uint32_t) table_sites;     // by table id
    MI_ARRAY(uint32_t) pool_sites;      // by pool number
    MI_ARRAY(mi_standing) chunk_places; // by chunk id: the site and the chunk's first row
    MI_ARRAY(uint8_t) room;             // for a value
    MI_ARRAY(mica_component) set;       // of a table that is looked for
    mica_result result;
    const char *fault; // as a literal
    const char *name;  // what the fault is about; NULL: nothing that has a name
} mi_target;

// Notes a failure, unless there was one before; returns false.
bool mi_target_fail(mi_target *target, mica_result result, const char *fault, const char *name);
static inline bool mi_target_lack(mi_target *target) {
    return mi_target_fail(target, MICA_OUT_OF_MEMORY, NULL, NULL);
}
static inline bool mi_target_break(mi_target *target, const char *fault) {
    return mi_target_fail(target, MICA_FORMAT, fault, NULL);
}
#define MI_TARGET_RESERVE(TARGET, ARRAY, NEED) \
    (MI_RESERVE((TARGET)->heap, MICA_MEMORY_STATE, (ARRAY), (NEED)) || mi_target_lack(TARGET))

static inline uint64_t mi_target_from(const mi_target *target, mi_ends ends) {
    return mi_end_of(ends, !target->forwards);
}
static inline uint64_t mi_target_to(const mi_target *target, mi_ends ends) {
    return mi_end_of(ends, target->forwards);
}

// The entity index, from the fates and the free list of an exact delta.
bool mi_target_make_slots(mi_target *target);
// What it is made with: an index with so many slots, those of the base and for the rest free ones; a slot of it that
// may be written (NULL: failed); what the base says of a slot; and the check that it is one that a world can have.
bool mi_target_open_slots(mi_target *target, uint32_t used);
uint64_t *mi_target_open_slot(mi_target *target, uint32_t index);
uint64_t mi_target_slot_before(const mi_target *target, uint32_t index);
bool mi_target_check_slots(mi_target *target);
// Whether a slot is in use in the target, and its handle.
static inline bool mi_target_lives(const mi_target *target, uint32_t slot) {
    const mi_slots_image *slots = target->snapshot->slots;
    return slot != 0 && slot < slots->used && (uint32_t)mi_slots_image_at(slots, slot) == 0;
}
static inline mica_entity mi_target_handle(const mi_target *target, uint32_t slot) {
    return mica_entity_make(slot, (uint32_t)(mi_slots_image_at(target->snapshot->slots, slot) >> 32));
}

// Makes a site of each rows image of the base, and what finds them.
bool mi_target_open_sites(mi_target *target);
// The site of a set of components (ascending by id), made if need be; MI_SITE_NONE: failed.
uint32_t mi_target_site(mi_target *target, const mica_component *components, uint32_t count, bool is_pool);
// Where a slot stands in the base, in tables (0) or in a pool; false: nowhere.
bool mi_target_stood(const mi_target *target, uint32_t slot, uint32_t space, mi_standing *standing);
// Where it stands in the target.
bool mi_target_stands(const mi_target *target, uint32_t slot, uint32_t space, mi_standing *standing);
// What stands at a row of the base: as in mi_touched.
uint64_t mi_target_entry(const mi_site *site, uint32_t row);

// Touched rows of a site come one behind the other, ascending, between these two; false: failed.
bool mi_target_begin_rows(mi_target *target, uint32_t site, uint64_t row_count);
bool mi_target_touch(mi_target *target, uint32_t site, uint32_t row, uint64_t entry);
bool mi_target_end_rows(mi_target *target, uint32_t site);

// The move of a slot in a space; NULL: it has not moved.
const mi_moved *mi_target_find_moved(const mi_target *target, uint32_t slot, uint32_t space);
// Whether everybody stands where he can stand, when all is touched.
bool mi_target_check_standings(mi_target *target);

// Checks that, and makes the images.
bool mi_target_make_rows(mi_target *target);
// Puts the values of the delta into the images.
bool mi_target_make_values(mi_target *target);
bool mi_target_make_versions(mi_target *target);
// Puts the images into the snapshot, in canonical order.
bool mi_target_finish_rows(mi_target *target);
void mi_target_free_sites(mi_target *target);

// Whether what lasts of the parts of a snapshot is as the delta says of one end; false: failed.
bool mi_target_check_parts(mi_target *target, const mica_snapshot *snapshot, bool to);
// Whether the base has the versions that the delta begins with, those in records of parts included.
bool mi_target_has_versions(const mi_target *target);
// Makes the records and puts them into the snapshot.
bool mi_target_make_parts(mi_target *target);

// What a limited delta touches, and the entity index after it.
bool mi_target_plan_limited(mi_target *target);

// What a world knows of snapshots: the *base*, whose images its columns name, and what else it had in common with it.
//
// The base is the snapshot that was taken of the world, or restored into it, last. It is not held: when the last
// reference to it goes, the world has no base, and the next snapshot shares nothing. Each world has one base and a
// snapshot may be the base of several worlds. Invariant: what a column or page names and somebody holds is the image
// that the base has of it.
#pragma once

#include "state/snapshot.h"

// What was noted of a part when its record was written or read last.
typedef struct mi_part_note {
    const mi_part *part;
    const mi_part_image *image; // the base's
    uint64_t stamp;             // the part's
} mi_part_note;

typedef struct mi_state {
    mica_world *world;
    mi_vault *vault; // what its snapshots lie in
    mica_snapshot *base;
    struct mi_state *next;     // of the base's other worlds
    MI_ARRAY(uint32_t) places; // by table id: its number among the base's tables; see mi_state_place
    uint64_t mark_changes;     // the store's when its marks were those of the base
    MI_ARRAY(mi_part_note) parts;
    uint64_t origin; // differs for all worlds of the schema; never 0
    mi_epochs *epochs;
    mi_epoch_range epoch_range; // the present one; its last epoch is the world's
    uint64_t epoch_last;        // that was ever begun
} mi_state;

// The state of a world, made on first use; NULL: out of memory.
mi_state *mi_state_open(mica_world *world);
// The same if it is there; NULL.
mi_state *mi_state_find(const mica_world *world);
// Lets a snapshot (NULL: none) be the base.
void mi_state_set_base(mi_state *state, mica_snapshot *snapshot);

// The base's image of a table; NULL: it has none. Found by what was noted, never by a search.
mi_rows_image *mi_state_find_table(const mi_state *state, const mi_table *table);
// Notes which number a table's image has among the base's tables; room is there.
bool mi_state_reserve_places(mi_state *state);
void mi_state_note_table(mi_state *state, const mi_table *table, uint32_t number);

// Brings what is known of the pages of slots up to date with the base: which may differ from it (slots.h) is marked.
void mi_state_touch_slots(mi_state *state);

// Room for the notes of so many parts; false: out of memory.
bool mi_state_reserve_notes(mi_state *state, uint32_t count);
// Notes that the parts are as the base's records say.
void mi_parts_note(mi_state *state, const mica_snapshot *snapshot);

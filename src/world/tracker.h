// What a world notes of one component for queries that ask for changes, from the moment the first of them is compiled:
// which rows were written, who was added, who was removed. Components that no such query names cost nothing.
#pragma once

#include "store/stamps.h"
#include "world/removals.h"
#include "world/world.h"

#define MI_TRACKS_ROWS 1u
#define MI_TRACKS_ADDED 2u
#define MI_TRACKS_REMOVED 4u

// What is noted, with the versions of one kind: inside or outside ones (rewind.h).
typedef struct mi_tracked {
    mi_stamps rows;      // when the entity's value was written last
    uint64_t rows_since; // later writes than this version are all in `rows`
    mi_stamps added;     // when the component came to the entity
    mi_removals removals;
} mi_tracked;

// What systems see is state of the world, and a restore brings it back. Those who look from outside have a *history* of
// their own from the first restore on, which goes on through all of them: it knows what was in the ticks that are gone,
// and what restores have changed.
typedef struct mi_tracker {
    mica_world *world;
    mica_component component;
    uint32_t tracks; // MI_TRACKS_…
    mi_tracked state;
    mi_tracked *history;    // in outside versions; NULL: the same as `state`
    mi_observer *removed;   // what notes removals
    uint64_t removals_kept; // in a round: removals later than this are still asked for
    uint64_t change_count;  // grows when something of `state` may have changed
} mi_tracker;

// What is noted for who asks since a version (an outside one, with MI_SINCE_OUTSIDE, or an inside one).
static inline const mi_tracked *mi_tracker_for(const mi_tracker *tracker, bool is_outside) {
    return MICA_UNLIKELY(is_outside) && tracker->history != NULL ? tracker->history : &tracker->state;
}

// Makes sure that all of a world's trackers have a history; false: out of memory.
bool mi_trackers_keep_history(mica_world *world);

// The tracker of a component, which tracks (MI_TRACKS_…) at least this from now on; NULL: out of memory, with the error
// set.
mi_tracker *mi_tracker_open(mica_world *world, mica_component component, uint32_t tracks, const char *call);

// A round has ended: a tick, or what programs without ticks take for one. `keep` says of every tracker with removals
// (by mi_tracker_keep) what is still asked for; what nobody names is kept for MICA_REMOVED_ROUNDS rounds.
typedef void (*mi_keep_function)(const void *user);
void mi_trackers_end_round(mica_world *world, mi_keep_function keep, const void *user);
static inline void mi_tracker_keep(mi_tracker *tracker, uint64_t since) {
    if (since < tracker->removals_kept) {
        tracker->removals_kept = since;
    }
}

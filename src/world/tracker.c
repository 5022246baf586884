// Trackers: they listen to what is told in the world, and stamp entities by index, so that moves of rows and elements
// need no care.
//
// A world's trackers are an extension of it, made with the first query that needs one. They stay until the world ends:
// what was asked once is asked again.
#include "world/tracker.h"

typedef struct trackers {
    MI_ARRAY(mi_tracker *) all; // ascending by component
    uint32_t removed_count;     // of those that track removals
    uint32_t round;
    uint64_t round_versions[MICA_REMOVED_ROUNDS]; // by number of the round: the last version that it saw
} trackers;

static const char extension_key;

// Listening

static void stamp_rows(mica_world *world, mica_component component, const mica_entity *entities, uint32_t count,
                       void *user) {
    mi_tracker *tracker = user;
    MI_ASSERT(tracker->component == component);
    (void)component;
    for (uint32_t i = 0; i < count; i++) {
        mi_stamps_put(&tracker->rows, &world->heap, mica_entity_index(entities[i]), world->store.version);
    }
}

static void row_set(const mica_signal *signal) {
    stamp_rows(signal->world, signal->component, &signal->entity, 1, signal->user);
}

static void added(const mica_signal *signal) {
    mi_tracker *tracker = signal->user;
    mi_stamps_put(&tracker->added, &signal->world->heap, mica_entity_index(signal->entity),
                  signal->world->store.version);
}

static void removed(const mica_signal *signal) {
    mi_tracker *tracker = signal->user;
    mi_removals_add(&tracker->removals, &signal->world->heap, signal->entity, signal->world->store.version);
}

// What each kind of tracking is told by.
static const struct {
    uint32_t tracks;
    mica_signal_kind kind;
    mica_observer_function call;
} listeners[] = {{MI_TRACKS_ROWS, MICA_ADDED, row_set},
                 {MI_TRACKS_ROWS, MICA_SET, row_set},
                 {MI_TRACKS_ADDED, MICA_ADDED, added},
                 {MI_TRACKS_REMOVED, MICA_REMOVED, removed}};

enum { LISTENER_COUNT = sizeof(listeners) / sizeof(*listeners) };

// Connects what `tracks` needs; all of it or, out of memory, nothing.
static bool listen(mi_tracker *tracker, uint32_t tracks) {
    mica_world *world = tracker->world;
    mi_observer *connected[LISTENER_COUNT];
    uint32_t count = 0;
    bool is_complete = true;
    for (uint32_t i = 0; i < LISTENER_COUNT && is_complete; i++) {
        if ((listeners[i].tracks & tracks) != 0) {
            connected[count] =
                mi_observer_connect(world, listeners[i].kind, tracker->component, listeners[i].call, tracker);
            is_complete = connected[count] != NULL;
            count += is_complete;
        }
    }
    if (is_complete && (tracks & MI_TRACKS_ROWS) != 0) {
        is_complete = mi_written_connect(world, tracker->component, stamp_rows, tracker);
    }
    while (!is_complete && count > 0) {
        mi_observer_disconnect(world, connected[--count]);
    }
    if (is_complete && (tracks & MI_TRACKS_REMOVED) != 0) {
        tracker->removed = connected[count - 1]; // the last one of the list
    }
    return is_complete;
}

// Keeping

static void free_tracker(mi_tracker *tracker) {
    mi_heap *heap = &tracker->world->heap;
    mi_stamps_free(&tracker->rows, heap);
    mi_stamps_free(&tracker->added, heap);
    mi_removals_free(&tracker->removals, heap);
    mi_heap_release(heap, MICA_MEMORY_QUERIES, tracker, sizeof(*tracker), _Alignof(mi_tracker));
}

// Nobody asks who is removed because the world ends.
static void stop_trackers(mica_world *world, void *state) {
    const trackers *kept = state;
    for (uint32_t i = 0; i < kept->all.count; i++) {
        if (kept->all.data[i]->removed != NULL) {
            mi_observer_disconnect(world, kept->all.data[i]->removed);
        }
    }
}

static void destroy_trackers(mica_world *world, void *state) {
    trackers *kept = state;
    for (uint32_t i = 0; i < kept->all.count; i++) {
        free_tracker(kept->all.data[i]);
    }
    MI_FREE(&world->heap, MICA_MEMORY_QUERIES, &kept->all);
    mi_heap_release(&world->heap, MICA_MEMORY_QUERIES, kept, sizeof(*kept), _Alignof(trackers));
}

static const char *validate_trackers(const mica_world *world, const void *state) {
    const trackers *kept = state;
    (void)world;
    const char *fault = NULL;
    for (uint32_t i = 0; i < kept->all.count && fault == NULL; i++) {
        fault = mi_removals_validate(&kept->all.data[i]->removals);
    }
    return fault;
}

static trackers *open_trackers(mica_world *world) {
    trackers *kept = mi_world_extension(world, &extension_key);
    if (kept != NULL) {
        return kept;
    }
    kept = mi_heap_allocate_zeroed(&world->heap, MICA_MEMORY_QUERIES, sizeof(*kept), _Alignof(trackers));
    if (kept != NULL && !mi_world_add_extension(world, &(mi_extension){.key = &extension_key,
                                                                       .state = kept,
                                                                       .stop = stop_trackers,
                                                                       .destroy = destroy_trackers,
                                                                       .validate = validate_trackers})) {
        mi_heap_release(&world->heap, MICA_MEMORY_QUERIES, kept, sizeof(*kept), _Alignof(trackers));
        return NULL;
    }
    return kept;
}

// Puts a new tracker in its place; NULL: out of memory.
static mi_tracker *add_tracker(mica_world *world, trackers *kept, uint32_t place, mica_component component) {
    mi_heap *heap = &world->heap;
    if (!MI_RESERVE(heap, MICA_MEMORY_QUERIES, &kept->all, (size_t)kept->all.count + 1)) {
        return NULL;
    }
    mi_tracker *tracker = mi_heap_allocate_zeroed(heap, MICA_MEMORY_QUERIES, sizeof(*tracker), _Alignof(mi_tracker));
    if (tracker == NULL) {
        return NULL;
    }
    tracker->world = world;
    tracker->component = component;
    for (uint32_t i = kept->all.count++; i > place; i--) {
        kept->all.data[i] = kept->all.data[i - 1];
    }
    kept->all.data[place] = tracker;
    return tracker;
}

mi_tracker *mi_tracker_open(mica_world *world, mica_component component, uint32_t tracks, const char *call) {
    trackers *kept = open_trackers(world);
    mi_tracker *tracker = NULL;
    if (kept != NULL) {
        uint32_t place = 0;
        while (place < kept->all.count && kept->all.data[place]->component < component) {
            place++;
        }
        tracker = place < kept->all.count && kept->all.data[place]->component == component
                      ? kept->all.data[place]
                      : add_tracker(world, kept, place, component);
    }
    const uint32_t missing = tracker == NULL ? 0 : tracks & ~tracker->tracks;
    if (tracker == NULL || (missing != 0 && !listen(tracker, missing))) {
        mi_fail_memory(&world->log, call, sizeof(mi_tracker));
        return NULL;
    }
    if ((missing & MI_TRACKS_ROWS) != 0) {
        tracker->rows_since = world->store.version;
    }
    kept->removed_count += (missing & MI_TRACKS_REMOVED) != 0;
    tracker->tracks |= missing;
    return tracker;
}

// Rounds

void mi_trackers_end_round(mica_world *world, mi_keep_function keep, const void *user) {
    trackers *kept = mi_world_extension(world, &extension_key);
    if (kept == NULL || kept->removed_count == 0) {
        return;
    }
    for (uint32_t i = 0; i < kept->all.count; i++) {
        kept->all.data[i]->removals_kept = UINT64_MAX;
    }
    keep(user);
    uint64_t *round_version = &kept->round_versions[kept->round++ % MICA_REMOVED_ROUNDS];
    for (uint32_t i = 0; i < kept->all.count; i++) {
        mi_tracker *tracker = kept->all.data[i];
        if ((tracker->tracks & MI_TRACKS_REMOVED) != 0) {
            const bool is_asked = tracker->removals_kept != UINT64_MAX;
            mi_removals_drop(&tracker->removals, is_asked ? tracker->removals_kept : *round_version);
        }
    }
    *round_version = world->store.version - 1;
}

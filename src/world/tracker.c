// Trackers: they listen to what is told in the world, and stamp entities by index, so that moves of rows and elements
// need no care.
//
// A world's trackers are an extension of it, made with the first query that needs one. They stay until the world ends:
// what was asked once is asked again. So which trackers there are is no state of the world; what they have noted is,
// and part of snapshots. Of a tracker that a snapshot does not know nothing is known then but what is noted from there
// on.
//
// While a restore is told of, listeners write to histories alone: what they have noted for systems is restored. If it
// keeps the world's versions, what they have noted stays, and what the restore changes is news for systems as well.
#include "world/tracker.h"

#include "world/rewind.h"

#include <string.h>

typedef struct trackers {
    MI_ARRAY(mi_tracker *) all; // ascending by component
    uint32_t removed_count;     // of those that track removals
    uint32_t round;
    uint64_t round_versions[MICA_REMOVED_ROUNDS]; // by number of the round: the last version that it saw
    uint32_t history_round;
    uint64_t history_versions[MICA_REMOVED_ROUNDS]; // likewise, in outside versions
    uint64_t change_count;                          // as of a tracker
} trackers;

static const char extension_key;

// Listening

// Of a world that can be restored: what is told of may be a restore, which is history alone.
MI_APART static void stamp_rows_apart(mica_world *world, mi_tracker *tracker, const mica_entity *entities,
                                      uint32_t count) {
    const bool is_retold = mi_is_retold(world);
    const uint64_t version = mi_outside_now(world);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t index = mica_entity_index(entities[i]);
        if (!is_retold) {
            mi_stamps_put(&tracker->state.rows, &world->heap, index, world->store.version);
        }
        if (tracker->history != NULL) {
            mi_stamps_put(&tracker->history->rows, &world->heap, index, version);
        }
    }
}

static void stamp_rows(mica_world *world, mica_component component, const mica_entity *entities, uint32_t count,
                       void *user) {
    mi_tracker *tracker = user;
    MI_ASSERT(tracker->component == component);
    (void)component;
    tracker->change_count++;
    if (MICA_UNLIKELY(world->rewind != NULL)) {
        stamp_rows_apart(world, tracker, entities, count);
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        mi_stamps_put(&tracker->state.rows, &world->heap, mica_entity_index(entities[i]), world->store.version);
    }
}

static void row_set(const mica_signal *signal) {
    mi_tracker *tracker = signal->user;
    mica_world *world = signal->world;
    tracker->change_count++;
    if (MICA_UNLIKELY(world->rewind != NULL)) {
        stamp_rows_apart(world, tracker, &signal->entity, 1);
        return;
    }
    mi_stamps_put(&tracker->state.rows, &world->heap, mica_entity_index(signal->entity), world->store.version);
}

MI_APART static void added_apart(mica_world *world, mi_tracker *tracker, mica_entity entity) {
    const uint32_t index = mica_entity_index(entity);
    if (!mi_is_retold(world)) {
        mi_stamps_put(&tracker->state.added, &world->heap, index, world->store.version);
    }
    if (tracker->history != NULL) {
        mi_stamps_put(&tracker->history->added, &world->heap, index, mi_outside_now(world));
    }
}

static void added(const mica_signal *signal) {
    mi_tracker *tracker = signal->user;
    mica_world *world = signal->world;
    tracker->change_count++;
    if (MICA_UNLIKELY(world->rewind != NULL)) {
        added_apart(world, tracker, signal->entity);
        return;
    }
    mi_stamps_put(&tracker->state.added, &world->heap, mica_entity_index(signal->entity), world->store.version);
}

static void removed(const mica_signal *signal) {
    mi_tracker *tracker = signal->user;
    mica_world *world = signal->world;
    tracker->change_count++;
    if (!mi_is_retold(world)) {
        mi_removals_add(&tracker->state.removals, &world->heap, signal->entity, world->store.version);
    }
    if (MICA_UNLIKELY(tracker->history != NULL)) {
        mi_removals_add(&tracker->history->removals, &world->heap, signal->entity, mi_outside_now(world));
    }
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

static void free_tracked(mi_tracked *tracked, mi_heap *heap) {
    mi_stamps_free(&tracked->rows, heap);
    mi_stamps_free(&tracked->added, heap);
    mi_removals_free(&tracked->removals, heap);
}

static void free_history(mi_tracked *history, mi_heap *heap) {
    if (history != NULL) {
        free_tracked(history, heap);
        mi_heap_release(heap, MICA_MEMORY_QUERIES, history, sizeof(*history), _Alignof(mi_tracked));
    }
}

static void free_tracker(mi_tracker *tracker) {
    mi_heap *heap = &tracker->world->heap;
    free_tracked(&tracker->state, heap);
    free_history(tracker->history, heap);
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
        const mi_tracker *tracker = kept->all.data[i];
        fault = mi_removals_validate(&tracker->state.removals);
        if (fault == NULL && tracker->history != NULL) {
            fault = mi_removals_validate(&tracker->history->removals);
        }
    }
    return fault;
}

// State

// No entity has a slot on this page, or on a later one.
#define STAMPS_PAGE_END ((uint32_t)((UINT64_C(1) << MICA_INDEX_BITS) >> MI_STAMPS_SHIFT))

// What stands on a page that `lost` does not say: a bit a stamp.
static uint32_t find_stamped(const mi_stamps *stamps, uint32_t page, uint64_t *bits) {
    const uint64_t *data = stamps->pages.data[page];
    uint32_t count = 0;
    memset(bits, 0, MI_STAMPS_PAGE / 8);
    for (uint32_t i = 0; data != NULL && i < MI_STAMPS_PAGE; i++) {
        const bool is_stamped = data[i] != stamps->lost;
        bits[i / 64] |= (uint64_t)is_stamped << (i % 64);
        count += is_stamped;
    }
    return count;
}

static void save_stamps(const mi_stamps *stamps, mi_writer *writer) {
    uint64_t bits[MI_STAMPS_PAGE / 64];
    mi_write_u64(writer, stamps->lost);
    for (uint32_t page = 0; page < stamps->pages.count; page++) {
        if (find_stamped(stamps, page, bits) == 0) {
            continue;
        }
        mi_write_u32(writer, page);
        for (uint32_t i = 0; i < MI_STAMPS_PAGE / 64; i++) {
            mi_write_u64(writer, bits[i]);
            for (uint64_t rest = bits[i]; rest != 0; rest &= rest - 1) {
                mi_write_u64(writer, stamps->pages.data[page][i * 64 + (uint32_t)__builtin_ctzll(rest)]);
            }
        }
    }
    mi_write_u32(writer, UINT32_MAX);
}

static uint64_t read_version(mi_reader *reader) {
    const uint64_t version = mi_read_u64(reader);
    if (version >= MI_SINCE_OUTSIDE) {
        mi_read_fail(reader, MICA_FORMAT, "a version is out of range");
        return 0;
    }
    return version;
}

static void read_stamps(mi_reader *reader, mi_heap *heap, mi_stamps *stamps) {
    stamps->lost = read_version(reader);
    uint32_t page = mi_read_u32(reader);
    for (uint32_t least = 0; reader->result == MICA_OK && page != UINT32_MAX; page = mi_read_u32(reader)) {
        if (page < least || page >= STAMPS_PAGE_END) {
            mi_read_fail(reader, MICA_FORMAT, "pages of stamps do not ascend");
            return;
        }
        if (!mi_stamps_open(stamps, heap, page << MI_STAMPS_SHIFT)) {
            mi_read_fail(reader, MICA_OUT_OF_MEMORY, NULL);
            return;
        }
        for (uint32_t i = 0; i < MI_STAMPS_PAGE / 64; i++) {
            for (uint64_t rest = mi_read_u64(reader); rest != 0 && reader->result == MICA_OK; rest &= rest - 1) {
                stamps->pages.data[page][i * 64 + (uint32_t)__builtin_ctzll(rest)] = read_version(reader);
            }
        }
        least = page + 1;
    }
}

static void save_removals(const mi_removals *removals, mi_writer *writer) {
    mi_write_u64(writer, removals->dropped_version);
    mi_write_u64(writer, removals->lost_version);
    mi_write_u32(writer, removals->entries.count - removals->first);
    for (uint32_t place = removals->first; place < removals->entries.count; place++) {
        mi_write_entity(writer, removals->entities.data[place]);
        mi_write_u64(writer, removals->entries.data[place].version);
    }
}

static void read_removals(mi_reader *reader, mi_heap *heap, mi_removals *removals) {
    const uint64_t dropped_version = read_version(reader);
    const uint64_t lost_version = read_version(reader);
    const uint32_t count = mi_read_count(reader, sizeof(uint64_t));
    uint64_t last = 0;
    for (uint32_t i = 0; i < count && reader->result == MICA_OK; i++) {
        const mica_entity entity = mi_read_entity(reader);
        const uint64_t version = read_version(reader);
        if (version < last) {
            mi_read_fail(reader, MICA_FORMAT, "versions of removals do not ascend");
        }
        last = version;
        mi_removals_add(removals, heap, entity, version);
        if (removals->lost_version != 0) {
            mi_read_fail(reader, MICA_OUT_OF_MEMORY, NULL);
        }
    }
    removals->dropped_version = dropped_version;
    removals->lost_version = lost_version;
}

static uint64_t changes_stamp(const mica_world *world) {
    const trackers *kept = mi_world_extension(world, &extension_key);
    uint64_t stamp = kept == NULL ? 0 : kept->change_count;
    for (uint32_t i = 0; kept != NULL && i < kept->all.count; i++) {
        stamp += kept->all.data[i]->change_count;
    }
    return stamp;
}

// The tracker whose component's name comes next behind that of `last` (NULL: first); NULL: there is none.
static const mi_tracker *next_by_name(const trackers *kept, const mi_tracker *last) {
    const mica_schema *schema = kept->all.data[0]->world->schema;
    const mi_tracker *next = NULL;
    for (uint32_t i = 0; i < kept->all.count; i++) {
        const mi_type *type = mi_schema_type(schema, kept->all.data[i]->component);
        if ((last == NULL || mi_type_compare_names(type, mi_schema_type(schema, last->component)) > 0) &&
            (next == NULL || mi_type_compare_names(type, mi_schema_type(schema, next->component)) < 0)) {
            next = kept->all.data[i];
        }
    }
    return next;
}

static void save_changes(const mica_world *world, mi_writer *writer) {
    const trackers *kept = mi_world_extension(world, &extension_key);
    const uint32_t count = kept == NULL ? 0 : kept->all.count;
    mi_write_u32(writer, kept == NULL ? 0 : kept->round);
    for (uint32_t i = 0; i < MICA_REMOVED_ROUNDS; i++) {
        mi_write_u64(writer, kept == NULL ? 0 : kept->round_versions[i]);
    }
    mi_write_u32(writer, count);
    const mi_tracker *tracker = NULL;
    for (uint32_t i = 0; i < count; i++) {
        tracker = next_by_name(kept, tracker);
        mi_write_component(writer, tracker->component);
        mi_write_u32(writer, tracker->tracks);
        mi_write_u64(writer, tracker->state.rows_since);
        save_stamps(&tracker->state.rows, writer);
        save_stamps(&tracker->state.added, writer);
        save_removals(&tracker->state.removals, writer);
    }
}

// What a record says of one tracker.
typedef struct prepared_tracker {
    uint32_t tracks; // what was tracked then
    mi_tracked state;
} prepared_tracker;

typedef struct prepared_changes {
    uint32_t round;
    uint64_t round_versions[MICA_REMOVED_ROUNDS];
    MI_ARRAY(prepared_tracker) trackers; // beside the world's
} prepared_changes;

static void cancel_changes(mica_world *world, void *prepared) {
    prepared_changes *changes = prepared;
    mi_heap *heap = &world->heap;
    for (uint32_t i = 0; i < changes->trackers.count; i++) {
        free_tracked(&changes->trackers.data[i].state, heap);
    }
    MI_FREE(heap, MICA_MEMORY_QUERIES, &changes->trackers);
    mi_heap_release(heap, MICA_MEMORY_QUERIES, changes, sizeof(*changes), _Alignof(prepared_changes));
}

static void read_tracker(mi_reader *reader, mi_heap *heap, const trackers *kept, prepared_changes *changes) {
    const mica_component component = mi_read_component(reader);
    prepared_tracker unknown = {.tracks = 0};
    prepared_tracker *to = &unknown; // nobody asks for it any more, or in this world
    for (uint32_t i = 0; i < changes->trackers.count; i++) {
        to = kept->all.data[i]->component == component ? &changes->trackers.data[i] : to;
    }
    if (to->tracks != 0) {
        mi_read_fail(reader, MICA_FORMAT, "a component is tracked twice");
        return;
    }
    to->tracks = mi_read_u32(reader);
    to->state.rows_since = read_version(reader);
    read_stamps(reader, heap, &to->state.rows);
    read_stamps(reader, heap, &to->state.added);
    read_removals(reader, heap, &to->state.removals);
    free_tracked(&unknown.state, heap);
}

static bool read_changes(mi_reader *reader, mi_heap *heap, const trackers *kept, prepared_changes *changes) {
    changes->round = mi_read_u32(reader);
    for (uint32_t i = 0; i < MICA_REMOVED_ROUNDS; i++) {
        changes->round_versions[i] = read_version(reader);
    }
    const uint32_t count = mi_read_count(reader, sizeof(uint32_t));
    for (uint32_t i = 0; i < count && reader->result == MICA_OK; i++) {
        read_tracker(reader, heap, kept, changes);
    }
    return mi_reader_end(reader);
}

static mica_result prepare_changes(mica_world *world, mi_reader *reader, void **prepared) {
    const trackers *kept = mi_world_extension(world, &extension_key);
    const uint32_t count = kept == NULL ? 0 : kept->all.count;
    mi_heap *heap = &world->heap;
    prepared_changes *changes =
        mi_heap_allocate_zeroed(heap, MICA_MEMORY_QUERIES, sizeof(*changes), _Alignof(prepared_changes));
    if (changes == NULL) {
        return MICA_OUT_OF_MEMORY;
    }
    if (!MI_RESERVE(heap, MICA_MEMORY_QUERIES, &changes->trackers, count)) {
        cancel_changes(world, changes);
        return MICA_OUT_OF_MEMORY;
    }
    while (changes->trackers.count < count) {
        changes->trackers.data[changes->trackers.count++] = (prepared_tracker){.tracks = 0};
    }
    if (reader != NULL && !read_changes(reader, heap, kept, changes)) {
        cancel_changes(world, changes);
        return reader->result;
    }
    *prepared = changes;
    return MICA_OK;
}

static void commit_changes(mica_world *world, void *prepared) {
    prepared_changes *changes = prepared;
    trackers *kept = mi_world_extension(world, &extension_key);
    for (uint32_t i = 0; i < changes->trackers.count; i++) {
        mi_tracker *tracker = kept->all.data[i];
        prepared_tracker *from = &changes->trackers.data[i];
        const mi_tracked old = tracker->state;
        if ((tracker->tracks & ~from->tracks & MI_TRACKS_ROWS) != 0) {
            from->state.rows_since = world->store.version; // what was written before is not known by rows
        }
        tracker->state = from->state;
        tracker->change_count++;
        from->state = old; // which goes
    }
    if (kept != NULL) {
        kept->round = changes->round;
        memcpy(kept->round_versions, changes->round_versions, sizeof(kept->round_versions));
        kept->change_count++;
    }
    cancel_changes(world, changes);
}

static const mi_part changes_part = {.name = "changes",
                                     .is_history = true,
                                     .stamp = changes_stamp,
                                     .save = save_changes,
                                     .prepare = prepare_changes,
                                     .commit = commit_changes,
                                     .cancel = cancel_changes};

// Opening

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
                                                                       .validate = validate_trackers,
                                                                       .part = &changes_part})) {
        mi_heap_release(&world->heap, MICA_MEMORY_QUERIES, kept, sizeof(*kept), _Alignof(trackers));
        return NULL;
    }
    return kept;
}

// Gives a tracker a history, which says the same in terms of the present; false: out of memory.
static bool keep_history(mi_tracker *tracker) {
    mica_world *world = tracker->world;
    mi_heap *heap = &world->heap;
    mi_tracked *history = mi_heap_allocate_zeroed(heap, MICA_MEMORY_QUERIES, sizeof(*history), _Alignof(mi_tracked));
    if (history == NULL || !mi_stamps_copy(&tracker->state.rows, heap, &history->rows) ||
        !mi_stamps_copy(&tracker->state.added, heap, &history->added) ||
        !mi_removals_copy(&tracker->state.removals, heap, &history->removals)) {
        free_history(history, heap);
        return false;
    }
    history->rows_since = tracker->state.rows_since;
    tracker->history = history;
    return true;
}

bool mi_trackers_keep_history(mica_world *world) {
    trackers *kept = mi_world_extension(world, &extension_key);
    bool is_kept = true;
    for (uint32_t i = 0; kept != NULL && i < kept->all.count && is_kept; i++) {
        is_kept = kept->all.data[i]->history != NULL || keep_history(kept->all.data[i]);
    }
    return is_kept;
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
    if (world->rewind != NULL && !keep_history(tracker)) {
        free_tracker(tracker);
        return NULL;
    }
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
        tracker->state.rows_since = world->store.version;
        if (tracker->history != NULL) {
            tracker->history->rows_since = mi_outside_now(world);
        }
    }
    kept->removed_count += (missing & MI_TRACKS_REMOVED) != 0;
    kept->change_count++;
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
    kept->change_count++;
    uint64_t *round_version = &kept->round_versions[kept->round++ % MICA_REMOVED_ROUNDS];
    uint64_t *history_version = &kept->history_versions[kept->history_round++ % MICA_REMOVED_ROUNDS];
    for (uint32_t i = 0; i < kept->all.count; i++) {
        mi_tracker *tracker = kept->all.data[i];
        if ((tracker->tracks & MI_TRACKS_REMOVED) != 0) {
            const bool is_asked = tracker->removals_kept != UINT64_MAX;
            mi_removals_drop(&tracker->state.removals, is_asked ? tracker->removals_kept : *round_version);
            if (tracker->history != NULL) {
                mi_removals_drop(&tracker->history->removals, *history_version);
            }
        }
    }
    *round_version = world->store.version - 1;
    *history_version = mi_outside_version(world, world->store.version) - 1;
}

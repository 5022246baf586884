// Undo and redo.
//
// Steps lie in one list; those before `at` can be taken back, those from there on can be taken again. `now` is the
// state at that place, held so that what changed outside of steps is found; comparing states costs what differs, since
// snapshots share the rest.
//
// A delta leads both ways between the states before and behind its step. Where there is none, for values that own
// something and that no hooks write and read, both snapshots are kept.
//
// References: what was seen in a state is good again when it comes back. Each end of a step remembers the epochs that
// counted when the world left that state over this step last, and they are what it comes back with.
#include <mica/checksum.h>
#include <mica/delta.h>
#include <mica/undo.h>

#include <string.h>

#include "base/text.h"
#include "state/delta.h"
#include "state/restore.h"

// The epochs whose references are good in a state.
typedef struct seen_epochs {
    uint64_t origin;
    mi_epochs *epochs; // holds a reference
    mi_epoch_range range;
} seen_epochs;

typedef struct history_step {
    char name[MICA_HISTORY_NAME_MAX + 1];
    mica_delta *delta;     // NULL: the two snapshots are kept
    mica_snapshot *before; // NULL with a delta
    mica_snapshot *after;
    seen_epochs seen_before;
    seen_epochs seen_after;
} history_step;

struct mica_history {
    mi_heap heap;
    mica_world *world;
    mica_history_def def;
    char others[MICA_HISTORY_NAME_MAX + 1];
    MI_ARRAY(history_step) steps;
    uint32_t at;
    mica_snapshot *now; // or, while a step is open, the state in which it began
    seen_epochs seen;   // what counted in it when the world was looked at last
    uint32_t open_count;
    char open_name[MICA_HISTORY_NAME_MAX + 1];
    uint64_t forgotten_count;
};

static seen_epochs seen_in(const mica_snapshot *snapshot) {
    return (seen_epochs){
        .origin = snapshot->origin, .epochs = mi_epochs_retain(snapshot->epochs), .range = snapshot->epoch_range};
}

static void release_seen(seen_epochs *seen) {
    mi_epochs_release(seen->epochs);
    seen->epochs = NULL;
}

// Lets a snapshot that nobody else knows be one in which these epochs count.
static void give_seen(const seen_epochs *seen, mica_snapshot *snapshot) {
    mi_epochs *epochs = mi_epochs_retain(seen->epochs);
    mi_epochs_release(snapshot->epochs);
    snapshot->origin = seen->origin;
    snapshot->epochs = epochs;
    snapshot->epoch_range = seen->range;
}

static void copy_name(char to[MICA_HISTORY_NAME_MAX + 1], const char *name) {
    mi_text_copy(to, MICA_HISTORY_NAME_MAX + 1, name == NULL ? "" : name);
}

static void free_step(history_step *step) {
    mica_delta_release(step->delta);
    mica_snapshot_release(step->before);
    mica_snapshot_release(step->after);
    release_seen(&step->seen_before);
    release_seen(&step->seen_after);
}

static size_t step_byte_size(const history_step *step) {
    size_t byte_size = 0;
    if (step->delta != NULL) {
        (void)mica_delta_bytes(step->delta, &byte_size);
        return sizeof(*step) + byte_size;
    }
    return sizeof(*step) + mica_snapshot_own_byte_size(step->before) + mica_snapshot_own_byte_size(step->after);
}

static size_t steps_byte_size(const mica_history *history) {
    size_t byte_size = 0;
    for (uint32_t i = 0; i < history->steps.count; i++) {
        byte_size += step_byte_size(&history->steps.data[i]);
    }
    return byte_size;
}

static void set_now(mica_history *history, mica_snapshot *now) {
    mica_snapshot_release(history->now);
    history->now = now;
}

// Drops the steps that were taken back.
static void drop_redo(mica_history *history) {
    while (history->steps.count > history->at) {
        free_step(&history->steps.data[--history->steps.count]);
    }
}

static void forget_oldest(mica_history *history) {
    const mica_history_def *def = &history->def;
    size_t byte_size = def->byte_limit > 0 ? steps_byte_size(history) : 0;
    uint32_t gone = 0;
    while (gone + 1 < history->steps.count &&
           ((def->step_limit > 0 && history->steps.count - gone > (uint32_t)def->step_limit) ||
            (def->byte_limit > 0 && byte_size > def->byte_limit))) {
        byte_size -= def->byte_limit > 0 ? step_byte_size(&history->steps.data[gone]) : 0;
        free_step(&history->steps.data[gone++]);
    }
    if (gone > 0) {
        history->steps.count -= gone;
        history->at -= gone;
        history->forgotten_count += gone;
        memmove(history->steps.data, history->steps.data + gone, history->steps.count * sizeof(history_step));
    }
}

// Takes a step from `now` to another state behind the place where the history is, and that state for `now`.
static mica_result push(mica_history *history, const char *name, mica_snapshot *after, const char *call) {
    if (!MI_RESERVE(&history->heap, MICA_MEMORY_STATE, &history->steps, (size_t)history->at + 1)) {
        return mi_fail_memory(&history->world->log, call, sizeof(history_step));
    }
    history_step step = {.delta = mi_delta_make_complete(history->now, after)};
    if (step.delta == NULL) {
        const mica_result result = mica_last_result();
        if (result != MICA_UNSUPPORTED && result != MICA_LIMIT) {
            return result;
        }
        step.before = mica_snapshot_retain(history->now);
        step.after = mica_snapshot_retain(after);
    }
    copy_name(step.name, name);
    step.seen_before = (seen_epochs){history->seen.origin, mi_epochs_retain(history->seen.epochs), history->seen.range};
    step.seen_after = seen_in(after);
    drop_redo(history);
    history->steps.data[history->steps.count++] = step;
    history->at = history->steps.count;
    set_now(history, mica_snapshot_retain(after));
    forget_oldest(history);
    return MICA_OK;
}

// Comparing states

static const mica_checksum_options exactly = {.exact = true};

static bool is_same_part(const mi_part_image *a, const mi_part_image *b) {
    return a == b || (a->part == b->part && a->record.values.count + b->record.values.count == 0 &&
                      a->record.bytes.count == b->record.bytes.count &&
                      memcmp(a->record.bytes.data, b->record.bytes.data, a->record.bytes.count) == 0);
}

// Whether two snapshots share everything; if they do not, they may be equal all the same.
static bool is_shared(const mica_snapshot *a, const mica_snapshot *b) {
    bool is_same = a->slots == b->slots && a->table_count == b->table_count && a->pool_count == b->pool_count &&
                   a->mark_count == b->mark_count && a->part_count == b->part_count;
    for (uint32_t i = 0; is_same && i < a->table_count; i++) {
        is_same = a->tables[i] == b->tables[i];
    }
    for (uint32_t i = 0; is_same && i < a->pool_count; i++) {
        is_same = a->pools[i] == b->pools[i];
    }
    for (uint32_t i = 0; is_same && i < a->mark_count; i++) {
        is_same = a->marks[i] == b->marks[i];
    }
    for (uint32_t i = 0; is_same && i < a->part_count; i++) {
        is_same = is_same_part(a->parts[i], b->parts[i]);
    }
    return is_same;
}

// The same of columns of types with hooks alone. Rows are equal otherwise.
static bool is_hooked_shared(const mi_rows_image *a, const mi_rows_image *b) {
    bool is_same = a == b || (a->chunk_count == b->chunk_count && a->column_count == b->column_count);
    for (uint32_t i = 0; a != b && is_same && i < a->column_count; i++) {
        is_same = a->columns[i] == b->columns[i];
        for (uint32_t k = 0; is_same && mi_type_has_hooks(a->columns[i]) && k < a->chunk_count; k++) {
            is_same = a->chunks[k]->columns[i].image == b->chunks[k]->columns[i].image;
        }
    }
    return is_same;
}

static bool are_hooked_shared(mi_rows_image *const *a, uint32_t a_count, mi_rows_image *const *b, uint32_t b_count) {
    bool is_same = a_count == b_count;
    for (uint32_t i = 0; is_same && i < a_count; i++) {
        is_same = is_hooked_shared(a[i], b[i]);
    }
    return is_same;
}

// Compares states with values that cannot be compared, since they own something that nobody knows how to read: where
// these are not shared, they may differ.
static mica_result compare_by_images(mica_history *history, const mica_snapshot *here, mica_difference *difference,
                                     bool *may_differ) {
    const mica_snapshot *now = history->now;
    const mica_schema *schema = history->world->schema;
    MI_ARRAY(mica_component) hooked = {.data = NULL};
    const int32_t count = mica_schema_count(schema);
    if (!MI_RESERVE(&history->heap, MICA_MEMORY_STATE, &hooked, (size_t)count)) {
        return mi_fail_memory(&history->world->log, "mica_history", (size_t)count * sizeof(mica_component));
    }
    for (int32_t id = 1; id <= count; id++) {
        if (mi_type_has_hooks(mi_schema_type(schema, (mica_component)id))) {
            hooked.data[hooked.count++] = (mica_component)id;
        }
    }
    mica_checksum_options options = exactly;
    options.leave = hooked.data;
    options.leave_count = (int32_t)hooked.count;
    const mica_result result = mica_snapshot_compare(now, here, &options, difference);
    MI_FREE(&history->heap, MICA_MEMORY_STATE, &hooked);
    if (result == MICA_OK && difference->kind == MICA_DIFFERENCE_NONE &&
        !(are_hooked_shared(now->tables, now->table_count, here->tables, here->table_count) &&
          are_hooked_shared(now->pools, now->pool_count, here->pools, here->pool_count))) {
        *may_differ = true;
    }
    return result;
}

// Compares a state with `now`. Versions do not count: they grow when somebody looks.
static mica_result compare(mica_history *history, const mica_snapshot *here, mica_difference *difference,
                           bool *may_differ) {
    *difference = (mica_difference){.kind = MICA_DIFFERENCE_NONE};
    *may_differ = false;
    if (is_shared(history->now, here)) {
        return MICA_OK;
    }
    const mica_result result = mica_snapshot_compare(history->now, here, &exactly, difference);
    return result == MICA_UNREFLECTED ? compare_by_images(history, here, difference, may_differ) : result;
}

static void see(mica_history *history, const mica_snapshot *here) {
    release_seen(&history->seen);
    history->seen = seen_in(here);
}

// Makes sure that the world is in the state that the history knows, and notes which references count in it.
static mica_result settle(mica_history *history, const char *call) {
    mica_snapshot *here = mi_snapshot_take(history->world, false, call);
    if (here == NULL) {
        return mica_last_result();
    }
    mica_difference difference;
    bool may_differ; // that of which nobody can say what was there before is left alone
    mica_result result = compare(history, here, &difference, &may_differ);
    if (result == MICA_OK && difference.kind != MICA_DIFFERENCE_NONE) {
        if (history->def.take_others != NULL) {
            result = push(history, history->others, here, call);
        } else {
            const mi_pieces pieces = mi_text_pieces(difference.text);
            result = mi_fail(&history->world->log, MICA_MISMATCH, call, "{} was changed outside of steps: {}{}{}",
                             MI_TEXT(history->world->name), MI_TEXT(pieces.first), MI_TEXT(pieces.second),
                             MI_TEXT(pieces.rest));
        }
    }
    if (result == MICA_OK) {
        see(history, here);
    }
    mica_snapshot_release(here);
    return result;
}

static mica_result check(const mica_history *history, const char *call) {
    return history != NULL ? MICA_OK : mi_fail_plain(NULL, MICA_INVALID, call, "needs a history");
}

mica_history *mica_history_create(mica_world *world, const mica_history_def *def) {
    static const mica_history_def plain = {.byte_limit = 0};
    const mica_history_def used = *(def == NULL ? &plain : def);
    if (world == NULL || used.step_limit < 0) {
        mi_fail_plain(world == NULL ? NULL : &world->log, MICA_INVALID, __func__,
                      world == NULL ? "needs a world" : "the number of steps is negative");
        return NULL;
    }
    mi_heap heap;
    mica_history *history = NULL;
    if (mi_heap_init(&heap, &world->def.allocator)) {
        history = mi_heap_allocate_zeroed(&heap, MICA_MEMORY_STATE, sizeof(*history), _Alignof(mica_history));
    }
    if (history == NULL) {
        mi_fail_memory(&world->log, __func__, sizeof(*history));
        return NULL;
    }
    history->heap = heap;
    history->world = world;
    history->def = used;
    copy_name(history->others, used.take_others);
    history->now = mi_snapshot_take(world, false, __func__);
    if (history->now == NULL) {
        mica_history_destroy(history);
        return NULL;
    }
    see(history, history->now);
    return history;
}

void mica_history_destroy(mica_history *history) {
    if (history == NULL) {
        return;
    }
    history->at = 0;
    drop_redo(history);
    set_now(history, NULL);
    release_seen(&history->seen);
    MI_FREE(&history->heap, MICA_MEMORY_STATE, &history->steps);
    mi_heap heap = history->heap;
    mi_heap_release(&heap, MICA_MEMORY_STATE, history, sizeof(*history), _Alignof(mica_history));
}

mica_result mica_history_begin(mica_history *history, const char *name) {
    mica_result result = check(history, __func__);
    if (result == MICA_OK && history->open_count == 0) {
        result = settle(history, __func__);
        if (result == MICA_OK) {
            copy_name(history->open_name, name);
        }
    }
    if (result == MICA_OK) {
        history->open_count++;
    }
    return result;
}

static mica_result check_open(const mica_history *history, const char *call) {
    const mica_result result = check(history, call);
    return result != MICA_OK || history->open_count > 0
               ? result
               : mi_fail_plain(&history->world->log, MICA_ABSENT, call, "no step is open");
}

mica_result mica_history_end(mica_history *history) {
    mica_result result = check_open(history, __func__);
    if (result != MICA_OK) {
        return result;
    }
    if (history->open_count > 1) {
        history->open_count--;
        return MICA_OK;
    }
    mica_snapshot *after = mi_snapshot_take(history->world, false, __func__);
    if (after == NULL) {
        return mica_last_result();
    }
    mica_difference difference;
    bool may_differ;
    result = compare(history, after, &difference, &may_differ);
    if (result == MICA_OK && (difference.kind != MICA_DIFFERENCE_NONE || may_differ)) {
        result = push(history, history->open_name, after, __func__);
    }
    if (result == MICA_OK) {
        see(history, after);
    }
    mica_snapshot_release(after);
    history->open_count = result == MICA_OK ? 0 : 1;
    return result;
}

mica_result mica_history_cancel(mica_history *history) {
    mica_result result = check_open(history, __func__);
    if (result == MICA_OK) {
        give_seen(&history->seen, history->now);
        result = mi_snapshot_restore(history->now, history->world, &history->def.restore, __func__);
    }
    if (result == MICA_OK) {
        history->open_count = 0;
    }
    return result;
}

// What undo and redo begin with: no step is open, and nothing changed that is not in the steps.
static mica_result prepare_move(mica_history *history, const char *call) {
    const mica_result result = check(history, call);
    if (result != MICA_OK) {
        return result;
    }
    return history->open_count == 0 ? settle(history, call)
                                    : mi_fail(&history->world->log, MICA_EXISTS, call, "the step \"{}\" is open",
                                              MI_TEXT(history->open_name));
}

// The state at the other end of a step that the world is at one end of; NULL: the error is set.
static mica_snapshot *other_end(const mica_history *history, const history_step *step, bool is_forwards) {
    if (step->delta == NULL) {
        return mica_snapshot_retain(is_forwards ? step->after : step->before);
    }
    size_t byte_size = 0;
    const void *bytes = mica_delta_bytes(step->delta, &byte_size);
    return mi_delta_build(history->world, history->now, bytes, byte_size,
                          is_forwards ? MICA_DELTA_FORWARDS : MICA_DELTA_BACKWARDS);
}

// Goes over a step, to its other end.
static mica_result cross(mica_history *history, history_step *step, bool is_forwards, const char *call) {
    mica_snapshot *target = other_end(history, step, is_forwards);
    if (target == NULL) {
        return mica_last_result();
    }
    give_seen(is_forwards ? &step->seen_after : &step->seen_before, target);
    const mica_result result = mi_snapshot_restore(target, history->world, &history->def.restore, call);
    if (result != MICA_OK) {
        mica_snapshot_release(target);
        return result;
    }
    seen_epochs *left = is_forwards ? &step->seen_before : &step->seen_after;
    release_seen(left);
    *left = history->seen;
    history->seen = seen_in(target);
    set_now(history, target);
    return MICA_OK;
}

mica_result mica_history_undo(mica_history *history) {
    mica_result result = prepare_move(history, __func__);
    if (result != MICA_OK) {
        return result;
    }
    if (history->at == 0) {
        return mi_fail_plain(&history->world->log, MICA_ABSENT, __func__, "there is no step to take back");
    }
    result = cross(history, &history->steps.data[history->at - 1], false, __func__);
    history->at -= result == MICA_OK;
    return result;
}

mica_result mica_history_redo(mica_history *history) {
    mica_result result = prepare_move(history, __func__);
    if (result != MICA_OK) {
        return result;
    }
    if (history->at == history->steps.count) {
        return mi_fail_plain(&history->world->log, MICA_ABSENT, __func__, "there is no step to take again");
    }
    result = cross(history, &history->steps.data[history->at], true, __func__);
    history->at += result == MICA_OK;
    return result;
}

const char *mica_history_undo_name(const mica_history *history) {
    return check(history, __func__) == MICA_OK && history->at > 0 ? history->steps.data[history->at - 1].name : NULL;
}

const char *mica_history_redo_name(const mica_history *history) {
    return check(history, __func__) == MICA_OK && history->at < history->steps.count
               ? history->steps.data[history->at].name
               : NULL;
}

mica_history_stats mica_history_statistics(const mica_history *history) {
    if (check(history, __func__) != MICA_OK) {
        return (mica_history_stats){0};
    }
    return (mica_history_stats){.undo_count = (int32_t)history->at,
                                .redo_count = (int32_t)(history->steps.count - history->at),
                                .open_count = (int32_t)history->open_count,
                                .forgotten_count = history->forgotten_count,
                                .byte_size = steps_byte_size(history)};
}

// SyncTest: ticks that are run again, from the states that they began in.
//
// Of each of the last ticks is kept what it began with (a snapshot, messages, its length) and the state after each of
// its steps when it ran first. Repetitions are compared with these, never with each other: what changes from run to run
// is found as well as what changes once.
//
// Before each repetition the chunks of all tables move to other memory, so that a system whose results hang on
// addresses does something else.
//
// Invariants: `ticks` are consecutive, the oldest first. What lies between the end of one and the beginning of the next
// is the program's: where that is not nothing (`is_apart`), a repetition takes the beginning from the snapshot.
#include "run/messages.h"
#include "run/step_states.h"

#include <mica/synctest.h>

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "state/restore.h"

typedef struct kept_tick {
    mica_snapshot *before;
    mica_snapshot *after;
    bool is_apart; // `before` is another state than the one that the tick before it ended in
    float delta_seconds;
    uint64_t number;
    mi_messages messages;
    mi_step_states steps;
} kept_tick;

struct mica_synctest {
    mi_heap heap;
    mica_world *world;
    mi_systems *systems;
    int32_t limit;
    int32_t count;
    kept_tick *ticks;     // room for `limit` of them, and one to be made
    mi_messages messages; // of repetitions
    mi_step_states steps; // the same
};

static void clear_tick(kept_tick *tick) {
    mica_snapshot_release(tick->before);
    mica_snapshot_release(tick->after);
    mi_step_states_clear(&tick->steps);
    mica_snapshot_release(tick->steps.last);
    tick->steps.last = NULL;
    tick->before = NULL;
    tick->after = NULL;
}

static void free_tick(kept_tick *tick) {
    clear_tick(tick);
    mi_messages_free(&tick->messages);
    mi_step_states_free(&tick->steps);
}

static void forget_all(mica_synctest *test) {
    for (int32_t i = 0; i < test->count; i++) {
        clear_tick(&test->ticks[i]);
    }
    test->count = 0;
}

// Making and ending

mica_synctest *mica_synctest_create(mica_world *world, int32_t tick_count) {
    if (world == NULL || tick_count < 1 || tick_count > MICA_SYNCTEST_TICKS_MAX) {
        mi_fail(world == NULL ? NULL : &world->log, MICA_INVALID, __func__, "needs a world, and 1 to {} ticks, not {}",
                MI_INT(MICA_SYNCTEST_TICKS_MAX), MI_INT(tick_count));
        return NULL;
    }
    mi_systems *systems = mi_systems_open(world, __func__);
    if (systems == NULL) {
        return NULL;
    }
    mi_heap heap;
    mica_synctest *test = NULL;
    if (mi_heap_init(&heap, &world->def.allocator)) {
        test = mi_heap_allocate_zeroed(&heap, MICA_MEMORY_STATE, sizeof(*test), _Alignof(mica_synctest));
    }
    if (test == NULL) {
        mi_fail_memory(&world->log, __func__, sizeof(*test));
        return NULL;
    }
    test->heap = heap;
    test->world = world;
    test->systems = systems;
    test->limit = tick_count;
    const size_t byte_size = ((size_t)tick_count + 1) * sizeof(kept_tick);
    test->ticks = mi_heap_allocate_zeroed(&test->heap, MICA_MEMORY_STATE, byte_size, _Alignof(kept_tick));
    if (test->ticks == NULL) {
        mica_synctest_destroy(test);
        mi_fail_memory(&world->log, __func__, byte_size);
        return NULL;
    }
    for (int32_t i = 0; i <= tick_count; i++) {
        test->ticks[i].messages.heap = &test->heap;
        test->ticks[i].steps = (mi_step_states){.heap = &test->heap, .keeps = true, .is_exact = true};
    }
    test->messages.heap = &test->heap;
    test->steps = (mi_step_states){.heap = &test->heap, .keeps = true, .is_exact = true};
    return test;
}

void mica_synctest_destroy(mica_synctest *test) {
    if (test == NULL) {
        return;
    }
    if (test->ticks != NULL) {
        for (int32_t i = 0; i <= test->limit; i++) {
            free_tick(&test->ticks[i]);
        }
        mi_heap_release(&test->heap, MICA_MEMORY_STATE, test->ticks, ((size_t)test->limit + 1) * sizeof(kept_tick),
                        _Alignof(kept_tick));
    }
    mi_messages_free(&test->messages);
    mi_step_states_free(&test->steps);
    mi_heap heap = test->heap;
    mi_heap_release(&heap, MICA_MEMORY_STATE, test, sizeof(*test), _Alignof(mica_synctest));
}

// The first run

static const mica_checksum_options exactly = {.exact = true};
// What a tick did. Messages that came in while it ran do not come in again.
static const mica_checksum_options repeated = {.exact = true, .leave_messages = true};

static mica_result compare(const mica_snapshot *a, const mica_snapshot *b, const mica_checksum_options *options,
                           bool *is_same) {
    uint64_t sums[2] = {0};
    mica_result result = mica_snapshot_checksum(a, options, &sums[0]);
    if (result == MICA_OK) {
        result = mica_snapshot_checksum(b, options, &sums[1]);
    }
    *is_same = sums[0] == sums[1];
    return result;
}

// Runs a tick whose messages and steps are noted.
static mica_result run_first(mica_synctest *test, kept_tick *tick, const char *call) {
    mica_world *world = test->world;
    mica_result result = mi_messages_listen(&tick->messages, world, call);
    if (result != MICA_OK) {
        return result;
    }
    mi_step_states_begin(&tick->steps, test->systems);
    result = mica_world_step(world, tick->delta_seconds);
    mi_step_states_end(&tick->steps, test->systems);
    mi_messages_unlisten(&tick->messages, world);
    if (result == MICA_OK && tick->messages.is_short) {
        result = mi_fail_memory(&world->log, call, 0);
    }
    return result == MICA_OK ? tick->steps.result : result;
}

// Makes room for one more tick behind the others.
static kept_tick *open_tick(mica_synctest *test) {
    if (test->count == test->limit) {
        const kept_tick oldest = test->ticks[0];
        memmove(test->ticks, test->ticks + 1, (size_t)test->limit * sizeof(kept_tick));
        test->ticks[test->limit] = oldest;
        clear_tick(&test->ticks[test->limit]);
        test->count--;
    }
    return &test->ticks[test->count];
}

static mica_result take_tick(mica_synctest *test, float delta_seconds, const char *call) {
    kept_tick *tick = open_tick(test);
    tick->delta_seconds = delta_seconds;
    tick->number = mica_world_tick(test->world);
    tick->before = mi_snapshot_take(test->world, false, call);
    mica_result result = tick->before == NULL ? mica_last_result() : run_first(test, tick, call);
    if (result == MICA_OK) {
        tick->after = mi_snapshot_take(test->world, false, call);
        result = tick->after == NULL ? mica_last_result() : MICA_OK;
    }
    bool is_same = false;
    if (result == MICA_OK && test->count > 0) {
        result = compare(tick[-1].after, tick->before, &exactly, &is_same);
    }
    if (result != MICA_OK) {
        clear_tick(tick);
        return result;
    }
    tick->is_apart = !is_same;
    test->count++;
    return MICA_OK;
}

// Repetitions

static void move_chunks(mica_world *world) {
    mi_store *store = &world->store;
    for (uint32_t i = 0; i < store->ordered.count; i++) {
        mi_store_shake(store, store->ordered.data[i]);
    }
}

// Says where two runs of a tick differ: behind the step with this number, or (UINT32_MAX) at its end.
static mica_result tell(const mica_synctest *test, const kept_tick *tick, uint32_t number, const mica_snapshot *now,
                        mica_synctest_difference *difference, const char *call) {
    const mica_log_handler *log = &test->world->log;
    const mi_step_states *again = &test->steps;
    const mi_step_states *steps = number < tick->steps.list.count ? &tick->steps : again;
    const mica_snapshot *a = tick->after;
    const mica_snapshot *b = now;
    if (number < tick->steps.list.count && number < again->list.count) {
        a = tick->steps.list.data[number].snapshot;
        b = again->list.data[number].snapshot;
    }
    mica_result result = mica_snapshot_compare(a, b, &repeated, &difference->state);
    if (result != MICA_OK) {
        return result;
    }
    if (number < steps->list.count) {
        const mi_step_state *step = &steps->list.data[number];
        difference->in_commands = step->system[0] == '\0';
        (void)snprintf(difference->system, sizeof(difference->system), "%s", mi_step_states_system(steps, number));
        mi_text_copy(difference->stage, sizeof(difference->stage), test->systems->stages.data[step->stage]);
    }
    const mi_pieces pieces = mi_text_pieces(difference->state.text);
    return mi_fail(log, MICA_MISMATCH, call, "tick {} did something else when it was run again, {}\"{}\": {}{}{}",
                   MI_UINT(tick->number),
                   MI_TEXT(difference->system[0] == '\0' ? "behind all systems "
                           : difference->in_commands     ? "in the commands up to those of system "
                                                         : "in system "),
                   MI_TEXT(difference->system), MI_TEXT(pieces.first), MI_TEXT(pieces.second), MI_TEXT(pieces.rest));
}

// Runs a tick again and compares. MICA_MISMATCH: something was not the same.
static mica_result repeat_tick(mica_synctest *test, kept_tick *tick, mica_synctest_difference *difference,
                               const char *call) {
    mica_world *world = test->world;
    mica_result result = mi_messages_give(&tick->messages, world);
    if (result != MICA_OK) {
        return result;
    }
    mi_step_states_begin(&test->steps, test->systems);
    const mica_result step_result = mica_world_step(world, tick->delta_seconds);
    mi_step_states_end(&test->steps, test->systems);
    if (step_result == MICA_OUT_OF_MEMORY || test->steps.result != MICA_OK) {
        return step_result != MICA_OK ? step_result : test->steps.result;
    }
    mica_snapshot *now = mi_snapshot_take(world, false, call);
    if (now == NULL) {
        return mica_last_result();
    }
    const uint32_t number = mi_step_states_compare(&tick->steps, &test->steps);
    difference->tick = tick->number;
    bool is_same = false;
    result = compare(tick->after, now, &repeated, &is_same);
    if (result == MICA_OK && (number != UINT32_MAX || step_result != MICA_OK || !is_same)) {
        result = tell(test, tick, number, now, difference, call);
    }
    mica_snapshot_release(now);
    return result;
}

// Goes back to the beginning of the oldest tick and runs all of them again.
static mica_result repeat(mica_synctest *test, mica_synctest_difference *difference, const char *call) {
    mica_result result = MICA_OK;
    for (int32_t i = 0; result == MICA_OK && i < test->count; i++) {
        kept_tick *tick = &test->ticks[i];
        difference->run_number = test->count - i;
        if (i == 0 || tick->is_apart) {
            result = mi_snapshot_restore(tick->before, test->world, NULL, call);
        }
        if (result == MICA_OK && i == 0) {
            move_chunks(test->world); // what was known of addresses is void after a restore
        }
        if (result == MICA_OK) {
            result = repeat_tick(test, tick, difference, call);
        }
    }
    return result;
}

mica_result mica_synctest_step(mica_synctest *test, float delta_seconds, mica_synctest_difference *difference) {
    if (test == NULL) {
        return mi_fail_plain(NULL, MICA_INVALID, __func__, "needs a SyncTest");
    }
    mica_synctest_difference found = {0};
    mica_result result = take_tick(test, delta_seconds, __func__);
    if (result == MICA_OK) {
        result = repeat(test, &found, __func__);
    }
    if (result != MICA_OK) {
        forget_all(test);
    }
    if (difference != NULL) {
        *difference = found;
    }
    return result;
}

// The check of threads: a tick on one thread and on several, from the same state.
//
// The first run notes the state after every step of the plan, the second one wherever no system runs: after a step that
// had the world to itself, and after the last one of each range that ran side by side. The ranges that both have in
// common are compared; what lies between the last place that was the same and the first that was not has done it.
//
// Invariants: the world has its threads and its way of using them back whatever happens; nothing is kept from one check
// to the next.
#include "run/messages.h"
#include "run/step_states.h"

#include <mica/thread_check.h>

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "state/restore.h"

typedef struct check {
    mi_heap heap;
    mica_world *world;
    mi_systems *systems;
    float delta_seconds;
    uint64_t tick;
    mica_snapshot *before;
    mica_snapshot *ends[2]; // on one thread, on several
    mi_messages messages;
    mi_step_states steps[2];
} check;

// Steps that did something else, of the first run.
typedef struct steps_range {
    uint32_t first, end; // numbers in its list
} steps_range;

static const mica_checksum_options exactly = {.exact = true};

// Running

static mica_result run_noted(check *c, uint32_t side, const char *call) {
    mi_step_states_begin(&c->steps[side], c->systems);
    const mica_result result = mica_world_step(c->world, c->delta_seconds);
    mi_step_states_end(&c->steps[side], c->systems);
    if (result != MICA_OK || c->steps[side].result != MICA_OK) {
        return result != MICA_OK ? result : c->steps[side].result;
    }
    c->ends[side] = mi_snapshot_take(c->world, false, call);
    return c->ends[side] == NULL ? mica_last_result() : MICA_OK;
}

static mica_result run_on_one(check *c, const char *call) {
    mica_result result = mi_messages_listen(&c->messages, c->world, call);
    if (result != MICA_OK) {
        return result;
    }
    mica_jobs *jobs = c->world->jobs;
    c->world->jobs = NULL;
    result = run_noted(c, 0, call);
    c->world->jobs = jobs;
    mi_messages_unlisten(&c->messages, c->world);
    if (result == MICA_OK && c->messages.is_short) {
        result = mi_fail_memory(&c->world->log, call, 0);
    }
    return result;
}

static mica_result run_on_several(check *c, const char *call) {
    mica_world *world = c->world;
    mica_result result = mi_snapshot_restore(c->before, world, NULL, call);
    if (result == MICA_OK) {
        result = mi_messages_give(&c->messages, world);
    }
    if (result != MICA_OK) {
        return result;
    }
    const bool is_always_parallel = world->def.always_parallel;
    world->def.always_parallel = true;
    c->systems->watches_ranges = true;
    result = run_noted(c, 1, call);
    c->systems->watches_ranges = false;
    world->def.always_parallel = is_always_parallel;
    if (result != MICA_OK && result != MICA_OUT_OF_MEMORY) {
        char text[256];
        mi_text_copy(text, sizeof(text), mica_last_error());
        const mi_pieces pieces = mi_text_pieces(text);
        return mi_fail(&world->log, result, call, "tick {} fails on several threads, and does not on one: {}{}{}",
                       MI_UINT(c->tick), MI_TEXT(pieces.first), MI_TEXT(pieces.second), MI_TEXT(pieces.rest));
    }
    return result;
}

// Comparing

// Finds the first place of both runs at which they differ. False: there is none.
static bool find_difference(const check *c, steps_range *found, mica_snapshot *sides[2]) {
    const mi_step_state *one = c->steps[0].list.data;
    const uint32_t count = c->steps[0].list.count;
    *found = (steps_range){0};
    for (uint32_t i = 0; i < c->steps[1].list.count; i++) {
        const mi_step_state *several = &c->steps[1].list.data[i];
        while (found->end < count && one[found->end].index <= several->index) {
            found->end++;
        }
        if (found->end > 0 && one[found->end - 1].checksum != several->checksum) {
            sides[0] = one[found->end - 1].snapshot;
            sides[1] = several->snapshot;
            return true;
        }
        found->first = found->end;
    }
    found->end = found->first;
    return false;
}

static mica_result compare_ends(const check *c, bool *is_same) {
    uint64_t sums[2] = {0};
    mica_result result = mica_snapshot_checksum(c->ends[0], &exactly, &sums[0]);
    if (result == MICA_OK) {
        result = mica_snapshot_checksum(c->ends[1], &exactly, &sums[1]);
    }
    *is_same = sums[0] == sums[1];
    return result;
}

// Saying

static bool writes(const check *c, const char *name, mica_component component) {
    const mica_system handle = mica_system_find(c->world, name);
    if (handle.id == 0 || component == 0) {
        return false;
    }
    const mi_system *system = mi_system_resolve(c->world, handle, __func__);
    const mi_access_entry *entry = mi_access_find(&system->order.access, component);
    return entry != NULL && entry->writes;
}

static void add_suspect(const check *c, uint32_t number, mica_thread_difference *difference) {
    const mi_step_state *step = &c->steps[0].list.data[number];
    const char *name = mi_step_states_system(&c->steps[0], number);
    if (difference->system[0] == '\0') {
        mi_text_copy(difference->system, sizeof(difference->system), name);
        mi_text_copy(difference->stage, sizeof(difference->stage), c->systems->stages.data[step->stage]);
    }
    const size_t length = strlen(difference->suspects);
    (void)snprintf(difference->suspects + length, sizeof(difference->suspects) - length, "%s\"%s\"",
                   length > 0 ? ", " : "", name);
}

// Names the steps of the range that say that they write what differs; or all of them, if there is none. Returns how
// many it has named.
static uint32_t suspect(const check *c, const steps_range *range, mica_thread_difference *difference) {
    const mi_step_state *steps = c->steps[0].list.data;
    uint32_t count = 0;
    for (uint32_t i = range->first; i < range->end; i++) {
        if (writes(c, steps[i].system, difference->state.component)) {
            difference->is_declared = true;
            add_suspect(c, i, difference);
            count++;
        }
    }
    difference->in_commands = range->end > range->first && steps[range->end - 1].system[0] == '\0';
    if (difference->is_declared) {
        return count;
    }
    for (uint32_t i = range->first; i < range->end; i++) {
        add_suspect(c, i, difference);
    }
    return range->end - range->first;
}

static mica_result tell(const check *c, const steps_range *range, mica_snapshot *const sides[2],
                        mica_thread_difference *difference, const char *call) {
    const mica_result result = mica_snapshot_compare(sides[0], sides[1], &exactly, &difference->state);
    if (result != MICA_OK) {
        return result;
    }
    const uint32_t suspect_count = suspect(c, range, difference);
    const char *where = suspect_count == 0                 ? "behind all systems"
                        : difference->in_commands          ? "in the commands up to those of system "
                        : suspect_count == 1               ? "in system "
                        : difference->is_declared          ? "in one of the systems beside each other that write it: "
                        : difference->state.component == 0 ? "in one of the systems beside each other: "
                                                           : "in one of the systems beside each other, none of which "
                                                             "says that it writes it: ";
    char text[MICA_DIFFERENCE_TEXT_SIZE];
    (void)snprintf(text, sizeof(text), "%s%.80s: %.300s", where, difference->suspects, difference->state.text);
    const mi_pieces pieces = mi_text_pieces(text);
    return mi_fail(&c->world->log, MICA_MISMATCH, call, "tick {} did something else on several threads, {}{}{}",
                   MI_UINT(c->tick), MI_TEXT(pieces.first), MI_TEXT(pieces.second), MI_TEXT(pieces.rest));
}

static mica_result run_check(check *c, mica_thread_difference *difference, const char *call) {
    c->before = mi_snapshot_take(c->world, false, call);
    mica_result result = c->before == NULL ? mica_last_result() : run_on_one(c, call);
    if (result == MICA_OK) {
        result = run_on_several(c, call);
    }
    if (result != MICA_OK) {
        return result;
    }
    steps_range range;
    mica_snapshot *sides[2] = {c->ends[0], c->ends[1]};
    bool is_same = !find_difference(c, &range, sides);
    if (is_same) {
        result = compare_ends(c, &is_same);
    }
    return result != MICA_OK || is_same ? result : tell(c, &range, sides, difference, call);
}

static void end_check(check *c) {
    for (uint32_t side = 0; side < 2; side++) {
        mica_snapshot_release(c->ends[side]);
        mi_step_states_free(&c->steps[side]);
    }
    mica_snapshot_release(c->before);
    mi_messages_free(&c->messages);
}

mica_result mica_world_check_threads(mica_world *world, float delta_seconds, mica_thread_difference *difference) {
    mi_systems *systems = mi_systems_open(world, __func__);
    if (systems == NULL || mi_systems_check_idle(systems, __func__) != MICA_OK) {
        return mica_last_result();
    }
    if (world->jobs == NULL || mica_jobs_thread_count(world->jobs) < 2) {
        return mi_fail_plain(&world->log, MICA_INVALID, __func__,
                             "the world has one thread: there is nothing to check");
    }
    check c = {.world = world, .systems = systems, .delta_seconds = delta_seconds, .tick = systems->tick};
    if (!mi_heap_init(&c.heap, &world->def.allocator)) {
        return mi_fail_memory(&world->log, __func__, 0);
    }
    c.messages.heap = &c.heap;
    for (uint32_t side = 0; side < 2; side++) {
        c.steps[side] = (mi_step_states){.heap = &c.heap, .keeps = true, .is_exact = true};
    }
    mica_thread_difference found = {.tick = c.tick};
    const mica_result result = run_check(&c, &found, __func__);
    end_check(&c);
    if (difference != NULL) {
        *difference = found;
    }
    return result;
}

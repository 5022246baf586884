// States after the steps of a tick; see step_states.h.
//
// Each is a snapshot, taken where a tool may look at the world. Snapshots share what is the same, so that a step costs
// what it has written; where they are not kept, the latest one is, for the next to share with.
#include "run/step_states.h"

#include <mica/checksum.h>

#include <string.h>

#include "base/text.h"

// The call that a tick belongs to, for errors.
#define TICK_CALL "mica_world_step"

static void keep(mi_step_states *states, mi_step_state *state, mica_snapshot *snapshot) {
    mica_snapshot_release(states->last);
    states->last = snapshot;
    if (states->keeps) {
        state->snapshot = mica_snapshot_retain(snapshot);
    }
}

// Structure is locked for those who watch steps, since nothing is to be changed between them; nothing is.
static mica_snapshot *take_between_steps(mica_world *world) {
    const mi_callback *callback = world->front.callback;
    world->front.callback = NULL;
    mica_snapshot *snapshot = mi_snapshot_take(world, false, TICK_CALL);
    world->front.callback = callback;
    return snapshot;
}

static mica_result note_step(mi_step_states *states, mica_world *world, const mica_plan_step *step) {
    if (!MI_RESERVE(states->heap, MICA_MEMORY_STATE, &states->list, (size_t)states->list.count + 1)) {
        return mi_fail_memory(&world->log, TICK_CALL, sizeof(mi_step_state));
    }
    mi_step_state *state = &states->list.data[states->list.count];
    *state = (mi_step_state){.index = step->index, .stage = step->stage};
    mi_text_copy(state->system, sizeof(state->system), step->system == NULL ? "" : step->system);
    mica_snapshot *snapshot = take_between_steps(world);
    if (snapshot == NULL) {
        return mica_last_result();
    }
    keep(states, state, snapshot);
    const mica_checksum_options options = {
        .exact = states->is_exact, .leave_transient = !states->is_exact, .leave_messages = true};
    const mica_result result = mica_snapshot_checksum(snapshot, &options, &state->checksum);
    if (result != MICA_OK) {
        mica_snapshot_release(state->snapshot);
        return result;
    }
    states->list.count++;
    return MICA_OK;
}

static void see_step(mica_world *world, const mica_plan_step *step, void *user) {
    mi_step_states *states = user;
    if (states->result == MICA_OK) {
        states->result = note_step(states, world, step);
    }
    if (states->outer != NULL) {
        states->outer(world, step, states->outer_user);
    }
}

void mi_step_states_begin(mi_step_states *states, mi_systems *systems) {
    mi_step_states_clear(states);
    states->outer = systems->watch;
    states->outer_user = systems->watch_user;
    systems->watch = see_step;
    systems->watch_user = states;
}

void mi_step_states_end(mi_step_states *states, mi_systems *systems) {
    // A system may have let somebody else watch meanwhile.
    if (systems->watch == see_step && systems->watch_user == states) {
        systems->watch = states->outer;
        systems->watch_user = states->outer_user;
    }
}

void mi_step_states_clear(mi_step_states *states) {
    for (uint32_t i = 0; i < states->list.count; i++) {
        mica_snapshot_release(states->list.data[i].snapshot);
    }
    states->list.count = 0;
    states->result = MICA_OK;
}

void mi_step_states_free(mi_step_states *states) {
    mi_step_states_clear(states);
    mica_snapshot_release(states->last);
    states->last = NULL;
    MI_FREE(states->heap, MICA_MEMORY_STATE, &states->list);
}

static bool is_same(const mi_step_state *a, const mi_step_state *b) {
    return a->checksum == b->checksum && a->index == b->index && strcmp(a->system, b->system) == 0;
}

uint32_t mi_step_states_compare(const mi_step_states *a, const mi_step_states *b) {
    const uint32_t count = a->list.count < b->list.count ? a->list.count : b->list.count;
    uint32_t at = 0;
    while (at < count && is_same(&a->list.data[at], &b->list.data[at])) {
        at++;
    }
    return at < count || a->list.count != b->list.count ? at : UINT32_MAX;
}

const char *mi_step_states_system(const mi_step_states *states, uint32_t number) {
    const char *system = number < states->list.count ? states->list.data[number].system : "";
    for (uint32_t i = number; system[0] == '\0' && i-- > 0 && i < states->list.count;) {
        system = states->list.data[i].system;
    }
    return system;
}

void mi_step_states_write(const mi_step_states *states, mi_writer *writer) {
    mi_write_u32(writer, states->list.count);
    for (uint32_t i = 0; i < states->list.count; i++) {
        const mi_step_state *state = &states->list.data[i];
        mi_write_text(writer, state->system);
        mi_write_u32(writer, (uint32_t)state->index);
        mi_write_u64(writer, state->checksum);
    }
}

void mi_step_states_read(mi_step_states *states, mi_reader *reader) {
    enum { LEAST_SIZE = 16 };
    const uint32_t count = mi_read_count(reader, LEAST_SIZE);
    if (!MI_RESERVE(states->heap, MICA_MEMORY_STATE, &states->list, count)) {
        mi_read_fail(reader, MICA_OUT_OF_MEMORY, NULL);
        return;
    }
    for (uint32_t i = 0; i < count && reader->result == MICA_OK; i++) {
        mi_step_state state = {0};
        uint32_t length = 0;
        const char *system = mi_read_text(reader, &length);
        if (length >= sizeof(state.system)) {
            mi_read_fail(reader, MICA_FORMAT, "the name of a system is too long");
            return;
        }
        memcpy(state.system, system, length);
        state.index = (int32_t)mi_read_u32(reader);
        state.checksum = mi_read_u64(reader);
        if (reader->result == MICA_OK) {
            states->list.data[states->list.count++] = state;
        }
    }
}

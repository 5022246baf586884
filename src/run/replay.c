// Replay: recorded ticks run again, each compared with what was recorded of it.
//
// Before each tick the world is exactly in the recorded state, from which the file's deltas lead to the state after it;
// that is built aside, the tick is run, and the two are compared. Where the tick ended as recorded the recorded state
// is restored all the same, which costs what it wrote, so that nothing that comparing leaves out adds up.
#include "run/journal.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "state/restore.h"

typedef struct replay {
    mi_journal_source *source;
    mica_world *world;
    mi_systems *systems;
    mica_snapshot *recorded; // the state after the record before
    mi_step_states steps;    // of the tick that is run
    mica_replay_difference *difference;
} replay;

enum { FAILURE_SIZE = 256 };

// A tick was not as it was recorded, for this reason. Names the system, if its steps were recorded.
static mica_result tell(replay *played, const char *reason, const char *call) {
    const mi_step_states *recorded = &played->source->payload.steps;
    mica_replay_difference *difference = played->difference;
    const uint32_t number = recorded->list.count > 0 ? mi_step_states_compare(recorded, &played->steps) : UINT32_MAX;
    if (number != UINT32_MAX) {
        const mi_step_states *known = number < recorded->list.count ? recorded : &played->steps;
        difference->in_commands = known->list.data[number].system[0] == '\0';
        (void)snprintf(difference->system, sizeof(difference->system), "%s", mi_step_states_system(known, number));
    }
    char where[2 * sizeof(difference->system)] = "";
    if (difference->system[0] != '\0') {
        (void)snprintf(where, sizeof(where), ", in %s \"%s\"",
                       difference->in_commands ? "the commands up to those of system" : "system", difference->system);
    }
    const mi_pieces pieces = mi_text_pieces(reason);
    return mi_fail(&played->world->log, MICA_MISMATCH, call, "tick {} is not as it was recorded{}: {}{}{}",
                   MI_UINT(difference->tick), MI_TEXT(where), MI_TEXT(pieces.first), MI_TEXT(pieces.second),
                   MI_TEXT(pieces.rest));
}

// Compares the world with the recorded state, exactly; versions, which grow when somebody looks, may differ, and so may
// messages that wait: those that were posted while the tick ran were nobody's yet.
static mica_result check_tick(replay *played, mica_snapshot *expected, const char *call) {
    const mica_checksum_options exactly = {.exact = true, .leave_transient = true, .leave_messages = true};
    mica_snapshot *now = mi_snapshot_take(played->world, false, call);
    if (now == NULL) {
        return mica_last_result();
    }
    mica_difference *difference = &played->difference->state;
    mica_result result = mica_snapshot_compare(expected, now, &exactly, difference);
    mica_snapshot_release(now);
    if (result == MICA_OK && difference->kind != MICA_DIFFERENCE_NONE) {
        result = tell(played, difference->text, call);
    }
    return result == MICA_OK ? mi_snapshot_restore(expected, played->world, NULL, call) : result;
}

// Runs the tick of the record that is loaded, whose state is `expected`.
static mica_result run_tick(replay *played, mica_snapshot *expected, const char *call) {
    const mi_journal_payload *payload = &played->source->payload;
    mica_world *world = played->world;
    mica_result result = mi_messages_give(&payload->messages, world);
    if (result != MICA_OK) {
        return result;
    }
    const bool has_steps = payload->steps.list.count > 0;
    played->difference->tick = mica_world_tick(world);
    if (has_steps) {
        mi_step_states_begin(&played->steps, played->systems);
    }
    result = mica_world_step(world, payload->delta_seconds);
    if (has_steps) {
        mi_step_states_end(&played->steps, played->systems);
    }
    if (result == MICA_OUT_OF_MEMORY) {
        return result;
    }
    if (result != MICA_OK) {
        char failure[FAILURE_SIZE];
        mi_text_copy(failure, sizeof(failure), mica_last_error());
        return tell(played, failure, call);
    }
    return check_tick(played, expected, call);
}

// Takes a state for that which the world is in.
static void keep(replay *played, mica_snapshot *state) {
    mica_snapshot_release(played->recorded);
    played->recorded = state;
}

// Brings the world from the state after the record before into that after a record.
static mica_result play(replay *played, uint32_t number, const char *call) {
    mi_journal_source *source = played->source;
    mica_world *world = played->world;
    mica_result result = mi_journal_load_payload(source, world->schema, number, call);
    const mi_journal_kind kind = source->file.records.data[number].mark.kind;
    if (result != MICA_OK || kind == MI_JOURNAL_CHECKPOINT) { // which is the state that the world is in
        return result;
    }
    if (source->payload.before_byte_size > 0) {
        mica_snapshot *before = mi_journal_build_before(source, world, played->recorded, number, call);
        result = before == NULL ? mica_last_result() : mi_snapshot_restore(before, world, NULL, call);
        if (result != MICA_OK) {
            mica_snapshot_release(before);
            return result;
        }
        keep(played, before);
    }
    mica_snapshot *after = mi_journal_build_after(source, world, played->recorded, number, call);
    if (after == NULL) {
        return mica_last_result();
    }
    result = kind == MI_JOURNAL_TICK ? run_tick(played, after, call) : mi_snapshot_restore(after, world, NULL, call);
    keep(played, after);
    return result;
}

static mica_result play_all(replay *played, uint32_t first, uint32_t last, const char *call) {
    mica_result result = mi_journal_seek(played->source, played->world, first, &played->recorded, call);
    for (uint32_t number = first + 1; result == MICA_OK && number <= last; number++) {
        result = play(played, number, call);
    }
    return result;
}

mica_result mica_journal_replay(mica_journal_reader *reader, mica_world *world, uint64_t from, uint64_t to,
                                mica_replay_difference *difference) {
    mica_replay_difference found = {0};
    if (reader == NULL || world == NULL || from > to) {
        return mi_fail_plain(world == NULL ? NULL : &world->log, MICA_INVALID, __func__,
                             "needs a reader and a world, and a first tick that is not behind the last one");
    }
    mi_systems *systems = mi_systems_open(world, __func__);
    if (systems == NULL) {
        return mica_last_result();
    }
    const uint32_t first = mi_journal_number_of(&reader->source, from, __func__);
    const uint32_t last = mi_journal_number_of(&reader->source, to, __func__);
    if (first == MI_JOURNAL_NONE || last == MI_JOURNAL_NONE) {
        return MICA_ABSENT;
    }
    replay played = {.source = &reader->source,
                     .world = world,
                     .systems = systems,
                     .steps = {.heap = &reader->heap},
                     .difference = &found};
    const mica_result result = play_all(&played, first, last, __func__);
    mica_snapshot_release(played.recorded);
    mi_step_states_free(&played.steps);
    if (difference != NULL) {
        *difference = found;
    }
    return result;
}

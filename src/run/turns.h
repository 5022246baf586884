// When a system has its turn: its rate, the states of the program that it is bound to, and its condition.
#pragma once

#include <mica/system.h>

#include "base/text.h"

struct mi_systems;

typedef struct mi_gate {
    mica_component component; // an enumeration, whose resource is looked at
    mica_gate_use use;
    int64_t value;
    uint32_t byte_size;
    uint8_t bytes[8]; // of the value
} mi_gate;

typedef struct mi_turn {
    uint32_t every;          // ticks; 0: each
    uint32_t offset;         // below `every`
    double interval_seconds; // 0: each tick
    uint32_t gate_count;
    mi_gate gates[MICA_SYSTEM_GATE_MAX];
    // State of the world. Of who has neither a rate nor gates: zero.
    double due_seconds;    // time that has been counted and that no turn has used; negative where one came early
    double passed_seconds; // time that has been counted since the last run
    uint8_t was_open;      // bit n: in the last step that counted, the state of gate n had its value
    // Of the running step.
    bool counts;     // what passes in the step counts for it
    bool held_back;  // its condition did not hold
    uint8_t is_open; // as `was_open`
    uint8_t let_by;  // bit n: gate n lets the system run
} mi_turn;

static inline bool mi_turn_is_rated(const mi_turn *turn) {
    return turn->every > 1 || turn->interval_seconds > 0;
}

// Whether some of it changes from step to step.
static inline bool mi_turn_has_state(const mi_turn *turn) {
    return mi_turn_is_rated(turn) || turn->gate_count > 0;
}

// MICA_OK, or MICA_INVALID set for `call`: the definition has a rate that there is not.
mica_result mi_turn_check_rate(const mica_world *world, const mica_system_def *def, const char *call);
// Takes over what a definition says of turns, whose rate was checked. As mica_system_add, with the error set for
// `call`.
mica_result mi_turn_make(mi_turn *turn, mica_world *world, const mica_system_def *def, const char *call);

// Adds when a gate lets its system run: "while Phase is PLAYING". A value without a name is told by its number.
void mi_gate_add_text(mi_text_out *out, const mica_schema *schema, const mi_gate *gate);

// The first gate that did not let the system run in the last step; NULL: all did.
const mi_gate *mi_turn_closed_gate(const mi_turn *turn);

// Decides which systems have their turn in the step that begins, a tick or one of the paused world. O(systems).
void mi_turns_begin(struct mi_systems *systems, float delta_seconds);
// Counts the step, which did not fail. O(systems).
void mi_turns_end(struct mi_systems *systems, float delta_seconds);

// How much time has passed for a system, with this step, since it last ran.
static inline float mi_turn_delta(const mi_turn *turn, float delta_seconds) {
    return mi_turn_is_rated(turn) ? (float)(turn->passed_seconds + (double)delta_seconds) : delta_seconds;
}

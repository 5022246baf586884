// The state of a world after each step of a tick: systems and barriers. It tells which of them was the first to do
// something else than another time.
#pragma once

#include "run/system.h"
#include "state/snapshot.h"

typedef struct mi_step_state {
    int32_t index; // in the plan
    mica_stage stage;
    uint64_t checksum;
    mica_snapshot *snapshot; // NULL: not kept
    char system[96];         // the name, cut; "": a barrier
} mi_step_state;

typedef struct mi_step_states {
    mi_heap *heap; // of what follows
    MI_ARRAY(mi_step_state) list;
    bool keeps;               // snapshots are kept, all of them
    bool is_exact;            // checksums are, and cover transient values too
    mica_result result;       // MICA_OK, or why a state could not be noted; the error is set then
    mica_snapshot *last;      // the latest, so that the next one shares with it
    mica_step_function outer; // who watched before, and goes on being told
    void *outer_user;
} mi_step_states;

// Notes the states after all steps that the world takes until mi_step_states_end.
void mi_step_states_begin(mi_step_states *states, mi_systems *systems);
void mi_step_states_end(mi_step_states *states, mi_systems *systems);
// Forgets what was noted.
void mi_step_states_clear(mi_step_states *states);
void mi_step_states_free(mi_step_states *states);

// The first step whose state is another in `b` than in `a`, or that one of them does not have; UINT32_MAX: none.
uint32_t mi_step_states_compare(const mi_step_states *a, const mi_step_states *b);
// The system that the step is about: its own or, of a barrier, the last one before it whose commands it applied.
const char *mi_step_states_system(const mi_step_states *states, uint32_t number);

// As bytes, without snapshots.
void mi_step_states_write(const mi_step_states *states, mi_writer *writer);
// Reads them into states that are empty. What is wrong is noted with the reader.
void mi_step_states_read(mi_step_states *states, mi_reader *reader);

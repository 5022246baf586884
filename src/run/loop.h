// Parallel loops: what a system keeps for them.
#pragma once

#include "base/jobs.h"
#include "run/cost.h"
#include "world/commands.h"
#include "world/pieces.h"

#include <mica/parallel.h>

// A span that is being visited.
typedef struct mi_span {
    const mica_random *from; // what the spans' generators are split from
    uint64_t number;         // of its piece, and, from bit 32 on, of the span in the piece
    bool has_random;
    mica_random random;
} mi_span;

// Pieces that follow each other, for one thread to take at once.
typedef struct mi_loop_range {
    mi_cut_place first;
    uint32_t first_number; // of all pieces of the loop
    uint32_t piece_count;
} mi_loop_range;

// What is known of loops over a query by a function.
typedef struct mi_loop_known {
    const mica_query *query; // NULL: nothing
    mica_span_function function;
    mi_cost cost;
} mi_loop_known;

#define MI_LOOP_KNOWN_COUNT 4u

struct mi_loop_part;

// Zero has run no loop. One loop of a system runs at a time.
typedef struct mi_loop_room {
    MI_ARRAY(struct mi_loop_part) parts; // by thread
    MI_ARRAY(mi_loop_range) ranges;
    MI_ARRAY(mi_commands_part) recorded; // by range
    mi_loop_known known[MI_LOOP_KNOWN_COUNT];
    uint32_t next_known;   // the one to be forgotten next
    uint64_t span_count;   // that loops have visited
    uint64_t entity_count; // in these
    uint64_t wait_count;   // mi_os_count: how long they have waited for other threads
} mi_loop_room;

void mi_loop_free(mi_loop_room *room, mi_heap *heap);
// Drops what spans of a loop have recorded that was not joined. What was joined is dropped before.
void mi_loop_clear(mi_loop_room *room);

// Parallel loops.
//
// What a query's walk goes through is cut into pieces (world/pieces.h), and these are dealt out in ranges of about as
// many rows; threads take the next range until there is none. Who took which one shows nowhere: what a range has
// recorded is noted with it, and joined in the order of ranges, and random numbers belong to spans, which are numbered
// by their place.
//
// The thread that runs the loop shares the world first if it has it to itself, and takes part like all others. It waits
// for the other parts before it returns, also for those that come too late to find a range. Each part has a walk of its
// own; one that has no memory for it fails the system.
//
// Invariants: parts, ranges and what was recorded are the system's, which runs on one thread at a time and one loop at
// a time; a range is taken by one thread; a part's buffer is empty when a loop begins, or lends to the system's.
#include "run/loop.h"

#include "base/atomic.h"
#include "base/os.h"
#include "run/hardware.h"
#include "run/trace.h"
#include "world/notice.h"
#include "world/query.h"
#include "world/walk.h"

typedef struct mi_loop {
    mica_run *run; // the system's
    mi_cut cut;
    mica_span_function function;
    void *user;
    const mica_random *random; // where the spans' generators come from
    mi_loop_room *room;
    uint32_t next;       // atomic: the first range that nobody has taken
    uint32_t failed;     // atomic: the first range in which the system has failed; UINT32_MAX: none
    uint32_t float_mode; // of the thread that runs the loop
    int32_t thread;      // its number in the pool
} mi_loop;

typedef struct mi_loop_part {
    mi_job job; // first: leads back from the job to the part
    mi_loop *loop;
    mica_commands *commands; // NULL: not made yet
    uint64_t span_count;     // visited
    uint64_t entity_count;
    mica_run run;
    mica_iter iter;
    mi_span span;
} mi_loop_part;

// Spans

// A run for the spans of a loop.
static mica_run span_run(const mi_loop *loop, mica_commands *commands) {
    mica_run run = *loop->run;
    run.commands = commands;
    run.has_failed = false;
    run.actor.in_span = true;
    return run;
}

static void visit(mi_loop_part *part, uint64_t number) {
    part->span_count++;
    part->entity_count += (uint64_t)part->iter.count;
    part->span.number = number;
    part->span.has_random = false;
    part->loop->function(&part->run, &part->iter, part->loop->user);
    if (!part->iter.open) {
        mica_run_fail(&part->run, MICA_INVALID, "a function of a loop has ended the walk of its span");
    }
}

// What a span calls may fail the system's run, where that is the one that runs.
static bool has_failed(const mi_loop_part *part) {
    return part->run.has_failed || part->loop->run->has_failed;
}

// Visits the spans of a piece of a walk that looks at entities.
static void visit_spans(mi_loop_part *part, const mi_cut_place *place, uint32_t number) {
    bool found = mi_iter_enter(&part->iter, &part->loop->cut, place);
    for (uint64_t span = 0; found; span++) {
        visit(part, span << 32 | number);
        found = !has_failed(part) && mica_iter_next(&part->iter);
    }
}

// Visits the spans of pieces that follow each other, until the part fails.
static void visit_pieces(mi_loop_part *part, const mi_loop_range *range) {
    const mi_cut *cut = &part->loop->cut;
    mi_cut_place place = range->first;
    for (uint32_t i = 0; i < range->piece_count && place.row_count > 0 && !has_failed(part); i++) {
        const uint32_t number = range->first_number + i;
        if (MICA_LIKELY(part->iter.walk == NULL)) {
            mi_iter_enter_rows(&part->iter, &place);
            visit(part, number);
        } else {
            visit_spans(part, &place, number);
        }
        mi_cut_next(cut, &place);
    }
}

static void count_visited(const mi_loop *loop, const mi_loop_part *part) {
    loop->room->span_count += part->span_count;
    loop->room->entity_count += part->entity_count;
}

// Goes over all pieces here.
static mica_result run_here(mi_loop *loop) {
    mi_loop_part part = {.loop = loop, .run = span_run(loop, loop->run->commands), .span.from = loop->random};
    part.run.span = &part.span;
    part.iter = mica_query_begin(loop->cut.query);
    if (!part.iter.open) {
        return mica_last_result();
    }
    bool *in_span = mi_world_in_span(loop->run->world);
    const bool was_in_span = *in_span;
    const mi_loop_range all = {.first = mi_cut_first(&loop->cut), .piece_count = UINT32_MAX};
    *in_span = true;
    visit_pieces(&part, &all);
    *in_span = was_in_span;
    mica_iter_end(&part.iter);
    if (loop->run->span == NULL) { // within spans of another loop, others may run at the same time
        count_visited(loop, &part);
    }
    loop->run->has_failed |= part.run.has_failed;
    return MICA_OK;
}

static void run_range(mi_loop_part *part, uint32_t number) {
    mi_loop *loop = part->loop;
    mi_commands_part *recorded = &loop->room->recorded.data[number];
    *recorded = mi_commands_begin_part(part->commands);
    visit_pieces(part, &loop->room->ranges.data[number]);
    mi_commands_end_part(recorded);
    if (part->run.has_failed) {
        mi_lower_first(&loop->failed, number);
    }
}

static void note_part(const mi_loop_part *part, uint64_t begin) {
    const mica_run *run = part->loop->run;
    const mi_systems *systems = mi_systems_find(run->world);
    if (systems->trace != NULL) {
        mi_trace_note(systems, &(mi_trace_record){.kind = MICA_TRACE_LOOP,
                                                  .system_id = run->system->id,
                                                  .begin = begin,
                                                  .span_count = part->span_count,
                                                  .entity_count = part->entity_count});
    }
}

static void run_part(mi_job *job) {
    mi_loop_part *part = (mi_loop_part *)(void *)job;
    mi_loop *loop = part->loop;
    mica_world *world = loop->run->world;
    const uint32_t range_count = loop->room->ranges.count;
    uint32_t number = mi_take_next(&loop->next);
    if (number >= range_count) {
        return;
    }
    const mi_systems *systems = mi_systems_find(world);
    const int32_t thread = mi_jobs_thread(world->jobs);
    mi_hardware_mark counted = {.is_counted = false};
    if (thread != loop->thread) { // else it is part of the system's run
        mi_hardware_open(systems, &counted);
    }
    const uint64_t begin = mi_os_count();
    mi_os_set_float_mode(loop->float_mode);
    part->run.actor.seat = &world->sharing.seats[thread];
    mi_actor_enter(&part->run.actor);
    part->iter = mica_query_begin(loop->cut.query);
    if (!part->iter.open) {
        mica_run_fail(&part->run, mica_last_result(), mica_last_error());
    }
    // Ranges behind one that has failed are left out, those before it are not. A helper that has to go leaves the rest
    // to the others: the thread that runs the loop itself is never wanted elsewhere.
    while (number < range_count && number < mi_load_first(&loop->failed)) {
        run_range(part, number);
        number = mi_jobs_is_wanted(world->jobs) ? range_count : mi_take_next(&loop->next);
    }
    mica_iter_end(&part->iter);
    if (!mi_actor_leave(&part->run.actor)) {
        mica_run_fail(&part->run, MICA_LOCKED, MI_LEFT_WALK);
    }
    mi_hardware_close(systems, loop->run->system, &counted);
    note_part(part, begin);
}

// Dealing out

static bool add_range(mi_heap *heap, mi_loop_room *room, const mi_loop_range *range) {
    if (!MI_RESERVE(heap, MICA_MEMORY_SYSTEMS, &room->ranges, (size_t)room->ranges.count + 1)) {
        return false;
    }
    room->ranges.data[room->ranges.count++] = *range;
    return true;
}

// Deals the pieces out in ranges of about `target` rows. False: out of memory.
static bool deal_out(mi_loop *loop, uint64_t target) {
    mi_heap *heap = &loop->run->world->heap;
    mi_loop_room *room = loop->room;
    mi_loop_range range = {0};
    uint64_t rows = 0; // of the range
    uint32_t number = 0;
    room->ranges.count = 0;
    for (mi_cut_place place = mi_cut_first(&loop->cut); place.row_count > 0;
         mi_cut_next(&loop->cut, &place), number++) {
        if (range.piece_count == 0) {
            range = (mi_loop_range){.first = place, .first_number = number};
        }
        rows += place.row_count;
        range.piece_count++;
        if (rows >= target) {
            if (!add_range(heap, room, &range)) {
                return false;
            }
            range.piece_count = 0;
            rows = 0;
        }
    }
    return range.piece_count == 0 || add_range(heap, room, &range);
}

// What is known of the loop's cost.
static mi_cost *cost_of(const mi_loop *loop) {
    mi_loop_room *room = loop->room;
    for (uint32_t i = 0; i < MI_LOOP_KNOWN_COUNT; i++) {
        if (room->known[i].query == loop->cut.query && room->known[i].function == loop->function) {
            return &room->known[i].cost;
        }
    }
    mi_loop_known *known = &room->known[room->next_known];
    room->next_known = (room->next_known + 1) % MI_LOOP_KNOWN_COUNT;
    *known = (mi_loop_known){.query = loop->cut.query, .function = loop->function};
    return &known->cost;
}

// Running

// Makes sure of the parts and their buffers.
static bool have_parts(mi_loop *loop, uint32_t count) {
    mica_world *world = loop->run->world;
    mi_loop_room *room = loop->room;
    if (!MI_RESERVE(&world->heap, MICA_MEMORY_SYSTEMS, &room->parts, count)) {
        return false;
    }
    while (room->parts.count < count) {
        room->parts.data[room->parts.count++] = (mi_loop_part){.commands = NULL};
    }
    for (uint32_t i = 0; i < count; i++) {
        mi_loop_part *part = &room->parts.data[i];
        if (part->commands == NULL) {
            part->commands = mi_commands_create(world, true);
        }
        if (part->commands == NULL) {
            return false;
        }
        part->job.function = run_part;
        part->loop = loop;
        part->span_count = 0;
        part->entity_count = 0;
        part->run = span_run(loop, part->commands);
        part->span.from = loop->random;
        part->run.span = &part->span;
        part->run.actor.walk_count = 0;
        part->run.actor.run = &part->run;
    }
    return MI_RESERVE(&world->heap, MICA_MEMORY_SYSTEMS, &room->recorded, room->ranges.count);
}

static void wait_for_parts(const mi_loop *loop, mi_job_group *group) {
    const mica_run *run = loop->run;
    const mi_systems *systems = mi_systems_find(run->world);
    const uint64_t begin = mi_os_count();
    mi_jobs_wait(run->world->jobs, group);
    const uint64_t end = mi_os_count();
    loop->room->wait_count += end > begin ? end - begin : 0;
    if (systems->trace != NULL) {
        mi_trace_note(systems, &(mi_trace_record){
                                   .kind = MICA_TRACE_WAIT, .system_id = run->system->id, .begin = begin, .end = end});
    }
}

static void run_parts(mi_loop *loop, uint32_t part_count) {
    mica_jobs *jobs = loop->run->world->jobs;
    loop->thread = mi_jobs_thread(jobs);
    mi_loop_part *parts = loop->room->parts.data;
    mi_job_group group = {0};
    for (uint32_t i = 1; i < part_count; i++) {
        mi_jobs_start(jobs, &group, &parts[i].job);
    }
    mi_jobs_run(jobs, &group, &parts[0].job);
    wait_for_parts(loop, &group);
    for (uint32_t i = 0; i < part_count; i++) {
        count_visited(loop, &parts[i]);
        loop->run->has_failed |= parts[i].run.has_failed;
    }
}

static mica_result join(const mi_loop *loop, const char *call) {
    const mi_loop_room *room = loop->room;
    if (loop->run->has_failed) {
        return MICA_OK; // what was recorded is dropped
    }
    const mica_result result = mi_commands_join(loop->run->commands, room->recorded.data, room->ranges.count, call);
    if (result != MICA_OK) {
        mica_run_fail(loop->run, result, mica_last_error());
    }
    return result;
}

// Runs the loop on several threads; false: there is no memory for that, and nothing has happened.
static bool run_shared(mi_loop *loop, const mi_cost_shares *shares, const char *call, mica_result *result) {
    mica_world *world = loop->run->world;
    const bool is_alone = !world->is_shared;
    if (!deal_out(loop, shares->range_rows) || !have_parts(loop, shares->count) ||
        (is_alone && (!mi_world_have_seats(world, (uint32_t)mica_jobs_thread_count(world->jobs)) ||
                      mi_world_share(world, call) != MICA_OK))) {
        return false;
    }
    run_parts(loop, shares->count);
    if (is_alone) {
        mi_world_unshare(world);
    }
    *result = join(loop, call);
    return true;
}

static bool writes_observed(const mica_query *query) {
    bool is_observed = false;
    for (uint32_t i = 0; query->writes && i < query->column_count; i++) {
        const mi_query_column *column = &query->columns[i];
        const uint8_t use = query->terms[column->term].use;
        is_observed |= (use == MICA_USE_WRITE || use == MICA_USE_OPTIONAL_WRITE) &&
                       mi_signals_hear_write(&query->world->signals, column->type->info.id);
    }
    return is_observed;
}

// Whether spans may write what somebody observes: through the query, or by handle as the system's access says.
static bool may_write_observed(const mi_loop *loop) {
    const mica_world *world = loop->run->world;
    const mi_plan_system *order = &loop->run->system->order;
    if (order->exclusive && order->access.entries.count == 0) { // it may write anything
        return world->signals.kinds != 0 || world->front.watches_writes;
    }
    return mi_access_is_observed(&order->access, world) || writes_observed(loop->cut.query);
}

// Whether the loop may be shared out at all.
static bool can_share(const mi_loop *loop) {
    const mica_run *run = loop->run;
    const mica_world *world = run->world;
    const uint32_t walk_count = world->is_shared ? run->actor.walk_count : world->front.walk_count;
    return world->jobs != NULL && run->span == NULL && walk_count == 0 && mi_cut_is_free(&loop->cut) &&
           (world->is_shared || !may_write_observed(loop));
}

static mica_result run_loop(mi_loop *loop, const char *call) {
    const mica_world *world = loop->run->world;
    const uint64_t thread_count = can_share(loop) ? (uint64_t)mica_jobs_thread_count(world->jobs) : 1;
    mica_result result = MICA_OK;
    if (thread_count == 1) {
        return run_here(loop);
    }
    if (world->def.always_parallel) {
        const mi_cost_shares all = {.count = (uint32_t)thread_count, .range_rows = 1};
        return run_shared(loop, &all, call, &result) ? result : run_here(loop);
    }
    mi_cost *cost = cost_of(loop);
    const mi_cost_shares shares = mi_cost_share(cost, loop->cut.row_count, thread_count);
    const uint64_t begin = mi_os_nanoseconds();
    if (shares.count > 1 && run_shared(loop, &shares, call, &result)) {
        mi_cost_note_shared(cost, loop->cut.row_count, thread_count, mi_os_nanoseconds() - begin);
    } else {
        result = run_here(loop);
        mi_cost_note_alone(cost, loop->cut.row_count, mi_os_nanoseconds() - begin);
    }
    return result;
}

mica_result mica_parallel_for(mica_run *run, mica_query *query, mica_span_function function, void *user) {
    static const char call[] = "mica_parallel_for";
    if (run == NULL) {
        return mi_fail_plain(NULL, MICA_INVALID, call, "needs the run that the system was called with");
    }
    mica_world *world = run->world;
    query = query == NULL ? run->system->query : query;
    if (query == NULL || function == NULL || query->world != world) {
        return mi_fail(&world->log, MICA_INVALID, call, "system \"{}\" needs {} for a parallel loop",
                       MI_TEXT(run->system->order.name),
                       MI_TEXT(function == NULL ? "a function"
                               : query == NULL  ? "a query"
                                                : "a query of its own world"));
    }
    mica_result result = mi_query_check(query, call);
    if (result == MICA_OK) {
        result = mi_access_check_query(query, call);
    }
    if (result != MICA_OK) {
        return result;
    }
    mica_random *own = mica_run_random(run);
    const mica_random random = *own;
    mica_random_next(own);
    mi_loop loop = {.run = run,
                    .cut = mi_cut_make(query),
                    .function = function,
                    .user = user,
                    .random = &random,
                    .room = &run->system->loop,
                    .failed = UINT32_MAX,
                    .float_mode = mi_os_float_mode()};
    return run_loop(&loop, call);
}

void mi_loop_clear(mi_loop_room *room) {
    for (uint32_t i = 0; i < room->parts.count; i++) {
        mica_commands_clear(room->parts.data[i].commands);
    }
}

void mi_loop_free(mi_loop_room *room, mi_heap *heap) {
    for (uint32_t i = 0; i < room->parts.count; i++) {
        mi_commands_destroy(room->parts.data[i].commands);
    }
    MI_FREE(heap, MICA_MEMORY_SYSTEMS, &room->parts);
    MI_FREE(heap, MICA_MEMORY_SYSTEMS, &room->ranges);
    MI_FREE(heap, MICA_MEMORY_SYSTEMS, &room->recorded);
}

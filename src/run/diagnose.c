// Diagnoses: what looks wrong in a world, found in what its parts keep anyway.
//
// Nothing is allocated and nothing changes, so that a world that is short of memory can be asked as well. What is told
// in order of names is found by going over all again for the next name: there are few findings.
//
// What observers took is measured by tick: at the end of one the calls since its beginning are counted with their mean
// time. Both this and the ticks' own time fade, a 64th a tick.
#include <mica/diagnose.h>

#include "base/text.h"
#include "run/system.h"
#include "world/event.h"
#include "world/inbox.h"
#include "world/query.h"
#include "world/tracker.h"

#include <string.h>

enum {
    TEXT_SIZE = 768,
    TOMBSTONE_COUNT_LEAST = 64,           // fewer are not worth a word
    TOMBSTONE_PART = 4,                   // one in so many positions
    REMOVAL_COUNT_LEAST = 4096,           // fewer are not worth a word
    SERIAL_COUNT_LEAST = 8,               // fewer systems are not worth a word
    OBSERVER_PART = 4,                    // a tick's time by this
    OBSERVER_NANOSECONDS_LEAST = 1000000, // in the ticks that count: less is not worth a word
    FADE = 64
};

typedef struct report {
    mica_diagnose_function function; // may be NULL
    void *user;
    int32_t count;
    mi_text_out text;
    char buffer[TEXT_SIZE];
} report;

static mi_text_out *begin(report *to) {
    to->text = mi_text_begin(to->buffer, sizeof(to->buffer));
    return &to->text;
}

static void tell(report *to, mica_diagnosis_kind kind, const char *subject) {
    to->count++;
    if (to->function != NULL) {
        const mica_diagnosis diagnosis = {.kind = kind, .subject = subject, .text = to->buffer};
        to->function(&diagnosis, to->user);
    }
}

// Pools

static bool is_buried(const mi_pool *pool) {
    return pool->dead_count >= TOMBSTONE_COUNT_LEAST && pool->dead_count >= pool->count / TOMBSTONE_PART;
}

// Of the pools that are mostly tombstones the first by name behind `name` (NULL: of all); NULL: none.
static const mi_pool *next_buried(const mi_store *store, const char *name) {
    const mi_pool *next = NULL;
    for (uint32_t i = 0; i < store->pool_list.count; i++) {
        const mi_pool *pool = store->pool_list.data[i];
        if (is_buried(pool) && (name == NULL || strcmp(pool->type->info.name, name) > 0) &&
            (next == NULL || strcmp(pool->type->info.name, next->type->info.name) < 0)) {
            next = pool;
        }
    }
    return next;
}

static void tell_of_pools(report *to, const mi_store *store) {
    for (const mi_pool *pool = next_buried(store, NULL); pool != NULL;
         pool = next_buried(store, pool->type->info.name)) {
        mi_text_add(begin(to),
                    "%u of the %u positions of pool %s are tombstones (%u %%), which walks pass over: "
                    "mica_pool_compact closes them",
                    pool->dead_count, pool->count, pool->type->info.name,
                    (uint32_t)((uint64_t)pool->dead_count * 100 / pool->count));
        tell(to, MICA_DIAGNOSIS_TOMBSTONES, pool->type->info.name);
    }
}

// Queries

// Whether an entity has, or has had, a component.
static bool is_used(const mi_store *store, const mi_type *type) {
    if (type->info.storage == MICA_POOL) {
        const mi_pool *pool = mi_store_find_pool(store, type->info.id);
        return pool != NULL && pool->structure > 0;
    }
    for (uint32_t i = 0; i < store->ordered.count; i++) {
        if (mi_table_has(store->ordered.data[i], type->info.id)) {
            return true;
        }
    }
    return false;
}

// The first component by name that the query requires and that nobody has had; NULL: none.
static const char *unused_name(const mica_query *query) {
    for (uint32_t i = 0; i < query->term_count; i++) {
        const mi_term *term = &query->terms[query->by_name[i]];
        const mi_type *type = mi_term_type(query, term);
        if (mi_term_is_required(term) && !is_used(&query->world->store, type)) {
            return type->info.name;
        }
    }
    return NULL;
}

static void tell_of_system_query(report *to, const mi_system *system, const mica_query *query) {
    const char *name = query != NULL ? unused_name(query) : NULL;
    if (name != NULL) {
        mi_text_add(begin(to),
                    "the query (%s) of system \"%s\" matches nobody: no entity has had %s so far; look whether that is "
                    "the name under which it is added",
                    query->text, system->order.name, name);
        tell(to, MICA_DIAGNOSIS_QUERY, query->text);
    }
}

static bool has_query(const mi_system *system, const mica_query *query) {
    for (uint32_t i = 0; i < system->query_count; i++) {
        if (system->queries[i] == query) {
            return true;
        }
    }
    return system->query == query;
}

static bool is_of_system(const mi_systems *systems, const mica_query *query) {
    for (uint32_t i = 0; systems != NULL && i < systems->all.count; i++) {
        if (!systems->all.data[i]->removed && has_query(systems->all.data[i], query)) {
            return true;
        }
    }
    return false;
}

// Of the queries that match nobody and that no system has the first by text behind `text` (NULL: of all); NULL: none.
static const mica_query *next_unused(const mica_world *world, const mi_systems *systems, const char *text) {
    const mica_query *next = NULL;
    for (uint32_t i = 0; i < world->queries.count; i++) {
        const mica_query *query = world->queries.data[i];
        if ((text == NULL || strcmp(query->text, text) > 0) && (next == NULL || strcmp(query->text, next->text) < 0) &&
            unused_name(query) != NULL && !is_of_system(systems, query)) {
            next = query;
        }
    }
    return next;
}

static void tell_of_queries(report *to, const mica_world *world, const mi_systems *systems) {
    for (uint32_t i = 0; systems != NULL && i < systems->all.count; i++) {
        const mi_system *system = systems->all.data[i];
        if (!system->removed) {
            tell_of_system_query(to, system, system->query);
            for (uint32_t k = 0; k < system->query_count; k++) {
                tell_of_system_query(to, system, system->queries[k]);
            }
        }
    }
    for (const mica_query *query = next_unused(world, systems, NULL); query != NULL;
         query = next_unused(world, systems, query->text)) {
        mi_text_add(begin(to),
                    "the query (%s) matches nobody: no entity has had %s so far; look whether that is the name under "
                    "which it is added",
                    query->text, unused_name(query));
        tell(to, MICA_DIAGNOSIS_QUERY, query->text);
    }
}

// Systems

// Says why a system did not run in the last tick; false: it will run in the next one.
static bool add_reason(mi_text_out *text, const mi_systems *systems, const mi_system *system) {
    const mi_failure *failure = &systems->last_failure;
    if (!system->enabled_next) {
        mi_text_add(text, "it is disabled; mica_system_enable lets it run");
        return true;
    }
    if (failure->code == MICA_OK && system->turn.held_back) {
        mi_text_add(text, "its condition did not hold at its last turn");
        return true;
    }
    const mi_gate *gate = failure->code == MICA_OK ? mi_turn_closed_gate(&system->turn) : NULL;
    if (gate != NULL) {
        mi_text_add(text, "it runs ");
        mi_gate_add_text(text, systems->world->schema, gate);
        mi_text_add(text, ", which was not so in the last tick");
        return true;
    }
    if (failure->code == MICA_OK || !system->enabled) {
        return false;
    }
    if (failure->system_id == system->id && failure->in_start) {
        mi_text_add(text, "its start function fails: %s", failure->text);
    } else {
        mi_text_add(text,
                    "ticks end before its turn, because system \"%s\" fails in stage \"%s\": %s; let that one succeed, "
                    "or disable it",
                    failure->system, systems->stages.data[failure->stage], failure->text);
    }
    return true;
}

static void tell_of_systems(report *to, const mi_systems *systems) {
    for (uint32_t i = 0; systems != NULL && i < systems->all.count; i++) {
        const mi_system *system = systems->all.data[i];
        const uint64_t tick_count = systems->begun_count - system->begun_before;
        if (system->removed || system->run_count > 0 || tick_count == 0) {
            continue;
        }
        mi_text_out *text = begin(to);
        mi_text_add(text, "system \"%s\" has not run in any of %llu ticks since it was added: ", system->order.name,
                    (unsigned long long)tick_count);
        if (add_reason(text, systems, system)) {
            tell(to, MICA_DIAGNOSIS_SYSTEM, system->order.name);
        }
    }
}

// The schedule

// Whether no two systems of a batch may run side by side: then each waits for the one right before it.
static bool is_serial(const mi_plan *plan, const mi_plan_batch *batch) {
    for (uint32_t i = batch->first + 1; i < batch->end; i++) {
        const mi_plan_step *step = &plan->steps.data[i];
        // Of those that a step waits for the last one is the nearest.
        if (step->wait_count == 0 || plan->waits.data[step->first_wait + step->wait_count - 1] != i - 1) {
            return false;
        }
    }
    return true;
}

static void tell_of_schedule(report *to, const mi_systems *systems) {
    if (systems == NULL || systems->world->jobs == NULL || systems->plan_age == MI_PLAN_VOID) {
        return;
    }
    const mi_plan *plan = systems->plan_age == MI_PLAN_NEXT ? &systems->next_plan : &systems->plan;
    uint32_t exclusive_count = 0;
    uint32_t other_count = 0;
    for (uint32_t i = 0; i < plan->steps.count; i++) {
        const mi_plan_system *system = plan->steps.data[i].system;
        exclusive_count += system != NULL && system->exclusive;
        other_count += system != NULL && !system->exclusive;
    }
    for (uint32_t i = 0; i < plan->batches.count; i++) {
        if (!is_serial(plan, &plan->batches.data[i])) {
            return;
        }
    }
    if (exclusive_count + other_count >= SERIAL_COUNT_LEAST) {
        mi_text_add(begin(to),
                    "the schedule is all serial: %u systems are exclusive, and of %u others no two may run side by "
                    "side; mica_world_plan_explain says what keeps each of them apart",
                    exclusive_count, other_count);
        tell(to, MICA_DIAGNOSIS_SCHEDULE, "");
    }
}

// Removals that wait for systems

static uint32_t count_removals(const mi_system *system, const mica_query *query) {
    if (query == NULL || query->removed == NULL) {
        return 0;
    }
    const mi_removals *removals = &query->removed->state.removals;
    return removals->entries.count - mi_removals_find(removals, system->since);
}

static void tell_of_removals(report *to, const mi_systems *systems) {
    for (uint32_t i = 0; systems != NULL && i < systems->all.count; i++) {
        const mi_system *system = systems->all.data[i];
        const mica_query *query = system->query;
        for (uint32_t k = 0; k < system->query_count; k++) {
            query =
                count_removals(system, system->queries[k]) > count_removals(system, query) ? system->queries[k] : query;
        }
        const uint32_t count = count_removals(system, query);
        if (!system->removed && !system->enabled_next && count >= REMOVAL_COUNT_LEAST) {
            mi_text_add(
                begin(to),
                "%u removals of %s are kept for system \"%s\", which is disabled: enable it, or remove it if it "
                "is not to run again",
                count, mi_schema_type(systems->world->schema, query->removed->component)->info.name,
                system->order.name);
            tell(to, MICA_DIAGNOSIS_REMOVALS, system->order.name);
        }
    }
}

// Observers

void mi_observers_begin_tick(mica_world *world) {
    for (uint32_t i = 0; i < world->signals.observers.count; i++) {
        mi_observer *observer = world->signals.observers.data[i];
        observer->calls_before_tick = mi_observer_calls(observer);
    }
}

void mi_observers_end_tick(mica_world *world, uint64_t nanoseconds) {
    for (uint32_t i = 0; i < world->signals.observers.count; i++) {
        mi_observer *observer = world->signals.observers.data[i];
        const uint64_t calls = mi_observer_calls(observer) - observer->calls_before_tick;
        const uint64_t sampled = observer->sampled_count > 0 ? observer->sampled_count : 1;
        const double spent = (double)calls * (double)observer->sampled_nanoseconds / (double)sampled;
        observer->tick_nanoseconds += spent - observer->tick_nanoseconds / FADE;
        observer->ticks_nanoseconds += (double)nanoseconds - observer->ticks_nanoseconds / FADE;
    }
}

static void tell_of_observers(report *to, const mi_signals *signals) {
    for (uint32_t i = 0; i < signals->observers.count; i++) {
        const mi_observer *observer = signals->observers.data[i];
        if (observer->is_own || !observer->is_connected || observer->tick_nanoseconds < OBSERVER_NANOSECONDS_LEAST ||
            observer->tick_nanoseconds * OBSERVER_PART < observer->ticks_nanoseconds) {
            continue;
        }
        const double share = observer->tick_nanoseconds / observer->ticks_nanoseconds;
        mi_text_add(
            begin(to),
            "observer \"%s\" takes about %d %% of the ticks' time (%llu calls in all): let it do less, or let a "
            "system handle what has changed once a tick",
            observer->name, share < 1 ? (int)(share * 100) : 100, (unsigned long long)mi_observer_calls(observer));
        tell(to, MICA_DIAGNOSIS_OBSERVER, observer->name);
    }
}

static void tell_of_reactions(report *to, const mi_signals *signals) {
    if (signals->dropped_count > 0) {
        mi_text_add(begin(to),
                    "what observers recorded was dropped %llu times, because they caused each other beyond "
                    "reaction_limit, or memory ran out: the log names the chain; let it end, or allow longer ones",
                    (unsigned long long)signals->dropped_count);
        tell(to, MICA_DIAGNOSIS_REACTIONS, "");
    }
}

// Events

static bool has_missed(const mi_event_queue *queue) {
    bool missed = queue->delivered.missed_count > 0;
    for (uint32_t i = 0; i < queue->readers.count; i++) {
        missed |= queue->readers.data[i]->cursor.missed_count > 0;
    }
    return missed;
}

// Of the types whose events somebody has missed the first by name behind `name` (NULL: of all); NULL: none.
static const mi_event_queue *next_missed(const mi_events *events, const char *name) {
    const mi_event_queue *next = NULL;
    for (uint32_t i = 0; events != NULL && i < events->queues.count; i++) {
        const mi_event_queue *queue = events->queues.data[i];
        if (queue != NULL && has_missed(queue) && (name == NULL || strcmp(queue->type->info.name, name) > 0) &&
            (next == NULL || strcmp(queue->type->info.name, next->type->info.name) < 0)) {
            next = queue;
        }
    }
    return next;
}

static void tell_of_events(report *to, const mi_events *events) {
    for (const mi_event_queue *queue = next_missed(events, NULL); queue != NULL;
         queue = next_missed(events, queue->type->info.name)) {
        const char *name = queue->type->info.name;
        for (uint32_t i = 0; i < queue->readers.count; i++) {
            const mica_event_reader *reader = queue->readers.data[i];
            if (reader->cursor.missed_count > 0) {
                mi_text_add(begin(to),
                            "reader \"%s\" has missed %llu events of %s: let it read in every tick, destroy it, or let "
                            "mica_event_set_limits keep them longer",
                            reader->name, (unsigned long long)reader->cursor.missed_count, name);
                tell(to, MICA_DIAGNOSIS_EVENTS, name);
            }
        }
        if (queue->delivered.missed_count > 0) {
            mi_text_add(begin(to),
                        "%llu events of %s were dropped before they were delivered to their handlers: call "
                        "mica_event_deliver in every tick, or let mica_event_set_limits keep them longer",
                        (unsigned long long)queue->delivered.missed_count, name);
            tell(to, MICA_DIAGNOSIS_EVENTS, name);
        }
    }
}

static void tell_of_inbox(report *to, mica_inbox *inbox) {
    const mica_inbox_stats stats = inbox != NULL ? mica_inbox_statistics(inbox) : (mica_inbox_stats){0};
    if (stats.refused_count > 0) {
        mi_text_add(
            begin(to),
            "%llu messages were refused, because the inbox was full (%u messages, %u bytes): let ticks come more "
            "often, or raise inbox_message_limit or inbox_byte_limit of the world's definition",
            (unsigned long long)stats.refused_count, stats.message_limit, stats.byte_limit);
        tell(to, MICA_DIAGNOSIS_INBOX, "");
    }
}

int32_t mica_world_diagnose(const mica_world *world, mica_diagnose_function function, void *user) {
    if (world == NULL) {
        mi_fail_plain(NULL, MICA_INVALID, "mica_world_diagnose", "needs a world");
        return -1;
    }
    const mi_systems *systems = mi_systems_find(world);
    report to = {.function = function, .user = user};
    tell_of_pools(&to, &world->store);
    tell_of_queries(&to, world, systems);
    tell_of_systems(&to, systems);
    tell_of_schedule(&to, systems);
    tell_of_removals(&to, systems);
    tell_of_observers(&to, &world->signals);
    tell_of_reactions(&to, &world->signals);
    tell_of_events(&to, world->events);
    tell_of_inbox(&to, mi_inbox_find(world));
    return to.count;
}

const char *mica_diagnosis_name(mica_diagnosis_kind kind) {
    static const char *const names[] = {
#define DIAGNOSIS_NAME(KIND, NAME) NAME,
        MICA_DIAGNOSES(DIAGNOSIS_NAME)
#undef DIAGNOSIS_NAME
    };
    return (uint32_t)kind < MICA_DIAGNOSIS_KIND_COUNT ? names[kind] : "";
}

// Events: sending n of 8 bytes, then reading them all; an operation is one event, sent and read.
//
// The limit appends to an array that grows when it is full, and goes through it.
#include "rows.h"
#include "workload.h"

#include <mica/event.h>

#include <stdlib.h>

MICA_STRUCT(Hit, {
    uint32_t target;
    uint32_t force;
});

typedef struct bus {
    mica_world *world;
    mica_event_reader *reader;
    uint32_t n;
    uint64_t result; // what the last run has read
} bus;

static void bus_tear_down(void *context) {
    bus *state = context;
    mica_event_reader_destroy(state->reader);
    mica_world_destroy(state->world);
    free(state);
}

static void *bus_set_up(int64_t n) {
    bus *state = calloc(1, sizeof *state);
    if (state == NULL) {
        return NULL;
    }
    state->n = (uint32_t)n;
    state->world = mica_world_create(NULL);
    if (state->world != NULL) {
        state->reader = mica_reader_of(state->world, Hit, "bench");
    }
    if (state->reader == NULL) {
        bus_tear_down(state);
        return NULL;
    }
    return state;
}

static inline uint64_t take(uint64_t sum, const Hit *hit) {
    return sum + hit->target * (uint64_t)hit->force;
}

static void send_all(const bus *state) {
    for (uint32_t i = 0; i < state->n; i++) {
        mica_send(state->world, Hit, {i, i + 1});
    }
}

static void one_run(void *context) {
    bus *state = context;
    send_all(state);
    uint64_t sum = 0;
    for (const Hit *hit; (hit = mica_next_event(state->reader, Hit)) != NULL;) {
        sum = take(sum, hit);
    }
    state->result = sum;
}

static void spans_run(void *context) {
    bus *state = context;
    send_all(state);
    uint64_t sum = 0;
    int32_t count = 0;
    for (const Hit *hits; (hits = mica_next_events(state->reader, Hit, &count)) != NULL;) {
        for (int32_t i = 0; i < count; i++) {
            sum = take(sum, &hits[i]);
        }
    }
    state->result = sum;
}

static uint64_t bus_check(void *context) {
    const bus *state = context;
    return state->result;
}

static const bench_side one_by_one = {
    .set_up = bus_set_up,
    .run = one_run,
    .check = bus_check,
    .tear_down = bus_tear_down,
};

static const bench_side by_spans = {
    .set_up = bus_set_up,
    .run = spans_run,
    .check = bus_check,
    .tear_down = bus_tear_down,
};

// The limit.

typedef struct list {
    Hit *hits;
    uint32_t count;
    uint32_t capacity;
    uint32_t n;
    uint64_t result;
} list;

static void list_tear_down(void *context) {
    list *state = context;
    free(state->hits);
    free(state);
}

static void *list_set_up(int64_t n) {
    list *state = calloc(1, sizeof *state);
    if (state != NULL) {
        state->n = (uint32_t)n;
    }
    return state;
}

static bool list_append(list *state, Hit hit) {
    if (state->count == state->capacity) {
        const uint32_t capacity = state->capacity == 0 ? 64 : state->capacity * 2;
        Hit *hits = realloc(state->hits, capacity * sizeof *hits);
        if (hits == NULL) {
            return false;
        }
        state->hits = hits;
        state->capacity = capacity;
    }
    state->hits[state->count++] = hit;
    return true;
}

static void list_run(void *context) {
    list *state = context;
    for (uint32_t i = 0; i < state->n && list_append(state, (Hit){i, i + 1}); i++) {
    }
    uint64_t sum = 0;
    for (uint32_t i = 0; i < state->count; i++) {
        sum = take(sum, &state->hits[i]);
    }
    state->result = sum;
    state->count = 0;
}

static uint64_t list_check(void *context) {
    const list *state = context;
    return state->result;
}

static const bench_side listed = {
    .set_up = list_set_up,
    .run = list_run,
    .check = list_check,
    .tear_down = list_tear_down,
};

static const bench_row rows[] = {
    {"event/send", "main", 10000, "ns/event", 10000, &one_by_one, &listed},
    {"event/send", "read by spans", 10000, "ns/event", 10000, &by_spans, &listed},
};

const bench_family bench_event = {rows, (int32_t)(sizeof rows / sizeof *rows)};

// What observers cost: adding one component of 4 bytes to every entity of a world, in order of creation; an operation
// is one add. Removing is not timed.
//
// What the same adds take in another world where nobody is connected is taken away, so that the figure is what an
// observer costs; the rows "beside C" are beside hand-written C that calls the functions of a list, which has one.
#include "crowd.h"
#include "limit_archetype.h"
#include "limit_pool.h"
#include "rows.h"

static void count_call(const mica_signal *signal) {
    bench_crowd *crowd = signal->user;
    crowd->result += !mica_entity_is_null(signal->entity);
}

// A crowd with an observer on a type.
static void *observed_set_up(int64_t n, mica_type *type) {
    bench_crowd *crowd = bench_crowd_make(n);
    if (crowd != NULL && mica_observer_connect_to(crowd->world, MICA_ADDED, type, count_call, crowd).id == 0) {
        bench_crowd_tear_down(crowd);
        return NULL;
    }
    return crowd;
}

static void *data_set_up(int64_t n) {
    return observed_set_up(n, mica_type_of(Data));
}

static void *pool_data_set_up(int64_t n) {
    return observed_set_up(n, mica_type_of(PoolData));
}

static void *another_set_up(int64_t n) {
    return observed_set_up(n, mica_type_of(PoolMark));
}

// Adding to all; returns how many were added.
static uint64_t add_all(const bench_crowd *crowd) {
    uint64_t count = 0;
    for (uint32_t i = 0; i < crowd->n; i++) {
        count += mica_add_value(crowd->world, crowd->entities[i], Data, {i}) == MICA_OK;
    }
    return count;
}

static uint64_t pool_add_all(const bench_crowd *crowd) {
    uint64_t count = 0;
    for (uint32_t i = 0; i < crowd->n; i++) {
        count += mica_add_value(crowd->world, crowd->entities[i], PoolData, {i}) == MICA_OK;
    }
    return count;
}

static void prepare(void *context) {
    const bench_crowd *crowd = context;
    for (uint32_t i = 0; i < crowd->n; i++) {
        mica_remove(crowd->world, crowd->entities[i], Data);
    }
}

static void pool_prepare(void *context) {
    const bench_crowd *crowd = context;
    for (uint32_t i = 0; i < crowd->n; i++) {
        mica_remove(crowd->world, crowd->entities[i], PoolData);
    }
}

// With nobody who counts them, adds that succeed count.
static void run(void *context) {
    bench_crowd *crowd = context;
    crowd->result = add_all(crowd);
}

static void pool_run(void *context) {
    bench_crowd *crowd = context;
    crowd->result = pool_add_all(crowd);
}

// The observer counts.
static void observed_run(void *context) {
    bench_crowd *crowd = context;
    crowd->result = 0;
    add_all(crowd);
}

static void observed_pool_run(void *context) {
    bench_crowd *crowd = context;
    crowd->result = 0;
    pool_add_all(crowd);
}

static uint64_t check(void *context) {
    const bench_crowd *crowd = context;
    uint64_t checksum = crowd->result;
    for (uint32_t i = 0; i < crowd->n; i++) {
        const Data *data = mica_get(crowd->world, crowd->entities[i], Data);
        checksum = bench_mix(checksum, data == NULL ? UINT64_MAX : data->value);
    }
    return checksum;
}

static uint64_t pool_check(void *context) {
    const bench_crowd *crowd = context;
    uint64_t checksum = crowd->result;
    for (uint32_t i = 0; i < crowd->n; i++) {
        const PoolData *data = mica_get(crowd->world, crowd->entities[i], PoolData);
        checksum = bench_mix(checksum, data == NULL ? UINT64_MAX : data->value);
    }
    return checksum;
}

#define SIDE(NAME, SET_UP, PREPARE, RUN, CHECK, IS_BASELINE)            \
    static const bench_side NAME = {.set_up = (SET_UP),                 \
                                    .prepare = (PREPARE),               \
                                    .run = (RUN),                       \
                                    .check = (CHECK),                   \
                                    .tear_down = bench_crowd_tear_down, \
                                    .is_baseline = (IS_BASELINE)}

SIDE(nobody, bench_crowd_set_up, prepare, run, check, true);
SIDE(one, data_set_up, prepare, observed_run, check, false);
SIDE(another, another_set_up, prepare, run, check, false);
SIDE(pool_nobody, bench_crowd_set_up, pool_prepare, pool_run, pool_check, true);
SIDE(pool_one, pool_data_set_up, pool_prepare, observed_pool_run, pool_check, false);
SIDE(pool_another, another_set_up, pool_prepare, pool_run, pool_check, false);

static const bench_row rows[] = {
    {"observer", "main", 100000, "ns/add", 100000, &one, &nobody},
    {"observer", "on another", 100000, "ns/add", 100000, &another, &nobody},
    {"observer", "beside C", 100000, "ns/add", 100000, &one, &limit_observer},
    {"observer", "pool", 100000, "ns/add", 100000, &pool_one, &pool_nobody},
    {"observer", "pool, on another", 100000, "ns/add", 100000, &pool_another, &pool_nobody},
    {"observer", "pool, beside C", 100000, "ns/add", 100000, &pool_one, &limit_pool_observer},
};

const bench_family bench_observer = {rows, (int32_t)(sizeof rows / sizeof *rows)};

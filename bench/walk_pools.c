// Walks by spans over components in pools: two pools in one order and in two, two pools that a group keeps in order,
// and a small pool beside a table.
#include "crowd.h"
#include "limit_pool.h"
#include "limit_walk.h"
#include "rows.h"

static void move_run(void *context) {
    const bench_crowd *crowd = context;
    mica_each (crowd->query, it) {
        bench_move(mica_write_of(it, PoolPosition), mica_read_of(it, PoolVelocity), it.count);
    }
}

static uint64_t move_check(void *context) {
    return bench_crowd_check_in_pools(context);
}

static void *same_set_up(int64_t n) {
    return bench_crowd_make_in_pools(n, 0, 0);
}

static const bench_side same_order = {
    .set_up = same_set_up,
    .run = move_run,
    .check = move_check,
    .tear_down = bench_crowd_tear_down,
};

static void *mixed_set_up(int64_t n) {
    return bench_crowd_make_in_pools(n, BENCH_SEED_FIRST, BENCH_SEED_SECOND);
}

static const bench_side mixed_order = {
    .set_up = mixed_set_up,
    .run = move_run,
    .check = move_check,
    .tear_down = bench_crowd_tear_down,
};

// The last entity that came leaves and comes again, so that nothing known of an earlier walk holds.
static void change_order(void *context) {
    const bench_crowd *crowd = context;
    const mica_component velocity = mica_register(crowd->world, PoolVelocity);
    const mica_pool_view view = mica_pool_read(crowd->world, velocity);
    const mica_entity last = view.entities[view.count - 1];
    const PoolVelocity value = *mica_get(crowd->world, last, PoolVelocity);
    mica_remove(crowd->world, last, PoolVelocity);
    mica_set_from(crowd->world, last, PoolVelocity, &value);
}

static const bench_side same_order_anew = {
    .set_up = same_set_up,
    .prepare = change_order,
    .run = move_run,
    .check = move_check,
    .tear_down = bench_crowd_tear_down,
};

static const bench_side mixed_order_anew = {
    .set_up = mixed_set_up,
    .prepare = change_order,
    .run = move_run,
    .check = move_check,
    .tear_down = bench_crowd_tear_down,
};

// Every second entity keeps both components, the others their position: these are not in the group.
static void *group_set_up(int64_t n) {
    bench_crowd *crowd = bench_crowd_make_in_pools(n, 0, 0);
    if (crowd == NULL) {
        return NULL;
    }
    const mica_group_def def = {.owned = {mica_type_of(PoolPosition), mica_type_of(PoolVelocity)}};
    for (uint32_t i = 1; i < crowd->n; i += 2) {
        mica_remove(crowd->world, crowd->created[i], PoolVelocity);
    }
    if (mica_group_create(crowd->world, &def) == NULL) {
        bench_crowd_tear_down(crowd);
        return NULL;
    }
    return crowd;
}

static uint64_t group_check(void *context) {
    const bench_crowd *crowd = context;
    uint64_t checksum = 0;
    for (uint32_t i = 0; i < crowd->n; i += 2) {
        const PoolPosition *position = mica_get(crowd->world, crowd->created[i], PoolPosition);
        checksum = bench_mix_position(checksum, position);
    }
    return checksum;
}

static const bench_side in_group = {
    .set_up = group_set_up,
    .run = move_run,
    .check = group_check,
    .tear_down = bench_crowd_tear_down,
};

// One entity in a hundred gets the velocity that counts, in a pool. The random order in which they come is that in
// which they are walked.
static void *table_set_up(int64_t n) {
    bench_crowd *crowd = bench_crowd_make(n);
    if (crowd == NULL) {
        return NULL;
    }
    mica_query_release(crowd->query);
    crowd->query =
        mica_query_create(crowd->world, (const mica_term[]){mica_write(Position), mica_read(PoolVelocity)}, 2);
    if (crowd->query == NULL) {
        bench_crowd_tear_down(crowd);
        return NULL;
    }
    bench_crowd_arrange(crowd, crowd->entities, BENCH_SEED_FIRST);
    for (uint32_t i = 0; i < crowd->n / 100; i++) {
        const PoolVelocity velocity = bench_velocity(crowd->order[i]);
        mica_set_from(crowd->world, crowd->entities[i], PoolVelocity, &velocity);
    }
    return crowd;
}

static void table_run(void *context) {
    const bench_crowd *crowd = context;
    mica_each (crowd->query, it) {
        bench_move(mica_write_of(it, Position), mica_read_of(it, PoolVelocity), it.count);
    }
}

static uint64_t table_check(void *context) {
    const bench_crowd *crowd = context;
    uint64_t checksum = 0;
    for (uint32_t i = 0; i < crowd->n; i++) {
        checksum = bench_mix_position(checksum, mica_get(crowd->world, crowd->created[i], Position));
    }
    return checksum;
}

static const bench_side beside_table = {
    .set_up = table_set_up,
    .run = table_run,
    .check = table_check,
    .tear_down = bench_crowd_tear_down,
};

static const bench_row rows[] = {
    {"walk/pools/same", "main", 10000, "ns/entity", 10000, &same_order, &limit_walk_two_small_pages},
    {"walk/pools/same", "main", 100000, "ns/entity", 100000, &same_order, &limit_walk_two_small_pages},
    {"walk/pools/same", "main", 1000000, "ns/entity", 1000000, &same_order, &limit_walk_two_small_pages},
    {"walk/pools/same", "anew", 10000, "ns/entity", 10000, &same_order_anew, &limit_walk_two_small_pages},
    {"walk/pools/same", "anew", 1000000, "ns/entity", 1000000, &same_order_anew, &limit_walk_two_small_pages},
    {"walk/pools/mixed", "main", 10000, "ns/entity", 10000, &mixed_order, &limit_pools_mixed},
    {"walk/pools/mixed", "main", 100000, "ns/entity", 100000, &mixed_order, &limit_pools_mixed},
    {"walk/pools/mixed", "main", 1000000, "ns/entity", 1000000, &mixed_order, &limit_pools_mixed},
    {"walk/pools/mixed", "anew", 10000, "ns/entity", 10000, &mixed_order_anew, &limit_pools_mixed},
    {"walk/pools/mixed", "anew", 1000000, "ns/entity", 1000000, &mixed_order_anew, &limit_pools_mixed},
    {"walk/group", "main", 10000, "ns/entity", 5000, &in_group, &limit_walk_half},
    {"walk/group", "main", 100000, "ns/entity", 50000, &in_group, &limit_walk_half},
    {"walk/group", "main", 1000000, "ns/entity", 500000, &in_group, &limit_walk_half},
    {"walk/pool/table", "main", 1000000, "ns/entity", 10000, &beside_table, &limit_pool_table},
};

const bench_family bench_walk_pools = {rows, (int32_t)(sizeof rows / sizeof *rows)};

// What indexes find, and what keeping them up costs. Entities have a group of ten and a rank, a permutation; look-ups
// ask for every group, and for the 16 ranks from every rank on, in random order.
//
// The limit of look-ups never changes: entities sorted by group with a list of where each group begins, and an array
// of ranks that is searched by bisection. Setting is beside the same sets in another world that nobody has asked for an
// index, so that the difference is what the index costs.
#include "machine.h"
#include "rows.h"
#include "workload.h"

#include <stdlib.h>

enum { GROUP_SIZE = 10, RANGE_SIZE = 16, FOUND_MAX = 32 };

MICA_STRUCT_WITH(Ranked, (.indexes = {{"group", MICA_HASH}, {"rank", MICA_ORDERED}}), {
    uint32_t group;
    uint32_t rank;
});

static uint32_t group_count_of(uint32_t n) {
    return (n + GROUP_SIZE - 1) / GROUP_SIZE;
}

// Mica

typedef struct ranked_crowd {
    mica_world *world;
    mica_index *index;
    mica_entity *entities; // in order of creation
    uint32_t *order;
    uint32_t n;
    uint32_t round; // of sets
    uint64_t result;
} ranked_crowd;

static void crowd_tear_down(void *context) {
    ranked_crowd *crowd = context;
    if (crowd != NULL) {
        mica_world_destroy(crowd->world);
        free(crowd->entities);
        free(crowd->order);
        free(crowd);
    }
}

// The group of entity number i, and its rank: both go through all, in another order than the numbers.
static Ranked ranked(const uint32_t *order, uint32_t n, uint32_t i) {
    return (Ranked){order[i] % group_count_of(n), order[i]};
}

static uint32_t *order_make(uint32_t n) {
    uint32_t *order = malloc(n * sizeof *order);
    for (uint32_t i = 0; order != NULL && i < n; i++) {
        order[i] = i;
    }
    if (order != NULL) {
        bench_shuffle(order, n, BENCH_SEED_FIRST);
    }
    return order;
}

// `field` NULL: nobody asks for an index.
static void *crowd_set_up(int64_t n, const char *field) {
    ranked_crowd *crowd = calloc(1, sizeof *crowd);
    if (crowd == NULL) {
        return NULL;
    }
    crowd->n = (uint32_t)n;
    crowd->world = mica_world_create(NULL);
    crowd->entities = malloc((size_t)n * sizeof *crowd->entities);
    crowd->order = order_make(crowd->n);
    bool made = crowd->world != NULL && crowd->entities != NULL && crowd->order != NULL;
    for (uint32_t i = 0; made && i < crowd->n; i++) {
        const Ranked value = ranked(crowd->order, crowd->n, i);
        crowd->entities[i] = mica_spawn(crowd->world, mica_value_of(Ranked, {value.group, value.rank}));
        made = !mica_entity_is_null(crowd->entities[i]);
    }
    crowd->index = made && field != NULL ? mica_index_of(crowd->world, Ranked, field) : NULL;
    if (!made || (field != NULL && crowd->index == NULL)) {
        crowd_tear_down(crowd);
        return NULL;
    }
    return crowd;
}

static void *group_set_up(int64_t n) {
    return crowd_set_up(n, "group");
}

static void *rank_set_up(int64_t n) {
    return crowd_set_up(n, "rank");
}

static void *plain_set_up(int64_t n) {
    return crowd_set_up(n, NULL);
}

static uint64_t crowd_check(void *context) {
    const ranked_crowd *crowd = context;
    return crowd->result;
}

// Adds up what was found; the numbers of creation are the indices, from 1 on.
static uint64_t take(uint64_t sum, uint32_t count, uint32_t first, uint32_t last) {
    return sum + count * UINT64_C(1000003) + first * UINT64_C(31) + last;
}

static void find_run(void *context) {
    ranked_crowd *crowd = context;
    mica_entity found[FOUND_MAX];
    uint64_t sum = 0;
    for (uint32_t i = 0; i < crowd->n; i++) {
        const uint32_t group = crowd->order[i] % group_count_of(crowd->n);
        const uint32_t count = (uint32_t)mica_index_find(crowd->index, &group, found, FOUND_MAX);
        sum = take(sum, count, mica_entity_index(found[0]), mica_entity_index(found[count - 1]));
    }
    crowd->result = sum;
}

static void range_run(void *context) {
    ranked_crowd *crowd = context;
    mica_entity found[FOUND_MAX];
    uint64_t sum = 0;
    for (uint32_t i = 0; i < crowd->n; i++) {
        const uint32_t low = crowd->order[i];
        const uint32_t high = low + RANGE_SIZE - 1;
        const uint32_t count = (uint32_t)mica_index_range(crowd->index, &low, &high, found, FOUND_MAX);
        sum = take(sum, count, mica_entity_index(found[0]), mica_entity_index(found[count - 1]));
    }
    crowd->result = sum;
}

// Every entity gets the values of another one, by turns.
static void set_run(void *context) {
    ranked_crowd *crowd = context;
    uint64_t sum = 0;
    crowd->round++;
    for (uint32_t i = 0; i < crowd->n; i++) {
        const Ranked value = ranked(crowd->order, crowd->n, (i + crowd->round) % crowd->n);
        sum += mica_set(crowd->world, crowd->entities[i], Ranked, {value.group, value.rank}) == MICA_OK;
    }
    crowd->result = sum;
}

// The limit

typedef struct sorted_lists {
    uint32_t *order;
    uint32_t *numbers; // entities by group, or by rank
    uint32_t *begins;  // of groups; of ranges the ranks that the numbers have
    uint32_t n;
    uint64_t result;
} sorted_lists;

static void lists_tear_down(void *context) {
    sorted_lists *lists = context;
    if (lists != NULL) {
        free(lists->order);
        free(lists->numbers);
        free(lists->begins);
        free(lists);
    }
}

static sorted_lists *lists_make(int64_t n) {
    sorted_lists *lists = calloc(1, sizeof *lists);
    if (lists == NULL) {
        return NULL;
    }
    lists->n = (uint32_t)n;
    lists->order = order_make(lists->n);
    lists->numbers = malloc((size_t)n * sizeof *lists->numbers);
    lists->begins = calloc((size_t)n + 2, sizeof *lists->begins);
    if (lists->order == NULL || lists->numbers == NULL || lists->begins == NULL) {
        lists_tear_down(lists);
        return NULL;
    }
    return lists;
}

static void *groups_set_up(int64_t n) {
    sorted_lists *lists = lists_make(n);
    if (lists == NULL) {
        return NULL;
    }
    // Counted two places on, then added up: one place on is where the next of a group goes.
    for (uint32_t i = 0; i < lists->n; i++) {
        lists->begins[ranked(lists->order, lists->n, i).group + 2]++;
    }
    for (uint32_t i = 2; i < lists->n + 2; i++) {
        lists->begins[i] += lists->begins[i - 1];
    }
    for (uint32_t i = 0; i < lists->n; i++) {
        lists->numbers[lists->begins[ranked(lists->order, lists->n, i).group + 1]++] = i + 1;
    }
    return lists;
}

static void *ranks_set_up(int64_t n) {
    sorted_lists *lists = lists_make(n);
    for (uint32_t i = 0; lists != NULL && i < lists->n; i++) {
        lists->numbers[lists->order[i]] = i + 1;
        lists->begins[i] = i;
    }
    return lists;
}

static uint64_t lists_check(void *context) {
    const sorted_lists *lists = context;
    return lists->result;
}

static void groups_run(void *context) {
    sorted_lists *lists = context;
    uint32_t found[FOUND_MAX];
    uint64_t sum = 0;
    for (uint32_t i = 0; i < lists->n; i++) {
        const uint32_t group = lists->order[i] % group_count_of(lists->n);
        const uint32_t count = lists->begins[group + 1] - lists->begins[group];
        memcpy(found, lists->numbers + lists->begins[group], (count < FOUND_MAX ? count : FOUND_MAX) * sizeof *found);
        sum = take(sum, count, found[0], found[count - 1]);
    }
    lists->result = sum;
}

static uint32_t bisect(const uint32_t *ranks, uint32_t count, uint32_t rank) {
    uint32_t low = 0;
    while (count > 0) {
        const uint32_t half = count / 2;
        const bool is_below = ranks[low + half] < rank;
        low += is_below ? half + 1 : 0;
        count = is_below ? count - half - 1 : half;
    }
    return low;
}

static void ranks_run(void *context) {
    sorted_lists *lists = context;
    uint32_t found[FOUND_MAX];
    uint64_t sum = 0;
    for (uint32_t i = 0; i < lists->n; i++) {
        const uint32_t low = lists->order[i];
        const uint32_t high = low + RANGE_SIZE - 1;
        uint32_t count = 0;
        for (uint32_t at = bisect(lists->begins, lists->n, low);
             at < lists->n && lists->begins[at] <= high && count < FOUND_MAX; at++) {
            found[count++] = lists->numbers[at];
        }
        sum = count > 0 ? take(sum, count, found[0], found[count - 1]) : sum;
    }
    lists->result = sum;
}

static const bench_side by_group = {
    .set_up = group_set_up, .run = find_run, .check = crowd_check, .tear_down = crowd_tear_down};
static const bench_side by_rank = {
    .set_up = rank_set_up, .run = range_run, .check = crowd_check, .tear_down = crowd_tear_down};
static const bench_side set_group = {
    .set_up = group_set_up, .run = set_run, .check = crowd_check, .tear_down = crowd_tear_down};
static const bench_side set_rank = {
    .set_up = rank_set_up, .run = set_run, .check = crowd_check, .tear_down = crowd_tear_down};
static const bench_side set_plain = {
    .set_up = plain_set_up, .run = set_run, .check = crowd_check, .tear_down = crowd_tear_down};
static const bench_side limit_groups = {
    .set_up = groups_set_up, .run = groups_run, .check = lists_check, .tear_down = lists_tear_down};
static const bench_side limit_ranks = {
    .set_up = ranks_set_up, .run = ranks_run, .check = lists_check, .tear_down = lists_tear_down};

static const bench_row rows[] = {
    {"index/find", "main", 100000, "ns/look-up", 100000, &by_group, &limit_groups},
    {"index/range", "main", 100000, "ns/look-up", 100000, &by_rank, &limit_ranks},
    {"index/set", "main", 100000, "ns/set", 100000, &set_group, &set_plain},
    {"index/set", "ordered", 100000, "ns/set", 100000, &set_rank, &set_plain},
};

const bench_family bench_index = {rows, (int32_t)(sizeof rows / sizeof *rows)};

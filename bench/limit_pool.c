// The limit of pools: what is left of a sparse set when everything optional is taken away.
//
// `sparse` has pages of 4,096 slots by entity index, found through a list, each slot with the generation and the
// position of an entity; `entities` and the values stand densely, and removal moves the last one into the hole. Adding
// and removing also look whether the entity is alive, as Mica does; looking up does not, since the slot knows the
// generation. There are no types, hooks, versions, masks, groups, locks or growth: sizes are fixed beforehand, and the
// compiler sees every loop whole.
//
// A slot of `sparse` whose entity is not in the set is NOT_THERE, a generation that no handle has. All memory is in
// pages of 4 KiB.
#include "limit_pool.h"

#include "limit_entity.h"
#include "machine.h"
#include "workload.h"

#include <stdlib.h>

enum { SPARSE_SHIFT = 12, SPARSE_SIZE = 1 << SPARSE_SHIFT };

static const limit_slot NOT_THERE = {UINT32_MAX, UINT32_MAX};

typedef struct limit_set {
    limit_slot **sparse; // the row of a slot is the position
    limit_slot *slots;   // the memory of all pages
    limit_entity *entities;
    uint32_t page_count;
    uint32_t capacity;
    uint32_t count;
} limit_set;

// Entities, the set or sets, and what a workload needs beside them.
typedef struct limit_state {
    limit_slot *alive; // slots of entities; their rows are the numbers of their creation
    limit_set set;
    limit_set set_too;
    Data *data;            // of `set`
    Position *positions;   // of `set`, or by row
    Velocity *velocities;  // of `set`, or of `set_too`
    limit_entity *created; // in order of creation
    limit_entity *entities;
    limit_entity *entities_too;
    uint32_t *order;
    uint32_t n;
    limit_listener listeners[1];
    uint32_t listener_count;
    uint64_t result; // what runs have computed, so that they are not optimised away
} limit_state;

static void *allocate(uint32_t count, size_t element_size) {
    return bench_pages_allocate(count, element_size, BENCH_PAGES_4_KIB);
}

static bool set_make(limit_set *set, uint32_t capacity) {
    *set = (limit_set){.capacity = capacity, .page_count = capacity / SPARSE_SIZE + 1};
    set->sparse = allocate(set->page_count, sizeof *set->sparse);
    set->slots = allocate(set->page_count * SPARSE_SIZE, sizeof *set->slots);
    set->entities = allocate(capacity, sizeof *set->entities);
    if (set->sparse == NULL || set->slots == NULL || set->entities == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < set->page_count; i++) {
        set->sparse[i] = &set->slots[(size_t)i * SPARSE_SIZE];
    }
    for (uint32_t i = 0; i < set->page_count * SPARSE_SIZE; i++) {
        set->slots[i] = NOT_THERE;
    }
    return true;
}

static void set_free(limit_set *set) {
    bench_pages_free(set->sparse, set->page_count, sizeof *set->sparse);
    bench_pages_free(set->slots, set->page_count * SPARSE_SIZE, sizeof *set->slots);
    bench_pages_free(set->entities, set->capacity, sizeof *set->entities);
}

// The slot of an index, or NULL: nobody of its page is in the set.
static inline limit_slot *set_slot(const limit_set *set, uint32_t index) {
    const uint32_t page = index >> SPARSE_SHIFT;
    if (page >= set->page_count || set->sparse[page] == NULL) {
        return NULL;
    }
    return &set->sparse[page][index & (SPARSE_SIZE - 1)];
}

static inline bool set_has(const limit_set *set, limit_entity entity) {
    const limit_slot *slot = set_slot(set, entity.index);
    return slot != NULL && slot->generation == entity.generation;
}

// Puts an entity that is not there behind the last one. Returns whether it was not there.
static inline bool set_add(limit_set *set, limit_entity entity) {
    limit_slot *slot = set_slot(set, entity.index);
    if (slot == NULL || slot->generation == entity.generation) {
        return false;
    }
    const uint32_t position = set->count++;
    *slot = (limit_slot){entity.generation, position};
    set->entities[position] = entity;
    return true;
}

// Takes an entity out and returns where it stood, which the last one has taken over; UINT32_MAX: it was not there.
static inline uint32_t set_remove(limit_set *set, limit_entity entity) {
    limit_slot *slot = set_slot(set, entity.index);
    if (slot == NULL || slot->generation != entity.generation) {
        return UINT32_MAX;
    }
    const uint32_t position = slot->row;
    const limit_entity last = set->entities[--set->count];
    set->entities[position] = last;
    set_slot(set, last.index)->row = position;
    *slot = NOT_THERE;
    return position;
}

static inline bool entity_alive(const limit_state *state, limit_entity entity) {
    return state->alive[entity.index].generation == entity.generation;
}

static void state_free(void *context) {
    limit_state *state = context;
    set_free(&state->set);
    set_free(&state->set_too);
    bench_pages_free(state->alive, state->n + 1, sizeof *state->alive);
    bench_pages_free(state->data, state->n, sizeof *state->data);
    bench_pages_free(state->positions, state->n, sizeof *state->positions);
    bench_pages_free(state->velocities, state->n, sizeof *state->velocities);
    bench_pages_free(state->created, state->n, sizeof *state->created);
    bench_pages_free(state->entities, state->n, sizeof *state->entities);
    bench_pages_free(state->entities_too, state->n, sizeof *state->entities_too);
    bench_pages_free(state->order, state->n, sizeof *state->order);
    free(state);
}

// Entities 1 to n, nobody in a set, all lists in order of creation.
static limit_state *state_make(int64_t n) {
    limit_state *state = calloc(1, sizeof *state);
    if (state == NULL) {
        return NULL;
    }
    state->n = (uint32_t)n;
    state->alive = allocate(state->n + 1, sizeof *state->alive);
    state->data = allocate(state->n, sizeof *state->data);
    state->positions = allocate(state->n, sizeof *state->positions);
    state->velocities = allocate(state->n, sizeof *state->velocities);
    state->created = allocate(state->n, sizeof *state->created);
    state->entities = allocate(state->n, sizeof *state->entities);
    state->entities_too = allocate(state->n, sizeof *state->entities_too);
    state->order = allocate(state->n, sizeof *state->order);
    const bool sets_made = set_make(&state->set, state->n) && set_make(&state->set_too, state->n);
    if (!sets_made || state->alive == NULL || state->data == NULL || state->positions == NULL ||
        state->velocities == NULL || state->created == NULL || state->entities == NULL || state->entities_too == NULL ||
        state->order == NULL) {
        state_free(state);
        return NULL;
    }
    for (uint32_t i = 0; i < state->n; i++) {
        state->alive[i + 1].row = i;
        state->created[i] = (limit_entity){i + 1, 0};
        state->entities[i] = state->created[i];
        state->entities_too[i] = state->created[i];
    }
    return state;
}

// Brings the entities of a list into the order of a seed.
static void arrange(limit_state *state, limit_entity *entities, uint64_t seed) {
    bench_shuffle(state->order, state->n, seed);
    for (uint32_t i = 0; i < state->n; i++) {
        entities[i] = state->created[state->order[i]];
    }
}

// Changing.

static void *change_order_set_up(int64_t n) {
    return state_make(n);
}

static void *change_random_set_up(int64_t n) {
    limit_state *state = state_make(n);
    if (state != NULL) {
        arrange(state, state->entities, BENCH_SEED_FIRST);
        arrange(state, state->entities_too, BENCH_SEED_SECOND);
    }
    return state;
}

static uint64_t add_all(limit_state *state) {
    uint64_t count = 0;
    for (uint32_t i = 0; i < state->n; i++) {
        const limit_entity entity = state->entities[i];
        if (entity_alive(state, entity) && set_add(&state->set, entity)) {
            state->data[state->set.count - 1] = (Data){i};
            count++;
        }
    }
    return count;
}

static uint64_t remove_all(limit_state *state) {
    uint64_t count = 0;
    for (uint32_t i = 0; i < state->n; i++) {
        const limit_entity entity = state->entities_too[i];
        const uint32_t position = entity_alive(state, entity) ? set_remove(&state->set, entity) : UINT32_MAX;
        if (position != UINT32_MAX) {
            state->data[position] = state->data[state->set.count];
            count++;
        }
    }
    return count;
}

static void change_run(void *context) {
    limit_state *state = context;
    state->result = add_all(state) + remove_all(state);
}

static uint64_t change_check(void *context) {
    limit_state *state = context;
    uint64_t checksum = state->result + add_all(state);
    for (uint32_t i = 0; i < state->set.count; i++) {
        checksum = bench_mix(checksum, state->data[i].value);
    }
    return checksum + remove_all(state);
}

static uint64_t tag_add_all(limit_state *state) {
    uint64_t count = 0;
    for (uint32_t i = 0; i < state->n; i++) {
        count += entity_alive(state, state->entities[i]) && set_add(&state->set, state->entities[i]);
    }
    return count;
}

static uint64_t tag_remove_all(limit_state *state) {
    uint64_t count = 0;
    for (uint32_t i = 0; i < state->n; i++) {
        const limit_entity entity = state->entities_too[i];
        count += entity_alive(state, entity) && set_remove(&state->set, entity) != UINT32_MAX;
    }
    return count;
}

static void tag_run(void *context) {
    limit_state *state = context;
    state->result = tag_add_all(state) + tag_remove_all(state);
}

static uint64_t tag_check(void *context) {
    limit_state *state = context;
    uint64_t checksum = state->result + tag_add_all(state);
    for (uint32_t i = 0; i < state->n; i++) {
        checksum = bench_mix(checksum, set_has(&state->set, state->entities[i]));
    }
    return checksum + tag_remove_all(state);
}

const bench_side limit_pool_change_order = {
    .set_up = change_order_set_up,
    .run = change_run,
    .check = change_check,
    .tear_down = state_free,
};

const bench_side limit_pool_change_random = {
    .set_up = change_random_set_up,
    .run = change_run,
    .check = change_check,
    .tear_down = state_free,
};

const bench_side limit_pool_tag_order = {
    .set_up = change_order_set_up,
    .run = tag_run,
    .check = tag_check,
    .tear_down = state_free,
};

const bench_side limit_pool_tag_random = {
    .set_up = change_random_set_up,
    .run = tag_run,
    .check = tag_check,
    .tear_down = state_free,
};

// Adding, and telling. Removing is not part of a run.

static void *observer_set_up(int64_t n) {
    limit_state *state = state_make(n);
    if (state != NULL) {
        state->listeners[state->listener_count++] = (limit_listener){limit_count_call, &state->result};
    }
    return state;
}

static void observer_prepare(void *context) {
    remove_all(context);
}

static void observer_run(void *context) {
    limit_state *state = context;
    state->result = 0;
    for (uint32_t i = 0; i < state->n; i++) {
        const limit_entity entity = state->entities[i];
        if (!entity_alive(state, entity) || !set_add(&state->set, entity)) {
            continue;
        }
        Data *data = &state->data[state->set.count - 1];
        *data = (Data){i};
        for (uint32_t k = 0; k < state->listener_count; k++) {
            state->listeners[k].call(state->listeners[k].user, entity, data);
        }
    }
}

static uint64_t observer_check(void *context) {
    const limit_state *state = context;
    uint64_t checksum = state->result;
    for (uint32_t i = 0; i < state->n; i++) {
        const limit_slot *slot = set_slot(&state->set, state->entities[i].index);
        const bool is_there = slot != NULL && slot->generation == state->entities[i].generation;
        checksum = bench_mix(checksum, is_there ? state->data[slot->row].value : UINT64_MAX);
    }
    return checksum;
}

const bench_side limit_pool_observer = {
    .set_up = observer_set_up,
    .prepare = observer_prepare,
    .run = observer_run,
    .check = observer_check,
    .tear_down = state_free,
};

// Looking up and asking.

static void *get_set_up(int64_t n) {
    limit_state *state = state_make(n);
    for (uint32_t i = 0; state != NULL && i < state->n; i++) {
        set_add(&state->set, state->created[i]);
        state->positions[i] = bench_position(i);
    }
    if (state != NULL) {
        arrange(state, state->entities, BENCH_SEED_FIRST);
    }
    return state;
}

static void get_run(void *context) {
    limit_state *state = context;
    float sum = 0;
    for (uint32_t i = 0; i < state->n; i++) {
        const limit_slot *slot = set_slot(&state->set, state->entities[i].index);
        if (slot != NULL && slot->generation == state->entities[i].generation) {
            const Position *position = &state->positions[slot->row];
            sum += position->x + position->y + position->z;
        }
    }
    state->result = bench_mix_floats(0, sum, 0, 0);
}

static uint64_t result_check(void *context) {
    const limit_state *state = context;
    return state->result;
}

const bench_side limit_pool_get = {
    .set_up = get_set_up,
    .run = get_run,
    .check = result_check,
    .tear_down = state_free,
};

static void *has_set_up(int64_t n) {
    limit_state *state = state_make(n);
    for (uint32_t i = 0; state != NULL && i < state->n; i += 2) {
        set_add(&state->set, state->created[i]);
    }
    if (state != NULL) {
        arrange(state, state->entities, BENCH_SEED_FIRST);
    }
    return state;
}

static void has_run(void *context) {
    limit_state *state = context;
    uint64_t count = 0;
    for (uint32_t i = 0; i < state->n; i++) {
        count += set_has(&state->set, state->entities[i]);
    }
    state->result = count;
}

const bench_side limit_pool_has = {
    .set_up = has_set_up,
    .run = has_run,
    .check = result_check,
    .tear_down = state_free,
};

// Walks.

// The position of an entity that is in the set.
static inline uint32_t set_position(const limit_set *set, limit_entity entity) {
    return set->sparse[entity.index >> SPARSE_SHIFT][entity.index & (SPARSE_SIZE - 1)].row;
}

static void *mixed_set_up(int64_t n) {
    limit_state *state = state_make(n);
    if (state == NULL) {
        return NULL;
    }
    arrange(state, state->entities, BENCH_SEED_FIRST);
    for (uint32_t i = 0; i < state->n; i++) {
        set_add(&state->set, state->entities[i]);
        state->positions[i] = bench_position(state->order[i]);
    }
    arrange(state, state->entities, BENCH_SEED_SECOND);
    for (uint32_t i = 0; i < state->n; i++) {
        set_add(&state->set_too, state->entities[i]);
        state->velocities[i] = bench_velocity(state->order[i]);
    }
    return state;
}

// The first set drives, the second one is looked up.
static void mixed_run(void *context) {
    limit_state *state = context;
    for (uint32_t i = 0; i < state->set.count; i++) {
        const limit_entity entity = state->set.entities[i];
        const limit_slot *slot = set_slot(&state->set_too, entity.index);
        if (slot != NULL && slot->generation == entity.generation) {
            bench_move(&state->positions[i], &state->velocities[slot->row], 1);
        }
    }
}

static uint64_t mixed_check(void *context) {
    const limit_state *state = context;
    uint64_t checksum = 0;
    for (uint32_t i = 0; i < state->n; i++) {
        const uint32_t position = set_position(&state->set, state->created[i]);
        checksum = bench_mix_position(checksum, &state->positions[position]);
    }
    return checksum;
}

const bench_side limit_pools_mixed = {
    .set_up = mixed_set_up,
    .run = mixed_run,
    .check = mixed_check,
    .tear_down = state_free,
};

static void *table_set_up(int64_t n) {
    limit_state *state = state_make(n);
    if (state == NULL) {
        return NULL;
    }
    for (uint32_t i = 0; i < state->n; i++) {
        state->positions[i] = bench_position(i);
    }
    arrange(state, state->entities, BENCH_SEED_FIRST);
    for (uint32_t i = 0; i < state->n / 100; i++) {
        set_add(&state->set, state->entities[i]);
        state->velocities[i] = bench_velocity(state->order[i]);
    }
    return state;
}

// There is one table to look in, so the slot's row is taken as it is.
static void table_run(void *context) {
    limit_state *state = context;
    for (uint32_t i = 0; i < state->set.count; i++) {
        const limit_entity entity = state->set.entities[i];
        const limit_slot slot = state->alive[entity.index];
        if (slot.generation == entity.generation) {
            bench_move(&state->positions[slot.row], &state->velocities[i], 1);
        }
    }
}

static uint64_t table_check(void *context) {
    const limit_state *state = context;
    uint64_t checksum = 0;
    for (uint32_t i = 0; i < state->n; i++) {
        checksum = bench_mix_position(checksum, &state->positions[i]);
    }
    return checksum;
}

const bench_side limit_pool_table = {
    .set_up = table_set_up,
    .run = table_run,
    .check = table_check,
    .tear_down = state_free,
};

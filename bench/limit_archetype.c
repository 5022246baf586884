// The limit of structural operations: what is left of an archetype storage when everything optional is taken away.
//
// An entity table of generation and row (8 bytes a slot, free slots linked through their rows), two tables with the
// columns entity, Position, Velocity and, in the second, Data, and removal by moving the last row into the hole. The
// generation of a handle is checked wherever Mica checks it. There are no types, hooks, versions, locks or growth:
// sizes are fixed beforehand, and the compiler sees every loop whole.
//
// A slot whose entity is alive: its generation is the handle's, its row has WITH_DATA set if it is in the second table.
// All memory is in pages of 4 KiB.
#include "limit_archetype.h"

#include "limit_entity.h"
#include "machine.h"
#include "workload.h"

#include <stdlib.h>

static const uint32_t WITH_DATA = 0x80000000u;

typedef struct limit_table {
    limit_entity *entities;
    Position *positions;
    Velocity *velocities;
    Data *data;
    uint32_t count;
    uint32_t mask; // of components
} limit_table;

enum { HAS_POSITION = 1, HAS_VELOCITY = 2, HAS_DATA = 4 };

typedef struct limit_world {
    limit_slot *slots; // slot 0 is never used
    uint32_t slot_count;
    uint32_t free_slot;
    uint32_t capacity;
    limit_table plain;
    limit_table with_data;
} limit_world;

typedef struct limit_record {
    limit_entity entity;
    Data data;
} limit_record;

// A world and what a workload needs beside it.
typedef struct limit_state {
    limit_world world;
    limit_entity *entities;     // in the order in which they are used
    limit_entity *entities_too; // in the order of the second half of a workload
    uint32_t *order;            // permutation that `entities` follows
    Position *positions;        // values given to the bulk call
    Velocity *velocities;
    limit_record *records; // changes that wait
    limit_listener listeners[1];
    uint32_t listener_count;
    uint32_t n;
    uint64_t result; // what runs have computed, so that they are not optimised away
} limit_state;

static void *allocate(uint32_t count, size_t element_size) {
    return bench_pages_allocate(count, element_size, BENCH_PAGES_4_KIB);
}

static bool table_make(limit_table *table, uint32_t capacity) {
    table->entities = allocate(capacity, sizeof *table->entities);
    table->positions = allocate(capacity, sizeof *table->positions);
    table->velocities = allocate(capacity, sizeof *table->velocities);
    table->data = allocate(capacity, sizeof *table->data);
    table->count = 0;
    return table->entities != NULL && table->positions != NULL && table->velocities != NULL && table->data != NULL;
}

static void table_free(limit_table *table, uint32_t capacity) {
    bench_pages_free(table->entities, capacity, sizeof *table->entities);
    bench_pages_free(table->positions, capacity, sizeof *table->positions);
    bench_pages_free(table->velocities, capacity, sizeof *table->velocities);
    bench_pages_free(table->data, capacity, sizeof *table->data);
}

static bool world_make(limit_world *world, uint32_t capacity) {
    *world = (limit_world){.slot_count = 1, .capacity = capacity};
    world->slots = allocate(capacity + 1, sizeof *world->slots);
    const bool plain = table_make(&world->plain, capacity);
    const bool with_data = table_make(&world->with_data, capacity);
    world->plain.mask = HAS_POSITION | HAS_VELOCITY;
    world->with_data.mask = HAS_POSITION | HAS_VELOCITY | HAS_DATA;
    return world->slots != NULL && plain && with_data;
}

static void world_free(limit_world *world) {
    bench_pages_free(world->slots, world->capacity + 1, sizeof *world->slots);
    table_free(&world->plain, world->capacity);
    table_free(&world->with_data, world->capacity);
}

static void table_forget(limit_table *table, uint32_t capacity) {
    bench_pages_forget(table->entities, capacity, sizeof *table->entities);
    bench_pages_forget(table->positions, capacity, sizeof *table->positions);
    bench_pages_forget(table->velocities, capacity, sizeof *table->velocities);
    bench_pages_forget(table->data, capacity, sizeof *table->data);
    table->count = 0;
}

// Makes the world as if it were new.
static void world_forget(limit_world *world) {
    bench_pages_forget(world->slots, world->capacity + 1, sizeof *world->slots);
    table_forget(&world->plain, world->capacity);
    table_forget(&world->with_data, world->capacity);
    world->slot_count = 1;
    world->free_slot = 0;
}

static inline limit_entity entity_create(limit_world *world, Position position, Velocity velocity) {
    uint32_t index = world->free_slot;
    if (index != 0) {
        world->free_slot = world->slots[index].row;
    } else {
        index = world->slot_count++;
    }
    limit_slot *slot = &world->slots[index];
    limit_table *table = &world->plain;
    const uint32_t row = table->count++;
    slot->row = row;
    const limit_entity entity = {index, slot->generation};
    table->entities[row] = entity;
    table->positions[row] = position;
    table->velocities[row] = velocity;
    return entity;
}

static inline void entities_create(limit_world *world, const Position *positions, const Velocity *velocities,
                                   uint32_t count, limit_entity *entities) {
    limit_table *table = &world->plain;
    const uint32_t first = table->count;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t index = world->free_slot;
        if (index != 0) {
            world->free_slot = world->slots[index].row;
        } else {
            index = world->slot_count++;
        }
        world->slots[index].row = first + i;
        entities[i] = (limit_entity){index, world->slots[index].generation};
        table->entities[first + i] = entities[i];
    }
    memcpy(&table->positions[first], positions, count * sizeof *positions);
    memcpy(&table->velocities[first], velocities, count * sizeof *velocities);
    table->count = first + count;
}

// Destroys an entity of the first table. Returns whether it was alive.
static inline bool entity_destroy(limit_world *world, limit_entity entity) {
    limit_slot *slot = &world->slots[entity.index];
    if (slot->generation != entity.generation) {
        return false;
    }
    limit_table *table = &world->plain;
    const uint32_t row = slot->row;
    const uint32_t last = --table->count;
    if (row != last) {
        table->entities[row] = table->entities[last];
        table->positions[row] = table->positions[last];
        table->velocities[row] = table->velocities[last];
        world->slots[table->entities[row].index].row = row;
    }
    slot->generation++;
    slot->row = world->free_slot;
    world->free_slot = entity.index;
    return true;
}

// Moves what both tables have of a row from one to the end of the other, and returns where it is now.
static inline uint32_t row_move(limit_world *world, limit_table *from, uint32_t row, limit_table *to) {
    const uint32_t target = to->count++;
    to->entities[target] = from->entities[row];
    to->positions[target] = from->positions[row];
    to->velocities[target] = from->velocities[row];
    const uint32_t last = --from->count;
    if (row != last) {
        from->entities[row] = from->entities[last];
        from->positions[row] = from->positions[last];
        from->velocities[row] = from->velocities[last];
        limit_slot *moved = &world->slots[from->entities[row].index];
        moved->row = row | (moved->row & WITH_DATA);
    }
    return target;
}

// Moves an entity to the end of the second table. Returns whether it was alive and not there yet.
static inline bool second_enter(limit_world *world, limit_entity entity) {
    limit_slot *slot = &world->slots[entity.index];
    if (slot->generation != entity.generation || (slot->row & WITH_DATA) != 0) {
        return false;
    }
    slot->row = row_move(world, &world->plain, slot->row, &world->with_data) | WITH_DATA;
    return true;
}

// Returns whether the entity was alive and did not have the component yet.
static inline bool data_add(limit_world *world, limit_entity entity, Data data) {
    if (!second_enter(world, entity)) {
        return false;
    }
    world->with_data.data[world->with_data.count - 1] = data;
    return true;
}

// Returns whether the entity was alive and had the component.
static inline bool data_remove(limit_world *world, limit_entity entity) {
    limit_slot *slot = &world->slots[entity.index];
    if (slot->generation != entity.generation || (slot->row & WITH_DATA) == 0) {
        return false;
    }
    limit_table *table = &world->with_data;
    const uint32_t row = slot->row & ~WITH_DATA;
    slot->row = row_move(world, table, row, &world->plain);
    if (row != table->count) {
        table->data[row] = table->data[table->count];
    }
    return true;
}

static inline const Position *position_get(const limit_world *world, limit_entity entity) {
    const limit_slot *slot = &world->slots[entity.index];
    if (slot->generation != entity.generation) {
        return NULL;
    }
    return (slot->row & WITH_DATA) != 0 ? &world->with_data.positions[slot->row & ~WITH_DATA]
                                        : &world->plain.positions[slot->row];
}

static void state_free(void *context) {
    limit_state *state = context;
    world_free(&state->world);
    bench_pages_free(state->entities, state->n, sizeof *state->entities);
    bench_pages_free(state->entities_too, state->n, sizeof *state->entities_too);
    bench_pages_free(state->order, state->n, sizeof *state->order);
    bench_pages_free(state->positions, state->n, sizeof *state->positions);
    bench_pages_free(state->velocities, state->n, sizeof *state->velocities);
    bench_pages_free(state->records, state->n, sizeof *state->records);
    free(state);
}

// Brings the entities, given in order of creation, into the order that `order` prescribes.
static void entities_arrange(limit_entity *entities, const uint32_t *order, const limit_entity *created, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        entities[i] = created[order[i]];
    }
}

static limit_state *state_make(int64_t n) {
    limit_state *state = calloc(1, sizeof *state);
    if (state == NULL) {
        return NULL;
    }
    state->n = (uint32_t)n;
    state->entities = allocate(state->n, sizeof *state->entities);
    state->order = allocate(state->n, sizeof *state->order);
    if (!world_make(&state->world, state->n) || state->entities == NULL || state->order == NULL) {
        state_free(state);
        return NULL;
    }
    for (uint32_t i = 0; i < state->n; i++) {
        state->order[i] = i;
    }
    return state;
}

static void world_fill(limit_world *world, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        entity_create(world, bench_position(i), bench_velocity(i));
    }
}

// Creating.

// Empties the world from its last entity on, so that slots are handed out again from the first on.
static void create_prepare(void *context) {
    limit_state *state = context;
    for (uint32_t i = state->n; i-- > 0;) {
        entity_destroy(&state->world, state->entities[i]);
    }
}

static void *create_one_set_up(int64_t n) {
    limit_state *state = state_make(n);
    if (state != NULL) {
        world_fill(&state->world, state->n);
        entities_arrange(state->entities, state->order, state->world.plain.entities, state->n);
    }
    return state;
}

static void create_one_run(void *context) {
    limit_state *state = context;
    for (uint32_t i = 0; i < state->n; i++) {
        state->entities[i] = entity_create(&state->world, bench_position(i), bench_velocity(i));
    }
}

static uint64_t create_check(void *context) {
    const limit_state *state = context;
    const limit_table *table = &state->world.plain;
    uint64_t checksum = table->count;
    for (uint32_t i = 0; i < state->n; i++) {
        const uint32_t row = state->world.slots[state->entities[i].index].row;
        checksum = bench_mix_position(checksum, &table->positions[row]);
        checksum = bench_mix_velocity(checksum, &table->velocities[row]);
    }
    return checksum;
}

const bench_side limit_create_one = {
    .set_up = create_one_set_up,
    .prepare = create_prepare,
    .run = create_one_run,
    .check = create_check,
    .tear_down = state_free,
};

static void forget_prepare(void *context) {
    world_forget(&((limit_state *)context)->world);
}

const bench_side limit_create_one_fresh = {
    .set_up = create_one_set_up,
    .prepare = forget_prepare,
    .run = create_one_run,
    .check = create_check,
    .tear_down = state_free,
};

static void *create_bulk_set_up(int64_t n) {
    limit_state *state = create_one_set_up(n);
    if (state == NULL) {
        return NULL;
    }
    state->positions = allocate(state->n, sizeof *state->positions);
    state->velocities = allocate(state->n, sizeof *state->velocities);
    if (state->positions == NULL || state->velocities == NULL) {
        state_free(state);
        return NULL;
    }
    for (uint32_t i = 0; i < state->n; i++) {
        state->positions[i] = bench_position(i);
        state->velocities[i] = bench_velocity(i);
    }
    return state;
}

static void create_bulk_run(void *context) {
    limit_state *state = context;
    entities_create(&state->world, state->positions, state->velocities, state->n, state->entities);
}

const bench_side limit_create_bulk = {
    .set_up = create_bulk_set_up,
    .prepare = create_prepare,
    .run = create_bulk_run,
    .check = create_check,
    .tear_down = state_free,
};

const bench_side limit_create_bulk_fresh = {
    .set_up = create_bulk_set_up,
    .prepare = forget_prepare,
    .run = create_bulk_run,
    .check = create_check,
    .tear_down = state_free,
};

// Destroying.

static void *destroy_order_set_up(int64_t n) {
    return state_make(n);
}

static void *destroy_random_set_up(int64_t n) {
    limit_state *state = state_make(n);
    if (state != NULL) {
        bench_shuffle(state->order, state->n, BENCH_SEED_FIRST);
    }
    return state;
}

// The world begins anew: the free list that a run leaves behind would decide where the next run's entities lie.
static void destroy_prepare(void *context) {
    limit_state *state = context;
    limit_world *world = &state->world;
    memset(world->slots, 0, (state->n + 1) * sizeof *world->slots);
    world->slot_count = 1;
    world->free_slot = 0;
    world->plain.count = 0;
    world_fill(world, state->n);
    entities_arrange(state->entities, state->order, world->plain.entities, state->n);
}

static void destroy_run(void *context) {
    limit_state *state = context;
    limit_world *world = &state->world;
    uint64_t result = 0;
    for (uint32_t i = 0; i < state->n; i++) {
        result += entity_destroy(world, state->entities[i]);
    }
    state->result = result;
}

static uint64_t destroy_check(void *context) {
    const limit_state *state = context;
    uint64_t checksum = bench_mix(state->result, state->world.plain.count);
    for (uint32_t i = 0; i < state->n; i++) {
        checksum = bench_mix(checksum, position_get(&state->world, state->entities[i]) != NULL);
    }
    return checksum;
}

const bench_side limit_destroy_order = {
    .set_up = destroy_order_set_up,
    .prepare = destroy_prepare,
    .run = destroy_run,
    .check = destroy_check,
    .tear_down = state_free,
};

const bench_side limit_destroy_random = {
    .set_up = destroy_random_set_up,
    .prepare = destroy_prepare,
    .run = destroy_run,
    .check = destroy_check,
    .tear_down = state_free,
};

// Changing.

static limit_state *filled_make(int64_t n) {
    limit_state *state = state_make(n);
    if (state == NULL) {
        return NULL;
    }
    state->entities_too = allocate(state->n, sizeof *state->entities_too);
    if (state->entities_too == NULL) {
        state_free(state);
        return NULL;
    }
    world_fill(&state->world, state->n);
    entities_arrange(state->entities, state->order, state->world.plain.entities, state->n);
    entities_arrange(state->entities_too, state->order, state->world.plain.entities, state->n);
    return state;
}

static void *change_order_set_up(int64_t n) {
    return filled_make(n);
}

// Adding and removing follow different permutations; after one, the other would find its rows in order.
static void *change_random_set_up(int64_t n) {
    limit_state *state = filled_make(n);
    if (state != NULL) {
        bench_shuffle(state->order, state->n, BENCH_SEED_FIRST);
        entities_arrange(state->entities, state->order, state->world.plain.entities, state->n);
        bench_shuffle(state->order, state->n, BENCH_SEED_SECOND);
        entities_arrange(state->entities_too, state->order, state->world.plain.entities, state->n);
    }
    return state;
}

static void change_run(void *context) {
    limit_state *state = context;
    limit_world *world = &state->world;
    uint64_t result = 0;
    for (uint32_t i = 0; i < state->n; i++) {
        result += data_add(world, state->entities[i], (Data){i});
    }
    for (uint32_t i = 0; i < state->n; i++) {
        result += data_remove(world, state->entities_too[i]);
    }
    state->result = result;
}

static uint64_t change_check(void *context) {
    limit_state *state = context;
    limit_world *world = &state->world;
    uint64_t checksum = state->result;
    for (uint32_t i = 0; i < state->n; i++) {
        checksum += data_add(world, state->entities[i], (Data){i});
    }
    for (uint32_t i = 0; i < state->n; i++) {
        const uint32_t row = world->slots[state->entities[i].index].row & ~WITH_DATA;
        checksum = bench_mix(checksum, world->with_data.data[row].value);
        checksum = bench_mix_position(checksum, &world->with_data.positions[row]);
        checksum = bench_mix_velocity(checksum, &world->with_data.velocities[row]);
    }
    for (uint32_t i = 0; i < state->n; i++) {
        checksum += data_remove(world, state->entities_too[i]);
    }
    return checksum;
}

const bench_side limit_change_order = {
    .set_up = change_order_set_up,
    .run = change_run,
    .check = change_check,
    .tear_down = state_free,
};

const bench_side limit_change_random = {
    .set_up = change_random_set_up,
    .run = change_run,
    .check = change_check,
    .tear_down = state_free,
};

// Adding, and telling. Removing is not part of a run.

static void *observer_set_up(int64_t n) {
    limit_state *state = filled_make(n);
    if (state != NULL) {
        state->listeners[state->listener_count++] = (limit_listener){limit_count_call, &state->result};
    }
    return state;
}

static void observer_prepare(void *context) {
    limit_state *state = context;
    for (uint32_t i = 0; i < state->n; i++) {
        data_remove(&state->world, state->entities[i]);
    }
}

static void observer_run(void *context) {
    limit_state *state = context;
    limit_world *world = &state->world;
    state->result = 0;
    for (uint32_t i = 0; i < state->n; i++) {
        if (!data_add(world, state->entities[i], (Data){i})) {
            continue;
        }
        for (uint32_t k = 0; k < state->listener_count; k++) {
            state->listeners[k].call(state->listeners[k].user, state->entities[i],
                                     &world->with_data.data[world->with_data.count - 1]);
        }
    }
}

static uint64_t observer_check(void *context) {
    const limit_state *state = context;
    const limit_world *world = &state->world;
    uint64_t checksum = state->result;
    for (uint32_t i = 0; i < state->n; i++) {
        const uint32_t row = world->slots[state->entities[i].index].row;
        checksum =
            bench_mix(checksum, (row & WITH_DATA) == 0 ? UINT64_MAX : world->with_data.data[row & ~WITH_DATA].value);
    }
    return checksum;
}

const bench_side limit_observer = {
    .set_up = observer_set_up,
    .prepare = observer_prepare,
    .run = observer_run,
    .check = observer_check,
    .tear_down = state_free,
};

// Commands: a list of records. For a tag, the second table is taken without its data.

static void *commands_set_up(int64_t n) {
    limit_state *state = filled_make(n);
    if (state == NULL) {
        return NULL;
    }
    state->records = allocate(state->n, sizeof *state->records);
    if (state->records == NULL) {
        state_free(state);
        return NULL;
    }
    return state;
}

static void commands_prepare(void *context) {
    limit_state *state = context;
    for (uint32_t i = 0; i < state->n; i++) {
        data_remove(&state->world, state->entities[i]);
    }
}

static void commands_record_run(void *context) {
    limit_state *state = context;
    for (uint32_t i = 0; i < state->n; i++) {
        state->records[i] = (limit_record){state->entities[i], {i}};
    }
}

static void commands_apply_run(void *context) {
    limit_state *state = context;
    uint64_t result = 0;
    for (uint32_t i = 0; i < state->n; i++) {
        result += data_add(&state->world, state->records[i].entity, state->records[i].data);
    }
    state->result = result;
}

static void commands_prepare_recorded(void *context) {
    commands_prepare(context);
    commands_record_run(context);
}

static void commands_run(void *context) {
    commands_record_run(context);
    commands_apply_run(context);
}

static void commands_tag_run(void *context) {
    limit_state *state = context;
    uint64_t result = 0;
    for (uint32_t i = 0; i < state->n; i++) {
        state->records[i].entity = state->entities[i];
    }
    for (uint32_t i = 0; i < state->n; i++) {
        result += second_enter(&state->world, state->records[i].entity);
    }
    state->result = result;
}

// What is recorded only is applied here.
static uint64_t commands_check(void *context) {
    const limit_state *state = context;
    const limit_world *world = &state->world;
    uint64_t checksum = 0;
    commands_apply_run(context);
    for (uint32_t i = 0; i < state->n; i++) {
        const uint32_t row = world->slots[state->entities[i].index].row & ~WITH_DATA;
        checksum = bench_mix(checksum, world->with_data.data[row].value);
        checksum = bench_mix_position(checksum, &world->with_data.positions[row]);
    }
    return checksum;
}

static uint64_t commands_tag_check(void *context) {
    const limit_state *state = context;
    const limit_world *world = &state->world;
    uint64_t checksum = 0;
    for (uint32_t i = 0; i < state->n; i++) {
        const uint32_t row = world->slots[state->entities[i].index].row;
        checksum = bench_mix(checksum, (row & WITH_DATA) != 0);
        checksum = bench_mix_position(checksum, position_get(world, state->entities[i]));
    }
    return checksum;
}

const bench_side limit_commands = {
    .set_up = commands_set_up,
    .prepare = commands_prepare,
    .run = commands_run,
    .check = commands_check,
    .tear_down = state_free,
};

const bench_side limit_commands_record = {
    .set_up = commands_set_up,
    .prepare = commands_prepare,
    .run = commands_record_run,
    .check = commands_check,
    .tear_down = state_free,
};

const bench_side limit_commands_apply = {
    .set_up = commands_set_up,
    .prepare = commands_prepare_recorded,
    .run = commands_apply_run,
    .check = commands_check,
    .tear_down = state_free,
};

const bench_side limit_commands_tag = {
    .set_up = commands_set_up,
    .prepare = commands_prepare,
    .run = commands_tag_run,
    .check = commands_tag_check,
    .tear_down = state_free,
};

// Looking up.

static void *get_random_set_up(int64_t n) {
    limit_state *state = filled_make(n);
    if (state != NULL) {
        bench_shuffle(state->order, state->n, BENCH_SEED_FIRST);
        entities_arrange(state->entities, state->order, state->world.plain.entities, state->n);
    }
    return state;
}

// There is one table to look in, so the slot's row is taken as it is.
static void get_random_run(void *context) {
    limit_state *state = context;
    const limit_slot *slots = state->world.slots;
    const Position *positions = state->world.plain.positions;
    float sum = 0;
    for (uint32_t i = 0; i < state->n; i++) {
        const limit_entity entity = state->entities[i];
        const limit_slot slot = slots[entity.index];
        if (slot.generation == entity.generation) {
            const Position *position = &positions[slot.row];
            sum += position->x + position->y + position->z;
        }
    }
    state->result = bench_mix_floats(0, sum, 0, 0);
}

static uint64_t get_random_check(void *context) {
    const limit_state *state = context;
    return state->result;
}

const bench_side limit_get_random = {
    .set_up = get_random_set_up,
    .run = get_random_run,
    .check = get_random_check,
    .tear_down = state_free,
};

// Writing, of values in the order of the handles.

static void *scatter_random_set_up(int64_t n) {
    limit_state *state = get_random_set_up(n);
    if (state == NULL) {
        return NULL;
    }
    state->positions = allocate(state->n, sizeof *state->positions);
    if (state->positions == NULL) {
        state_free(state);
        return NULL;
    }
    for (uint32_t i = 0; i < state->n; i++) {
        state->positions[i] = bench_position(state->order[i]);
    }
    return state;
}

static void scatter_random_run(void *context) {
    limit_state *state = context;
    const limit_slot *slots = state->world.slots;
    Position *positions = state->world.plain.positions;
    uint64_t count = 0;
    for (uint32_t i = 0; i < state->n; i++) {
        const limit_entity entity = state->entities[i];
        const limit_slot slot = slots[entity.index];
        if (slot.generation == entity.generation) {
            positions[slot.row] = state->positions[i];
            count++;
        }
    }
    state->result = count;
}

static uint64_t scatter_random_check(void *context) {
    const limit_state *state = context;
    uint64_t checksum = state->result;
    for (uint32_t i = 0; i < state->n; i++) {
        checksum = bench_mix_position(checksum, &state->world.plain.positions[i]);
    }
    return checksum;
}

const bench_side limit_scatter_random = {
    .set_up = scatter_random_set_up,
    .run = scatter_random_run,
    .check = scatter_random_check,
    .tear_down = state_free,
};

// Asking. Every second entity has the component; the answer is read from the table, as if there were more than two.

static void *has_random_set_up(int64_t n) {
    limit_state *state = filled_make(n);
    if (state != NULL) {
        for (uint32_t i = 0; i < state->n; i += 2) {
            data_add(&state->world, state->entities[i], (Data){i});
        }
        bench_shuffle(state->order, state->n, BENCH_SEED_FIRST);
        // What stood in order of creation so far is arranged by way of the second list.
        entities_arrange(state->entities, state->order, state->entities_too, state->n);
    }
    return state;
}

static void has_random_run(void *context) {
    limit_state *state = context;
    const limit_slot *slots = state->world.slots;
    uint64_t count = 0;
    for (uint32_t i = 0; i < state->n; i++) {
        const limit_entity entity = state->entities[i];
        const limit_slot slot = slots[entity.index];
        const limit_table *table = (slot.row & WITH_DATA) != 0 ? &state->world.with_data : &state->world.plain;
        count += (slot.generation == entity.generation) & ((table->mask & HAS_DATA) != 0);
    }
    state->result = count;
}

const bench_side limit_has_random = {
    .set_up = has_random_set_up,
    .run = has_random_run,
    .check = get_random_check,
    .tear_down = state_free,
};

// Random structural operations against a naive world of plain arrays, compared after every step. A failure prints its
// seed and step.
#include "world_fixture.h"

#include "world/query.h"

enum { SLOT_COUNT = 96, DEAD_COUNT = 64, BATCH_MAX = 12 };

// What the naive world knows of an entity: which components, and one number for each value.
enum {
    HAS_HEALTH = 1,
    HAS_POSITION = 2,
    HAS_WIDE = 4,
    HAS_FROZEN = 8,
    HAS_MARKED = 16,
    HAS_ARMOUR = 32,
    HAS_OWNED = 64
};
enum { COMPONENT_COUNT = 7 };

typedef struct model_entity {
    mica_entity handle;
    bool alive;
    uint32_t has;
    int32_t numbers[COMPONENT_COUNT];
} model_entity;

typedef struct model_world {
    watched_world watched;
    mica_world *world;
    test_random random;
    model_entity entities[SLOT_COUNT];
    mica_entity dead[DEAD_COUNT];
    uint32_t dead_count;
    mica_component ids[COMPONENT_COUNT];
    int32_t next_number;
} model_world;

static uint32_t pick(model_world *model, uint32_t limit) {
    return test_random_below(&model->random, limit);
}

static uint32_t bit_of(uint32_t component) {
    return 1u << component;
}

static bool is_tag(uint32_t component) {
    return (bit_of(component) & (HAS_FROZEN | HAS_MARKED)) != 0;
}

// A value of component number `component` that stands for `number`, in memory good until the next call.
static const void *value_of(uint32_t component, int32_t number) {
    static Health health;
    static Position position;
    static Wide wide;
    static Armour armour;
    static Owned owned;
    static int32_t owned_number;
    switch (bit_of(component)) {
    case HAS_HEALTH:
        health = (Health){number};
        return &health;
    case HAS_POSITION:
        position = (Position){(float)number, (float)-number, 0.5f};
        return &position;
    case HAS_WIDE:
        memset(&wide, 0, sizeof(wide));
        wide.number = number;
        wide.pad[18] = -number;
        return &wide;
    case HAS_ARMOUR:
        armour = (Armour){number};
        return &armour;
    case HAS_OWNED:
        owned_number = number;
        owned = (Owned){.number = &owned_number};
        return &owned;
    default:
        return NULL;
    }
}

static int32_t number_of(uint32_t component, const void *value) {
    const Wide *wide = value;
    const Position *position = value;
    switch (bit_of(component)) {
    case HAS_HEALTH:
        return ((const Health *)value)->now;
    case HAS_POSITION:
        assert_true(position->y == -position->x);
        return (int32_t)position->x;
    case HAS_WIDE:
        assert_int_equal((uintptr_t)value % 64, 0);
        assert_int_equal(wide->pad[18], -wide->number);
        return wide->number;
    case HAS_ARMOUR:
        return ((const Armour *)value)->now;
    default:
        assert_ptr_equal(((const Owned *)value)->self, value);
        return *((const Owned *)value)->number;
    }
}

// Adds to the naive entity; what is new is as constructed.
static void model_add(model_entity *entity, uint32_t component, int32_t number) {
    uint32_t added = bit_of(component);
    if (added == HAS_ARMOUR && (entity->has & HAS_ARMOUR) == 0) { // what it requires comes along
        added |= HAS_HEALTH | HAS_MARKED;
    }
    for (uint32_t i = 0; i < COMPONENT_COUNT; i++) {
        if ((added & ~entity->has & bit_of(i)) != 0) {
            entity->numbers[i] = 0;
        }
    }
    entity->has |= added;
    entity->numbers[component] = number;
}

static void model_kill(model_world *model, model_entity *entity) {
    entity->alive = false;
    model->dead[model->dead_count++ % DEAD_COUNT] = entity->handle;
}

static model_entity *model_new(model_world *model, mica_entity handle) {
    for (uint32_t i = 0; i < SLOT_COUNT; i++) {
        if (!model->entities[i].alive) {
            model->entities[i] = (model_entity){.handle = handle, .alive = true};
            return &model->entities[i];
        }
    }
    fail_msg("no room");
    return NULL;
}

static uint32_t model_alive(const model_world *model) {
    uint32_t alive = 0;
    for (uint32_t i = 0; i < SLOT_COUNT; i++) {
        alive += model->entities[i].alive;
    }
    return alive;
}

// A living entity, or NULL.
static model_entity *pick_alive(model_world *model) {
    const uint32_t start = pick(model, SLOT_COUNT);
    for (uint32_t i = 0; i < SLOT_COUNT; i++) {
        model_entity *entity = &model->entities[(start + i) % SLOT_COUNT];
        if (entity->alive) {
            return entity;
        }
    }
    return NULL;
}

// Operations

static void do_create(model_world *model) {
    const mica_entity handle = mica_create(model->world);
    assert_false(mica_entity_is_null(handle));
    model_new(model, handle);
}

static void do_create_at(model_world *model) {
    // A dead handle's slot, one generation or more past what the slot may have issued; or a slot never used.
    const uint32_t index = 1 + pick(model, 2 * SLOT_COUNT);
    const uint32_t generation = pick(model, 40);
    const mica_entity wanted = mica_entity_make(index, generation);
    bool taken = false;
    for (uint32_t i = 0; i < SLOT_COUNT; i++) {
        taken |= model->entities[i].alive && mica_entity_index(model->entities[i].handle) == index;
    }
    const mica_result result = mica_entity_create_at(model->world, &wanted, 1);
    if (taken) {
        assert_int_equal(result, MICA_EXISTS);
    } else if (result == MICA_OK) {
        model_new(model, wanted);
    } else {
        assert_int_equal(result, MICA_STALE);
    }
}

static void do_spawn(model_world *model) {
    mica_value values[COMPONENT_COUNT];
    static uint8_t memory[COMPONENT_COUNT][256] __attribute__((aligned(64)));
    int32_t count = 0;
    model_entity made = {.alive = true};
    for (uint32_t i = 0; i < COMPONENT_COUNT; i++) {
        if (pick(model, 2) == 0) {
            continue;
        }
        const bool constructed = is_tag(i) || pick(model, 3) == 0;
        const int32_t number = constructed ? 0 : model->next_number++;
        values[count] = (mica_value){.component = model->ids[i]};
        if (!constructed) {
            const void *value = value_of(i, number);
            memcpy(memory[i], value, mica_schema_info(mica_world_schema(model->world), model->ids[i])->size);
            values[count].value = memory[i];
        }
        count++;
        model_add(&made, i, number); // Health comes before Armour here, so that what it is given stays
    }
    made.handle = mica_entity_spawn(model->world, values, count);
    assert_false(mica_entity_is_null(made.handle));
    *model_new(model, made.handle) = made;
}

static void do_spawn_many(model_world *model) {
    const int32_t count = (int32_t)pick(model, BATCH_MAX);
    if (model_alive(model) + (uint32_t)count > SLOT_COUNT) {
        return;
    }
    mica_entity handles[BATCH_MAX];
    Health health[BATCH_MAX];
    Owned owned[BATCH_MAX];
    int32_t numbers[BATCH_MAX];
    for (int32_t i = 0; i < count; i++) {
        numbers[i] = model->next_number++;
        health[i].now = numbers[i];
        owned[i] = (Owned){.number = &numbers[i]};
    }
    assert_int_equal(mica_spawn_many(model->world, count, handles, mica_column_of(Health, health), mica_tag(Frozen),
                                     mica_column_of(Owned, owned)),
                     MICA_OK);
    for (int32_t i = 0; i < count; i++) {
        model_entity *entity = model_new(model, handles[i]);
        model_add(entity, 0, numbers[i]);
        model_add(entity, 3, 0);
        model_add(entity, 6, numbers[i]);
    }
}

typedef struct fill_state {
    model_world *model;
    int32_t first_number;
    int32_t seen;
} fill_state;

static void fill_health(void *user, const mica_spawn_span *span) {
    fill_state *filling = user;
    assert_int_equal(span->first, filling->seen);
    for (int32_t i = 0; i < span->count; i++) {
        ((Health *)span->columns[1])[i].now = filling->first_number + span->first + i;
        model_entity *entity = model_new(filling->model, span->entities[i]);
        model_add(entity, 6, 0);
        model_add(entity, 0, filling->first_number + span->first + i);
    }
    filling->seen += span->count;
    assert_null_entity(mica_create(filling->model->world));
    assert_int_equal(mica_last_result(), MICA_LOCKED);
}

static void do_spawn_fill(model_world *model) {
    const int32_t count = (int32_t)pick(model, BATCH_MAX);
    if (model_alive(model) + (uint32_t)count > SLOT_COUNT) {
        return;
    }
    fill_state filling = {.model = model, .first_number = model->next_number};
    model->next_number += count;
    const mica_component components[] = {model->ids[6], model->ids[0]};
    assert_int_equal(mica_entity_spawn_fill(model->world, components, 2, count, fill_health, &filling), MICA_OK);
    assert_int_equal(filling.seen, count);
}

static void do_add(model_world *model, model_entity *entity) {
    const uint32_t component = pick(model, COMPONENT_COUNT);
    const bool constructed = is_tag(component) || pick(model, 2) == 0;
    const int32_t number = constructed ? 0 : model->next_number++;
    const mica_result result = mica_entity_add(model->world, entity->handle, model->ids[component],
                                               constructed ? NULL : value_of(component, number));
    if ((entity->has & bit_of(component)) != 0) {
        assert_int_equal(result, MICA_EXISTS);
        return;
    }
    assert_int_equal(result, MICA_OK);
    model_add(entity, component, number);
}

static void do_set(model_world *model, model_entity *entity) {
    const uint32_t component = pick(model, COMPONENT_COUNT);
    const int32_t number = model->next_number++;
    const mica_result result =
        mica_entity_set(model->world, entity->handle, model->ids[component], value_of(component, number));
    if (is_tag(component)) {
        assert_int_equal(result, MICA_NO_VALUE);
        return;
    }
    assert_int_equal(result, MICA_OK);
    model_add(entity, component, number);
}

static void add_one(void *value, void *user) {
    (void)user;
    ((Health *)value)->now++;
}

static void do_write(model_world *model, model_entity *entity) {
    const bool has = (entity->has & HAS_HEALTH) != 0;
    assert_int_equal(mica_patch(model->world, entity->handle, Health, add_one, NULL), has ? MICA_OK : MICA_ABSENT);
    Health *health = mica_get_write(model->world, entity->handle, Health);
    assert_int_equal(health != NULL, has);
    if (has) {
        health->now++;
        entity->numbers[0] += 2;
    }
}

static void do_remove(model_world *model, model_entity *entity) {
    const uint32_t component = pick(model, COMPONENT_COUNT);
    assert_int_equal(mica_entity_remove(model->world, entity->handle, model->ids[component]), MICA_OK);
    entity->has &= ~bit_of(component);
}

static void do_destroy(model_world *model, model_entity *entity) {
    assert_int_equal(mica_destroy(model->world, entity->handle), MICA_OK);
    model_kill(model, entity);
}

static void do_destroy_many(model_world *model) {
    mica_entity handles[BATCH_MAX];
    model_entity *picked[BATCH_MAX];
    int32_t count = 0;
    while (count < BATCH_MAX / 2) {
        model_entity *entity = pick_alive(model);
        if (entity == NULL) {
            break;
        }
        picked[count] = entity; // maybe twice
        handles[count++] = entity->handle;
    }
    if (model->dead_count > 0 && pick(model, 4) == 0 && count > 0) {
        handles[count++] = model->dead[0];
        assert_int_equal(mica_destroy_many(model->world, handles, count), MICA_STALE);
        return;
    }
    assert_int_equal(mica_destroy_many(model->world, handles, count), MICA_OK);
    for (int32_t i = 0; i < count; i++) {
        if (picked[i]->alive) {
            model_kill(model, picked[i]);
        }
    }
}

static void do_clone(model_world *model, model_entity *entity) {
    const mica_entity handle = mica_clone(model->world, entity->handle);
    assert_false(mica_entity_is_null(handle));
    model_entity *clone = model_new(model, handle);
    clone->has = entity->has;
    memcpy(clone->numbers, entity->numbers, sizeof(clone->numbers));
}

static void do_clear(model_world *model) {
    assert_int_equal(mica_world_clear(model->world), MICA_OK);
    for (uint32_t i = 0; i < SLOT_COUNT; i++) {
        if (model->entities[i].alive) {
            model_kill(model, &model->entities[i]);
        }
    }
}

static void do_step(model_world *model) {
    const uint32_t kind = pick(model, 100);
    const bool has_room = model_alive(model) < SLOT_COUNT;
    if (kind < 6 && has_room) {
        do_create(model);
    } else if (kind < 9 && has_room) {
        do_create_at(model);
    } else if (kind < 20 && has_room) {
        do_spawn(model);
    } else if (kind < 24) {
        do_spawn_many(model);
    } else if (kind < 27) {
        do_spawn_fill(model);
    } else if (kind < 29) {
        do_destroy_many(model);
    } else if (kind < 30 && pick(model, 20) == 0) {
        do_clear(model);
    } else if (kind < 32) {
        assert_int_equal(mica_world_trim(model->world), MICA_OK);
    } else {
        model_entity *entity = pick_alive(model);
        if (entity == NULL) {
            return;
        }
        if (kind < 36 && has_room) {
            do_clone(model, entity);
        } else if (kind < 55) {
            do_add(model, entity);
        } else if (kind < 72) {
            do_set(model, entity);
        } else if (kind < 76) {
            do_write(model, entity);
        } else if (kind < 92) {
            do_remove(model, entity);
        } else {
            do_destroy(model, entity);
        }
    }
}

// Comparing

static void compare_entity(const model_world *model, const model_entity *entity) {
    for (uint32_t i = 0; i < COMPONENT_COUNT; i++) {
        const bool has = (entity->has & bit_of(i)) != 0;
        assert_int_equal(mica_entity_has(model->world, entity->handle, model->ids[i]), has);
        if (is_tag(i)) {
            continue;
        }
        const void *value = mica_entity_get(model->world, entity->handle, model->ids[i]);
        assert_int_equal(value != NULL, has);
        if (has) {
            assert_int_equal(number_of(i, value), entity->numbers[i]);
        }
    }
    mica_component listed[COMPONENT_COUNT + 1];
    int32_t expected = 0;
    for (uint32_t i = 0; i < COMPONENT_COUNT; i++) {
        expected += (entity->has & bit_of(i)) != 0;
    }
    assert_int_equal(mica_entity_components(model->world, entity->handle, listed, COMPONENT_COUNT + 1), expected);
}

// The query must visit exactly those naive entities that `matches` says, each once.
static void compare_query(const model_world *model, mica_query *query, uint32_t all, uint32_t none, uint32_t any) {
    bool seen[SLOT_COUNT] = {false};
    int32_t expected = 0;
    int32_t visited = 0;
    mica_each (query, it) {
        for (int32_t row = 0; row < it.count; row++) {
            bool found = false;
            for (uint32_t i = 0; i < SLOT_COUNT && !found; i++) {
                const model_entity *entity = &model->entities[i];
                if (entity->alive && mica_entity_equal(entity->handle, it.entities[row])) {
                    found = true;
                    assert_false(seen[i]);
                    seen[i] = true;
                }
            }
            assert_true(found);
            visited++;
        }
    }
    for (uint32_t i = 0; i < SLOT_COUNT; i++) {
        const model_entity *entity = &model->entities[i];
        const bool matches = entity->alive && (entity->has & all) == all && (entity->has & none) == 0 &&
                             (any == 0 || (entity->has & any) != 0);
        assert_int_equal(seen[i], matches);
        if (entity->alive) {
            assert_int_equal(mica_query_contains(query, entity->handle), matches);
        }
        expected += matches;
    }
    assert_int_equal(visited, expected);
    assert_int_equal(mica_query_count(query), expected);
}

static void compare(model_world *model) {
    assert_valid(model->world);
    assert_int_equal(mica_world_entity_count(model->world), model_alive(model));
    for (uint32_t i = 0; i < SLOT_COUNT; i++) {
        if (model->entities[i].alive) {
            assert_true(mica_alive(model->world, model->entities[i].handle));
            compare_entity(model, &model->entities[i]);
        }
    }
    for (uint32_t i = 0; i < model->dead_count && i < DEAD_COUNT; i++) {
        assert_false(mica_alive(model->world, model->dead[i]));
        assert_null(mica_get(model->world, model->dead[i], Health));
    }
    mica_world *world = model->world;
    compare_query(model, mica_query_of(world, mica_read(Health)), HAS_HEALTH, 0, 0);
    compare_query(model, mica_query_of(world, mica_write(Owned), mica_without(Frozen)), HAS_OWNED, HAS_FROZEN, 0);
    compare_query(model, mica_query_of(world, mica_any_read(1, Wide), mica_any_with(1, Marked), mica_with(Frozen)),
                  HAS_FROZEN, 0, HAS_WIDE | HAS_MARKED);
    compare_query(model, mica_query_of(world, mica_without(Health), mica_read_optional(Position)), 0, HAS_HEALTH, 0);
}

static void run_model(uint64_t seed, uint32_t steps) {
    static model_world model;
    memset(&model, 0, sizeof(model));
    model.random.state = seed;
    model.next_number = 1;
    watched_begin(&model.watched);
    model.world = model.watched.world;
    mica_type *types[COMPONENT_COUNT] = {mica_type_of(Health), mica_type_of(Position), mica_type_of(Wide),
                                         mica_type_of(Frozen), mica_type_of(Marked),   mica_type_of(Armour),
                                         mica_type_of(Owned)};
    for (uint32_t i = 0; i < COMPONENT_COUNT; i++) {
        model.ids[i] = mica_world_register(model.world, types[i]);
    }
    for (uint32_t step = 0; step < steps; step++) {
        do_step(&model);
        compare(&model);
    }
    watched_end(&model.watched);
}

static void world_agrees_with_the_naive_model(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 30; seed++) {
        print_message("seed %llu\n", (unsigned long long)seed);
        run_model(seed, 1200);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(world_agrees_with_the_naive_model)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

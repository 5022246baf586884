// Spawners, and what limits and prepares memory, of the fuzzer of worlds. A spawner stays good whatever happens to the
// world between its spawns. Budgets last until the end of a round; worlds of fixed capacity, which inputs ask for with
// "!" and a size at their head, never ask their allocator again. Making room and giving it back changes nothing that
// can be seen.
#include "fuzz_world.h"

enum { FIXED_STEP_BYTES = 64 << 10, FIXED_STEPS_LEAST = 6 };

// The world

static void make_world(fuzz *f, mica_world_def *def) {
    test_allocator_init(&f->watched.allocator);
    def->allocator = test_allocator_hooks(&f->watched.allocator);
    f->watched.world = f->world = mica_world_create(def);
}

bool begin_world(fuzz *f) {
    mica_world_def def = {.validate = MICA_VALIDATE_OFF}; // systems do at random what they have not declared
    if (f->byte_size > 0 && f->bytes[0] == '!') {
        f->at++;
        def.fixed_byte_size = (size_t)(FIXED_STEPS_LEAST + pick(f, 128)) * FIXED_STEP_BYTES;
        f->fixed_memory = pick(f, 2) == 0 ? NULL : malloc(def.fixed_byte_size);
        def.fixed_memory = f->fixed_memory;
        f->is_fixed = true;
        f->failed_count++;
    }
    make_world(f, &def);
    if (f->world == NULL) {
        FUZZ_CHECK(f->is_fixed, mica_last_error());
        check(f, mica_last_result());
        free(f->fixed_memory);
        FUZZ_CHECK_MEMORY(&f->watched.allocator);
        return false;
    }
    f->call_count = f->watched.allocator.call_count;
    bool is_ready = true;
    for (uint32_t i = 0; i < COMPONENT_COUNT && is_ready; i++) {
        f->ids[i] = mica_world_component(f->world, component_types[i]);
        is_ready = f->ids[i] != 0;
    }
    f->commands = is_ready ? mica_commands_create(f->world) : NULL;
    is_ready = f->commands != NULL;
    FUZZ_CHECK(is_ready || f->is_fixed, mica_last_error());
    return is_ready;
}

// Spawners

static void make_spawner(fuzz *f, fuzz_spawner *made) {
    mica_type *types[BATCH_MAX] = {NULL};
    const int32_t count = (int32_t)pick(f, BATCH_MAX);
    for (int32_t i = 0; i < count; i++) {
        made->components[i] = pick_component(f);
        types[i] = component_types[made->components[i]];
    }
    mica_error_clear();
    made->count = count;
    made->spawner = mica_spawner_make(f->world, types, count);
    made->is_made = mica_last_result() == MICA_OK;
    check(f, mica_last_result());
    FUZZ_CHECK(count > 0 || !made->is_made, "a spawner of nothing");
}

// Keeps who was spawned, and what he was given.
static void note_spawned(fuzz *f, mica_entity entity, const uint32_t *components, const mica_value *values,
                         int32_t count) {
    for (int32_t i = 0; i < count && !mica_entity_is_null(entity); i++) {
        // A child of nobody is a root.
        FUZZ_CHECK(components[i] == CHILD_OF || f->is_reacted ||
                       mica_entity_has(f->world, entity, f->ids[components[i]]),
                   component_types[components[i]]->name);
        if (is_numbered(components[i])) {
            remember_written(f, entity, components[i], values[i].value == NULL ? 0 : number_of(values[i].value));
        }
        check_required(f, entity, components[i], true);
    }
    keep(f, entity);
}

// Values of the spawner's types: with their sizes, or as `is_odd` with some that have none, or a wrong one. True if one
// has a wrong size.
static bool fill_values(fuzz *f, const fuzz_spawner *made, mica_value *values, any_value *memory, bool is_odd) {
    bool is_wrong = false;
    for (int32_t i = 0; i < made->count; i++) {
        mica_type *type = component_types[made->components[i]];
        const uint32_t oddity = is_odd ? pick(f, 8) : 7;
        const uint32_t size = (uint32_t)size_of(f, made->components[i]);
        values[i] = (mica_value){.type = type};
        if (oddity != 0) {
            values[i].value = make_value(f, made->components[i], &memory[i]);
            values[i].byte_size = values[i].value == NULL || oddity == 1 ? 0 : size + (oddity == 2);
            is_wrong |= values[i].byte_size != 0 && values[i].byte_size != size;
        }
    }
    return is_wrong;
}

static void spawn_by(fuzz *f, fuzz_spawner *made, bool is_odd, bool is_of_world) {
    mica_value values[BATCH_MAX];
    any_value memory[BATCH_MAX];
    const int32_t count_before = mica_world_entity_count(f->world);
    const bool is_wrong = fill_values(f, made, values, memory, is_odd);
    const mica_entity entity = is_of_world ? mica_world_spawn(f->world, values, made->count)
                                           : mica_spawner_spawn(&made->spawner, values, made->count);
    check_made(f, result_of(entity), count_before, 1);
    FUZZ_CHECK(!is_wrong || mica_entity_is_null(entity), "a value of a wrong size was taken");
    FUZZ_CHECK(made->is_made || is_of_world || mica_entity_is_null(entity), "a spawner that was refused spawns");
    note_spawned(f, entity, made->components, values, made->count);
}

// As programs do, where the compiler knows all sizes.
static void spawn_in_line(fuzz *f) {
    const int32_t number = (int32_t)pick(f, 256);
    const int32_t count_before = mica_world_entity_count(f->world);
    mica_entity entity = MICA_NULL;
    uint32_t component = HEALTH;
    switch (pick(f, 4)) {
    case 0:
        entity = mica_spawn(f->world, mica_value_of(Health, {number}));
        break;
    case 1:
        entity =
            mica_spawn(f->world, mica_value_of(Position, {1, 2, 3}), mica_value_of(Health, {number}), mica_tag(Frozen));
        break;
    case 2:
        component = SPEED;
        entity = mica_spawn(f->world, mica_value_of(Speed, {number}), mica_value_of(Target, {f->handles[0]}));
        break;
    default:
        component = STREWN;
        entity = mica_spawn(f->world, mica_value_of(Strewn, {number, -number}), mica_tag(Wide));
    }
    check_made(f, result_of(entity), count_before, 1);
    if (!mica_entity_is_null(entity)) {
        remember_written(f, entity, component, number);
    }
    keep(f, entity);
}

void do_spawner(fuzz *f) {
    fuzz_spawner *made = &f->spawners[pick(f, SPAWNER_COUNT)];
    const uint32_t choice = pick(f, 8);
    if (is_full(f)) {
        return;
    }
    if (choice == 6) {
        spawn_in_line(f);
    } else if (choice == 7 || made->count == 0) {
        make_spawner(f, made);
    } else {
        spawn_by(f, made, choice == 5, choice == 4);
    }
}

// Memory

void lift_budget(fuzz *f) {
    if (f->is_budgeted) {
        FUZZ_CHECK(mica_world_set_budget(f->world, NULL) == MICA_OK, mica_last_error());
        f->is_budgeted = false;
    }
}

static void set_budget(fuzz *f, bool is_total) {
    const mica_memory_usage usage = mica_world_memory(f->world);
    mica_memory_budget budget = {.total = 0};
    const uint32_t purpose = pick(f, MICA_MEMORY_PURPOSE_COUNT);
    const size_t more = (size_t)pick(f, 256) * 64;
    if (is_total) {
        budget.total = usage.total + more;
    } else {
        budget.bytes[purpose] = usage.bytes[purpose] + more;
    }
    const mica_result result = check(f, mica_world_set_budget(f->world, &budget));
    const bool is_right = is_total || purpose != MICA_MEMORY_SCHEMA || budget.bytes[purpose] == 0;
    FUZZ_CHECK((result == MICA_OK) == is_right, mica_last_error());
    if (result == MICA_OK) {
        f->is_budgeted = true;
        f->failed_count++;
    }
}

static void make_room(fuzz *f) {
    mica_room room = {.count = 0};
    const uint32_t count = pick(f, BATCH_MAX);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t component = pick_component(f);
        if (pick(f, 2) == 0) {
            room.types[i] = component_types[component];
        } else {
            room.components[i] = f->ids[component];
        }
    }
    room.count = pick(f, 256) * 4;
    FUZZ_CHECK(check(f, mica_world_make_room(f->world, &room)) != MICA_OK || f->walk_count == 0,
               "room made during a walk");
}

static void count_table(const mica_table_stats *table, void *user) {
    uint64_t *row_count = user;
    FUZZ_CHECK(table->row_count <= table->row_capacity && table->component_count > 0, "");
    FUZZ_CHECK(table->row_capacity == table->chunk_count * table->chunk_capacity, "");
    *row_count += table->row_count;
}

static void check_figures(fuzz *f) {
    uint64_t row_count = 0;
    size_t total = 0;
    const mica_memory_usage usage = mica_world_memory(f->world);
    for (uint32_t i = 0; i < MICA_MEMORY_PURPOSE_COUNT; i++) {
        total += usage.bytes[i];
    }
    FUZZ_CHECK(total == usage.total && usage.total <= usage.peak, "");
    FUZZ_CHECK(f->is_fixed || usage.total <= f->watched.allocator.live_bytes, "");
    const mica_fragmentation filled = mica_world_fragmentation(f->world);
    FUZZ_CHECK(filled.row_count <= filled.row_capacity && filled.row_bytes <= filled.chunk_bytes, "");
    FUZZ_CHECK(filled.element_count <= filled.element_capacity && filled.slot_count <= filled.slot_capacity, "");
    FUZZ_CHECK(filled.chunks.used_bytes <= filled.chunks.bytes && filled.pages.used_bytes <= filled.pages.bytes, "");
    if (mica_world_visit_tables(f->world, count_table, &row_count) >= 0) {
        FUZZ_CHECK(row_count == filled.row_count, "");
    } else {
        check(f, mica_last_result());
    }
    for (uint32_t i = 0; i < HANDLE_COUNT; i++) {
        const bool is_alive = mica_entity_alive(f->world, f->handles[i]);
        FUZZ_CHECK((mica_entity_byte_size(f->world, f->handles[i]) > 0) == is_alive, "");
    }
}

void do_room(fuzz *f) {
    const uint64_t before = digest(f, f->handles, HANDLE_COUNT);
    switch (pick(f, 6)) {
    case 0:
        set_budget(f, true);
        break;
    case 1:
        set_budget(f, false);
        break;
    case 2:
        lift_budget(f);
        break;
    case 3:
        make_room(f);
        break;
    case 4:
        check(f, mica_world_keep_chunks(f->world, (size_t)pick(f, 256) << 10));
        break;
    default:
        check_figures(f);
    }
    FUZZ_CHECK(digest(f, f->handles, HANDLE_COUNT) == before, "making room has changed something");
}

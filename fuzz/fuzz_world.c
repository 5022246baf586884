// Fuzzes what can be done to a world. An input is a list of operations, a letter or sign each with the bytes that it
// takes as arguments (`operations` at the end lists them); other bytes between operations are skipped. Numbers are
// taken modulo what they choose from, so that digits serve as small numbers: "c" makes an entity, "a10" adds component
// 0 to the entity made second. A "!" at the head asks for a world of fixed capacity (world_room.c).
//
// Operations use the verbs, on one and on many, and spawners, record into command buffers, link, hide, sort pools and
// groups, walk queries and orders, add, run and remove systems, observe, ask for changes and for values, send and read
// events, make room and set budgets; inside walks, systems, observers and handlers the same bytes go on driving, so
// that every verb meets the structure lock, and what spans hold copies of is asked for. Allocations (`F`) and hooks
// (`h`) fail now and then, and budgets (`*`) refuse.
//
// Whatever the bytes are: a verb is refused with MICA_LOCKED only inside a walk, a system or a hook, and with
// MICA_OUT_OF_MEMORY only when an allocation or a hook failed or memory is limited; one that is refused makes and
// destroys nothing; values know their own address and their memory (world_kinds.h); numbers that were written are read
// until they are written again. After each round of operations all invariants hold, queries list what a naive look
// finds (world_walks.c), pools and groups hold what verbs say (world_pools.c), observers have heard of those who are
// there (world_observers.c), and at the end all memory comes back. Changes, indexes and subscriptions are checked when
// they are asked for (world_changes.c), events when they are seen (world_events.c), verbs on many when they are used
// (world_many.c).
#include "fuzz_world.h"

enum { SYSTEM_COUNT = 8, ROUND_OPERATIONS = 16 };

// Choices

// For values. A world that holds placeholders is not valid: they are for recorded values alone.
static mica_entity pick_named(fuzz *f) {
    const mica_entity entity = pick_target(f);
    return f->is_recording || !mica_entity_is_placeholder(entity) ? entity : MICA_NULL;
}

static mica_entity keep_placeholder(fuzz *f, mica_entity placeholder) {
    if (!mica_entity_is_null(placeholder)) {
        f->placeholders[f->placeholder_count++ % PLACEHOLDER_COUNT] = placeholder;
    }
    return placeholder;
}

const void *make_value(fuzz *f, uint32_t component, any_value *value) {
    static int32_t number;
    static const char *const names[] = {"", "a", NULL, "a name that is somewhat longer than the others"};
    memset(value, 0, sizeof(*value));
    switch (component) {
    case HEALTH:
        value->health.now = (int32_t)pick(f, 256);
        return value;
    case POSITION:
        value->position = (Position){(float)pick(f, 256), 1, 2};
        return value;
    case WIDE:
        value->wide.number = (int32_t)pick(f, 256);
        return value;
    case TARGET:
        value->target.who = pick_named(f);
        return value;
    case ARMOUR:
        value->armour.now = 1;
        return value;
    case OWNED:
    case KEPT:
        number = (int32_t)pick(f, 256);
        value->owned = (Owned){.number = &number, .self = &value->owned};
        return value;
    case CHILD_OF:
        value->child_of.parent = pick_named(f);
        return value;
    case TRANSFORM:
        value->transform = (mica_transform)MICA_TRANSFORM_IDENTITY;
        value->transform.position[pick(f, 3)] = (float)pick(f, 16);
        value->transform.scale[pick(f, 3)] = (float)pick(f, 4);
        value->transform.rotation[2] = 1;
        value->transform.rotation[3] = 0;
        return value;
    case WORLD_TRANSFORM:
        value->world_transform.m[12] = 1;
        return value;
    case NAME:
        value->name.text = names[pick(f, 4)];
        return value;
    case PAGED:
        value->paged = (Paged){.now = (int32_t)pick(f, 256), .who = pick_named(f)};
        return value;
    case NOTED:
        value->noted = (Noted){.now = (int32_t)pick(f, 8), .who = pick_named(f)};
        return value;
    case LISTED:
        value->listed = (Listed){.now = (int32_t)pick(f, 8), .level = (int32_t)pick(f, 4)};
        return value;
    case TIMER:
        value->timer = (mica_timer){.left_seconds = (double)pick(f, 8) / 8, .period_seconds = (double)pick(f, 4) / 8};
        return value;
    case LIFETIME:
        value->lifetime = (mica_lifetime){.left_seconds = (double)pick(f, 8) / 4, .takes_subtree = pick(f, 2) == 1};
        return value;
    case SOLE:
    case FICKLE:
    case FICKLE_ROW:
        value->placed = (Placed){.self = &value->placed, .number = (int32_t)pick(f, 256)};
        return value;
    default:
        if (is_numbered(component)) {
            number_value(component, value, (int32_t)pick(f, 256));
            return value;
        }
        return pick(f, 16) == 15 ? value : NULL; // a value for a tag at times, which is refused
    }
}

// Checking

// What every result must be, whatever was done.
mica_result check(fuzz *f, mica_result result) {
    FUZZ_CHECK(result >= MICA_OK && result < MICA_RESULT_COUNT, "");
    FUZZ_CHECK(result == MICA_OK || mica_last_error()[0] != '\0', mica_result_name(result));
    FUZZ_CHECK(result != MICA_LOCKED || f->depth > 0, mica_last_error());
    FUZZ_CHECK(result != MICA_OUT_OF_MEMORY || count_failures(f) > 0 || placed.failed_count > 0, mica_last_error());
    return result;
}

void check_made(fuzz *f, mica_result result, int32_t count_before, int32_t made_count) {
    check(f, result);
    FUZZ_CHECK(result != MICA_OK || f->walk_count == 0, "rows moved during a walk");
    FUZZ_CHECK(f->is_reacted ||
                   mica_world_entity_count(f->world) == count_before + (result == MICA_OK ? made_count : 0),
               mica_last_error());
}

bool read_number(const fuzz *f, mica_entity entity, uint32_t component, int32_t *number) {
    any_value copy;
    const void *value = is_laned(component) ? NULL : mica_entity_get(f->world, entity, f->ids[component]);
    if (is_laned(component) && mica_entity_load(f->world, entity, f->ids[component], &copy)) {
        check_value(component, &copy);
        value = &copy;
    }
    *number = value == NULL ? 0 : number_of(value);
    return value != NULL;
}

void remember_written(fuzz *f, mica_entity entity, uint32_t component, int32_t number) {
    if (f->is_reacted) {
        forget_written(f, entity, component);
    } else if (is_numbered(component)) {
        f->written[(mica_entity_index(entity) * 31 + component) % WRITTEN_COUNT] =
            (fuzz_written){entity, component, number};
    }
}

void forget_written(fuzz *f, mica_entity entity, uint32_t component) {
    fuzz_written *known = &f->written[(mica_entity_index(entity) * 31 + component) % WRITTEN_COUNT];
    if (mica_entity_equal(known->entity, entity) && known->component == component) {
        known->entity = MICA_NULL;
    }
}

void forget_all_written(fuzz *f) {
    memset(f->written, 0, sizeof(f->written));
}

void check_written(fuzz *f) {
    for (uint32_t i = 0; i < WRITTEN_COUNT; i++) {
        const fuzz_written *known = &f->written[i];
        if (mica_entity_alive(f->world, known->entity)) {
            int32_t number = 0;
            FUZZ_CHECK(read_number(f, known->entity, known->component, &number), "a component that is gone");
            FUZZ_CHECK(number == known->number, component_types[known->component]->name);
        }
    }
}

static void do_check_written(fuzz *f) {
    check_written(f);
}

// Verbs

static void do_create(fuzz *f) {
    const int32_t count = mica_world_entity_count(f->world);
    if (is_full(f)) {
        return;
    }
    const mica_entity entity = mica_entity_create(f->world);
    check_made(f, result_of(entity), count, 1);
    keep(f, entity);
}

// Slots never used, used ones, and generations up to the highest.
static void do_create_at(fuzz *f) {
    mica_entity entities[BATCH_MAX] = {MICA_NULL};
    const int32_t count = (int32_t)pick(f, BATCH_MAX);
    for (int32_t i = 0; i < count; i++) {
        const uint32_t index = pick(f, 256);
        const uint32_t generation = pick(f, 256);
        entities[i] = mica_entity_make(index, generation < 192 ? generation : MICA_GENERATION_MAX - (255 - generation));
    }
    const int32_t count_before = mica_world_entity_count(f->world);
    const mica_result result = mica_entity_create_at(f->world, entities, count);
    check_made(f, result, count_before, count);
    for (int32_t i = 0; i < count && result == MICA_OK; i++) {
        keep(f, entities[i]);
    }
}

// Fills in values for a spawn; returns how many.
static int32_t make_values(fuzz *f, mica_value *values, any_value *memory) {
    const int32_t count = (int32_t)pick(f, BATCH_MAX);
    for (int32_t i = 0; i < count; i++) {
        const uint32_t component = pick_component(f);
        values[i] = (mica_value){.component = f->ids[component]};
        if (pick(f, 2) == 0) {
            values[i].value = make_value(f, component, &memory[i]);
        }
    }
    return count;
}

static uint32_t number_of_component(const fuzz *f, mica_component id) {
    uint32_t component = 0;
    while (f->ids[component] != id) {
        component++;
    }
    return component;
}

static void do_spawn(fuzz *f) {
    mica_value values[BATCH_MAX];
    any_value memory[BATCH_MAX];
    const int32_t value_count = make_values(f, values, memory);
    const int32_t count = mica_world_entity_count(f->world);
    const mica_entity entity = mica_entity_spawn(f->world, values, value_count);
    check_made(f, result_of(entity), count, 1);
    for (int32_t i = 0; i < value_count && !mica_entity_is_null(entity); i++) {
        const uint32_t component = number_of_component(f, values[i].component);
        const bool is_known = is_numbered(component) && values[i].value != NULL;
        // A child of nobody is a root.
        FUZZ_CHECK(component == CHILD_OF || f->is_reacted || mica_entity_has(f->world, entity, values[i].component),
                   "");
        if (is_known) {
            remember_written(f, entity, component, number_of(values[i].value));
        }
    }
    keep(f, entity);
}

static int32_t pick_count(fuzz *f) {
    const int32_t count = (int32_t)pick(f, 256);
    return count < 192 ? count : (count - 191) * 16;
}

static void do_spawn_many(fuzz *f) {
    static Health health[1024 + 16];
    static mica_entity entities[1024 + 16];
    const mica_column columns[] = {{.component = f->ids[pick_component(f)]},
                                   {.component = f->ids[0], .value = pick(f, 2) == 0 ? health : NULL},
                                   {.component = f->ids[pick_component(f)]}};
    const int32_t made_count = is_full(f) ? 0 : pick_count(f);
    const int32_t count = mica_world_entity_count(f->world);
    const mica_result result = mica_entity_spawn_many(f->world, columns, 1 + (int32_t)pick(f, 3), made_count, entities);
    check_made(f, result, count, made_count);
    if (result == MICA_OK && made_count > 0) {
        keep(f, entities[0]);
        keep(f, entities[made_count - 1]);
    }
}

static void fill_span(void *user, const mica_spawn_span *span) {
    fuzz *f = user;
    f->depth++;
    FUZZ_CHECK(span->count > 0, "");
    keep(f, span->entities[0]);
    FUZZ_CHECK(mica_entity_is_null(mica_entity_create(f->world)), "an entity made inside a filling");
    mica_world_destroy(f->world); // refused
    f->depth--;
}

static void do_spawn_fill(fuzz *f) {
    const mica_component components[] = {f->ids[pick_component(f)], f->ids[pick_component(f)]};
    const int32_t made_count = is_full(f) ? 0 : pick_count(f);
    const int32_t count = mica_world_entity_count(f->world);
    const mica_result result =
        mica_entity_spawn_fill(f->world, components, (int32_t)pick(f, 3), made_count, fill_span, f);
    check_made(f, result, count, made_count);
}

static void do_clone(fuzz *f) {
    const int32_t count = mica_world_entity_count(f->world);
    const mica_entity source = pick_target(f);
    if (is_full(f)) {
        return;
    }
    const mica_entity entity = mica_entity_clone(f->world, source);
    check_made(f, result_of(entity), count, 1);
    keep(f, entity);
    for (uint32_t i = 0; i < COMPONENT_COUNT && !mica_entity_is_null(entity) && !f->is_reacted; i++) {
        const mica_component id = f->ids[i];
        // A child of nobody, which a failed allocation may have left one, is cloned to a root.
        FUZZ_CHECK(i == CHILD_OF || mica_entity_has(f->world, entity, id) == mica_entity_has(f->world, source, id),
                   component_types[i]->name);
        FUZZ_CHECK(i == CHILD_OF || mica_entity_component_enabled(f->world, entity, id) ==
                                        mica_entity_component_enabled(f->world, source, id),
                   component_types[i]->name);
        int32_t numbers[2] = {0, 0};
        if (is_numbered(i) && read_number(f, source, i, &numbers[0])) {
            FUZZ_CHECK(read_number(f, entity, i, &numbers[1]) && numbers[0] == numbers[1], component_types[i]->name);
        }
    }
}

static void do_destroy(fuzz *f) {
    const int32_t count = mica_world_entity_count(f->world);
    const mica_entity entity = pick_target(f);
    check_made(f, mica_entity_destroy(f->world, entity), count, -1);
}

static void do_destroy_many(fuzz *f) {
    mica_entity entities[BATCH_MAX] = {MICA_NULL};
    const int32_t count = (int32_t)pick(f, BATCH_MAX);
    for (int32_t i = 0; i < count; i++) {
        entities[i] = pick_target(f);
    }
    const int32_t count_before = mica_world_entity_count(f->world);
    const mica_result result = check(f, mica_entity_destroy_many(f->world, entities, count));
    for (int32_t i = 0; i < count && result == MICA_OK; i++) {
        FUZZ_CHECK(!mica_entity_alive(f->world, entities[i]), "");
    }
    FUZZ_CHECK(result == MICA_OK || mica_world_entity_count(f->world) == count_before, mica_last_error());
}

void check_required(const fuzz *f, mica_entity entity, uint32_t component, bool is_added) {
    const mica_component_info *info = mica_schema_info(mica_world_schema(f->world), f->ids[component]);
    FUZZ_CHECK(!is_added || f->is_reacted ||
                   mica_entity_has_all(f->world, entity, info->required, info->required_count),
               info->name);
}

static void do_add(fuzz *f) {
    any_value memory;
    const mica_entity entity = pick_target(f);
    const uint32_t component = pick_component(f);
    const void *value = pick(f, 2) == 0 ? NULL : make_value(f, component, &memory);
    const bool has = mica_entity_has(f->world, entity, f->ids[component]);
    const mica_result result = check(f, mica_entity_add(f->world, entity, f->ids[component], value));
    FUZZ_CHECK(result != MICA_OK || !has, "added what was there");
    if (result == MICA_OK && is_numbered(component)) {
        remember_written(f, entity, component, value == NULL ? 0 : number_of(value));
    }
    check_required(f, entity, component, result == MICA_OK);
    FUZZ_CHECK(result == MICA_OK || f->is_reacted || mica_entity_has(f->world, entity, f->ids[component]) == has,
               mica_last_error());
}

static void do_set(fuzz *f) {
    any_value memory;
    const mica_entity entity = pick_target(f);
    const uint32_t component = pick_component(f);
    const bool has = mica_entity_has(f->world, entity, f->ids[component]);
    const void *value = make_value(f, component, &memory);
    const mica_result result = check(f, mica_entity_set(f->world, entity, f->ids[component], value));
    if (result == MICA_OK && is_numbered(component)) {
        remember_written(f, entity, component, number_of(value));
    }
    check_required(f, entity, component, result == MICA_OK && !has);
    FUZZ_CHECK(result == MICA_OK || f->is_reacted || mica_entity_has(f->world, entity, f->ids[component]) == has,
               mica_last_error());
}

static void do_remove(fuzz *f) {
    const mica_entity entity = pick_target(f);
    const uint32_t component = pick_component(f);
    if (check(f, mica_entity_remove(f->world, entity, f->ids[component])) == MICA_OK) {
        FUZZ_CHECK(f->is_reacted || !mica_entity_has(f->world, entity, f->ids[component]), "");
        forget_written(f, entity, component);
    }
}

static void do_link(fuzz *f) {
    const mica_entity child = pick_target(f);
    const mica_entity parent = pick_target(f);
    const mica_pose pose = pick(f, 2) == 0 ? MICA_POSE_LOCAL : MICA_POSE_WORLD;
    if (check(f, mica_entity_set_parent(f->world, child, parent, pose)) == MICA_OK) {
        FUZZ_CHECK(f->is_reacted || mica_entity_equal(mica_parent(f->world, child), parent), "");
    }
}

static void do_link_many(fuzz *f) {
    mica_entity children[BATCH_MAX] = {MICA_NULL};
    mica_entity parents[BATCH_MAX] = {MICA_NULL};
    const int32_t count = (int32_t)pick(f, BATCH_MAX);
    for (int32_t i = 0; i < count; i++) {
        children[i] = pick_target(f);
        parents[i] = pick_target(f);
    }
    const mica_result result = check(f, mica_entity_set_parent_many(f->world, children, parents, count));
    for (int32_t i = 0; i < count && result == MICA_OK; i++) {
        FUZZ_CHECK(f->is_reacted || mica_entity_equal(mica_parent(f->world, children[i]), parents[i]), "");
    }
}

static void do_destroy_subtree(fuzz *f) {
    const mica_entity root = pick_target(f);
    const int32_t child_count = mica_child_count(f->world, root);
    const int32_t count = mica_world_entity_count(f->world);
    if (check(f, mica_entity_destroy_subtree(f->world, root)) == MICA_OK) {
        FUZZ_CHECK(f->is_reacted || mica_world_entity_count(f->world) <= count - 1 - child_count, "");
    }
}

static void add_one(void *value, void *user) {
    (void)user;
    ((Health *)value)->now++;
}

// Verbs that move no rows: all are allowed while structure is locked.
static void do_look(fuzz *f) {
    const mica_entity entity = pick_target(f);
    const uint32_t component = pick_component(f);
    const mica_component id = f->ids[component];
    const bool has = mica_entity_has(f->world, entity, id);
    FUZZ_CHECK((mica_entity_get(f->world, entity, id) != NULL) == (has && !is_tag(component) && !is_laned(component)),
               "");
    const bool is_handed_out = mica_entity_get_write(f->world, entity, id) != NULL;
    FUZZ_CHECK(!is_handed_out || (has && component != CHILD_OF), "");
    if (is_handed_out) {
        note_written(f, entity, component);
    }
    const mica_result result = check(f, mica_entity_patch(f->world, entity, f->ids[0], add_one, NULL));
    FUZZ_CHECK(f->is_reacted || (result == MICA_OK) == mica_entity_has(f->world, entity, f->ids[0]), mica_last_error());
    forget_written(f, entity, HEALTH);
    mica_component listed[COMPONENT_COUNT];
    const int32_t count = mica_entity_components(f->world, entity, listed, COMPONENT_COUNT);
    FUZZ_CHECK((count >= 0) == mica_entity_alive(f->world, entity) && count <= COMPONENT_COUNT, "");
    FUZZ_CHECK(count < 0 || mica_entity_has_all(f->world, entity, listed, count), "");
    FUZZ_CHECK(count < 1 || mica_entity_has_any(f->world, entity, listed, count), "");
    int32_t child_count = mica_child_count(f->world, entity);
    FUZZ_CHECK((child_count >= 0) == mica_entity_alive(f->world, entity), "");
    for (mica_entity child = mica_first_child(f->world, entity); !mica_entity_is_null(child);
         child = mica_next_sibling(f->world, child)) {
        FUZZ_CHECK(mica_entity_equal(mica_parent(f->world, child), entity) && child_count-- > 0, "");
    }
    FUZZ_CHECK(child_count <= 0, "fewer children than are counted");
    float matrix[16];
    check(f, mica_transform_world_of(f->world, entity, matrix));
    FUZZ_CHECK(mica_name_of(f->world, entity) != NULL, "");
}

static void do_resource(fuzz *f) {
    any_value memory;
    const uint32_t component = pick_component(f);
    const mica_component id = f->ids[component];
    switch (pick(f, 4)) {
    case 0:
        check(f, mica_resource_set(f->world, id, make_value(f, component, &memory)));
        break;
    case 1:
        check(f, mica_resource_set_pointer(f->world, f->ids[0], &f->held));
        break;
    case 2:
        if (mica_resource_ensure(f->world, id) == NULL) {
            check(f, mica_last_result());
        }
        break;
    default:
        check(f, mica_resource_remove(f->world, id));
        FUZZ_CHECK(
            f->is_reacted || (mica_resource_get(f->world, id) == NULL && mica_resource_version(f->world, id) == 0), "");
    }
}

static void do_clear(fuzz *f) {
    if (pick(f, 4) == 3 && check(f, mica_world_clear(f->world)) == MICA_OK) {
        FUZZ_CHECK((f->is_reacted || mica_world_entity_count(f->world) == 0) && f->walk_count == 0, "");
        for (uint32_t i = 0; i < HANDLE_COUNT; i++) {
            FUZZ_CHECK(f->is_reacted || !mica_entity_alive(f->world, f->handles[i]), "somebody is left");
        }
    }
}

static void do_trim(fuzz *f) {
    const uint64_t before = digest(f, f->handles, HANDLE_COUNT);
    FUZZ_CHECK(check(f, mica_world_trim(f->world)) != MICA_OK || f->walk_count == 0, "trimmed during a walk");
    FUZZ_CHECK(digest(f, f->handles, HANDLE_COUNT) == before, "a trim has changed something");
}

static void do_reserve(fuzz *f) {
    check(f, mica_world_reserve(f->world, pick(f, 256) * 8));
}

static void do_resolve(fuzz *f) {
    check(f, mica_transform_resolve(f->world));
}

static void do_fail(fuzz *f) {
    f->failed_count += f->watched.allocator.fail_count; // begins anew
    test_allocator_fail_at(&f->watched.allocator, 1 + pick(f, 64));
    if (pick(f, 4) == 3) {
        f->watched.allocator.fail_to = UINT64_MAX;
    }
}

static void do_fail_hooks(fuzz *f) {
    placed.left = pick(f, 16);
    placed.go_on = pick(f, 4) == 3;
}

// Commands

static void record_spawn(fuzz *f, mica_commands *commands) {
    mica_value values[BATCH_MAX];
    any_value memory[BATCH_MAX];
    const int32_t count = make_values(f, values, memory);
    check(f, result_of(keep_placeholder(f, mica_commands_spawn(commands, values, count))));
}

static void record_value(fuzz *f, mica_commands *commands, bool is_add, bool is_given) {
    any_value memory;
    const mica_entity entity = pick_target(f);
    const uint32_t component = pick_component(f);
    const void *value = make_value(f, component, &memory);
    check(f, is_add ? mica_commands_add(commands, entity, f->ids[component], is_given ? value : NULL)
                    : mica_commands_set(commands, entity, f->ids[component], value));
}

static void record_destroy_many(fuzz *f, mica_commands *commands) {
    mica_entity entities[BATCH_MAX] = {MICA_NULL};
    const int32_t count = (int32_t)pick(f, BATCH_MAX);
    for (int32_t i = 0; i < count; i++) {
        entities[i] = pick_target(f);
    }
    check(f, mica_commands_destroy_many(commands, entities, count));
}

static void record(fuzz *f, mica_commands *commands) {
    if (commands == NULL) {
        return; // there was no memory for it
    }
    const int32_t entity_count = mica_world_entity_count(f->world);
    f->is_recording = true;
    uint32_t verb = pick(f, 256);
    verb = verb < 18 ? verb : verb % 15;
    switch (verb) {
    case 0:
        record_spawn(f, commands);
        break;
    case 1:
        check(f, result_of(keep_placeholder(f, mica_commands_clone(commands, pick_target(f)))));
        break;
    case 2:
        check(f, mica_commands_destroy_entity(commands, pick_target(f)));
        break;
    case 3:
        record_destroy_many(f, commands);
        break;
    case 4:
        record_value(f, commands, true, true);
        break;
    case 5:
        record_value(f, commands, true, false);
        break;
    case 6:
        record_value(f, commands, false, true);
        break;
    case 7: {
        const mica_entity entity = pick_target(f);
        check(f, mica_commands_remove(commands, entity, f->ids[pick_component(f)]));
        break;
    }
    case 8: {
        const mica_entity child = pick_target(f);
        const mica_entity parent = pick_target(f);
        check(f, mica_commands_set_parent(commands, child, parent, (mica_pose)pick(f, 2)));
        break;
    }
    case 9:
        check(f, mica_commands_destroy_subtree(commands, pick_target(f)));
        break;
    case 10: {
        const mica_entity entity = pick_target(f);
        check(f, mica_commands_enable(commands, entity, pick(f, 2) == 0));
        break;
    }
    case 11:
        check(f, mica_commands_kill(commands, pick_target(f)));
        break;
    case 12:
        check(f, mica_commands_refresh(commands));
        break;
    case 15:
    case 16:
    case 17:
        record_many(f, commands, verb - 15);
        break;
    default: {
        const mica_entity entity = pick_target(f);
        const mica_component component = f->ids[pick_component(f)];
        check(f, mica_commands_enable_component(commands, entity, component, pick(f, 2) == 0));
    }
    }
    f->is_recording = false;
    FUZZ_CHECK(mica_world_entity_count(f->world) == entity_count, "recording touched the world");
}

static void do_record(fuzz *f) {
    record(f, f->commands);
}

static void do_apply(fuzz *f) {
    const mica_result result = check(f, mica_commands_apply(f->commands));
    forget_all_written(f);
    FUZZ_CHECK(result != MICA_OK || f->is_reacted || mica_commands_count(f->commands) == 0, "");
    for (uint32_t i = 0; i < PLACEHOLDER_COUNT && result == MICA_OK; i++) {
        keep(f, mica_commands_resolve(f->commands, f->placeholders[i]));
    }
}

static void do_drop(fuzz *f) {
    mica_commands_clear(f->commands);
    FUZZ_CHECK(mica_commands_count(f->commands) == 0, "");
}

void run_inside(fuzz *f, mica_commands *commands) {
    check(f, commands == NULL ? mica_last_result() : MICA_OK);
    for (uint32_t left = pick(f, 4); left > 0; left--) {
        if (pick(f, 2) == 0) {
            record(f, commands);
        } else if (f->depth < DEPTH_LIMIT) {
            run_operation(f);
        }
    }
}

// Systems

static const char *const system_names[SYSTEM_COUNT] = {"s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7"};

static void run_system(mica_run *run) {
    fuzz *f = mica_run_user(run);
    const int32_t walk_count = f->walk_count;
    f->depth++;
    forget_all_written(f); // commands of other systems have been applied
    switch (pick(f, 8)) {
    case 7:
        mica_run_fail(run, MICA_UNSUPPORTED, "asked to");
        break;
    case 6: { // left open: the library says so and closes it
        const mica_iter it = mica_run_begin(run);
        f->walk_count += it.open;
        break;
    }
    case 5:
    case 4:
        walk(f, mica_run_begin(run));
        break;
    case 3:
        walk(f, mica_query_begin(mica_run_query(run, 0)));
        break;
    case 2: // refused
        mica_world_destroy(f->world);
        check(f, mica_last_result());
        break;
    default:
        break;
    }
    int32_t *state = mica_run_state(run, int32_t);
    if (state != NULL) {
        ++*state;
    }
    run_inside(f, mica_run_commands(run));
    f->walk_count = walk_count;
    f->depth--;
}

static void do_system_add(fuzz *f) {
    mica_system_def def = {.name = system_names[pick(f, SYSTEM_COUNT)], .run = run_system, .user = f};
    def.stage = (mica_stage)pick(f, 11);
    def.priority = (int32_t)pick(f, 3);
    make_terms(f, def.query);
    def.query_count = (int32_t)pick(f, 2);
    if (def.query_count > 0) {
        make_terms(f, def.queries[0].terms);
    }
    const uint32_t options = pick(f, 256);
    def.start = (options & 1) != 0 ? run_system : NULL;
    def.stop = (options & 2) != 0 ? run_system : NULL;
    def.exclusive = (options & 4) != 0;
    def.disabled = (options & 8) != 0;
    def.state = (options & 16) != 0 ? mica_type_of(Health) : NULL;
    def.before[0] = (options & 32) != 0 ? system_names[pick(f, SYSTEM_COUNT)] : NULL;
    def.after[0] = (options & 64) != 0 ? system_names[pick(f, SYSTEM_COUNT)] : NULL;
    if ((options & 128) != 0) {
        def.also_count = 1;
        def.also[0] = (mica_system_place){.stage = (mica_stage)pick(f, 11), .priority = 1};
    }
    const mica_system system = mica_system_add(f->world, &def);
    check(f, system.id == 0 ? mica_last_result() : MICA_OK);
}

static void do_system_change(fuzz *f) {
    const mica_system system = mica_system_find(f->world, system_names[pick(f, SYSTEM_COUNT)]);
    const uint32_t change = pick(f, 4);
    check(f, change == 0 ? mica_system_remove(f->world, system) : mica_system_enable(f->world, system, change == 1));
    forget_all_written(f); // a stop function may have recorded
    mica_system systems[SYSTEM_COUNT];
    const int32_t count = mica_world_systems(f->world, systems, SYSTEM_COUNT);
    check(f, count < 0 ? mica_last_result() : MICA_OK);
    char plan[128];
    (void)mica_world_plan(f->world, plan, sizeof(plan));
}

static void do_stage_add(fuzz *f) {
    const char *name = system_names[pick(f, SYSTEM_COUNT)];
    const mica_stage stage = mica_stage_add_after(f->world, name, (mica_stage)pick(f, 11));
    check(f, stage < 0 ? mica_last_result() : MICA_OK);
}

static void do_step(fuzz *f) {
    const uint64_t tick = mica_world_tick(f->world);
    const uint64_t version = mica_world_version(f->world);
    f->depth++; // a system that leaves a walk open has failed with MICA_LOCKED
    const mica_result result = check(f, mica_world_step(f->world, 0.25F));
    f->depth--;
    forget_all_written(f);
    FUZZ_CHECK(mica_world_tick(f->world) == tick + (result == MICA_OK), mica_last_error());
    FUZZ_CHECK(mica_world_version(f->world) >= version, "");
}

static void do_advance(fuzz *f) {
    const uint64_t tick = mica_world_tick(f->world);
    f->depth++; // as in do_step
    const int32_t count = mica_world_advance(f->world, (double)pick(f, 4) / 32);
    check(f, count < 0 ? mica_last_result() : MICA_OK);
    f->depth--;
    forget_all_written(f);
    FUZZ_CHECK(mica_world_tick(f->world) == tick + (uint64_t)(count < 0 ? -1 - count : count), mica_last_error());
}

static const struct {
    char letter;
    void (*run)(fuzz *f);
} operations[] = {
    {'c', do_create},        {'C', do_create_at},
    {'s', do_spawn},         {'S', do_spawn_many},
    {'f', do_spawn_fill},    {'n', do_clone},
    {'d', do_destroy},       {'D', do_destroy_many},
    {'a', do_add},           {'t', do_set},
    {'r', do_remove},        {'l', do_link},
    {'L', do_link_many},     {'T', do_destroy_subtree},
    {'g', do_look},          {'u', do_resource},
    {'x', do_clear},         {'m', do_trim},
    {'v', do_reserve},       {'p', do_resolve},
    {'F', do_fail},          {'R', do_record},
    {'A', do_apply},         {'X', do_drop},
    {'q', do_query},         {'k', do_ask},
    {'w', do_walk},          {'y', do_system_add},
    {'Y', do_system_change}, {'G', do_stage_add},
    {'z', do_step},          {'Z', do_advance},
    {'h', do_fail_hooks},    {'P', do_pool},
    {'o', do_group},         {'e', do_visibility},
    {'Q', do_query_text},    {'i', do_order},
    {'I', do_order_walk},    {'K', do_check_written},
    {'W', do_walk_two},      {'O', do_observe},
    {'N', do_follow},        {'j', do_versions},
    {'M', do_mark},          {'V', do_index},
    {'U', do_subscription},  {'E', do_event},
    {'J', do_inbox},         {'H', do_diagnose},
    {'%', do_many},          {'|', do_lanes},
    {'B', do_spawner},       {'*', do_room},
};

void run_operation(fuzz *f) {
    const char letter = (char)take(f);
    f->is_reacted &= f->depth > 0;
    f->failed_count += f->is_fixed || f->is_budgeted;
    for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++) {
        if (operations[i].letter == letter) {
            operations[i].run(f);
            if (f->is_reacted) {
                forget_all_written(f);
            }
            return;
        }
    }
}

// A walk that is still open at times ends with the world.
static void end(fuzz *f) {
    if (f->byte_size % 2 == 1) {
        (void)mica_query_begin(mica_query_find(f->world, NULL, 0));
    }
    for (int32_t i = 0; i < QUERY_COUNT; i++) {
        mica_query_release(f->queries[i].query);
    }
    for (int32_t i = 0; i < ORDER_COUNT; i++) {
        mica_query_release(f->orders[i].query);
    }
    release_changes(f);
    mica_commands_destroy(f->commands);
    FUZZ_CHECK(!f->is_fixed || f->watched.allocator.call_count == f->call_count, "memory beyond the fixed one");
    f->depth++; // in stop functions and observers
    mica_world_destroy(f->world);
    check_books_ended(f);
    free(f->fixed_memory);
    FUZZ_CHECK_MEMORY(&f->watched.allocator);
    FUZZ_CHECK(placed.live_count == 0, "values that were not ended");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t byte_size) {
    static fuzz f;
    memset(&f, 0, sizeof(f)); // too large for a value on the stack
    f.bytes = bytes;
    f.byte_size = byte_size;
    placed = (placed_book){0};
    const bool is_ready = begin_world(&f);
    while (f.at < f.byte_size && is_ready) {
        for (int32_t i = 0; i < ROUND_OPERATIONS && f.at < f.byte_size; i++) {
            run_operation(&f);
        }
        f.failed_count += f.watched.allocator.fail_count; // begins anew
        (void)test_allocator_fail_stop(&f.watched.allocator);
        placed.left = 0;
        lift_budget(&f);
        FUZZ_CHECK_WORLD(f.world);
        check_written(&f);
        check_pools(&f);
        check_queries(&f);
        check_books(&f);
        check_readers(&f);
    }
    if (f.world != NULL) {
        end(&f);
    }
    return 0;
}

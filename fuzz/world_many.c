// Verbs on many entities of the fuzzer of worlds, and lanes. What a verb does to many it does to all or to none: one
// that is refused leaves everybody with what he had, and names a reason that can be seen; one that is not leaves each
// with the component, and with the value that he was given last. Values copied out are those that can be read one by
// one, and zeros for the dead and those who have none.
#include "fuzz_world.h"

enum { MANY_MAX = 256 };

typedef struct fuzz_many {
    uint32_t component;
    size_t size;           // of a value
    mica_entity *entities; // in memory of exactly their size, as the values
    uint8_t *values;       // NULL: none are given
    int32_t count;
    bool *had; // who had the component before
} fuzz_many;

// What a verb is given

static void *make_memory(size_t byte_size, size_t alignment) {
    void *memory = alignment <= _Alignof(max_align_t)
                       ? malloc(byte_size == 0 ? 1 : byte_size)
                       : aligned_alloc(alignment, byte_size == 0 ? alignment : byte_size);
    FUZZ_CHECK(memory != NULL, "");
    return memory;
}

// Single ones, a part of those that are kept, or those of a query from either end.
static int32_t pick_many(fuzz *f, mica_entity *entities) {
    const uint32_t source = pick(f, 4);
    if (source == 0) {
        const int32_t count = (int32_t)pick(f, BATCH_MAX);
        for (int32_t i = 0; i < count; i++) {
            entities[i] = pick_target(f);
        }
        return count;
    }
    if (source == 1) {
        const uint32_t start = pick(f, HANDLE_COUNT);
        const uint32_t count = pick(f, HANDLE_COUNT + 1);
        for (uint32_t i = 0; i < count; i++) {
            entities[i] = f->handles[(start + i) % HANDLE_COUNT];
        }
        return (int32_t)count;
    }
    mica_query *query = f->queries[pick(f, QUERY_COUNT)].query;
    const int32_t limit = 1 + (int32_t)pick(f, MANY_MAX);
    const int32_t found_count =
        mica_query_entities(query == NULL ? mica_query_find(f->world, NULL, 0) : query, entities, limit);
    const int32_t count = found_count < 0 ? 0 : found_count < limit ? found_count : limit;
    for (int32_t i = 0; i < count / 2 && source == 3; i++) {
        const mica_entity entity = entities[i];
        entities[i] = entities[count - 1 - i];
        entities[count - 1 - i] = entity;
    }
    return count;
}

// Values that are all alike but for their numbers and addresses.
static uint8_t *make_values(fuzz *f, const fuzz_many *many) {
    any_value first;
    if (make_value(f, many->component, &first) == NULL) {
        return NULL;
    }
    uint8_t *values = make_memory((size_t)many->count * many->size,
                                  mica_schema_info(mica_world_schema(f->world), f->ids[many->component])->align);
    for (int32_t i = 0; i < many->count; i++) {
        uint8_t *value = values + (size_t)i * many->size;
        memcpy(value, &first, many->size);
        if (is_numbered(many->component)) {
            number_value(many->component, value, number_of(&first) + i);
        } else if (many->component == SOLE || many->component == FICKLE || many->component == FICKLE_ROW) {
            ((Placed *)(void *)value)->self = (const Placed *)(const void *)value;
        }
    }
    return values;
}

static fuzz_many begin_many(fuzz *f, bool needs_values) {
    mica_entity entities[MANY_MAX];
    fuzz_many many = {.component = pick_component(f)};
    many.size = size_of(f, many.component);
    many.count = pick_many(f, entities);
    many.entities = make_memory((size_t)many.count * sizeof(mica_entity), _Alignof(mica_entity));
    many.had = make_memory((size_t)many.count * sizeof(bool), 1);
    memcpy(many.entities, entities, (size_t)many.count * sizeof(mica_entity));
    for (int32_t i = 0; i < many.count; i++) {
        many.had[i] = mica_entity_has(f->world, entities[i], f->ids[many.component]);
    }
    many.values = needs_values ? make_values(f, &many) : NULL;
    return many;
}

static void end_many(fuzz_many *many) {
    free(many->entities);
    free(many->values);
    free(many->had);
}

static const void *value_at(const fuzz_many *many, int32_t number) {
    return many->values == NULL ? NULL : many->values + (size_t)number * many->size;
}

// Checks

uint64_t digest(const fuzz *f, const mica_entity *entities, int32_t count) {
    uint64_t sum = (uint64_t)mica_world_entity_count(f->world);
    for (int32_t i = 0; i < count; i++) {
        mica_component listed[COMPONENT_COUNT];
        const int32_t listed_count = mica_entity_components(f->world, entities[i], listed, COMPONENT_COUNT);
        sum = (sum + (uint64_t)listed_count) * UINT64_C(0x9e3779b97f4a7c15);
        for (int32_t j = 0; j < listed_count; j++) {
            const uint32_t component = (uint32_t)(listed[j] - f->ids[0]);
            int32_t number = 0;
            if (component < COMPONENT_COUNT && f->ids[component] == listed[j] && is_numbered(component)) {
                (void)read_number(f, entities[i], component, &number);
            }
            sum ^= (sum >> 29) + listed[j];
            sum = (sum + (uint32_t)number) * UINT64_C(0xbf58476d1ce4e5b9);
        }
    }
    return sum;
}

static bool is_twice(const fuzz_many *many) {
    for (int32_t i = 0; i < many->count; i++) {
        for (int32_t j = 0; j < i; j++) {
            if (mica_entity_equal(many->entities[i], many->entities[j])) {
                return true;
            }
        }
    }
    return false;
}

// A verb that has been refused gives a reason that can be seen, and has taken nothing.
static void check_refused(const fuzz *f, const fuzz_many *many, mica_result result) {
    bool is_one_dead = false;
    bool had_one = false;
    for (int32_t i = 0; i < many->count; i++) {
        is_one_dead |= !mica_entity_alive(f->world, many->entities[i]);
        had_one |= many->had[i];
        const Placed *value = many->component == SOLE ? value_at(many, i) : NULL;
        FUZZ_CHECK(value == NULL || value->self == value, "a value was taken although the verb was refused");
    }
    FUZZ_CHECK(result != MICA_STALE || is_one_dead, mica_last_error());
    FUZZ_CHECK(result != MICA_EXISTS || had_one || is_twice(many), mica_last_error());
    FUZZ_CHECK(result != MICA_NO_ACCESS || many->component == CHILD_OF, mica_last_error());
}

// Each has the component, as the one that is named last says.
static void check_given(fuzz *f, const fuzz_many *many) {
    for (int32_t i = 0; i < many->count; i++) {
        if (is_numbered(many->component)) {
            remember_written(f, many->entities[i], many->component,
                             many->values == NULL ? 0 : number_of(value_at(many, i)));
        }
        FUZZ_CHECK(f->is_reacted || mica_entity_has(f->world, many->entities[i], f->ids[many->component]), "");
        check_required(f, many->entities[i], many->component, !many->had[i]);
    }
}

// Verbs

static void give_many(fuzz *f, bool is_add) {
    const bool has_values = !is_add || pick(f, 4) != 0;
    fuzz_many many = begin_many(f, has_values);
    const mica_component id = f->ids[many.component];
    const uint64_t before = digest(f, many.entities, many.count);
    bool had_all = true;
    const mica_result result =
        check(f, is_add ? mica_entity_add_many(f->world, many.entities, many.count, id, many.values)
                        : mica_entity_set_many(f->world, many.entities, many.count, id, many.values));
    for (int32_t i = 0; i < many.count; i++) {
        FUZZ_CHECK(result != MICA_OK || !is_add || !many.had[i], "added what was there");
        had_all &= many.had[i];
    }
    if (result == MICA_OK) {
        FUZZ_CHECK(had_all || f->walk_count == 0, "rows moved during a walk");
        FUZZ_CHECK(!is_add || !is_twice(&many), "added twice");
        check_given(f, &many);
    } else {
        FUZZ_CHECK(f->is_reacted || digest(f, many.entities, many.count) == before, mica_last_error());
        check_refused(f, &many, result);
    }
    end_many(&many);
}

static void remove_many(fuzz *f) {
    fuzz_many many = begin_many(f, false);
    const uint64_t before = digest(f, many.entities, many.count);
    const mica_result result =
        check(f, mica_entity_remove_many(f->world, many.entities, many.count, f->ids[many.component]));
    for (int32_t i = 0; i < many.count && result == MICA_OK; i++) {
        FUZZ_CHECK(!many.had[i] || f->walk_count == 0, "rows moved during a walk");
        FUZZ_CHECK(f->is_reacted || !mica_entity_has(f->world, many.entities[i], f->ids[many.component]), "");
        forget_written(f, many.entities[i], many.component);
    }
    if (result != MICA_OK) {
        FUZZ_CHECK(f->is_reacted || digest(f, many.entities, many.count) == before, mica_last_error());
        check_refused(f, &many, result);
    }
    end_many(&many);
}

// Whether the bytes of values are their values.
static bool has_plain_values(const fuzz *f, uint32_t component) {
    const mica_component_info *info = mica_schema_info(mica_world_schema(f->world), f->ids[component]);
    return info->size > 0 && info->hooks.destruct == NULL && info->hooks.move == NULL && info->hooks.copy == NULL;
}

static void check_found(const fuzz_many *many, const bool *found, int32_t count) {
    int32_t had_count = 0;
    for (int32_t i = 0; i < many->count; i++) {
        had_count += many->had[i];
        FUZZ_CHECK(found == NULL || found[i] == many->had[i], "found one who is not there, or missed one who is");
    }
    FUZZ_CHECK(count == had_count, "");
}

static void gather(fuzz *f) {
    fuzz_many many = begin_many(f, false);
    const mica_component id = f->ids[many.component];
    const size_t alignment = mica_schema_info(mica_world_schema(f->world), id)->align;
    uint8_t *values = make_memory((size_t)many.count * many.size, alignment);
    bool *found = pick(f, 2) == 0 ? NULL : make_memory((size_t)many.count * sizeof(bool), 1);
    static const any_value zero;
    mica_error_clear();
    const int32_t count = mica_entity_gather(f->world, many.entities, many.count, id, values, found);
    check(f, count < 0 ? mica_last_result() : MICA_OK);
    FUZZ_CHECK((count >= 0) == has_plain_values(f, many.component), mica_last_error());
    if (count >= 0) {
        check_found(&many, found, count);
    }
    for (int32_t i = 0; i < many.count && count >= 0; i++) {
        any_value own = zero;
        FUZZ_CHECK(mica_entity_load(f->world, many.entities[i], id, &own) == many.had[i], mica_last_error());
        FUZZ_CHECK(memcmp(&own, values + (size_t)i * many.size, many.size) == 0, component_types[many.component]->name);
    }
    free(values);
    free(found);
    end_many(&many);
}

static void scatter(fuzz *f) {
    fuzz_many many = begin_many(f, true);
    bool *found = pick(f, 2) == 0 ? NULL : make_memory((size_t)many.count * sizeof(bool), 1);
    const int32_t count =
        mica_entity_scatter(f->world, many.entities, many.count, f->ids[many.component], many.values, found);
    check(f, count < 0 ? mica_last_result() : MICA_OK);
    FUZZ_CHECK((count >= 0) == (has_plain_values(f, many.component) && many.component != CHILD_OF), mica_last_error());
    if (count >= 0) {
        check_found(&many, found, count);
    }
    for (int32_t i = 0; i < many.count && count >= 0; i++) {
        if (many.had[i]) {
            note_written(f, many.entities[i], many.component);
            remember_written(f, many.entities[i], many.component, number_of(value_at(&many, i)));
        }
    }
    free(found);
    end_many(&many);
}

void do_many(fuzz *f) {
    switch (pick(f, 5)) {
    case 0:
        give_many(f, true);
        break;
    case 1:
        give_many(f, false);
        break;
    case 2:
        remove_many(f);
        break;
    case 3:
        gather(f);
        break;
    default:
        scatter(f);
    }
}

void record_many(fuzz *f, mica_commands *commands, uint32_t verb) {
    fuzz_many many = begin_many(f, verb != 2);
    const mica_component id = f->ids[many.component];
    const int32_t count_before = mica_commands_count(commands);
    const mica_result result =
        check(f, verb == 0   ? mica_commands_add_many(commands, many.entities, many.count, id, many.values)
                 : verb == 1 ? mica_commands_set_many(commands, many.entities, many.count, id, many.values)
                             : mica_commands_remove_many(commands, many.entities, many.count, id));
    FUZZ_CHECK(mica_commands_count(commands) == count_before + (result == MICA_OK ? many.count : 0), "");
    end_many(&many);
}

// Lanes

static void add_to_laned(void *value, void *user) {
    const uint32_t *component = user;
    check_value(*component, value);
    number_value(*component, value, number_of(value) + 1);
}

// Values are copied in and out, and have no address.
void do_lanes(fuzz *f) {
    uint32_t component = SPREAD + pick(f, 2);
    const mica_entity entity = pick_target(f);
    const mica_component id = f->ids[component];
    const bool has = mica_entity_has(f->world, entity, id);
    any_value value;
    if (pick(f, 2) == 0) {
        make_value(f, component, &value);
        const mica_result result = check(f, mica_entity_store(f->world, entity, id, &value));
        FUZZ_CHECK((result == MICA_OK) == has, mica_last_error());
        if (has) {
            note_written(f, entity, component);
            remember_written(f, entity, component, number_of(&value));
        }
    } else {
        int32_t number = 0;
        int32_t patched = 0;
        FUZZ_CHECK(read_number(f, entity, component, &number) == has, "");
        const mica_result result = check(f, mica_entity_patch(f->world, entity, id, add_to_laned, &component));
        FUZZ_CHECK(f->is_reacted || (result == MICA_OK) == has, mica_last_error());
        FUZZ_CHECK(f->is_reacted || !has || (read_number(f, entity, component, &patched) && patched == number + 1), "");
        forget_written(f, entity, component);
    }
}

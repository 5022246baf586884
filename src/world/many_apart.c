// Many entities one after the other: whatever their component asks for, its hooks, what comes along, and who is told.
//
// Nothing can fail once the first entity changes: values that hooks make, and those that are copied from places in the
// world, are made apart and moved in. Those that were made for nothing (an entity named twice is set once more, and
// brings nothing along) are destructed in the end.
#include "world/many.h"

#include "store/fetch.h"
#include "world/notice.h"

// Whether the caller's values lie where changes may move or overwrite them.
static bool lies_in_world(const mi_many *many) {
    const mi_store *store = &many->world->store;
    if (store->region != NULL && mi_region_holds(store->region, many->values)) {
        return true;
    }
    for (uint32_t i = 0; i < store->pool_list.count; i++) {
        if (mi_pool_position_of(store->pool_list.data[i], many->values) != MI_POSITION_NONE) {
            return true;
        }
    }
    return false;
}

// Whether values of the component itself are made apart.
static bool is_own_apart(const mi_many *many) {
    const mi_type *type = many->type;
    if (type->info.size == 0) {
        return false;
    }
    return many->values == NULL ? type->has_construct : type->has_copy || (!type->movable_only && lies_in_world(many));
}

// The type that comes along as number `i` if its values are made apart, else NULL.
static const mi_type *apart_required(const mi_many *many, int32_t i) {
    const mi_type *required = mi_schema_type(many->world->schema, many->type->info.required[i]);
    return required->has_construct ? required : NULL;
}

bool mi_many_finds_apart(mi_many *many) {
    many->is_own_apart = is_own_apart(many);
    many->makes_apart = many->is_own_apart;
    for (int32_t i = 0; many->absent_count > 0 && i < many->type->info.required_count; i++) {
        many->makes_apart = many->makes_apart || apart_required(many, i) != NULL;
    }
    return many->makes_apart;
}

static uint32_t location_of(const mi_many *many, mica_entity entity) {
    return mi_slots_location(&many->world->store.slots, mica_entity_index(entity));
}

// Makes the value of an entity, by its number, unless it will not be asked for.
static bool make_value(const mi_many *many, mi_many_values *apart, uint32_t number) {
    const mica_allocator *allocator = &many->world->store.values;
    void *place = apart->values + (size_t)number * apart->type->info.size;
    if (apart->type == many->type) {
        const void *value = mi_many_value(many, number);
        apart->is_made[number] = value == NULL ? mi_value_construct(apart->type, allocator, place, 1)
                                               : mi_value_copy(apart->type, allocator, place, value, 1);
        return apart->is_made[number];
    }
    const mica_entity entity = many->entities[number];
    const uint32_t location = location_of(many, entity);
    if (mi_many_has(many, entity, location) || mi_world_has(many->world, entity, location, apart->type->info.id)) {
        return true;
    }
    apart->is_made[number] = mi_value_construct(apart->type, allocator, place, 1);
    return apart->is_made[number];
}

// Makes the values of a type; what was made until one fails is ended by mi_many_end_apart.
static mica_result make_values(mi_many *many, const mi_type *type) {
    mica_world *world = many->world;
    mi_many_values *apart = &many->apart[many->apart_count];
    size_t byte_size = 0;
    if (!mi_size_product(many->count, type->info.size, &byte_size)) {
        return mi_fail_memory(&world->log, many->call, SIZE_MAX);
    }
    *apart = (mi_many_values){.type = type};
    apart->is_made = mi_heap_allocate_zeroed(&world->heap, MICA_MEMORY_VALUES, many->count, 1);
    if (apart->is_made == NULL) {
        return mi_fail_memory(&world->log, many->call, many->count);
    }
    many->apart_count++;
    apart->values = mi_heap_allocate(&world->heap, MICA_MEMORY_VALUES, byte_size, type->info.align);
    if (apart->values == NULL) {
        return mi_fail_memory(&world->log, many->call, byte_size);
    }
    for (uint32_t i = 0; i < many->count; i++) {
        if (!make_value(many, apart, i)) {
            return mi_world_fail_hook(world, many->call);
        }
    }
    return MICA_OK;
}

static size_t apart_bytes(const mi_many *many) {
    return (1u + (size_t)many->type->info.required_count) * sizeof(mi_many_values);
}

mica_result mi_many_make_apart(mi_many *many) {
    mica_world *world = many->world;
    if (!many->makes_apart) {
        return MICA_OK;
    }
    many->apart = mi_heap_allocate(&world->heap, MICA_MEMORY_VALUES, apart_bytes(many), _Alignof(mi_many_values));
    if (many->apart == NULL) {
        return mi_fail_memory(&world->log, many->call, apart_bytes(many));
    }
    mica_result result = many->is_own_apart ? make_values(many, many->type) : MICA_OK;
    for (int32_t i = 0; result == MICA_OK && i < many->type->info.required_count; i++) {
        const mi_type *required = apart_required(many, i);
        result = required != NULL ? make_values(many, required) : MICA_OK;
    }
    return result;
}

void mi_many_end_apart(mi_many *many) {
    mi_heap *heap = &many->world->heap;
    if (many->apart == NULL) {
        return;
    }
    for (uint32_t i = 0; i < many->apart_count; i++) {
        const mi_many_values *apart = &many->apart[i];
        const size_t size = apart->type->info.size;
        for (uint32_t k = 0; k < many->count; k++) {
            if (apart->is_made[k]) {
                mi_value_destruct(apart->type, &many->world->store.values, apart->values + k * size, 1);
            }
        }
        mi_heap_release(heap, MICA_MEMORY_VALUES, apart->values, many->count * size, apart->type->info.align);
        mi_heap_release(heap, MICA_MEMORY_VALUES, apart->is_made, many->count, 1);
    }
    mi_heap_release(heap, MICA_MEMORY_VALUES, many->apart, apart_bytes(many), _Alignof(mi_many_values));
    many->apart = NULL;
    many->apart_count = 0;
}

// The value of a type that was made for an entity, which is taken; NULL: none was.
static void *take_apart(const mi_many *many, const mi_type *type, uint32_t number) {
    for (uint32_t i = 0; i < many->apart_count; i++) {
        const mi_many_values *apart = &many->apart[i];
        if (apart->type == type && apart->is_made[number]) {
            apart->is_made[number] = false;
            return apart->values + (size_t)number * type->info.size;
        }
    }
    return NULL;
}

// Puts a change in its place in world->changes, which is reserved and ascending.
static void insert_change(mica_world *world, const mi_change *change) {
    uint32_t place = world->changes.count++;
    mi_change *changes = world->changes.data;
    while (place > 0 && changes[place - 1].component > change->component) {
        changes[place] = changes[place - 1];
        place--;
    }
    changes[place] = *change;
}

// Lists the pools that an entity comes into; memory for that is there.
static void list_elements(const mi_many *many, uint32_t number) {
    mica_world *world = many->world;
    world->elements.count = 0;
    if (many->pool != NULL) {
        world->elements.data[world->elements.count++] =
            (mi_element){.pool = many->pool, .change = MI_ELEMENT_ADD, .value = mi_many_value(many, number)};
    }
    if (many->type->brings_pool) {
        MICA_UNUSED const mica_result result =
            mi_world_bring_elements(world, many->type, many->entities[number], many->call);
        MI_ASSERT(result == MICA_OK);
    }
}

// Lists the values that an entity which leaves `from` gets in its new table.
static void list_changes(const mi_many *many, uint32_t number, const mi_table *from) {
    mica_world *world = many->world;
    world->changes.count = 0;
    for (int32_t i = -1; i < many->type->info.required_count; i++) {
        const mi_type *type = i < 0 ? many->type : mi_schema_type(world->schema, many->type->info.required[i]);
        if (type->in_pool || mi_table_has(from, type->info.id)) {
            continue;
        }
        const void *made = take_apart(many, type, number);
        const void *value = made == NULL && i < 0 ? mi_many_value(many, number) : made;
        if (value != NULL) {
            insert_change(world, &(mi_change){.component = type->info.id, .move = made != NULL, .value = value});
        }
    }
}

// Lets the elements that are listed move in what was made apart for them.
static void list_made_elements(const mi_many *many, uint32_t number) {
    for (uint32_t i = 0; i < many->world->elements.count; i++) {
        mi_element *element = &many->world->elements.data[i];
        const void *made = take_apart(many, element->pool->type, number);
        if (made != NULL) {
            element->move = true;
            element->value = made;
        }
    }
}

// Gives an entity the component, telling nobody.
static void add_quietly(const mi_many *many, uint32_t number, mi_table *from, mi_table *to) {
    mica_world *world = many->world;
    list_changes(many, number, from);
    list_made_elements(many, number);
    const mi_edit edit = {.to = to,
                          .changes = world->changes.data,
                          .change_count = world->changes.count,
                          .elements = world->elements.data,
                          .element_count = world->elements.count};
    MICA_UNUSED const mica_result result = mi_world_edit(world, many->entities[number], &edit, many->call);
    MI_ASSERT(result == MICA_OK);
}

// Brings the list back to what is told: that values were given, not that they were made apart.
static void list_given_elements(const mi_many *many, uint32_t number) {
    for (uint32_t i = 0; i < many->world->elements.count; i++) {
        mi_element *element = &many->world->elements.data[i];
        element->value = element->pool == many->pool ? mi_many_value(many, number) : NULL;
    }
}

// The same, telling whoever wants to know. They hear of values that were given, wherever the others were made.
static void add_and_tell(const mi_many *many, uint32_t number, mi_table *from, mi_table *to) {
    mica_world *world = many->world;
    const mica_entity entity = many->entities[number];
    const mi_change given = {.component = many->type->info.id, .value = mi_many_value(many, number)};
    mi_notice notice = mi_world_notice(world, entity, to, &given, many->pool == NULL && given.value != NULL);
    notice.elements = world->elements.data;
    notice.element_count = world->elements.count;
    mi_tell_before(world, &notice);
    world->signals.silent = entity;
    add_quietly(many, number, from, to);
    world->signals.silent = MICA_NULL;
    list_given_elements(many, number);
    mi_tell_after(world, &notice);
}

static void add_one(const mi_many *many, uint32_t number) {
    mica_world *world = many->world;
    const mica_entity entity = many->entities[number];
    mi_table *from = mi_store_table_at(&world->store, location_of(many, entity));
    mi_table *to = mi_store_table_with(&world->store, from, many->type->info.id);
    list_elements(many, number);
    if (mi_world_tells(world, entity)) {
        add_and_tell(many, number, from, to);
    } else {
        add_quietly(many, number, from, to);
    }
}

// Puts a value in place of the one that an entity has in a table.
static void replace_in_row(const mi_many *many, mica_entity entity, const void *value, bool is_made) {
    const mi_store *store = &many->world->store;
    const uint32_t location = location_of(many, entity);
    const mi_table *table = mi_store_table_at(store, location);
    const mica_component component = many->type->info.id;
    if (MICA_UNLIKELY(mi_type_in_lanes(many->type))) {
        mi_world_write_lanes(many->world, entity, location, component, value);
        return;
    }
    uint8_t *column = mi_table_column(table, mi_store_base(store, location), component);
    void *place = column + (size_t)mi_row_of(location) * many->type->info.size;
    mi_column_mark(column, store->version);
    MICA_UNUSED const bool is_replaced = mi_world_replace_value(many->world, many->type, place, value, is_made);
    MI_ASSERT(is_replaced);
}

static void replace_element(const mi_many *many, mica_entity entity, const void *value, bool is_made) {
    mi_pool *pool = many->pool;
    const uint32_t position = mi_pool_find(pool, entity);
    mi_pool_mark(pool, position, many->world->store.version);
    void *place = mi_pool_value(pool, position);
    MICA_UNUSED const bool is_replaced = mi_world_replace_value(many->world, many->type, place, value, is_made);
    MI_ASSERT(is_replaced);
}

// Replaces the value that an entity has.
static void replace_one(const mi_many *many, uint32_t number) {
    mica_world *world = many->world;
    const mica_entity entity = many->entities[number];
    const void *made = take_apart(many, many->type, number);
    const void *value = made != NULL ? made : mi_many_value(many, number);
    if (many->pool != NULL) {
        replace_element(many, entity, value, made != NULL);
    } else {
        replace_in_row(many, entity, value, made != NULL);
    }
    if (mi_world_hears_set(world, many->type->info.id)) {
        mi_tell_set(world, entity, many->type->info.id);
    }
}

static void remove_one(const mi_many *many, uint32_t number) {
    mica_world *world = many->world;
    const mica_entity entity = many->entities[number];
    if (many->pool != NULL) {
        mi_world_take_element(world, many->pool, entity);
        return;
    }
    mi_table *from = mi_store_table_at(&world->store, location_of(many, entity));
    mi_table *to = mi_store_table_without(&world->store, from, many->type->info.id);
    MICA_UNUSED const mica_result result = mi_world_change(world, entity, to, NULL, 0, many->call);
    MI_ASSERT(result == MICA_OK);
}

// Asks for what changing an entity begins with.
static void fetch_entity(const mi_many *many, mica_entity entity) {
    mi_fetch_slot(&many->world->store.slots, entity);
    if (many->pool != NULL) {
        mi_fetch_element(many->pool, entity);
    }
}

void mi_many_change(mi_many *many) {
    const bool fetches = mi_fetches(&many->world->store);
    for (uint32_t i = 0; i < many->count; i++) {
        if (fetches && i + MI_SLOTS_AHEAD < many->count) {
            fetch_entity(many, many->entities[i + MI_SLOTS_AHEAD]);
        }
        const bool is_there = mi_many_has(many, many->entities[i], location_of(many, many->entities[i]));
        if (is_there && many->verb == MI_MANY_REMOVE) {
            remove_one(many, i);
        } else if (is_there) {
            replace_one(many, i);
        } else if (many->verb != MI_MANY_REMOVE) {
            add_one(many, i);
        }
    }
}

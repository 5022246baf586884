// Making entities with components: one, many from columns, many filled in by a callback, and clones.
//
// The table is reached by following edges from the root, a component at a time, so that required components come along
// and the whole path is cached. Many at once open all their rows, make column by column what can fail, and publish
// nothing before all of it is made.
#include "world/world.h"

#include <string.h>

// Resolves the components of `values`, checks them, and leaves those with a value, ascending, in world->changes.
// Relations are left out: `relation_count` says how many there are. Returns the table, or NULL with the error set.
static mi_table *spawn_table(mica_world *world, const mica_value *values, int32_t count, uint32_t *relation_count,
                             const char *call) {
    mi_table *table = mi_store_root(&world->store);
    *relation_count = 0;
    if (count < 0 || (count > 0 && values == NULL)) {
        mi_fail_plain(&world->log, MICA_INVALID, call, "needs an array of values and how many they are");
        return NULL;
    }
    if (!MI_RESERVE(&world->heap, MICA_MEMORY_WORLD, &world->changes, (size_t)count)) {
        mi_fail_memory(&world->log, call, (size_t)count * sizeof(mi_change));
        return NULL;
    }
    world->changes.count = 0;
    for (int32_t i = 0; i < count; i++) {
        const mica_component component =
            values[i].type != NULL ? mica_world_component(world, values[i].type) : values[i].component;
        if (component == 0 && values[i].type != NULL) {
            return NULL; // the registration has said why
        }
        const mi_type *type = mi_world_type(world, component, call);
        if (type == NULL) {
            return NULL;
        }
        if (type->info.size == 0 && values[i].value != NULL) {
            mi_fail(&world->log, MICA_NO_VALUE, call, "{} is a tag", MI_TEXT(type->info.name));
            return NULL;
        }
        uint32_t place = world->changes.count++;
        mi_change *changes = world->changes.data;
        while (place > 0 && changes[place - 1].component > component) {
            changes[place] = changes[place - 1];
            place--;
        }
        changes[place] = (mi_change){.component = component, .value = values[i].value};
        if (place > 0 && changes[place - 1].component == component) {
            mi_fail(&world->log, MICA_EXISTS, call, "{} is named twice", MI_TEXT(type->info.name));
            return NULL;
        }
        if (type->info.hooks.attach != NULL) {
            ++*relation_count;
            if (mi_world_attach(world, type, call) != MICA_OK) {
                return NULL;
            }
            continue;
        }
        table = mi_store_table_with(&world->store, table, component);
        if (table == NULL) {
            mi_world_fail_store(world, call);
            return NULL;
        }
    }
    return table;
}

// Takes out of world->changes what has no value to give. Relations stand in `values` still.
static void keep_values(mica_world *world) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < world->changes.count; i++) {
        const mi_change change = world->changes.data[i];
        if (change.value != NULL && mi_schema_type(world->schema, change.component)->info.hooks.attach == NULL) {
            world->changes.data[kept++] = change;
        }
    }
    world->changes.count = kept;
}

static mica_component value_component(mica_world *world, const mica_value *value) {
    return value->type != NULL ? mica_world_component(world, value->type) : value->component;
}

// Links an entity by those of `values` that are relations, in their order.
static bool link_values(mica_world *world, mica_entity entity, const mica_value *values, int32_t count,
                        const char *call) {
    for (int32_t i = 0; i < count; i++) {
        const mi_relation *relation = mi_world_relation(world, value_component(world, &values[i]));
        if (relation != NULL && relation->link(world, entity, values[i].value, 0, call) != MICA_OK) {
            return false;
        }
    }
    return true;
}

// Brings a linked entity by what else `table` has.
static bool fill_linked(mica_world *world, mica_entity entity, const mi_table *table, const char *call) {
    mi_store *store = &world->store;
    mi_table *to = mi_store_table_at(store, mi_slots_location(&store->slots, mica_entity_index(entity)));
    for (uint32_t i = 0; i < table->component_count && to != NULL; i++) {
        to = mi_store_table_with(store, to, table->components[i]);
    }
    if (to == NULL) {
        mi_world_fail_store(world, call);
        return false;
    }
    return mi_world_change(world, entity, to, world->changes.data, world->changes.count, call) == MICA_OK;
}

// The entity is linked while it is empty: a link can be refused, and values that were moved in could not be given back.
static mica_entity spawn_linked(mica_world *world, const mi_table *table, const mica_value *values, int32_t count,
                                const char *call) {
    const mica_entity entity = mi_world_make(world, mi_store_root(&world->store), NULL, 0, call);
    if (mica_entity_is_null(entity) ||
        (link_values(world, entity, values, count, call) && fill_linked(world, entity, table, call))) {
        return entity;
    }
    mi_world_take_back(world, entity);
    return MICA_NULL;
}

// Spawning the same components again is the common case, so where it leads is remembered for a few sets of them.

static uint32_t plan_hash(uint32_t hash, mica_component component) {
    return hash * 31 + component;
}

static void remember_plan(mica_world *world, mi_table *table, const mica_value *values, int32_t count) {
    if (count < 1 || count > MI_SPAWN_VALUE_MAX || !table->is_plain || table->component_count != count) {
        return;
    }
    mi_spawn_plan plan = {.table = table, .tables_dropped = world->store.tables_dropped, .count = count};
    uint32_t hash = 0;
    for (int32_t i = 0; i < count; i++) {
        plan.components[i] = value_component(world, &values[i]);
        hash = plan_hash(hash, plan.components[i]);
    }
    world->spawn_plans[hash % MI_SPAWN_PLAN_COUNT] = plan;
}

// Spawns by a plan that is remembered, if there is one and nothing at all is out of the ordinary; null otherwise.
static inline mica_entity spawn_by_plan(mica_world *world, const mica_value *values, int32_t count) {
    mica_component components[MI_SPAWN_VALUE_MAX] = {0};
    uint32_t hash = 0;
    for (int32_t i = 0; i < count; i++) {
        components[i] = value_component(world, &values[i]);
        hash = plan_hash(hash, components[i]);
    }
    const mi_spawn_plan *plan = &world->spawn_plans[hash % MI_SPAWN_PLAN_COUNT];
    mi_store *store = &world->store;
    // The row is opened last: a value may lie in another table, whose chunk must not grow for nothing.
    if (plan->count != count || plan->tables_dropped != store->tables_dropped ||
        memcmp(plan->components, components, sizeof(components)) != 0 || !mi_slots_have_room(&store->slots) ||
        !mi_store_open_row(store, plan->table)) {
        return MICA_NULL;
    }
    mi_table *table = plan->table;
    const uint32_t place = mi_store_location(table, table->row_count);
    uint8_t *base = mi_store_base(store, place);
    for (int32_t i = 0; i < count; i++) {
        if (MICA_LIKELY(table->offset_of[components[i]] != MI_OFFSET_TAG)) {
            mi_store_place_plain(store, table, base, mi_row_of(place), components[i], values[i].value);
        } else if (values[i].value != NULL) {
            return MICA_NULL; // a value for a tag; the row was only open
        }
    }
    const mica_entity entity = mi_slots_take(&store->slots, place);
    mi_store_publish_at(store, table, entity, place);
    MI_STORE_SHAKE(store, table);
    return entity;
}

// Spawns anything, step by step.
MI_APART static mica_entity spawn_by_edges(mica_world *world, const mica_value *values, int32_t count) {
    static const char call[] = "mica_entity_spawn";
    uint32_t relation_count = 0;
    if (mi_world_check_structure(world, call) != MICA_OK) {
        return MICA_NULL;
    }
    mi_table *table = spawn_table(world, values, count, &relation_count, call);
    if (table == NULL) {
        return MICA_NULL;
    }
    keep_values(world);
    if (relation_count > 0) {
        return spawn_linked(world, table, values, count, call);
    }
    remember_plan(world, table, values, count);
    return mi_world_make(world, table, world->changes.data, world->changes.count, call);
}

mica_entity mica_entity_spawn(mica_world *world, const mica_value *values, int32_t count) {
    mica_entity entity = MICA_NULL;
    if (MICA_LIKELY(world != NULL && !mi_world_is_locked(world) && values != NULL && count > 0 &&
                    count <= MI_SPAWN_VALUE_MAX)) {
        entity = spawn_by_plan(world, values, count);
    }
    return MICA_LIKELY(!mica_entity_is_null(entity)) ? entity : spawn_by_edges(world, values, count);
}

// Many

// The new rows of one table, [first, first + count), and where their values come from.
typedef struct spawn_rows {
    mica_world *world;
    mi_table *table;
    const mi_change *changes; // `value` is an array of `count`
    uint32_t change_count;
    uint32_t first;
    uint32_t count;
} spawn_rows;

static const mi_change *batch_change(const spawn_rows *batch, mica_component component) {
    for (uint32_t i = 0; i < batch->change_count; i++) {
        if (batch->changes[i].component == component) {
            return &batch->changes[i];
        }
    }
    return NULL;
}

// The rows of the batch from number `done` on that lie in one chunk: how many, and the chunk's base and first row.
static uint32_t batch_run(const spawn_rows *batch, uint32_t done, uint8_t **base, uint32_t *row) {
    const uint32_t location = mi_store_location(batch->table, batch->first + done);
    const uint32_t capacity = 1u << batch->table->shift;
    *base = mi_store_base(&batch->world->store, location);
    *row = mi_row_of(location);
    const uint32_t room = capacity - *row;
    return room < batch->count - done ? room : batch->count - done;
}

static bool batch_column_fails(const mi_column *column, const mi_change *change) {
    return change == NULL ? column->type->info.hooks.construct != NULL : column->type->info.hooks.copy != NULL;
}

// Makes the values of a column in the first `limit` rows: those that can fail, or the others. Returns how many rows are
// made: fewer than `limit` if a hook failed.
static uint32_t batch_fill(const spawn_rows *batch, const mi_column *column, uint32_t limit) {
    const mi_change *change = batch_change(batch, column->type->info.id);
    const mica_allocator *values = &batch->world->store.values;
    const uint8_t *from = change == NULL ? NULL : mi_store_follow(&batch->world->store, change->value);
    for (uint32_t done = 0; done < limit;) {
        uint8_t *base = NULL;
        uint32_t row = 0;
        uint32_t run = batch_run(batch, done, &base, &row);
        run = run < limit - done ? run : limit - done;
        uint8_t *to = base + column->offset + (size_t)row * column->size;
        const bool made = change == NULL
                              ? mi_value_construct(column->type, values, to, run)
                              : mi_value_take(column->type, values, to, from + (size_t)done * column->size, run);
        if (!made) {
            return done;
        }
        mi_column_mark(base + column->offset, batch->world->store.version);
        done += run;
    }
    return limit;
}

static void batch_destruct(const spawn_rows *batch, const mi_column *column, uint32_t limit) {
    for (uint32_t done = 0; done < limit;) {
        uint8_t *base = NULL;
        uint32_t row = 0;
        uint32_t run = batch_run(batch, done, &base, &row);
        run = run < limit - done ? run : limit - done;
        mi_value_destruct(column->type, &batch->world->store.values, base + column->offset + (size_t)row * column->size,
                          run);
        done += run;
    }
}

// Makes all values or none.
static bool batch_make(const spawn_rows *batch) {
    const mi_table *table = batch->table;
    for (uint32_t i = 0; i < table->column_count; i++) {
        const mi_column *column = &table->columns[i];
        if (!batch_column_fails(column, batch_change(batch, column->type->info.id))) {
            continue;
        }
        const uint32_t made = batch_fill(batch, column, batch->count);
        if (made == batch->count) {
            continue;
        }
        batch_destruct(batch, column, made);
        while (i-- > 0) {
            if (batch_column_fails(&table->columns[i], batch_change(batch, table->columns[i].type->info.id))) {
                batch_destruct(batch, &table->columns[i], batch->count);
            }
        }
        return false;
    }
    for (uint32_t i = 0; i < table->column_count; i++) {
        const mi_column *column = &table->columns[i];
        if (!batch_column_fails(column, batch_change(batch, column->type->info.id))) {
            batch_fill(batch, column, batch->count);
        }
    }
    return true;
}

static void batch_publish(const spawn_rows *batch, mica_entity *entities) {
    mi_store *store = &batch->world->store;
    const bool has_rows = batch->table != mi_store_root(store);
    for (uint32_t done = 0; done < batch->count;) {
        uint8_t *base = NULL;
        uint32_t row = 0;
        const uint32_t run = has_rows ? batch_run(batch, done, &base, &row) : batch->count;
        const uint32_t location = has_rows ? mi_store_location(batch->table, batch->first + done) : 0;
        mica_entity *handles = has_rows ? (mica_entity *)(void *)base + row : entities;
        for (uint32_t i = 0; i < run; i++) {
            const mica_entity entity = mi_slots_take(&store->slots, has_rows ? location + i : 0);
            if (handles != NULL) {
                handles[i] = entity;
            }
        }
        if (has_rows) {
            mi_column_mark(base, store->version);
            if (entities != NULL) {
                memcpy(entities + done, handles, run * sizeof(*handles));
            }
        }
        done += run;
    }
    if (has_rows) {
        batch->table->row_count += batch->count;
    }
}

// Checks, makes and publishes a batch from columns.
static mica_result spawn_batch(mica_world *world, const mica_column *columns, int32_t column_count, int32_t count,
                               mica_entity *entities, spawn_rows *batch, const char *call) {
    mica_result result = mi_world_check_structure(world, call);
    if (result != MICA_OK) {
        return result;
    }
    if (count < 0) {
        return mi_fail(&world->log, MICA_INVALID, call, "cannot make {} entities", MI_INT(count));
    }
    uint32_t relation_count = 0;
    mi_table *table = spawn_table(world, columns, column_count, &relation_count, call);
    if (table == NULL) {
        return mica_last_result();
    }
    if (relation_count > 0) {
        return mi_fail_plain(&world->log, MICA_UNSUPPORTED, call,
                             "relations are linked afterwards, many at once by their own verb");
    }
    keep_values(world);
    result = mi_slots_reserve(&world->store.slots, &world->heap, (uint32_t)count);
    if (result != MICA_OK) {
        return mi_fail(&world->log, result, call, "no room for {} more entities", MI_INT(count));
    }
    if (table != mi_store_root(&world->store) && !mi_store_open_rows(&world->store, table, (uint32_t)count)) {
        return mi_world_fail_store(world, call);
    }
    batch->world = world;
    batch->table = table;
    batch->changes = world->changes.data;
    batch->change_count = world->changes.count;
    batch->first = table->row_count;
    batch->count = (uint32_t)count;
    if (!batch_make(batch)) {
        mi_store_close_rows(&world->store, table);
        return mi_fail_plain(&world->log, MICA_OUT_OF_MEMORY, call,
                             "a construct or copy hook could not make its values");
    }
    batch_publish(batch, entities);
    return MICA_OK;
}

mica_result mica_entity_spawn_many(mica_world *world, const mica_column *columns, int32_t column_count, int32_t count,
                                   mica_entity *entities) {
    spawn_rows batch = {0};
    const mica_result result =
        spawn_batch(world, columns, column_count, count, entities, &batch, "mica_entity_spawn_many");
    if (result == MICA_OK) {
        MI_STORE_SHAKE(&world->store, batch.table);
    }
    return result;
}

// Hands the new rows out, span by span. `columns` has room for a pointer a component.
static void fill_spans(const spawn_rows *batch, const mica_component *components, int32_t component_count,
                       void **columns, mica_spawn_function fill, void *user) {
    for (uint32_t done = 0; done < batch->count;) {
        uint8_t *base = NULL;
        uint32_t row = 0;
        const uint32_t run = batch_run(batch, done, &base, &row);
        for (int32_t i = 0; i < component_count; i++) {
            const mi_type *type = mi_schema_type(batch->world->schema, components[i]);
            columns[i] = type->info.size == 0
                             ? NULL
                             : mi_table_column(batch->table, base, components[i]) + (size_t)row * type->info.size;
        }
        const mica_spawn_span span = {.first = (int32_t)done,
                                      .count = (int32_t)run,
                                      .entities = (const mica_entity *)(const void *)base + row,
                                      .columns = columns};
        fill(user, &span);
        done += run;
    }
}

mica_result mica_entity_spawn_fill(mica_world *world, const mica_component *components, int32_t component_count,
                                   int32_t count, mica_spawn_function fill, void *user) {
    static const char call[] = "mica_entity_spawn_fill";
    mica_result result = mi_world_check_structure(world, call);
    if (result != MICA_OK) {
        return result;
    }
    if (fill == NULL || component_count <= 0 || components == NULL) {
        return mi_fail_plain(&world->log, MICA_INVALID, call, "needs components and a function that fills them in");
    }
    const size_t each = sizeof(mica_column) > sizeof(void *) ? sizeof(mica_column) : sizeof(void *);
    const size_t size = (size_t)component_count * each;
    void *memory = mi_heap_allocate_zeroed(&world->heap, MICA_MEMORY_WORLD, size, _Alignof(max_align_t));
    if (memory == NULL) {
        return mi_fail_memory(&world->log, call, size);
    }
    mica_column *asked = memory;
    for (int32_t i = 0; i < component_count; i++) {
        asked[i].component = components[i];
    }
    spawn_rows batch = {0};
    result = spawn_batch(world, asked, component_count, count, NULL, &batch, call);
    if (result == MICA_OK) {
        world->callback_call = call; // the callback must not move the rows that it is given
        fill_spans(&batch, components, component_count, memory, fill, user);
        world->callback_call = NULL;
        MI_STORE_SHAKE(&world->store, batch.table);
    }
    mi_heap_release(&world->heap, MICA_MEMORY_WORLD, memory, size, _Alignof(max_align_t));
    return result;
}

// Clones

// The table of a clone: the source's, without relations.
static mi_table *clone_table(mica_world *world, mi_table *table) {
    for (uint32_t i = 0; i < world->relations.count && table != NULL; i++) {
        table = mi_store_table_without(&world->store, table, world->relations.data[i].component);
    }
    return table;
}

mica_entity mi_world_clone(mica_world *world, mica_entity source, const char *call) {
    mi_store *store = &world->store;
    uint32_t location = 0;
    if (mi_world_resolve(world, source, &location, call) != MICA_OK) {
        return MICA_NULL;
    }
    mi_table *from = mi_store_table_at(store, location);
    for (uint32_t i = 0; i < from->column_count; i++) {
        if (from->columns[i].type->movable_only) {
            mi_fail(&world->log, MICA_NO_COPY, call, "{} has {}, which has no copy hook", MI_ENTITY(source),
                    MI_TEXT(from->columns[i].type->info.name));
            return MICA_NULL;
        }
    }
    mi_table *to = clone_table(world, from);
    if (to == NULL || (to != mi_store_root(store) && !mi_store_open_rows(store, to, 1))) {
        mi_world_fail_store(world, call);
        return MICA_NULL;
    }
    if (!MI_RESERVE(&world->heap, MICA_MEMORY_WORLD, &world->changes, to->column_count)) {
        mi_fail_memory(&world->log, call, to->column_count * sizeof(mi_change));
        return MICA_NULL;
    }
    // The rows are open, so nothing moves any more: values may be pointed to.
    for (uint32_t i = 0; i < to->column_count; i++) {
        const mi_type *type = to->columns[i].type;
        world->changes.data[i] = (mi_change){
            .component = type->info.id, .value = mi_store_value(store, from, location, type->info.id, type->info.size)};
    }
    world->changes.count = to->column_count;
    const mica_entity clone = mi_world_make(world, to, world->changes.data, world->changes.count, call);
    for (uint32_t i = 0; i < world->relations.count && !mica_entity_is_null(clone); i++) {
        const mi_relation *relation = &world->relations.data[i];
        const void *value =
            mi_table_has(from, relation->component) ? mica_entity_get(world, source, relation->component) : NULL;
        if (value != NULL && relation->link(world, clone, value, 0, call) != MICA_OK) {
            mi_world_take_back(world, clone);
            return MICA_NULL;
        }
    }
    return clone;
}

mica_entity mica_entity_clone(mica_world *world, mica_entity source) {
    static const char call[] = "mica_entity_clone";
    return mi_world_check_structure(world, call) == MICA_OK ? mi_world_clone(world, source, call) : MICA_NULL;
}

// Making entities with components: one, many from columns, many filled in by a callback, and clones.
//
// The table is reached by following edges from the root, a component at a time, so that required components come along
// and the whole path is cached; pools are listed beside. Many at once open all their rows and elements, make column by
// column what can fail, and publish nothing before all of it is made.
#include "world/notice.h"

#include "store/moves.h"
#include "store/visibility.h"

#include <mica/spawner.h>

#include <string.h>

// What is spawned: the values for the table stand in world->changes, the elements in world->elements.
typedef struct spawn_target {
    mi_table *table;
    uint32_t relation_count; // they are linked by the caller
} spawn_target;

static bool reserve_scratch(mica_world *world, size_t change_count, size_t element_count, const char *call) {
    if (!MI_RESERVE(&world->heap, MICA_MEMORY_WORLD, &world->changes, change_count) ||
        (element_count > 0 && !MI_RESERVE(&world->heap, MICA_MEMORY_WORLD, &world->elements, element_count))) {
        mi_fail_memory(&world->log, call, change_count * sizeof(mi_change) + element_count * sizeof(mi_element));
        return false;
    }
    world->changes.count = 0;
    world->elements.count = 0;
    return true;
}

// Puts a value in its place in world->changes, which is reserved and ascending; false: the component is there already.
static bool insert_value(mica_world *world, mica_component component, const void *value) {
    uint32_t place = world->changes.count++;
    mi_change *changes = world->changes.data;
    while (place > 0 && changes[place - 1].component > component) {
        changes[place] = changes[place - 1];
        place--;
    }
    changes[place] = (mi_change){.component = component, .value = value};
    return place == 0 || changes[place - 1].component != component;
}

// Resolves and checks the component of a value, makes it known, and puts it into world->changes; NULL with the error
// set.
static const mi_type *list_value(mica_world *world, const mica_value *value, const char *call) {
    const mica_component component = value->type != NULL ? mica_world_component(world, value->type) : value->component;
    if (component == 0 && value->type != NULL) {
        return NULL; // the registration has said why
    }
    const mi_type *type = mi_world_type(world, component, call);
    if (type == NULL) {
        return NULL;
    }
    if (type->info.size == 0 && value->value != NULL) {
        mi_fail(&world->log, MICA_NO_VALUE, call, "{} is a tag", MI_TEXT(type->info.name));
        return NULL;
    }
    if (value->byte_size != 0 && value->byte_size != type->info.size) {
        mi_fail(&world->log, MICA_INVALID, call, "{} has {} bytes, the value is said to have {}",
                MI_TEXT(type->info.name), MI_UINT(type->info.size), MI_UINT(value->byte_size));
        return NULL;
    }
    if (!insert_value(world, component, value->value)) {
        mi_fail(&world->log, MICA_EXISTS, call, "{} is named twice", MI_TEXT(type->info.name));
        return NULL;
    }
    return mi_world_attach(world, type, call) == MICA_OK ? type : NULL;
}

// Lists the pools that come along with the components in world->changes.
static bool bring_elements(mica_world *world, const char *call) {
    for (uint32_t i = 0; i < world->changes.count; i++) {
        const mi_type *type = mi_schema_type(world->schema, world->changes.data[i].component);
        if (type->brings_pool && mi_world_bring_elements(world, type, MICA_NULL, call) != MICA_OK) {
            return false;
        }
    }
    return true;
}

// Takes out of world->changes what has no value to give to the table. Relations stand in the caller's values still.
static void keep_values(mica_world *world) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < world->changes.count; i++) {
        const mi_change change = world->changes.data[i];
        const mi_type *type = mi_schema_type(world->schema, change.component);
        if (change.value != NULL && type->info.hooks.attach == NULL && !type->in_pool) {
            world->changes.data[kept++] = change;
        }
    }
    world->changes.count = kept;
}

// Resolves the components of `values`, checks them and says what is to be made; false with the error set.
static bool find_spawn(mica_world *world, const mica_value *values, int32_t count, spawn_target *target,
                       const char *call) {
    *target = (spawn_target){.table = mi_store_root(&world->store)};
    if (count < 0 || (count > 0 && values == NULL)) {
        mi_fail_plain(&world->log, MICA_INVALID, call, "needs an array of values and how many they are");
        return false;
    }
    if (!reserve_scratch(world, (size_t)count, (size_t)count, call)) {
        return false;
    }
    bool brings_pool = false;
    for (int32_t i = 0; i < count; i++) {
        const mi_type *type = list_value(world, &values[i], call);
        if (type == NULL) {
            return false;
        }
        if (type->info.hooks.attach != NULL) {
            target->relation_count++;
            continue;
        }
        if (type->in_pool) {
            mi_pool *pool = mi_world_pool(world, type, call);
            if (pool == NULL) {
                return false;
            }
            world->elements.data[world->elements.count++] =
                (mi_element){.pool = pool, .change = MI_ELEMENT_ADD, .value = values[i].value};
        }
        brings_pool = brings_pool || type->brings_pool;
        target->table = mi_store_table_with(&world->store, target->table, type->info.id);
        if (target->table == NULL) {
            mi_world_fail_store(world, call);
            return false;
        }
    }
    if (brings_pool && !bring_elements(world, call)) {
        return false;
    }
    keep_values(world);
    return true;
}

// What is listed, with `table`.
static mi_edit listed_edit(mica_world *world, mi_table *table) {
    return (mi_edit){.to = table,
                     .changes = world->changes.data,
                     .change_count = world->changes.count,
                     .elements = world->elements.data,
                     .element_count = world->elements.count};
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
    const mi_edit edit = listed_edit(world, to);
    return mi_world_edit(world, entity, &edit, call) == MICA_OK;
}

// The entity is linked while it is empty: a link can be refused, and values that were moved in could not be given back.
static mica_entity spawn_linked(mica_world *world, const mi_table *table, const mica_value *values, int32_t count,
                                const char *call) {
    mi_world_hold_made(world);
    const mica_entity entity = mi_world_make(world, mi_store_root(&world->store), NULL, 0, call);
    if (!mica_entity_is_null(entity) &&
        !(link_values(world, entity, values, count, call) && fill_linked(world, entity, table, call))) {
        mi_world_take_back(world, entity);
        mi_world_release_made(world, MICA_NULL, NULL, 0);
        return MICA_NULL;
    }
    mi_world_release_made(world, entity, values, (uint32_t)count);
    return entity;
}

// Spawning the same components again is the common case, so where it leads is remembered for a few sets of them.

// What stands for the component of a value in plans: its descriptor's cache, or what that would say; 0 with the error
// set.
static uint64_t value_word(mica_world *world, const mica_value *value) {
    const mica_component component = value_component(world, value);
    const mi_type *type = component == 0 ? NULL : mi_schema_type(world->schema, component);
    return type == NULL ? 0 : world->store.key | (type->in_pool ? MICA_HEAD_POOL_BIT : 0) | component;
}

// Where the plan of these words is, or would be.
static struct mica_spawn_plan *plan_of(mica_world *world, const uint64_t *words, int32_t count) {
    uint32_t hash = 0;
    for (int32_t i = 0; i < count; i++) {
        hash = mica_spawn_hash(hash, words[i]);
    }
    return &world->front.spawn_plans[hash >> (32 - MICA_SPAWN_PLAN_SHIFT)];
}

// Whether the listed elements are of types without hooks.
static bool has_plain_elements(const mica_world *world) {
    for (uint32_t i = 0; i < world->elements.count; i++) {
        const mi_type *type = world->elements.data[i].pool->type;
        if (mi_type_has_hooks(type)) {
            return false;
        }
    }
    return true;
}

// Writes down where spawning these components, which find_spawn has listed, leads; false if by no plan.
static bool make_plan(mica_world *world, mi_table *table, const mica_value *values, int32_t count,
                      struct mica_spawn_plan *plan) {
    const uint32_t made_count = table->component_count + world->elements.count; // more if something comes along
    if (count < 1 || count > MICA_SPAWN_VALUE_MAX || made_count != (uint32_t)count || !table->is_plain ||
        !has_plain_elements(world)) {
        return false;
    }
    *plan = (struct mica_spawn_plan){.table = (struct mica_head_table *)(void *)table,
                                     .tables_dropped = world->store.tables_dropped,
                                     .count = (uint32_t)count};
    mica_value sized[MICA_SPAWN_VALUE_MAX] = {{.type = NULL}};
    for (int32_t i = 0; i < count; i++) {
        plan->words[i] = value_word(world, &values[i]);
        plan->sizes[i] = mi_schema_type(world->schema, (mica_component)plan->words[i])->info.size;
        sized[i].byte_size = plan->sizes[i];
    }
    plan->shape = world->elements.count > 0 || MI_MOVES_ALWAYS ? 0 : mica_spawn_shape(sized, count);
    return true;
}

static void remember_plan(mica_world *world, mi_table *table, const mica_value *values, int32_t count) {
    struct mica_spawn_plan plan;
    if (make_plan(world, table, values, count, &plan)) {
        *plan_of(world, plan.words, count) = plan;
    }
}

static mica_component plan_component(const struct mica_spawn_plan *plan, uint32_t number) {
    return (mica_component)plan->words[number];
}

static mi_table *plan_table(const struct mica_spawn_plan *plan) {
    return (mi_table *)(void *)plan->table;
}

// Finds the pools of a plan; false: one has no room for the next entity.
static bool find_plan_pools(const mica_world *world, const struct mica_spawn_plan *plan, mi_pool **pools) {
    const mi_store *store = &world->store;
    const uint32_t index = mi_slots_next(&store->slots);
    for (uint32_t i = 0; i < plan->count; i++) {
        pools[i] = mi_store_find_pool(store, plan_component(plan, i));
        if (pools[i] != NULL && !mi_store_is_open(store, pools[i], index)) {
            return false;
        }
    }
    return true;
}

// Spawns by a plan that fits. Null: there is no room yet. The row is opened last: a value may lie in another table,
// whose chunk must not grow for nothing. No value of a pool moves meanwhile; those of a chunk that grows can be read
// where they were.
static mica_entity spawn_by(mica_world *world, const struct mica_spawn_plan *plan, const mica_value *values) {
    mi_store *store = &world->store;
    mi_table *table = plan_table(plan);
    const bool has_row = table != mi_store_root(store);
    const bool has_pools = table->component_count != plan->count;
    mi_pool *pools[MICA_SPAWN_VALUE_MAX] = {NULL};
    if (!mi_slots_have_room(&store->slots) || !find_plan_pools(world, plan, pools) ||
        (has_row && !mi_store_open_row(store, table))) {
        return MICA_NULL;
    }
    if (has_row) {
        mi_store_find_tail(store, table, table->row_count); // what follows is spawned in line
    }
    const uint32_t place = has_row ? table->tail_location | (table->row_count - table->tail_first) : 0;
    for (uint32_t i = 0; i < plan->count; i++) {
        if (plan->sizes[i] == 0) {
            continue;
        }
        if (pools[i] == NULL) {
            mi_store_place_plain(store, table, mi_store_base(store, place), mi_row_of(place), plan_component(plan, i),
                                 values[i].value);
        } else {
            mi_value_make(pools[i]->type, &store->values, mi_pool_value(pools[i], mi_pool_next(pools[i])),
                          values[i].value);
        }
    }
    const mica_entity entity = mi_slots_take(&store->slots, place);
    if (has_row) {
        mi_store_publish_at(store, table, entity, place);
    }
    for (uint32_t i = 0; i < plan->count && has_pools; i++) {
        if (pools[i] != NULL) {
            mi_store_put_element(store, pools[i], entity);
        }
    }
    for (uint32_t i = 0; i < plan->count && has_pools; i++) {
        if (pools[i] != NULL) {
            mi_store_settle_groups(store, pools[i], entity);
        }
    }
    MI_STORE_SHAKE(store, table);
    return entity;
}

// Whether values can be spawned by a plan: no tag has a value, and sizes that are given are right.
static bool values_fit(const struct mica_spawn_plan *plan, const mica_value *values) {
    for (uint32_t i = 0; i < plan->count; i++) {
        if ((plan->sizes[i] == 0 && values[i].value != NULL) ||
            (values[i].byte_size != 0 && values[i].byte_size != plan->sizes[i])) {
            return false;
        }
    }
    return true;
}

// Spawns by a plan that is remembered, if there is one and nothing at all is out of the ordinary; null otherwise.
static mica_entity spawn_by_plan(mica_world *world, const mica_value *values, int32_t count) {
    uint64_t words[MICA_SPAWN_VALUE_MAX] = {0};
    for (int32_t i = 0; i < count; i++) {
        words[i] = value_word(world, &values[i]);
    }
    const struct mica_spawn_plan *plan = plan_of(world, words, count);
    if (plan->count != (uint32_t)count || plan->tables_dropped != world->store.tables_dropped ||
        memcmp(plan->words, words, sizeof(words)) != 0 || !values_fit(plan, values)) {
        return MICA_NULL;
    }
    return spawn_by(world, plan, values);
}

// Spawns anything, step by step.
static mica_entity spawn_by_edges(mica_world *world, const mica_value *values, int32_t count) {
    static const char call[] = "mica_entity_spawn";
    spawn_target target;
    if (mi_world_check_structure(world, call) != MICA_OK || !find_spawn(world, values, count, &target, call)) {
        return MICA_NULL;
    }
    if (target.relation_count > 0) {
        return spawn_linked(world, target.table, values, count, call);
    }
    remember_plan(world, target.table, values, count);
    const mi_edit edit = listed_edit(world, target.table);
    return mi_world_make_edited(world, &edit, call);
}

// Spawns anything, and lets what observers record follow.
MI_APART static mica_entity spawn_slowly(mica_world *world, const mica_value *values, int32_t count) {
    const mica_entity entity = spawn_by_edges(world, values, count);
    if (world != NULL) {
        mi_world_finish(world, "mica_entity_spawn");
    }
    return entity;
}

// Tells of an entity that was spawned by a plan.
MI_APART static mica_entity tell_spawned(mica_world *world, mica_entity entity, const mica_value *values,
                                         int32_t count) {
    const mi_store *store = &world->store;
    const mi_table *table = mi_store_table_at(store, mi_slots_location(&store->slots, mica_entity_index(entity)));
    if (store->pool_list.count > 0 || mi_signals_hear_made(&world->signals, table)) {
        const mi_notice notice = {.entity = entity, .to = table, .given = values, .given_count = (uint32_t)count};
        mi_tell_after(world, &notice);
        mi_world_finish(world, "mica_entity_spawn");
    }
    return entity;
}

mica_entity mica_entity_spawn(mica_world *world, const mica_value *values, int32_t count) {
    mica_entity entity = MICA_NULL;
    if (MICA_LIKELY(world != NULL && !mi_world_is_locked(world) && values != NULL && count > 0 &&
                    count <= MICA_SPAWN_VALUE_MAX)) {
        entity = spawn_by_plan(world, values, count);
    }
    if (MICA_UNLIKELY(mica_entity_is_null(entity))) {
        return spawn_slowly(world, values, count);
    }
    return MICA_UNLIKELY(world->front.is_watched) ? tell_spawned(world, entity, values, count) : entity;
}

// Spawners

mica_spawner mica_spawner_make(mica_world *world, mica_type *const *types, int32_t count) {
    static const char call[] = "mica_spawner_make";
    mica_spawner spawner = {.world = NULL};
    if (world == NULL || types == NULL || count < 1 || count > MICA_SPAWN_VALUE_MAX) {
        mi_fail_plain(world == NULL ? NULL : &world->log, MICA_INVALID, call, "needs a world and one to eight types");
        return spawner;
    }
    mica_value values[MICA_SPAWN_VALUE_MAX] = {{.type = NULL}};
    for (int32_t i = 0; i < count; i++) {
        values[i] = (mica_value){.type = types[i]};
        spawner.types[i] = types[i];
    }
    spawn_target target;
    // What is listed on the way is in use while observers are told.
    if (mi_world_check_structure(world, call) == MICA_OK && find_spawn(world, values, count, &target, call)) {
        spawner.world = world;
        spawner.count = count;
        spawner.plan.tables_dropped = world->store.tables_dropped; // also of what is spawned by no plan
        if (target.relation_count == 0) {
            make_plan(world, target.table, values, count, &spawner.plan);
        }
    }
    return spawner;
}

mica_entity mica_spawner_spawn_apart(mica_spawner *spawner, const mica_value *values, int32_t count) {
    static const char call[] = "mica_spawner_spawn";
    if (spawner == NULL) {
        mi_fail_plain(NULL, MICA_INVALID, call, "needs a spawner");
        return MICA_NULL;
    }
    mica_world *world = spawner->world;
    if (world == NULL || values == NULL || count != spawner->count) {
        mi_fail(world == NULL ? NULL : &world->log, MICA_INVALID, call, "the spawner takes {} values, not {}",
                MI_INT(spawner->count), MI_INT(count));
        return MICA_NULL;
    }
    for (int32_t i = 0; i < count; i++) {
        if (values[i].type != spawner->types[i]) {
            mi_fail(&world->log, MICA_INVALID, call, "value {} is of {}, where the spawner has {}", MI_INT(i),
                    MI_TEXT(values[i].type == NULL ? "no type" : values[i].type->name),
                    MI_TEXT(spawner->types[i]->name));
            return MICA_NULL;
        }
    }
    const mica_entity entity = mica_entity_spawn(world, values, count);
    if (!mica_entity_is_null(entity) && spawner->plan.tables_dropped != world->store.tables_dropped) {
        const mica_spawner anew = mica_spawner_make(world, spawner->types, count);
        spawner->plan = anew.plan;
    }
    return entity;
}

// Many

// What many are made of: the rows of one table, [first, first + count), and in each pool of world->elements the
// positions behind its last one. Values come from arrays of `count`, as world->changes and world->elements say.
typedef struct spawn_batch {
    mica_world *world;
    mi_table *table;
    uint32_t first;
    uint32_t count;
    mica_entity *handles; // that the entities will have; NULL if there are no elements
} spawn_batch;

// A column of the batch: of its table, or of a pool.
typedef struct batch_column {
    const mi_type *type;
    const void *values;      // NULL: constructed
    const mi_column *column; // NULL: of a pool
    const mi_pool *pool;
} batch_column;

static uint32_t batch_column_count(const spawn_batch *batch) {
    return batch->table->column_count + batch->world->elements.count;
}

static batch_column batch_column_at(const spawn_batch *batch, uint32_t number) {
    const mica_world *world = batch->world;
    if (number >= batch->table->column_count) {
        const mi_element *element = &world->elements.data[number - batch->table->column_count];
        return (batch_column){.type = element->pool->type,
                              .values = mi_store_follow(&world->store, element->value),
                              .pool = element->pool};
    }
    const mi_column *column = &batch->table->columns[number];
    const void *values = NULL;
    for (uint32_t i = 0; i < world->changes.count && values == NULL; i++) {
        values = world->changes.data[i].component == column->type->info.id ? world->changes.data[i].value : NULL;
    }
    return (batch_column){.type = column->type, .values = mi_store_follow(&world->store, values), .column = column};
}

// The rows of the batch from number `done` on that lie in one chunk: how many, and the chunk's base and first row.
static uint32_t batch_run(const spawn_batch *batch, uint32_t done, uint8_t **base, uint32_t *row) {
    const uint32_t location = mi_store_location(batch->table, batch->first + done);
    const uint32_t full = mi_table_full_room(batch->table); // all rows of the batch are open
    *base = mi_store_base(&batch->world->store, location);
    *row = mi_row_of(location);
    const uint32_t room = full - *row;
    return room < batch->count - done ? room : batch->count - done;
}

// The values of a column from number `done` on that follow each other: how many, and the first one. The column of a
// table is stamped.
static uint32_t batch_values(const spawn_batch *batch, const batch_column *column, uint32_t done, uint8_t **values) {
    if (column->column == NULL) {
        const uint32_t position = column->pool->count + done;
        const uint32_t page_size = 1u << column->pool->page_shift;
        const uint32_t room = page_size - (position & (page_size - 1));
        *values = mi_pool_value(column->pool, position);
        return room < batch->count - done ? room : batch->count - done;
    }
    uint8_t *base = NULL;
    uint32_t row = 0;
    const uint32_t run = batch_run(batch, done, &base, &row);
    *values = base + column->column->offset + (size_t)row * column->column->size;
    mi_column_mark(base + column->column->offset, batch->world->store.version);
    return run;
}

static bool batch_column_fails(const batch_column *column) {
    return column->values == NULL ? column->type->has_construct : column->type->has_copy;
}

// Makes all values of a column in lanes.
static void batch_fill_lanes(const spawn_batch *batch, const batch_column *column) {
    const size_t size = column->type->info.size;
    for (uint32_t done = 0; done < batch->count;) {
        uint8_t *base = NULL;
        uint32_t row = 0;
        const uint32_t run = batch_run(batch, done, &base, &row);
        uint8_t *start = base + column->column->offset;
        mi_lanes_write(column->type, batch->table->chunk_room, start, row,
                       column->values == NULL ? NULL : (const uint8_t *)column->values + done * size, run);
        mi_column_mark(start, batch->world->store.version);
        done += run;
    }
}

// Makes all values of a column. Returns how many are made: fewer than the batch has if a hook failed.
static uint32_t batch_fill(const spawn_batch *batch, const batch_column *column) {
    if (MICA_UNLIKELY(column->column != NULL && mi_type_in_lanes(column->type))) {
        batch_fill_lanes(batch, column);
        return batch->count;
    }
    const mica_allocator *values = &batch->world->store.values;
    const size_t size = column->type->info.size;
    for (uint32_t done = 0; size > 0 && done < batch->count;) {
        uint8_t *to = NULL;
        const uint32_t run = batch_values(batch, column, done, &to);
        const bool made = column->values == NULL ? mi_value_construct(column->type, values, to, run)
                                                 : mi_value_take(column->type, values, to,
                                                                 (const uint8_t *)column->values + done * size, run);
        if (!made) {
            return done;
        }
        done += run;
    }
    return batch->count;
}

static void batch_destruct(const spawn_batch *batch, const batch_column *column, uint32_t limit) {
    for (uint32_t done = 0; done < limit;) {
        uint8_t *values = NULL;
        uint32_t run = batch_values(batch, column, done, &values);
        run = run < limit - done ? run : limit - done;
        mi_value_destruct(column->type, &batch->world->store.values, values, run);
        done += run;
    }
}

// Makes all values or none: first those that can fail.
static bool batch_make(const spawn_batch *batch) {
    const uint32_t column_count = batch_column_count(batch);
    for (uint32_t i = 0; i < column_count; i++) {
        batch_column column = batch_column_at(batch, i);
        if (!batch_column_fails(&column)) {
            continue;
        }
        const uint32_t made = batch_fill(batch, &column);
        if (made == batch->count) {
            continue;
        }
        batch_destruct(batch, &column, made);
        while (i-- > 0) {
            column = batch_column_at(batch, i);
            if (batch_column_fails(&column)) {
                batch_destruct(batch, &column, batch->count);
            }
        }
        return false;
    }
    for (uint32_t i = 0; i < column_count; i++) {
        const batch_column column = batch_column_at(batch, i);
        if (!batch_column_fails(&column)) {
            batch_fill(batch, &column);
        }
    }
    return true;
}

_Static_assert(MI_MASKS_SHIFT == MI_SPARSE_SHIFT, "an entity's mask is in the page of the same number");

// Opens a pool and the masks for the entities of the batch, page by page.
static bool open_pages(const spawn_batch *batch, mi_pool *pool) {
    mi_store *store = &batch->world->store;
    uint32_t open_page = UINT32_MAX;
    for (uint32_t i = 0; i < batch->count; i++) {
        const uint32_t index = mica_entity_index(batch->handles[i]);
        if (index >> MI_SPARSE_SHIFT == open_page) {
            continue;
        }
        open_page = index >> MI_SPARSE_SHIFT;
        if (!mi_masks_open(&store->masks, store->heap, index) || !mi_pool_open_index(pool, store->heap, index)) {
            return false;
        }
    }
    return true;
}

// Closes the first `pool_count` pools of what is not to be published.
static void close_elements(const spawn_batch *batch, uint32_t pool_count) {
    for (uint32_t i = 0; i < pool_count; i++) {
        mi_pool *pool = batch->world->elements.data[i].pool;
        for (uint32_t k = 0; k < batch->count; k++) {
            mi_pool_close_index(pool, &batch->world->heap, mica_entity_index(batch->handles[k]));
        }
    }
}

// Makes room in a pool for the batch, and follows the values that move.
static bool open_pool(const spawn_batch *batch, mi_pool *pool) {
    mica_world *world = batch->world;
    mi_pool_moved moved;
    if (!open_pages(batch, pool) || !mi_pool_reserve(pool, &world->heap, &world->store.values, batch->count, &moved)) {
        world->store.failure = MICA_OUT_OF_MEMORY;
        return false;
    }
    if (moved.byte_size > 0) {
        const mi_edit listed = listed_edit(world, batch->table);
        mi_world_follow(&listed, &moved);
    }
    return true;
}

// Finds the handles that the entities will have, where they are needed, and opens all pools for them.
static bool open_elements(spawn_batch *batch, const char *call) {
    mica_world *world = batch->world;
    // Entities without a row are told of by what is kept here.
    const bool is_told = world->front.is_watched && batch->table == mi_store_root(&world->store);
    if ((world->elements.count == 0 && !is_told) || batch->count == 0) {
        return true;
    }
    if (!MI_RESERVE(&world->heap, MICA_MEMORY_WORLD, &world->handles, batch->count)) {
        mi_fail_memory(&world->log, call, (size_t)batch->count * sizeof(mica_entity));
        return false;
    }
    batch->handles = world->handles.data;
    mi_slots_preview(&world->store.slots, batch->handles, batch->count);
    for (uint32_t i = 0; i < world->elements.count; i++) {
        if (!open_pool(batch, world->elements.data[i].pool)) {
            close_elements(batch, i + 1);
            mi_world_fail_store(world, call);
            return false;
        }
    }
    return true;
}

// Makes room for everything, or leaves all as it was.
static mica_result open_batch(spawn_batch *batch, const char *call) {
    mica_world *world = batch->world;
    mi_store *store = &world->store;
    const mica_result result = mi_slots_reserve(&store->slots, &world->heap, batch->count);
    if (result != MICA_OK) {
        return mi_fail(&world->log, result, call, "no room for {} more entities", MI_UINT(batch->count));
    }
    if (batch->table != mi_store_root(store) && !mi_store_open_rows(store, batch->table, batch->count)) {
        return mi_world_fail_store(world, call);
    }
    if (!open_elements(batch, call)) {
        mi_store_close_rows(store, batch->table);
        return mica_last_result();
    }
    return MICA_OK;
}

// Takes the slots of the entities and publishes their rows.
static void publish_rows(const spawn_batch *batch, mica_entity *entities) {
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

static void publish_elements(const spawn_batch *batch) {
    mica_world *world = batch->world;
    for (uint32_t i = 0; i < world->elements.count && batch->count > 0; i++) {
        mi_store_put_elements(&world->store, world->elements.data[i].pool, batch->handles, batch->count);
    }
    for (uint32_t i = 0; i < world->elements.count && batch->count > 0; i++) {
        mi_store_settle_elements(&world->store, world->elements.data[i].pool, batch->handles, batch->count);
    }
}

// Tells of all entities of a batch, one after the other.
static void tell_batch(const spawn_batch *batch, const mica_entity *entities, const mica_column *given,
                       uint32_t given_count) {
    mica_world *world = batch->world;
    if (MICA_LIKELY(!world->front.is_watched)) {
        return;
    }
    mi_notice notice = {.to = batch->table,
                        .changes = world->changes.data,
                        .change_count = world->changes.count,
                        .elements = world->elements.data,
                        .element_count = world->elements.count,
                        .given = given,
                        .given_count = given_count};
    for (uint32_t done = 0; done < batch->count;) {
        uint8_t *base = NULL;
        uint32_t row = 0;
        const bool has_rows = batch->table != mi_store_root(&world->store);
        const uint32_t run = has_rows ? batch_run(batch, done, &base, &row) : batch->count;
        const mica_entity *handles = has_rows                 ? (const mica_entity *)(const void *)base + row
                                     : batch->handles != NULL ? batch->handles
                                                              : entities;
        for (uint32_t i = 0; i < run && handles != NULL; i++) {
            notice.entity = handles[i];
            mi_tell_after(world, &notice);
        }
        done += run;
    }
}

// Checks, makes and publishes a batch from columns.
static mica_result spawn_batch_of(mica_world *world, const mica_column *columns, int32_t column_count, int32_t count,
                                  mica_entity *entities, spawn_batch *batch, const char *call) {
    mica_result result = mi_world_check_structure(world, call);
    if (result != MICA_OK) {
        return result;
    }
    if (count < 0) {
        return mi_fail(&world->log, MICA_INVALID, call, "cannot make {} entities", MI_INT(count));
    }
    spawn_target target;
    if (!find_spawn(world, columns, column_count, &target, call)) {
        return mica_last_result();
    }
    if (target.relation_count > 0) {
        return mi_fail_plain(&world->log, MICA_UNSUPPORTED, call,
                             "relations are linked afterwards, many at once by their own verb");
    }
    *batch = (spawn_batch){
        .world = world, .table = target.table, .first = target.table->row_count, .count = (uint32_t)count};
    result = open_batch(batch, call);
    if (result != MICA_OK) {
        return result;
    }
    if (!batch_make(batch)) {
        close_elements(batch, world->elements.count);
        mi_store_close_rows(&world->store, batch->table);
        return mi_fail_plain(&world->log, MICA_OUT_OF_MEMORY, call,
                             "a construct or copy hook could not make its values");
    }
    publish_rows(batch, entities);
    publish_elements(batch);
    return MICA_OK;
}

mica_result mica_entity_spawn_many(mica_world *world, const mica_column *columns, int32_t column_count, int32_t count,
                                   mica_entity *entities) {
    spawn_batch batch = {.world = world};
    const mica_result result =
        spawn_batch_of(world, columns, column_count, count, entities, &batch, "mica_entity_spawn_many");
    if (result == MICA_OK) {
        MI_STORE_SHAKE(&world->store, batch.table);
        tell_batch(&batch, entities, NULL, 0);
    }
    if (result == MICA_OK) {
        mi_world_finish(world, "mica_entity_spawn_many");
    }
    return result;
}

// The elements of a pool from the batch's number `done` on whose values follow each other, `limit` at most: how many,
// and the first value. A group may have taken them in, wherever it has room.
static uint32_t element_run(const spawn_batch *batch, const mi_pool *pool, uint32_t done, uint32_t limit,
                            void **values) {
    const uint32_t position = mi_pool_find(pool, batch->handles[done]);
    const uint32_t page_size = 1u << pool->page_shift;
    const uint32_t room = page_size - (position & (page_size - 1));
    uint32_t run = 1;
    *values = mi_pool_value(pool, position);
    while (run < limit && run < room && mi_pool_find(pool, batch->handles[done + run]) == position + run) {
        run++;
    }
    return run;
}

// Values that a span hands out of components that lie in lanes stand in world->fill_room: zeros at first, they are put
// into the lanes when the span has been filled in. Those of each component begin with an item of their own.

// Items that hold the values of `row_count` rows; 0: the component does not lie in lanes.
static size_t room_count(const mica_world *world, mica_component component, size_t row_count) {
    const mi_type *type = mi_schema_type(world->schema, component);
    const size_t size = type != NULL && mi_type_in_lanes(type) ? type->info.size * row_count : 0;
    return (size + sizeof(mi_lanes_value) - 1) / sizeof(mi_lanes_value);
}

// False: out of memory.
static bool open_room(mica_world *world, const mica_component *components, int32_t component_count, int32_t count) {
    const size_t row_count = count < (int32_t)MI_ROW_MAX ? (size_t)count : MI_ROW_MAX;
    size_t need = 0;
    for (int32_t i = 0; count > 0 && i < component_count; i++) {
        need += room_count(world, components[i], row_count);
    }
    return need == 0 || mi_array_reserve(&world->heap, MICA_MEMORY_WORLD, &world->fill_room, need,
                                         sizeof(mi_lanes_value), _Alignof(mi_lanes_value));
}

// Lets the columns in lanes be room for the values of `count` rows.
static void clear_room(const mica_world *world, const mica_component *components, int32_t component_count,
                       uint32_t count, void **columns) {
    mi_lanes_value *at = world->fill_room.data;
    for (int32_t i = 0; i < component_count; i++) {
        const mi_type *type = mi_schema_type(world->schema, components[i]);
        if (mi_type_in_lanes(type)) {
            columns[i] = at;
            memset(at, 0, (size_t)type->info.size * count);
            at += room_count(world, components[i], count);
        }
    }
}

// Puts what was filled into the room into the lanes of the rows from the batch's number `done` on.
static void settle_room(const spawn_batch *batch, const mica_component *components, int32_t component_count,
                        uint32_t done, uint32_t count, void *const *columns) {
    uint8_t *base = NULL;
    uint32_t row = 0;
    batch_run(batch, done, &base, &row);
    for (int32_t i = 0; i < component_count; i++) {
        const mi_type *type = mi_schema_type(batch->world->schema, components[i]);
        if (mi_type_in_lanes(type)) {
            mi_lanes_write(type, batch->table->chunk_room, mi_table_any_column(batch->table, base, components[i]), row,
                           columns[i], count);
        }
    }
}

// Finds the columns of the span that starts with number `done`, and returns its length.
static uint32_t find_span(const spawn_batch *batch, const mica_component *components, int32_t component_count,
                          uint32_t done, void **columns, const mica_entity **entities) {
    const mi_store *store = &batch->world->store;
    uint8_t *base = NULL;
    uint32_t row = 0;
    uint32_t run = batch->count - done;
    if (batch->table != mi_store_root(store)) {
        run = batch_run(batch, done, &base, &row);
    }
    *entities = base == NULL ? batch->handles + done : (const mica_entity *)(const void *)base + row;
    for (int32_t i = 0; i < component_count; i++) {
        const mi_type *type = mi_schema_type(store->schema, components[i]);
        const mi_pool *pool = mi_store_find_pool(store, components[i]);
        if (type->info.size == 0 || mi_type_in_lanes(type)) {
            columns[i] = NULL;
        } else if (pool != NULL) {
            run = element_run(batch, pool, done, run, &columns[i]);
        } else {
            columns[i] = mi_table_column(batch->table, base, components[i]) + (size_t)row * type->info.size;
        }
    }
    return run;
}

// Hands the new rows out, span by span. `columns` has room for a pointer a component.
static void fill_spans(const spawn_batch *batch, const mica_component *components, int32_t component_count,
                       void **columns, mica_spawn_function fill, void *user) {
    for (uint32_t done = 0; done < batch->count;) {
        mica_spawn_span span = {.first = (int32_t)done, .columns = columns};
        const uint32_t run = find_span(batch, components, component_count, done, columns, &span.entities);
        span.count = (int32_t)run;
        if (MICA_UNLIKELY(batch->table->has_lanes)) {
            clear_room(batch->world, components, component_count, run, columns);
            fill(user, &span);
            settle_room(batch, components, component_count, done, run, columns);
        } else {
            fill(user, &span);
        }
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
    const uint32_t column_count = (uint32_t)component_count;
    if (!MI_RESERVE(&world->heap, MICA_MEMORY_WORLD, &world->fill_asked, column_count) ||
        !MI_RESERVE(&world->heap, MICA_MEMORY_WORLD, &world->fill_columns, column_count)) {
        return mi_fail_memory(&world->log, call, column_count * (sizeof(mica_column) + sizeof(void *)));
    }
    if (!open_room(world, components, component_count, count)) {
        return mi_fail_memory(&world->log, call, 0);
    }
    mica_column *asked = world->fill_asked.data;
    void **columns = world->fill_columns.data;
    for (int32_t i = 0; i < component_count; i++) {
        asked[i] = (mica_column){.component = components[i]};
    }
    spawn_batch batch = {.world = world};
    result = spawn_batch_of(world, asked, component_count, count, NULL, &batch, call);
    if (result == MICA_OK) {
        const mi_callback callback = {.call = call};
        world->front.callback = &callback; // the callback must not move the rows that it is given
        fill_spans(&batch, components, component_count, columns, fill, user);
        world->front.callback = NULL;
        MI_STORE_SHAKE(&world->store, batch.table);
        for (int32_t i = 0; i < component_count; i++) { // those that were handed out have been given values
            asked[i].value = mi_schema_type(world->schema, components[i])->info.size > 0 ? columns : NULL;
        }
        tell_batch(&batch, NULL, asked, (uint32_t)component_count);
    }
    if (result == MICA_OK) {
        mi_world_finish(world, call);
    }
    return result;
}

// Clones

// The first of the entity's types that cannot be copied, or NULL.
static const mi_type *find_movable_only(const mi_store *store, const mi_table *table, const uint64_t *mask) {
    for (uint32_t i = 0; i < table->column_count; i++) {
        if (table->columns[i].type->movable_only) {
            return table->columns[i].type;
        }
    }
    for (uint32_t number = 0; (number = mi_store_next_pool(store, mask, number)) != MI_POOL_NONE; number++) {
        if (store->pool_list.data[number]->type->movable_only) {
            return store->pool_list.data[number]->type;
        }
    }
    return NULL;
}

// The table of a clone: the source's, without relations.
static mi_table *clone_table(mica_world *world, mi_table *table) {
    for (uint32_t i = 0; i < world->relations.count && table != NULL; i++) {
        table = mi_store_table_without(&world->store, table, world->relations.data[i].component);
    }
    return table;
}

// Lists the source's values in table and pools as what the clone is made of. The row of the clone is open, so that
// nothing in tables moves any more.
static bool list_clone(mica_world *world, mica_entity source, uint32_t location, const mi_table *to, const char *call) {
    const mi_store *store = &world->store;
    const mi_table *from = mi_store_table_at(store, location);
    const uint64_t *mask = mi_store_mask(store, source);
    const uint32_t pool_count = mask == NULL ? 0 : store->pool_list.count;
    if (!reserve_scratch(world, to->column_count, pool_count, call)) {
        return false;
    }
    for (uint32_t i = 0; i < to->column_count; i++) {
        const mi_type *type = to->columns[i].type;
        if (mi_type_in_lanes(type)) {
            continue; // see copy_lanes
        }
        world->changes.data[world->changes.count++] = (mi_change){
            .component = type->info.id, .value = mi_store_value(store, from, location, type->info.id, type->info.size)};
    }
    for (uint32_t number = 0; (number = mi_store_next_pool(store, mask, number)) != MI_POOL_NONE; number++) {
        mi_pool *pool = store->pool_list.data[number];
        world->elements.data[world->elements.count++] =
            (mi_element){.pool = pool,
                         .change = MI_ELEMENT_ADD,
                         .value = pool->size == 0 ? NULL : mi_pool_value(pool, mi_pool_find(pool, source))};
    }
    return true;
}

// Copies what the source has in lanes: no value of it stands anywhere that the clone could be made of.
static void copy_lanes(const mi_store *store, mica_entity source, mica_entity clone) {
    const uint32_t from = mi_slots_location(&store->slots, mica_entity_index(source));
    const uint32_t to = mi_slots_location(&store->slots, mica_entity_index(clone));
    const mi_row_place from_place = {mi_store_table_at(store, from), mi_store_base(store, from), mi_row_of(from)};
    const mi_row_place to_place = {mi_store_table_at(store, to), mi_store_base(store, to), mi_row_of(to)};
    for (uint32_t i = 0; i < to_place.table->column_count; i++) {
        if (mi_type_in_lanes(to_place.table->columns[i].type)) {
            mi_store_move_lanes(&to_place, &from_place, to_place.table->columns[i].type->info.id, 1);
        }
    }
}

// Links a clone as its source is linked.
static bool link_clone(mica_world *world, mica_entity source, mica_entity clone, const char *call) {
    for (uint32_t i = 0; i < world->relations.count; i++) {
        const mi_relation *relation = &world->relations.data[i];
        const void *value = mica_entity_has(world, source, relation->component)
                                ? mica_entity_get(world, source, relation->component)
                                : NULL;
        if (value != NULL && relation->link(world, clone, value, 0, call) != MICA_OK) {
            return false;
        }
    }
    return true;
}

mica_entity mi_world_clone(mica_world *world, mica_entity source, const char *call) {
    mi_store *store = &world->store;
    uint32_t location = 0;
    if (mi_world_resolve(world, source, &location, call) != MICA_OK) {
        return MICA_NULL;
    }
    mi_table *from = mi_store_table_at(store, location);
    const mi_type *movable_only = find_movable_only(store, from, mi_store_mask(store, source));
    if (movable_only != NULL) {
        mi_fail(&world->log, MICA_NO_COPY, call, "{} has {}, which has no copy hook", MI_ENTITY(source),
                MI_TEXT(movable_only->info.name));
        return MICA_NULL;
    }
    mi_table *to = clone_table(world, from);
    if (to == NULL || (to != mi_store_root(store) && !mi_store_open_row(store, to))) {
        mi_world_fail_store(world, call);
        return MICA_NULL;
    }
    if (!list_clone(world, source, location, to, call)) {
        return MICA_NULL;
    }
    const mi_edit edit = listed_edit(world, to);
    mi_world_hold_made(world);
    mica_entity clone = mi_world_make_edited(world, &edit, call);
    if (to->has_lanes && !mica_entity_is_null(clone)) {
        copy_lanes(store, source, clone);
    }
    const bool is_marked = mica_entity_is_null(clone) || mi_store_copy_marks(store, source, clone);
    if (!is_marked) {
        mi_world_fail_store(world, call);
    }
    if (!mica_entity_is_null(clone) && !(is_marked && link_clone(world, source, clone, call))) {
        mi_world_take_back(world, clone);
        clone = MICA_NULL;
    }
    mi_world_release_made(world, clone, NULL, 0);
    return clone;
}

mica_entity mica_entity_clone(mica_world *world, mica_entity source) {
    static const char call[] = "mica_entity_clone";
    if (mi_world_check_structure(world, call) != MICA_OK) {
        return MICA_NULL;
    }
    const mica_entity clone = mi_world_clone(world, source, call);
    mi_world_finish(world, call);
    return clone;
}

// Checking a whole world: the invariants of the store, of queries and of the parts further up, and that no placeholder
// has got out of its command buffer.
//
// A placeholder is good in its buffer alone; a program that writes one into a value itself leaves a handle there that
// will never name anybody. That is the program's fault and no broken invariant, but here is where it is found: in all
// columns, pools, resources and events whose types are reflected. Nothing is changed, but that what open walks have
// written to copies is brought back; asking for the fields of a type for the first time needs memory.
#include "store/field_text.h"
#include "world/event.h"
#include "world/query.h"

static const char call[] = "mica_world_validate";

static const char *check_queries(const mica_world *world) {
    uint32_t open_count = 0;
    for (uint32_t i = 0; i < world->queries.count; i++) {
        const mica_query *query = world->queries.data[i];
        const bool is_current = query->tables_dropped == world->store.tables_dropped;
        const char *fault = is_current ? mi_query_validate(query) : NULL;
        if (fault != NULL) {
            return fault;
        }
        open_count += query->open_count;
    }
    return open_count == world->front.walk_count ? NULL : "walks: counts of queries and world disagree";
}

static const char *check_extensions(const mica_world *world) {
    const char *fault = NULL;
    for (uint32_t i = 0; fault == NULL && i < world->extensions.count; i++) {
        const mi_extension *extension = &world->extensions.data[i];
        fault = extension->validate == NULL ? NULL : extension->validate(world, extension->state);
    }
    return fault;
}

// Escaped placeholders

// A placeholder in a value, and where in it.
typedef struct escaped {
    const uint8_t *value;
    mica_entity placeholder; // null: there is none
    uint32_t offset;
} escaped;

static bool keep_placeholder(void *user, mica_entity *entity) {
    escaped *found = user;
    if (mica_entity_is_placeholder(*entity)) {
        found->placeholder = *entity;
        found->offset = (uint32_t)((const uint8_t *)entity - found->value);
    }
    return mica_entity_is_null(found->placeholder);
}

// Finds the first placeholder in a value; false: there is none.
static bool find_placeholder(const mica_world *world, mica_component component, void *value, escaped *found) {
    *found = (escaped){.value = value, .placeholder = MICA_NULL};
    mi_type_patch_entities(world->schema, component, value, keep_placeholder, found);
    return !mica_entity_is_null(found->placeholder);
}

// Whether values of a type are to be looked into; MICA_OUT_OF_MEMORY.
static mica_result ask_type(const mica_world *world, mica_component component, bool *has_entities) {
    if (mi_type_reflect(world->schema, component) == MICA_OUT_OF_MEMORY) {
        return mi_fail_memory(&world->log, call, 0);
    }
    *has_entities = mi_type_has_entities(world->schema, component);
    return MICA_OK;
}

// `kind` stands before the name of the type; `owner` is null where the value is nobody's.
static mica_result fail_escaped(const mica_world *world, const mi_type *type, mica_entity owner, const char *kind,
                                const escaped *found) {
    char field[128];
    mi_text_out path = mi_text_begin(field, sizeof(field));
    mi_field_path(world->schema, type, found->offset, &path);
    if (mica_entity_is_null(owner)) {
        return mi_fail(&world->log, MICA_INVALID, call, "{}: {}{}.{} names {}, which has left its command buffer",
                       MI_TEXT(world->name), MI_TEXT(kind), MI_TEXT(type->info.name), MI_TEXT(field),
                       MI_ENTITY(found->placeholder));
    }
    return mi_fail(&world->log, MICA_INVALID, call, "{}: {}{}.{} of {} names {}, which has left its command buffer",
                   MI_TEXT(world->name), MI_TEXT(kind), MI_TEXT(type->info.name), MI_TEXT(field), MI_ENTITY(owner),
                   MI_ENTITY(found->placeholder));
}

static mica_result check_column(const mica_world *world, const mi_table *table, const mi_column *column) {
    mi_lanes_value aside;
    for (uint32_t row = 0; row < table->row_count; row++) {
        const uint32_t location = mi_store_location(table, row);
        void *value = mi_store_look(&world->store, table, location, column->type->info.id, &aside);
        escaped found;
        if (find_placeholder(world, column->type->info.id, value, &found)) {
            const mica_entity *entities = (const mica_entity *)(const void *)mi_store_base(&world->store, location);
            return fail_escaped(world, column->type, entities[mi_row_of(location)], "", &found);
        }
    }
    return MICA_OK;
}

static mica_result check_columns(const mica_world *world) {
    mica_result result = MICA_OK;
    for (uint32_t i = 0; i < world->store.ordered.count; i++) {
        const mi_table *table = world->store.ordered.data[i];
        for (uint32_t k = 0; result == MICA_OK && k < table->column_count; k++) {
            bool has_entities = false;
            result = ask_type(world, table->columns[k].type->info.id, &has_entities);
            if (has_entities) {
                result = check_column(world, table, &table->columns[k]);
            }
        }
    }
    return result;
}

static mica_result check_elements(const mica_world *world, const mi_pool *pool) {
    for (uint32_t position = 0; position < pool->count; position++) {
        escaped found;
        if (mi_pool_is_live(pool, position) &&
            find_placeholder(world, pool->type->info.id, mi_pool_value(pool, position), &found)) {
            return fail_escaped(world, pool->type, pool->entities[position], "", &found);
        }
    }
    return MICA_OK;
}

static mica_result check_pools(const mica_world *world) {
    mica_result result = MICA_OK;
    for (uint32_t i = 0; result == MICA_OK && i < world->store.pool_list.count; i++) {
        const mi_pool *pool = world->store.pool_list.data[i];
        bool has_entities = false;
        result = ask_type(world, pool->type->info.id, &has_entities);
        if (has_entities) {
            result = check_elements(world, pool);
        }
    }
    return result;
}

static mica_result check_resources(const mica_world *world) {
    for (uint32_t id = 1; id < world->resources.count; id++) {
        void *value = world->resources.data[id].value;
        bool has_entities = false;
        if (value == NULL) {
            continue;
        }
        const mica_result result = ask_type(world, (mica_component)id, &has_entities);
        if (result != MICA_OK) {
            return result;
        }
        escaped found;
        if (has_entities && find_placeholder(world, (mica_component)id, value, &found)) {
            return fail_escaped(world, mi_schema_type(world->schema, (mica_component)id), MICA_NULL, "the resource ",
                                &found);
        }
    }
    return MICA_OK;
}

static mica_result check_queue(const mica_world *world, const mi_event_queue *queue) {
    bool has_entities = false;
    const mica_result result = ask_type(world, queue->type->info.id, &has_entities);
    for (uint64_t number = queue->first; has_entities && number < queue->next; number++) {
        escaped found;
        if (find_placeholder(world, queue->type->info.id, mi_event_at(queue, number), &found)) {
            return fail_escaped(world, queue->type, MICA_NULL, "an event of ", &found);
        }
    }
    return result;
}

static mica_result check_events(const mica_world *world) {
    const mi_events *events = world->events;
    mica_result result = MICA_OK;
    for (uint32_t i = 0; events != NULL && result == MICA_OK && i < events->queues.count; i++) {
        result = events->queues.data[i] != NULL ? check_queue(world, events->queues.data[i]) : MICA_OK;
    }
    return result;
}

mica_result mica_world_validate(mica_world *world) {
    if (world == NULL) {
        return mi_fail_plain(NULL, MICA_INVALID, call, "needs a world");
    }
    if (mi_world_check_making(world, "what is everywhere", call) != MICA_OK) {
        return MICA_LOCKED;
    }
    mi_world_settle_all(world);
    const char *fault = mi_store_validate(&world->store);
    fault = fault == NULL ? check_queries(world) : fault;
    fault = fault == NULL ? check_extensions(world) : fault;
    if (fault != NULL) {
        return mi_fail(&world->log, MICA_INVALID, call, "{}: {}", MI_TEXT(world->name), MI_TEXT(fault));
    }
    mica_result result = check_columns(world);
    if (result == MICA_OK) {
        result = check_pools(world);
    }
    if (result == MICA_OK) {
        result = check_resources(world);
    }
    return result == MICA_OK ? check_events(world) : result;
}

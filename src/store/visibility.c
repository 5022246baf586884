// Hidden entities and disabled components.
//
// Invariants: whoever has a mark is alive; a component is disabled only on an entity that has it; toggle_count is the
// number of members of all sets in `toggled`; hidden_count in the head of a chunk's handles is the number of its rows
// whose entity is disabled or killed. Rows that come, go or move while somebody is hidden are counted by those who
// handle rows; chunks that move take their heads along.
#include "store/visibility.h"

#include "store/pools.h"

static void count_row(mi_store *store, uint32_t location, bool comes) {
    if (location != 0) {
        mi_column_head *head = mi_column_head_of(mi_store_base(store, location));
        MI_ASSERT(comes || head->hidden_count > 0);
        head->hidden_count = comes ? head->hidden_count + 1 : head->hidden_count - 1;
    }
}

void mi_store_count_hidden_row(mi_store *store, mica_entity entity, uint32_t location, bool comes) {
    if (mi_store_hides(store, mica_entity_index(entity))) {
        count_row(store, location, comes);
    }
}

// Marks and single components

// To be called when any has come or gone.
static void note_marks(mi_store *store) {
    store->mark_changes++;
    const bool is_marked = (store->disabled.count | store->killed.count | store->toggle_count) != 0;
    store->extras = (store->extras & ~(uint32_t)MI_EXTRA_MARKS) | (is_marked ? MI_EXTRA_MARKS : 0);
}

// Puts an entity into one of the two sets that hide, or takes it out; `other` is the second one. The page is open.
static void put_hidden(mi_store *store, mi_marks *marks, const mi_marks *other, uint32_t index, bool is_member) {
    if (!mi_marks_put(marks, index, is_member)) {
        return;
    }
    note_marks(store);
    if (!mi_marks_has(other, index)) {
        count_row(store, mi_slots_location(&store->slots, index), is_member);
    }
}

// The same for a component, whose set is there.
static void put_toggle(mi_store *store, mica_component component, uint32_t index, bool is_member) {
    if (mi_marks_put(&store->toggled.data[component], index, is_member)) {
        store->toggle_count = is_member ? store->toggle_count + 1 : store->toggle_count - 1;
        note_marks(store);
    }
}

static bool open_marks(mi_store *store, mi_marks *marks, uint32_t index) {
    if (!mi_marks_open(marks, store->heap, index)) {
        store->failure = MICA_OUT_OF_MEMORY;
        return false;
    }
    return true;
}

bool mi_store_set_disabled(mi_store *store, mica_entity entity, bool disabled) {
    const uint32_t index = mica_entity_index(entity);
    if (disabled && !open_marks(store, &store->disabled, index)) {
        return false;
    }
    put_hidden(store, &store->disabled, &store->killed, index, disabled);
    return true;
}

bool mi_store_set_killed(mi_store *store, mica_entity entity, bool killed) {
    const uint32_t index = mica_entity_index(entity);
    if (killed && !open_marks(store, &store->killed, index)) {
        return false;
    }
    put_hidden(store, &store->killed, &store->disabled, index, killed);
    return true;
}

// Makes sure that `toggled` has a set for the component.
static bool open_component(mi_store *store, mica_component component) {
    if (!MI_RESERVE(store->heap, MICA_MEMORY_ENTITIES, &store->toggled, component + 1u)) {
        store->failure = MICA_OUT_OF_MEMORY;
        return false;
    }
    while (store->toggled.count <= component) {
        store->toggled.data[store->toggled.count++] = (mi_marks){0};
    }
    return true;
}

bool mi_store_set_toggled(mi_store *store, mica_entity entity, mica_component component, bool disabled) {
    const uint32_t index = mica_entity_index(entity);
    if (!disabled) {
        mi_store_forget_toggle(store, entity, component);
        return true;
    }
    if (!open_component(store, component) || !open_marks(store, &store->toggled.data[component], index)) {
        return false;
    }
    put_toggle(store, component, index, true);
    return true;
}

bool mi_store_open_mark(mi_store *store, mica_entity entity, mica_component component, bool kills) {
    const uint32_t index = mica_entity_index(entity);
    if (component == 0) {
        return open_marks(store, kills ? &store->killed : &store->disabled, index);
    }
    return open_component(store, component) && open_marks(store, &store->toggled.data[component], index);
}

void mi_store_drop_toggle(mi_store *store, mica_entity entity, mica_component component) {
    if (component < store->toggled.count) {
        put_toggle(store, component, mica_entity_index(entity), false);
    }
}

// All components of an entity

// The disabled components of an entity, one after the other: those in its table, then those in pools.
typedef struct toggle_walk {
    uint32_t index; // of the entity
    const mi_table *table;
    uint32_t place;       // next component of the table
    const uint64_t *mask; // NULL: in no pool
    uint32_t word;
    uint64_t bits; // of mask[word], those not visited yet
} toggle_walk;

static toggle_walk walk_toggles(const mi_store *store, mica_entity entity) {
    const uint32_t index = mica_entity_index(entity);
    const uint64_t *mask = mi_store_mask(store, entity);
    return (toggle_walk){.index = index,
                         .table = mi_store_table_at(store, mi_slots_location(&store->slots, index)),
                         .mask = mask,
                         .bits = mask == NULL ? 0 : mask[0]};
}

// The entity's next component, disabled or not; 0 at the end.
static mica_component next_component(const mi_store *store, toggle_walk *walk) {
    if (walk->place < walk->table->component_count) {
        return walk->table->components[walk->place++];
    }
    while (walk->mask != NULL && walk->bits == 0) {
        if (++walk->word >= store->masks.word_count) {
            return 0;
        }
        walk->bits = walk->mask[walk->word];
    }
    if (walk->mask == NULL) {
        return 0;
    }
    const uint32_t number = walk->word * 64 + (uint32_t)__builtin_ctzll(walk->bits);
    walk->bits &= walk->bits - 1;
    return store->pool_list.data[number]->type->info.id;
}

static mica_component next_toggle(const mi_store *store, toggle_walk *walk) {
    mica_component component = next_component(store, walk);
    while (component != 0) {
        const mi_marks *toggled = mi_store_toggled(store, component);
        if (toggled != NULL && mi_marks_has(toggled, walk->index)) {
            return component;
        }
        component = next_component(store, walk);
    }
    return 0;
}

bool mi_store_copy_marks(mi_store *store, mica_entity from, mica_entity to) {
    if (mi_marks_has(&store->disabled, mica_entity_index(from)) && !mi_store_set_disabled(store, to, true)) {
        return false;
    }
    if (store->toggle_count == 0) {
        return true;
    }
    toggle_walk walk = walk_toggles(store, from);
    for (mica_component id = next_toggle(store, &walk); id != 0; id = next_toggle(store, &walk)) {
        if (!mi_store_set_toggled(store, to, id, true)) {
            return false;
        }
    }
    return true;
}

void mi_store_drop_marks(mi_store *store, mica_entity entity) {
    const uint32_t index = mica_entity_index(entity);
    put_hidden(store, &store->disabled, &store->killed, index, false);
    put_hidden(store, &store->killed, &store->disabled, index, false);
    if (store->toggle_count == 0) {
        return;
    }
    toggle_walk walk = walk_toggles(store, entity);
    for (mica_component id = next_toggle(store, &walk); id != 0; id = next_toggle(store, &walk)) {
        mi_store_drop_toggle(store, entity, id);
    }
}

// Everybody

// No row is hidden.
static void zero_counts(mi_store *store) {
    for (uint32_t id = 0; id < store->tables.count; id++) {
        const mi_table *table = store->tables.data[id];
        for (uint32_t k = 0; table != NULL && k < table->chunk_count; k++) {
            mi_column_head_of(store->chunks[table->chunk_ids[k]].base)->hidden_count = 0;
        }
    }
}

void mi_store_clear_visibility(mi_store *store) {
    if (mi_store_hides_any(store)) {
        zero_counts(store);
    }
    mi_store_free_visibility(store);
}

static void count_members(mi_store *store, const mi_marks *marks, const mi_marks *counted) {
    for (uint32_t index = mi_marks_next(marks, 0); index != UINT32_MAX; index = mi_marks_next(marks, index + 1)) {
        if (counted == NULL || !mi_marks_has(counted, index)) {
            count_row(store, mi_slots_location(&store->slots, index), true);
        }
    }
}

void mi_store_recount_hidden(mi_store *store) {
    if (mi_store_hides_any(store)) {
        zero_counts(store);
        count_members(store, &store->disabled, NULL);
        count_members(store, &store->killed, &store->disabled);
    }
}

void mi_store_exchange_marks(mi_store *store, mi_hidden *hidden) {
    const mi_hidden old = {.disabled = store->disabled,
                           .killed = store->killed,
                           .toggled = {store->toggled.data, store->toggled.count, store->toggled.capacity},
                           .toggle_count = store->toggle_count};
    if (mi_store_hides_any(store)) {
        zero_counts(store);
    }
    store->disabled = hidden->disabled;
    store->killed = hidden->killed;
    store->toggled.data = hidden->toggled.data;
    store->toggled.count = hidden->toggled.count;
    store->toggled.capacity = hidden->toggled.capacity;
    store->toggle_count = hidden->toggle_count;
    *hidden = old;
    note_marks(store);
    mi_store_recount_hidden(store);
}

void mi_hidden_free(mi_hidden *hidden, mi_heap *heap) {
    mi_marks_free(&hidden->disabled, heap);
    mi_marks_free(&hidden->killed, heap);
    for (uint32_t id = 0; id < hidden->toggled.count; id++) {
        mi_marks_free(&hidden->toggled.data[id], heap);
    }
    MI_FREE(heap, MICA_MEMORY_ENTITIES, &hidden->toggled);
    hidden->toggle_count = 0;
}

void mi_store_free_visibility(mi_store *store) {
    mi_marks_free(&store->disabled, store->heap);
    mi_marks_free(&store->killed, store->heap);
    for (uint32_t id = 0; id < store->toggled.count; id++) {
        mi_marks_free(&store->toggled.data[id], store->heap);
    }
    MI_FREE(store->heap, MICA_MEMORY_ENTITIES, &store->toggled);
    store->toggle_count = 0;
    note_marks(store);
}

void mi_store_trim_visibility(mi_store *store) {
    if (store->disabled.count == 0) {
        mi_marks_free(&store->disabled, store->heap);
    }
    if (store->killed.count == 0) {
        mi_marks_free(&store->killed, store->heap);
    }
    for (uint32_t id = 0; id < store->toggled.count; id++) {
        if (store->toggled.data[id].count == 0) {
            mi_marks_free(&store->toggled.data[id], store->heap);
        }
    }
    if (store->toggle_count == 0) {
        MI_FREE(store->heap, MICA_MEMORY_ENTITIES, &store->toggled);
    }
}

// Validation

static bool is_alive(const mi_store *store, uint32_t index) {
    return index != 0 && index < mi_slots_end(&store->slots) &&
           (mi_slots_location(&store->slots, index) & MI_SLOT_FREE) == 0;
}

static const char *validate_marks(const mi_store *store, const mi_marks *marks) {
    if (!mi_marks_validate(marks)) {
        return "visibility: a set of entities has another number of members than it says";
    }
    for (uint32_t index = mi_marks_next(marks, 0); index != UINT32_MAX; index = mi_marks_next(marks, index + 1)) {
        if (!is_alive(store, index)) {
            return "visibility: an entity that is not alive is marked";
        }
    }
    return NULL;
}

static const char *validate_toggled(const mi_store *store, mica_component component) {
    const mi_marks *marks = &store->toggled.data[component];
    const char *fault = validate_marks(store, marks);
    for (uint32_t index = mi_marks_next(marks, 0); fault == NULL && index != UINT32_MAX;
         index = mi_marks_next(marks, index + 1)) {
        const mi_pool *pool = mi_store_find_pool(store, component);
        const mi_table *table = mi_store_table_at(store, mi_slots_location(&store->slots, index));
        const bool is_there =
            pool != NULL ? mi_pool_has(pool, mi_slots_handle(&store->slots, index)) : mi_table_has(table, component);
        if (!is_there || !mi_schema_type(store->schema, component)->info.toggle) {
            return "visibility: a component is disabled on an entity that does not have it, or cannot be";
        }
    }
    return fault;
}

static const char *validate_chunks(const mi_store *store, const mi_table *table) {
    for (uint32_t k = 0; k < table->chunk_count; k++) {
        uint8_t *base = store->chunks[table->chunk_ids[k]].base;
        const mica_entity *entities = (const mica_entity *)(const void *)base;
        const uint32_t rows = k << table->shift < table->row_count ? mi_table_chunk_rows(table, k) : 0;
        uint64_t hidden_count = 0;
        for (uint32_t row = 0; row < rows; row++) {
            hidden_count += mi_store_hides(store, mica_entity_index(entities[row]));
        }
        if (mi_column_head_of(base)->hidden_count != hidden_count) {
            return "visibility: a chunk has another number of hidden rows than it says";
        }
    }
    return NULL;
}

const char *mi_store_validate_visibility(const mi_store *store) {
    const char *fault = validate_marks(store, &store->disabled);
    fault = fault == NULL ? validate_marks(store, &store->killed) : fault;
    uint64_t toggle_count = 0;
    for (uint32_t id = 0; fault == NULL && id < store->toggled.count; id++) {
        fault = store->toggled.data[id].count == 0 ? NULL : validate_toggled(store, (mica_component)id);
        toggle_count += store->toggled.data[id].count;
    }
    for (uint32_t id = 0; fault == NULL && id < store->tables.count; id++) {
        fault = store->tables.data[id] == NULL ? NULL : validate_chunks(store, store->tables.data[id]);
    }
    if (fault == NULL && toggle_count != store->toggle_count) {
        return "visibility: disabled components are another number than the store says";
    }
    const bool has_marks = (store->disabled.count | store->killed.count | toggle_count) != 0;
    if (fault == NULL && ((store->extras & MI_EXTRA_MARKS) != 0) != has_marks) {
        return "visibility: the store says wrongly whether anything is marked";
    }
    return fault;
}

// Indexes: entities by the value of a field, kept by observers of its component.
//
// An index remembers each entity's key by the entity's index, in pages. Entities with their keys are sorted in a tree
// (MICA_ORDERED), or chained through their records, with a map from keys to the first of each chain (MICA_HASH). A verb
// is told of at once and updates the entity. Entities whose values may be written through addresses are *noted*, each
// once, and looked at when the last open walk ends, or by the next look-up outside walks.
//
// Invariants: while an index is complete, exactly the entities that have the component are in it, and the key of each
// that is not noted is that of its value. What cannot be kept up for want of memory makes it incomplete: it is emptied,
// hears nothing, and is made anew by the next look-up. During a walk, what is noted was either noted before the walk
// began, all of it, and is looked at before anything of the walk is noted; or all of it waits for the end of the walk.
#include "world/index.h"

#include "base/tree.h"
#include "store/index_key.h"
#include "world/rewind.h"

#include <mica/index.h>

#include <string.h>

#define PAGE_RECORDS 256u
// Up to so many entities are sorted by insertion.
#define INSERTION_MAX 16u

enum { RECORD_IN = 1, RECORD_NOTED = 2 };

// An entity's record: zero if it is not in the index.
typedef struct index_record {
    uint32_t flags;
    uint32_t generation; // of the entity: with its index its handle
    uint32_t next;       // MICA_HASH: entities with the same key, by index; 0: none
    uint32_t previous;   // 0: this one is what the map leads to
    uint64_t words[];    // the key
} index_record;

struct mica_index {
    mica_world *world;
    const mi_type *type;
    const mica_index_trait *trait; // the schema's
    mi_index_key key;
    bool is_complete;
    bool is_noted_in_walk;  // what is noted waits for the end of the walk
    bool is_made_in_walk;   // what spans of the walk write was not noted: it is made once more after that
    uint32_t count;         // entities
    MI_ARRAY(void *) pages; // of records
    mi_tree tree;
    mi_map map;
    MI_ARRAY(uint32_t) noted; // entities by index
    mi_observer *added;
    mi_observer *set;
    mi_observer *removed;
};

// The world's indexes, an extension.
typedef struct index_list {
    MI_ARRAY(mica_index *) indexes;
} index_list;

static const char extension_key = 0;
static const mica_memory_purpose purpose = MICA_MEMORY_INDEXES;

static mi_heap *heap_of(const mica_index *index) {
    return &index->world->heap;
}

// Whether an observer is being called.
static bool is_observed(const mica_world *world) {
    const mi_callback *callback = world->front.callback;
    while (callback != NULL && callback->observer == NULL) {
        callback = callback->outer;
    }
    return callback != NULL;
}

// Records

static size_t record_size(const mica_index *index) {
    return sizeof(index_record) + index->key.word_count * sizeof(uint64_t);
}

static size_t page_size(const mica_index *index) {
    return PAGE_RECORDS * record_size(index);
}

// The record of an entity that is or was in the index.
static index_record *record_at(const mica_index *index, uint32_t entity_index) {
    uint8_t *page = index->pages.data[entity_index / PAGE_RECORDS];
    return (void *)(page + entity_index % PAGE_RECORDS * record_size(index));
}

// NULL: there is none, so the entity is not in the index.
static index_record *find_record(const mica_index *index, uint32_t entity_index) {
    const uint32_t page = entity_index / PAGE_RECORDS;
    const bool is_there = page < index->pages.count && index->pages.data[page] != NULL;
    return is_there ? record_at(index, entity_index) : NULL;
}

static index_record *make_record(mica_index *index, uint32_t entity_index) {
    const uint32_t page = entity_index / PAGE_RECORDS;
    if (page >= index->pages.count) {
        if (!MI_RESERVE(heap_of(index), purpose, &index->pages, page + 1)) {
            return NULL;
        }
        memset(index->pages.data + index->pages.count, 0, (page + 1 - index->pages.count) * sizeof(void *));
        index->pages.count = page + 1;
    }
    if (index->pages.data[page] == NULL) {
        index->pages.data[page] =
            mi_heap_allocate_zeroed(heap_of(index), purpose, page_size(index), _Alignof(index_record));
    }
    return find_record(index, entity_index);
}

// Keys

static uint64_t hash_key(const mica_index *index, const uint64_t *words) {
    const uint32_t count = index->key.word_count;
    return count == 1 ? mi_hash_mix(words[0]) : mi_hash_bytes(words, count * sizeof(uint64_t));
}

static bool is_same_key(const mica_index *index, const uint64_t *a, const uint64_t *b) {
    return memcmp(a, b, index->key.word_count * sizeof(uint64_t)) == 0;
}

typedef struct key_search {
    const mica_index *index;
    const uint64_t *words;
} key_search;

static bool has_key(const void *context, uint32_t entity_index) {
    const key_search *search = context;
    return is_same_key(search->index, record_at(search->index, entity_index)->words, search->words);
}

// The first entity of a chain by its key; MI_MAP_NONE: there is none.
static uint32_t find_chain(const mica_index *index, const uint64_t *words) {
    const key_search search = {index, words};
    return mi_map_find(&index->map, hash_key(index, words), has_key, &search);
}

static int compare_rest(const void *context, uint32_t entity_index, const void *rest) {
    const mica_index *index = context;
    const uint64_t *own = record_at(index, entity_index)->words + 1;
    const uint64_t *other = rest;
    for (uint32_t i = 0; i + 1 < index->key.word_count; i++) {
        if (own[i] != other[i]) {
            return own[i] < other[i] ? -1 : 1;
        }
    }
    return 0;
}

static mi_tree_probe probe_of(const uint64_t *words, uint32_t entity_index) {
    return (mi_tree_probe){.key = words[0], .rest = words + 1, .item = entity_index};
}

// Entities by keys

static bool link_record(mica_index *index, uint32_t entity_index, index_record *record) {
    if (index->trait->kind == MICA_ORDERED) {
        const mi_tree_probe pair = probe_of(record->words, entity_index);
        return mi_tree_insert(&index->tree, heap_of(index), purpose, &pair);
    }
    record->previous = 0;
    record->next = 0;
    const uint32_t first = find_chain(index, record->words);
    if (first == MI_MAP_NONE) {
        if (!mi_map_reserve(&index->map, heap_of(index), purpose, 1)) {
            return false;
        }
        mi_map_insert(&index->map, hash_key(index, record->words), entity_index);
        return true;
    }
    // Behind the first one, so that the map stays as it is.
    index_record *front = record_at(index, first);
    record->previous = first;
    record->next = front->next;
    if (record->next != 0) {
        record_at(index, record->next)->previous = entity_index;
    }
    front->next = entity_index;
    return true;
}

static void unlink_record(mica_index *index, uint32_t entity_index, index_record *record) {
    if (index->trait->kind == MICA_ORDERED) {
        const mi_tree_probe pair = probe_of(record->words, entity_index);
        mi_tree_erase(&index->tree, &pair);
        return;
    }
    if (record->next != 0) {
        record_at(index, record->next)->previous = record->previous;
    }
    if (record->previous != 0) {
        record_at(index, record->previous)->next = record->next;
        return;
    }
    const uint64_t hash = hash_key(index, record->words);
    mi_map_remove(&index->map, hash, entity_index);
    if (record->next != 0) {
        mi_map_insert(&index->map, hash, record->next); // in the room that was left
    }
}

static void empty_index(mica_index *index) {
    mi_heap *heap = heap_of(index);
    mi_tree_clear(&index->tree, heap, purpose);
    mi_map_free(&index->map, heap, purpose);
    for (uint32_t i = 0; i < index->pages.count; i++) {
        mi_heap_release(heap, purpose, index->pages.data[i], page_size(index), _Alignof(index_record));
    }
    MI_FREE(heap, purpose, &index->pages);
    MI_FREE(heap, purpose, &index->noted);
    index->count = 0;
    index->is_complete = false;
    index->is_noted_in_walk = false;
    index->is_made_in_walk = false;
}

// Brings an entity that has the component up to date.
static void put_entity(mica_index *index, mica_entity entity, const void *value) {
    const uint32_t entity_index = mica_entity_index(entity);
    uint64_t words[MI_KEY_WORDS_MAX];
    mi_index_key_encode(&index->key, (const uint8_t *)value + index->key.offset, words, false);
    index_record *record = make_record(index, entity_index);
    if (record == NULL) {
        empty_index(index);
        return;
    }
    const bool was_in = (record->flags & RECORD_IN) != 0;
    if (was_in && is_same_key(index, record->words, words)) {
        return;
    }
    if (mi_is_before_restore(index->world)) {
        empty_index(index); // nobody is going to say that the value is gone again
        return;
    }
    if (was_in) {
        unlink_record(index, entity_index, record);
    }
    memcpy(record->words, words, index->key.word_count * sizeof(uint64_t));
    if (!link_record(index, entity_index, record)) {
        empty_index(index);
        return;
    }
    record->flags |= RECORD_IN;
    record->generation = mica_entity_generation(entity);
    index->count += !was_in;
}

static bool is_in(const mica_index *index, uint32_t entity_index) {
    const index_record *record = find_record(index, entity_index);
    return record != NULL && (record->flags & RECORD_IN) != 0;
}

static void take_entity(mica_index *index, uint32_t entity_index) {
    if (is_in(index, entity_index)) {
        index_record *record = record_at(index, entity_index);
        unlink_record(index, entity_index, record);
        record->flags &= ~(uint32_t)RECORD_IN; // it stays noted, if it is
        index->count--;
    }
}

// Values that were written through addresses

// The value of a living entity that has the component, where it is stored.
static const void *stored_value(const mica_index *index, uint32_t entity_index) {
    const mi_store *store = &index->world->store;
    const mica_component component = index->type->info.id;
    if (index->type->in_pool) {
        const mi_pool *pool = mi_store_find_pool(store, component);
        return mi_pool_value(pool, mi_pool_find(pool, mi_slots_handle(&store->slots, entity_index)));
    }
    const uint32_t location = mi_slots_location(&store->slots, entity_index);
    return mi_store_value(store, mi_store_table_at(store, location), location, component, index->type->info.size);
}

// Looks at what is noted.
static void settle_noted(mica_index *index) {
    for (uint32_t i = 0; i < index->noted.count; i++) { // an index that is emptied has nothing noted
        const uint32_t entity_index = index->noted.data[i];
        index_record *record = record_at(index, entity_index);
        record->flags &= ~(uint32_t)RECORD_NOTED;
        if ((record->flags & RECORD_IN) != 0) {
            put_entity(index, mica_entity_make(entity_index, record->generation), stored_value(index, entity_index));
        }
    }
    index->noted.count = 0;
    index->is_noted_in_walk = false;
}

static void note_entities(mica_index *index, const mica_entity *entities, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t entity_index = mica_entity_index(entities[i]);
        index_record *record = find_record(index, entity_index);
        if (record == NULL || record->flags != RECORD_IN) {
            continue;
        }
        if (!MI_RESERVE(heap_of(index), purpose, &index->noted, index->noted.count + 1)) {
            empty_index(index);
            return;
        }
        record->flags |= RECORD_NOTED;
        index->noted.data[index->noted.count++] = entity_index;
    }
}

static void on_written(mica_world *world, mica_component component, const mica_entity *entities, uint32_t count,
                       void *user) {
    (void)component;
    mica_index *index = user;
    if (!index->is_complete) {
        return;
    }
    if (world->front.walk_count > 0 && !index->is_noted_in_walk) {
        settle_noted(index);
    }
    index->is_noted_in_walk = world->front.walk_count > 0;
    note_entities(index, entities, count);
}

static void on_added(const mica_signal *signal) {
    mica_index *index = signal->user;
    if (index->is_complete) {
        put_entity(index, signal->entity, signal->value);
    }
}

// Who is not in the index is about to lose the component, and an observer has set the value meanwhile.
static void on_set(const mica_signal *signal) {
    mica_index *index = signal->user;
    if (index->is_complete && is_in(index, mica_entity_index(signal->entity))) {
        put_entity(index, signal->entity, signal->value);
    }
}

static void on_removed(const mica_signal *signal) {
    mica_index *index = signal->user;
    if (index->is_complete) {
        take_entity(index, mica_entity_index(signal->entity));
    }
}

// Making

static void put_pool(mica_index *index, const mi_pool *pool) {
    for (uint32_t position = 0; position < pool->count && index->is_complete; position++) {
        if (mi_pool_is_live(pool, position)) {
            put_entity(index, pool->entities[position], mi_pool_value(pool, position));
        }
    }
}

static void put_table(mica_index *index, const mi_table *table) {
    const mi_store *store = &index->world->store;
    const uint32_t size = index->type->info.size;
    for (uint32_t chunk = 0; (uint64_t)chunk << table->shift < table->row_count && index->is_complete; chunk++) {
        uint8_t *base = store->chunks[table->chunk_ids[chunk]].base;
        const mica_entity *entities = (const mica_entity *)(const void *)base;
        const uint8_t *column = mi_table_column(table, base, index->type->info.id);
        const uint32_t rows = mi_table_chunk_rows(table, chunk);
        for (uint32_t row = 0; row < rows && index->is_complete; row++) {
            put_entity(index, entities[row], column + (size_t)row * size);
        }
    }
}

static void put_everybody(mica_index *index) {
    const mi_store *store = &index->world->store;
    const mica_component component = index->type->info.id;
    index->is_complete = true;
    index->is_made_in_walk = index->world->front.walk_count > 0;
    if (index->type->in_pool) {
        const mi_pool *pool = mi_store_find_pool(store, component);
        if (pool != NULL) {
            put_pool(index, pool);
        }
        return;
    }
    for (uint32_t i = 0; i < store->tables.count && index->is_complete; i++) {
        const mi_table *table = store->tables.data[i];
        if (table != NULL && mi_table_has(table, component)) {
            put_table(index, table);
        }
    }
}

void mi_world_walk_ended(mica_world *world) {
    world->signals.written_column = NULL;
    const index_list *list = mi_world_extension(world, &extension_key);
    for (uint32_t i = 0; list != NULL && i < list->indexes.count; i++) {
        mica_index *index = list->indexes.data[i];
        if (index->is_made_in_walk) { // now, or it would be made in the next walk again, and in every one
            empty_index(index);
            put_everybody(index);
        } else {
            settle_noted(index);
        }
    }
}

// As bring_up_to_date, alone.
static bool update(mica_index *index, const char *call) {
    mica_world *world = index->world;
    if (index->is_made_in_walk &&
        world->front.walk_count == 0) { // a walk that was left open, and has ended with its system
        empty_index(index);
    }
    if (index->is_complete && (world->front.walk_count == 0 || !index->is_noted_in_walk)) {
        settle_noted(index);
    }
    if (!index->is_complete && is_observed(world)) {
        // What was told of as going is still there, and would not be told of again.
        mi_fail(&world->log, MICA_LOCKED, call,
                "the index of \"{}\" of {} has to be made, which waits for the observers", MI_TEXT(index->trait->field),
                MI_TEXT(index->type->info.name));
        return false;
    }
    if (!index->is_complete) {
        mi_world_settle_all(world);
        put_everybody(index);
    }
    if (!index->is_complete) {
        mi_fail(&world->log, MICA_OUT_OF_MEMORY, call, "the index of \"{}\" of {} has no memory",
                MI_TEXT(index->trait->field), MI_TEXT(index->type->info.name));
    }
    return index->is_complete;
}

// Makes the index say what is so; false, with the error set: there is no memory for that.
static bool bring_up_to_date(mica_index *index, const char *call) {
    if (mi_world_check_access(index->world, index->type->info.id, false, MICA_NULL, call) != MICA_OK) {
        return false;
    }
    mi_world_lock(index->world);
    const bool is_complete = update(index, call);
    mi_world_unlock(index->world);
    if (!is_complete) {
        mi_world_fail_unheard(index->world);
    }
    return is_complete;
}

static void disconnect_observers(mica_index *index) {
    mica_world *world = index->world;
    mi_observer **observers[] = {&index->added, &index->set, &index->removed};
    for (size_t i = 0; i < sizeof(observers) / sizeof(observers[0]); i++) {
        if (*observers[i] != NULL) {
            mi_observer_disconnect(world, *observers[i]);
            *observers[i] = NULL;
        }
    }
}

static bool connect(mica_index *index) {
    mica_world *world = index->world;
    const mica_component component = index->type->info.id;
    index->added = mi_observer_connect(world, MICA_ADDED, component, on_added, index);
    index->set = mi_observer_connect(world, MICA_SET, component, on_set, index);
    index->removed = mi_observer_connect(world, MICA_REMOVED, component, on_removed, index);
    if (index->added != NULL && index->set != NULL && index->removed != NULL &&
        mi_written_connect(world, component, on_written, index)) {
        return true;
    }
    disconnect_observers(index);
    return false;
}

static void stop_indexes(mica_world *world, void *state) {
    const index_list *list = state;
    for (uint32_t i = 0; i < list->indexes.count; i++) {
        mica_index *index = list->indexes.data[i];
        mi_written_disconnect(world, index->type->info.id, on_written, index);
        disconnect_observers(index);
    }
}

static void free_indexes(mica_world *world, void *state) {
    index_list *list = state;
    for (uint32_t i = 0; i < list->indexes.count; i++) {
        empty_index(list->indexes.data[i]);
        mi_heap_release(&world->heap, purpose, list->indexes.data[i], sizeof(mica_index), _Alignof(mica_index));
    }
    MI_FREE(&world->heap, purpose, &list->indexes);
    mi_heap_release(&world->heap, purpose, list, sizeof(*list), _Alignof(index_list));
}

// Everybody at once: one by one they would cost as much as they did when they came.
static void clear_indexes(mica_world *world, void *state) {
    (void)world;
    const index_list *list = state;
    for (uint32_t i = 0; i < list->indexes.count; i++) {
        const bool is_complete = list->indexes.data[i]->is_complete;
        empty_index(list->indexes.data[i]);
        list->indexes.data[i]->is_complete = is_complete;
    }
}

static bool is_page_used(const mica_index *index, uint32_t page) {
    bool is_used = false;
    for (uint32_t i = 0; index->pages.data[page] != NULL && i < PAGE_RECORDS && !is_used; i++) {
        is_used = record_at(index, page * PAGE_RECORDS + i)->flags != 0;
    }
    return is_used;
}

static void trim_indexes(mica_world *world, void *state) {
    mi_heap *heap = &world->heap;
    const index_list *list = state;
    for (uint32_t i = 0; i < list->indexes.count; i++) {
        mica_index *index = list->indexes.data[i];
        settle_noted(index);
        MI_FREE(heap, purpose, &index->noted);
        mi_tree_trim(&index->tree, heap, purpose);
        if (index->map.count == 0) {
            mi_map_free(&index->map, heap, purpose);
        }
        for (uint32_t page = 0; page < index->pages.count; page++) {
            if (!is_page_used(index, page)) {
                mi_heap_release(heap, purpose, index->pages.data[page], page_size(index), _Alignof(index_record));
                index->pages.data[page] = NULL;
            }
        }
    }
}

// Validation

static const char *check_entity(const mica_index *index, uint32_t entity_index, const void *value) {
    uint64_t words[MI_KEY_WORDS_MAX];
    if (!is_in(index, entity_index)) {
        return "an entity that has an indexed component is not in the index";
    }
    const index_record *record = record_at(index, entity_index);
    if (record->generation != mica_entity_generation(mi_slots_handle(&index->world->store.slots, entity_index))) {
        return "an index knows an entity by the handle of another one";
    }
    mi_index_key_encode(&index->key, (const uint8_t *)value + index->key.offset, words, false);
    if ((record->flags & RECORD_NOTED) == 0 && !is_same_key(index, record->words, words)) {
        return "an index knows an entity by another value than it has";
    }
    return index->trait->kind == MICA_ORDERED || find_chain(index, record->words) != MI_MAP_NONE
               ? NULL
               : "an index has lost a chain of entities";
}

static const char *check_index(const mica_index *index) {
    const mi_store *store = &index->world->store;
    uint32_t count = 0;
    const char *fault = mi_tree_validate(&index->tree);
    for (uint32_t i = 1; i < store->slots.used && fault == NULL; i++) {
        const mica_entity entity = mi_slots_handle(&store->slots, i);
        uint32_t location = 0;
        if (mi_slots_resolve(&store->slots, entity, &location) &&
            mi_world_has(index->world, entity, location, index->type->info.id)) {
            count++;
            fault = check_entity(index, i, stored_value(index, i));
        }
    }
    if (fault == NULL &&
        (index->count != count || (index->trait->kind == MICA_ORDERED && index->tree.count != count))) {
        fault = "an index has other entities in it than those that have its component";
    }
    return fault;
}

static const char *check_indexes(const mica_world *world, const void *state) {
    const index_list *list = state;
    const char *fault = NULL;
    for (uint32_t i = 0; i < list->indexes.count && fault == NULL; i++) {
        const mica_index *index = list->indexes.data[i];
        // What spans of an open walk have written since the index was made is not known; what observers are told of as
        // going is in no index any more.
        const bool is_checked = index->is_complete && !index->is_made_in_walk && !is_observed(world);
        fault = is_checked ? check_index(index) : NULL;
    }
    return fault;
}

// Asking for indexes

static index_list *list_of(mica_world *world) {
    index_list *list = mi_world_extension(world, &extension_key);
    if (list != NULL) {
        return list;
    }
    list = mi_heap_allocate_zeroed(&world->heap, purpose, sizeof(*list), _Alignof(index_list));
    const mi_extension extension = {.key = &extension_key,
                                    .state = list,
                                    .stop = stop_indexes,
                                    .destroy = free_indexes,
                                    .validate = check_indexes,
                                    .clear = clear_indexes,
                                    .trim = trim_indexes};
    if (list != NULL && !mi_world_add_extension(world, &extension)) {
        mi_heap_release(&world->heap, purpose, list, sizeof(*list), _Alignof(index_list));
        list = NULL;
    }
    return list;
}

static mica_index *make_index(mica_world *world, const mi_type *type, const mica_index_trait *trait,
                              const mi_index_key *key) {
    index_list *list = list_of(world);
    if (list == NULL || !MI_RESERVE(&world->heap, purpose, &list->indexes, list->indexes.count + 1)) {
        return NULL;
    }
    mica_index *index = mi_heap_allocate_zeroed(&world->heap, purpose, sizeof(*index), _Alignof(mica_index));
    if (index == NULL) {
        return NULL;
    }
    index->world = world;
    index->type = type;
    index->trait = trait;
    index->key = *key;
    index->tree.compare = key->word_count > 1 ? compare_rest : NULL;
    index->tree.context = index;
    if (!connect(index)) {
        mi_heap_release(&world->heap, purpose, index, sizeof(*index), _Alignof(mica_index));
        return NULL;
    }
    list->indexes.data[list->indexes.count++] = index;
    return index;
}

static const mica_index_trait *find_trait(const mi_type *type, const char *field) {
    for (int32_t i = 0; i < type->info.index_count; i++) {
        if (strcmp(type->info.indexes[i].field, field) == 0) {
            return &type->info.indexes[i];
        }
    }
    return NULL;
}

// Makes an index of which there is none, without values; NULL with the error set.
static mica_index *add_index(mica_world *world, const mi_type *type, const mica_index_trait *trait, const char *call) {
    mi_index_key key;
    if (!mi_index_key_find(world->schema, type, trait->field, &key, call)) {
        return NULL;
    }
    if (mi_world_check_making(world, "an index that nobody has asked for before", call) != MICA_OK) {
        return NULL;
    }
    mica_index *index = make_index(world, type, trait, &key);
    if (index == NULL) {
        mi_fail_memory(&world->log, call, sizeof(*index));
    }
    return index;
}

mica_index *mica_index_of_id(mica_world *world, mica_component component, const char *field) {
    static const char call[] = "mica_index_of";
    if (world == NULL || field == NULL) {
        mi_fail_plain(world == NULL ? NULL : &world->log, MICA_INVALID, call, "needs a world and the name of a field");
        return NULL;
    }
    const mi_type *type = mi_world_type(world, component, call);
    const mica_index_trait *trait = type == NULL ? NULL : find_trait(type, field);
    if (trait == NULL) {
        if (type != NULL) {
            mi_fail(&world->log, MICA_UNKNOWN, call, "{} does not ask for an index of \"{}\" by its trait indexes",
                    MI_TEXT(type->info.name), MI_TEXT(field));
        }
        return NULL;
    }
    const index_list *list = mi_world_extension(world, &extension_key);
    for (uint32_t i = 0; list != NULL && i < list->indexes.count; i++) {
        if (list->indexes.data[i]->trait == trait) {
            return list->indexes.data[i];
        }
    }
    mica_index *index = add_index(world, type, trait, call);
    if (index == NULL) {
        mi_world_fail_unheard(world); // the caller goes on to look up in it
    }
    return index != NULL && bring_up_to_date(index, call) ? index : NULL;
}

// Looking up

static bool check_index_given(const mica_index *index, const char *call) {
    if (index == NULL) {
        // The index was refused, most likely, and that is what the caller wants to read.
        mi_fail(NULL, MICA_INVALID, call, "needs an index; the last error was \"{}\"", MI_TEXT(mica_last_error()));
    }
    return index != NULL;
}

static bool check_ordered(const mica_index *index, const char *call) {
    if (!check_index_given(index, call)) {
        return false;
    }
    if (index->trait->kind != MICA_ORDERED) {
        mi_fail(&index->world->log, MICA_INVALID, call, "the index of \"{}\" of {} is MICA_HASH and has no order",
                MI_TEXT(index->trait->field), MI_TEXT(index->type->info.name));
        return false;
    }
    return true;
}

static bool check_room(const mica_index *index, const mica_entity *entities, int32_t capacity, const char *call) {
    if (capacity > 0 && entities == NULL) {
        mi_fail_plain(&index->world->log, MICA_INVALID, call, "needs an array of handles of its capacity");
        return false;
    }
    return true;
}

// Moves an entity down a heap that has the highest index on top.
static void sift_down(mica_entity *entities, uint32_t count, uint32_t place) {
    const mica_entity moved = entities[place];
    for (uint32_t child = 2 * place + 1; child < count; child = 2 * place + 1) {
        const bool is_right =
            child + 1 < count && mica_entity_index(entities[child + 1]) > mica_entity_index(entities[child]);
        child += is_right;
        if (mica_entity_index(entities[child]) <= mica_entity_index(moved)) {
            break;
        }
        entities[place] = entities[child];
        place = child;
    }
    entities[place] = moved;
}

static void make_heap(mica_entity *entities, uint32_t count) {
    for (uint32_t place = count / 2; place-- > 0;) {
        sift_down(entities, count, place);
    }
}

// Sorts by ascending index, in place.
static void sort_entities(mica_entity *entities, uint32_t count) {
    if (count > INSERTION_MAX) {
        make_heap(entities, count);
        for (uint32_t end = count; end-- > 1;) {
            const mica_entity highest = entities[0];
            entities[0] = entities[end];
            entities[end] = highest;
            sift_down(entities, end, 0);
        }
        return;
    }
    for (uint32_t i = 1; i < count; i++) {
        const mica_entity entity = entities[i];
        uint32_t place = i;
        for (; place > 0 && mica_entity_index(entities[place - 1]) > mica_entity_index(entity); place--) {
            entities[place] = entities[place - 1];
        }
        entities[place] = entity;
    }
}

// Lists a chain by ascending index, which is not its order: of those that are too many the lowest are kept in a heap.
static uint32_t list_chain(const mica_index *index, uint32_t first, mica_entity *entities, uint32_t capacity) {
    uint32_t count = 0;
    for (uint32_t at = first; at != 0; count++) {
        const index_record *record = record_at(index, at);
        const mica_entity entity = mica_entity_make(at, record->generation);
        if (count < capacity) {
            entities[count] = entity;
        } else if (capacity > 0) {
            if (count == capacity) {
                make_heap(entities, capacity);
            }
            if (at < mica_entity_index(entities[0])) {
                entities[0] = entity;
                sift_down(entities, capacity, 0);
            }
        }
        at = record->next;
    }
    sort_entities(entities, count < capacity ? count : capacity);
    return count;
}

// Lists what is not below `low` and below `high`, which may be NULL.
static uint32_t list_range(const mica_index *index, const mi_tree_probe *low, const mi_tree_probe *high,
                           mica_entity *entities, uint32_t capacity) {
    mi_tree_cursor cursor = low == NULL ? mi_tree_first(&index->tree) : mi_tree_seek(&index->tree, low);
    uint32_t count = 0;
    while (!mi_tree_at_end(&cursor)) {
        uint32_t rest = 0;
        const uint32_t *items = mi_tree_run(&cursor, &rest);
        const uint32_t below = high == NULL ? rest : mi_tree_run_below(&index->tree, &cursor, high);
        for (uint32_t i = 0; i < below && count + i < capacity; i++) {
            entities[count + i] = mi_slots_handle(&index->world->store.slots, items[i]);
        }
        count += below;
        if (below < rest) {
            break;
        }
        mi_tree_next_run(&cursor);
    }
    return count;
}

int32_t mica_index_count(mica_index *index) {
    static const char call[] = "mica_index_count";
    return check_index_given(index, call) && bring_up_to_date(index, call) ? (int32_t)index->count : 0;
}

int32_t mica_index_find(mica_index *index, const void *key, mica_entity *entities, int32_t capacity) {
    static const char call[] = "mica_index_find";
    if (!check_index_given(index, call) || !check_room(index, entities, capacity, call)) {
        return 0;
    }
    if (key == NULL) {
        mi_fail_plain(&index->world->log, MICA_INVALID, call, "needs a key");
        return 0;
    }
    uint64_t words[MI_KEY_WORDS_MAX];
    const bool is_too_long = mi_index_key_encode(&index->key, key, words, true);
    if (!bring_up_to_date(index, call) || is_too_long) {
        return 0;
    }
    const uint32_t room = capacity < 0 ? 0 : (uint32_t)capacity;
    if (index->trait->kind == MICA_HASH) {
        const uint32_t first = find_chain(index, words);
        return (int32_t)list_chain(index, first == MI_MAP_NONE ? 0 : first, entities, room);
    }
    const mi_tree_probe low = probe_of(words, 0);
    const mi_tree_probe high = probe_of(words, MI_TREE_ITEM_MAX);
    return (int32_t)list_range(index, &low, &high, entities, room);
}

int32_t mica_index_range(mica_index *index, const void *low, const void *high, mica_entity *entities,
                         int32_t capacity) {
    static const char call[] = "mica_index_range";
    if (!check_ordered(index, call) || !check_room(index, entities, capacity, call) || !bring_up_to_date(index, call)) {
        return 0;
    }
    uint64_t low_words[MI_KEY_WORDS_MAX] = {0};
    uint64_t high_words[MI_KEY_WORDS_MAX] = {0};
    // A text that does not fit into the field is above all that equal what fits of it.
    const bool is_above = low != NULL && mi_index_key_encode(&index->key, low, low_words, true);
    if (high != NULL) {
        mi_index_key_encode(&index->key, high, high_words, true);
    }
    const mi_tree_probe from = probe_of(low_words, is_above ? MI_TREE_ITEM_MAX : 0);
    const mi_tree_probe to = probe_of(high_words, MI_TREE_ITEM_MAX);
    return (int32_t)list_range(index, low == NULL ? NULL : &from, high == NULL ? NULL : &to, entities,
                               capacity < 0 ? 0 : (uint32_t)capacity);
}

mica_entity mica_index_first(mica_index *index) {
    static const char call[] = "mica_index_first";
    if (!check_ordered(index, call) || !bring_up_to_date(index, call) || index->count == 0) {
        return MICA_NULL;
    }
    const mi_tree_cursor cursor = mi_tree_first(&index->tree);
    uint32_t count = 0;
    return mi_slots_handle(&index->world->store.slots, *mi_tree_run(&cursor, &count));
}

mica_entity mica_index_last(mica_index *index) {
    static const char call[] = "mica_index_last";
    if (!check_ordered(index, call) || !bring_up_to_date(index, call) || index->count == 0) {
        return MICA_NULL;
    }
    return mi_slots_handle(&index->world->store.slots, mi_tree_last(&index->tree));
}

bool mica_index_accepts(const mica_index *index, size_t byte_size) {
    static const char call[] = "mica_index_accepts";
    if (!check_index_given(index, call)) {
        return false;
    }
    if (index->key.kind != MICA_FIELD_TEXT && index->key.size != byte_size) {
        mi_fail(&index->world->log, MICA_INVALID, call, "a key of the index of \"{}\" of {} has {} bytes, not {}",
                MI_TEXT(index->trait->field), MI_TEXT(index->type->info.name), MI_UINT(index->key.size),
                MI_UINT(byte_size));
        return false;
    }
    return true;
}

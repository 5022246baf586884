// Values of transient types in tables, where a snapshot has left them out: they stay with their entities.
//
// Rows that a restore leaves alone keep theirs. For each row that it exchanges there is a place aside: if the entity
// that comes there has the component already, its value is lifted there before anything else is touched, since that row
// is exchanged as well; otherwise a constructed one waits there. When rows are in place the values go into them.
#include "state/transients.h"

#include "base/bitset.h"
#include "store/value.h"

#include <string.h>

static bool is_transient(const mi_column *column) {
    return column->type->info.transient;
}

static mi_marks *find_lifted(const mi_transients *transients, mica_component component) {
    for (uint32_t i = 0; i < transients->lifted.count; i++) {
        if (transients->lifted.data[i].component == component) {
            return &transients->lifted.data[i].marks;
        }
    }
    return NULL;
}

static mi_marks *open_lifted(mi_transients *transients, mi_heap *heap, mica_component component) {
    mi_marks *found = find_lifted(transients, component);
    if (found == NULL && MI_RESERVE(heap, MICA_MEMORY_STATE, &transients->lifted, transients->lifted.count + 1)) {
        mi_lifted *added = &transients->lifted.data[transients->lifted.count++];
        *added = (mi_lifted){.component = component};
        found = &added->marks;
    }
    return found;
}

// Where a living entity has a value of a component in a row; 0: it does not.
static uint32_t find_row(const mi_store *store, mica_entity entity, mica_component component) {
    uint32_t location = 0;
    return mi_slots_resolve(&store->slots, entity, &location) && location != 0 &&
                   mi_table_has(mi_store_table_at(store, location), component)
               ? location
               : 0;
}

// Bytes of the values aside, and of the bits of those that are lifted behind them.
static size_t bits_offset(const mi_kept_values *kept) {
    const size_t values_size = (size_t)kept->column->size * kept->count;
    return (values_size + sizeof(uint64_t) - 1) & ~(sizeof(uint64_t) - 1);
}

static size_t kept_size(const mi_kept_values *kept) {
    return bits_offset(kept) + mi_bit_words(kept->count) * sizeof(uint64_t);
}

static size_t kept_alignment(const mi_kept_values *kept) {
    return kept->column->type->info.align > sizeof(uint64_t) ? kept->column->type->info.align : sizeof(uint64_t);
}

static uint8_t *kept_value(const mi_kept_values *kept, uint32_t i) {
    return kept->values + (size_t)i * kept->column->size;
}

static bool is_lifted(const mi_kept_values *kept, uint32_t i) {
    return mi_bit_get(kept->lifted, UINT32_MAX, i);
}

static void free_kept(mica_world *world, const mi_kept_values *kept) {
    mi_heap_release(&world->heap, MICA_MEMORY_STATE, kept->values, kept_size(kept), kept_alignment(kept));
}

// Ends the first `count` values aside that were constructed.
static void end_constructed(mica_world *world, const mi_kept_values *kept, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        if (!is_lifted(kept, i)) {
            mi_value_destruct(kept->column->type, &world->store.values, kept_value(kept, i), 1);
        }
    }
}

// Finds out which values will be lifted and constructs the others.
static bool fill(mica_world *world, mi_transients *transients, const mi_kept_values *kept,
                 const mica_entity *entities) {
    const mi_type *type = kept->column->type;
    mi_marks *lifted = open_lifted(transients, &world->heap, type->info.id);
    for (uint32_t i = 0; i < kept->count; i++) {
        const bool is_there = lifted != NULL && find_row(&world->store, entities[i], type->info.id) != 0;
        const uint32_t index = mica_entity_index(entities[i]);
        const bool is_fine =
            lifted != NULL && (is_there ? mi_marks_open(lifted, &world->heap, index)
                                        : mi_value_construct(type, &world->store.values, kept_value(kept, i), 1));
        if (!is_fine) {
            end_constructed(world, kept, i);
            return false;
        }
        if (is_there) {
            mi_marks_put(lifted, index, true);
            mi_bit_set(kept->lifted, i);
        }
    }
    return true;
}

bool mi_transients_prepare(mica_world *world, mi_transients *transients, const mi_transient_rows *rows) {
    mi_heap *heap = &world->heap;
    for (uint32_t i = 0; i < rows->table->column_count && rows->count > 0; i++) {
        if (!is_transient(&rows->table->columns[i])) {
            continue;
        }
        if (!MI_RESERVE(heap, MICA_MEMORY_STATE, &transients->kept, transients->kept.count + 1)) {
            return false;
        }
        mi_kept_values kept = {.column = &rows->table->columns[i], .count = rows->count, .entities = rows->entities};
        kept.values = mi_heap_allocate_zeroed(heap, MICA_MEMORY_STATE, kept_size(&kept), kept_alignment(&kept));
        if (kept.values == NULL) {
            return false;
        }
        kept.lifted = (uint64_t *)(void *)(kept.values + bits_offset(&kept));
        if (!fill(world, transients, &kept, rows->entities)) {
            free_kept(world, &kept);
            return false;
        }
        transients->kept.data[transients->kept.count++] = kept;
    }
    return true;
}

static void free_all(mica_world *world, mi_transients *transients) {
    mi_heap *heap = &world->heap;
    for (uint32_t i = 0; i < transients->lifted.count; i++) {
        mi_marks_free(&transients->lifted.data[i].marks, heap);
    }
    MI_FREE(heap, MICA_MEMORY_STATE, &transients->lifted);
    MI_FREE(heap, MICA_MEMORY_STATE, &transients->kept);
}

void mi_transients_cancel(mica_world *world, mi_transients *transients) {
    for (uint32_t i = 0; i < transients->kept.count; i++) {
        end_constructed(world, &transients->kept.data[i], transients->kept.data[i].count);
        free_kept(world, &transients->kept.data[i]);
    }
    free_all(world, transients);
}

void mi_transients_lift(mica_world *world, mi_transients *transients) {
    const mi_store *store = &world->store;
    for (uint32_t k = 0; k < transients->kept.count; k++) {
        const mi_kept_values *kept = &transients->kept.data[k];
        const mi_type *type = kept->column->type;
        for (uint32_t i = 0; i < kept->count; i++) {
            if (!is_lifted(kept, i)) {
                continue;
            }
            const uint32_t location = find_row(store, kept->entities[i], type->info.id);
            const mi_table *table = mi_store_table_at(store, location);
            if (mi_type_in_lanes(type)) {
                mi_store_read_lanes(store, table, location, type->info.id, kept_value(kept, i));
            } else {
                void *value = mi_store_value(store, table, location, type->info.id, type->info.size);
                mi_value_move_one(type, &store->values, kept_value(kept, i), value);
            }
        }
    }
}

void mi_transients_end_rows(mica_world *world, const mi_transients *transients, const mi_column *column,
                            const uint8_t *base, uint32_t first, uint32_t end) {
    const mi_marks *lifted = find_lifted(transients, column->type->info.id);
    const mica_entity *entities = (const mica_entity *)(const void *)base;
    for (uint32_t row = first; column->type->has_destruct && row < end; row++) {
        if (lifted == NULL || !mi_marks_has(lifted, mica_entity_index(entities[row]))) {
            mi_value_destruct(column->type, &world->store.values,
                              (uint8_t *)(uintptr_t)base + column->offset + (size_t)row * column->size, 1);
        }
    }
}

void mi_transients_place(mica_world *world, mi_transients *transients, const mi_table *table, uint8_t *base,
                         uint32_t first, uint32_t end) {
    for (uint32_t i = 0; i < table->column_count && first < end; i++) {
        const mi_column *column = &table->columns[i];
        if (!is_transient(column)) {
            continue;
        }
        const mi_kept_values *kept = &transients->kept.data[transients->placed_count++];
        uint8_t *start = base + column->offset;
        if (mi_type_in_lanes(column->type)) {
            mi_lanes_write(column->type, table->chunk_room, start, first, kept->values, kept->count);
        } else {
            mi_value_move(column->type, &world->store.values, start + (size_t)first * column->size, kept->values,
                          kept->count);
        }
        mi_column_mark(start, world->store.version);
        free_kept(world, kept);
    }
}

void mi_transients_finish(mica_world *world, mi_transients *transients) {
    MI_ASSERT(transients->placed_count == transients->kept.count);
    free_all(world, transients);
}

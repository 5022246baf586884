// A hole is a row whose handle is null and whose values are raw memory. Holes are closed from the last one on, so that
// the last row of the table is never a hole but the one that is being closed.
#include "scene/transfer.h"

#include "store/visibility.h"

#include <string.h>

// Moves rows to a part of one chunk of `to`.
static void move_rows(mi_store *store, mi_table *from, mi_table *to, uint32_t location, uint32_t place, uint32_t count,
                      mica_component given, const void *values, uint32_t size) {
    uint8_t *from_base = mi_store_base(store, location);
    uint8_t *to_base = mi_store_base(store, place);
    const size_t from_row = mi_row_of(location);
    const size_t to_row = mi_row_of(place);
    for (uint32_t i = 0; i < to->column_count; i++) {
        const mi_column *column = &to->columns[i];
        uint8_t *target = to_base + column->offset;
        if (column->type->info.id == given) {
            memcpy(target + to_row * size, values, (size_t)count * size);
            mi_column_mark(target, store->version);
            continue;
        }
        if (mi_type_in_lanes(column->type)) {
            mi_store_move_lanes(&(mi_row_place){to, to_base, (uint32_t)to_row},
                                &(mi_row_place){from, from_base, (uint32_t)from_row}, column->type->info.id, count);
            continue;
        }
        uint8_t *source = mi_table_column(from, from_base, column->type->info.id);
        if (count == 1) {
            mi_store_move_value(store, column->type, target, (uint32_t)to_row, source, (uint32_t)from_row);
            continue;
        }
        mi_value_move(column->type, &store->values, target + to_row * column->size, source + from_row * column->size,
                      count);
        mi_column_take_over(target, source);
    }
    mica_entity *left = (mica_entity *)(void *)from_base + from_row;
    mica_entity *moved = (mica_entity *)(void *)to_base + to_row;
    for (uint32_t i = 0; i < count && mi_store_hides_any(store); i++) {
        mi_store_count_hidden_row(store, left[i], location + i, false);
        mi_store_count_hidden_row(store, left[i], place + i, true);
    }
    for (uint32_t i = 0; i < count; i++) {
        moved[i] = left[i];
        left[i] = MICA_NULL;
        mi_slots_move(&store->slots, mica_entity_index(moved[i]), place + i);
    }
    mi_column_mark(to_base, store->version);
    to->row_count += count;
    from->row_moves++;
}

void mi_transfer_rows(mi_store *store, mi_table *from, mi_table *to, uint32_t first, uint32_t count,
                      mica_component given, const void *values, uint32_t size) {
    const uint32_t full = mi_table_full_room(to); // all rows that come are open
    for (uint32_t done = 0; done < count;) {
        const uint32_t place = mi_store_location(to, to->row_count);
        const uint32_t room = full - mi_row_of(place);
        const uint32_t run = room < count - done ? room : count - done;
        move_rows(store, from, to, first + done, place, run, given, (const uint8_t *)values + (size_t)done * size,
                  size);
        done += run;
    }
}

void mi_transfer_end(mi_store *store, mi_table *from) {
    for (uint32_t row = from->row_count; row-- > 0;) {
        const uint32_t location = mi_store_location(from, row);
        const mica_entity *entities = (const mica_entity *)(const void *)mi_store_base(store, location);
        if (!mica_entity_is_null(entities[mi_row_of(location)])) {
            continue;
        }
        if (row + 1 == from->row_count) {
            from->row_count--;
        } else {
            mi_store_close_hole(store, from, location);
        }
    }
    mi_store_close_rows(store, from);
}

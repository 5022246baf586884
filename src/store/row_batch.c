// Moving the rows of many entities.
//
// Invariants: handles and slots are those of the end at all times, as if every move of the batch were done; tables
// count the rows of a run when it ends. Values follow in the order of the moves, a column at a time: a value is copied
// out of its row before the row is filled, and a row is filled before a later move copies out of it. Chunks that become
// spare are kept until then.
#include "store/row_batch.h"

#include "base/error.h"
#include "store/visibility.h"

#include <string.h>

static mica_entity *handle_at(const mi_store *store, uint32_t location) {
    return (mica_entity *)(void *)mi_store_base(store, location) + mi_row_of(location);
}

void mi_row_batch_begin(mi_row_batch *batch, mi_store *store, mica_component component) {
    batch->store = store;
    batch->component = component;
    batch->fetches = mi_fetches(store);
    batch->hides = mi_store_hides_any(store);
    batch->count = 0;
    batch->run_count = 0;
    batch->run_left = 0;
    batch->values = NULL;
    batch->from = NULL;
    batch->to = NULL;
}

// Lets tables count the rows of the last run, which ends.
static void end_run(const mi_row_batch *batch) {
    const mi_row_run *run = &batch->runs[batch->run_count - 1];
    const uint32_t count = batch->count - run->first;
    if (run->place != 0) {
        run->to->row_count += count;
    }
    if (run->last != 0) {
        run->from->row_count -= count;
    }
    run->from->row_moves += count; // the root table has no rows, but this is as if they went
}

// A run is of as many entities as fit in the chunk that new rows come to, and in the one whose rows fill holes.
MI_APART void mi_row_batch_begin_run(mi_row_batch *batch, mi_table *from, mi_table *to) {
    mi_store *store = batch->store;
    const mi_table *root = mi_store_root(store);
    MI_ASSERT(from != to && from->is_plain && to->is_plain && batch->count < MI_ROW_BATCH);
    if (batch->run_count > 0) {
        end_run(batch);
    }
    mi_row_run *run = &batch->runs[batch->run_count++];
    *run = (mi_row_run){.from = from, .to = to, .first = batch->count};
    batch->from = from;
    batch->to = to;
    batch->run_left = MI_ROW_BATCH;
    batch->place_handle = NULL;
    batch->last_handle = NULL;
    if (to != root) {
        run->place = mi_store_location(to, to->row_count);
        const uint32_t room = mi_table_full_room(to) - mi_row_of(run->place);
        batch->run_left = room < batch->run_left ? room : batch->run_left;
        batch->place_handle = handle_at(store, run->place);
        mi_column_mark(mi_store_base(store, run->place), store->version);
    }
    if (from != root) {
        run->last = mi_store_location(from, from->row_count - 1);
        const uint32_t rows = mi_row_of(run->last) + 1;
        batch->run_left = rows < batch->run_left ? rows : batch->run_left;
        batch->last_handle = handle_at(store, run->last);
    }
    batch->place = run->place;
    batch->last = run->last;
}

MI_APART void mi_row_batch_count_hidden(const mi_row_batch *batch, mica_entity entity, uint32_t location) {
    mi_store *store = batch->store;
    if (batch->place_handle != NULL) {
        mi_store_count_hidden_row(store, entity, batch->place, true);
    }
    if (batch->last_handle != NULL) {
        mi_store_count_hidden_row(store, entity, location, false);
        if (batch->last != location) {
            mi_store_count_hidden_row(store, *batch->last_handle, batch->last, false);
            mi_store_count_hidden_row(store, *batch->last_handle, location, true);
        }
    }
}

// A column of the old table as the moves of a run see it: its rows, and those that fill holes, from the last one on.
typedef struct left_column {
    const mi_chunk *chunks;
    const uint32_t *from; // locations
    uint32_t count;
    uint32_t last; // location
    size_t offset; // in a chunk
} left_column;

// Copies the values of a column's rows to places that follow each other from `to` on (NULL: they are left), and fills
// the holes; the latest stamp of those that were copied. Inlined once for each of the common sizes.
static inline uint64_t carry_values(const left_column *left, uint8_t *to, uint32_t size) {
    // Bytes that are copied could be those of `left`, for all that a compiler knows.
    const mi_chunk *chunks = left->chunks;
    const uint32_t *from = left->from;
    const uint32_t count = left->count;
    const size_t offset = left->offset;
    uint8_t *last_column = chunks[left->last >> MI_ROW_BITS].base + offset;
    const uint8_t *last_value = last_column + (size_t)mi_row_of(left->last) * size;
    uint64_t latest = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t location = from[i];
        uint8_t *column = chunks[location >> MI_ROW_BITS].base + offset;
        uint8_t *value = column + (size_t)mi_row_of(location) * size;
        const uint64_t version = mi_column_version(column);
        if (to != NULL) {
            latest = version > latest ? version : latest;
            memcpy(to + (size_t)i * size, value, size);
        }
        if (MICA_LIKELY(value != last_value)) {
            memcpy(value, last_value, size);
            mi_column_take_over(column, last_column);
        }
        last_value -= size;
    }
    return latest;
}

static uint64_t carry_column(const left_column *left, uint8_t *to, uint32_t size) {
    switch (size) {
    case 4:
        return carry_values(left, to, 4);
    case 8:
        return carry_values(left, to, 8);
    case 12:
        return carry_values(left, to, 12);
    case 16:
        return carry_values(left, to, 16);
    default:
        return carry_values(left, to, size);
    }
}

// Fills a column of a run in the new table that the old one lacks.
static void fill_new(const mi_row_batch *batch, const mi_row_run *run, const mi_column *column, uint8_t *to,
                     uint32_t count) {
    if (column->type->info.id == batch->component && batch->values != NULL) {
        memcpy(to, batch->values + (size_t)run->first * column->size, (size_t)count * column->size);
    } else {
        memset(to, 0, (size_t)count * column->size);
    }
}

static left_column left_column_of(const mi_row_batch *batch, const mi_row_run *run, uint32_t count, size_t offset) {
    return (left_column){.chunks = batch->store->chunks,
                         .from = batch->locations + run->first,
                         .count = count,
                         .last = run->last,
                         .offset = offset};
}

// Fills the rows of a run in the new table.
static void fill_rows(const mi_row_batch *batch, const mi_row_run *run, uint32_t count) {
    const mi_store *store = batch->store;
    uint8_t *base = mi_store_base(store, run->place);
    const mi_column *end = run->to->columns + run->to->column_count;
    for (const mi_column *column = run->to->columns; column < end; column++) {
        uint8_t *start = base + column->offset;
        uint8_t *to = start + (size_t)mi_row_of(run->place) * column->size;
        if (mi_table_has(run->from, column->type->info.id)) {
            const size_t offset = (size_t)run->from->offset_of[column->type->info.id] * MI_COLUMN_ALIGN;
            const left_column left = left_column_of(batch, run, count, offset);
            mi_stamp_take_over(&mi_column_head_of(start)->stamp, carry_column(&left, to, column->size));
        } else {
            fill_new(batch, run, column, to, count);
            mi_column_mark(start, store->version);
        }
    }
}

// Fills the holes in columns that the new table lacks.
static void fill_left(const mi_row_batch *batch, const mi_row_run *run, uint32_t count) {
    const mi_column *end = run->from->columns + run->from->column_count;
    for (const mi_column *column = run->from->columns; column < end; column++) {
        if (!mi_table_has(run->to, column->type->info.id)) {
            const left_column left = left_column_of(batch, run, count, column->offset);
            carry_column(&left, NULL, column->size);
        }
    }
}

void mi_row_batch_flush(mi_row_batch *batch) {
    mi_store *store = batch->store;
    if (batch->run_count == 0) {
        return;
    }
    end_run(batch);
    for (uint32_t i = 0; i < batch->run_count; i++) {
        const mi_row_run *run = &batch->runs[i];
        const uint32_t end = i + 1 < batch->run_count ? run[1].first : batch->count;
        if (run->place != 0) {
            fill_rows(batch, run, end - run->first);
        }
        if (run->last != 0) {
            fill_left(batch, run, end - run->first);
        }
    }
    for (uint32_t i = 0; i < batch->run_count; i++) {
        mi_store_close_rows(store, batch->runs[i].from);
        MI_STORE_SHAKE(store, batch->runs[i].from);
        MI_STORE_SHAKE(store, batch->runs[i].to);
    }
    batch->count = 0;
    batch->run_count = 0;
    batch->run_left = 0; // the next entity begins a run
}

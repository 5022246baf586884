// Saving and loading parts of a world's state, and what every part has to stand: lack of memory, and bytes that nobody
// has written.
#pragma once

#include "support/test_heap.h"
#include "support/test_random.h"
#include "world/world.h"

#include <mica/mica.h>

#include <stdlib.h>
#include <string.h>

// Begins an empty record whose memory is `heap`'s.
static inline mi_record part_record(mi_heap *heap) {
    return (mi_record){.heap = heap, .allocator = &heap->allocator};
}

static inline mica_result part_save(const mica_world *world, const mi_part *part, mi_record *record) {
    mi_writer writer = {.schema = world->schema, .record = record};
    part->save(world, &writer);
    return writer.result;
}

// `record` NULL: the part's initial state.
static inline mica_result part_load(mica_world *world, const mi_part *part, const mi_record *record) {
    mi_reader reader = {0};
    void *prepared = NULL;
    if (record != NULL) {
        reader = mi_reader_of(world->schema, record);
    }
    const mica_result result = part->prepare(world, record != NULL ? &reader : NULL, &prepared);
    if (result == MICA_OK) {
        part->commit(world, prepared);
    } else if (result != MICA_OUT_OF_MEMORY) {
        assert_non_null(reader.fault);
        assert_int_equal(result, reader.result);
    }
    return result;
}

static inline bool part_records_equal(const mi_record *a, const mi_record *b) {
    return a->bytes.count == b->bytes.count && a->values.count == b->values.count &&
           memcmp(a->bytes.data, b->bytes.data, a->bytes.count) == 0;
}

// Whether a part would be saved as a record says (values with hooks are only counted).
static inline bool part_is(const mica_world *world, const mi_part *part, const mi_record *record) {
    mi_record now = part_record(record->heap);
    assert_int_equal(part_save(world, part, &now), MICA_OK);
    const bool is_equal = part_records_equal(&now, record);
    mi_record_free(&now);
    return is_equal;
}

// Loads what a record has become with other bytes. If it is taken, the world is sound; if it is not, nothing changed.
static inline bool part_stands(mica_world *world, const mi_part *part, const mi_record *record) {
    mi_record before = part_record(record->heap);
    assert_int_equal(part_save(world, part, &before), MICA_OK);
    const mica_result result = part_load(world, part, record);
    if (result != MICA_OK) {
        assert_true(result == MICA_FORMAT || result == MICA_UNKNOWN || result == MICA_LIMIT);
        assert_true(part_is(world, part, &before));
    }
    assert_string_equal(mica_world_validate(world) == MICA_OK ? "" : mica_last_error(), "");
    mi_record_free(&before);
    return result == MICA_OK;
}

// What a test does with a world whose part was taken from outside.
typedef void (*part_use)(void *user);

typedef struct part_outside {
    mica_world *world;
    const mi_part *part;
    const mi_record *record;
    part_use use; // NULL: nothing
    void *user;
} part_outside;

// Loads the record with other bytes; if they are taken the world is used, and the record loaded again.
static inline void part_try(const part_outside *outside, const uint8_t *bytes) {
    mi_record other = *outside->record;
    // Memory of the right size, so that it is noticed if anything behind it is read.
    other.bytes.data = malloc(other.bytes.count);
    memcpy(other.bytes.data, bytes, other.bytes.count);
    if (part_stands(outside->world, outside->part, &other)) {
        if (outside->use != NULL) {
            outside->use(outside->user);
        }
        assert_int_equal(part_load(outside->world, outside->part, outside->record), MICA_OK);
    }
    free(other.bytes.data);
}

// Loads every beginning of a record, which is refused, and the record with bytes changed: each by itself in several
// ways, and several of them at random.
static inline void part_assert_stands_all(const part_outside *outside) {
    static const uint8_t changes[] = {1, 2, 4, 8, 16, 32, 64, 128, 255};
    const uint32_t size = outside->record->bytes.count;
    for (uint32_t length = 0; length < size; length++) {
        mi_record other = *outside->record;
        other.bytes.data = malloc(length > 0 ? length : 1);
        other.bytes.count = length;
        memcpy(other.bytes.data, outside->record->bytes.data, length);
        assert_false(part_stands(outside->world, outside->part, &other));
        free(other.bytes.data);
    }
    uint8_t *bytes = malloc(size);
    for (uint32_t i = 0; i < size; i++) {
        for (uint32_t k = 0; k < sizeof(changes); k++) {
            memcpy(bytes, outside->record->bytes.data, size);
            bytes[i] ^= changes[k];
            part_try(outside, bytes);
        }
    }
    test_random random = {1};
    for (uint32_t turn = 0; turn < 1000; turn++) {
        memcpy(bytes, outside->record->bytes.data, size);
        for (uint32_t count = 2 + test_random_below(&random, 4); count > 0; count--) {
            bytes[test_random_below(&random, size)] = (uint8_t)test_random_below(&random, turn % 2 == 0 ? 256 : 4);
        }
        part_try(outside, bytes);
    }
    free(bytes);
}

// Saves and loads with every allocation failing once. `allocator` is that of the world and of the record's heap.
static inline void part_assert_stands_lack(mica_world *world, const mi_part *part, const mi_record *record,
                                           test_allocator *allocator) {
    for (uint64_t n = 1;; n++) {
        mi_record now = part_record(record->heap);
        test_allocator_fail_at(allocator, n);
        const mica_result result = part_save(world, part, &now);
        const bool has_failed = test_allocator_fail_stop(allocator);
        mi_record_free(&now);
        assert_int_equal(result, has_failed ? MICA_OUT_OF_MEMORY : MICA_OK);
        if (!has_failed) {
            break;
        }
    }
    mi_record before = part_record(record->heap);
    assert_int_equal(part_save(world, part, &before), MICA_OK);
    for (uint64_t n = 1;; n++) {
        mica_error_clear();
        test_allocator_fail_at(allocator, n);
        const mica_result result = part_load(world, part, record);
        const bool has_failed = test_allocator_fail_stop(allocator);
        assert_int_equal(result, has_failed ? MICA_OUT_OF_MEMORY : MICA_OK);
        assert_int_equal(mica_last_result(), MICA_OK);
        assert_int_equal(mica_world_validate(world), MICA_OK);
        if (!has_failed) {
            break;
        }
        assert_true(part_is(world, part, &before));
    }
    assert_true(part_is(world, part, record));
    mi_record_free(&before);
}

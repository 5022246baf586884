// Saving and loading parts of a world's state, and what every part has to stand: lack of memory, and bytes that nobody
// has written.
#pragma once

#include "support/test_heap.h"
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

// Loads every beginning of a record, and the record with every byte changed in several ways. Every cut is refused.
static inline void part_assert_stands_all(mica_world *world, const mi_part *part, const mi_record *record) {
    static const uint8_t changes[] = {1, 2, 4, 8, 16, 32, 64, 128, 255};
    mi_record other = part_record(record->heap);
    other.values.data = record->values.data;
    other.values.count = record->values.count;
    for (uint32_t length = 0; length <= record->bytes.count; length++) {
        // Memory of the right size, so that it is noticed if anything behind it is read.
        uint8_t *bytes = malloc(length > 0 ? length : 1);
        memcpy(bytes, record->bytes.data, length);
        other.bytes.data = bytes;
        other.bytes.count = length;
        assert_int_equal(part_stands(world, part, &other), length == record->bytes.count);
        free(bytes);
    }
    uint8_t *bytes = malloc(record->bytes.count);
    other.bytes.data = bytes;
    for (uint32_t i = 0; i < record->bytes.count; i++) {
        for (uint32_t k = 0; k < sizeof(changes); k++) {
            memcpy(bytes, record->bytes.data, record->bytes.count);
            bytes[i] ^= changes[k];
            if (part_stands(world, part, &other)) {
                assert_int_equal(part_load(world, part, record), MICA_OK);
            }
        }
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

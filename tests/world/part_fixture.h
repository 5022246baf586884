// Records of parts outside of snapshots: saved, restored, and cut short or falsified in between.
#pragma once

#include "world/world.h"
#include "world/world_fixture.h"

typedef struct part_record {
    test_allocator allocator;
    mica_allocator hooks;
    mi_heap heap;
    mi_record record;
} part_record;

static inline void part_begin(part_record *kept) {
    memset(kept, 0, sizeof(*kept));
    test_allocator_init(&kept->allocator);
    kept->hooks = test_allocator_hooks(&kept->allocator);
    assert_true(mi_heap_init(&kept->heap, &kept->hooks));
    kept->record = (mi_record){.heap = &kept->heap, .allocator = &kept->hooks};
}

// Takes what a part writes, behind what is there. Ends by part_end.
static inline mica_result part_save(part_record *kept, const mica_world *world, const mi_part *part) {
    mi_writer writer = {.schema = world->schema, .record = &kept->record};
    part->save(world, &writer);
    return writer.result;
}

static inline void part_begin_saved(part_record *kept, const mica_world *world, const mi_part *part) {
    part_begin(kept);
    assert_int_equal(part_save(kept, world, part), MICA_OK);
}

static inline void part_end(part_record *kept) {
    mi_record_free(&kept->record);
    test_allocator_finish(&kept->allocator);
}

// Restores a record, or the first `byte_size` bytes of it. What the reader found wrong stands in `fault`.
static inline mica_result part_restore_some(const part_record *kept, size_t byte_size, mica_world *world,
                                            const mi_part *part, const char **fault) {
    mi_reader reader = mi_reader_of(world->schema, &kept->record);
    reader.byte_size = byte_size;
    void *prepared = NULL;
    const mica_result result = part->prepare(world, &reader, &prepared);
    *fault = reader.fault;
    if (result == MICA_OK) {
        part->commit(world, prepared);
    }
    return result;
}

static inline mica_result part_restore(const part_record *kept, mica_world *world, const mi_part *part) {
    const char *fault;
    return part_restore_some(kept, kept->record.bytes.count, world, part, &fault);
}

static inline bool part_is_same(const part_record *a, const part_record *b) {
    return a->record.bytes.count == b->record.bytes.count &&
           (a->record.bytes.count == 0 ||
            memcmp(a->record.bytes.data, b->record.bytes.data, a->record.bytes.count) == 0);
}

// Whether a world is as when the record was taken, as far as the part says.
static inline bool part_is_as_saved(const part_record *kept, const mica_world *world, const mi_part *part) {
    part_record now;
    part_begin_saved(&now, world, part);
    const bool same = part_is_same(kept, &now);
    part_end(&now);
    return same;
}

// Writes numbers of 32 bits as a record.
static inline void part_write(part_record *kept, const uint32_t *numbers, size_t count) {
    mi_writer writer = {.record = &kept->record};
    for (size_t i = 0; i < count; i++) {
        mi_write_u32(&writer, numbers[i]);
    }
    assert_int_equal(writer.result, MICA_OK);
}

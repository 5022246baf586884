// What of a world itself is state beside entities, resources and events: its random numbers, counts that programs can
// see, and the numbers that placeholders of the library's own command buffers carry.
//
// Between calls these buffers are empty, but for what walks have recorded and memory was too short to apply; a world
// in which such commands wait has no state that could be saved.
//
// Neither part has a stamp: they are as quickly written as looked at.
#include "world/commands.h"
#include "world/notice.h"

enum { BUFFER_COUNT = 3 };

typedef struct counters {
    uint64_t skipped_count;
    uint64_t dropped_count;
    uint32_t placeholders[BUFFER_COUNT];
} counters;

// The buffers in which walks and observers record; NULL where there is none yet.
static void list_buffers(const mica_world *world, mica_commands *buffers[BUFFER_COUNT]) {
    buffers[0] = world->walk_commands;
    buffers[1] = world->signals.recorded;
    buffers[2] = world->signals.applied;
}

static void save_counters(const mica_world *world, mi_writer *writer) {
    mica_commands *buffers[BUFFER_COUNT];
    list_buffers(world, buffers);
    mi_write_u64(writer, world->command_skipped_count);
    mi_write_u64(writer, world->signals.dropped_count);
    for (uint32_t i = 0; i < BUFFER_COUNT; i++) {
        if (mica_commands_count(buffers[i]) > 0) {
            mi_write_fail(writer, MICA_OUT_OF_MEMORY, NULL);
        }
        mi_write_u32(writer, mi_commands_next_placeholder(buffers[i]));
    }
}

static bool read_counters(mi_reader *reader, counters *read) {
    bool needs_buffers = false;
    read->skipped_count = mi_read_u64(reader);
    read->dropped_count = mi_read_u64(reader);
    for (uint32_t i = 0; i < BUFFER_COUNT; i++) {
        read->placeholders[i] = mi_read_u32(reader);
        needs_buffers = needs_buffers || read->placeholders[i] > 0;
        if (read->placeholders[i] >= MICA_INDEX_MAX) {
            mi_read_fail(reader, MICA_FORMAT, "the number of a placeholder is out of range");
        }
    }
    return mi_reader_end(reader) && needs_buffers;
}

static void cancel_counters(mica_world *world, void *prepared) {
    mi_heap_release(&world->heap, MICA_MEMORY_WORLD, prepared, sizeof(counters), _Alignof(counters));
}

static mica_result prepare_counters(mica_world *world, mi_reader *reader, void **prepared) {
    *prepared = NULL;
    counters *read = mi_heap_allocate_zeroed(&world->heap, MICA_MEMORY_WORLD, sizeof(counters), _Alignof(counters));
    if (read == NULL) {
        return MICA_OUT_OF_MEMORY;
    }
    mica_result result = MICA_OK;
    if (reader != NULL) {
        const bool needs_buffers = read_counters(reader, read);
        result = needs_buffers && !mi_signal_open_buffers(world) ? MICA_OUT_OF_MEMORY : reader->result;
    }
    if (result != MICA_OK) {
        cancel_counters(world, read);
        return result;
    }
    *prepared = read;
    return MICA_OK;
}

static void commit_counters(mica_world *world, void *prepared) {
    const counters *read = prepared;
    mica_commands *buffers[BUFFER_COUNT];
    list_buffers(world, buffers);
    world->command_skipped_count = read->skipped_count;
    world->signals.dropped_count = read->dropped_count;
    for (uint32_t i = 0; i < BUFFER_COUNT; i++) {
        // What observers have recorded who were told of this restore is yet to be applied.
        if (buffers[i] != NULL && (i == 0 || mica_commands_count(buffers[i]) == 0)) {
            mi_commands_rewind(buffers[i], read->placeholders[i]);
        }
    }
    cancel_counters(world, prepared);
}

const mi_part mi_counters_part = {.name = "counters",
                                  .is_inner = true,
                                  .save = save_counters,
                                  .prepare = prepare_counters,
                                  .commit = commit_counters,
                                  .cancel = cancel_counters};

// The world's random numbers

static void save_random(const mica_world *world, mi_writer *writer) {
    for (uint32_t i = 0; i < sizeof(world->random.words) / sizeof(world->random.words[0]); i++) {
        mi_write_u64(writer, world->random.words[i]);
    }
}

static void cancel_random(mica_world *world, void *prepared) {
    mi_heap_release(&world->heap, MICA_MEMORY_WORLD, prepared, sizeof(mica_random), _Alignof(mica_random));
}

static mica_result prepare_random(mica_world *world, mi_reader *reader, void **prepared) {
    *prepared = NULL;
    mica_random *random = mi_heap_allocate(&world->heap, MICA_MEMORY_WORLD, sizeof(mica_random), _Alignof(mica_random));
    if (random == NULL) {
        return MICA_OUT_OF_MEMORY;
    }
    *random = mi_world_seeded(world);
    if (reader != NULL) {
        for (uint32_t i = 0; i < sizeof(random->words) / sizeof(random->words[0]); i++) {
            random->words[i] = mi_read_u64(reader);
        }
        if (!mi_reader_end(reader)) {
            cancel_random(world, random);
            return reader->result;
        }
    }
    *prepared = random;
    return MICA_OK;
}

static void commit_random(mica_world *world, void *prepared) {
    world->random = *(const mica_random *)prepared;
    cancel_random(world, prepared);
}

const mi_part mi_random_part = {
    .name = "random", .save = save_random, .prepare = prepare_random, .commit = commit_random, .cancel = cancel_random};

// Fuzzes the reading of journals. An input is a journal of the world below; its checksums, but those of the world, are
// put right first, so that what stands behind them is reached.
//
// Whatever the bytes are: the file is refused with a reason, or its ticks are brought back and run again; a restore
// that is refused leaves the world as it was, and one that is not leaves a valid one in the recorded state. A journal
// that was resumed goes on, and what it has then can be read. All memory comes back.
#include "fuzz.h"

#include "base/map.h"
#include "run/journal_file.h"

#include <unistd.h>

#include <string.h>

MICA_STRUCT_WITH(Place, (.storage = MICA_TABLE), {
    float x;
    uint8_t turns;
    double y;
});
MICA_STRUCT_WITH(Ore, (.storage = MICA_POOL), { int32_t grams; });
MICA_STRUCT(Push, { int32_t strength; });
MICA_STRUCT(Mill, { int64_t runs; });

static void turn(mica_run *run) {
    mica_run_state(run, Mill)->runs++;
    int32_t strength = 0;
    mica_event_reader *events = mica_run_events(run, Push);
    for (const Push *push; (push = mica_next_event(events, Push)) != NULL;) {
        strength = strength < push->strength ? push->strength : strength;
    }
    mica_each (run, it) {
        Place *place = mica_write_of(it, Place);
        for (int32_t i = 0; i < it.count; i++) {
            place[i].turns++;
            if (strength > 5 && place[i].turns % 4 == 0) {
                mica_set(mica_run_commands(run), it.entities[i], Ore, {strength});
            }
        }
    }
    if (mica_random_below(mica_run_random(run), 2) == 0) {
        mica_spawn(mica_run_commands(run), mica_value_of(Place, {.x = 1}));
    }
}

static mica_world *open_world(test_allocator *allocator) {
    mica_world *world = mica_world_create(&(mica_world_def){.allocator = test_allocator_hooks(allocator)});
    FUZZ_CHECK(world != NULL, mica_last_error());
    const mica_system_def def = {.name = "turn",
                                 .run = turn,
                                 .state = mica_type_of(Mill),
                                 .query = {mica_write(Place)},
                                 .access = {mica_reads(Push)}};
    FUZZ_CHECK(mica_register(world, Ore) != 0 && mica_register(world, Push) != 0, mica_last_error());
    FUZZ_CHECK(mica_system_add(world, &def).id != 0, mica_last_error());
    return world;
}

static uint64_t checksum_of(mica_world *world) {
    uint64_t checksum = 0;
    FUZZ_CHECK(mica_world_checksum(world, NULL, &checksum) == MICA_OK, mica_last_error());
    return checksum;
}

// Puts the sums of the head and of records right, as far as records follow each other.
static void mend(uint8_t *bytes, size_t byte_size) {
    if (byte_size < MI_JOURNAL_HEAD_SIZE) {
        return;
    }
    uint64_t sum = mi_hash_bytes(bytes, 24);
    memcpy(bytes + 24, &sum, sizeof(sum));
    size_t at = MI_JOURNAL_HEAD_SIZE;
    while (byte_size - at >= MI_JOURNAL_RECORD_SIZE) {
        uint64_t payload_size = 0;
        memcpy(&payload_size, bytes + at + 8, sizeof(payload_size));
        const size_t room = byte_size - at - MI_JOURNAL_RECORD_SIZE;
        if (payload_size > room) {
            payload_size = room;
            memcpy(bytes + at + 8, &payload_size, sizeof(payload_size));
        }
        sum = mi_hash_bytes(bytes + at + 8, (size_t)payload_size + MI_JOURNAL_RECORD_SIZE - 8);
        memcpy(bytes + at, &sum, sizeof(sum));
        at += MI_JOURNAL_RECORD_SIZE + (size_t)payload_size;
    }
}

static void write_input(const char *path, const uint8_t *bytes, size_t byte_size) {
    FILE *file = fopen(path, "wb");
    FUZZ_CHECK(file != NULL, path);
    uint8_t *mended = malloc(byte_size + 1);
    FUZZ_CHECK(mended != NULL, "no memory");
    memcpy(mended, bytes, byte_size);
    mend(mended, byte_size);
    FUZZ_CHECK(fwrite(mended, 1, byte_size, file) == byte_size && fclose(file) == 0, path);
    free(mended);
}

enum { TICKS_READ = 16 };

static void read_ticks(mica_journal_reader *reader, mica_world *world) {
    const mica_journal_info info = mica_journal_reader_info(reader);
    FUZZ_CHECK(info.checkpoint_count > 0 && info.good_byte_size <= info.byte_size, "");
    for (uint64_t i = 0; i < TICKS_READ; i++) {
        const uint64_t tick = info.first_tick + i;
        const uint64_t before = checksum_of(world);
        uint64_t recorded = 0;
        const bool is_there = mica_journal_checksum(reader, tick, &recorded);
        const mica_result result = mica_journal_restore(reader, world, tick);
        FUZZ_CHECK(is_there || result == MICA_ABSENT, mica_last_error());
        FUZZ_CHECK(checksum_of(world) == (result == MICA_OK ? recorded : before), mica_last_error());
        FUZZ_CHECK_WORLD(world);
    }
    const mica_result result =
        mica_journal_replay(reader, world, info.first_tick, info.last_tick, &(mica_replay_difference){0});
    FUZZ_CHECK(result == MICA_OK || mica_last_error()[0] != '\0', "a failure that does not say why");
    FUZZ_CHECK_WORLD(world);
}

static void go_on(mica_world *world, const char *path) {
    mica_journal *journal = mica_journal_resume(world, path, NULL);
    if (journal == NULL) {
        return;
    }
    const uint64_t tick = mica_world_tick(world);
    FUZZ_CHECK(mica_journal_step(journal, 1) == MICA_OK, mica_last_error());
    const uint64_t sum = checksum_of(world);
    FUZZ_CHECK(mica_journal_close(journal) == MICA_OK, mica_last_error());
    mica_journal_reader *reader = mica_journal_open(path, NULL);
    FUZZ_CHECK(reader != NULL, mica_last_error());
    FUZZ_CHECK(mica_journal_restore(reader, world, tick + 1) == MICA_OK, mica_last_error());
    FUZZ_CHECK(checksum_of(world) == sum, "");
    mica_journal_reader_close(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t byte_size) {
    static char path[64];
    (void)snprintf(path, sizeof(path), "/tmp/mica-fuzz-journal-%ld", (long)getpid());
    write_input(path, bytes, byte_size);
    test_allocator allocator;
    test_allocator_init(&allocator);
    mica_world *world = open_world(&allocator);
    const mica_allocator hooks = test_allocator_hooks(&allocator);
    mica_journal_reader *reader = mica_journal_open(path, &hooks);
    if (reader != NULL) {
        read_ticks(reader, world);
        mica_journal_reader_close(reader);
        go_on(world, path);
    } else {
        FUZZ_CHECK(mica_last_error()[0] != '\0', "a failure that does not say why");
    }
    mica_world_destroy(world);
    FUZZ_CHECK_MEMORY(&allocator);
    (void)remove(path);
    return 0;
}

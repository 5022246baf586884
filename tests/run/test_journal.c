// Journals: what is recorded is read again, wherever the file ends and whatever stands in it.
#include "base/map.h"
#include "run/journal_file.h"

#include "run/journal_folder.h"
#include "run/tick_world.h"
#include "support/test_said.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static void *read_file(size_t *byte_size) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    *byte_size = (size_t)ftell(file);
    rewind(file);
    void *bytes = malloc(*byte_size);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *byte_size, file), *byte_size);
    assert_int_equal(fclose(file), 0);
    return bytes;
}

static void write_file(const void *bytes, size_t byte_size) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, byte_size, file), byte_size);
    assert_int_equal(fclose(file), 0);
}

enum { TICKS = 24 };

// Runs TICKS ticks under a journal and notes the checksum after each, before the first one too.
static mica_world *record(const mica_journal_options *options, uint64_t sums[TICKS + 1]) {
    mica_world *world = tick_world_open(NULL);
    mica_journal *journal = mica_journal_create(world, path, options);
    assert_non_null(journal);
    sums[0] = tick_checksum(world);
    for (int32_t tick = 1; tick <= TICKS; tick++) {
        tick_post(world);
        assert_int_equal(mica_journal_step(journal, 0.25f), MICA_OK);
        sums[tick] = tick_checksum(world);
    }
    assert_int_equal(mica_journal_close(journal), MICA_OK);
    return world;
}

static const mica_journal_options often = {.checkpoint_tick_count = 10};

static void every_tick_can_be_brought_back(void **state) {
    (void)state;
    uint64_t sums[TICKS + 1];
    mica_world *world = record(&often, sums);
    mica_journal_reader *reader = mica_journal_open(path, NULL);
    assert_non_null(reader);
    const mica_journal_info info = mica_journal_reader_info(reader);
    assert_int_equal(info.first_tick, 0);
    assert_int_equal(info.last_tick, TICKS);
    assert_int_equal(info.tick_count, TICKS);
    assert_int_equal(info.checkpoint_count, 3);
    assert_int_equal(info.good_byte_size, info.byte_size);
    assert_string_equal(info.fault, "");
    mica_world *other = tick_world_open(NULL);
    static const uint64_t ticks[] = {TICKS, 0, 1, 9, 10, 11, 20, 23, TICKS};
    for (size_t i = 0; i < sizeof(ticks) / sizeof(ticks[0]); i++) {
        assert_int_equal(mica_journal_restore(reader, other, ticks[i]), MICA_OK);
        assert_int_equal(mica_world_tick(other), ticks[i]);
        assert_int_equal(tick_checksum(other), sums[ticks[i]]);
        uint64_t recorded = 0;
        assert_true(mica_journal_checksum(reader, ticks[i], &recorded));
        assert_int_equal(recorded, sums[ticks[i]]);
        assert_int_equal(mica_world_validate(other), MICA_OK);
    }
    tick_assert_equal(world, other);
    uint64_t recorded = 1;
    assert_false(mica_journal_checksum(reader, TICKS + 1, &recorded));
    assert_int_equal(mica_journal_restore(reader, other, TICKS + 1), MICA_ABSENT);
    assert_non_null(strstr(mica_last_error(), path));
    mica_journal_reader_close(reader);
    mica_world_destroy(other);
    mica_world_destroy(world);
}

static void what_is_changed_between_ticks_is_recorded(void **state) {
    (void)state;
    mica_world *world = tick_world_open(NULL);
    mica_journal *journal = mica_journal_create(world, path, &often);
    assert_int_equal(mica_journal_step(journal, 1), MICA_OK);
    const mica_entity guest = mica_spawn(world, mica_value_of(Place, {.x = 7}));
    assert_int_equal(mica_world_step(world, 1), MICA_OK); // without the journal
    assert_int_equal(mica_journal_step(journal, 1), MICA_OK);
    const uint64_t sum = tick_checksum(world);
    mica_destroy(world, guest);
    assert_int_equal(mica_journal_write(journal), MICA_OK);
    assert_int_equal(mica_journal_write(journal), MICA_OK); // nothing more
    mica_create(world);
    assert_int_equal(mica_journal_close(journal), MICA_OK);

    mica_world *other = tick_world_open(NULL);
    mica_journal_reader *reader = mica_journal_open(path, NULL);
    assert_int_equal(mica_journal_reader_info(reader).tick_count, 2);
    assert_int_equal(mica_journal_reader_info(reader).last_tick, 3);
    assert_int_equal(mica_journal_restore(reader, other, 3), MICA_OK);
    assert_int_equal(tick_checksum(other), sum); // behind the tick, not behind what followed
    assert_true(mica_alive(other, guest));
    assert_int_equal(mica_journal_replay(reader, other, 0, 3, NULL), MICA_OK);
    mica_journal_reader_close(reader);
    journal = mica_journal_resume(other, path, NULL); // which goes on behind everything
    assert_non_null(journal);
    tick_assert_equal(world, other);
    assert_int_equal(mica_journal_close(journal), MICA_OK);
    mica_world_destroy(other);
    mica_world_destroy(world);
}

static void a_file_that_is_cut_anywhere_is_good_up_to_its_last_complete_record(void **state) {
    (void)state;
    uint64_t sums[TICKS + 1];
    mica_world *world = record(&often, sums);
    size_t byte_size = 0;
    uint8_t *bytes = read_file(&byte_size);
    uint64_t good_size = 0;
    uint64_t last_tick = 0;
    for (size_t size = 0; size < byte_size; size += size < 4000 ? 1 : 61) {
        write_file(bytes, size);
        mica_journal_reader *reader = mica_journal_open(path, NULL);
        if (reader == NULL) { // the first checkpoint is not complete
            assert_int_equal(mica_last_result(), MICA_FORMAT);
            assert_int_equal(good_size, 0);
            continue;
        }
        const mica_journal_info info = mica_journal_reader_info(reader);
        assert_true(info.good_byte_size >= good_size && info.good_byte_size <= size);
        assert_true(info.last_tick >= last_tick);
        assert_int_equal(info.byte_size, size);
        assert_int_equal(info.fault[0] != '\0', info.good_byte_size < size);
        if (info.last_tick != last_tick) {
            assert_int_equal(mica_journal_restore(reader, world, info.last_tick), MICA_OK);
            assert_int_equal(tick_checksum(world), sums[info.last_tick]);
        }
        good_size = info.good_byte_size;
        last_tick = info.last_tick;
        mica_journal_reader_close(reader);
    }
    assert_true(last_tick >= TICKS - 1);
    free(bytes);
    mica_world_destroy(world);
}

static void a_flipped_bit_ends_the_good_part(void **state) {
    (void)state;
    uint64_t sums[TICKS + 1];
    mica_world *world = record(&often, sums);
    size_t byte_size = 0;
    uint8_t *bytes = read_file(&byte_size);
    test_random random = {.state = 4};
    for (int32_t i = 0; i < 400; i++) {
        const uint32_t at = test_random_below(&random, (uint32_t)byte_size);
        const uint8_t bit = (uint8_t)(1u << test_random_below(&random, 8));
        bytes[at] ^= bit;
        write_file(bytes, byte_size);
        bytes[at] ^= bit;
        mica_journal_reader *reader = mica_journal_open(path, NULL);
        if (reader == NULL) {
            assert_true(mica_last_result() == MICA_FORMAT || mica_last_result() == MICA_INCOMPATIBLE);
            continue;
        }
        const mica_journal_info info = mica_journal_reader_info(reader);
        assert_true(info.good_byte_size <= at);
        assert_string_not_equal(info.fault, "");
        mica_journal_reader_close(reader);
    }
    free(bytes);
    mica_world_destroy(world);
}

static void a_journal_goes_on_where_its_good_part_ends(void **state) {
    (void)state;
    uint64_t sums[TICKS + 1];
    mica_world *world = record(&often, sums);
    size_t byte_size = 0;
    uint8_t *bytes = read_file(&byte_size);
    static const size_t lost[] = {1, 50, 2000};
    for (size_t i = 0; i < sizeof(lost) / sizeof(lost[0]); i++) {
        write_file(bytes, byte_size - lost[i]);
        mica_world *other = tick_world_open(NULL);
        mica_journal *journal = mica_journal_resume(other, path, &often);
        assert_non_null(journal);
        assert_true(mica_world_tick(other) < TICKS);
        while (mica_world_tick(other) < TICKS) {
            tick_post(other);
            assert_int_equal(mica_journal_step(journal, 0.25f), MICA_OK);
            assert_int_equal(tick_checksum(other), sums[mica_world_tick(other)]);
        }
        tick_assert_equal(world, other);
        assert_int_equal(mica_journal_close(journal), MICA_OK);
        size_t size_again = 0;
        uint8_t *again = read_file(&size_again);
        assert_int_equal(size_again, byte_size);
        assert_memory_equal(again, bytes, byte_size);
        free(again);
        mica_world_destroy(other);
    }
    free(bytes);
    mica_world_destroy(world);
}

static void a_tick_that_fails_is_part_of_the_next(void **state) {
    (void)state;
    mica_world *world = tick_world_open(NULL);
    mica_journal *journal = mica_journal_create(world, path, NULL);
    assert_int_equal(mica_journal_step(journal, 1), MICA_OK);
    assert_int_equal(mica_journal_step(journal, -1), MICA_INVALID);
    assert_int_equal(mica_world_tick(world), 1);
    mica_post(mica_world_inbox(world), Push, {9, 1});
    assert_int_equal(mica_journal_step(journal, 1), MICA_OK);
    const uint64_t sum = tick_checksum(world);
    assert_int_equal(mica_journal_close(journal), MICA_OK);
    mica_journal_reader *reader = mica_journal_open(path, NULL);
    assert_int_equal(mica_journal_replay(reader, world, 0, 2, NULL), MICA_OK);
    assert_int_equal(tick_checksum(world), sum);
    mica_journal_reader_close(reader);
    mica_world_destroy(world);
}

static void a_full_disk_is_an_error_that_names_the_file_and_the_tick_stands(void **state) {
    (void)state;
    mica_world *world = tick_world_open(NULL);
    mica_journal *journal = mica_journal_create(world, path, NULL);
    assert_int_equal(mica_journal_step(journal, 1), MICA_OK);
    size_t byte_size = 0;
    free(read_file(&byte_size));
    struct rlimit old;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    assert_true(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    const struct rlimit low = {.rlim_cur = byte_size + 20, .rlim_max = old.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
    const mica_result result = mica_journal_step(journal, 1);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(result, MICA_IO);
    assert_non_null(strstr(mica_last_error(), path));
    assert_int_equal(mica_world_tick(world), 2);
    size_t size_then = 0;
    free(read_file(&size_then));
    assert_int_equal(size_then, byte_size); // nothing half-written stays

    assert_int_equal(mica_journal_step(journal, 1), MICA_OK); // records what was missed along with it
    const uint64_t sum = tick_checksum(world);
    assert_int_equal(mica_journal_close(journal), MICA_OK);
    mica_journal_reader *reader = mica_journal_open(path, NULL);
    assert_int_equal(mica_journal_reader_info(reader).last_tick, 3);
    assert_int_equal(mica_journal_replay(reader, world, 0, 3, NULL), MICA_OK);
    assert_int_equal(tick_checksum(world), sum);
    mica_journal_reader_close(reader);
    mica_world_destroy(world);
}

static void what_cannot_be_opened_is_named(void **state) {
    (void)state;
    mica_world *world = tick_world_open(NULL);
    assert_null(mica_journal_create(world, "/nowhere/journal", NULL));
    assert_int_equal(mica_last_result(), MICA_IO);
    assert_non_null(strstr(mica_last_error(), "/nowhere/journal"));
    assert_null(mica_journal_open("/nowhere/journal", NULL));
    assert_int_equal(mica_last_result(), MICA_IO);
    assert_null(mica_journal_resume(world, "/nowhere/journal", NULL));
    assert_int_equal(mica_last_result(), MICA_IO);
    write_file("{\"mica\": 1}", 11);
    assert_null(mica_journal_open(path, NULL));
    assert_int_equal(mica_last_result(), MICA_FORMAT);
    assert_non_null(strstr(mica_last_error(), path));
    assert_null(mica_journal_create(world, NULL, NULL));
    assert_null(mica_journal_create(NULL, path, NULL));
    assert_null(mica_journal_open(NULL, NULL));
    assert_int_equal(mica_journal_step(NULL, 1), MICA_INVALID);
    assert_int_equal(mica_journal_write(NULL), MICA_INVALID);
    assert_int_equal(mica_journal_close(NULL), MICA_OK);
    mica_journal_reader_close(NULL);
    assert_string_equal(mica_journal_reader_info(NULL).fault, "");
    assert_int_equal(mica_last_result(), MICA_INVALID);
    assert_int_equal(mica_journal_restore(NULL, world, 0), MICA_INVALID);
    mica_world_destroy(world);
}

static void the_old_file_stays_until_the_new_one_is_complete_so_far(void **state) {
    (void)state;
    write_file("old", 3);
    mica_world *world = tick_world_open(NULL);
    struct rlimit old;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    assert_true(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    const struct rlimit low = {.rlim_cur = 100, .rlim_max = old.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
    mica_journal *journal = mica_journal_create(world, path, NULL);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_null(journal);
    assert_int_equal(mica_last_result(), MICA_IO);
    size_t byte_size = 0;
    free(read_file(&byte_size));
    assert_int_equal(byte_size, 3);
    mica_world_destroy(world);
}

static void a_world_that_does_not_know_the_components_is_told_so(void **state) {
    (void)state;
    uint64_t sums[TICKS + 1];
    mica_world *world = record(NULL, sums);
    mica_world *stranger = mica_world_create(NULL);
    mica_journal_reader *reader = mica_journal_open(path, NULL);
    assert_int_equal(mica_journal_restore(reader, stranger, 1), MICA_UNKNOWN);
    assert_int_equal(mica_world_entity_count(stranger), 0);
    mica_journal_reader_close(reader);
    mica_world_destroy(stranger);
    mica_world_destroy(world);
}

static void records_on_the_disk_are_the_same(void **state) {
    (void)state;
    uint64_t sums[TICKS + 1];
    mica_world *world = record(&often, sums);
    size_t byte_size = 0;
    uint8_t *bytes = read_file(&byte_size);
    mica_world_destroy(world);
    const mica_journal_options synced = {.checkpoint_tick_count = 10, .sync = true};
    world = record(&synced, sums);
    size_t size_again = 0;
    uint8_t *again = read_file(&size_again);
    assert_int_equal(size_again, byte_size);
    assert_memory_equal(again, bytes, byte_size);
    free(again);
    free(bytes);
    mica_world_destroy(world);
}

static void no_memory_leaves_world_and_file(void **state) {
    (void)state;
    test_allocator allocator;
    test_allocator_init(&allocator);
    const mica_world_def def = {.allocator = test_allocator_hooks(&allocator)};
    mica_world *world = tick_world_open(&def);
    mica_journal *journal = mica_journal_create(world, path, &often);
    for (int32_t i = 0; i < 9; i++) {
        tick_post(world);
        assert_int_equal(mica_journal_step(journal, 0.25f), MICA_OK);
    }
    for (uint64_t n = 1;; n++) {
        tick_post(world);
        test_allocator_fail_at(&allocator, n);
        const mica_result result = mica_journal_step(journal, 0.25f);
        if (!test_allocator_fail_stop(&allocator)) {
            assert_int_equal(result, MICA_OK);
            break;
        }
        if (result != MICA_OK) {
            assert_int_equal(result, MICA_OUT_OF_MEMORY);
        }
        assert_int_equal(mica_world_validate(world), MICA_OK);
    }
    assert_int_equal(mica_journal_close(journal), MICA_OK);
    mica_world *other = tick_world_open(&def);
    for (uint64_t n = 1;; n++) {
        const uint64_t sum = tick_checksum(other);
        test_allocator_fail_at(&allocator, n);
        mica_journal *resumed = mica_journal_resume(other, path, &often);
        const bool failed = test_allocator_fail_stop(&allocator);
        if (resumed != NULL) {
            tick_assert_equal(world, other);
            assert_int_equal(mica_journal_close(resumed), MICA_OK);
            if (!failed) {
                break;
            }
        } else {
            assert_int_equal(mica_last_result(), MICA_OUT_OF_MEMORY);
            assert_int_equal(tick_checksum(other), sum);
        }
    }
    mica_world_destroy(other);
    mica_world_destroy(world);
    test_allocator_finish(&allocator);
}

// Lies: files whose checksums are right, and that lead nowhere.

enum {
    SIZE_AT = 8, // in a record
    TICK_AT = 16,
    SUM_AT = 24,
    KIND_AT = 32,
    LENGTH_OF_TICK_AT = MI_JOURNAL_RECORD_SIZE, // in the record of a tick that took one Push in
    NAME_AT = LENGTH_OF_TICK_AT + 12,
    VALUE_SIZE_AT = NAME_AT + 4,
    STEPS_AT = VALUE_SIZE_AT + 12,
    BEFORE_AT = STEPS_AT + 4,
    AFTER_AT = BEFORE_AT + 8
};

static uint64_t number_at(const uint8_t *bytes) {
    uint64_t number = 0;
    for (int32_t i = 0; i < 8; i++) {
        number |= (uint64_t)bytes[i] << 8 * i;
    }
    return number;
}

static void put_number(uint8_t *bytes, uint64_t number) {
    for (int32_t i = 0; i < 8; i++) {
        bytes[i] = (uint8_t)(number >> 8 * i);
    }
}

static uint8_t *record_in(uint8_t *bytes, int32_t number) {
    uint8_t *record = bytes + MI_JOURNAL_HEAD_SIZE;
    for (; number > 0; number--) {
        record += MI_JOURNAL_RECORD_SIZE + number_at(record + SIZE_AT);
    }
    return record;
}

static bool construct_hook(void *values, int32_t count, const mica_hook_context *context) {
    (void)context;
    memset(values, 0, (size_t)count * 8);
    return true;
}
MICA_STRUCT_WITH(Hook, (.hooks = {.construct = construct_hook}), { int32_t a, b; });

// A checkpoint, and a tick that took one message in.
static uint8_t *record_one_tick(mica_world *world, size_t *byte_size) {
    mica_journal *journal = mica_journal_create(world, path, NULL);
    assert_int_equal(mica_post(mica_world_inbox(world), Push, {1, 1}), MICA_OK);
    assert_int_equal(mica_journal_step(journal, 1), MICA_OK);
    assert_int_equal(mica_journal_close(journal), MICA_OK);
    return read_file(byte_size);
}

typedef struct lie {
    uint32_t at; // of the tick's record
    const char *bytes;
    uint32_t byte_size;
    mica_result result;
    const char *said;
} lie;

static const lie lies[] = {
    {TICK_AT, "\7", 1, MICA_FORMAT, "it leads to another tick"},
    {SUM_AT, "\0\0\0\0", 4, MICA_FORMAT, "it leads to a state with another checksum"},
    {LENGTH_OF_TICK_AT, "\0\0\x80\x7f", 4, MICA_FORMAT, "the length of a tick is negative or not finite"},
    {LENGTH_OF_TICK_AT, "\0\0\x80\xbf", 4, MICA_FORMAT, "the length of a tick is negative or not finite"},
    {NAME_AT, "Posh", 4, MICA_UNKNOWN, "a message of Posh, which is not known here"},
    {NAME_AT, "Hook", 4, MICA_FORMAT, "a message of a type with hooks"},
    {VALUE_SIZE_AT, "\4", 1, MICA_FORMAT, "a message of another size than its type here"},
    {STEPS_AT, "\xff\xff", 2, MICA_FORMAT, "record at byte "},
    {BEFORE_AT + 3, "\1", 1, MICA_FORMAT, "it ends too early"},
    {AFTER_AT, "NOT A DELTA", 11, MICA_FORMAT, "record at byte "},
};

static void lies_lead_nowhere_and_are_named(void **state) {
    (void)state;
    mica_world *world = tick_world_open(NULL);
    mica_register(world, Hook);
    size_t byte_size = 0;
    uint8_t *bytes = record_one_tick(world, &byte_size);
    const uint64_t sum = tick_checksum(world);
    for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
        uint8_t *told = malloc(byte_size);
        memcpy(told, bytes, byte_size);
        uint8_t *record = record_in(told, 1);
        memcpy(record + lies[i].at, lies[i].bytes, lies[i].byte_size);
        put_number(record, mi_hash_bytes(record + 8, (size_t)(told + byte_size - record) - 8));
        write_file(told, byte_size);
        free(told);
        mica_journal_reader *reader = mica_journal_open(path, NULL);
        assert_non_null(reader);
        assert_int_equal(mica_journal_restore(reader, world, mica_journal_reader_info(reader).last_tick),
                         lies[i].result);
        assert_said(lies[i].said);
        assert_said(path);
        assert_int_equal(tick_checksum(world), sum); // nothing has changed
        mica_journal_reader_close(reader);
    }
    free(bytes);
    mica_world_destroy(world);
}

static void a_record_of_another_kind_ends_the_good_part(void **state) {
    (void)state;
    mica_world *world = tick_world_open(NULL);
    size_t byte_size = 0;
    uint8_t *bytes = record_one_tick(world, &byte_size);
    for (int32_t number = 1; number >= 0; number--) {
        uint8_t *record = record_in(bytes, number);
        record[KIND_AT] = number == 1 ? 9 : MI_JOURNAL_TICK;
        put_number(record, mi_hash_bytes(record + 8, MI_JOURNAL_RECORD_SIZE - 8 + number_at(record + SIZE_AT)));
        write_file(bytes, byte_size);
        mica_journal_reader *reader = mica_journal_open(path, NULL);
        if (number == 1) {
            assert_string_equal(mica_journal_reader_info(reader).fault, "a record of an unknown kind");
        } else {
            assert_null(reader);
            assert_int_equal(mica_last_result(), MICA_FORMAT);
            assert_said("a journal without a complete checkpoint");
        }
        mica_journal_reader_close(reader);
    }
    free(bytes);
    mica_world_destroy(world);
}

static void a_journal_of_another_version_is_incompatible(void **state) {
    (void)state;
    mica_world *world = tick_world_open(NULL);
    size_t byte_size = 0;
    uint8_t *bytes = record_one_tick(world, &byte_size);
    bytes[8] = MI_JOURNAL_VERSION + 1;
    put_number(bytes + 24, mi_hash_bytes(bytes, 24));
    write_file(bytes, byte_size);
    assert_null(mica_journal_open(path, NULL));
    assert_int_equal(mica_last_result(), MICA_INCOMPATIBLE);
    assert_said("a journal of another version of the format, or handle width");
    free(bytes);
    mica_world_destroy(world);
}

// By another program, while it is being read.
static void a_file_that_changes_under_its_reader_is_found_out(void **state) {
    (void)state;
    mica_world *world = tick_world_open(NULL);
    size_t byte_size = 0;
    uint8_t *bytes = record_one_tick(world, &byte_size);
    mica_journal_reader *reader = mica_journal_open(path, NULL);
    uint8_t *record = record_in(bytes, 1);
    record[KIND_AT] = MI_JOURNAL_CHANGE;
    put_number(record, mi_hash_bytes(record + 8, (size_t)(bytes + byte_size - record) - 8));
    write_file(bytes, byte_size);
    assert_int_equal(mica_journal_restore(reader, world, 1), MICA_FORMAT);
    assert_said("it is another one than before");
    write_file(bytes, byte_size - 1);
    assert_int_equal(mica_journal_restore(reader, world, 1), MICA_FORMAT);
    assert_said("the file ends within a record");
    mica_journal_reader_close(reader);
    free(bytes);
    mica_world_destroy(world);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(every_tick_can_be_brought_back),
        CASE(what_is_changed_between_ticks_is_recorded),
        CASE(a_file_that_is_cut_anywhere_is_good_up_to_its_last_complete_record),
        CASE(a_flipped_bit_ends_the_good_part),
        CASE(a_journal_goes_on_where_its_good_part_ends),
        CASE(a_tick_that_fails_is_part_of_the_next),
        CASE(a_full_disk_is_an_error_that_names_the_file_and_the_tick_stands),
        CASE(what_cannot_be_opened_is_named),
        CASE(the_old_file_stays_until_the_new_one_is_complete_so_far),
        CASE(a_world_that_does_not_know_the_components_is_told_so),
        CASE(records_on_the_disk_are_the_same),
        CASE(no_memory_leaves_world_and_file),
        CASE(lies_lead_nowhere_and_are_named),
        CASE(a_record_of_another_kind_ends_the_good_part),
        CASE(a_journal_of_another_version_is_incompatible),
        CASE(a_file_that_changes_under_its_reader_is_found_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

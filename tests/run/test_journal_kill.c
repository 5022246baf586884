// A program that keeps a journal is ended by SIGKILL, again and again, wherever it happens to be: each time the journal
// is good up to its last complete tick, and the world in it is that of a run that nobody has interrupted.
#include "run/tick_world.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KILLS = 300, TICKS = 60, GOES_ON_EVERY = 15 };

static char folder[64];
static char path[128];
static uint64_t sums[TICKS + 1];

static const mica_journal_options often = {.checkpoint_tick_count = 7};

static int set_up(void **state) {
    (void)state;
    (void)snprintf(folder, sizeof(folder), "/tmp/mica-test-kill-XXXXXX");
    if (mkdtemp(folder) == NULL) {
        return -1;
    }
    (void)snprintf(path, sizeof(path), "%s/journal", folder);
    mica_world *world = tick_world_open(NULL);
    sums[0] = tick_checksum(world);
    for (int32_t tick = 1; tick <= TICKS; tick++) {
        tick_post(world);
        assert_int_equal(mica_world_step(world, 0.25f), MICA_OK);
        sums[tick] = tick_checksum(world);
    }
    mica_world_destroy(world);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    (void)remove(path);
    return rmdir(folder);
}

// The program: runs on until it is ended, and says before each tick that it is about to begin.
static void run_program(int tell) {
    mica_world *world = tick_world_open(NULL);
    mica_journal *journal = mica_journal_create(world, path, &often);
    while (journal != NULL && mica_world_tick(world) < TICKS) {
        if (write(tell, "t", 1) != 1) {
            _exit(2);
        }
        tick_post(world);
        if (mica_journal_step(journal, 0.25f) != MICA_OK) {
            _exit(3);
        }
    }
    (void)write(tell, "e", 1);
    for (;;) {
        (void)pause();
    }
}

// Waits until the program is about to begin so many ticks and, while that goes on, for a while longer.
static void kill_program(pid_t program, int listen, uint32_t tick_count, uint32_t turns) {
    char byte = 0;
    for (uint32_t i = 0; i < tick_count && byte != 'e'; i++) {
        ssize_t count = 0;
        do {
            count = read(listen, &byte, 1);
        } while (count < 0 && errno == EINTR);
        assert_int_equal(count, 1);
    }
    for (volatile uint32_t i = 0; i < turns; i++) {
    }
    assert_int_equal(kill(program, SIGKILL), 0);
    int status = 0;
    assert_int_equal(waitpid(program, &status, 0), program);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void run_and_kill(test_random *random) {
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    const pid_t program = fork();
    assert_true(program >= 0);
    if (program == 0) {
        (void)close(ends[0]);
        run_program(ends[1]);
    }
    (void)close(ends[1]);
    kill_program(program, ends[0], 1 + test_random_below(random, TICKS), test_random_below(random, 400000));
    (void)close(ends[0]);
}

// Goes on with a journal to the end of what an uninterrupted run does.
static void go_on(void) {
    mica_world *world = tick_world_open(NULL);
    mica_journal *journal = mica_journal_resume(world, path, &often);
    assert_non_null(journal);
    while (mica_world_tick(world) < TICKS) {
        tick_post(world);
        assert_int_equal(mica_journal_step(journal, 0.25f), MICA_OK);
        assert_int_equal(tick_checksum(world), sums[mica_world_tick(world)]);
    }
    assert_int_equal(mica_journal_close(journal), MICA_OK);
    mica_world_destroy(world);
    mica_journal_reader *reader = mica_journal_open(path, NULL);
    assert_non_null(reader);
    const mica_journal_info info = mica_journal_reader_info(reader);
    assert_int_equal(info.last_tick, TICKS);
    assert_int_equal(info.good_byte_size, info.byte_size);
    mica_journal_reader_close(reader);
}

static void a_program_that_is_killed_loses_no_complete_tick(void **state) {
    (void)state;
    test_random random = {.state = 300};
    mica_world *world = tick_world_open(NULL);
    uint64_t tick_count = 0;
    for (int32_t i = 0; i < KILLS; i++) {
        (void)remove(path);
        run_and_kill(&random);
        mica_journal_reader *reader = mica_journal_open(path, NULL);
        assert_non_null(reader);
        const uint64_t last_tick = mica_journal_reader_info(reader).last_tick;
        assert_true(last_tick <= TICKS);
        if (mica_journal_restore(reader, world, last_tick) != MICA_OK) {
            fail_msg("kill %d: %s", i, mica_last_error());
        }
        assert_int_equal(mica_world_tick(world), last_tick);
        assert_int_equal(tick_checksum(world), sums[last_tick]);
        tick_count += last_tick;
        mica_journal_reader_close(reader);
        if (i % GOES_ON_EVERY == 0) {
            go_on();
        }
    }
    assert_true(tick_count > KILLS); // they were not all killed at once
    mica_world_destroy(world);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_program_that_is_killed_loses_no_complete_tick)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

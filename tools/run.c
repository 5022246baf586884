// `mica run`: a scene and systems, run at a fixed step.
#include "commands.h"
#include "progress.h"
#include "say.h"
#include "session.h"
#include "statistics.h"
#include "trace_file.h"

#include <mica/checksum.h>
#include <mica/diagnose.h>
#include <mica/hardware.h>
#include <mica/journal.h>
#include <mica/synctest.h>
#include <mica/system.h>
#include <mica/thread_check.h>

#include <inttypes.h>
#include <stdlib.h>

static const option options[] = {
    OPTION_OF_PLUGINS,
    {"--ticks", "N", "run N ticks (600)", OPTION_TICKS, offsetof(arguments, tick_count)},
    {"--hz", "N", "ticks in a second of the scene (60)", OPTION_RATE, offsetof(arguments, tick_rate)},
    OPTION_OF_THREADS,
    {"--out", "FILE", "write the world to a JSON scene, which `mica run` loads again", OPTION_PATH,
     offsetof(arguments, out_path)},
    {"--journal", "FILE", "record every tick in a journal, which `mica replay` runs again", OPTION_PATH,
     offsetof(arguments, journal_path)},
    {"--synctest", "K", "go K ticks back after every tick, run them again, and say what is not the same", OPTION_TICKS,
     offsetof(arguments, synctest_count)},
    {"--check-threads", NULL, "run every tick on one thread and on N (4), and say what is not the same", OPTION_FLAG,
     offsetof(arguments, check_threads)},
    {"--check-access", NULL, "stop at systems that touch what they have not declared, also through pointers",
     OPTION_FLAG, offsetof(arguments, check_access)},
    {"--trace", "FILE", "write what ran when, on which thread, as JSON that Perfetto opens", OPTION_PATH,
     offsetof(arguments, trace_path)},
    {"--diagnose", NULL, "print what looks wrong: systems that never ran, queries that match nobody, ...", OPTION_FLAG,
     offsetof(arguments, diagnose)},
    {"--checksum", NULL, "print the checksum of the world after the run", OPTION_FLAG, offsetof(arguments, checksum)},
    {"--stats", NULL, "print what the world holds and how long each system took", OPTION_FLAG,
     offsetof(arguments, stats)},
    {"--hardware", NULL, "count instructions, cycles and misses of systems, for --stats and --trace", OPTION_FLAG,
     offsetof(arguments, counts_hardware)},
    OPTION_OF_HELP,
    {0},
};

static const command_syntax syntax = {
    .name = "mica run",
    .operand_name = "SCENE",
    .purpose = "Loads a scene (glTF 2.0 as .gltf or .glb, or JSON of Mica) into a world and runs systems over it.\n"
               "Libraries are loaded before the scene, so that their components are known.\n",
    .options = options,
};

// How ticks are run: plainly, into a journal, or each of them again, maybe on other threads.
typedef struct runner {
    mica_world *world;
    mica_journal *journal;
    mica_synctest *synctest;
    bool checks_threads;
    trace_file trace;
} runner;

static bool open_runner(runner *opened, mica_world *world, const arguments *values) {
    *opened = (runner){.world = world, .checks_threads = values->check_threads};
    if (values->journal_path != NULL) {
        const mica_journal_options journal_options = {.steps = true};
        opened->journal = mica_journal_create(world, values->journal_path, &journal_options);
    }
    if (values->synctest_count > 0) {
        opened->synctest = mica_synctest_create(world, (int32_t)values->synctest_count);
    }
    if (values->counts_hardware && mica_hardware_begin(world) != MICA_OK) {
        say("warning: %s", mica_last_error()); // all else goes on
    }
    const bool has_trace = values->trace_path == NULL || trace_file_open(&opened->trace, world, values->trace_path);
    const bool is_open = (opened->journal != NULL) == (values->journal_path != NULL) &&
                         (opened->synctest != NULL) == (values->synctest_count > 0);
    if (!is_open) {
        say("%s", mica_last_error());
    }
    return is_open && has_trace;
}

// False: the journal is not complete, which was said.
static bool close_runner(runner *opened) {
    mica_synctest_destroy(opened->synctest);
    const bool has_trace = trace_file_close(&opened->trace);
    const bool is_fine = mica_journal_close(opened->journal) == MICA_OK;
    if (!is_fine) {
        say("%s", mica_last_error());
    }
    return is_fine && has_trace;
}

static mica_result run_tick(const runner *opened, float delta_seconds) {
    if (opened->journal != NULL) {
        return mica_journal_step(opened->journal, delta_seconds);
    }
    if (opened->checks_threads) {
        return mica_world_check_threads(opened->world, delta_seconds, NULL);
    }
    return opened->synctest != NULL ? mica_synctest_step(opened->synctest, delta_seconds, NULL)
                                    : mica_world_step(opened->world, delta_seconds);
}

static bool run_ticks(mica_world *world, const arguments *values) {
    const float delta_seconds = (float)(1 / values->tick_rate);
    runner opened;
    bool is_fine = open_runner(&opened, world, values);
    progress bar = progress_start(values->tick_count);
    for (int64_t tick = 0; is_fine && tick < values->tick_count; tick++) {
        progress_show(&bar, tick);
        is_fine = run_tick(&opened, delta_seconds) == MICA_OK;
        trace_file_add(&opened.trace);
        if (!is_fine) {
            progress_end(&bar);
            say("%s: tick %llu: %s", values->scene_path, (unsigned long long)mica_world_tick(world), mica_last_error());
        }
    }
    progress_end(&bar);
    return close_runner(&opened) && is_fine;
}

static bool write_scene(mica_world *world, const char *path) {
    char message[MICA_SAVE_MESSAGE_SIZE];
    const mica_save_options save_options = {.log = say_warnings()};
    if (mica_scene_save(world, path, &save_options, message) != MICA_OK) {
        say("%s", message);
        return false;
    }
    return true;
}

static bool print_checksum(mica_world *world) {
    const mica_checksum_options covered = {.leave_transient = true}; // as in scenes and journals
    uint64_t checksum = 0;
    if (mica_world_checksum(world, &covered, &checksum) != MICA_OK) {
        say("%s", mica_last_error());
        return false;
    }
    (void)printf("checksum: %016" PRIx64 "\n", checksum);
    return true;
}

static void print_diagnosis(const mica_diagnosis *diagnosis, void *user) {
    (void)user;
    (void)printf("%s: %s\n", mica_diagnosis_name(diagnosis->kind), diagnosis->text);
}

static bool run(const arguments *values) {
    session opened;
    const bool is_open = session_open(&opened, values);
    bool is_fine = is_open && run_ticks(opened.world, values);
    if (is_fine && values->out_path != NULL) {
        is_fine = write_scene(opened.world, values->out_path);
    }
    if (is_fine && values->checksum) {
        is_fine = print_checksum(opened.world);
    }
    if (is_fine && values->stats && !statistics_print(opened.world, stdout)) {
        say("out of memory");
        is_fine = false;
    }
    if (is_open && values->diagnose) {
        (void)mica_world_diagnose(opened.world, print_diagnosis, NULL);
    }
    session_close(&opened);
    return is_fine;
}

static bool check_usage(const arguments *values) {
    if (values->synctest_count > MICA_SYNCTEST_TICKS_MAX) {
        say("%s: --synctest: expected at most %d ticks", syntax.name, MICA_SYNCTEST_TICKS_MAX);
    } else if (values->synctest_count > 0 && values->journal_path != NULL) {
        say("%s: --synctest and --journal exclude each other", syntax.name);
    } else if (values->check_threads && (values->synctest_count > 0 || values->journal_path != NULL)) {
        say("%s: --check-threads excludes --synctest and --journal", syntax.name);
    } else if (values->check_access && values->thread_count != 0) {
        say("%s: --check-access runs one system at a time and excludes --threads and --check-threads", syntax.name);
    } else if (values->check_threads && values->thread_count == 1) {
        say("%s: --check-threads: expected at least 2 threads", syntax.name);
    } else {
        return true;
    }
    return false;
}

// How many threads there are where nobody has said so.
#define CHECKED_THREADS 4

int command_run(int argc, char **argv) {
    arguments values = {.tick_count = 600, .tick_rate = 60};
    int exit_code = EXIT_DONE;
    if (session_read_arguments(&syntax, argc, argv, &values, &exit_code)) {
        values.thread_count = values.check_threads && values.thread_count == 0 ? CHECKED_THREADS : values.thread_count;
        exit_code = !check_usage(&values) ? EXIT_USAGE : run(&values) ? EXIT_DONE : EXIT_FAILED;
    }
    free(values.plugin_paths);
    return exit_code;
}

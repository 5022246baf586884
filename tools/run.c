// `mica run`: a scene and systems, run at a fixed step.
#include "commands.h"
#include "progress.h"
#include "say.h"
#include "session.h"
#include "statistics.h"

#include <mica/checksum.h>
#include <mica/diagnose.h>
#include <mica/system.h>

#include <inttypes.h>
#include <stdlib.h>

static const option options[] = {
    OPTION_OF_PLUGINS,
    {"--ticks", "N", "run N ticks (600)", OPTION_TICKS, offsetof(arguments, tick_count)},
    {"--hz", "N", "ticks in a second of the scene (60)", OPTION_RATE, offsetof(arguments, tick_rate)},
    {"--out", "FILE", "write the world to a JSON scene, which `mica run` loads again", OPTION_PATH,
     offsetof(arguments, out_path)},
    {"--diagnose", NULL, "print what looks wrong: systems that never ran, queries that match nobody, ...", OPTION_FLAG,
     offsetof(arguments, diagnose)},
    {"--checksum", NULL, "print the checksum of the world after the run", OPTION_FLAG, offsetof(arguments, checksum)},
    {"--stats", NULL, "print what the world holds and how long each system took", OPTION_FLAG,
     offsetof(arguments, stats)},
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

static bool run_ticks(mica_world *world, const arguments *values) {
    const float delta_seconds = (float)(1 / values->tick_rate);
    progress bar = progress_start(values->tick_count);
    bool is_fine = true;
    for (int64_t tick = 0; is_fine && tick < values->tick_count; tick++) {
        progress_show(&bar, tick);
        is_fine = mica_world_step(world, delta_seconds) == MICA_OK;
    }
    progress_end(&bar);
    if (!is_fine) {
        say("%s: tick %llu: %s", values->scene_path, (unsigned long long)mica_world_tick(world), mica_last_error());
    }
    return is_fine;
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
    uint64_t checksum = 0;
    if (mica_world_checksum(world, NULL, &checksum) != MICA_OK) {
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

int command_run(int argc, char **argv) {
    arguments values = {.tick_count = 600, .tick_rate = 60};
    int exit_code = EXIT_DONE;
    if (session_read_arguments(&syntax, argc, argv, &values, &exit_code)) {
        exit_code = run(&values) ? EXIT_DONE : EXIT_FAILED;
    }
    free(values.plugin_paths);
    return exit_code;
}

// `mica replay`: the ticks of a journal, run again.
#include "commands.h"
#include "say.h"
#include "session.h"

#include <mica/checksum.h>
#include <mica/journal.h>
#include <mica/system.h>

#include <inttypes.h>
#include <stdlib.h>

static const option options[] = {
    OPTION_OF_PLUGINS,
    {"--from", "TICK", "begin when so many ticks are complete (the first in the journal)", OPTION_TICKS,
     offsetof(arguments, from_tick)},
    {"--to", "TICK", "end when so many ticks are complete (the last in the journal)", OPTION_TICKS,
     offsetof(arguments, to_tick)},
    OPTION_OF_HELP,
    {0},
};

static const command_syntax syntax = {
    .name = "mica replay",
    .operand_name = "FILE",
    .purpose = "Restores a state of a journal, runs the recorded ticks again with what came in then, and compares the\n"
               "world with the recorded one after each. The libraries are those that the journal was written with.\n",
    .options = options,
};

static void warn_of_rest(const char *path, const mica_journal_info *info) {
    if (info->fault[0] != '\0') {
        say("warning: %s: good up to tick %" PRIu64 ", at byte %" PRIu64 " of %" PRIu64 ": %s", path, info->last_tick,
            info->good_byte_size, info->byte_size, info->fault);
    }
}

static bool replay(mica_world *world, mica_journal_reader *reader, const arguments *values) {
    const mica_journal_info info = mica_journal_reader_info(reader);
    const uint64_t from = values->from_tick < 0 ? info.first_tick : (uint64_t)values->from_tick;
    const uint64_t to = values->to_tick < 0 ? info.last_tick : (uint64_t)values->to_tick;
    const mica_checksum_options covered = {.leave_transient = true}; // as in the journal
    uint64_t checksum = 0;
    warn_of_rest(values->scene_path, &info);
    if (mica_journal_replay(reader, world, from, to, NULL) != MICA_OK ||
        mica_world_checksum(world, &covered, &checksum) != MICA_OK) {
        say("%s: %s", values->scene_path, mica_last_error());
        return false;
    }
    (void)printf("ticks: %" PRIu64 " to %" PRIu64 ", as recorded\nchecksum: %016" PRIx64 "\n", from, to, checksum);
    return true;
}

static bool run(const arguments *values) {
    session opened;
    bool is_fine = session_open_world(&opened, values);
    mica_journal_reader *reader = is_fine ? mica_journal_open(values->scene_path, NULL) : NULL;
    if (is_fine && reader == NULL) {
        say("%s", mica_last_error());
        is_fine = false;
    }
    is_fine = is_fine && replay(opened.world, reader, values);
    mica_journal_reader_close(reader);
    session_close(&opened);
    return is_fine;
}

int command_replay(int argc, char **argv) {
    arguments values = {.from_tick = -1, .to_tick = -1};
    int exit_code = EXIT_DONE;
    if (session_read_arguments(&syntax, argc, argv, &values, &exit_code)) {
        exit_code = run(&values) ? EXIT_DONE : EXIT_FAILED;
    }
    free(values.plugin_paths);
    return exit_code;
}

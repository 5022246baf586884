// The difference between two journals. Recorded checksums tell which tick it is; the two states are then brought back
// and compared, one after the other in the same world, since both are of its schema.
#include "journal_diff.h"

#include "say.h"
#include "session.h"

#include <mica/checksum.h>
#include <mica/journal.h>
#include <mica/snapshot.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool journal_is_at(const char *path) {
    static const char magic[] = "MICAJRNL";
    char begin[sizeof(magic) - 1] = "";
    FILE *file = fopen(path, "rb");
    const bool is_read = file != NULL && fread(begin, 1, sizeof(begin), file) == sizeof(begin);
    (void)(file != NULL && fclose(file));
    return is_read && memcmp(begin, magic, sizeof(begin)) == 0;
}

// The state after a tick; NULL: not to be had, and why was said.
static mica_snapshot *state_after(mica_journal_reader *reader, mica_world *world, uint64_t tick) {
    mica_snapshot *state =
        mica_journal_restore(reader, world, tick) == MICA_OK ? mica_snapshot_take(world, NULL) : NULL;
    if (state == NULL) {
        say("%s", mica_last_error());
    }
    return state;
}

static int print_difference(mica_journal_reader *const readers[2], mica_world *world, uint64_t tick) {
    mica_snapshot *first = state_after(readers[0], world, tick);
    mica_snapshot *second = first == NULL ? NULL : state_after(readers[1], world, tick);
    mica_difference difference;
    const mica_checksum_options options = {.leave_transient = true}; // a journal knows nothing of them
    if (second != NULL && mica_snapshot_compare(first, second, &options, &difference) == MICA_OK) {
        (void)printf("tick %" PRIu64 ": %s\n", tick, difference.text);
    } else if (second != NULL) {
        say("%s", mica_last_error());
    }
    mica_snapshot_release(second);
    mica_snapshot_release(first);
    return EXIT_FAILED;
}

static int compare(mica_journal_reader *const readers[2], mica_world *world) {
    const mica_journal_info infos[2] = {mica_journal_reader_info(readers[0]), mica_journal_reader_info(readers[1])};
    const uint64_t begin = infos[0].first_tick > infos[1].first_tick ? infos[0].first_tick : infos[1].first_tick;
    const uint64_t end = infos[0].last_tick < infos[1].last_tick ? infos[0].last_tick : infos[1].last_tick;
    for (uint64_t tick = begin; tick <= end && tick >= begin; tick++) {
        uint64_t sums[2];
        if (mica_journal_checksum(readers[0], tick, &sums[0]) && mica_journal_checksum(readers[1], tick, &sums[1]) &&
            sums[0] != sums[1]) {
            return print_difference(readers, world, tick);
        }
    }
    if (infos[0].last_tick != infos[1].last_tick) {
        (void)printf("one ends with tick %" PRIu64 " and the other with tick %" PRIu64 "\n", infos[0].last_tick,
                     infos[1].last_tick);
        return EXIT_FAILED;
    }
    return EXIT_DONE;
}

int journal_diff(const arguments *values) {
    const char *const paths[2] = {values->scene_path, values->second_path};
    mica_journal_reader *readers[2] = {NULL, NULL};
    session opened;
    bool is_fine = session_open_world(&opened, values);
    for (int i = 0; is_fine && i < 2; i++) {
        readers[i] = mica_journal_open(paths[i], NULL);
        is_fine = readers[i] != NULL;
        if (!is_fine) {
            say("%s", mica_last_error());
        }
    }
    const int exit_code = is_fine ? compare(readers, opened.world) : EXIT_FAILED;
    mica_journal_reader_close(readers[1]);
    mica_journal_reader_close(readers[0]);
    session_close(&opened);
    return exit_code;
}

// `mica diff`: two scenes, each loaded into a world of its own, and the first thing in which the worlds differ; or two
// journals, and the first tick after which they do.
#include "commands.h"
#include "journal_diff.h"
#include "say.h"
#include "session.h"

#include <mica/checksum.h>
#include <mica/name.h>

#include <stdlib.h>

static const option options[] = {
    OPTION_OF_PLUGINS,
    OPTION_OF_HELP,
    {0},
};

static const command_syntax syntax = {
    .name = "mica diff",
    .operand_name = "FILE",
    .second_name = "FILE",
    .purpose =
        "Loads two scenes and prints the first difference: of entities the one that comes first, of its components\n"
        "the first by name, of its value the first field; then what the worlds hold beside entities. Prints\n"
        "nothing, and ends with 0, if there is none; ends with 1 if there is one. Of two journals, prints the first\n"
        "tick after which the recorded states differ, and in what.\n",
    .options = options,
};

// Says which entity of a file it is: its node, as in `mica dump`, and its name.
static void print_entity(const session *opened, mica_entity entity) {
    int32_t node = 0;
    while (node < opened->scene.count && !mica_entity_equal(opened->scene.entities[node], entity)) {
        node++;
    }
    const char *name = mica_name_of(opened->world, entity);
    if (node < opened->scene.count) {
        const bool has_name = name[0] != '\0';
        (void)printf(" (node %d%s%s%s)", node, has_name ? ", \"" : "", name, has_name ? "\"" : "");
    }
}

// The exit code.
static int print_difference(const session *first, const session *second) {
    mica_difference difference;
    if (mica_world_compare(first->world, second->world, NULL, &difference) != MICA_OK) {
        say("%s", mica_last_error());
        return EXIT_FAILED;
    }
    if (difference.kind == MICA_DIFFERENCE_NONE) {
        return EXIT_DONE;
    }
    (void)printf("%s", difference.text);
    if (!mica_entity_is_null(difference.entity)) {
        print_entity(mica_entity_alive(first->world, difference.entity) ? first : second, difference.entity);
    }
    (void)printf("\n");
    return EXIT_FAILED;
}

static int diff(const arguments *values) {
    if (journal_is_at(values->scene_path) && journal_is_at(values->second_path)) {
        return journal_diff(values);
    }
    arguments second_values = *values;
    session first = {.world = NULL};
    session second = {.world = NULL};
    second_values.scene_path = values->second_path;
    const bool is_open = session_open(&first, values) && session_open(&second, &second_values);
    const int exit_code = is_open ? print_difference(&first, &second) : EXIT_FAILED;
    session_close(&second);
    session_close(&first);
    return exit_code;
}

int command_diff(int argc, char **argv) {
    arguments values = {0};
    int exit_code = EXIT_DONE;
    if (session_read_arguments(&syntax, argc, argv, &values, &exit_code)) {
        exit_code = diff(&values);
    }
    free(values.plugin_paths);
    return exit_code;
}

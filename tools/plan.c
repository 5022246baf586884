// `mica plan`: in which order the systems of a scene's plugins run, and which of them may run side by side.
#include "commands.h"
#include "say.h"
#include "session.h"

#include <mica/result.h>
#include <mica/schedule.h>

#include <stdlib.h>

static const option options[] = {
    {"--graph", NULL, "print the plan as a graph for Graphviz: mica plan ... --graph | dot -Tsvg", OPTION_FLAG,
     offsetof(arguments, graph)},
    {"--explain", NULL, "print what keeps each system from running beside others", OPTION_FLAG,
     offsetof(arguments, explain)},
    {"--ambiguities", NULL, "print which systems conflict although nothing but their addition orders them", OPTION_FLAG,
     offsetof(arguments, ambiguities)},
    OPTION_OF_PLUGINS,
    OPTION_OF_HELP,
    {0},
};

static const command_syntax syntax = {
    .name = "mica plan",
    .operand_name = "SCENE",
    .purpose =
        "Prints the plan of a tick of a scene: a line a stage, system and barrier, with what a system waits for.\n"
        "Nothing is run. Options ask for something else in its place; of several the first one in this order.\n",
    .options = options,
};

typedef size_t (*text_function)(mica_world *world, char *text, size_t capacity);

static bool print_text(mica_world *world, text_function function) {
    mica_error_clear();
    const size_t length = function(world, NULL, 0);
    char *text = malloc(length + 1);
    const bool is_fine = text != NULL && mica_last_result() == MICA_OK;
    if (is_fine) {
        function(world, text, length + 1);
        (void)fputs(text, stdout); // whether it was written is looked at in the end
    } else {
        say("out of memory");
    }
    free(text);
    return is_fine;
}

static bool plan(const arguments *values) {
    session opened;
    text_function function = mica_world_plan;
    if (values->graph) {
        function = mica_world_plan_graph;
    } else if (values->explain) {
        function = mica_world_plan_explain;
    } else if (values->ambiguities) {
        function = mica_world_ambiguities;
    }
    const bool is_fine = session_open(&opened, values) && print_text(opened.world, function);
    session_close(&opened);
    return is_fine;
}

int command_plan(int argc, char **argv) {
    arguments values = {0};
    int exit_code = EXIT_DONE;
    if (session_read_arguments(&syntax, argc, argv, &values, &exit_code)) {
        exit_code = plan(&values) ? EXIT_DONE : EXIT_FAILED;
    }
    free(values.plugin_paths);
    return exit_code;
}

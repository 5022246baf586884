// `mica dump`: the entities of a scene as one JSON document, written entity by entity.
#include "commands.h"
#include "memory_report.h"
#include "say.h"
#include "session.h"

#include <mica/mica.h>

#include <math.h>
#include <stdlib.h>

static const option options[] = {
    {"--world", NULL, "also write world matrices: 16 numbers, column by column", OPTION_FLAG,
     offsetof(arguments, world)},
    {"--memory", NULL, "print where memory is in place of the entities: by purpose, table and pool", OPTION_FLAG,
     offsetof(arguments, memory)},
    OPTION_OF_PLUGINS,
    OPTION_OF_HELP,
    {0},
};

static const command_syntax syntax = {
    .name = "mica dump",
    .operand_name = "FILE",
    .purpose = "Prints the entities of a scene as one JSON document, in order of node:\n"
               "{\"entities\": [{\"node\", \"name\", \"parent\" (-1: none), \"components\", \"world\"}]}\n",
    .options = options,
};

// Writing to standard output is checked once, at the end; a failure stops the rest.
static bool print_text(void *user, const char *text, size_t byte_size) {
    (void)user;
    return fwrite(text, 1, byte_size, stdout) == byte_size;
}

static bool print_number(float number) {
    if (isnan(number)) {
        return fputs("\"NaN\"", stdout) >= 0;
    }
    if (isinf(number)) {
        return fputs(number > 0 ? "\"Infinity\"" : "\"-Infinity\"", stdout) >= 0;
    }
    return printf("%.9g", (double)number) > 0;
}

static bool print_matrix(mica_world *world, mica_entity entity) {
    const mica_world_transform *transform = mica_get(world, entity, mica_world_transform);
    if (transform == NULL) {
        return fputs("null", stdout) >= 0;
    }
    bool is_fine = true;
    for (int32_t i = 0; is_fine && i < 16; i++) {
        is_fine = fputs(i == 0 ? "[" : ", ", stdout) >= 0 && print_number(transform->m[i]);
    }
    return is_fine && fputs("]", stdout) >= 0;
}

static bool print_entity(const session *opened, mica_scene_writer *writer, int32_t node, bool with_world) {
    const mica_entity entity = opened->scene.entities[node];
    const mica_entity parent = mica_parent(opened->world, entity);
    mica_result result = MICA_IO;
    if (printf("\n    {\"node\": %d, \"name\": ", node) > 0) {
        result = mica_scene_writer_name(writer, entity, print_text, NULL);
    }
    if (result == MICA_OK &&
        printf(", \"parent\": %lld, \"components\": ", (long long)mica_scene_writer_id(writer, parent)) > 0) {
        result = mica_scene_writer_components(writer, entity, print_text, NULL);
    }
    if (result != MICA_OK) {
        if (result != MICA_IO) {
            say("%s", mica_scene_writer_message(writer));
        }
        return false;
    }
    if (with_world && (fputs(", \"world\": ", stdout) < 0 || !print_matrix(opened->world, entity))) {
        return false;
    }
    return fputs("}", stdout) >= 0;
}

static bool print_entities(const session *opened, mica_scene_writer *writer, bool with_world) {
    bool is_first = true;
    bool is_fine = fputs("{\"entities\": [", stdout) >= 0;
    for (int32_t node = 0; is_fine && node < opened->scene.count; node++) {
        if (!mica_entity_is_null(opened->scene.entities[node])) {
            is_fine = (is_first || fputs(",", stdout) >= 0) && print_entity(opened, writer, node, with_world);
            is_first = false;
        }
    }
    return is_fine && fputs("\n]}\n", stdout) >= 0;
}

static bool dump_entities(session *opened, const arguments *values) {
    const mica_save_options save_options = {.log = say_warnings()};
    mica_scene_writer *writer = mica_scene_writer_create(opened->world, opened->scene.entities, opened->scene.count,
                                                         values->scene_path, &save_options);
    bool is_fine = writer != NULL && (!values->world || mica_transform_resolve(opened->world) == MICA_OK);
    if (!is_fine) {
        say("%s: out of memory", values->scene_path);
    }
    is_fine = is_fine && print_entities(opened, writer, values->world);
    mica_scene_writer_destroy(writer);
    return is_fine;
}

static bool dump_memory(session *opened, const arguments *values) {
    const bool is_fine = memory_report_print(opened->world, stdout);
    if (!is_fine) {
        say("%s: out of memory", values->scene_path);
    }
    return is_fine;
}

static bool dump(const arguments *values) {
    session opened;
    bool is_fine = session_open(&opened, values);
    if (is_fine) {
        is_fine = values->memory ? dump_memory(&opened, values) : dump_entities(&opened, values);
    }
    session_close(&opened);
    return is_fine;
}

int command_dump(int argc, char **argv) {
    arguments values = {0};
    int exit_code = EXIT_DONE;
    if (session_read_arguments(&syntax, argc, argv, &values, &exit_code)) {
        exit_code = dump(&values) ? EXIT_DONE : EXIT_FAILED;
    }
    free(values.plugin_paths);
    return exit_code;
}

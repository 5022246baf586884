// Opening and closing what commands work on. Plugins come before the scene, so that their components are known when it
// is read, and are unloaded when the world, which calls into them to its end, is gone.
#include "session.h"

#include "say.h"

#include <mica/name.h>
#include <mica/transform.h>

#include <stdlib.h>

bool session_read_arguments(const command_syntax *syntax, int argc, char **argv, arguments *values, int *exit_code) {
    values->plugin_paths = calloc((size_t)argc + 1, sizeof(char *));
    *exit_code = EXIT_USAGE;
    if (values->plugin_paths == NULL) {
        say("out of memory");
        *exit_code = EXIT_FAILED;
        return false;
    }
    if (!arguments_read(syntax, argc, argv, values)) {
        return false;
    }
    if (values->help) {
        arguments_print_help(syntax, stdout);
        *exit_code = EXIT_DONE;
        return false;
    }
    return true;
}

// A plugin may have added the system itself, to say what comes before it.
static bool add_transform_system(mica_world *world) {
    return mica_system_find(world, "resolve_transforms").id != 0 || mica_transform_system_add(world).id != 0;
}

// What scenes of glTF are made of may stand in scenes of Mica too; and names are in most of what journals hold.
static bool register_components(mica_world *world) {
    mica_type *const types[] = {mica_type_of(mica_mesh_ref), mica_type_of(mica_camera_ref), mica_type_of(mica_skin_ref),
                                mica_type_of(mica_light_ref), mica_type_of(mica_name)};
    bool is_fine = true;
    for (size_t i = 0; is_fine && i < sizeof(types) / sizeof(types[0]); i++) {
        is_fine = mica_world_register(world, types[i]) != 0;
    }
    return is_fine;
}

bool session_open_world(session *opened, const arguments *values) {
    const mica_world_def def = {.log = say_warnings(),
                                .thread_count = (int32_t)values->thread_count,
                                .validate = values->check_access ? MICA_VALIDATE_PAGES : MICA_VALIDATE_DEFAULT};
    *opened = (session){.world = mica_world_create(&def)};
    if (opened->world == NULL) {
        say("%s", mica_last_error());
        return false;
    }
    if (!register_components(opened->world)) {
        say("%s", mica_last_error());
        return false;
    }
    if (!plugin_list_load(&opened->plugins, opened->world, values->plugin_paths, values->plugin_count)) {
        return false;
    }
    if (!add_transform_system(opened->world)) {
        say("%s", mica_last_error());
        return false;
    }
    return true;
}

bool session_open(session *opened, const arguments *values) {
    return session_open_world(opened, values) && scene_file_load(&opened->scene, opened->world, values->scene_path);
}

void session_close(session *opened) {
    scene_file_release(&opened->scene);
    mica_world_destroy(opened->world);
    plugin_list_release(&opened->plugins);
}

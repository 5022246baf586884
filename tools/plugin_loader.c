// Loading plugins. All symbols are bound at once, so that a library for other handles, whose reference to the ABI's
// symbol nobody meets, is refused before any of its code runs.
#include "plugin_loader.h"

#include "say.h"

#include <mica/plugin.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dlfcn.h>

// The dynamic loader takes a name without a slash for one of the system's libraries; a user means a file.
static void *open_library(const char *path) {
    if (strchr(path, '/') != NULL) {
        return dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    const size_t size = strlen(path) + sizeof("./");
    char *here = malloc(size);
    if (here == NULL) {
        return NULL;
    }
    (void)snprintf(here, size, "./%s", path);
    void *library = dlopen(here, RTLD_NOW | RTLD_LOCAL);
    free(here);
    return library;
}

static const char *loader_error(void) {
    const char *text = dlerror();
    return text == NULL ? "out of memory" : text;
}

// Why a library was not loaded. The loader names the handles that it was built for; the program's own are added.
static void say_not_loaded(const char *path) {
    const char *why = loader_error();
    if (strstr(why, "mica_abi_") != NULL) {
        say("%s: the plugin is built for other handles than the program's, of %d bits with %d of index: %s", path,
            MICA_ENTITY_BITS, MICA_INDEX_BITS, why);
    } else {
        say("%s: the plugin cannot be loaded: %s", path, why);
    }
}

static bool start_plugin(void *library, mica_world *world, const char *path) {
    // The way from an object pointer to a function pointer that POSIX gives.
    mica_plugin_function function = NULL;
    *(void **)&function = dlsym(library, MICA_PLUGIN_SYMBOL);
    if (function == NULL) {
        say("%s: expected a plugin, which exports %s: %s", path, MICA_PLUGIN_SYMBOL, loader_error());
        return false;
    }
    const mica_plugin_host host = mica_plugin_host_here();
    mica_error_clear();
    const mica_result result = function(world, &host);
    if (result != MICA_OK) {
        const char *why = mica_last_result() == result ? mica_last_error() : "";
        say("%s: the plugin refused: %s%s%s", path, mica_result_text(result), why[0] == '\0' ? "" : ": ", why);
    }
    return result == MICA_OK;
}

bool plugin_list_load(plugin_list *list, mica_world *world, const char *const *paths, int32_t count) {
    *list = (plugin_list){.libraries = calloc((size_t)count + 1, sizeof(void *))};
    if (list->libraries == NULL) {
        say("out of memory");
        return false;
    }
    for (int32_t i = 0; i < count; i++) {
        void *library = open_library(paths[i]);
        if (library == NULL) {
            say_not_loaded(paths[i]);
            return false;
        }
        list->libraries[list->count++] = library;
        if (!start_plugin(library, world, paths[i])) {
            return false;
        }
    }
    return true;
}

void plugin_list_release(plugin_list *list) {
    while (list->count > 0) {
        (void)dlclose(list->libraries[--list->count]);
    }
    free(list->libraries);
    *list = (plugin_list){0};
}

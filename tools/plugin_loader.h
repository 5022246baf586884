// Shared libraries that bring components and systems.
#pragma once

#include <mica/world.h>

#include <stdbool.h>

typedef struct plugin_list {
    void **libraries;
    int32_t count;
} plugin_list;

// Loads libraries in this order and calls their entry points. False: one was not loaded or refused, and why was said;
// those before it stay. The list is to be released in any case.
bool plugin_list_load(plugin_list *list, mica_world *world, const char *const *paths, int32_t count);

// Unloads the libraries; the world that uses them must be gone.
void plugin_list_release(plugin_list *list);

// Lets jansson, and with it the glTF module, take its memory from a test's allocator. jansson gives blocks back without
// their size, so that it stands in front of each.
#pragma once

#include "support/test_allocator.h"

#include <jansson.h>
#include <string.h>

enum { JSON_RECORD_SIZE = 16 };

static test_allocator json_allocator;

static void *json_allocate(size_t byte_size) {
    const mica_allocator hooks = test_allocator_hooks(&json_allocator);
    char *memory = hooks.allocate(hooks.user, byte_size + JSON_RECORD_SIZE, JSON_RECORD_SIZE);
    if (memory) {
        memcpy(memory, &byte_size, sizeof byte_size);
    }
    return memory ? memory + JSON_RECORD_SIZE : NULL;
}

static void json_release(void *memory) {
    if (memory) {
        const mica_allocator hooks = test_allocator_hooks(&json_allocator);
        char *start = (char *)memory - JSON_RECORD_SIZE;
        size_t byte_size;
        memcpy(&byte_size, start, sizeof byte_size);
        hooks.release(hooks.user, start, byte_size + JSON_RECORD_SIZE, JSON_RECORD_SIZE);
    }
}

static int begin_json_allocator(void **state) {
    (void)state;
    test_allocator_init(&json_allocator);
    json_set_alloc_funcs(json_allocate, json_release);
    return 0;
}

static void end_json_allocator(void) {
    json_set_alloc_funcs(malloc, free);
    test_allocator_finish(&json_allocator);
}

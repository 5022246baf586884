// Memory by way of jansson's allocation functions, which are asked for at each call: a program may set them at any time
// at which it holds nothing of jansson.
#include "save_memory.h"

#include <jansson.h>

#include <stdint.h>

void *mi_save_allocate(size_t byte_size) {
    json_malloc_t allocate = NULL;
    json_get_alloc_funcs(&allocate, NULL);
    return allocate(byte_size == 0 ? 1 : byte_size);
}

void *mi_save_allocate_array(size_t count, size_t element_size) {
    return count > SIZE_MAX / element_size ? NULL : mi_save_allocate(count * element_size);
}

void (*mi_save_free_function(void))(void *memory) {
    json_free_t release = NULL;
    json_get_alloc_funcs(NULL, &release);
    return release;
}

void mi_save_free(void *memory) {
    mi_save_free_function()(memory);
}

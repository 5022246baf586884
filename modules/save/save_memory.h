// The module's memory: that of jansson's allocation functions, so that a program which sets them has it all.
#pragma once

#include <stddef.h>

// NULL: out of memory. To be given back with mi_save_free.
void *mi_save_allocate(size_t byte_size);
// As mi_save_allocate, for `count` elements; also NULL if their size is no size.
void *mi_save_allocate_array(size_t count, size_t element_size);
void mi_save_free(void *memory);

// The function behind mi_save_free, for memory that is handed out.
void (*mi_save_free_function(void))(void *memory);

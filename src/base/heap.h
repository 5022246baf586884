// Memory of one owner (a world, a schema): allocator hooks, and bytes counted by purpose. Not thread-safe; a schema
// uses it under its lock. Nothing here sets an error: the caller knows what it was doing and says so.
#pragma once

#include <mica/memory.h>

typedef struct mi_heap {
    mica_allocator allocator; // both functions set
    size_t bytes[MICA_MEMORY_PURPOSE_COUNT];
} mi_heap;

// `allocator` NULL or zero: the default one (aligned C library memory; from 1 MiB up, pages from the operating system,
// with huge ones advised for blocks of 2 MiB and more). False: one of its functions is missing.
bool mi_heap_init(mi_heap *heap, const mica_allocator *allocator);

// NULL when out of memory or for a size of 0. `alignment` is a power of two.
void *mi_heap_allocate(mi_heap *heap, mica_memory_purpose purpose, size_t byte_size, size_t alignment);
void *mi_heap_allocate_zeroed(mi_heap *heap, mica_memory_purpose purpose, size_t byte_size, size_t alignment);
// `memory` NULL is allowed.
void mi_heap_release(mi_heap *heap, mica_memory_purpose purpose, void *memory, size_t byte_size, size_t alignment);
mica_memory_usage mi_heap_usage(const mi_heap *heap);

// A copy of a text closed by zero, to be released with mi_heap_release_text.
char *mi_heap_copy_text(mi_heap *heap, mica_memory_purpose purpose, const char *text);
void mi_heap_release_text(mi_heap *heap, mica_memory_purpose purpose, char *text);

// True, and the product in `bytes`, unless it does not fit.
static inline bool mi_size_product(size_t a, size_t b, size_t *bytes) {
    return !__builtin_mul_overflow(a, b, bytes);
}

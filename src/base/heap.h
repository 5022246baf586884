// Memory of one owner (a world, a schema): allocator hooks, bytes counted by purpose, and how many there may be. Not
// thread-safe; a schema uses it under its lock, and a world lends it one while several threads use it. Nothing here
// sets an error: the caller knows what it was doing and says so. Why memory was refused is noted for the mi_fail_memory
// that says it.
//
// A heap is limited by a budget, or fixed: then all of its memory is one piece that was taken at once, from which it
// serves everything itself.
#pragma once

#include <mica/memory.h>

struct mi_region;
struct mi_lock;

typedef struct mi_heap {
    mica_allocator allocator; // both functions set
    size_t bytes[MICA_MEMORY_PURPOSE_COUNT];
    size_t total;              // the sum of `bytes`
    size_t peak;               // the most that `total` was
    mica_memory_budget budget; // 0: no limit
    struct mi_region *fixed;   // NULL: not fixed
    void *fixed_memory;        // what `fixed` lies in
    size_t fixed_size;
    bool owns_fixed;      // it was taken from the allocator
    struct mi_lock *lock; // taken by whoever allocates or releases; NULL: one thread does
    bool parts_values;    // values of components and resources have pages of their own, which can be protected
} mi_heap;

// The bytes of such a page: a multiple of what the system protects, and no more than a region aligns.
#define MI_HEAP_PAGE ((size_t)4096)

// A size in whole pages.
static inline size_t mi_heap_whole_pages(size_t byte_size) {
    return byte_size > SIZE_MAX - MI_HEAP_PAGE ? byte_size
                                               : (byte_size + MI_HEAP_PAGE - 1) / MI_HEAP_PAGE * MI_HEAP_PAGE;
}

// `allocator` NULL or zero: the default one (aligned C library memory; from 1 MiB up, pages from the operating system,
// with huge ones advised for blocks of 2 MiB and more). False: one of its functions is missing.
bool mi_heap_init(mi_heap *heap, const mica_allocator *allocator);
// Takes `byte_size` bytes (or `memory`, the caller's, if that is not NULL), to serve everything from. Nothing has been
// allocated yet. False: out of memory, or too few or too many bytes for a region.
bool mi_heap_fix(mi_heap *heap, void *memory, size_t byte_size);
// Gives back what mi_heap_fix took; everything else has been. The heap must not lie there itself.
void mi_heap_unfix(mi_heap *heap);
static inline bool mi_heap_is_fixed(const mi_heap *heap) {
    return heap->fixed != NULL;
}
// How many bytes more the budget allows for a purpose; SIZE_MAX: it does not say.
size_t mi_heap_room(const mi_heap *heap, mica_memory_purpose purpose);

// NULL when out of memory or for a size of 0. `alignment` is a power of two.
void *mi_heap_allocate(mi_heap *heap, mica_memory_purpose purpose, size_t byte_size, size_t alignment);
void *mi_heap_allocate_zeroed(mi_heap *heap, mica_memory_purpose purpose, size_t byte_size, size_t alignment);
// `memory` NULL is allowed.
void mi_heap_release(mi_heap *heap, mica_memory_purpose purpose, void *memory, size_t byte_size, size_t alignment);
mica_memory_usage mi_heap_usage(const mi_heap *heap);

// A copy of a text closed by zero, to be released with mi_heap_release_text.
char *mi_heap_copy_text(mi_heap *heap, mica_memory_purpose purpose, const char *text);
// `text` NULL is allowed.
void mi_heap_release_text(mi_heap *heap, mica_memory_purpose purpose, const char *text);

// True, and the product in `bytes`, unless it does not fit.
static inline bool mi_size_product(size_t a, size_t b, size_t *bytes) {
    return !__builtin_mul_overflow(a, b, bytes);
}

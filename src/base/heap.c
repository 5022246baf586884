// Memory of one owner: the allocator hooks with bytes counted by purpose, and the default allocator behind them.
//
// Invariants: both functions of the allocator are set; bytes[p] is the sum of the sizes asked for with purpose p and
// not given back; a call that returns NULL has counted nothing. The default allocator decides by size alone where a
// block comes from, so that releasing it with the same size finds the same way back.
#include "base/heap.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/os.h"
#include "base/sanitizer.h"

#define PAGES_FROM_BYTE_SIZE ((size_t)1 << 20)
#define PAGE_ALIGNMENT ((size_t)4096)

// Blocks that come as fresh pages, zeroed by the operating system. None under the address sanitizer, which sees the
// bounds of what the C library hands out, and not those of pages.
static bool comes_as_pages(size_t byte_size) {
    return !MI_ADDRESS_SANITIZER && byte_size >= PAGES_FROM_BYTE_SIZE;
}

static void *default_allocate(void *user, size_t byte_size, size_t alignment) {
    (void)user;
    if (comes_as_pages(byte_size)) {
        return mi_os_pages_take(byte_size, alignment > PAGE_ALIGNMENT ? alignment : PAGE_ALIGNMENT);
    }
    if (alignment <= _Alignof(max_align_t)) {
        return malloc(byte_size);
    }
    void *memory = NULL;
    return posix_memalign(&memory, alignment, byte_size) == 0 ? memory : NULL;
}

static void default_release(void *user, void *memory, size_t byte_size, size_t alignment) {
    (void)user;
    (void)alignment;
    if (comes_as_pages(byte_size)) {
        mi_os_pages_give(memory, byte_size);
    } else {
        free(memory);
    }
}

bool mi_heap_init(mi_heap *heap, const mica_allocator *allocator) {
    *heap = (mi_heap){.allocator = {.allocate = default_allocate, .release = default_release}};
    if (allocator == NULL || (allocator->allocate == NULL && allocator->release == NULL)) {
        return true;
    }
    if (allocator->allocate == NULL || allocator->release == NULL) {
        return false;
    }
    heap->allocator = *allocator;
    return true;
}

void *mi_heap_allocate(mi_heap *heap, mica_memory_purpose purpose, size_t byte_size, size_t alignment) {
    MI_ASSERT((unsigned)purpose < MICA_MEMORY_PURPOSE_COUNT);
    MI_ASSERT(alignment != 0 && (alignment & (alignment - 1)) == 0);
    // More than half of the address space cannot be there, and pointers into it could not be subtracted.
    if (byte_size == 0 || byte_size > PTRDIFF_MAX) {
        return NULL;
    }
    void *memory = heap->allocator.allocate(heap->allocator.user, byte_size, alignment);
    if (memory == NULL) {
        return NULL;
    }
    // An allocator that does not keep to the alignment is one that has no such memory.
    if (((uintptr_t)memory & (alignment - 1)) != 0) {
        heap->allocator.release(heap->allocator.user, memory, byte_size, alignment);
        return NULL;
    }
    heap->bytes[purpose] += byte_size;
    return memory;
}

void *mi_heap_allocate_zeroed(mi_heap *heap, mica_memory_purpose purpose, size_t byte_size, size_t alignment) {
    void *memory = mi_heap_allocate(heap, purpose, byte_size, alignment);
    const bool is_zero = heap->allocator.allocate == default_allocate && comes_as_pages(byte_size);
    if (memory != NULL && !is_zero) {
        memset(memory, 0, byte_size);
    }
    return memory;
}

void mi_heap_release(mi_heap *heap, mica_memory_purpose purpose, void *memory, size_t byte_size, size_t alignment) {
    if (memory == NULL) {
        return;
    }
    MI_ASSERT((unsigned)purpose < MICA_MEMORY_PURPOSE_COUNT);
    MI_ASSERT(heap->bytes[purpose] >= byte_size);
    heap->bytes[purpose] -= byte_size;
    heap->allocator.release(heap->allocator.user, memory, byte_size, alignment);
}

mica_memory_usage mi_heap_usage(const mi_heap *heap) {
    mica_memory_usage usage = {.total = 0};
    for (int32_t i = 0; i < MICA_MEMORY_PURPOSE_COUNT; i++) {
        usage.bytes[i] = heap->bytes[i];
        usage.total += heap->bytes[i];
    }
    return usage;
}

char *mi_heap_copy_text(mi_heap *heap, mica_memory_purpose purpose, const char *text) {
    const size_t byte_size = strlen(text) + 1;
    char *copy = mi_heap_allocate(heap, purpose, byte_size, 1);
    if (copy != NULL) {
        memcpy(copy, text, byte_size);
    }
    return copy;
}

void mi_heap_release_text(mi_heap *heap, mica_memory_purpose purpose, char *text) {
    if (text != NULL) {
        mi_heap_release(heap, purpose, text, strlen(text) + 1, 1);
    }
}

const char *mica_memory_purpose_name(mica_memory_purpose purpose) {
    static const char *const names[MICA_MEMORY_PURPOSE_COUNT] = {
#define PURPOSE_NAME(PURPOSE, NAME) [PURPOSE] = (NAME),
        MICA_MEMORY_PURPOSES(PURPOSE_NAME)
#undef PURPOSE_NAME
    };
    return (unsigned)purpose < MICA_MEMORY_PURPOSE_COUNT ? names[purpose] : "";
}

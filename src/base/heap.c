// Memory of one owner: the allocator hooks with bytes counted by purpose, and the default allocator behind them.
//
// Invariants: both functions of the allocator are set; bytes[p] is the sum of the sizes asked for with purpose p and
// not given back; a call that returns NULL has counted nothing. Nothing is asked of the allocator that the budget does
// not allow, and nothing at all once the heap is fixed. The default allocator decides by size alone where a
// block comes from, so that releasing it with the same size finds the same way back.
#include "base/heap.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/os.h"
#include "base/region.h"
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

// What a fixed heap gives: at 64 bytes or more, as a region does.
static size_t fixed_alignment(size_t alignment) {
    return alignment < MI_REGION_ALIGN_LEAST ? MI_REGION_ALIGN_LEAST : alignment;
}

bool mi_heap_fix(mi_heap *heap, void *memory, size_t byte_size) {
    MI_ASSERT(heap->total == 0 && heap->fixed == NULL);
    heap->owns_fixed = memory == NULL;
    heap->fixed_size = byte_size;
    heap->fixed_memory = memory;
    if (memory == NULL && byte_size > 0 && byte_size <= PTRDIFF_MAX) {
        heap->fixed_memory = heap->allocator.allocate(heap->allocator.user, byte_size, MI_REGION_ALIGN_LEAST);
    }
    if (heap->fixed_memory == NULL) {
        return false;
    }
    heap->fixed = mi_region_create_in(heap->fixed_memory, byte_size);
    if (heap->fixed == NULL) {
        mi_heap_unfix(heap);
        return false;
    }
    return true;
}

void mi_heap_unfix(mi_heap *heap) {
    MI_ASSERT(heap->total == 0);
    if (heap->fixed != NULL) {
        mi_region_destroy(heap->fixed);
    }
    if (heap->owns_fixed && heap->fixed_memory != NULL) {
        heap->allocator.release(heap->allocator.user, heap->fixed_memory, heap->fixed_size, MI_REGION_ALIGN_LEAST);
    }
    heap->fixed = NULL;
    heap->fixed_memory = NULL;
}

static size_t room_below(size_t limit, size_t held) {
    return limit == 0 ? SIZE_MAX : limit > held ? limit - held : 0;
}

size_t mi_heap_room(const mi_heap *heap, mica_memory_purpose purpose) {
    const size_t of_all = room_below(heap->budget.total, heap->total);
    const size_t of_purpose = room_below(heap->budget.bytes[purpose], heap->bytes[purpose]);
    return of_purpose < of_all ? of_purpose : of_all;
}

// Notes why memory is refused that the budget does not allow.
MI_COLD static void note_budget(const mi_heap *heap, mica_memory_purpose purpose, size_t byte_size) {
    const char *name = mica_memory_purpose_name(purpose);
    if (room_below(heap->budget.bytes[purpose], heap->bytes[purpose]) < byte_size) {
        mi_note_shortage("out of memory: the budget for {} has {} bytes, of which {} are held, and {} more are needed",
                         (const mi_argument[]){MI_TEXT(name), MI_UINT(heap->budget.bytes[purpose]),
                                               MI_UINT(heap->bytes[purpose]), MI_UINT(byte_size)},
                         4);
        return;
    }
    mi_note_shortage(
        "out of memory: the budget in all has {} bytes, of which {} are held, and {} more are needed for {}",
        (const mi_argument[]){MI_UINT(heap->budget.total), MI_UINT(heap->total), MI_UINT(byte_size), MI_TEXT(name)}, 4);
}

MI_COLD static void note_fixed(const mi_heap *heap, mica_memory_purpose purpose, size_t byte_size) {
    const mi_region_stats stats = mi_region_statistics(heap->fixed);
    mi_note_shortage("out of memory: {} bytes are fixed, of which {} are held, and {} more are needed for {}; {} are "
                     "free in one piece",
                     (const mi_argument[]){MI_UINT(heap->fixed_size), MI_UINT(stats.piece_bytes), MI_UINT(byte_size),
                                           MI_TEXT(mica_memory_purpose_name(purpose)), MI_UINT(stats.free_largest)},
                     5);
}

static void *take_fixed(const mi_heap *heap, mica_memory_purpose purpose, size_t byte_size, size_t alignment) {
    void *memory = NULL;
    if (alignment <= MI_REGION_ALIGN_MOST) {
        memory = mi_region_take(heap->fixed, byte_size, fixed_alignment(alignment));
    }
    if (memory == NULL) {
        note_fixed(heap, purpose, byte_size);
    }
    return memory;
}

static void *take_from_allocator(const mi_heap *heap, size_t byte_size, size_t alignment) {
    void *memory = heap->allocator.allocate(heap->allocator.user, byte_size, alignment);
    // An allocator that does not keep to the alignment is one that has no such memory.
    if (memory != NULL && ((uintptr_t)memory & (alignment - 1)) != 0) {
        heap->allocator.release(heap->allocator.user, memory, byte_size, alignment);
        memory = NULL;
    }
    if (memory == NULL) {
        mi_forget_shortage();
    }
    return memory;
}

static void *allocate(mi_heap *heap, mica_memory_purpose purpose, size_t byte_size, size_t alignment) {
    if (mi_heap_room(heap, purpose) < byte_size) {
        note_budget(heap, purpose, byte_size);
        return NULL;
    }
    void *memory = heap->fixed != NULL ? take_fixed(heap, purpose, byte_size, alignment)
                                       : take_from_allocator(heap, byte_size, alignment);
    if (memory == NULL) {
        return NULL;
    }
    heap->bytes[purpose] += byte_size;
    heap->total += byte_size;
    heap->peak = heap->total > heap->peak ? heap->total : heap->peak;
    return memory;
}

void *mi_heap_allocate(mi_heap *heap, mica_memory_purpose purpose, size_t byte_size, size_t alignment) {
    MI_ASSERT((unsigned)purpose < MICA_MEMORY_PURPOSE_COUNT);
    MI_ASSERT(alignment != 0 && (alignment & (alignment - 1)) == 0);
    // More than half of the address space cannot be there, and pointers into it could not be subtracted.
    if (byte_size == 0 || byte_size > PTRDIFF_MAX) {
        return NULL;
    }
    if (MICA_LIKELY(heap->lock == NULL)) {
        return allocate(heap, purpose, byte_size, alignment);
    }
    mi_lock_take(heap->lock);
    void *memory = allocate(heap, purpose, byte_size, alignment);
    mi_lock_give(heap->lock);
    return memory;
}

void *mi_heap_allocate_zeroed(mi_heap *heap, mica_memory_purpose purpose, size_t byte_size, size_t alignment) {
    void *memory = mi_heap_allocate(heap, purpose, byte_size, alignment);
    const bool is_zero =
        heap->allocator.allocate == default_allocate && heap->fixed == NULL && comes_as_pages(byte_size);
    if (memory != NULL && !is_zero) {
        memset(memory, 0, byte_size);
    }
    return memory;
}

static void release(mi_heap *heap, mica_memory_purpose purpose, void *memory, size_t byte_size, size_t alignment) {
    MI_ASSERT((unsigned)purpose < MICA_MEMORY_PURPOSE_COUNT);
    MI_ASSERT(heap->bytes[purpose] >= byte_size);
    heap->bytes[purpose] -= byte_size;
    heap->total -= byte_size;
    if (heap->fixed != NULL) {
        mi_region_give(heap->fixed, memory);
    } else {
        heap->allocator.release(heap->allocator.user, memory, byte_size, alignment);
    }
}

void mi_heap_release(mi_heap *heap, mica_memory_purpose purpose, void *memory, size_t byte_size, size_t alignment) {
    if (memory == NULL) {
        return;
    }
    if (MICA_LIKELY(heap->lock == NULL)) {
        release(heap, purpose, memory, byte_size, alignment);
        return;
    }
    mi_lock_take(heap->lock);
    release(heap, purpose, memory, byte_size, alignment);
    mi_lock_give(heap->lock);
}

mica_memory_usage mi_heap_usage(const mi_heap *heap) {
    mica_memory_usage usage = {.total = heap->total, .peak = heap->peak};
    memcpy(usage.bytes, heap->bytes, sizeof(usage.bytes));
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

void mi_heap_release_text(mi_heap *heap, mica_memory_purpose purpose, const char *text) {
    if (text != NULL) {
        mi_heap_release(heap, purpose, (char *)(uintptr_t)text, strlen(text) + 1, 1);
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

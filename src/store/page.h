// Pages of what is found by entity index: slots of pools, masks. A store takes them from a region, so that those of
// many entities lie in huge pages of the operating system; without a region (NULL) the heap serves.
#pragma once

#include "base/region.h"

#define MI_PAGE_ALIGN ((size_t)64)

// NULL: out of memory, or for a size of 0. Not zeroed.
static inline void *mi_page_take(mi_region *region, mi_heap *heap, size_t byte_size) {
    return region != NULL ? mi_region_take(region, byte_size, MI_PAGE_ALIGN)
                          : mi_heap_allocate(heap, MICA_MEMORY_POOLS, byte_size, MI_PAGE_ALIGN);
}
// NULL is allowed.
static inline void mi_page_give(mi_region *region, mi_heap *heap, void *page, size_t byte_size) {
    if (region == NULL) {
        mi_heap_release(heap, MICA_MEMORY_POOLS, page, byte_size, MI_PAGE_ALIGN);
    } else if (page != NULL) {
        mi_region_give(region, page);
    }
}

// Stamps of entities, by index.
//
// Pages stay until all of them go: a frame like the one before allocates nothing. A page that comes late begins with
// what could not be stamped on it: so a look at a page that is there needs no look at `lost`.
#include "store/stamps.h"

#include <string.h>

#define PAGE_BYTE_SIZE (MI_STAMPS_PAGE * sizeof(uint64_t))

bool mi_stamps_open(mi_stamps *stamps, mi_heap *heap, uint32_t entity_index) {
    const uint32_t page = entity_index >> MI_STAMPS_SHIFT;
    if (page >= stamps->pages.count) {
        if (!MI_RESERVE(heap, MICA_MEMORY_QUERIES, &stamps->pages, (size_t)page + 1)) {
            return false;
        }
        while (stamps->pages.count <= page) {
            stamps->pages.data[stamps->pages.count++] = NULL;
        }
    }
    if (stamps->pages.data[page] != NULL) {
        return true;
    }
    uint64_t *fresh = mi_heap_allocate(heap, MICA_MEMORY_QUERIES, PAGE_BYTE_SIZE, _Alignof(uint64_t));
    if (fresh == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < MI_STAMPS_PAGE; i++) {
        fresh[i] = stamps->lost;
    }
    stamps->pages.data[page] = fresh;
    return true;
}

bool mi_stamps_copy(const mi_stamps *stamps, mi_heap *heap, mi_stamps *copy) {
    for (uint32_t page = 0; page < stamps->pages.count; page++) {
        if (stamps->pages.data[page] == NULL) {
            continue;
        }
        if (!mi_stamps_open(copy, heap, page << MI_STAMPS_SHIFT)) {
            mi_stamps_free(copy, heap);
            return false;
        }
        memcpy(copy->pages.data[page], stamps->pages.data[page], PAGE_BYTE_SIZE);
    }
    copy->lost = stamps->lost;
    return true;
}

void mi_stamps_free(mi_stamps *stamps, mi_heap *heap) {
    for (uint32_t i = 0; i < stamps->pages.count; i++) {
        mi_heap_release(heap, MICA_MEMORY_QUERIES, stamps->pages.data[i], PAGE_BYTE_SIZE, _Alignof(uint64_t));
    }
    MI_FREE(heap, MICA_MEMORY_QUERIES, &stamps->pages);
    stamps->lost = 0;
}

// A number for each entity, by index: the version at which something happened to it last, or its latest place in a
// list. 0: never. In pages that come when first touched.
//
// A stamp that no page could be had for is not lost: whoever has no page of his own counts as stamped with the latest
// one of those.
#pragma once

#include "base/array.h"

#define MI_STAMPS_SHIFT 12u // entities a page
#define MI_STAMPS_PAGE (1u << MI_STAMPS_SHIFT)

typedef struct mi_stamps {
    MI_ARRAY(uint64_t *) pages; // NULL: nobody there is stamped
    uint64_t lost;              // the latest stamp that no page could be had for; 0: none
} mi_stamps;

// Makes sure of the page of an entity; false: out of memory.
bool mi_stamps_open(mi_stamps *stamps, mi_heap *heap, uint32_t entity_index);
void mi_stamps_free(mi_stamps *stamps, mi_heap *heap);
// Makes `copy`, which is empty, the same; false: out of memory, and it is empty.
bool mi_stamps_copy(const mi_stamps *stamps, mi_heap *heap, mi_stamps *copy);

// Stamps an entity; false: out of memory, and `lost` has it.
static inline bool mi_stamps_put(mi_stamps *stamps, mi_heap *heap, uint32_t entity_index, uint64_t stamp) {
    const uint32_t page = entity_index >> MI_STAMPS_SHIFT;
    if (MICA_UNLIKELY(page >= stamps->pages.count || stamps->pages.data[page] == NULL) &&
        !mi_stamps_open(stamps, heap, entity_index)) {
        stamps->lost = stamp;
        return false;
    }
    stamps->pages.data[page][entity_index & (MI_STAMPS_PAGE - 1)] = stamp;
    return true;
}

static inline uint64_t mi_stamps_of(const mi_stamps *stamps, uint32_t entity_index) {
    const uint32_t page = entity_index >> MI_STAMPS_SHIFT;
    if (page >= stamps->pages.count || stamps->pages.data[page] == NULL) {
        return stamps->lost;
    }
    return stamps->pages.data[page][entity_index & (MI_STAMPS_PAGE - 1)];
}

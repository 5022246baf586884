// Which pools each entity is in: a mask of word_count words an entity, by index, in pages that come when first touched.
// Bit n is pool number n. Entities that are not alive have empty masks.
#pragma once

#include "store/page.h"

#include <mica/entity.h>

#define MI_MASKS_SHIFT 12u // entities a page

typedef struct mi_masks {
    uint64_t **pages; // NULL: all empty
    uint32_t page_count;
    uint32_t word_count; // words of a mask
    mi_region *region;   // where pages come from, NULL: the heap
} mi_masks;

// Gives masks room for `pool_count` bits; false: out of memory, and nothing has changed. O(pages) when a word is added.
bool mi_masks_widen(mi_masks *masks, mi_heap *heap, uint32_t pool_count);
// Makes sure of the page of an entity; false: out of memory. There is a bit at least.
bool mi_masks_open(mi_masks *masks, mi_heap *heap, uint32_t entity_index);
void mi_masks_free(mi_masks *masks, mi_heap *heap);
// Empties all masks and gives their pages back; the width stays.
void mi_masks_clear(mi_masks *masks, mi_heap *heap);

// The mask of an entity, word_count words; NULL: empty.
static inline uint64_t *mi_masks_of(const mi_masks *masks, uint32_t entity_index) {
    const uint32_t page = entity_index >> MI_MASKS_SHIFT;
    if (page >= masks->page_count || masks->pages[page] == NULL) {
        return NULL;
    }
    return masks->pages[page] + (size_t)(entity_index & ((1u << MI_MASKS_SHIFT) - 1)) * masks->word_count;
}

// The same for an entity whose page is there: one that is in a pool.
static inline uint64_t *mi_masks_at(const mi_masks *masks, uint32_t entity_index) {
    return masks->pages[entity_index >> MI_MASKS_SHIFT] +
           (size_t)(entity_index & ((1u << MI_MASKS_SHIFT) - 1)) * masks->word_count;
}

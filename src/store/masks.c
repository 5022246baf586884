// Which pools each entity is in.
//
// Invariants: a page is NULL or holds word_count words for each of its entities; no page is there while word_count is
// 0. A wider mask is a longer one, so widening copies every page into a new one, all of them before the first old one
// goes.
#include "store/masks.h"

#include <string.h>

#include "base/assert.h"
#include "base/bitset.h"

#define PAGE_SIZE (1u << MI_MASKS_SHIFT)

enum { PAGE_COUNT_LEAST = 4 };

// 0: it does not fit.
static size_t page_bytes(uint32_t word_count) {
    size_t byte_size = 0;
    return mi_size_product((size_t)PAGE_SIZE * sizeof(uint64_t), word_count, &byte_size) ? byte_size : 0;
}

static uint64_t **take_list(mi_heap *heap, uint32_t page_count) {
    return mi_heap_allocate_zeroed(heap, MICA_MEMORY_POOLS, page_count * sizeof(uint64_t *), sizeof(uint64_t *));
}

static void give_list(mi_heap *heap, uint64_t **pages, uint32_t page_count) {
    mi_heap_release(heap, MICA_MEMORY_POOLS, pages, page_count * sizeof(uint64_t *), sizeof(uint64_t *));
}

// A page of empty masks.
static uint64_t *take_page(const mi_masks *masks, mi_heap *heap, uint32_t word_count) {
    uint64_t *page = mi_page_take(masks->region, heap, page_bytes(word_count));
    if (page != NULL) {
        memset(page, 0, page_bytes(word_count));
    }
    return page;
}

static void give_pages(const mi_masks *masks, mi_heap *heap, uint64_t **pages, uint32_t page_count,
                       uint32_t word_count) {
    for (uint32_t i = 0; i < page_count; i++) {
        mi_page_give(masks->region, heap, pages[i], page_bytes(word_count));
        pages[i] = NULL;
    }
}

// Copies the masks of a page into a zeroed one of wider masks.
static void copy_masks(uint64_t *to, uint32_t to_words, const uint64_t *from, uint32_t from_words) {
    for (uint32_t i = 0; i < PAGE_SIZE; i++) {
        memcpy(to + (size_t)i * to_words, from + (size_t)i * from_words, from_words * sizeof(uint64_t));
    }
}

bool mi_masks_widen(mi_masks *masks, mi_heap *heap, uint32_t pool_count) {
    const uint32_t word_count = mi_bit_words(pool_count);
    if (word_count <= masks->word_count) {
        return true;
    }
    if (masks->page_count > 0) {
        uint64_t **pages = take_list(heap, masks->page_count);
        if (pages == NULL) {
            return false;
        }
        for (uint32_t i = 0; i < masks->page_count; i++) {
            if (masks->pages[i] == NULL) {
                continue;
            }
            pages[i] = take_page(masks, heap, word_count);
            if (pages[i] == NULL) {
                give_pages(masks, heap, pages, masks->page_count, word_count);
                give_list(heap, pages, masks->page_count);
                return false;
            }
            copy_masks(pages[i], word_count, masks->pages[i], masks->word_count);
        }
        give_pages(masks, heap, masks->pages, masks->page_count, masks->word_count);
        give_list(heap, masks->pages, masks->page_count);
        masks->pages = pages;
    }
    masks->word_count = word_count;
    return true;
}

static bool grow_list(mi_masks *masks, mi_heap *heap, uint32_t need) {
    uint32_t page_count = masks->page_count * 2;
    page_count = page_count < PAGE_COUNT_LEAST ? PAGE_COUNT_LEAST : page_count;
    page_count = page_count < need ? need : page_count;
    uint64_t **pages = take_list(heap, page_count);
    if (pages == NULL) {
        return false;
    }
    if (masks->page_count > 0) {
        memcpy(pages, masks->pages, masks->page_count * sizeof(uint64_t *));
        give_list(heap, masks->pages, masks->page_count);
    }
    masks->pages = pages;
    masks->page_count = page_count;
    return true;
}

bool mi_masks_open(mi_masks *masks, mi_heap *heap, uint32_t entity_index) {
    MI_ASSERT(masks->word_count > 0);
    const uint32_t page = entity_index >> MI_MASKS_SHIFT;
    if (page >= masks->page_count && !grow_list(masks, heap, page + 1)) {
        return false;
    }
    if (masks->pages[page] == NULL) {
        masks->pages[page] = take_page(masks, heap, masks->word_count);
    }
    return masks->pages[page] != NULL;
}

void mi_masks_clear(mi_masks *masks, mi_heap *heap) {
    give_pages(masks, heap, masks->pages, masks->page_count, masks->word_count);
}

void mi_masks_free(mi_masks *masks, mi_heap *heap) {
    mi_masks_clear(masks, heap);
    give_list(heap, masks->pages, masks->page_count);
    *masks = (mi_masks){.pages = NULL};
}

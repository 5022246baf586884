// A set of entities, by index: a bit each, in pages that come when first touched. Who is in it, leaves it before its
// slot is given to another entity.
#pragma once

#include "base/heap.h"

#include <mica/entity.h>

#define MI_MARKS_SHIFT 15u // entities a page

typedef struct mi_marks {
    uint64_t **pages; // NULL: nobody there
    uint32_t page_count;
    uint32_t count; // members
} mi_marks;

// Makes sure of the page of an entity; false: out of memory.
bool mi_marks_open(mi_marks *marks, mi_heap *heap, uint32_t entity_index);
// Adds or removes an entity; its page is open if it is added. True: it was not so before.
bool mi_marks_put(mi_marks *marks, uint32_t entity_index, bool is_member);
// Takes everybody out and frees the pages.
void mi_marks_free(mi_marks *marks, mi_heap *heap);
// The first member from `entity_index` on; UINT32_MAX: none.
uint32_t mi_marks_next(const mi_marks *marks, uint32_t entity_index);
// Whether the count is that of the bits. O(pages).
bool mi_marks_validate(const mi_marks *marks);

static inline bool mi_marks_has(const mi_marks *marks, uint32_t entity_index) {
    const uint32_t page = entity_index >> MI_MARKS_SHIFT;
    if (page >= marks->page_count || marks->pages[page] == NULL) {
        return false;
    }
    const uint32_t bit = entity_index & ((1u << MI_MARKS_SHIFT) - 1);
    return (marks->pages[page][bit / 64] >> (bit % 64) & 1) != 0;
}

// Sets of entities, by index.
//
// Pages stay when their last member leaves: who is disabled or killed comes and goes every frame, and a frame like the
// one before allocates nothing. `count` is the number of bits set; pages behind page_count, and those that are NULL,
// have none.
#include "store/marks.h"

#include <string.h>

#define PAGE_WORDS ((1u << MI_MARKS_SHIFT) / 64)
#define PAGE_BYTE_SIZE (PAGE_WORDS * sizeof(uint64_t))

static void release_list(mi_marks *marks, mi_heap *heap) {
    mi_heap_release(heap, MICA_MEMORY_ENTITIES, marks->pages, marks->page_count * sizeof(uint64_t *),
                    _Alignof(uint64_t *));
}

// Makes the list of pages long enough for page number `page`, by half at least.
static bool grow_list(mi_marks *marks, mi_heap *heap, uint32_t page) {
    const uint32_t by_half = marks->page_count + marks->page_count / 2;
    const uint32_t page_count = page < by_half ? by_half : page + 1;
    uint64_t **pages =
        mi_heap_allocate_zeroed(heap, MICA_MEMORY_ENTITIES, page_count * sizeof(uint64_t *), _Alignof(uint64_t *));
    if (pages == NULL) {
        return false;
    }
    if (marks->page_count > 0) {
        memcpy(pages, marks->pages, marks->page_count * sizeof(uint64_t *));
    }
    release_list(marks, heap);
    marks->pages = pages;
    marks->page_count = page_count;
    return true;
}

bool mi_marks_open(mi_marks *marks, mi_heap *heap, uint32_t entity_index) {
    const uint32_t page = entity_index >> MI_MARKS_SHIFT;
    if (page >= marks->page_count && !grow_list(marks, heap, page)) {
        return false;
    }
    if (marks->pages[page] == NULL) {
        marks->pages[page] = mi_heap_allocate_zeroed(heap, MICA_MEMORY_ENTITIES, PAGE_BYTE_SIZE, _Alignof(uint64_t));
    }
    return marks->pages[page] != NULL;
}

bool mi_marks_put(mi_marks *marks, uint32_t entity_index, bool is_member) {
    if (mi_marks_has(marks, entity_index) == is_member) {
        return false;
    }
    const uint32_t bit = entity_index & ((1u << MI_MARKS_SHIFT) - 1);
    marks->pages[entity_index >> MI_MARKS_SHIFT][bit / 64] ^= UINT64_C(1) << (bit % 64);
    marks->count = is_member ? marks->count + 1 : marks->count - 1;
    return true;
}

void mi_marks_free(mi_marks *marks, mi_heap *heap) {
    for (uint32_t page = 0; page < marks->page_count; page++) {
        mi_heap_release(heap, MICA_MEMORY_ENTITIES, marks->pages[page], PAGE_BYTE_SIZE, _Alignof(uint64_t));
    }
    release_list(marks, heap);
    *marks = (mi_marks){0};
}

uint32_t mi_marks_next(const mi_marks *marks, uint32_t entity_index) {
    uint32_t bit = entity_index & ((1u << MI_MARKS_SHIFT) - 1);
    for (uint32_t page = entity_index >> MI_MARKS_SHIFT; page < marks->page_count; page++, bit = 0) {
        const uint64_t *words = marks->pages[page];
        for (uint32_t word = bit / 64; words != NULL && word < PAGE_WORDS; word++, bit = 0) {
            const uint64_t members = words[word] & UINT64_MAX << (bit % 64);
            if (members != 0) {
                return page << MI_MARKS_SHIFT | word * 64 | (uint32_t)__builtin_ctzll(members);
            }
        }
    }
    return UINT32_MAX;
}

bool mi_marks_validate(const mi_marks *marks) {
    uint64_t count = 0;
    for (uint32_t page = 0; page < marks->page_count; page++) {
        for (uint32_t word = 0; marks->pages[page] != NULL && word < PAGE_WORDS; word++) {
            count += (uint32_t)__builtin_popcountll(marks->pages[page][word]);
        }
    }
    return count == marks->count;
}

// Vaults and images; see image.h.
//
// An image and its values are one piece of the vault's region, the values behind the struct at their alignment and the
// bits of who is there behind them.
#include "state/image.h"

#include "base/bitset.h"
#include "store/value.h"

#define IMAGE_NUMBER_MAX ((UINT64_C(1) << 48) - 1)

// Vaults

static void *values_allocate(void *user, size_t byte_size, size_t alignment) {
    return mi_heap_allocate(user, MICA_MEMORY_VALUES, byte_size, alignment);
}

static void values_release(void *user, void *memory, size_t byte_size, size_t alignment) {
    mi_heap_release(user, MICA_MEMORY_VALUES, memory, byte_size, alignment);
}

mi_vault *mi_vault_create(const mica_allocator *allocator, mica_schema *schema) {
    mi_heap heap;
    mi_heap_init(&heap, allocator);
    mi_vault *vault = mi_heap_allocate_zeroed(&heap, MICA_MEMORY_STATE, sizeof(mi_vault), _Alignof(mi_vault));
    if (vault == NULL) {
        return NULL;
    }
    vault->heap = heap;
    vault->schema = mica_schema_retain(schema);
    vault->values = (mica_allocator){.allocate = values_allocate, .release = values_release, .user = &vault->heap};
    vault->reference_count = 1;
    return vault;
}

mi_vault *mi_vault_retain(mi_vault *vault) {
    vault->reference_count++;
    return vault;
}

void mi_vault_release(mi_vault *vault) {
    if (vault == NULL || --vault->reference_count > 0) {
        return;
    }
    if (vault->region != NULL) {
        mi_region_destroy(vault->region);
    }
    mica_schema_release(vault->schema);
    mi_heap last = vault->heap;
    mi_heap_release(&last, MICA_MEMORY_STATE, vault, sizeof(mi_vault), _Alignof(mi_vault));
}

size_t mi_vault_byte_size(const mi_vault *vault) {
    if (vault->region == NULL) {
        return vault->heap.total;
    }
    const mi_region_stats stats = mi_region_statistics(vault->region);
    return vault->heap.total - stats.block_bytes + stats.piece_bytes;
}

static void *take_aligned(mi_vault *vault, size_t byte_size, size_t alignment) {
    if (vault->region == NULL) {
        vault->region = mi_region_create(&vault->heap, MICA_MEMORY_STATE);
    }
    return vault->region == NULL ? NULL : mi_region_take(vault->region, byte_size, alignment);
}

void *mi_vault_take(mi_vault *vault, size_t byte_size) {
    return take_aligned(vault, byte_size, MI_COLUMN_ALIGN);
}

void mi_vault_give(mi_vault *vault, void *memory) {
    mi_region_give(vault->region, memory);
}

// Images

static size_t align_up(size_t size, size_t alignment) {
    return (size + alignment - 1) & ~(alignment - 1);
}

// Bytes of the bits of who is there among so many values.
static size_t live_size(uint32_t count) {
    return mi_bit_words(count) * sizeof(uint64_t);
}

static mi_image *create(mi_vault *vault, const mi_type *type, uint32_t count, bool has_live) {
    const size_t size = type == NULL ? sizeof(mica_entity) : type->info.size;
    const size_t alignment = type != NULL && type->info.align > MI_COLUMN_ALIGN ? type->info.align : MI_COLUMN_ALIGN;
    const size_t start = align_up(sizeof(mi_image), alignment);
    const size_t end = align_up(start + size * count, sizeof(uint64_t));
    const uint64_t number = mi_next_number(&vault->schema->image_number);
    mi_image *image =
        number > IMAGE_NUMBER_MAX ? NULL : take_aligned(vault, end + (has_live ? live_size(count) : 0), alignment);
    if (image == NULL) {
        return NULL;
    }
    *image = (mi_image){.vault = mi_vault_retain(vault),
                        .number = number,
                        .reference_count = 1,
                        .count = count,
                        .size = (uint32_t)size,
                        .type = type,
                        .data = (uint8_t *)image + start};
    if (has_live) {
        image->live = memset((uint8_t *)image + end, 0, live_size(count));
    }
    return image;
}

mi_image *mi_image_create(mi_vault *vault, const mi_type *type, uint32_t count) {
    return create(vault, type, count, false);
}

mi_image *mi_image_create_empty(mi_vault *vault, const mi_type *type, uint32_t count) {
    return create(vault, type, count, true);
}

// The bits of who is there, of an image that nobody else has seen.
static uint64_t *open_live(const mi_image *image) {
    return (uint64_t *)(uintptr_t)image->live;
}

void mi_image_note_made(mi_image *image, uint32_t index) {
    mi_bit_set(open_live(image), index);
}

void mi_image_end_value(mi_image *image, uint32_t index) {
    if (mi_bit_get(image->live, UINT32_MAX, index)) {
        mi_value_destruct(image->type, &image->vault->values, mi_image_place(image, index), 1);
        mi_bit_clear(open_live(image), index);
    }
}

static void free_image(mi_image *image) {
    mi_vault *vault = image->vault;
    mi_vault_give(vault, image);
    mi_vault_release(vault);
}

// The next values, from `first` on, that are there and follow each other; their number, 0: there are no more.
static uint32_t next_run(const mi_image *image, uint32_t *first) {
    if (image->live == NULL) {
        return image->count - *first;
    }
    while (*first < image->count && !mi_bit_get(image->live, UINT32_MAX, *first)) {
        (*first)++;
    }
    uint32_t end = *first;
    while (end < image->count && mi_bit_get(image->live, UINT32_MAX, end)) {
        end++;
    }
    return end - *first;
}

// Destructs the values in front of `end`.
static void destruct_values(const mi_image *image, uint32_t end) {
    uint32_t first = 0;
    for (uint32_t run = 0; image->type != NULL && image->type->has_destruct; first += run) {
        run = next_run(image, &first);
        if (run == 0 || first >= end) {
            return;
        }
        mi_value_destruct(image->type, &image->vault->values, image->data + (size_t)first * image->size, run);
    }
}

mi_image *mi_image_take(mi_vault *vault, const mi_type *type, const void *values, uint32_t count,
                        const uint64_t *live) {
    mi_image *image = create(vault, type, count, live != NULL);
    if (image == NULL) {
        return NULL;
    }
    if (live != NULL) {
        memcpy(open_live(image), live, live_size(count));
    }
    if (type == NULL || !type->has_copy) {
        memcpy(image->data, values, (size_t)image->size * count);
        return image;
    }
    uint32_t first = 0;
    for (uint32_t run = next_run(image, &first); run > 0; run = next_run(image, &first)) {
        const size_t offset = (size_t)first * image->size;
        if (!mi_value_copy(type, &vault->values, image->data + offset, (const uint8_t *)values + offset, run)) {
            destruct_values(image, first);
            free_image(image);
            return NULL;
        }
        first += run;
    }
    return image;
}

void mi_image_release(mi_image *image) {
    if (image == NULL || --image->reference_count > 0) {
        return;
    }
    destruct_values(image, image->count);
    free_image(image);
}

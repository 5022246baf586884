// Finding out which bytes of a value count, and copying and comparing values by them.
//
// The ranges of a struct are found once, along with its reflection, out of those of its nested types, which are known
// by then; nothing is walked when values are copied or compared. Fields stand in ascending order, so ranges do, and
// those of bytes that touch each other are one. A struct without padding and texts is whole, and so is every array of
// such structs: one range, however long it is. There are never more ranges than a value has bytes.
#include "store/ranges.h"

#include "store/reflect.h"
#include "store/strided.h"

const mi_ranges mi_ranges_unknown = {.is_whole = true};

// Ranges in the making: of bytes, those that touch the last one lengthen it.
typedef struct range_list {
    mi_heap *heap;
    MI_ARRAY(mi_range) ranges;
} range_list;

static bool add_range(range_list *list, uint32_t offset, uint32_t byte_size, bool is_text) {
    mi_range *last = list->ranges.count > 0 ? &list->ranges.data[list->ranges.count - 1] : NULL;
    if (last != NULL && !is_text && !last->is_text && last->offset + last->byte_size == offset) {
        last->byte_size += byte_size;
        return true;
    }
    if (!MI_RESERVE(list->heap, MICA_MEMORY_SCHEMA, &list->ranges, list->ranges.count + 1)) {
        return false;
    }
    list->ranges.data[list->ranges.count++] = (mi_range){offset, byte_size, is_text};
    return true;
}

static bool add_field(range_list *list, const mica_schema *schema, const mica_field *field) {
    const mi_ranges *nested = NULL;
    if (field->kind == MICA_FIELD_STRUCT) {
        nested = &mi_type_reflection(mi_schema_type_at(schema, field->type))->ranges;
    }
    if (field->kind != MICA_FIELD_TEXT && (nested == NULL || nested->is_whole)) {
        return add_range(list, field->offset, field->size * field->count, false);
    }
    for (uint32_t i = 0; i < field->count; i++) {
        const uint32_t offset = field->offset + i * field->size;
        if (nested == NULL && !add_range(list, offset, field->size, true)) {
            return false;
        }
        for (uint32_t k = 0; nested != NULL && k < nested->count; k++) {
            const mi_range *range = &nested->data[k];
            if (!add_range(list, offset + range->offset, range->byte_size, range->is_text)) {
                return false;
            }
        }
    }
    return true;
}

bool mi_ranges_find(mi_heap *heap, const mica_schema *schema, const mi_type *type, const mica_field *fields,
                    uint32_t field_count, mi_ranges *ranges) {
    *ranges = (mi_ranges){.is_whole = type->info.kind != MICA_KIND_STRUCT};
    if (ranges->is_whole) {
        return true;
    }
    range_list list = {.heap = heap};
    bool is_found = true;
    for (uint32_t i = 0; i < field_count && is_found; i++) {
        is_found = add_field(&list, schema, &fields[i]);
    }
    const mi_range *first = list.ranges.data;
    ranges->is_whole = is_found && list.ranges.count == 1 && !first->is_text && first->byte_size == type->info.size;
    if (is_found && !ranges->is_whole) {
        const size_t byte_size = list.ranges.count * sizeof(mi_range);
        ranges->data = mi_heap_allocate(heap, MICA_MEMORY_SCHEMA, byte_size, _Alignof(mi_range));
        is_found = ranges->data != NULL;
        if (is_found) {
            memcpy(ranges->data, list.ranges.data, byte_size);
            ranges->count = list.ranges.count;
        }
    }
    MI_FREE(heap, MICA_MEMORY_SCHEMA, &list.ranges);
    return is_found;
}

void mi_ranges_free(mi_heap *heap, mi_ranges *ranges) {
    if (ranges->data != NULL) {
        mi_heap_release(heap, MICA_MEMORY_SCHEMA, ranges->data, ranges->count * sizeof(mi_range), _Alignof(mi_range));
    }
    *ranges = (mi_ranges){.is_whole = false};
}

const mi_ranges *mi_type_ranges(const mica_schema *schema, const mi_type *type) {
    const mi_reflection *reflection = mi_type_reflection(type);
    if (reflection == NULL && type->info.size != 0) {
        if (mi_type_reflect(schema, type->info.id) == MICA_OUT_OF_MEMORY) {
            return NULL;
        }
        reflection = mi_type_reflection(type);
    }
    return reflection != NULL ? &reflection->ranges : &mi_ranges_unknown;
}

// Copies a text up to its end into zeros, eight bytes at a time where words begin with the first byte.
static void copy_text(uint8_t *to, const uint8_t *from, uint32_t size) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    for (; size >= sizeof(uint64_t); size -= (uint32_t)sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, from, sizeof(word));
        // The highest bit of every byte that is zero, and maybe of some behind the first of those.
        const uint64_t ends = (word - UINT64_C(0x0101010101010101)) & ~word & UINT64_C(0x8080808080808080);
        if (ends != 0) {
            word &= (ends & (0 - ends)) / 0x80 - 1;
            memcpy(to, &word, sizeof(word));
            return;
        }
        memcpy(to, &word, sizeof(word));
        to += sizeof(word);
        from += sizeof(word);
    }
#endif
    for (uint32_t i = 0; i < size && from[i] != 0; i++) {
        to[i] = from[i];
    }
}

void mi_ranges_copy(const mi_ranges *ranges, uint32_t size, void *to, const void *from, uint32_t count) {
    if (ranges->is_whole) {
        memcpy(to, from, (size_t)size * count);
        return;
    }
    memset(to, 0, (size_t)size * count);
    for (uint32_t i = 0; i < ranges->count; i++) {
        const mi_range range = ranges->data[i];
        uint8_t *target = (uint8_t *)to + range.offset;
        const uint8_t *source = (const uint8_t *)from + range.offset;
        if (!range.is_text) {
            mi_copy_strided(target, size, source, size, range.byte_size, count);
            continue;
        }
        for (uint32_t k = 0; k < count; k++) {
            copy_text(target + (size_t)k * size, source + (size_t)k * size, range.byte_size);
        }
    }
}

// The first byte of a range in which two values differ, or UINT32_MAX.
static uint32_t range_difference(const mi_range *range, const uint8_t *a, const uint8_t *b) {
    const uint32_t end = range->offset + range->byte_size;
    for (uint32_t i = range->offset; i < end; i++) {
        if (a[i] != b[i]) {
            return i;
        }
        if (range->is_text && a[i] == 0) {
            break;
        }
    }
    return UINT32_MAX;
}

uint32_t mi_ranges_difference(const mi_ranges *ranges, uint32_t size, const void *a, const void *b) {
    const mi_range all = {.offset = 0, .byte_size = size};
    const mi_range *data = ranges->is_whole ? &all : ranges->data;
    const uint32_t count = ranges->is_whole ? 1 : ranges->count;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t difference = range_difference(&data[i], a, b);
        if (difference != UINT32_MAX) {
            return difference;
        }
    }
    return UINT32_MAX;
}

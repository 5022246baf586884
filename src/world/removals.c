// The log of removals of a component.
//
// Dropped entries stay in front until they are as many as the others; then these move up. So dropping costs O(1) an
// entry, and a log that is dropped from as fast as it grows keeps its memory. An entry is whole or not there: what
// could not be noted raises `lost_version`, which no entry can be told to have been.
#include "world/removals.h"

#include <string.h>

void mi_removals_add(mi_removals *removals, mi_heap *heap, mica_entity entity, uint64_t version) {
    const uint32_t place = removals->entries.count;
    const uint32_t index = mica_entity_index(entity);
    const uint64_t number = removals->dropped_count + place + 1;
    uint64_t previous = mi_stamps_of(&removals->last, index);
    if (!MI_RESERVE(heap, MICA_MEMORY_QUERIES, &removals->entries, (size_t)place + 1) ||
        !MI_RESERVE(heap, MICA_MEMORY_QUERIES, &removals->entities, (size_t)place + 1) ||
        !mi_stamps_put(&removals->last, heap, index, number)) {
        removals->lost_version = version;
        return;
    }
    // An entry that is gone or never came counts for nothing, nor does one of another entity that had the slot.
    if (previous <= removals->dropped_count || previous >= number ||
        !mica_entity_equal(removals->entities.data[previous - removals->dropped_count - 1], entity)) {
        previous = 0;
    }
    removals->entities.data[place] = entity;
    removals->entries.data[place] = (mi_removal){.version = version, .previous = previous};
    removals->entries.count++;
    removals->entities.count++;
}

void mi_removals_drop(mi_removals *removals, uint64_t version) {
    const uint32_t count = removals->entries.count;
    while (removals->first < count && removals->entries.data[removals->first].version <= version) {
        removals->dropped_version = removals->entries.data[removals->first++].version;
    }
    if (removals->lost_version <= version) {
        removals->dropped_version =
            removals->lost_version > removals->dropped_version ? removals->lost_version : removals->dropped_version;
        removals->lost_version = 0;
    }
    const uint32_t kept = count - removals->first;
    if (removals->first == 0 || removals->first < kept) {
        return;
    }
    memmove(removals->entries.data, removals->entries.data + removals->first, kept * sizeof(mi_removal));
    memmove(removals->entities.data, removals->entities.data + removals->first, kept * sizeof(mica_entity));
    removals->entries.count = kept;
    removals->entities.count = kept;
    removals->dropped_count += removals->first;
    removals->first = 0;
}

void mi_removals_free(mi_removals *removals, mi_heap *heap) {
    MI_FREE(heap, MICA_MEMORY_QUERIES, &removals->entities);
    MI_FREE(heap, MICA_MEMORY_QUERIES, &removals->entries);
    mi_stamps_free(&removals->last, heap);
}

bool mi_removals_copy(const mi_removals *removals, mi_heap *heap, mi_removals *copy) {
    for (uint32_t place = removals->first; place < removals->entries.count; place++) {
        mi_removals_add(copy, heap, removals->entities.data[place], removals->entries.data[place].version);
        if (copy->lost_version != 0) {
            mi_removals_free(copy, heap);
            *copy = (mi_removals){.first = 0};
            return false;
        }
    }
    copy->dropped_version = removals->dropped_version;
    copy->lost_version = removals->lost_version;
    return true;
}

const char *mi_removals_validate(const mi_removals *removals) {
    if (removals->entries.count != removals->entities.count || removals->first > removals->entries.count) {
        return "log of removals: its counts disagree";
    }
    for (uint32_t place = removals->first; place < removals->entries.count; place++) {
        const mi_removal *entry = &removals->entries.data[place];
        if (place > removals->first && entry->version < entry[-1].version) {
            return "log of removals: a version is below the one before";
        }
        if (entry->previous > removals->dropped_count + place) {
            return "log of removals: an entry names a later one as that before it";
        }
    }
    return NULL;
}

uint32_t mi_removals_find(const mi_removals *removals, uint64_t since) {
    uint32_t low = removals->first;
    uint32_t high = removals->entries.count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (removals->entries.data[middle].version > since) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

bool mi_removals_has(const mi_removals *removals, mica_entity entity, uint64_t since) {
    const uint64_t number = mi_stamps_of(&removals->last, mica_entity_index(entity));
    if (number <= removals->dropped_count + removals->first) {
        return false; // not even another entity of the slot
    }
    const uint32_t from = mi_removals_find(removals, since);
    const uint64_t end = number - removals->dropped_count;
    const uint32_t count = removals->entries.count;
    for (uint32_t place = end < count ? (uint32_t)end : count; place-- > from;) {
        if (mica_entity_equal(removals->entities.data[place], entity)) {
            return true;
        }
    }
    return false;
}

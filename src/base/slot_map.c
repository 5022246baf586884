// Values packed in an array, named by keys that are checked.
//
// A slot stands between a key and its value: the key names the slot, the slot knows the value's position, and beside
// each value stands its slot, so that the last value can move into a hole. Invariants: owners[p] is the slot whose
// place is p, for every position; all other slots are free, in a list from free_head in which the slot freed last comes
// first, or retired. A slot's generation grows when its value goes; a slot that has issued the last one is retired, so
// that no key is issued twice. Generations begin at 1: no key is all zero. Arrays that grew for an insertion that then
// failed keep the room, nothing else.
#include "base/slot_map.h"

#include <mica/type.h>

#include <string.h>

#include "base/error.h"

static const mica_memory_purpose purpose = MICA_MEMORY_CONTAINERS;

static void *value_at(const mica_slot_map *map, uint32_t position) {
    return (unsigned char *)map->values.data + (size_t)position * map->value_size;
}

// The slot that a key names, or NULL if the key is stale.
static mi_map_slot *resolve(const mica_slot_map *map, mica_key key) {
    if (key.index >= map->slots.count) {
        return NULL;
    }
    mi_map_slot *slot = &map->slots.data[key.index];
    return slot->generation == key.generation && (slot->place & MI_MAP_SLOT_FREE) == 0 ? slot : NULL;
}

// Puts a slot whose value goes on the free list, or retires it.
static void free_slot(mica_slot_map *map, uint32_t index) {
    mi_map_slot *slot = &map->slots.data[index];
    if (slot->generation >= map->generation_limit) {
        slot->place = MI_MAP_SLOT_FREE | MI_MAP_SLOT_NONE;
        return;
    }
    slot->generation++;
    slot->place = MI_MAP_SLOT_FREE | map->free_head;
    map->free_head = index;
    map->free_count++;
}

// Makes room for `count` values in all, and for their slots.
static mica_result reserve(mica_slot_map *map, uint32_t count, const char *call) {
    if (count <= map->values.count) {
        return MICA_OK;
    }
    const uint32_t more = count - map->values.count;
    const uint32_t more_slots = more > map->free_count ? more - map->free_count : 0;
    if (more_slots > MI_MAP_SLOT_LIMIT - map->slots.count) {
        return mi_fail(NULL, MICA_LIMIT, call, "{} values need more than the {} slots of a slot map", MI_UINT(count),
                       MI_UINT(MI_MAP_SLOT_LIMIT));
    }
    if (!mi_array_reserve(&map->heap, purpose, &map->values, count, map->value_size, map->value_align) ||
        !MI_RESERVE(&map->heap, purpose, &map->owners, count) ||
        !MI_RESERVE(&map->heap, purpose, &map->slots, (size_t)map->slots.count + more_slots)) {
        return mi_fail(NULL, MICA_OUT_OF_MEMORY, call, "out of memory for {} values of {} bytes", MI_UINT(count),
                       MI_UINT(map->value_size));
    }
    return MICA_OK;
}

mica_slot_map *mica_slot_map_create(uint32_t value_size, uint32_t value_align, const mica_allocator *allocator) {
    static const char call[] = "mica_slot_map_create";
    if (value_align == 0 || value_align > MICA_ALIGN_MAX || (value_align & (value_align - 1)) != 0) {
        mi_fail(NULL, MICA_INVALID, call, "an alignment of {} is not a power of two up to {}", MI_UINT(value_align),
                MI_UINT(MICA_ALIGN_MAX));
        return NULL;
    }
    if (value_size == 0 || value_size % value_align != 0) {
        mi_fail(NULL, MICA_INVALID, call, "a size of {} is not a multiple of the alignment, {}", MI_UINT(value_size),
                MI_UINT(value_align));
        return NULL;
    }
    mi_heap heap;
    if (!mi_heap_init(&heap, allocator)) {
        mi_fail_plain(NULL, MICA_INVALID, call, "the allocator lacks one of its functions");
        return NULL;
    }
    mica_slot_map *map = mi_heap_allocate_zeroed(&heap, purpose, sizeof(*map), _Alignof(mica_slot_map));
    if (map == NULL) {
        mi_fail_memory(NULL, call, sizeof(*map));
        return NULL;
    }
    map->heap = heap;
    map->value_size = value_size;
    map->value_align = value_align;
    map->generation_limit = UINT32_MAX;
    map->free_head = MI_MAP_SLOT_NONE;
    return map;
}

void mica_slot_map_destroy(mica_slot_map *map) {
    if (map == NULL) {
        return;
    }
    mi_array_free(&map->heap, purpose, &map->values, map->value_size, map->value_align);
    MI_FREE(&map->heap, purpose, &map->owners);
    MI_FREE(&map->heap, purpose, &map->slots);
    mi_heap heap = map->heap;
    mi_heap_release(&heap, purpose, map, sizeof(*map), _Alignof(mica_slot_map));
}

mica_key mica_slot_map_insert(mica_slot_map *map, const void *value) {
    static const char call[] = "mica_slot_map_insert";
    if (map == NULL) {
        mi_fail_plain(NULL, MICA_INVALID, call, "the map is NULL");
        return (mica_key){0};
    }
    // A value of the map itself moves with the others when there is no room.
    const uintptr_t distance = (uintptr_t)value - (uintptr_t)map->values.data;
    const bool is_own = distance < (size_t)map->values.count * map->value_size;
    if (reserve(map, map->values.count + 1, call) != MICA_OK) {
        return (mica_key){0};
    }
    uint32_t index = map->free_head;
    if (index != MI_MAP_SLOT_NONE) {
        map->free_head = map->slots.data[index].place & ~MI_MAP_SLOT_FREE;
        map->free_count--;
    } else {
        index = map->slots.count++;
        map->slots.data[index].generation = 1;
    }
    const uint32_t position = map->values.count++;
    map->owners.data[position] = index;
    map->owners.count = map->values.count;
    map->slots.data[index].place = position;
    if (value == NULL) {
        memset(value_at(map, position), 0, map->value_size);
    } else {
        memcpy(value_at(map, position), is_own ? (const unsigned char *)map->values.data + distance : value,
               map->value_size);
    }
    return (mica_key){.index = index, .generation = map->slots.data[index].generation};
}

mica_result mica_slot_map_remove(mica_slot_map *map, mica_key key) {
    static const char call[] = "mica_slot_map_remove";
    if (map == NULL) {
        return mi_fail_plain(NULL, MICA_INVALID, call, "the map is NULL");
    }
    const mi_map_slot *slot = resolve(map, key);
    if (slot == NULL) {
        return mi_fail(NULL, MICA_STALE, call, "key {}:{} is stale", MI_UINT(key.index), MI_UINT(key.generation));
    }
    const uint32_t position = slot->place;
    const uint32_t last = --map->values.count;
    map->owners.count = last;
    if (position != last) {
        memcpy(value_at(map, position), value_at(map, last), map->value_size);
        map->owners.data[position] = map->owners.data[last];
        map->slots.data[map->owners.data[position]].place = position;
    }
    free_slot(map, key.index);
    return MICA_OK;
}

void *mica_slot_map_find(const mica_slot_map *map, mica_key key) {
    const mi_map_slot *slot = map != NULL ? resolve(map, key) : NULL;
    return slot != NULL ? value_at(map, slot->place) : NULL;
}

uint32_t mica_slot_map_count(const mica_slot_map *map) {
    return map != NULL ? map->values.count : 0;
}

void *mica_slot_map_values(const mica_slot_map *map) {
    return map != NULL ? map->values.data : NULL;
}

mica_key mica_slot_map_key_at(const mica_slot_map *map, uint32_t position) {
    if (map == NULL || position >= map->values.count) {
        return (mica_key){0};
    }
    const uint32_t index = map->owners.data[position];
    return (mica_key){.index = index, .generation = map->slots.data[index].generation};
}

void mica_slot_map_clear(mica_slot_map *map) {
    if (map == NULL) {
        return;
    }
    // Backwards, so that the same insertions find their slots in the same order again.
    for (uint32_t position = map->values.count; position > 0; position--) {
        free_slot(map, map->owners.data[position - 1]);
    }
    map->values.count = 0;
    map->owners.count = 0;
}

mica_result mica_slot_map_reserve(mica_slot_map *map, uint32_t count) {
    static const char call[] = "mica_slot_map_reserve";
    if (map == NULL) {
        return mi_fail_plain(NULL, MICA_INVALID, call, "the map is NULL");
    }
    return reserve(map, count, call);
}

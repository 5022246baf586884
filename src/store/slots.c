// The entity index.
//
// Free slots form one list through their locations, last freed first. Taking given slots out of the middle of the list
// is done in one walk over it for any number of them: they are marked by clearing their free bit, which keeps the link,
// then unlinked. Until the walk nothing has been lost, so a refusal puts the bits back. Counts: used = 1 + alive +
// retired + length of the free list + slots that wait and are not retired.
//
// What clearing leaves to wait comes to the same as if it had gone over all slots at once: a slot that waits with the
// mark of the living has its generation raised when it is brought into the list, once, however often the world was
// cleared meanwhile. The one thing that has to be known at once is which slots retire, since they are no room any more:
// only those in their last generation can, and with any of them clearing does go over all slots.
#include "store/slots.h"

#include <string.h>

static uint32_t slot_generation(uint64_t slot) {
    return (uint32_t)(slot >> 32);
}

static uint64_t slot_make(uint64_t generation, uint32_t location) {
    return generation << 32 | location;
}

// Marks slots as never used: free, with the reserved generation, in no list.
static void mark_unused(uint64_t *data, uint64_t first, uint64_t end) {
    for (uint64_t index = first; index < end; index++) {
        data[index] = UINT64_MAX;
    }
}

// The generation that the next entity of a slot carries which clearing ended.
static uint64_t next_generation(uint64_t slot) {
    return slot_generation(slot) + (uint64_t)((slot & MI_SLOT_FREE) == 0);
}

static uint32_t free_count(const mi_slots *slots) {
    return slots->used == 0 ? 0 : slots->used - 1 - slots->alive - slots->retired;
}

// Bytes of so many slots and of what is known of their pages.
static size_t slots_bytes(uint32_t capacity) {
    return capacity * sizeof(uint64_t) + mi_slots_pages(capacity);
}

void mi_slots_free(mi_slots *slots, mi_heap *heap) {
    mi_heap_release(heap, MICA_MEMORY_ENTITIES, slots->data, slots_bytes(slots->capacity), sizeof(uint64_t));
    *slots = (mi_slots){0};
}

// Moves the slots to memory for `capacity` of them, which is not less than are used.
static bool resize(mi_slots *slots, mi_heap *heap, uint32_t capacity) {
    uint64_t *data = mi_heap_allocate(heap, MICA_MEMORY_ENTITIES, slots_bytes(capacity), sizeof(uint64_t));
    if (data == NULL) {
        return false;
    }
    memset(data + capacity, 0, mi_slots_pages(capacity));
    if (slots->used > 0) {
        memcpy(data, slots->data, slots->used * sizeof(uint64_t));
        memcpy(data + capacity, mi_slots_touched(slots), mi_slots_pages(slots->used));
    } else {
        data[0] = slot_make(MICA_GENERATION_MAX, MI_SLOT_FREE);
        slots->used = 1;
    }
    mark_unused(data, slots->used, capacity);
    mi_heap_release(heap, MICA_MEMORY_ENTITIES, slots->data, slots_bytes(slots->capacity), sizeof(uint64_t));
    slots->data = data;
    slots->bound = slots->bound == slots->capacity ? capacity : slots->bound;
    slots->capacity = capacity;
    return true;
}

// Room for slots below `need`.
static mica_result grow(mi_slots *slots, mi_heap *heap, uint64_t need) {
    if (need > (uint64_t)MICA_INDEX_MAX + 1) {
        return MICA_LIMIT;
    }
    if (need <= slots->capacity) {
        return MICA_OK;
    }
    uint64_t capacity = slots->capacity < 32 ? 64 : (uint64_t)slots->capacity * 2;
    if (capacity < need) {
        capacity = need;
    }
    if (capacity > (uint64_t)MICA_INDEX_MAX + 1) {
        capacity = (uint64_t)MICA_INDEX_MAX + 1;
    }
    return resize(slots, heap, (uint32_t)capacity) ? MICA_OK : MICA_OUT_OF_MEMORY;
}

void mi_slots_trim(mi_slots *slots, mi_heap *heap) {
    const uint32_t capacity = slots->used > slots->kept ? slots->used : slots->kept;
    if (capacity <= 1) { // no slot but the one that is never used
        mi_slots_free(slots, heap);
    } else if (capacity < slots->capacity) {
        (void)resize(slots, heap, capacity);
    }
}

mica_result mi_slots_reserve(mi_slots *slots, mi_heap *heap, uint32_t extra) {
    const uint32_t reusable = free_count(slots);
    if (extra <= reusable) {
        return MICA_OK;
    }
    const uint64_t used = slots->used == 0 ? 1 : slots->used;
    return grow(slots, heap, used + (extra - reusable));
}

mica_result mi_slots_reserve_used(mi_slots *slots, mi_heap *heap, uint32_t used) {
    return grow(slots, heap, used);
}

void mi_slots_preview(const mi_slots *slots, mica_entity *entities, uint32_t count) {
    uint32_t i = 0;
    uint32_t index = slots->free_head;
    for (; i < count && index != 0; i++) {
        entities[i] = mi_slots_handle(slots, index);
        index = mi_slots_location(slots, index) & ~MI_SLOT_FREE;
    }
    for (index = mi_slots_end(slots); i < count && index < slots->used; index++) { // that wait
        const uint64_t generation = next_generation(slots->data[index]);
        if (generation != MICA_GENERATION_MAX) {
            entities[i++] = mica_entity_make(index, (uint32_t)generation);
        }
    }
    for (index = slots->used; i < count; i++) {
        entities[i] = mica_entity_make(index++, 0);
    }
}

// Slots that mi_slots_refill brings into the list at a time.
#define REFILL_COUNT 512u

// Ends the slots from `first` to below `end` and links them, lowest first; the last one to `next`. Returns the first.
static uint32_t link_some(mi_slots *slots, uint32_t first, uint32_t end, uint32_t next) {
    for (uint32_t index = end; index-- > first;) {
        const uint64_t slot = slots->data[index];
        const uint64_t generation = next_generation(slot);
        if (generation == MICA_GENERATION_MAX) {
            slots->retired += (slot & MI_SLOT_FREE) == 0;
            slots->data[index] = slot_make(MICA_GENERATION_MAX, MI_SLOT_FREE);
            continue;
        }
        slots->last_count += generation == MICA_GENERATION_MAX - 1;
        slots->data[index] = slot_make(generation, MI_SLOT_FREE | next);
        next = index;
    }
    return next;
}

// The same for slots of which none is near its last generation: two loops without a branch.
static uint32_t link_all(mi_slots *slots, uint32_t first, uint32_t end, uint32_t next) {
    uint64_t *data = slots->data;
    uint64_t near_end = 0;
    for (uint32_t index = first; index < end; index++) {
        near_end |= (data[index] >> 32) + 3;
    }
    if ((near_end & ((uint64_t)MICA_GENERATION_MAX + 1)) != 0) {
        return link_some(slots, first, end, next);
    }
    for (uint32_t index = first; index < end; index++) {
        data[index] = slot_make(next_generation(data[index]), MI_SLOT_FREE | (index + 1));
    }
    data[end - 1] = slot_make(slot_generation(data[end - 1]), MI_SLOT_FREE | next);
    return first;
}

void mi_slots_refill(mi_slots *slots) {
    while (slots->free_head == 0 && slots->bound < slots->capacity) {
        const uint32_t first = slots->bound;
        const uint32_t end = slots->used - first < REFILL_COUNT ? slots->used : first + REFILL_COUNT;
        slots->bound = end < slots->used ? end : slots->capacity;
        slots->free_head = link_all(slots, first, end, 0);
    }
}

void mi_slots_settle(mi_slots *slots) {
    if (slots->bound == slots->capacity) {
        return;
    }
    uint32_t last = slots->free_head;
    for (uint32_t next = last; next != 0; next = mi_slots_location(slots, next) & ~MI_SLOT_FREE) {
        last = next;
    }
    const uint32_t first = link_all(slots, slots->bound, slots->used, 0);
    slots->bound = slots->capacity;
    if (last == 0) {
        slots->free_head = first;
    } else {
        slots->data[last] = slot_make(slot_generation(slots->data[last]), MI_SLOT_FREE | first);
    }
}

void mi_slots_clear(mi_slots *slots) {
    if (slots->used <= 1) {
        return;
    }
    const bool any_retires = slots->last_count > 0;
    memset(mi_slots_touched(slots), 1, mi_slots_pages(slots->used));
    slots->alive = 0;
    slots->last_count = 0;
    slots->free_head = 0;
    slots->bound = 1;
    if (any_retires) {
        mi_slots_settle(slots);
    } else {
        mi_slots_refill(slots);
    }
}

void mi_slots_give_last(mi_slots *slots, uint32_t index) {
    const uint64_t generation = (slots->data[index] >> 32) + 1;
    mi_slots_touch(slots, index);
    slots->alive--;
    if (generation == MICA_GENERATION_MAX) {
        slots->data[index] = slot_make(MICA_GENERATION_MAX, MI_SLOT_FREE);
        slots->last_count--;
        slots->retired++;
        return;
    }
    slots->data[index] = slot_make(generation, MI_SLOT_FREE | slots->free_head);
    slots->free_head = index;
    slots->last_count++;
}

// Why one slot cannot be taken with this handle, looking at nothing but the slot.
static mica_result refuse_at(const mi_slots *slots, mica_entity entity) {
    const uint32_t index = mica_entity_index(entity);
    const uint32_t generation = mica_entity_generation(entity);
    if (index == 0 || generation == MICA_GENERATION_MAX) {
        return MICA_STALE;
    }
    if (index > MICA_INDEX_MAX) {
        return MICA_LIMIT;
    }
    if (index >= slots->used) {
        return MICA_OK;
    }
    if ((slots->data[index] & MI_SLOT_FREE) == 0) {
        return MICA_EXISTS;
    }
    return generation < slot_generation(slots->data[index]) ? MICA_STALE : MICA_OK;
}

// Puts the slots from `used` to below `end` in front of the free list, lowest first.
static void add_free(mi_slots *slots, uint32_t end) {
    for (uint32_t index = end; index-- > slots->used;) {
        slots->data[index] = slot_make(0, MI_SLOT_FREE | slots->free_head);
        slots->free_head = index;
    }
    slots->used = end;
}

mica_result mi_slots_take_at(mi_slots *slots, mi_heap *heap, const mica_entity *entities, uint32_t count,
                             uint32_t *failed) {
    mi_slots_settle(slots);
    uint32_t end = slots->used;
    for (uint32_t i = 0; i < count; i++) {
        const mica_result result = refuse_at(slots, entities[i]);
        if (result != MICA_OK) {
            *failed = i;
            return result;
        }
        if (mica_entity_index(entities[i]) >= end) {
            end = mica_entity_index(entities[i]) + 1;
        }
    }
    *failed = 0;
    const mica_result grown = grow(slots, heap, end);
    if (grown != MICA_OK) {
        return grown;
    }
    const uint32_t old_used = slots->used;
    const uint32_t old_head = slots->free_head;
    if (end > old_used) {
        add_free(slots, end);
    }
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t index = mica_entity_index(entities[i]);
        if ((slots->data[index] & MI_SLOT_FREE) == 0) { // named twice: put the marks back
            for (uint32_t k = 0; k < i; k++) {
                slots->data[mica_entity_index(entities[k])] |= MI_SLOT_FREE;
            }
            mark_unused(slots->data, old_used, slots->used);
            slots->used = old_used;
            slots->free_head = old_head;
            *failed = i;
            return MICA_EXISTS;
        }
        slots->data[index] &= ~(uint64_t)MI_SLOT_FREE;
    }
    // Unlink what is marked.
    uint32_t last = 0;
    for (uint32_t index = slots->free_head; index != 0;) {
        const uint32_t next = (uint32_t)slots->data[index] & ~MI_SLOT_FREE;
        if ((slots->data[index] & MI_SLOT_FREE) != 0) {
            last = index;
        } else if (last == 0) {
            slots->free_head = next;
        } else {
            slots->data[last] = slot_make(slot_generation(slots->data[last]), MI_SLOT_FREE | next);
            mi_slots_touch(slots, last);
        }
        index = next;
    }
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t index = mica_entity_index(entities[i]);
        const uint32_t generation = mica_entity_generation(entities[i]);
        const uint32_t due = slot_generation(slots->data[index]);
        slots->issued += (uint64_t)(generation - due) + 1;
        slots->last_count += generation == MICA_GENERATION_MAX - 1 && due != generation;
        slots->data[index] = slot_make(generation, 0);
        mi_slots_touch(slots, index);
    }
    slots->alive += count;
    return MICA_OK;
}

uint64_t mi_slots_left(const mi_slots *slots) {
    return (uint64_t)MICA_INDEX_MAX * MICA_GENERATION_MAX - slots->issued;
}

const char *mi_slots_validate(const mi_slots *slots) {
    if (slots->used == 0) {
        return slots->alive == 0 && slots->free_head == 0 ? NULL : "entity index: counts without slots";
    }
    if (slots->bound != slots->capacity && (slots->bound >= slots->used || slots->free_head == 0)) {
        return "entity index: no slots wait, or the free list is empty while they do";
    }
    const uint32_t end = mi_slots_end(slots);
    uint32_t alive = 0;
    uint32_t retired = 0;
    uint32_t last_count = 0;
    uint32_t waiting = 0;
    for (uint32_t index = 1; index < slots->used; index++) {
        const uint64_t slot = slots->data[index];
        const bool is_free = (slot & MI_SLOT_FREE) != 0;
        const uint32_t generation = slot_generation(slot);
        if ((!is_free && generation >= MICA_GENERATION_MAX) ||
            (index >= end && next_generation(slot) == MICA_GENERATION_MAX && !is_free)) {
            return "entity index: a living slot has the reserved generation, or one that waits is to retire";
        }
        alive += !is_free && index < end;
        retired += is_free && generation == MICA_GENERATION_MAX;
        last_count += index < end && generation == MICA_GENERATION_MAX - 1;
        waiting += index >= end && generation != MICA_GENERATION_MAX;
    }
    if (alive != slots->alive || retired != slots->retired || last_count != slots->last_count) {
        return "entity index: counts disagree with slots";
    }
    const uint32_t listed = free_count(slots) - waiting;
    uint32_t length = 0;
    for (uint32_t index = slots->free_head; index != 0;) {
        if (index >= end || (slots->data[index] & MI_SLOT_FREE) == 0 || ++length > listed ||
            slot_generation(slots->data[index]) == MICA_GENERATION_MAX) {
            return "entity index: the free list is broken";
        }
        index = (uint32_t)slots->data[index] & ~MI_SLOT_FREE;
    }
    return length == listed ? NULL : "entity index: free slots are missing from the list";
}

// The entity index: one 8-byte slot an entity, found by the handle's index.
//
// A slot holds `generation << 32 | location`. A location is one of
//   0                                  alive, without components: no row
//   chunk << MI_ROW_BITS | row         alive, with a row (chunk ids start at 1)
//   MI_SLOT_FREE | next                free; `next` is the index of the next free slot, 0 at the end
// The generation of a free slot is the one its next entity will carry. A slot whose generation has reached
// MICA_GENERATION_MAX is retired: it is marked free and stands in no list. Slot 0 is never used, so that the null
// handle names nothing.
//
// Clearing touches no slots: those from `bound` on *wait*. They are as the clearing found them, their entities have
// ended whatever their marks say, and nobody looks at them until they are brought into the free list, some at a time,
// each time when it runs empty. So while slots wait the free list is not empty, and whoever takes its last slot by
// himself has to call mi_slots_refill.
//
// Behind the slots stands a byte for each page of them that says whether an entity of the page has ended since somebody
// cleared it, which those do who copy slots. Creating marks nothing: what it takes is found by following the free list
// as it was.
#pragma once

#include "base/assert.h"
#include "base/heap.h"

#include <mica/entity.h>
#include <mica/result.h>

#define MI_ROW_BITS 12u
#define MI_ROW_MAX (1u << MI_ROW_BITS)           // rows a chunk can hold
#define MI_CHUNK_MAX (1u << (31u - MI_ROW_BITS)) // chunk ids are below
#define MI_SLOT_FREE 0x80000000u

#define MI_SLOT_PAGE_SHIFT 10u // slots a page

typedef struct mi_slots {
    uint64_t *data;    // those never used are marked free with the reserved generation, so that no handle names them
    uint32_t bound;    // handles of this index and above name nobody: `capacity`, or where the slots that wait begin
    uint32_t capacity; // of data
    uint32_t used;     // slots ever used, slot 0 included; those that wait are the last ones of them
    uint32_t free_head;
    uint32_t alive;
    uint32_t retired;
    uint32_t last_count; // slots below `bound` in the last generation that is issued: that will retire when they end
    uint32_t kept;       // capacity that mi_slots_trim leaves
    uint64_t issued;     // handles that cannot be issued any more, those of skipped generations included
} mi_slots;

void mi_slots_free(mi_slots *slots, mi_heap *heap);

// Makes room for `extra` more entities. MICA_LIMIT: there are no more indices; MICA_OUT_OF_MEMORY. Sets no error.
mica_result mi_slots_reserve(mi_slots *slots, mi_heap *heap, uint32_t extra);

// Makes room for slots below `used`. As mi_slots_reserve.
mica_result mi_slots_reserve_used(mi_slots *slots, mi_heap *heap, uint32_t used);

// Gives back the room for slots that were never used, if there is memory to move the others to; but for `kept`.
void mi_slots_trim(mi_slots *slots, mi_heap *heap);

// Ends all entities; low indices are handed out first afterwards. O(1), but O(slots) if there is one in its last
// generation.
void mi_slots_clear(mi_slots *slots);
// Brings the next slots that wait, if there are any, into the free list, which is empty.
void mi_slots_refill(mi_slots *slots);
// Brings all slots that wait into the list, behind those that are in it.
void mi_slots_settle(mi_slots *slots);

// Takes exactly these slots with these generations, all or none; `location` 0 for all. On refusal `failed` is the
// position that was refused and the result is MICA_EXISTS, MICA_STALE, MICA_LIMIT or MICA_OUT_OF_MEMORY. Sets no error.
mica_result mi_slots_take_at(mi_slots *slots, mi_heap *heap, const mica_entity *entities, uint32_t count,
                             uint32_t *failed);

// Writes the handles of the next `count` slots that are taken; needs room for them.
void mi_slots_preview(const mi_slots *slots, mica_entity *entities, uint32_t count);

// Handles that can still be issued.
uint64_t mi_slots_left(const mi_slots *slots);

// Finds what is wrong with counts and the free list; NULL if nothing is. O(slots).
const char *mi_slots_validate(const mi_slots *slots);

// The location of a living entity: true, or false if the handle is stale, null or a placeholder. The one place that
// resolves handles.
static inline bool mi_slots_resolve(const mi_slots *slots, mica_entity entity, uint32_t *location) {
    const uint32_t index = mica_entity_index(entity);
    if (index >= slots->bound) {
        return false;
    }
    // One exclusive-or and one compare see to both: another generation or the free mark leaves a high bit.
    const uint64_t rest = slots->data[index] ^ (uint64_t)mica_entity_generation(entity) << 32;
    *location = (uint32_t)rest;
    return rest < MI_SLOT_FREE;
}

// Which pages have slots whose entity has ended: a byte each, 1 or 0, for `capacity` slots.
static inline uint8_t *mi_slots_touched(const mi_slots *slots) {
    return (uint8_t *)(slots->data + slots->capacity);
}
static inline void mi_slots_touch(const mi_slots *slots, uint32_t index) {
    mi_slots_touched(slots)[index >> MI_SLOT_PAGE_SHIFT] = 1;
}
// How many pages so many slots take.
static inline uint32_t mi_slots_pages(uint32_t count) {
    return (uint32_t)(((uint64_t)count + (1u << MI_SLOT_PAGE_SHIFT) - 1) >> MI_SLOT_PAGE_SHIFT);
}

// Slots of this index and above are not in use.
static inline uint32_t mi_slots_end(const mi_slots *slots) {
    return slots->bound < slots->used ? slots->bound : slots->used;
}

static inline uint32_t mi_slots_location(const mi_slots *slots, uint32_t index) {
    return (uint32_t)slots->data[index];
}
static inline void mi_slots_move(mi_slots *slots, uint32_t index, uint32_t location) {
    slots->data[index] = (slots->data[index] & ~(uint64_t)UINT32_MAX) | location;
}
// The same for a living entity, without reading its slot.
static inline void mi_slots_put(mi_slots *slots, mica_entity entity, uint32_t location) {
    slots->data[mica_entity_index(entity)] = (uint64_t)mica_entity_generation(entity) << 32 | location;
}
static inline mica_entity mi_slots_handle(const mi_slots *slots, uint32_t index) {
    return mica_entity_make(index, (uint32_t)(slots->data[index] >> 32));
}

// Whether one more entity finds room without mi_slots_reserve.
static inline bool mi_slots_have_room(const mi_slots *slots) {
    return slots->free_head != 0 || (slots->used != 0 && slots->used < slots->capacity);
}

// The index of the slot that is taken next; needs room.
static inline uint32_t mi_slots_next(const mi_slots *slots) {
    return slots->free_head != 0 ? slots->free_head : slots->used;
}

// Takes a slot; needs room. The slot freed last comes first.
static inline mica_entity mi_slots_take(mi_slots *slots, uint32_t location) {
    uint32_t index = slots->free_head;
    uint64_t generation = 0;
    if (index != 0) {
        const uint64_t slot = slots->data[index];
        generation = slot >> 32;
        slots->free_head = (uint32_t)slot & ~MI_SLOT_FREE;
        if (MICA_UNLIKELY(slots->free_head == 0 && slots->bound < slots->capacity)) {
            mi_slots_refill(slots);
        }
    } else {
        MI_ASSERT(slots->used < slots->capacity && slots->bound == slots->capacity);
        index = slots->used++;
    }
    slots->data[index] = generation << 32 | location;
    slots->alive++;
    slots->issued++;
    return mica_entity_make(index, (uint32_t)generation);
}

// Undoes the last mi_slots_take, whose handle nobody has seen: it will be issued next.
static inline void mi_slots_put_back(mi_slots *slots, uint32_t index) {
    MI_ASSERT(index != 0 && index < slots->used && (slots->data[index] & MI_SLOT_FREE) == 0);
    const uint64_t generation = slots->data[index] >> 32;
    slots->data[index] = generation << 32 | MI_SLOT_FREE | slots->free_head;
    slots->free_head = index;
    slots->alive--;
    slots->issued--;
    mi_slots_touch(slots, index);
}

// What mi_slots_give is for a slot that comes to its last generation, or has had it.
void mi_slots_give_last(mi_slots *slots, uint32_t index);

// Whether ending an entity is the business of mi_slots_give_last.
static inline bool mi_slots_is_last(mica_entity entity) {
    return mica_entity_generation(entity) >= MICA_GENERATION_MAX - 2;
}
// Ends a living entity, without reading its slot, that mi_slots_is_last says nothing of.
static inline void mi_slots_end_entity(mi_slots *slots, mica_entity entity) {
    const uint32_t index = mica_entity_index(entity);
    const uint64_t generation = (uint64_t)mica_entity_generation(entity) + 1;
    MI_ASSERT(index != 0 && index < slots->used && slots->data[index] >> 32 == generation - 1 &&
              (slots->data[index] & MI_SLOT_FREE) == 0);
    slots->alive--;
    slots->data[index] = generation << 32 | MI_SLOT_FREE | slots->free_head;
    slots->free_head = index;
    mi_slots_touch(slots, index);
}

// Ends the entity in slot `index`.
static inline void mi_slots_give(mi_slots *slots, uint32_t index) {
    const mica_entity entity = mi_slots_handle(slots, index);
    if (MICA_UNLIKELY(mi_slots_is_last(entity))) {
        mi_slots_give_last(slots, index);
    } else {
        mi_slots_end_entity(slots, entity);
    }
}

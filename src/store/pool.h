// One pool: the sparse set of all entities that have one component, and their values.
//
//   sparse    pages of 4,096 slots by entity index: generation << 32 | position; all ones: not in the pool. Pages come
//             when first touched and go when nobody of them is left, all but one: so a pool that wavers between none
//             and a few does not take and give memory all the time.
//   entities  handles, densely by position. In a stable pool a removed element stays as a tombstone: a handle of the
//             reserved generation whose index is the position of the tombstone made before it.
//   pages     values by position, 1 << page_shift a page. Those of a packed pool are parts of one piece that moves when
//             it grows; those of a paged pool are pieces of their own that never move. A tag has none.
//   stamps    of the last write, a page each. A page that takes over a value takes over the stamp of the page that the
//             value comes from, if that is later. A page whose stamp names an image has had no element come to it, move
//             in it or become a tombstone since.
//
// An element is put in steps, so that a failure leaves nothing behind: the pool is opened for it (memory made sure of),
// its value is made at mi_pool_next, then it is published. A pool knows nothing of masks and groups: those of a store's
// pools are kept by pools.h, through which everything but reading goes.
#pragma once

#include "base/array.h"
#include "base/bitset.h"
#include "store/page.h"
#include "store/slots.h"
#include "store/stamp.h"
#include "store/value.h"

#define MI_SPARSE_SHIFT 12u
#define MI_SPARSE_SIZE (1u << MI_SPARSE_SHIFT)
#define MI_SPARSE_NONE UINT64_MAX
// Positions that a version is for where values are not paged: 1 << MI_PACKED_SHIFT.
#define MI_PACKED_SHIFT 10u
// No position.
#define MI_POSITION_NONE UINT32_MAX

struct mi_group;

typedef struct mi_pool {
    uint64_t **sparse;     // NULL where nobody is
    uint32_t sparse_count; // pages that `sparse` has places for
    uint32_t page_shift;
    uint8_t **pages;
    uint8_t *values; // of a packed pool; NULL: paged, a tag, or no room for a value yet
    uint32_t size;   // bytes of a value; 0: a tag
    bool is_simple;  // elements are bytes that bring nothing along, cannot be disabled and leave no tombstones
    mica_entity *entities;
    uint32_t count;          // positions in use, tombstones included
    uint32_t dead_count;     // tombstones
    uint32_t dead_head;      // position of the last one, MI_POSITION_NONE: none
    uint32_t capacity;       // positions that `entities` has room for
    uint32_t value_capacity; // positions that have room for a value
    uint32_t room;           // the smaller one of the two; of a tag, the first
    uint32_t plain_room;    // the same, 0 unless the pool is plain: simple, small, not paged, and of no group's concern
    uint32_t index;         // number among its store's pools: its bit in masks, which is
    uint32_t mask_word;     // in this word,
    uint64_t mask_bit;      // this one
    uint64_t structure;     // grows when an element comes, goes or moves: what is cached about positions is void
    uint64_t *stamps;       // by page: see stamp.h
    uint64_t *images;       // by page: what it names, the number of an image that it equals
    uint64_t *live;         // stable pools: a bit a position
    uint32_t *sparse_live;  // elements by page of `sparse`
    uint64_t *sparse_spare; // an empty page that the next one is made of, NULL: none
    mi_region *region;      // where pages of `sparse` come from, NULL: the heap
    uint32_t page_capacity; // of `pages`, `stamps` and `images`
    const mi_type *type;
    bool parts_values; // they have pages of the system of their own: see heap.h
    // The number of the rows in a snapshot (state/snapshot.h) that have its elements, tombstones included, in this
    // order as long as `structure` is rows_structure; 0: none.
    uint64_t rows_named;
    uint64_t rows_structure;
    struct mi_group *owner;             // the group that keeps its members in front, NULL: none
    MI_ARRAY(struct mi_group *) groups; // all groups that its elements decide about, the owner included
} mi_pool;

// Where a packed pool's values lay before they moved, and how to find them now. `byte_size` 0: nothing moved.
typedef struct mi_pool_moved {
    const uint8_t *from;
    const uint8_t *to;
    size_t byte_size;
} mi_pool_moved;

// Where a value that lay at `value` before the move lies now.
static inline const void *mi_pool_follow(const mi_pool_moved *moved, const void *value) {
    const size_t offset = (size_t)((uintptr_t)value - (uintptr_t)moved->from);
    return MICA_UNLIKELY(offset < moved->byte_size) ? moved->to + offset : value;
}

// NULL: out of memory. `region` may be NULL; see page.h.
mi_pool *mi_pool_create(mi_heap *heap, mi_region *region, const mi_type *type, uint32_t index);
// Destructs all values; NULL is allowed.
void mi_pool_destroy(mi_pool *pool, mi_heap *heap, const mica_allocator *values);

// Makes room for `extra` more elements behind the last position. False: out of memory, and nothing has changed.
bool mi_pool_reserve(mi_pool *pool, mi_heap *heap, const mica_allocator *values, uint32_t extra, mi_pool_moved *moved);
// Makes sure of the page of `sparse` that an entity of this index needs; false: out of memory. The second is for a page
// that is not there, by its number.
static inline bool mi_pool_open_index(mi_pool *pool, mi_heap *heap, uint32_t entity_index);
bool mi_pool_open_page(mi_pool *pool, mi_heap *heap, uint32_t page);
// Gives the page back if it is empty: what was opened is not to be published.
void mi_pool_close_index(mi_pool *pool, mi_heap *heap, uint32_t entity_index);

// Where the next element will stand: the last tombstone, or behind the last position.
static inline uint32_t mi_pool_next(const mi_pool *pool) {
    return pool->dead_head != MI_POSITION_NONE ? pool->dead_head : pool->count;
}
// Whether mi_pool_next has room without mi_pool_reserve.
static inline bool mi_pool_has_room(const mi_pool *pool) {
    return pool->dead_head != MI_POSITION_NONE || pool->count < pool->room;
}
// Publishes the element at mi_pool_next, whose value is made. Room and page are there.
static inline void mi_pool_publish(mi_pool *pool, mica_entity entity, uint64_t version);
// Takes the position at mi_pool_next of a stable pool into use.
uint32_t mi_pool_claim(mi_pool *pool);
// Publishes `count` elements from position pool->count on, past all tombstones; their values are made.
void mi_pool_publish_many(mi_pool *pool, const mica_entity *entities, uint32_t count, uint64_t version);
// To be called whenever capacities or groups have changed.
void mi_pool_note_room(mi_pool *pool);
// Gives a page of `sparse` on which nobody is left back, or keeps it for the next one.
void mi_pool_drop_page(mi_pool *pool, mi_heap *heap, uint32_t page);
// Makes a position of a stable pool a tombstone.
void mi_pool_bury(mi_pool *pool, uint32_t position);
// Takes the element at `position` out; its value is raw memory by now. The last element moves into the hole, or the
// position becomes a tombstone. A stable pool starts again at position 0 when its last element goes.
static inline void mi_pool_take_out(mi_pool *pool, mi_heap *heap, const mica_allocator *values, uint32_t position);
// Swaps two live elements with their values. Cannot fail: moves by way of `spare`, raw memory for one value.
void mi_pool_swap(mi_pool *pool, const mica_allocator *values, uint32_t a, uint32_t b, void *spare);
// Destructs the values of the live elements at [first, end), runs of them within a page at once; the elements stay.
void mi_pool_destruct(const mi_pool *pool, const mica_allocator *values, uint32_t first, uint32_t end);
// Destructs all values and takes all elements out; room for values and handles stays.
void mi_pool_clear(mi_pool *pool, mi_heap *heap, const mica_allocator *values);

// Closes the tombstones' gaps: the elements move up and keep their order. O(positions).
void mi_pool_compact(mi_pool *pool, const mica_allocator *values);
// Gives back what is reserved and not used. False: out of memory; what could not be given back stays reserved.
bool mi_pool_shrink(mi_pool *pool, mi_heap *heap, const mica_allocator *values);
// Brings the elements at [first, first + count) into the order that `order` gives: the element that stands at
// first + order[i] comes to first + i. `order` is a permutation and is used up. No tombstones are among them. `spare`
// is raw memory for one value. O(count).
void mi_pool_permute(mi_pool *pool, const mica_allocator *values, uint32_t first, uint32_t count, uint32_t *order,
                     void *spare);

// The pieces of memory in which there is room for values, number i from pages[i] on: how many, and the bytes of each.
uint32_t mi_pool_piece_count(const mi_pool *pool);
size_t mi_pool_piece_byte_size(const mi_pool *pool);

// Bytes that the pool holds, and what is wrong with it, or NULL. O(elements + slots of the pages of `sparse`).
size_t mi_pool_byte_size(const mi_pool *pool);
const char *mi_pool_validate(const mi_pool *pool);

// The position of the element in whose value `address` points; MI_POSITION_NONE: none. O(pages) if paged.
uint32_t mi_pool_position_of(const mi_pool *pool, const void *address);

// The slot of an entity in `sparse`; NULL: nobody of its page is in the pool.
static inline uint64_t *mi_pool_seek(const mi_pool *pool, mica_entity entity) {
    const uint32_t index = mica_entity_index(entity);
    const uint32_t page = index >> MI_SPARSE_SHIFT;
    if (page >= pool->sparse_count || pool->sparse[page] == NULL) {
        return NULL;
    }
    return &pool->sparse[page][index & (MI_SPARSE_SIZE - 1)];
}
// The position that an entity's slot holds; MI_POSITION_NONE: it is not in the pool.
static inline uint32_t mi_pool_position_in(const uint64_t *slot, mica_entity entity) {
    // As in slots.h: another generation and the mark of those not there leave a high bit.
    const uint64_t rest = *slot ^ (uint64_t)mica_entity_generation(entity) << 32;
    return rest < MI_SLOT_FREE ? (uint32_t)rest : MI_POSITION_NONE;
}
// The position of an entity; MI_POSITION_NONE: it is not in the pool (or not alive).
static inline uint32_t mi_pool_find(const mi_pool *pool, mica_entity entity) {
    const uint64_t *slot = mi_pool_seek(pool, entity);
    return slot != NULL ? mi_pool_position_in(slot, entity) : MI_POSITION_NONE;
}
// Asks for the memory that mi_pool_find will look at.
static inline void mi_pool_fetch_slot(const mi_pool *pool, mica_entity entity) {
    const uint64_t *slot = mi_pool_seek(pool, entity);
    if (slot != NULL) {
        __builtin_prefetch(slot);
    }
}
static inline bool mi_pool_has(const mi_pool *pool, mica_entity entity) {
    return mi_pool_find(pool, entity) != MI_POSITION_NONE;
}

// The value at a position, which may be one that is opened. The pool has data.
static inline void *mi_pool_value(const mi_pool *pool, uint32_t position) {
    if (pool->values != NULL) {
        return pool->values + (size_t)position * pool->size;
    }
    const uint32_t row = position & ((1u << pool->page_shift) - 1);
    return pool->pages[position >> pool->page_shift] + (size_t)row * pool->size;
}
// Stamps the page of a position.
static inline void mi_pool_mark(mi_pool *pool, uint32_t position, uint64_t version) {
    mi_stamp_mark(&pool->stamps[position >> pool->page_shift], version);
}
// The same where values are not paged.
static inline void mi_pool_mark_packed(mi_pool *pool, uint32_t position, uint64_t version) {
    mi_stamp_mark(&pool->stamps[position >> MI_PACKED_SHIFT], version);
}
// Stamps the page of a position that takes over the value of another one.
static inline void mi_pool_take_over(mi_pool *pool, uint32_t position, uint32_t from) {
    mi_stamp_take_over(&pool->stamps[position >> pool->page_shift], pool->stamps[from >> pool->page_shift]);
}
static inline uint64_t mi_pool_version(const mi_pool *pool, uint32_t position) {
    return mi_stamp_version(mi_load_stamp(&pool->stamps[position >> pool->page_shift]));
}
// How many pages so many positions take.
static inline uint32_t mi_pool_pages_for(const mi_pool *pool, uint64_t positions) {
    return (uint32_t)((positions + (1u << pool->page_shift) - 1) >> pool->page_shift);
}
// How many values follow each other from a position on.
static inline uint32_t mi_pool_room(const mi_pool *pool, uint32_t position) {
    const uint32_t row = position & ((1u << pool->page_shift) - 1);
    const uint32_t rest = pool->count - position;
    const uint32_t page = (1u << pool->page_shift) - row;
    return pool->size == 0 || pool->type->info.layout == MICA_PACKED || rest < page ? rest : page;
}
static inline bool mi_pool_is_live(const mi_pool *pool, uint32_t position) {
    return pool->dead_count == 0 || mi_bit_get(pool->live, UINT32_MAX, position);
}
static inline uint32_t mi_pool_live_count(const mi_pool *pool) {
    return pool->count - pool->dead_count;
}

// What the slot of an entity in `sparse` holds while it stands at `position`.
static inline uint64_t mi_pool_slot(mica_entity entity, uint32_t position) {
    return (uint64_t)mica_entity_generation(entity) << 32 | position;
}

static inline bool mi_pool_open_index(mi_pool *pool, mi_heap *heap, uint32_t entity_index) {
    const uint32_t page = entity_index >> MI_SPARSE_SHIFT;
    return MICA_LIKELY(page < pool->sparse_count && pool->sparse[page] != NULL) || mi_pool_open_page(pool, heap, page);
}

// Lets an entity whose slot is given stand at a position that has just been taken into use.
static inline void mi_pool_enter(mi_pool *pool, mica_entity entity, uint64_t *slot, uint32_t position) {
    *slot = mi_pool_slot(entity, position);
    pool->sparse_live[mica_entity_index(entity) >> MI_SPARSE_SHIFT]++;
    pool->entities[position] = entity;
    pool->structure++;
}
// Makes the slot of an entity that does not stand anywhere any more say so. True: nobody is left on its page, which is
// to be dropped.
static inline bool mi_pool_leave(mi_pool *pool, uint32_t entity_index, uint64_t *slot) {
    *slot = MI_SPARSE_NONE;
    pool->structure++;
    return MICA_UNLIKELY(--pool->sparse_live[entity_index >> MI_SPARSE_SHIFT] == 0);
}

static inline uint64_t *mi_pool_slot_of(const mi_pool *pool, mica_entity entity) {
    const uint32_t index = mica_entity_index(entity);
    return &pool->sparse[index >> MI_SPARSE_SHIFT][index & (MI_SPARSE_SIZE - 1)];
}
// Lets an entity that is there stand at another position.
static inline void mi_pool_stand_at(mi_pool *pool, mica_entity entity, uint32_t position) {
    pool->entities[position] = entity;
    *mi_pool_slot_of(pool, entity) = mi_pool_slot(entity, position);
}
// Moves the value and the stamp of one position into another one, which is raw.
static inline void mi_pool_move_value(mi_pool *pool, const mica_allocator *values, uint32_t to, uint32_t from) {
    if (pool->size == 0) {
        return;
    }
    mi_value_move_one(pool->type, values, mi_pool_value(pool, to), mi_pool_value(pool, from));
    mi_pool_take_over(pool, to, from);
}

static inline void mi_pool_publish(mi_pool *pool, mica_entity entity, uint64_t version) {
    MI_ASSERT(mi_pool_has_room(pool) && !mi_pool_has(pool, entity));
    const uint32_t position = MICA_UNLIKELY(pool->live != NULL) ? mi_pool_claim(pool) : pool->count++;
    mi_pool_enter(pool, entity, mi_pool_slot_of(pool, entity), position);
    if (pool->size != 0) {
        mi_pool_mark(pool, position, version);
    }
}

static inline void mi_pool_take_out(mi_pool *pool, mi_heap *heap, const mica_allocator *values, uint32_t position) {
    MI_ASSERT(position < pool->count && mi_pool_is_live(pool, position));
    const mica_entity entity = pool->entities[position];
    if (MICA_UNLIKELY(pool->live != NULL)) {
        mi_pool_bury(pool, position);
    } else {
        const uint32_t last = --pool->count;
        if (position != last) {
            mi_pool_stand_at(pool, pool->entities[last], position);
            mi_pool_move_value(pool, values, position, last);
        }
    }
    if (mi_pool_leave(pool, mica_entity_index(entity), mi_pool_slot_of(pool, entity))) {
        mi_pool_drop_page(pool, heap, mica_entity_index(entity) >> MI_SPARSE_SHIFT);
    }
}
// The same for an entity at a position of a pool that is simple. True: the page of `slot` is to be dropped.
static inline bool mi_pool_take_simple(mi_pool *pool, mica_entity entity, uint64_t *slot, uint32_t position) {
    MI_ASSERT(pool->is_simple && position < pool->count && pool->live == NULL);
    const uint32_t last = --pool->count;
    if (position != last) {
        mi_pool_stand_at(pool, pool->entities[last], position);
        if (pool->size != 0) {
            mi_value_copy_bytes(mi_pool_value(pool, position), mi_pool_value(pool, last), pool->size);
            mi_pool_take_over(pool, position, last);
        }
    }
    return mi_pool_leave(pool, mica_entity_index(entity), slot);
}
// The same for a pool that is plain.
static inline bool mi_pool_take_plain(mi_pool *pool, mica_entity entity, uint64_t *slot, uint32_t position) {
    MI_ASSERT(pool->plain_room > 0 && position < pool->count);
    const uint32_t last = --pool->count;
    if (position != last) {
        mi_pool_stand_at(pool, pool->entities[last], position);
        const uint32_t size = pool->size;
        if (size != 0) {
            mi_stamp_take_over(&pool->stamps[position >> MI_PACKED_SHIFT], pool->stamps[last >> MI_PACKED_SHIFT]);
            mi_value_copy_small(pool->values + (size_t)position * size, pool->values + (size_t)last * size, size);
        }
    }
    return mi_pool_leave(pool, mica_entity_index(entity), slot);
}

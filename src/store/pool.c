// A pool: membership, dense handles and values.
//
// Invariants: entities, pages and stamps have room for `count` positions at least; entities from `count` on are not
// looked at. The slot of a live element's entity holds its position with its generation; all other slots of `sparse`
// are MI_SPARSE_NONE, and sparse_live counts those that are not, a page each. Only stable pools have `live` and
// tombstones: `live` has a bit a position, clear for tombstones and from `count` on; tombstones are a list that starts
// at dead_head, and they alone carry the reserved generation. A stable pool without live elements has no positions.
// Arrays that grow together are one allocation. All growth is made of steps that each leave a sound pool behind, and a
// step that moves values is the last one, so a failure has at most left spare room.
#include "store/pool.h"

#include <string.h>

#include "base/error.h"

#define VALUE_ALIGN 64u
#define POSITION_MAX ((uint64_t)MICA_INDEX_MAX)

enum { CAPACITY_LEAST = 8, PAGE_CAPACITY_LEAST = 1, SPARSE_COUNT_LEAST = 4 };

static bool is_paged(const mi_pool *pool) {
    return pool->size != 0 && pool->type->info.layout == MICA_PAGED;
}

static uint32_t page_shift_of(const mi_type *type) {
    if (type->info.size == 0 || type->info.layout != MICA_PAGED) {
        return MI_PACKED_SHIFT;
    }
    MI_ASSERT(type->info.page_size != 0 && (type->info.page_size & (type->info.page_size - 1)) == 0);
    return (uint32_t)__builtin_ctz(type->info.page_size);
}

static size_t value_align(const mi_pool *pool) {
    const size_t least = pool->parts_values ? MI_HEAP_PAGE : VALUE_ALIGN;
    return pool->type->info.align > least ? pool->type->info.align : least;
}

// A capacity of `need`, `least` and the double of the present one at least; more than POSITION_MAX is never needed.
static uint32_t grown(uint32_t capacity, uint64_t need, uint32_t least) {
    uint64_t wanted = (uint64_t)capacity * 2 < least ? least : (uint64_t)capacity * 2;
    wanted = wanted > POSITION_MAX ? POSITION_MAX : wanted;
    return (uint32_t)(wanted < need ? need : wanted);
}

// The capacity of a packed pool's piece that is to grow. In builds that expose pointers kept too long, small pieces
// move for every element that comes.
static uint32_t piece_capacity(const mi_pool *pool, uint64_t need) {
#if defined(MI_MOVE_ALWAYS) && MI_MOVE_ALWAYS
    if (need <= 256) {
        return (uint32_t)need;
    }
#endif
    return grown(pool->value_capacity, need, CAPACITY_LEAST);
}

// Sizes in bytes of what is allocated; 0, for which no memory is given: too large.
static size_t positions_bytes(const mi_pool *pool, uint32_t capacity) {
    size_t byte_size = 0;
    if (!mi_size_product(capacity, sizeof(mica_entity), &byte_size)) {
        return 0;
    }
    const size_t live_size = pool->type->info.stable ? mi_bit_words(capacity) * sizeof(uint64_t) : 0;
    return __builtin_add_overflow(byte_size, live_size, &byte_size) ? 0 : byte_size;
}

static size_t values_bytes(const mi_pool *pool, uint32_t capacity) {
    size_t byte_size = 0;
    if (!mi_size_product(capacity, pool->size, &byte_size)) {
        return 0;
    }
    return pool->parts_values ? mi_heap_whole_pages(byte_size) : byte_size;
}

static size_t page_list_bytes(uint32_t page_capacity) {
    size_t byte_size = 0;
    return mi_size_product(page_capacity, 2 * sizeof(uint64_t) + sizeof(uint8_t *), &byte_size) ? byte_size : 0;
}

static size_t sparse_list_bytes(uint32_t sparse_count) {
    size_t byte_size = 0;
    return mi_size_product(sparse_count, sizeof(uint64_t *) + sizeof(uint32_t), &byte_size) ? byte_size : 0;
}

#define SPARSE_PAGE_BYTES (MI_SPARSE_SIZE * sizeof(uint64_t))

static void *take(mi_heap *heap, size_t byte_size, size_t alignment) {
    return mi_heap_allocate(heap, MICA_MEMORY_POOLS, byte_size, alignment);
}

static void give(mi_heap *heap, void *memory, size_t byte_size, size_t alignment) {
    mi_heap_release(heap, MICA_MEMORY_POOLS, memory, byte_size, alignment);
}

// Room

void mi_pool_note_room(mi_pool *pool) {
    pool->room = pool->size == 0 || pool->capacity < pool->value_capacity ? pool->capacity : pool->value_capacity;
    const bool is_plain =
        pool->is_simple && mi_value_is_small(pool->size) && !is_paged(pool) && pool->groups.count == 0;
    pool->plain_room = is_plain ? pool->room : 0;
}

// Brings handles, and bits of who is live, into memory for `capacity` positions.
static bool resize_positions(mi_pool *pool, mi_heap *heap, uint32_t capacity) {
    mica_entity *entities = NULL;
    uint64_t *live = NULL;
    if (capacity > 0) {
        // The bits come first, so that both parts are aligned.
        uint8_t *memory = take(heap, positions_bytes(pool, capacity), VALUE_ALIGN);
        if (memory == NULL) {
            return false;
        }
        const size_t live_size = pool->type->info.stable ? mi_bit_words(capacity) * sizeof(uint64_t) : 0;
        entities = (mica_entity *)(void *)(memory + live_size);
        if (live_size > 0) {
            live = (uint64_t *)(void *)memory;
            memset(live, 0, live_size);
        }
    }
    if (pool->count > 0) {
        memcpy(entities, pool->entities, pool->count * sizeof(mica_entity));
        if (live != NULL) {
            memcpy(live, pool->live, mi_bit_words(pool->count) * sizeof(uint64_t));
        }
    }
    give(heap, pool->live != NULL ? (void *)pool->live : (void *)pool->entities, positions_bytes(pool, pool->capacity),
         VALUE_ALIGN);
    pool->entities = entities;
    pool->live = live;
    pool->capacity = capacity;
    mi_pool_note_room(pool);
    return true;
}

// Brings the lists of pages, their stamps and the images they name into memory for `page_capacity` pages. The first
// element that comes to a page stamps it.
static bool resize_page_lists(mi_pool *pool, mi_heap *heap, uint32_t page_capacity) {
    uint64_t *stamps = NULL;
    uint64_t *images = NULL;
    uint8_t **pages = NULL;
    if (page_capacity > 0) {
        stamps = take(heap, page_list_bytes(page_capacity), sizeof(uint64_t));
        if (stamps == NULL) {
            return false;
        }
        memset(stamps, 0, page_list_bytes(page_capacity));
        images = stamps + page_capacity;
        pages = (uint8_t **)(void *)(images + page_capacity);
    }
    const uint32_t used = mi_pool_pages_for(pool, pool->value_capacity);
    MI_ASSERT(used <= page_capacity);
    if (used > 0 && page_capacity > 0) { // the second follows from the first, which analysers do not see
        memcpy(stamps, pool->stamps, used * sizeof(uint64_t));
        memcpy(images, pool->images, used * sizeof(uint64_t));
        memcpy(pages, pool->pages, used * sizeof(uint8_t *));
    }
    give(heap, pool->stamps, page_list_bytes(pool->page_capacity), sizeof(uint64_t));
    pool->stamps = stamps;
    pool->images = images;
    pool->pages = pages;
    pool->page_capacity = page_capacity;
    return true;
}

// Makes sure that the lists have room for the pages of so many positions.
static bool reserve_page_lists(mi_pool *pool, mi_heap *heap, uint64_t positions) {
    const uint32_t need = mi_pool_pages_for(pool, positions);
    return need <= pool->page_capacity ||
           resize_page_lists(pool, heap, grown(pool->page_capacity, need, PAGE_CAPACITY_LEAST));
}

// Moves the values of a packed pool into a piece for `capacity` of them; the lists of pages have room.
static bool resize_piece(mi_pool *pool, mi_heap *heap, const mica_allocator *values, uint32_t capacity,
                         mi_pool_moved *moved) {
    uint8_t *to = NULL;
    if (capacity > 0) {
        to = take(heap, values_bytes(pool, capacity), value_align(pool));
        if (to == NULL) {
            return false;
        }
    }
    uint8_t *from = pool->value_capacity > 0 ? pool->pages[0] : NULL;
    if (pool->count > 0) {
        mi_value_move(pool->type, values, to, from, pool->count);
        *moved = (mi_pool_moved){.from = from, .to = to, .byte_size = (size_t)pool->count * pool->size};
    }
    give(heap, from, values_bytes(pool, pool->value_capacity), value_align(pool));
    const uint32_t page_count = mi_pool_pages_for(pool, capacity);
    for (uint32_t i = 0; i < page_count; i++) {
        pool->pages[i] = to + ((size_t)i << pool->page_shift) * pool->size;
    }
    pool->values = to;
    pool->value_capacity = capacity;
    mi_pool_note_room(pool);
    return true;
}

// Gives back the last pages of a paged pool, all but `keep`.
static void drop_pages(mi_pool *pool, mi_heap *heap, uint32_t keep) {
    for (uint32_t i = mi_pool_pages_for(pool, pool->value_capacity); i-- > keep;) {
        give(heap, pool->pages[i], values_bytes(pool, 1u << pool->page_shift), value_align(pool));
    }
    pool->value_capacity = keep << pool->page_shift;
    mi_pool_note_room(pool);
}

// Adds pages to a paged pool until `need` positions have room for a value; all or none. The lists have room.
static bool add_pages(mi_pool *pool, mi_heap *heap, uint64_t need) {
    const uint32_t old_count = mi_pool_pages_for(pool, pool->value_capacity);
    while (pool->value_capacity < need) {
        const uint32_t page = mi_pool_pages_for(pool, pool->value_capacity);
        pool->pages[page] = take(heap, values_bytes(pool, 1u << pool->page_shift), value_align(pool));
        if (pool->pages[page] == NULL) {
            drop_pages(pool, heap, old_count);
            return false;
        }
        pool->value_capacity += 1u << pool->page_shift;
        mi_pool_note_room(pool);
    }
    return true;
}

bool mi_pool_reserve(mi_pool *pool, mi_heap *heap, const mica_allocator *values, uint32_t extra, mi_pool_moved *moved) {
    *moved = (mi_pool_moved){.byte_size = 0};
    const uint64_t need = (uint64_t)pool->count + extra;
    if (need > POSITION_MAX) {
        return false;
    }
    if (need > pool->capacity && !resize_positions(pool, heap, grown(pool->capacity, need, CAPACITY_LEAST))) {
        return false;
    }
    if (pool->size == 0 || need <= pool->value_capacity) {
        return true;
    }
    if (is_paged(pool)) {
        return reserve_page_lists(pool, heap, need) && add_pages(pool, heap, need);
    }
    const uint32_t capacity = piece_capacity(pool, need);
    return reserve_page_lists(pool, heap, capacity) && resize_piece(pool, heap, values, capacity, moved);
}

static void give_sparse(mi_pool *pool, mi_heap *heap) {
    give(heap, pool->sparse, sparse_list_bytes(pool->sparse_count), sizeof(uint64_t *));
    pool->sparse = NULL;
    pool->sparse_live = NULL;
    pool->sparse_count = 0;
}

// Brings the list of pages of `sparse` into memory for `sparse_count` pages, one at least.
static bool resize_sparse(mi_pool *pool, mi_heap *heap, uint32_t sparse_count) {
    uint64_t **sparse = take(heap, sparse_list_bytes(sparse_count), sizeof(uint64_t *));
    if (sparse == NULL) {
        return false;
    }
    memset(sparse, 0, sparse_list_bytes(sparse_count));
    uint32_t *sparse_live = (uint32_t *)(void *)(sparse + sparse_count);
    const uint32_t kept = sparse_count < pool->sparse_count ? sparse_count : pool->sparse_count;
    if (kept > 0) {
        memcpy(sparse, pool->sparse, kept * sizeof(uint64_t *));
        memcpy(sparse_live, pool->sparse_live, kept * sizeof(uint32_t));
    }
    give_sparse(pool, heap);
    pool->sparse = sparse;
    pool->sparse_live = sparse_live;
    pool->sparse_count = sparse_count;
    return true;
}

bool mi_pool_open_page(mi_pool *pool, mi_heap *heap, uint32_t page) {
    if (page >= pool->sparse_count &&
        !resize_sparse(pool, heap, grown(pool->sparse_count, (uint64_t)page + 1, SPARSE_COUNT_LEAST))) {
        return false;
    }
    if (pool->sparse_spare != NULL) {
        pool->sparse[page] = pool->sparse_spare;
        pool->sparse_spare = NULL;
        return true;
    }
    uint64_t *slots = mi_page_take(pool->region, heap, SPARSE_PAGE_BYTES);
    if (slots == NULL) {
        return false;
    }
    memset(slots, 0xff, SPARSE_PAGE_BYTES);
    pool->sparse[page] = slots;
    return true;
}

static void drop_sparse_page(mi_pool *pool, mi_heap *heap, uint32_t page) {
    mi_page_give(pool->region, heap, pool->sparse[page], SPARSE_PAGE_BYTES);
    pool->sparse[page] = NULL;
    pool->sparse_live[page] = 0;
}

// The same for a page that nobody is left of, which may become the spare one.
MI_APART void mi_pool_drop_page(mi_pool *pool, mi_heap *heap, uint32_t page) {
    if (pool->sparse_spare != NULL) {
        drop_sparse_page(pool, heap, page);
        return;
    }
    pool->sparse_spare = pool->sparse[page];
    pool->sparse[page] = NULL;
}

void mi_pool_close_index(mi_pool *pool, mi_heap *heap, uint32_t entity_index) {
    const uint32_t page = entity_index >> MI_SPARSE_SHIFT;
    if (page < pool->sparse_count && pool->sparse_live[page] == 0) {
        drop_sparse_page(pool, heap, page);
    }
}

// Tombstones

// The position that a tombstone's handle names.
static uint32_t tombstone_next(mica_entity tombstone) {
    const uint32_t none = mica_entity_index(mica_entity_make(MI_POSITION_NONE, 0));
    const uint32_t next = mica_entity_index(tombstone);
    return next == none ? MI_POSITION_NONE : next;
}

uint32_t mi_pool_claim(mi_pool *pool) {
    const uint32_t position = mi_pool_next(pool);
    if (position == pool->count) {
        pool->count++;
    } else {
        pool->dead_head = tombstone_next(pool->entities[position]);
        pool->dead_count--;
    }
    mi_bit_set(pool->live, position);
    return position;
}

// Takes all positions of a pool without live elements away.
static void start_again(mi_pool *pool) {
    if (pool->live != NULL) {
        memset(pool->live, 0, mi_bit_words(pool->count) * sizeof(uint64_t));
    }
    pool->count = 0;
    pool->dead_count = 0;
    pool->dead_head = MI_POSITION_NONE;
}

void mi_pool_bury(mi_pool *pool, uint32_t position) {
    pool->entities[position] = mica_entity_make(pool->dead_head, MICA_GENERATION_MAX);
    pool->dead_head = position;
    pool->dead_count++;
    mi_bit_clear(pool->live, position);
    if (pool->size != 0) {
        mi_stamp_unname(&pool->stamps[position >> pool->page_shift]);
    }
    if (pool->dead_count == pool->count) {
        start_again(pool);
    }
}

// Elements

void mi_pool_publish_many(mi_pool *pool, const mica_entity *entities, uint32_t count, uint64_t version) {
    MI_ASSERT(count <= pool->capacity - pool->count);
    const uint32_t first = pool->count;
    if (count == 0) {
        return;
    }
    memcpy(pool->entities + first, entities, count * sizeof(mica_entity));
    for (uint32_t i = 0; i < count; i++) {
        MI_ASSERT(!mi_pool_has(pool, entities[i]));
        *mi_pool_slot_of(pool, entities[i]) = mi_pool_slot(entities[i], first + i);
        pool->sparse_live[mica_entity_index(entities[i]) >> MI_SPARSE_SHIFT]++;
    }
    for (uint32_t i = 0; pool->live != NULL && i < count; i++) {
        mi_bit_set(pool->live, first + i);
    }
    pool->count += count;
    pool->structure++;
    if (pool->size != 0) {
        for (uint32_t page = first >> pool->page_shift; page < mi_pool_pages_for(pool, pool->count); page++) {
            pool->stamps[page] = version;
        }
    }
}

void mi_pool_swap(mi_pool *pool, const mica_allocator *values, uint32_t a, uint32_t b, void *spare) {
    MI_ASSERT(a < pool->count && mi_pool_is_live(pool, a) && b < pool->count && mi_pool_is_live(pool, b));
    if (a == b) {
        return;
    }
    const mica_entity entity = pool->entities[a];
    mi_pool_stand_at(pool, pool->entities[b], a);
    mi_pool_stand_at(pool, entity, b);
    pool->structure++;
    if (pool->size != 0) {
        const uint64_t stamp = pool->stamps[a >> pool->page_shift];
        mi_value_move_one(pool->type, values, spare, mi_pool_value(pool, a));
        mi_pool_move_value(pool, values, a, b);
        mi_value_move_one(pool->type, values, mi_pool_value(pool, b), spare);
        mi_stamp_take_over(&pool->stamps[b >> pool->page_shift], stamp);
    }
}

void mi_pool_destruct(const mi_pool *pool, const mica_allocator *values, uint32_t first, uint32_t end) {
    if (pool->type->info.hooks.destruct == NULL || pool->size == 0) {
        return;
    }
    const uint32_t row_mask = (1u << pool->page_shift) - 1;
    uint32_t position = first;
    while (position < end) {
        if (!mi_pool_is_live(pool, position)) {
            position++;
            continue;
        }
        const uint32_t run = position++;
        while (position < end && (position & row_mask) != 0 && mi_pool_is_live(pool, position)) {
            position++;
        }
        mi_value_destruct(pool->type, values, mi_pool_value(pool, run), position - run);
    }
}

void mi_pool_clear(mi_pool *pool, mi_heap *heap, const mica_allocator *values) {
    mi_pool_destruct(pool, values, 0, pool->count);
    for (uint32_t page = 0; page < pool->sparse_count; page++) {
        drop_sparse_page(pool, heap, page);
    }
    start_again(pool);
    pool->structure++;
}

void mi_pool_compact(mi_pool *pool, const mica_allocator *values) {
    if (pool->dead_count == 0) {
        return;
    }
    uint32_t to = 0;
    for (uint32_t from = 0; from < pool->count; from++) {
        if (!mi_pool_is_live(pool, from)) {
            continue;
        }
        if (to != from) {
            mi_pool_stand_at(pool, pool->entities[from], to);
            mi_pool_move_value(pool, values, to, from);
        }
        to++;
    }
    start_again(pool);
    pool->count = to;
    for (uint32_t position = 0; position < to; position++) {
        mi_bit_set(pool->live, position);
    }
    pool->structure++;
}

// Gives the pages from `first_page` to `last_page` the latest stamp of them.
static void level_versions(mi_pool *pool, uint32_t first_page, uint32_t last_page) {
    uint64_t latest = 0;
    for (uint32_t page = first_page; page <= last_page; page++) {
        mi_stamp_take_over(&latest, pool->stamps[page]);
    }
    for (uint32_t page = first_page; page <= last_page; page++) {
        pool->stamps[page] = latest;
    }
}

// Moves the elements of the cycle of `order` that i is in.
static void turn_cycle(mi_pool *pool, const mica_allocator *values, uint32_t first, uint32_t *order, uint32_t i,
                       void *spare) {
    const mica_entity entity = pool->entities[first + i];
    if (pool->size != 0) {
        mi_value_move_one(pool->type, values, spare, mi_pool_value(pool, first + i));
    }
    uint32_t to = i;
    while (order[to] != i) {
        const uint32_t from = order[to];
        mi_pool_stand_at(pool, pool->entities[first + from], first + to);
        if (pool->size != 0) {
            mi_value_move_one(pool->type, values, mi_pool_value(pool, first + to), mi_pool_value(pool, first + from));
        }
        order[to] = to;
        to = from;
    }
    mi_pool_stand_at(pool, entity, first + to);
    if (pool->size != 0) {
        mi_value_move_one(pool->type, values, mi_pool_value(pool, first + to), spare);
    }
    order[to] = to;
}

void mi_pool_permute(mi_pool *pool, const mica_allocator *values, uint32_t first, uint32_t count, uint32_t *order,
                     void *spare) {
    MI_ASSERT(pool->dead_count == 0 && first <= pool->count && count <= pool->count - first);
    bool has_moved = false;
    for (uint32_t i = 0; i < count; i++) {
        if (order[i] != i) {
            turn_cycle(pool, values, first, order, i, spare);
            has_moved = true;
        }
    }
    if (!has_moved) {
        return;
    }
    pool->structure++;
    if (pool->size != 0) {
        level_versions(pool, first >> pool->page_shift, (first + count - 1) >> pool->page_shift);
    }
}

// Life

mi_pool *mi_pool_create(mi_heap *heap, mi_region *region, const mi_type *type, uint32_t index) {
    mi_pool *pool = mi_heap_allocate_zeroed(heap, MICA_MEMORY_POOLS, sizeof(mi_pool), _Alignof(mi_pool));
    if (pool != NULL) {
        pool->region = region;
        pool->parts_values = heap->parts_values;
        pool->type = type;
        pool->index = index;
        pool->mask_word = index / 64;
        pool->mask_bit = UINT64_C(1) << index % 64;
        pool->size = type->info.size;
        pool->page_shift = page_shift_of(type);
        pool->is_simple = !type->has_construct && !type->has_destruct && !type->has_move && !type->has_copy &&
                          !type->info.stable && !type->info.toggle && type->info.required_count == 0;
        pool->dead_head = MI_POSITION_NONE;
        MI_ASSERT(!type->info.stable || pool->size == 0 || is_paged(pool));
    }
    return pool;
}

bool mi_pool_shrink(mi_pool *pool, mi_heap *heap, const mica_allocator *values) {
    uint32_t sparse_count = 0;
    for (uint32_t page = 0; page < pool->sparse_count; page++) {
        if (pool->sparse_live[page] == 0) {
            drop_sparse_page(pool, heap, page);
        } else {
            sparse_count = page + 1;
        }
    }
    mi_page_give(pool->region, heap, pool->sparse_spare, SPARSE_PAGE_BYTES);
    pool->sparse_spare = NULL;
    if (sparse_count == 0) {
        give_sparse(pool, heap);
    }
    bool is_done = sparse_count == pool->sparse_count || resize_sparse(pool, heap, sparse_count);
    is_done = (pool->capacity == pool->count || resize_positions(pool, heap, pool->count)) && is_done;
    if (pool->size == 0) {
        return is_done;
    }
    if (is_paged(pool)) {
        drop_pages(pool, heap, mi_pool_pages_for(pool, pool->count));
    } else if (pool->value_capacity != pool->count) {
        mi_pool_moved moved;
        is_done = resize_piece(pool, heap, values, pool->count, &moved) && is_done;
    }
    const uint32_t page_count = mi_pool_pages_for(pool, pool->value_capacity);
    return (page_count == pool->page_capacity || resize_page_lists(pool, heap, page_count)) && is_done;
}

void mi_pool_destroy(mi_pool *pool, mi_heap *heap, const mica_allocator *values) {
    if (pool == NULL) {
        return;
    }
    mi_pool_clear(pool, heap, values);
    // Without elements there is nothing that giving back has to allocate for.
    mi_pool_shrink(pool, heap, values);
    MI_FREE(heap, MICA_MEMORY_POOLS, &pool->groups);
    give(heap, pool, sizeof(mi_pool), _Alignof(mi_pool));
}

// What is known of it

uint32_t mi_pool_piece_count(const mi_pool *pool) {
    return is_paged(pool) ? mi_pool_pages_for(pool, pool->value_capacity) : pool->value_capacity > 0;
}

size_t mi_pool_piece_byte_size(const mi_pool *pool) {
    return values_bytes(pool, is_paged(pool) ? 1u << pool->page_shift : pool->value_capacity);
}

size_t mi_pool_byte_size(const mi_pool *pool) {
    size_t byte_size = sizeof(mi_pool) + pool->groups.capacity * sizeof(*pool->groups.data);
    byte_size += positions_bytes(pool, pool->capacity);
    byte_size += mi_pool_piece_count(pool) * mi_pool_piece_byte_size(pool);
    byte_size += page_list_bytes(pool->page_capacity) + sparse_list_bytes(pool->sparse_count);
    for (uint32_t page = 0; page < pool->sparse_count; page++) {
        byte_size += pool->sparse[page] != NULL ? SPARSE_PAGE_BYTES : 0;
    }
    byte_size += pool->sparse_spare != NULL ? SPARSE_PAGE_BYTES : 0;
    return byte_size;
}

uint32_t mi_pool_position_of(const mi_pool *pool, const void *address) {
    if (pool->size == 0) {
        return MI_POSITION_NONE;
    }
    // Whether an address is in memory that it may not be in is a question for numbers, not for pointers.
    const uint32_t pieces = is_paged(pool) ? mi_pool_pages_for(pool, pool->count) : pool->count > 0;
    const size_t piece_size = (size_t)(is_paged(pool) ? 1u << pool->page_shift : pool->count) * pool->size;
    for (uint32_t i = 0; i < pieces; i++) {
        const uintptr_t offset = (uintptr_t)address - (uintptr_t)pool->pages[i];
        if (offset < piece_size) {
            const uint32_t position = (i << pool->page_shift) + (uint32_t)(offset / pool->size);
            return position < pool->count && mi_pool_is_live(pool, position) ? position : MI_POSITION_NONE;
        }
    }
    return MI_POSITION_NONE;
}

static const char *validate_room(const mi_pool *pool) {
    if (pool->plain_room != 0 && (pool->plain_room != pool->room || !pool->is_simple || is_paged(pool) ||
                                  !mi_value_is_small(pool->size) || pool->groups.count > 0)) {
        return "pool: elements are taken for plain ones";
    }
    if (pool->count > pool->room || pool->room > pool->capacity ||
        (pool->size != 0 && pool->room > pool->value_capacity)) {
        return "pool: more positions than there is room for";
    }
    if (pool->count > POSITION_MAX || pool->dead_count > pool->count) {
        return "pool: counts cannot be";
    }
    if ((pool->live != NULL) != (pool->type->info.stable && pool->capacity > 0)) {
        return "pool: only stable pools have bits of who is live";
    }
    const uint32_t page_count = mi_pool_pages_for(pool, pool->value_capacity);
    if (pool->values != (is_paged(pool) || page_count == 0 ? NULL : pool->pages[0])) {
        return "pool: packed values are not where they are said to be";
    }
    if (page_count > pool->page_capacity) {
        return "pool: more pages than the lists have room for";
    }
    for (uint32_t i = 0; i < page_count; i++) {
        if (pool->pages[i] == NULL || ((uintptr_t)pool->pages[i] & (pool->type->info.align - 1)) != 0) {
            return "pool: a page is missing or not aligned";
        }
        if (!is_paged(pool) && pool->pages[i] != pool->pages[0] + ((size_t)i << pool->page_shift) * pool->size) {
            return "pool: a page is not where the piece has it";
        }
    }
    return NULL;
}

static const char *validate_elements(const mi_pool *pool) {
    uint32_t dead_count = 0;
    for (uint32_t position = 0; position < pool->count; position++) {
        const mica_entity entity = pool->entities[position];
        const bool is_dead = mica_entity_is_placeholder(entity);
        dead_count += is_dead;
        if (pool->live != NULL && mi_bit_get(pool->live, UINT32_MAX, position) == is_dead) {
            return "pool: a handle and the bit of who is live disagree";
        }
        if (!is_dead && mi_pool_find(pool, entity) != position) {
            return "pool: an element's slot does not name its position";
        }
    }
    if (dead_count != pool->dead_count) {
        return "pool: the count of tombstones is wrong";
    }
    for (uint32_t position = pool->count; pool->live != NULL && position < pool->capacity; position++) {
        if (mi_bit_get(pool->live, UINT32_MAX, position)) {
            return "pool: a position that is not in use counts as live";
        }
    }
    if (pool->dead_count == pool->count && pool->count > 0) {
        return "pool: nothing but tombstones";
    }
    return NULL;
}

static const char *validate_tombstones(const mi_pool *pool) {
    uint32_t length = 0;
    for (uint32_t position = pool->dead_head; position != MI_POSITION_NONE;) {
        if (position >= pool->count || !mica_entity_is_placeholder(pool->entities[position]) ||
            ++length > pool->dead_count) {
            return "pool: the list of tombstones is broken";
        }
        position = tombstone_next(pool->entities[position]);
    }
    if (length != pool->dead_count) {
        return "pool: tombstones are missing from the list";
    }
    return pool->dead_count > 0 && !pool->type->info.stable ? "pool: tombstones where none can be" : NULL;
}

static const char *validate_sparse(const mi_pool *pool) {
    uint32_t live_count = 0;
    for (uint32_t page = 0; page < pool->sparse_count; page++) {
        uint32_t taken = 0;
        for (uint32_t i = 0; pool->sparse[page] != NULL && i < MI_SPARSE_SIZE; i++) {
            taken += pool->sparse[page][i] != MI_SPARSE_NONE;
        }
        if (taken != pool->sparse_live[page]) {
            return "pool: the count of a page's slots is wrong";
        }
        live_count += taken;
    }
    for (uint32_t i = 0; pool->sparse_spare != NULL && i < MI_SPARSE_SIZE; i++) {
        if (pool->sparse_spare[i] != MI_SPARSE_NONE) {
            return "pool: the spare page is not empty";
        }
    }
    return live_count == mi_pool_live_count(pool) ? NULL : "pool: a slot names an element that is not there";
}

const char *mi_pool_validate(const mi_pool *pool) {
    const char *fault = validate_room(pool);
    fault = fault == NULL ? validate_elements(pool) : fault;
    fault = fault == NULL ? validate_tombstones(pool) : fault;
    return fault == NULL ? validate_sparse(pool) : fault;
}

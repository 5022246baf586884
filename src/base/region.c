// Two-level segregated fit (TLSF, after Masmano and others) over blocks of memory.
//
// A block is a row of pieces without gaps, closed by an end tag. Sizes are counted in units of 64 bytes. The head of a
// piece takes 32 bytes: a tag of 16, and the 16 bytes that belong to the holder in front of the memory handed out
// (links of the free lists while the piece is free). Heads stand 32 bytes past multiples of 64, so that what follows
// them is aligned.
//
// Invariants: every tag knows its own size, that of the piece in front of it, and the way back to its block; no two
// free pieces are neighbours; a free piece is in the list of its size class and in no other; a bit is set exactly for
// lists that are not empty. A block made for a single piece ends with it, so its piece is never in a list, which bounds
// the sizes there. Nothing depends on addresses: blocks are aligned to the largest alignment of a piece, or, in a fixed
// heap, to that of their only one. The one block of a region in given memory is kept for good.
#include "base/region.h"

#include <string.h>

#include "base/assert.h"
#include "base/sanitizer.h"

enum {
    UNIT = 64,
    TAG_SIZE = 16,
    HEAD_SIZE = TAG_SIZE + MI_REGION_PREFIX,
    BLOCK_HEAD_SIZE = UNIT - HEAD_SIZE,
    ALIGNMENT_MOST = 4096,
    BLOCK_UNITS = MI_REGION_BLOCK_SIZE / UNIT - 1,
    CLASS_BITS = 4, // each power of two is split in 16
    CLASS_COUNT = 1 << CLASS_BITS,
    ROW_COUNT = 12,     // the first: sizes below 16 units, a class for each; the last: from half a block
    ROW_COUNT_MOST = 28 // of a region in given memory: the last is from 2^30 units
};

// Numbers that are unlikely by chance.
enum { PIECE_FREE = 0x46724c31, PIECE_TAKEN = 0x54614b32, PIECE_END = 0x456e4433 };

typedef struct piece {
    uint32_t unit_count;          // with the head
    uint32_t previous_unit_count; // of the piece in front; 0: this is the block's first
    uint32_t unit_offset;         // from the end of the block's head
    uint32_t state;
    struct piece *next, *previous; // in the list, while free
} piece;

typedef struct block {
    struct block *next, *previous;
    size_t byte_size;
    uint32_t first_unit_offset; // of the first piece
    bool is_single;
} block;

_Static_assert(offsetof(piece, next) == TAG_SIZE && sizeof(piece) <= HEAD_SIZE, "a free piece fits in its head");
_Static_assert(sizeof(block) <= BLOCK_HEAD_SIZE, "a block's head fits in front of the first piece");
_Static_assert(BLOCK_UNITS >> (ROW_COUNT + CLASS_BITS - 1) == 0, "the rows cover the sizes of a block");

struct mi_region {
    mi_heap *heap;
    mica_memory_purpose purpose;
    block *blocks;
    size_t block_bytes, taken_units, taken_count;
    size_t single_bytes; // of block_bytes: in blocks of single pieces
    size_t kept_bytes;   // the other blocks do not get less than that; SIZE_MAX: the region lies in given memory
    uint32_t block_count;
    uint32_t row_count;
    uint32_t rows;                    // bit r: some list of row r is not empty
    uint32_t classes[ROW_COUNT_MOST]; // bit c of classes[r]: list c of row r is not empty
    piece *lists[][CLASS_COUNT];      // row_count of them
};

static size_t region_size(uint32_t row_count) {
    return sizeof(mi_region) + row_count * sizeof(piece *[CLASS_COUNT]);
}

static bool is_in_given_memory(const mi_region *region) {
    return region->heap == NULL;
}

static void *at_units(void *base, size_t unit_count) {
    return (unsigned char *)base + unit_count * UNIT;
}

static piece *next_piece(piece *of) {
    return at_units(of, of->unit_count);
}

static piece *previous_piece(piece *of) {
    return (void *)((unsigned char *)of - (size_t)of->previous_unit_count * UNIT);
}

static piece *first_piece(block *of) {
    return at_units((unsigned char *)of + BLOCK_HEAD_SIZE, of->first_unit_offset);
}

static block *block_of(piece *of) {
    return (void *)((unsigned char *)of - (size_t)of->unit_offset * UNIT - BLOCK_HEAD_SIZE);
}

static bool is_whole_block(piece *of) {
    return of->previous_unit_count == 0 && next_piece(of)->state == PIECE_END;
}

static void *memory_of(piece *of) {
    return (unsigned char *)of + HEAD_SIZE;
}

static size_t memory_size(const piece *of) {
    return (size_t)of->unit_count * UNIT - HEAD_SIZE;
}

typedef struct size_class {
    uint32_t row, column;
} size_class;

// Position of the highest bit.
static uint32_t log2_of(uint32_t number) {
    return 31u - (uint32_t)__builtin_clz(number);
}

static size_class class_of(uint32_t unit_count) {
    if (unit_count < CLASS_COUNT) {
        return (size_class){0, unit_count};
    }
    const uint32_t log2 = log2_of(unit_count);
    return (size_class){log2 - CLASS_BITS + 1, unit_count >> (log2 - CLASS_BITS) & (CLASS_COUNT - 1)};
}

static void link_piece(mi_region *region, piece *free_piece) {
    MI_ASSERT(free_piece->state == PIECE_FREE);
    const size_class at = class_of(free_piece->unit_count);
    piece **list = &region->lists[at.row][at.column];
    free_piece->previous = NULL;
    free_piece->next = *list;
    if (*list != NULL) {
        (*list)->previous = free_piece;
    }
    *list = free_piece;
    region->classes[at.row] |= UINT32_C(1) << at.column;
    region->rows |= UINT32_C(1) << at.row;
}

static void unlink_piece(mi_region *region, piece *free_piece) {
    MI_ASSERT(free_piece->state == PIECE_FREE);
    const size_class at = class_of(free_piece->unit_count);
    if (free_piece->next != NULL) {
        free_piece->next->previous = free_piece->previous;
    }
    if (free_piece->previous != NULL) {
        free_piece->previous->next = free_piece->next;
        return;
    }
    region->lists[at.row][at.column] = free_piece->next;
    if (free_piece->next == NULL) {
        region->classes[at.row] &= ~(UINT32_C(1) << at.column);
        if (region->classes[at.row] == 0) {
            region->rows &= ~(UINT32_C(1) << at.row);
        }
    }
}

// A free piece of at least this size, still in its list, or NULL. The list of the size's own class is tried by its
// first piece, which finds places left by pieces of the same size; then comes the first class all of whose pieces are
// large enough. So no list is searched, at the price of overlooking a piece that would just do; but where there will
// never be another block, the list of the size's own class is searched last.
static piece *find_piece(const mi_region *region, uint32_t unit_count) {
    const size_class own = class_of(unit_count);
    if (own.row >= region->row_count) {
        return NULL;
    }
    piece *alike = region->lists[own.row][own.column];
    if (alike != NULL && alike->unit_count >= unit_count) {
        return alike;
    }
    const uint32_t rounding = unit_count < CLASS_COUNT ? 0 : (UINT32_C(1) << (log2_of(unit_count) - CLASS_BITS)) - 1;
    size_class at = class_of(unit_count + rounding);
    uint32_t columns = at.row < region->row_count ? region->classes[at.row] & ~UINT32_C(0) << at.column : 0;
    const uint32_t rows = region->rows & ~UINT32_C(0) << (at.row + 1);
    if (columns == 0 && rows != 0) {
        at.row = (uint32_t)__builtin_ctz(rows);
        columns = region->classes[at.row];
    }
    if (columns != 0) {
        return region->lists[at.row][__builtin_ctz(columns)];
    }
    while (is_in_given_memory(region) && alike != NULL && alike->unit_count < unit_count) {
        alike = alike->next;
    }
    return is_in_given_memory(region) ? alike : NULL;
}

static size_t block_alignment(const mi_region *region, size_t byte_size, uint32_t first_unit_offset) {
    if (mi_heap_is_fixed(region->heap)) {
        return ((size_t)first_unit_offset + 1) * UNIT; // of its only piece
    }
    return byte_size >= MI_REGION_BLOCK_SIZE ? MI_REGION_BLOCK_SIZE : ALIGNMENT_MOST;
}

// Makes raw memory a block with one free piece of `unit_count` units, which is in no list yet.
static piece *begin_block(mi_region *region, block *made, size_t byte_size, uint32_t first_unit_offset,
                          uint32_t unit_count, bool is_single) {
    *made = (block){
        .next = region->blocks, .byte_size = byte_size, .first_unit_offset = first_unit_offset, .is_single = is_single};
    if (made->next != NULL) {
        made->next->previous = made;
    }
    region->blocks = made;
    region->block_count++;
    region->block_bytes += byte_size;
    region->single_bytes += is_single ? byte_size : 0;
    piece *whole = first_piece(made);
    *whole = (piece){.unit_count = unit_count, .unit_offset = first_unit_offset, .state = PIECE_FREE};
    *next_piece(whole) =
        (piece){.previous_unit_count = unit_count, .unit_offset = first_unit_offset + unit_count, .state = PIECE_END};
    MI_POISON(memory_of(whole), memory_size(whole));
    return whole;
}

// A new block. NULL when out of memory.
static piece *make_block(mi_region *region, uint32_t first_unit_offset, uint32_t unit_count, bool is_single) {
    if (is_in_given_memory(region)) {
        return NULL;
    }
    const size_t byte_size = ((size_t)first_unit_offset + unit_count + 1) * UNIT;
    block *made = mi_heap_allocate(region->heap, region->purpose, byte_size,
                                   block_alignment(region, byte_size, first_unit_offset));
    return made == NULL ? NULL : begin_block(region, made, byte_size, first_unit_offset, unit_count, is_single);
}

static void release_block(mi_region *region, block *gone) {
    if (gone->next != NULL) {
        gone->next->previous = gone->previous;
    }
    if (gone->previous != NULL) {
        gone->previous->next = gone->next;
    } else {
        region->blocks = gone->next;
    }
    const size_t byte_size = gone->byte_size;
    const size_t alignment = block_alignment(region, byte_size, gone->first_unit_offset);
    region->block_count--;
    region->block_bytes -= byte_size;
    region->single_bytes -= gone->is_single ? byte_size : 0;
    MI_UNPOISON(gone, byte_size);
    mi_heap_release(region->heap, region->purpose, gone, byte_size, alignment);
}

// Whether a block for several pieces can go without leaving less than is to be kept.
static bool is_beyond_kept(const mi_region *region, const block *gone) {
    return region->block_bytes - region->single_bytes - gone->byte_size >= region->kept_bytes;
}

// Cuts a piece that is in no list after `unit_count` units; returns the part behind, free and in no list.
static piece *split_piece(piece *front, uint32_t unit_count) {
    piece *rest = at_units(front, unit_count);
    MI_UNPOISON(rest, HEAD_SIZE);
    *rest = (piece){.unit_count = front->unit_count - unit_count,
                    .previous_unit_count = unit_count,
                    .unit_offset = front->unit_offset + unit_count,
                    .state = PIECE_FREE};
    front->unit_count = unit_count;
    next_piece(rest)->previous_unit_count = rest->unit_count;
    return rest;
}

// Makes one of two neighbours that are in no list.
static piece *join_pieces(piece *front, piece *rest) {
    front->unit_count += rest->unit_count;
    next_piece(rest)->previous_unit_count = front->unit_count;
    MI_POISON(rest, HEAD_SIZE);
    return front;
}

mi_region *mi_region_create(mi_heap *heap, mica_memory_purpose purpose) {
    mi_region *region = mi_heap_allocate_zeroed(heap, purpose, region_size(ROW_COUNT), _Alignof(mi_region));
    if (region != NULL) {
        region->heap = heap;
        region->purpose = purpose;
        region->row_count = ROW_COUNT;
    }
    return region;
}

mi_region *mi_region_create_in(void *memory, size_t byte_size) {
    const size_t front = (0 - (uintptr_t)memory) & (UNIT - 1);
    const size_t head_size = (region_size(ROW_COUNT_MOST) + UNIT - 1) & ~(size_t)(UNIT - 1);
    // The block's head and the end tag take a unit together, and a piece with memory takes one at least.
    if (byte_size < front + head_size + 2 * UNIT || (byte_size - front - head_size) / UNIT - 1 >= INT32_MAX) {
        return NULL;
    }
    mi_region *region = (mi_region *)(void *)((unsigned char *)memory + front);
    memset(region, 0, head_size);
    region->row_count = ROW_COUNT_MOST;
    region->kept_bytes = SIZE_MAX;
    const uint32_t unit_count = (uint32_t)((byte_size - front - head_size) / UNIT - 1);
    block *made = (void *)((unsigned char *)region + head_size);
    piece *whole = begin_block(region, made, ((size_t)unit_count + 1) * UNIT, 0, unit_count, false);
    link_piece(region, whole);
    return region;
}

void mi_region_destroy(mi_region *region) {
    if (is_in_given_memory(region)) {
        MI_UNPOISON(region->blocks, region->blocks->byte_size);
        return;
    }
    while (region->blocks != NULL) {
        release_block(region, region->blocks);
    }
    mi_heap_release(region->heap, region->purpose, region, region_size(ROW_COUNT), _Alignof(mi_region));
}

// Units of the next block, which must hold a piece of `unit_count`: about as much as all blocks together have, and not
// more than a budget leaves if less will do.
static uint32_t next_block_units(const mi_region *region, uint32_t unit_count) {
    size_t byte_size = MI_REGION_FIRST_BLOCK_SIZE;
    while (byte_size < MI_REGION_BLOCK_SIZE &&
           (byte_size / UNIT - 1 < unit_count || byte_size * 2 <= region->block_bytes)) {
        byte_size *= 2;
    }
    const size_t room = is_in_given_memory(region) ? 0 : mi_heap_room(region->heap, region->purpose);
    while (byte_size > room && byte_size > MI_REGION_FIRST_BLOCK_SIZE && byte_size / 2 / UNIT - 1 >= unit_count) {
        byte_size /= 2;
    }
    return (uint32_t)(byte_size / UNIT - 1);
}

size_t mi_region_piece_size(size_t byte_size) {
    return (byte_size + HEAD_SIZE + UNIT - 1) / UNIT * UNIT;
}

void *mi_region_take(mi_region *region, size_t byte_size, size_t alignment) {
    MI_ASSERT(alignment >= UNIT && alignment <= ALIGNMENT_MOST && (alignment & (alignment - 1)) == 0);
    if (byte_size == 0 || byte_size > PTRDIFF_MAX - 2 * ALIGNMENT_MOST || byte_size / UNIT >= INT32_MAX) {
        return NULL;
    }
    const uint32_t unit_count = (uint32_t)(mi_region_piece_size(byte_size) / UNIT);
    const uint32_t slack = (uint32_t)(alignment / UNIT - 1);
    piece *found;
    if (!is_in_given_memory(region) && (unit_count > BLOCK_UNITS / 2 || mi_heap_is_fixed(region->heap))) {
        found = make_block(region, slack, unit_count, true);
    } else if ((found = find_piece(region, unit_count + slack)) != NULL) {
        unlink_piece(region, found);
    } else {
        found = make_block(region, 0, next_block_units(region, unit_count + slack), false);
    }
    if (found == NULL) {
        return NULL;
    }
    const size_t gap = (0 - (uintptr_t)memory_of(found)) & (alignment - 1);
    if (gap > 0) {
        piece *front = found;
        found = split_piece(front, (uint32_t)(gap / UNIT));
        link_piece(region, front);
    }
    if (found->unit_count > unit_count) {
        link_piece(region, split_piece(found, unit_count));
    }
    found->state = PIECE_TAKEN;
    MI_UNPOISON(memory_of(found), memory_size(found));
    region->taken_units += unit_count;
    region->taken_count++;
    return memory_of(found);
}

void mi_region_give(mi_region *region, void *memory) {
    piece *given = (void *)((unsigned char *)memory - HEAD_SIZE);
    MI_ASSERT(given->state == PIECE_TAKEN);
    MI_ASSERT(next_piece(given)->previous_unit_count == given->unit_count);
    region->taken_units -= given->unit_count;
    region->taken_count--;
    given->state = PIECE_FREE;
    MI_POISON(memory_of(given), memory_size(given));
    piece *next = next_piece(given);
    if (next->state == PIECE_FREE) {
        unlink_piece(region, next);
        given = join_pieces(given, next);
    }
    if (given->previous_unit_count != 0 && previous_piece(given)->state == PIECE_FREE) {
        piece *previous = previous_piece(given);
        unlink_piece(region, previous);
        given = join_pieces(previous, given);
    }
    if (is_whole_block(given) && block_of(given)->is_single) {
        release_block(region, block_of(given));
    } else {
        link_piece(region, given);
    }
}

void mi_region_trim(mi_region *region) {
    for (block *at = region->blocks, *next = NULL; at != NULL; at = next) {
        next = at->next;
        piece *first = first_piece(at);
        if (first->state == PIECE_FREE && is_whole_block(first) && is_beyond_kept(region, at)) {
            unlink_piece(region, first);
            release_block(region, at);
        }
    }
}

bool mi_region_keep(mi_region *region, size_t byte_size) {
    const size_t kept_before = region->kept_bytes;
    MI_ASSERT(!is_in_given_memory(region));
    // What is added is all free, and stays as it is kept already.
    region->kept_bytes = byte_size;
    while (region->block_bytes - region->single_bytes < byte_size) {
        const size_t rest = byte_size - (region->block_bytes - region->single_bytes);
        size_t next_size = MI_REGION_FIRST_BLOCK_SIZE;
        while (next_size < MI_REGION_BLOCK_SIZE && next_size < rest) {
            next_size *= 2;
        }
        piece *whole = make_block(region, 0, (uint32_t)(next_size / UNIT - 1), false);
        if (whole == NULL) {
            region->kept_bytes = kept_before;
            mi_region_trim(region);
            return false;
        }
        link_piece(region, whole);
    }
    return true;
}

bool mi_region_holds(const mi_region *region, const void *address) {
    for (const block *at = region->blocks; at != NULL; at = at->next) {
        if ((uintptr_t)address - (uintptr_t)at < at->byte_size) { // numbers: the address may belong to anybody
            return true;
        }
    }
    return false;
}

mi_region_stats mi_region_statistics(const mi_region *region) {
    mi_region_stats stats = {.block_count = region->block_count,
                             .block_bytes = region->block_bytes,
                             .shared_bytes = region->block_bytes - region->single_bytes,
                             .piece_bytes = region->taken_units * UNIT,
                             .piece_count = region->taken_count};
    if (region->rows != 0) {
        const uint32_t row = log2_of(region->rows);
        const piece *free_piece = region->lists[row][log2_of(region->classes[row])];
        for (; free_piece != NULL; free_piece = free_piece->next) {
            const size_t byte_size = memory_size(free_piece);
            stats.free_largest = byte_size > stats.free_largest ? byte_size : stats.free_largest;
        }
    }
    return stats;
}

typedef struct region_sums {
    size_t block_bytes, single_bytes, block_count, taken_units, taken_count, free_units, free_count;
} region_sums;

static bool validate_block(block *checked, region_sums *sums) {
    const size_t end_offset = checked->byte_size / UNIT - 1;
    size_t unit_offset = checked->first_unit_offset;
    uint32_t previous_unit_count = 0;
    bool is_previous_free = false;
    piece *at = first_piece(checked);
    while (at->state != PIECE_END) {
        const bool is_free = at->state == PIECE_FREE;
        if ((!is_free && at->state != PIECE_TAKEN) || (is_free && (is_previous_free || checked->is_single)) ||
            at->unit_count == 0 || at->unit_count > end_offset - unit_offset || at->unit_offset != unit_offset ||
            at->previous_unit_count != previous_unit_count) {
            return false;
        }
        *(is_free ? &sums->free_units : &sums->taken_units) += at->unit_count;
        *(is_free ? &sums->free_count : &sums->taken_count) += 1;
        is_previous_free = is_free;
        previous_unit_count = at->unit_count;
        unit_offset += at->unit_count;
        at = next_piece(at);
    }
    sums->block_count++;
    sums->block_bytes += checked->byte_size;
    sums->single_bytes += checked->is_single ? checked->byte_size : 0;
    return unit_offset == end_offset && at->unit_offset == unit_offset &&
           at->previous_unit_count == previous_unit_count;
}

// Whether the lists hold as many free pieces, of the same sum, as the blocks do, each in its place.
static bool validate_lists(const mi_region *region, const region_sums *sums) {
    size_t free_units = 0, free_count = 0;
    for (uint32_t row = 0; row < region->row_count; row++) {
        if ((region->rows >> row & 1u) != (region->classes[row] != 0)) {
            return false;
        }
        for (uint32_t column = 0; column < CLASS_COUNT; column++) {
            const piece *previous = NULL;
            if ((region->classes[row] >> column & 1u) != (region->lists[row][column] != NULL)) {
                return false;
            }
            for (const piece *at = region->lists[row][column]; at != NULL; previous = at, at = at->next) {
                const size_class right = class_of(at->unit_count);
                if (at->state != PIECE_FREE || at->previous != previous || right.row != row || right.column != column ||
                    ++free_count > sums->free_count) {
                    return false;
                }
                free_units += at->unit_count;
            }
        }
    }
    return free_count == sums->free_count && free_units == sums->free_units;
}

bool mi_region_validate(const mi_region *region) {
    region_sums sums = {0};
    const block *previous = NULL;
    for (block *at = region->blocks; at != NULL; previous = at, at = at->next) {
        if (at->previous != previous || !validate_block(at, &sums)) {
            return false;
        }
    }
    return sums.block_bytes == region->block_bytes && sums.block_count == region->block_count &&
           sums.single_bytes == region->single_bytes && sums.taken_units == region->taken_units &&
           sums.taken_count == region->taken_count && validate_lists(region, &sums);
}

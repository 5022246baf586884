// Chunk memory: pieces of any size cut from blocks of up to 2 MiB, so that fresh memory comes in huge pages and is
// given back late.
//
// A two-level segregated fit over blocks: each block is a row of pieces with a boundary tag of 16 bytes in front; free
// pieces are kept in lists by size class (powers of two, each split in 16) and join with their free neighbours when
// given back. Blocks that are all free are kept until mi_region_trim or mi_region_destroy: a world that has held so
// much holds as much again without a page fault. The first block of a region has 64 KiB and each further one about as
// much as all before it, so that a small world stays small. A piece starts at a multiple of 64 (or of its alignment)
// and has MI_REGION_PREFIX bytes of its own right in front of it. Pieces over half a block get a block of their own,
// which ends with them; so do all pieces where the heap is fixed (heap.h), which fits them itself. A region can also
// lie in memory of one size, with a single block that is its own. A region is as thread-safe as its heap: not at all.
// Under the address sanitizer, memory that no piece owns is poisoned.
#pragma once

#include "base/heap.h"

#define MI_REGION_PREFIX 16
#define MI_REGION_ALIGN_LEAST ((size_t)64)
#define MI_REGION_ALIGN_MOST ((size_t)4096)
#define MI_REGION_BLOCK_SIZE ((size_t)2 << 20)
#define MI_REGION_FIRST_BLOCK_SIZE ((size_t)64 << 10)

typedef struct mi_region mi_region;

mi_region *mi_region_create(mi_heap *heap, mica_memory_purpose purpose);
// A region within `memory`, at any address: it takes no blocks, and has nothing but that to cut pieces from. NULL:
// there is no room for a piece, or more than 127 GiB.
mi_region *mi_region_create_in(void *memory, size_t byte_size);
void mi_region_destroy(mi_region *region); // pieces that are still out go with it
// `byte_size` > 0, `alignment` a power of two from MI_REGION_ALIGN_LEAST to MI_REGION_ALIGN_MOST. NULL when out of
// memory or for a size of 0. Not zeroed. Costs the tag and the prefix, and what rounds them and the size up to a
// multiple of 64. O(1).
void *mi_region_take(mi_region *region, size_t byte_size, size_t alignment);
// Takes a piece back, its prefix with it. O(1).
void mi_region_give(mi_region *region, void *memory);
// Gives blocks that are all free back to the heap, as long as the others have what is to be kept. O(blocks).
void mi_region_trim(mi_region *region);
// Makes sure that the blocks for pieces of up to half a block have `byte_size` bytes together, and keeps so many from
// now on, also when they are free. False: out of memory, and what was kept before is kept. O(blocks added).
bool mi_region_keep(mi_region *region, size_t byte_size);

// Whether an address lies in one of the region's blocks. O(blocks).
bool mi_region_holds(const mi_region *region, const void *address);

typedef struct mi_region_stats {
    size_t block_count;
    size_t block_bytes;  // taken from the heap
    size_t shared_bytes; // of these, in blocks for several pieces
    size_t piece_bytes;  // in pieces that are out, tags and rounding included
    size_t piece_count;
    size_t free_largest; // largest free piece, without its tag and prefix
} mi_region_stats;

// What a piece for `byte_size` bytes takes of a block, without what alignment may skip.
size_t mi_region_piece_size(size_t byte_size);
// Short, but not O(1): looks for the largest free piece among those of the highest class.
mi_region_stats mi_region_statistics(const mi_region *region);
// Walks all blocks and lists; false if a tag, a link or a sum is wrong. For tests and mica_world_validate.
bool mi_region_validate(const mi_region *region);

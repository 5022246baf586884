/// \file capacity.h
/// How much memory a world holds, may hold, and has ready; and worlds that never allocate after creation.
///
/// Three things limit and prepare memory, and can be used together. A *budget* refuses what goes beyond a number of
/// bytes, by purpose and in all. *Room* is memory made ready and kept, so that entities come without an allocation. A
/// world *of fixed capacity* (`mica_world_def.fixed_byte_size`) takes all of its memory at once and serves everything
/// from there: the allocator is not called again until the world ends, and what finds no place is refused with
/// `MICA_OUT_OF_MEMORY`, with the world as it was. `mica_world_fixed_size` says how much it takes.
///
/// Figures say where memory is: by purpose (`mica_world_memory`), for an entity, for each table, and how well chunks
/// and blocks are filled. All functions belong to the world's thread.
#pragma once

#include <mica/world.h>

MICA_BEGIN

// Limits

/// Sets what a world may hold; NULL or zero: no limit. A budget below what is held already gives nothing back and
/// refuses whatever would take more. Refuses: `MICA_INVALID` (a budget for the schema). O(1).
MICA_API mica_result mica_world_set_budget(mica_world *world, const mica_memory_budget *budget);

/// The budget that a world has. O(1).
MICA_API mica_memory_budget mica_world_budget(const mica_world *world);

// Room

/// Makes room for the components of `room->count` entities, those that there are included, so that spawning them
/// allocates nothing for rows and elements if there are slots for them (`mica_world_reserve`, which is called first).
/// Chunks of tables are kept until a later call for the same components says less; room in pools is kept until the next
/// `mica_world_trim` or `mica_pool_shrink`. Refuses: `MICA_OUT_OF_MEMORY`, `MICA_LIMIT`, `MICA_LOCKED`, `MICA_INVALID`
/// (no components), `MICA_UNKNOWN`, or as `mica_schema_register`. O(components * chunks or pages added, and rows or
/// values that move).
MICA_API mica_result mica_world_make_room(mica_world *world, const mica_room *room);

/// Takes blocks for chunks until they have `byte_size` bytes, used or not, and keeps so many until a later call says
/// less: chunks of whatever tables come are cut from these. A world of fixed capacity has its memory already, and
/// nothing happens. Refuses: `MICA_OUT_OF_MEMORY`, `MICA_LIMIT` (more than 64 GiB). O(blocks added).
MICA_API mica_result mica_world_keep_chunks(mica_world *world, size_t byte_size);

// Fixed capacity

/// The memory that a world of fixed capacity gives the schema that it makes if it is given none. With another one of
/// fixed size, or an ordinary one, types may still be registered as long as that has memory.
#define MICA_FIXED_SCHEMA_BYTES ((size_t)256 << 10)

/// Bytes (`fixed_byte_size`) that are enough to make a world like `def` with the room that it asks for, found by making
/// such worlds: at most a sixteenth more than necessary, and 4 KiB. What else the world will hold comes on top:
/// queries, systems, commands, events, as `mica_world_memory` counts them in a trial run. 0: `MICA_OUT_OF_MEMORY`, or
/// as `mica_world_create`. Memory and limits of `def` are left out. O(bytes), several times.
MICA_API size_t mica_world_fixed_size(const mica_world_def *def);

// Figures

/// Bytes that an entity takes: its slot, its row or its elements with their places in lookups, and its bits in the
/// masks of pools. What values own elsewhere is not counted. 0: `MICA_STALE`. O(components).
MICA_API size_t mica_entity_byte_size(const mica_world *world, mica_entity entity);

/// A table. Good during the call alone.
typedef struct mica_table_stats {
    const mica_component *components; ///< in order of their names
    int32_t component_count;
    uint32_t row_count;
    uint32_t row_capacity;  ///< rows that its chunks have room for
    uint32_t row_kept;      ///< rows that room is kept for
    uint32_t row_byte_size; ///< a handle and its values
    uint32_t chunk_count;
    uint32_t chunk_capacity; ///< rows a chunk
    size_t chunk_bytes;      ///< of all chunks, with what they take in their blocks
    size_t table_bytes;      ///< of what is known of the table itself, with its lists
} mica_table_stats;

/// Is told of one table after the other; must not change the world.
typedef void (*mica_table_function)(const mica_table_stats *table, void *user);

/// Tells `function` of all tables, those without rows included, in the order in which queries visit them. Returns how
/// many there are; -1: `MICA_INVALID` (no world or function), `MICA_OUT_OF_MEMORY`. O(tables), and O(n log n) if tables
/// came since they were ordered last.
MICA_API int32_t mica_world_visit_tables(mica_world *world, mica_table_function function, void *user);

/// Memory that is cut into pieces.
typedef struct mica_block_stats {
    uint32_t block_count;
    size_t bytes;        ///< in all blocks
    size_t used_bytes;   ///< in pieces that are in use, with what surrounds them
    size_t free_largest; ///< the largest piece that could be taken from these blocks
} mica_block_stats;

/// How well memory is filled.
typedef struct mica_fragmentation {
    uint64_t row_count;        ///< of all tables
    uint64_t row_capacity;     ///< that their chunks have room for
    size_t row_bytes;          ///< handles and values of the rows that there are
    size_t chunk_bytes;        ///< of chunks
    uint64_t element_count;    ///< of all pools
    uint64_t element_capacity; ///< that they have room for
    uint32_t slot_count;       ///< slots ever used
    uint32_t slot_capacity;
    mica_block_stats chunks; ///< what chunks are cut from
    mica_block_stats pages;  ///< what pages of pools' lookups and masks are cut from
    mica_block_stats fixed;  ///< all memory of a world of fixed capacity; zero for others
} mica_fragmentation;

/// How well a world's memory is filled. O(tables + pools), and O(free pieces of the largest size).
MICA_API mica_fragmentation mica_world_fragmentation(const mica_world *world);

MICA_END

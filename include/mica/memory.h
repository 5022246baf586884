/// \file memory.h
/// Allocator hooks, and what memory is used for.
#pragma once

#include <mica/config.h>

MICA_BEGIN

/// Where a schema or a world gets its memory. Either both functions are given or none (then the C library and, for
/// large blocks, the operating system serve). Called on the thread that calls the library.
typedef struct mica_allocator {
    /// `byte_size` > 0 bytes at a multiple of `alignment` (a power of two, up to 2 MiB), or NULL. Need not be zeroed.
    void *(*allocate)(void *user, size_t byte_size, size_t alignment);
    /// Takes back what `allocate` gave, with the same size and alignment. Never fails.
    void (*release)(void *user, void *memory, size_t byte_size, size_t alignment);
    void *user;
} mica_allocator;

/// What memory is used for, with the names that statistics print.
#define MICA_MEMORY_PURPOSES(X)           \
    X(MICA_MEMORY_SCHEMA, "schema")       \
    X(MICA_MEMORY_WORLD, "world")         \
    X(MICA_MEMORY_ENTITIES, "entities")   \
    X(MICA_MEMORY_TABLES, "tables")       \
    X(MICA_MEMORY_CHUNKS, "chunks")       \
    X(MICA_MEMORY_POOLS, "pools")         \
    X(MICA_MEMORY_QUERIES, "queries")     \
    X(MICA_MEMORY_INDEXES, "indexes")     \
    X(MICA_MEMORY_COMMANDS, "commands")   \
    X(MICA_MEMORY_RESOURCES, "resources") \
    X(MICA_MEMORY_SYSTEMS, "systems")     \
    X(MICA_MEMORY_EVENTS, "events")       \
    X(MICA_MEMORY_RELATIONS, "relations") \
    X(MICA_MEMORY_OBSERVERS, "observers") \
    X(MICA_MEMORY_VALUES, "values")       \
    X(MICA_MEMORY_STATE, "state")         \
    X(MICA_MEMORY_FRAMES, "frames")       \
    X(MICA_MEMORY_CONTAINERS, "containers")

/// The purposes as numbers, `MICA_MEMORY_PURPOSE_COUNT` of them.
typedef enum mica_memory_purpose {
#define MICA_MEMORY_ENUMERATOR(PURPOSE, NAME) PURPOSE,
    MICA_MEMORY_PURPOSES(MICA_MEMORY_ENUMERATOR)
#undef MICA_MEMORY_ENUMERATOR
        MICA_MEMORY_PURPOSE_COUNT
} mica_memory_purpose;

/// Bytes asked of the allocator and not given back, by purpose.
typedef struct mica_memory_usage {
    size_t bytes[MICA_MEMORY_PURPOSE_COUNT];
    size_t total;
    size_t peak; ///< the most that `total` ever was
} mica_memory_usage;

/// How many bytes there may be, by purpose and in all; 0: as many as the allocator has. What a call would take beyond
/// is refused with `MICA_OUT_OF_MEMORY` and a message that names the budget, what is held of it, and what was needed.
typedef struct mica_memory_budget {
    size_t bytes[MICA_MEMORY_PURPOSE_COUNT]; ///< but for `MICA_MEMORY_SCHEMA`: a schema keeps its own memory
    size_t total;
} mica_memory_budget;

/// The name of a purpose as statistics print it; "" for a number that is none. O(1), any thread.
MICA_API const char *mica_memory_purpose_name(mica_memory_purpose purpose);

MICA_END

/// \file catalog.h
/// Catalogs: systems defined once, by name, and added to any number of worlds.
///
/// For programs with many worlds alike, such as the matches of a server, and for tools and files that name the systems
/// that a world is to have. A catalog belongs to no world. One thread at a time may enter definitions; once that is
/// done any number may read, each for a world of its own.
#pragma once

#include <mica/memory.h>
#include <mica/system.h>

MICA_BEGIN

typedef struct mica_catalog mica_catalog;

/// Makes an empty catalog; `allocator` may be NULL, then the default one serves. NULL: `MICA_INVALID` (half an
/// allocator), `MICA_OUT_OF_MEMORY`. O(1).
MICA_API mica_catalog *mica_catalog_create(const mica_allocator *allocator);

/// Ends a catalog; systems that were added from it stay as they are. NULL is allowed. O(definitions).
MICA_API void mica_catalog_destroy(mica_catalog *catalog);

/// Enters a copy of a definition and of its texts. Types, functions and `user` must be good for as long as worlds are
/// given the system. What depends on a world (stages, constraints, types) is looked at when it is added to one.
/// Refuses: `MICA_EXISTS` (the name), `MICA_INVALID` (no name, no function to run, bad counts, a term that names its
/// component by id: ids belong to one schema), `MICA_OUT_OF_MEMORY`. O(definitions).
MICA_API mica_result mica_catalog_enter(mica_catalog *catalog, const mica_system_def *def);

/// How many definitions there are; 0 for NULL. O(1).
MICA_API int32_t mica_catalog_count(const mica_catalog *catalog);

/// The definition of that number, from 0 on, in the order in which they were entered; as good as the catalog. NULL:
/// `MICA_UNKNOWN`. O(1).
MICA_API const mica_system_def *mica_catalog_at(const mica_catalog *catalog, int32_t number);

/// The definition of a name, as good as the catalog; NULL if there is none (no error). O(definitions).
MICA_API const mica_system_def *mica_catalog_find(const mica_catalog *catalog, const char *name);

/// Adds the system of a name to a world, as `mica_system_add` does. 0 on failure: `MICA_UNKNOWN` (the catalog has no
/// such name), or as `mica_system_add`. The world's thread.
MICA_API mica_system mica_system_add_named(mica_world *world, const mica_catalog *catalog, const char *name);

MICA_END

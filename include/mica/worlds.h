/// \file worlds.h
/// Several worlds, and a manager that advances them.
///
/// A program may have any number of worlds, which have nothing in common but the schema that they may share: the game
/// and the editor around it, a server's matches, a client and the server that it runs itself. Each says what it is: its
/// *kind* and its *net mode* (`mica_world_def`), which its systems can ask for.
///
/// A manager holds worlds in *places* with names, in an order, and advances them together. The places stay while worlds
/// come and go in them. To exchange what is in two worlds, and leave their systems where they are, there is
/// `mica_world_swap` (snapshot.h).
///
/// **Inside.** Systems may use the manager of their world, and change it while `mica_worlds_advance` runs. What is
/// asked about places changes at once. A place that is added is advanced by the next call, in an order that is given to
/// one from the next call on. A world that is removed, replaced or disabled runs no further tick, neither those of its
/// own that the same call was still to run, nor if its turn is yet to come; what is due of its time beyond a part of a
/// tick is dropped. A world that has to end ends at once,
/// or, while a function of its own runs, when `mica_worlds_advance` has ended or, outside of that, as soon as the
/// manager ends another one or itself.
///
/// A manager and all its worlds belong to one thread at a time.
#pragma once

#include <mica/world.h>

MICA_BEGIN

typedef struct mica_worlds mica_worlds;

/// A place of a manager; 0 is none. Numbers are never used again.
typedef struct mica_place {
    uint32_t id;
} mica_place;

/// A place and its first world. Zero is the default everywhere but for `world`.
typedef struct mica_place_def {
    const char *name;  ///< unique in the manager; copied; NULL: the world's
    mica_world *world; ///< the manager's from now on
    int32_t order;     ///< lower ones are advanced first; those of the same order by addition
    bool disabled;     ///< not advanced until it is enabled
} mica_place_def;

/// Makes a manager without places. `allocator` may be NULL; it is for the manager, not for worlds. NULL:
/// `MICA_INVALID` (half an allocator), `MICA_OUT_OF_MEMORY`. O(1).
MICA_API mica_worlds *mica_worlds_create(const mica_allocator *allocator);

/// Ends a manager and all its worlds, those added last first. NULL is allowed. While it advances, or a function of one
/// of its worlds runs, it stays (`MICA_LOCKED`, as the last error). O(worlds) times `mica_world_destroy`.
MICA_API void mica_worlds_destroy(mica_worlds *worlds);

/// Adds a place with a world. 0 on failure, and the world stays the caller's: `MICA_INVALID` (no manager, no world),
/// `MICA_EXISTS` (the name, or the world has a place), `MICA_LIMIT` (the numbers are used up), `MICA_OUT_OF_MEMORY`.
/// O(places).
MICA_API mica_place mica_worlds_add(mica_worlds *worlds, const mica_place_def *def);

/// Removes a place, and ends its world. Its name is free at once. Refuses: `MICA_UNKNOWN`. O(places), and
/// `mica_world_destroy`.
MICA_API mica_result mica_worlds_remove(mica_worlds *worlds, mica_place place);

/// Removes a place and gives its world back to the caller. NULL: `MICA_UNKNOWN`, `MICA_LOCKED` (the manager advances).
/// O(places).
MICA_API mica_world *mica_worlds_take(mica_worlds *worlds, mica_place place);

/// Puts another world into a place, and ends the one that was there: a level that was loaded aside goes live. The place
/// keeps name, order and whether it is enabled. Refuses, and the world stays the caller's: `MICA_UNKNOWN`,
/// `MICA_INVALID` (no world), `MICA_EXISTS` (it has a place), `MICA_OUT_OF_MEMORY`. O(places), and
/// `mica_world_destroy`.
MICA_API mica_result mica_worlds_replace(mica_worlds *worlds, mica_place place, mica_world *world);

/// Enables or disables a place. A world that is not advanced stands still altogether, and no time becomes due in it; to
/// let some of its systems go on, pause it (`mica_world_pause`). It can be stepped all the same. Refuses:
/// `MICA_UNKNOWN`. O(places).
MICA_API mica_result mica_worlds_enable(mica_worlds *worlds, mica_place place, bool enabled);

/// Gives a place another order, behind those that have it already. Refuses: `MICA_UNKNOWN`. O(places).
MICA_API mica_result mica_worlds_set_order(mica_worlds *worlds, mica_place place, int32_t order);

/// Advances the worlds of all enabled places by the same real time, one after the other in their order
/// (`mica_world_advance`). One that fails does not keep the others from their turn; the first failure is returned, and
/// the error names its place. Refuses, and no world is advanced: `MICA_INVALID` (no manager; negative or not finite),
/// `MICA_LOCKED` (it advances already). O(worlds and what they do). Allocates nothing of its own.
MICA_API mica_result mica_worlds_advance(mica_worlds *worlds, double real_seconds);

/// The place of a name; 0 if there is none (no error). O(places).
MICA_API mica_place mica_worlds_find(const mica_worlds *worlds, const char *name);

/// The place of a world; 0 if it has none (no error). O(places).
MICA_API mica_place mica_worlds_place_of(const mica_worlds *worlds, const mica_world *world);

/// The world in a place; NULL: `MICA_UNKNOWN`. O(places).
MICA_API mica_world *mica_worlds_world(const mica_worlds *worlds, mica_place place);

/// Writes up to `capacity` places in their order, and returns how many there are. O(places).
MICA_API int32_t mica_worlds_list(const mica_worlds *worlds, mica_place *places, int32_t capacity);

/// What is known of a place.
typedef struct mica_place_info {
    const char *name; ///< as good as the place
    mica_world *world;
    int32_t order;
    bool enabled;
    int32_t tick_count; ///< completed by the last call to `mica_worlds_advance`
    mica_result result; ///< of the last call
} mica_place_info;

/// What is known of a place; all zero: `MICA_UNKNOWN`. O(places).
MICA_API mica_place_info mica_worlds_describe(const mica_worlds *worlds, mica_place place);

// What a world is

/// The kind of a world, as its definition says; `MICA_WORLD_GAME` for NULL. O(1).
MICA_API mica_world_kind mica_world_kind_of(const mica_world *world);

/// The net mode of a world; `MICA_NET_NONE` for NULL. Not part of the state: a client that restores what a server has
/// sent stays a client. O(1).
MICA_API mica_net_mode mica_world_net_mode(const mica_world *world);

/// Gives a world another net mode, as when a client takes over from its server. Refuses: `MICA_INVALID` (no world, no
/// such mode); `MICA_LOCKED` in a system that declared its access, beside which others may ask. O(1).
MICA_API mica_result mica_world_set_net_mode(mica_world *world, mica_net_mode mode);

MICA_END

/// \file snapshot.h
/// Snapshots: the whole state of a world at a moment, as a value that is kept, shared and restored.
///
/// A snapshot holds everything that decides how a world goes on: entities with their generations and the order in which
/// handles will be issued, rows and their order, values, tags, pools with their tombstones and groups, what is disabled
/// or killed, links and their order, resources, systems' own state, events and messages that wait, timers, random
/// numbers and the clock. Systems, queries, observers, subscriptions and command buffers of the program are not state
/// and stay as they are.
///
/// Columns that nobody has written since are shared with the snapshot before, so that its cost follows what changed.
/// A world and the snapshots taken of it or restored into it are used by one thread at a time; reading a snapshot
/// (checksums, deltas, comparisons) is free to every thread as long as somebody holds it.
#pragma once

#include <mica/world.h>

MICA_BEGIN

typedef struct mica_snapshot mica_snapshot;

/// How a snapshot is taken. Zero is the default everywhere.
typedef struct mica_snapshot_options {
    /// Values of transient types are left out; restoring leaves them as they are to entities that have the component
    /// then and now, and gives the others constructed ones.
    bool leave_transient MICA_ZERO;
} mica_snapshot_options;

/// Takes a snapshot, with one reference held by the caller. `options` may be NULL. The memory is the snapshot's own,
/// from the world's allocator, and no part of the world's usage and budgets. Addresses for writing that were handed out
/// before are void: what is written through them may be missing in later snapshots.
///
/// NULL: `MICA_LOCKED`, `MICA_NO_COPY` (a value of a type with `destruct` and without `copy`; the type is named),
/// `MICA_OUT_OF_MEMORY`, `MICA_INVALID`. O(columns of all chunks + what was written since the last snapshot).
MICA_API mica_snapshot *mica_snapshot_take(mica_world *world, const mica_snapshot_options *options);

/// Takes a further reference and returns `snapshot`. O(1).
MICA_API mica_snapshot *mica_snapshot_retain(mica_snapshot *snapshot);

/// Gives a reference back; the last one frees what no other snapshot shares. NULL is allowed. O(chunks).
MICA_API void mica_snapshot_release(mica_snapshot *snapshot);

/// How many entities are alive in a snapshot. O(1).
MICA_API int32_t mica_snapshot_entity_count(const mica_snapshot *snapshot);

/// Bytes that would be free if this snapshot alone went: what it shares with no other. O(columns of all chunks).
MICA_API size_t mica_snapshot_own_byte_size(const mica_snapshot *snapshot);

/// How a state is restored. Zero is the default everywhere.
typedef struct mica_restore_options {
    /// Observers are told of what the restore removes and destroys before it happens, and of what it creates, adds and
    /// sets (values that differ in a byte, and all with hooks in columns that were written) when all is there; queries
    /// are entered and left. Entities in the order of their indices, each as observer.h says. What observers record is
    /// applied to the restored world; values that they set before it happens go with it, and nobody is told of that,
    /// nor of resources. Otherwise observers hear nothing.
    bool tell MICA_ZERO;
} mica_restore_options;

/// Brings a world into the state of a snapshot, exactly: it goes on as the world went on from there. Any snapshot of a
/// world of the same schema will do, as often as wanted, forwards and backwards. `options` may be NULL.
///
/// Values of stable pools keep their addresses where the element was there before at the same position. A new epoch
/// begins: handles taken after the snapshot are the caller's to drop, or to hold as `mica_ref`. For who asks what
/// changed since a version, what really differs has changed now. All or nothing: `MICA_LOCKED`, `MICA_MISMATCH`
/// (another schema, or a system's value is of another type), `MICA_OUT_OF_MEMORY`, `MICA_LIMIT`, `MICA_INVALID`.
/// O(columns of all chunks + what differs).
MICA_API mica_result mica_snapshot_restore(mica_snapshot *snapshot, mica_world *world,
                                           const mica_restore_options *options);

/// Makes `to` an exact copy of `from`, another world of the same schema: `mica_snapshot_take`, then
/// `mica_snapshot_restore`. All or nothing. O(everything in both).
MICA_API mica_result mica_world_copy(mica_world *to, mica_world *from);

/// Exchanges the states of two worlds of the same schema: entities, components, resources and all else that a snapshot
/// holds; systems, queries and observers stay where they are. A world can so be loaded aside and go live when it is
/// complete. All or nothing; refuses as `mica_snapshot_restore`. O(everything in both).
MICA_API mica_result mica_world_swap(mica_world *a, mica_world *b);

// Rings

/// The latest snapshots of one world.
typedef struct mica_ring mica_ring;

/// How a ring is made. Zero is the default everywhere.
typedef struct mica_ring_def {
    int32_t capacity MICA_ZERO;  ///< snapshots, 1 or more; 0: 64
    size_t byte_limit MICA_ZERO; ///< what all snapshots of the world may take together; the oldest ones go when it is
                                 ///< more, all but the latest; 0: no limit
    mica_snapshot_options options MICA_ZERO;
} mica_ring_def;

/// A ring of a world, which must outlive it; `def` may be NULL. NULL: `MICA_INVALID`, `MICA_OUT_OF_MEMORY`.
MICA_API mica_ring *mica_ring_create(mica_world *world, const mica_ring_def *def);
/// NULL is allowed.
MICA_API void mica_ring_destroy(mica_ring *ring);

/// Takes a snapshot into the ring under a number, usually `mica_world_tick`. One with the same number and those with
/// higher ones, which a restore has left behind, go. Refuses as `mica_snapshot_take`, and `MICA_LIMIT` if this one
/// alone is over the byte limit; then the ring is as it was.
MICA_API mica_result mica_ring_take(mica_ring *ring, uint64_t number);

/// The snapshot with a number, held by the ring; NULL: there is none (no error). O(log capacity).
MICA_API mica_snapshot *mica_ring_find(const mica_ring *ring, uint64_t number);

/// Restores the snapshot with a number. Later ones stay until others take their place, so that going forwards again is
/// possible. `MICA_ABSENT`: there is none; otherwise as `mica_snapshot_restore`.
MICA_API mica_result mica_ring_restore(mica_ring *ring, uint64_t number, const mica_restore_options *options);

/// What a ring holds.
typedef struct mica_ring_stats {
    int32_t count;         ///< snapshots
    uint64_t first_number; ///< of the oldest, if there is one
    uint64_t last_number;  ///< of the latest
    size_t byte_size;      ///< of all snapshots of the world together
} mica_ring_stats;

/// All zero for NULL (`MICA_INVALID`). O(1), but as short as finding the largest free piece of the snapshots' memory.
MICA_API mica_ring_stats mica_ring_statistics(const mica_ring *ring);

// References that survive restores

/// A handle with the epoch in which it was taken: unlike a plain handle it is refused once a restore has discarded that
/// epoch, even if the handle has been issued again. For what lives outside of the world (an editor's selection, a
/// network peer's table); inside, handles are restored along with everything else.
typedef struct mica_ref {
    mica_entity entity;
    uint64_t epoch;
} mica_ref;

/// A reference to a living entity, taken now; null with `MICA_STALE` if it is not alive. O(1).
MICA_API mica_ref mica_ref_of(const mica_world *world, mica_entity entity);

/// How many ranges of epochs that count, one between two restores each, a world remembers.
#define MICA_EPOCH_RANGE_MAX 1024

/// The handle of a reference; null with `MICA_STALE` if its entity is gone, or the moment at which it was taken has
/// been discarded. O(log restores that are remembered): a world remembers `MICA_EPOCH_RANGE_MAX` of them, and refuses
/// what was taken between older ones.
MICA_API mica_entity mica_ref_entity(const mica_world *world, mica_ref ref);

MICA_END

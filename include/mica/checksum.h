/// \file checksum.h
/// Checksums: 64 bits that stand for the state of a world, to tell whether two worlds are in the same state.
///
/// A checksum covers who is alive (index and generation), which components everybody has, values field by field (never
/// padding, and of a text nothing behind its closing zero), what is disabled or killed, resources, and the records of
/// all other parts of the state: events and messages that wait, order of children, systems' own state, timers, random
/// numbers, the clock. Values go by their components' names and their entities. So it is the same whatever the storage,
/// the order of rows and the order of registration, in every process, and on every machine with the same order of bytes
/// in a word; worlds of different handle widths agree on everything but values that hold handles.
///
/// Fields are compared by their bytes: 0.0 and -0.0 differ. Of a type whose fields are not known all bytes count. If
/// such a type also has a `copy` or `destruct` hook, its bytes are addresses and mean nothing elsewhere: its hook
/// `write` (type.h) says what its values hold. Without that it is refused by name, unless it is left out: a checksum
/// that said nothing of it would seem to.
///
/// Checksums of different states are equal about once in 2^64 times. They are no defence against somebody who looks for
/// a state with the same checksum.
#pragma once

#include <mica/snapshot.h>

MICA_BEGIN

/// What a checksum, or a comparison, covers. Zero is the default everywhere: the state as a program sees it.
typedef struct mica_checksum_options {
    /// Also what shows only as the world goes on: order of rows, handles that are free and the order in which they will
    /// be issued, tombstones of pools. Worlds whose exact checksums are equal go on alike, but for terms that ask what
    /// has changed: since when values are as they are is not covered.
    bool exact MICA_ZERO;
    /// Entities and their components alone: no resources, events, systems' state and so on.
    bool entities_only MICA_ZERO;
    /// Transient types are left out, which by default count like all others: components and resources.
    bool leave_transient MICA_ZERO;
    /// Messages that wait in the inbox (inbox.h) are left out: which of them wait when is up to other threads.
    bool leave_messages MICA_ZERO;
    const mica_component *leave MICA_ZERO; ///< types that are left out likewise; NULL: none
    int32_t leave_count MICA_ZERO;
} mica_checksum_options;

/// The checksum of a world. `options` may be NULL. Commands that are recorded and not applied yet are not covered.
///
/// Refuses: `MICA_UNREFLECTED` (a type with hooks, unknown fields and no `write`; named), `MICA_NO_COPY` (a resource or
/// system state that cannot be copied), `MICA_UNKNOWN` (one that is to be left out), `MICA_LOCKED` (in a system that
/// may run beside others, of its own world), `MICA_OUT_OF_MEMORY`, `MICA_INVALID`. O(everything), at about the speed at
/// which memory is read; takes up to 128 KiB of the stack.
MICA_API mica_result mica_world_checksum(mica_world *world, const mica_checksum_options *options, uint64_t *checksum);

/// The checksum of a snapshot: that of the world that it was taken of, at that moment. Transient types that were left
/// out of it are left out here. What snapshots share is summed once for all of them: O(chunks + what differs from
/// snapshots that were summed before + parts other than entities). Refuses as `mica_world_checksum`. Any thread.
MICA_API mica_result mica_snapshot_checksum(const mica_snapshot *snapshot, const mica_checksum_options *options,
                                            uint64_t *checksum);

/// The share of one component in a world's checksum: who has it, its values, and on whom it is disabled; 0 if nobody
/// has it. Refuses as `mica_world_checksum`. O(tables + pools + its values).
MICA_API mica_result mica_world_component_checksum(mica_world *world, mica_component component, uint64_t *checksum);

/// The share of one component in a snapshot's checksum. As `mica_world_component_checksum`.
MICA_API mica_result mica_snapshot_component_checksum(const mica_snapshot *snapshot, mica_component component,
                                                      uint64_t *checksum);

/// The share of one living entity in a world's checksum: its handle, its components and their values, and what of it is
/// disabled or killed. With `entities_only` a world's checksum is the sum of its entities', modulo 2^64. `exact` and
/// `entities_only` make no difference here. Refuses as `mica_world_checksum`, and `MICA_STALE`. O(its components).
MICA_API mica_result mica_entity_checksum(mica_world *world, mica_entity entity, const mica_checksum_options *options,
                                          uint64_t *checksum);

/// What is the first thing that differs between two states.
typedef enum mica_difference_kind {
    MICA_DIFFERENCE_NONE,
    MICA_DIFFERENCE_ENTITY,    ///< alive in one of them alone, or with another generation
    MICA_DIFFERENCE_COMPONENT, ///< one of them alone has it on the entity
    MICA_DIFFERENCE_VALUE,     ///< a field of it
    MICA_DIFFERENCE_MARK,      ///< the entity, or the component on it, is disabled or killed in one of them alone
    MICA_DIFFERENCE_PART,      ///< resources, events, systems' state, ...
    MICA_DIFFERENCE_ORDER      ///< with `exact`: rows, free handles, tombstones
} mica_difference_kind;

#define MICA_DIFFERENCE_PATH_SIZE 128
#define MICA_DIFFERENCE_TEXT_SIZE 512

/// The first difference between two states, a and b. Texts that are too long are cut.
typedef struct mica_difference {
    mica_difference_kind kind;
    mica_entity entity;                   ///< of a, or of b if a has none of this index; null: it is about no entity
    mica_component component;             ///< in the schema of a (of b, if a does not know it); 0: about none
    char path[MICA_DIFFERENCE_PATH_SIZE]; ///< the field: `place.x`, `slots[3].item`; of a part its name; or empty
    char text[MICA_DIFFERENCE_TEXT_SIZE]; ///< all of it in words, with both values
} mica_difference;

/// Finds the first difference between two worlds: of entities the one with the lowest index, of its components the
/// first by name, of its value the first field; if entities are equal, the first part of the state that differs; with
/// `exact` the first row out of order. `options` may be NULL. It goes by the values themselves; where a
/// hook `write` tells what they hold, by a digest of that.
///
/// The worlds may have different schemas; components go by their names. Refuses as `mica_world_checksum`, and
/// `MICA_MISMATCH` if a component has another size or kind in the other schema. O(everything in both).
MICA_API mica_result mica_world_compare(mica_world *a, mica_world *b, const mica_checksum_options *options,
                                        mica_difference *difference);

/// As `mica_world_compare`, of two snapshots. Any thread.
MICA_API mica_result mica_snapshot_compare(const mica_snapshot *a, const mica_snapshot *b,
                                           const mica_checksum_options *options, mica_difference *difference);

/// As `mica_world_compare`, of a snapshot and a world.
MICA_API mica_result mica_snapshot_compare_world(const mica_snapshot *a, mica_world *b,
                                                 const mica_checksum_options *options, mica_difference *difference);

MICA_END

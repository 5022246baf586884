/// \file delta.h
/// Deltas: what differs between two states of a world, as bytes that are kept, sent, applied and reverted.
///
/// A delta of two snapshots leads from the first one's state, its *base*, to the second one's, its *target*, and back
/// again. It is a string of bytes that means the same in every process and on every machine whose library has the same
/// handle width: components go by their names, and their sizes and fields have to be the same. An *exact* delta holds
/// everything that a snapshot holds, so that the world goes on from there as it did; one that is *limited* to some
/// components or entities holds those values, and who has them, alone.
///
/// docs/delta-format.md describes the bytes. Padding inside values is never part of them. A value whose type has a hook
/// that copies or destructs goes as what its hook `write` tells, and comes by `read`; be it an entity's, a resource, an
/// event that waits, or what a system keeps. Without these, or without `copy`, it has no bytes that mean the same
/// elsewhere: where such values differ, or may, there is no delta, unless entities or systems have them and the type is
/// transient. Then they stay out of it and as they are in the world, if there is an entity or system that has one
/// already; else a new one is made.
#pragma once

#include <mica/snapshot.h>

MICA_BEGIN

/// A delta that the library has made: immutable bytes in memory of their own, bound to no world or schema.
typedef struct mica_delta mica_delta;

/// What a delta is made of. Zero is the default everywhere: everything.
typedef struct mica_delta_options {
    const mica_component *components MICA_ZERO; ///< those that it is limited to; NULL: all
    int32_t component_count MICA_ZERO;
    const mica_entity *entities MICA_ZERO; ///< those that it is limited to, alive in either snapshot; NULL: all
    int32_t entity_count MICA_ZERO;
} mica_delta_options;

/// Makes the delta that leads from `from` to `to`, two snapshots of worlds of the same schema. `from` NULL stands for
/// the state of a world that was just made: the delta then holds the whole of `to`, and can be applied to a world in
/// any state. `options` may be NULL.
///
/// A limited delta creates and destroys the entities that it is limited to (all, if only components are named), and
/// knows nothing of the order of rows and of free handles, of resources, events and whatever else there is.
///
/// NULL: `MICA_INVALID` (no `to`, another schema, one of the snapshots without transient values and the other with
/// them, an unknown component, a negative count), `MICA_UNSUPPORTED` (values differ, or may, that own something and
/// whose type lacks one of the hooks `write`, `read` and `copy`; the type is named, and the part of the world's state
/// if it is no entity's), `MICA_LIMIT` (over 2 GiB), `MICA_OUT_OF_MEMORY`. O(columns of all chunks + bytes of those
/// columns that the snapshots do not share). Any thread; the snapshots are only read.
MICA_API mica_delta *mica_delta_make(const mica_snapshot *from, const mica_snapshot *to,
                                     const mica_delta_options *options);

/// Makes one delta out of two: it leads from the base of the first to the target of the second, which begins where the
/// first ends. Both are exact, or both limited to the same. `allocator` is where its memory comes from; NULL: the
/// default one.
///
/// NULL: `MICA_FORMAT` (one of them is no delta, or damaged), `MICA_MISMATCH` (the second does not begin where the
/// first ends, or is limited to something else; what differs is named), `MICA_INCOMPATIBLE` (another version of the
/// format, or handle width), `MICA_LIMIT`, `MICA_OUT_OF_MEMORY`, `MICA_INVALID`. O(bytes of both). Any thread.
MICA_API mica_delta *mica_delta_compose(const void *first, size_t first_byte_size, const void *second,
                                        size_t second_byte_size, const mica_allocator *allocator);

/// The bytes of a delta and their number; they stay until it is released. NULL and 0 for NULL. O(1).
MICA_API const void *mica_delta_bytes(const mica_delta *delta, size_t *byte_size);

/// Frees a delta. NULL is allowed.
MICA_API void mica_delta_release(mica_delta *delta);

/// Which way a delta is applied.
typedef enum mica_delta_direction {
    MICA_DELTA_FORWARDS, ///< from its base to its target
    MICA_DELTA_BACKWARDS ///< from its target to its base
} mica_delta_direction;

/// Brings a world that is in the state at one end of a delta into that at the other end. The bytes may come from
/// anywhere: whatever they are, the world is afterwards in a state that the delta describes, or as it was.
///
/// What decides whether the world is in that state is what an exact checksum covers (`mica_checksum_options.exact`): of
/// a limited delta the entities and components that it is limited to, of an exact one everything, down to free handles,
/// the order of rows, and the events that systems have yet to see. Nothing else does: neither versions, which grow when
/// somebody looks, nor which queries for changes there are and what they have noted, nor what event readers of the
/// program have yet to see. Where the world has these as the snapshot had them, it gets those of the other one as well,
/// and after an exact delta goes on as the world that this was taken of. Where it has them otherwise it keeps its own:
/// what is written counts as changed now, and a reader of the program keeps what it has yet to see if no events of the
/// type came or went, and otherwise finds those that systems have yet to see.
///
/// After a limited delta those who come into a table or pool stand in the places of those who go, by entity index, and
/// then last; what is written counts as changed now; an entity that ends takes everything along that it has, and one
/// that comes is given its handle back, whatever the slot has been since. Links are changed by exact deltas alone.
/// Otherwise there is no difference to `mica_snapshot_restore`, which `options` is passed to.
///
/// All or nothing. Refuses: `MICA_FORMAT` (no delta, or damaged, or it leads to no state that a world can be in),
/// `MICA_INCOMPATIBLE` (another version of the format, or handle width), `MICA_UNKNOWN` (a component that the world's
/// schema does not know), `MICA_MISMATCH` (a component has another size, other fields or no hook `read`; or the world
/// is not in the state that the delta begins with: the first component, or part of the state, that differs is named),
/// `MICA_LOCKED`, `MICA_NO_COPY` (as `mica_snapshot_take`), `MICA_UNSUPPORTED` (rows with values of types with hooks
/// other than `write` and `read` would have to move, or a limited delta would change links), `MICA_LIMIT`,
/// `MICA_OUT_OF_MEMORY`, `MICA_INVALID`. O(columns of all chunks + bytes of the columns that change + bytes of the
/// delta).
MICA_API mica_result mica_delta_apply(mica_world *world, const void *bytes, size_t byte_size,
                                      mica_delta_direction direction, const mica_restore_options *options);

/// What is in a delta.
typedef struct mica_delta_info {
    bool is_limited;
    bool is_whole;            ///< it holds all of its target: it was made from no snapshot
    int32_t created_count;    ///< entities that are alive in the target alone
    int32_t destroyed_count;  ///< entities that are alive in the base alone
    int32_t component_count;  ///< components of which something differs
    int32_t part_count;       ///< parts of the state beside entities and components that differ, such as resources
    uint64_t base_checksum;   ///< of the states at both ends, as far as the delta knows of them: a delta that follows
    uint64_t target_checksum; ///< another one has for its base checksum the other one's target checksum
} mica_delta_info;

/// What a delta says of one component.
typedef struct mica_delta_component_info {
    const char *name;      ///< in the delta's bytes
    int32_t byte_size;     ///< of a value; 0: a tag, or hooks write and read values
    int32_t added_count;   ///< entities that have it in the target alone
    int32_t removed_count; ///< entities that have it in the base alone
    int32_t changed_count; ///< entities that have it at both ends, with another value
} mica_delta_component_info;

/// Says what is in a delta, forwards. `components` (NULL with `component_capacity` 0) receives the components of which
/// something differs, in the order of their names, as far as there is room; `info->component_count` says how many there
/// are. Refuses: `MICA_FORMAT`, `MICA_INCOMPATIBLE`, `MICA_INVALID`. O(bytes). Any thread.
MICA_API mica_result mica_delta_describe(const void *bytes, size_t byte_size, mica_delta_info *info,
                                         mica_delta_component_info *components, int32_t component_capacity);

MICA_END

/// \file undo.h
/// Undo and redo: the steps by which a world came to be what it is, taken back and taken again.
///
/// A *step* is all that changes between `mica_history_begin` and `mica_history_end`, by whatever means. Taking it back
/// brings the world into exactly the state before it: an entity that was destroyed is there again with the handle that
/// it had. Steps inside of steps are part of the outermost one, so functions can make steps of what they do and be
/// called by others that make one of it all.
///
/// A step is kept as what differs (a delta) or, where values are concerned that own something and that no hooks write
/// and read, as snapshots, which share what is the same. What is kept is limited by memory and by number; the oldest
/// steps are forgotten first. A new step drops those that had been taken back.
///
/// Between steps the world is not to change, or the history would lose track of it: what has is refused when the next
/// step begins, ends or is taken back, or is taken into a step of its own (`mica_history_def.take_others`).
///
/// Values with hooks whose fields are not known cannot be compared. What changes of them outside of steps is not
/// noticed, and a step in which they were written counts as one, whatever was written.
///
/// References (`mica_ref`) follow: one that was good in a state is good again when undo or redo comes back to it.
#pragma once

#include <mica/snapshot.h>

MICA_BEGIN

/// The steps of one world.
typedef struct mica_history mica_history;

/// Longest name of a step, in bytes; more is cut.
#define MICA_HISTORY_NAME_MAX 63

/// How a history is kept. Zero is the default everywhere.
typedef struct mica_history_def {
    size_t byte_limit MICA_ZERO;  ///< what steps may take, but for the last one; 0: no limit
    int32_t step_limit MICA_ZERO; ///< steps that can be taken back; 0: no limit
    /// What changed outside of steps becomes a step with this name, of its own, before the call goes on; NULL: it is
    /// refused. Copied.
    const char *take_others MICA_ZERO;
    mica_restore_options restore MICA_ZERO; ///< how undo and redo restore
} mica_history_def;

/// Begins the history of a world, which must outlive it; the state now is the first that steps lead back to. `def` may
/// be NULL. NULL: `MICA_INVALID` (negative limit), or as `mica_snapshot_take`.
MICA_API mica_history *mica_history_create(mica_world *world, const mica_history_def *def);
/// Forgets all steps; the world stays as it is. NULL is allowed.
MICA_API void mica_history_destroy(mica_history *history);

/// Begins a step; inside of another one, a part of it, whose name is not kept. `name` may be NULL; copied. Refuses:
/// `MICA_MISMATCH` (the world was changed outside of steps; the first difference is named), or as `mica_snapshot_take`.
/// O(columns of all chunks + what differs); O(1) inside of another one.
MICA_API mica_result mica_history_begin(mica_history *history, const char *name);

/// Ends what the last `mica_history_begin` began. If nothing has changed there is no step, and those that were taken
/// back stay. On failure the step is still open. Refuses: `MICA_ABSENT` (none is open), or as `mica_snapshot_take` and
/// `mica_delta_make`. O(columns of all chunks + bytes of those that changed).
MICA_API mica_result mica_history_end(mica_history *history);

/// Gives up the step that is open, with all inside of it: restores the state in which it began. Refuses: `MICA_ABSENT`
/// (none is open), or as `mica_snapshot_restore`; then it is still open.
MICA_API mica_result mica_history_cancel(mica_history *history);

/// Takes back the last step. All or nothing. Refuses: `MICA_ABSENT` (there is none), `MICA_EXISTS` (one is open),
/// `MICA_MISMATCH` (the world was changed outside of steps; the first difference is named), or as `mica_delta_apply`.
/// O(columns of all chunks + what differs).
MICA_API mica_result mica_history_undo(mica_history *history);

/// Takes again the step that was taken back last. Refuses as `mica_history_undo`; with `take_others`, changes outside
/// of steps leave none to take again: `MICA_ABSENT`.
MICA_API mica_result mica_history_redo(mica_history *history);

/// The name of the step that `mica_history_undo` would take back, good until the history changes; NULL: there is none
/// (no error). O(1).
MICA_API const char *mica_history_undo_name(const mica_history *history);
/// As `mica_history_undo_name`, of the step that `mica_history_redo` would take again.
MICA_API const char *mica_history_redo_name(const mica_history *history);

typedef struct mica_history_stats {
    int32_t undo_count;       ///< steps that can be taken back
    int32_t redo_count;       ///< steps that can be taken again
    int32_t open_count;       ///< steps that are open, one in the other
    uint64_t forgotten_count; ///< steps that were forgotten for the limits
    size_t byte_size;         ///< what the steps take
} mica_history_stats;

/// Counts of a history. O(1), and O(columns of all chunks) for each step that is kept as snapshots.
MICA_API mica_history_stats mica_history_statistics(const mica_history *history);

MICA_END

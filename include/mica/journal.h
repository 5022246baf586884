/// \file journal.h
/// Journals: a world's ticks in a file, from which each of them can be brought back, and run again.
///
/// A journal begins with a *checkpoint*, the whole state of the world. Every tick adds a record: the messages that came
/// in through the inbox, the length of the tick, what it changed (a delta), and the checksum of the world after it.
/// Further checkpoints follow every so many ticks, so that reading need not begin at the start. What the program
/// changes between ticks is recorded along with the tick that follows.
///
/// Each record has a checksum and is handed to the system as a whole before the call returns. A program that is ended
/// at any moment leaves a file that is good up to its last complete tick: the *good part*, which readers find by
/// themselves and `mica_journal_resume` goes on from. With the option `sync` that holds for a machine that is switched
/// off as well.
///
/// docs/journal-format.md describes the bytes. A file that comes from elsewhere may hold anything: whatever it is, it
/// is refused or read, and never harms.
#pragma once

#include <mica/checksum.h>
#include <mica/snapshot.h>

MICA_BEGIN

/// Ticks from one checkpoint to the next unless the journal says otherwise.
#define MICA_JOURNAL_CHECKPOINT_DEFAULT 600u

// Writing

/// A journal that is being written.
typedef struct mica_journal mica_journal;

/// How a journal is written. Zero is the default everywhere.
typedef struct mica_journal_options {
    uint32_t checkpoint_tick_count MICA_ZERO; ///< from one checkpoint to the next; 0: `MICA_JOURNAL_CHECKPOINT_DEFAULT`
    bool sync MICA_ZERO;  ///< every record is on the disk, not only with the system, before the call returns
    bool steps MICA_ZERO; ///< the checksum after every system and barrier is recorded, so that a replay names the first
                          ///< one that does something else; costs a snapshot each
} mica_journal_options;

/// Begins a journal of a world, in place of whatever file has that path; the first checkpoint is the world as it is
/// now. The file appears when it is complete so far: until then the old one stays. The world must outlive the journal,
/// and has one journal at a time. `options` may be NULL.
///
/// NULL: `MICA_IO` (the file is named), `MICA_EXISTS` (the world has a journal), `MICA_LIMIT` (the world's state takes
/// over 2 GiB), `MICA_INVALID`, or as `mica_snapshot_take` and `mica_delta_make`: in particular `MICA_UNSUPPORTED` for
/// values with hooks other than `write` and `read`, unless their types are transient. O(everything in the world).
MICA_API mica_journal *mica_journal_create(mica_world *world, const char *path, const mica_journal_options *options);

/// Goes on with a journal that is there: what stands behind its good part is cut off, and the world is brought into the
/// state at the end of it. `options` may be NULL.
///
/// NULL, the world as it was: `MICA_FORMAT` (no journal, or without a complete checkpoint), otherwise as
/// `mica_journal_create` and `mica_journal_restore`. O(bytes of the file) and one restore.
MICA_API mica_journal *mica_journal_resume(mica_world *world, const char *path, const mica_journal_options *options);

/// Runs a tick, as `mica_world_step`, and records it. Ticks that run without this are recorded as changes between
/// ticks. What another thread posts into the inbox is recorded when a tick takes it in.
///
/// Refuses, before the tick: as `mica_world_step` and `mica_snapshot_take`. A tick that fails is returned with its code
/// and is no tick of the journal; what it changed is recorded along with the next one. `MICA_IO`, `MICA_LIMIT`,
/// `MICA_UNSUPPORTED`, or `MICA_OUT_OF_MEMORY` with a higher `mica_world_tick` than before: the tick stands and could
/// not be recorded; the file is named, ends with the last complete record, and the next call records the difference.
/// O(the tick + columns of all chunks + bytes of the columns that changed).
MICA_API mica_result mica_journal_step(mica_journal *journal, float delta_seconds);

/// Advances the world as `mica_world_advance` and records each tick. What steps of a paused world change is recorded
/// along with the tick that follows. Returns the number of ticks; on failure -1 - n, where n ticks were completed, the
/// last of which could perhaps not be recorded: as `mica_world_advance` and `mica_journal_step`. O(ticks that are due)
/// times `mica_journal_step`.
MICA_API int32_t mica_journal_advance(mica_journal *journal, double real_seconds);

/// Records what changed since the last record, without a tick; nothing if nothing did. For programs that change the
/// world between ticks and may end before the next one. Refuses as `mica_journal_step`. O(as a tick's record).
MICA_API mica_result mica_journal_write(mica_journal *journal);

/// Ends a journal; what changed since the last record is recorded (`mica_journal_write`). The journal is gone, also if
/// that fails. NULL is allowed.
MICA_API mica_result mica_journal_close(mica_journal *journal);

// Reading

/// A journal that is being read: the list of its records, and the file behind it.
typedef struct mica_journal_reader mica_journal_reader;

/// What is in a journal.
typedef struct mica_journal_info {
    uint64_t first_tick;      ///< ticks that were complete at the first checkpoint
    uint64_t last_tick;       ///< ticks that were complete at the end of the good part
    int32_t tick_count;       ///< recorded ticks
    int32_t checkpoint_count; ///< at least 1
    uint64_t good_byte_size;  ///< of the good part
    uint64_t byte_size;       ///< of the file; more than the good part: something was cut off or damaged
    const char *fault;        ///< why the good part ends where it does; "": the file ends there
} mica_journal_info;

/// Opens a journal for reading and finds its good part, by looking at all of its bytes once. `allocator` may be NULL.
/// NULL: `MICA_IO` (the file is named), `MICA_FORMAT` (no journal, or without a complete checkpoint),
/// `MICA_INCOMPATIBLE` (another version of the format, or handle width), `MICA_OUT_OF_MEMORY`, `MICA_INVALID`.
/// O(bytes of the file). A reader is used by one thread at a time.
MICA_API mica_journal_reader *mica_journal_open(const char *path, const mica_allocator *allocator);

/// NULL is allowed.
MICA_API void mica_journal_reader_close(mica_journal_reader *reader);

/// What is in a journal; good as long as the reader. O(1).
MICA_API mica_journal_info mica_journal_reader_info(const mica_journal_reader *reader);

/// The checksum that was recorded when so many ticks were complete: `mica_world_checksum` with `leave_transient`.
/// False: there is none (no error). O(log records), O(records) of a journal whose program went back to earlier ticks.
MICA_API bool mica_journal_checksum(const mica_journal_reader *reader, uint64_t tick, uint64_t *checksum);

/// Brings a world into the recorded state in which so many ticks were complete, with what was changed before the next
/// one began left out. The world's schema must know the components.
///
/// All or nothing. Refuses: `MICA_ABSENT` (no such tick), `MICA_FORMAT` (the file leads to no state, or to one with
/// another checksum; the place is named), `MICA_IO`, `MICA_MISMATCH`, `MICA_UNKNOWN`, and otherwise as
/// `mica_delta_apply`. O(bytes of the records from the checkpoint before on) and a restore for each.
MICA_API mica_result mica_journal_restore(mica_journal_reader *reader, mica_world *world, uint64_t tick);

/// Where a replay is something else than what was recorded.
typedef struct mica_replay_difference {
    uint64_t tick;    ///< the tick that ended otherwise: so many were complete before it
    char system[96];  ///< the first system that did something else, as far as the journal knows of systems; "": unknown
    bool in_commands; ///< not `system` itself, but the commands that were applied behind it
    mica_difference state; ///< between the recorded state after the tick (a) and the replayed one (b)
} mica_replay_difference;

/// Runs recorded ticks again: restores the state when `from` ticks were complete, gives the world the recorded messages
/// tick by tick in place of those in its inbox, steps it until `to` ticks are complete, and compares its checksum with
/// the recorded one after each. Whatever was changed between ticks is changed between them again.
///
/// `MICA_MISMATCH`: a tick ended otherwise, or failed. `difference` (may be NULL) says where, the world is in the state
/// that the replay led to, and the error names all of it. Otherwise refuses as `mica_journal_restore`, which may be in
/// the middle of the replay: then the world is in the state of the last tick that was the same. O(ticks) and what they
/// and their records cost.
MICA_API mica_result mica_journal_replay(mica_journal_reader *reader, mica_world *world, uint64_t from, uint64_t to,
                                         mica_replay_difference *difference);

MICA_END

/// \file parallel.h
/// Parallel loops: a system goes over the spans of a query on several threads.
///
///     static void pull(mica_run *run, mica_iter *span, void *user) {
///         const mica_entity *sun = user;
///         ...
///         Velocity *velocity = mica_write_of(*span, Velocity);
///         for (int32_t i = 0; i < span->count; i++) {
///             ...
///         }
///     }
///
///     static void move(mica_run *run) {
///         mica_parallel_for(run, NULL, pull, &sun);
///     }
///
/// Which thread gets which spans is found out while the loop runs. What comes of it is the same on any number of
/// threads: commands that are recorded in spans are applied in the order in which a walk visits the spans, and a span
/// draws random numbers of its own.
///
/// Spans write values by handle as their system does, if no two of them write the same value, and none writes one of a
/// component that the query writes. What would tell in which order spans are visited is refused (`MICA_LOCKED`): to
/// send and read events, to enable and disable systems. That is done before the loop and behind it.
///
/// Spans are those of a walk, cut so that even one table can be shared out: where a loop goes over n rows of tables,
/// chunks are cut after every n / 128 rows, rounded up to a power of two, 16 at least. (More, up to 64, where columns
/// of the query have values of fewer than 4 bytes or lie in lanes: each part begins at a multiple of 64 bytes, as
/// chunks do.) A walk that goes along a pool is cut likewise, after 64 elements at least. Cutting depends on nothing
/// else: not on threads, nor on what rows take. So spans, their order, and what a program does once a span, are the
/// same on any number of threads, and on one. Walks outside of loops are not cut.
///
/// Loops run on one thread: that are small by what rows of theirs took before; that were no faster when they were
/// shared out, as they wait for memory alone; in worlds of one thread; whose walk goes along several pools, of an
/// any-of clause, or over removals; that ask which of several components has changed (`mica_any_changed`), since
/// writing one tells of its neighbours; of systems that write what somebody observes; within spans of other loops; and
/// while the system has a walk open.
#pragma once

#include <mica/system.h>

MICA_BEGIN

/// What a loop does with a span. `run` is for this span: its commands (`mica_run_commands`, `mica_iter_commands`) and
/// its random numbers; a placeholder stands for nothing in another span. `span` is a walk that stands at the span, and
/// is neither moved on nor ended. What all spans share, such as `user` and the system's own value, is read alone, or
/// guarded by the program. `mica_run_fail` ends the loop as it ends the tick: spans that have not begun may be left
/// out.
typedef void (*mica_span_function)(mica_run *run, mica_iter *span, void *user);

/// Calls `function` for every span of `query` (NULL: the system's first query), on the calling thread and on others of
/// the world's pool, and returns when all are through. Each call of a loop moves the system's generator on once.
/// Refuses: `MICA_INVALID` (no run, no function, no query, one of another world), or as `mica_query_begin`;
/// `MICA_OUT_OF_MEMORY`, `MICA_LIMIT` (what spans have recorded could not be joined: the system has failed). The thread
/// of the system. O(tables and spans that match), and about a microsecond a thread.
MICA_API mica_result mica_parallel_for(mica_run *run, mica_query *query, mica_span_function function, void *user);

MICA_END

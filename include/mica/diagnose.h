/// \file diagnose.h
/// Finding out why: what looks wrong in a world although no call has failed.
///
///     static void print(const mica_diagnosis *diagnosis, void *user) {
///         (void)user;
///         printf("%s: %s\n", mica_diagnosis_name(diagnosis->kind), diagnosis->text);
///     }
///     mica_world_diagnose(world, print, NULL);
#pragma once

#include <mica/world.h>

MICA_BEGIN

/// What is looked for, with the names that `mica_diagnosis_name` returns.
///
/// - Tombstones: a stable pool of which a quarter or more, and 64 at least, are tombstones.
/// - Query: a query that matches nobody because no entity has had a component that it requires: since the world was
///   made, or since `mica_world_trim` dropped the last table with it.
/// - System: a system that has not run although there were ticks since it was added.
/// - Schedule: in a world with several threads, eight systems or more in the last plan, no two of which may run side by
///   side; what keeps each of them apart says `mica_world_plan_explain` (schedule.h).
/// - Removals: a disabled system for which 4,096 removals or more are kept that it has asked for (query.h).
/// - Observer: an observer that took a quarter or more of the time of the last ticks, of which about 64 count,
///   and a millisecond in them at least.
/// - Reactions: what observers caused was dropped, beyond `mica_world_def.reaction_limit` or for want of memory.
/// - Events: events that a reader, or the handlers of a type, have missed (event.h).
/// - Inbox: messages that were refused because the inbox was full (inbox.h).
#define MICA_DIAGNOSES(X)                      \
    X(MICA_DIAGNOSIS_TOMBSTONES, "tombstones") \
    X(MICA_DIAGNOSIS_QUERY, "query")           \
    X(MICA_DIAGNOSIS_SYSTEM, "system")         \
    X(MICA_DIAGNOSIS_SCHEDULE, "schedule")     \
    X(MICA_DIAGNOSIS_REMOVALS, "removals")     \
    X(MICA_DIAGNOSIS_OBSERVER, "observer")     \
    X(MICA_DIAGNOSIS_REACTIONS, "reactions")   \
    X(MICA_DIAGNOSIS_EVENTS, "events")         \
    X(MICA_DIAGNOSIS_INBOX, "inbox")

/// The kinds of what is found, `MICA_DIAGNOSIS_KIND_COUNT` of them.
typedef enum mica_diagnosis_kind {
#define MICA_DIAGNOSIS_ENUMERATOR(KIND, NAME) KIND,
    MICA_DIAGNOSES(MICA_DIAGNOSIS_ENUMERATOR)
#undef MICA_DIAGNOSIS_ENUMERATOR
        MICA_DIAGNOSIS_KIND_COUNT
} mica_diagnosis_kind;

/// Something that looks wrong. Good during the call alone.
typedef struct mica_diagnosis {
    mica_diagnosis_kind kind;
    const char *subject; ///< the name of the component, system or observer, or the query's text; "" otherwise
    const char *text;    ///< what was seen and what to do about it, a sentence without a full stop; cut at 767 bytes
} mica_diagnosis;

/// Is told of one thing after the other; must not change the world.
typedef void (*mica_diagnose_function)(const mica_diagnosis *diagnosis, void *user);

/// Tells `function` what looks wrong, and returns how many things do; -1: `MICA_INVALID` (no world). Without a function
/// it only counts. In the order of the kinds; pools, types of events, and queries that no system has in order of their
/// names and texts; systems in the order in which they were added (the first query of one, then its further ones);
/// observers and readers in the order in which they came. So the same history gives the same answer, but for times.
///
/// Allocates nothing. O(queries * terms * tables + pools * findings). The world's thread.
MICA_API int32_t mica_world_diagnose(const mica_world *world, mica_diagnose_function function, void *user);

/// The name of a kind; "" for a number that is none. O(1), any thread.
MICA_API const char *mica_diagnosis_name(mica_diagnosis_kind kind);

MICA_END

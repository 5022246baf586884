// Restoring a snapshot: what its parts share meanwhile.
//
// All parts prepare, then all of them commit, or, if one could not, those that prepared cancel. Preparing makes room
// and copies what hooks have to copy; the world is as it was then, but for empty tables, pools without elements and
// spare room. Committing cannot fail.
#pragma once

#include "state/snapshot.h"

typedef struct mi_restore {
    mica_world *world;
    const mica_snapshot *snapshot;
    const mica_snapshot *base; // whose images columns name; NULL: none
    mica_result result; // MICA_OK, or the first failure: MICA_OUT_OF_MEMORY, MICA_LIMIT, MICA_FORMAT, MICA_UNKNOWN
    const char *limit;  // what there is no more of, if that is MICA_LIMIT
    const char *part;   // whose record was refused; NULL: none was
    const char *fault;  // what was wrong with it; may be NULL
    struct mi_prepared_tables *tables;     // of tables.c
    struct mi_prepared_pool *pools;        // of pools.c
    struct mi_prepared_entities *entities; // of entities.c
    struct mi_prepared_parts *parts;       // of parts.c
    mi_epochs *epochs;                     // that count afterwards
    bool tells_all;                        // programs' observers too
    const mi_part *without;                // stays as it is; NULL: none does
    struct mi_telling *telling;            // of tell.c; NULL: nobody is told
} mi_restore;

// Notes a failure, unless there was one before; returns false.
bool mi_restore_fail(mi_restore *restore, mica_result result);

bool mi_tables_prepare(mi_restore *restore);
// Before the entity index is brought back, and after it.
void mi_tables_let_go(mi_restore *restore);
void mi_tables_commit(mi_restore *restore);
void mi_tables_cancel(mi_restore *restore);

// The entity index, and who is disabled or killed or has a component disabled.
bool mi_entities_prepare(mi_restore *restore);
void mi_entities_commit_slots(mi_restore *restore);
void mi_entities_commit_marks(mi_restore *restore); // when tables and pools are in place
void mi_entities_cancel(mi_restore *restore);

bool mi_parts_prepare(mi_restore *restore);
void mi_parts_commit(mi_restore *restore);
void mi_parts_cancel(mi_restore *restore);

// Pools come behind tables and slots: handles are those of the restored state by then. Pools that are not in the
// snapshot become empty. Masks follow from who is in which pool.
bool mi_pools_prepare(mi_restore *restore);
void mi_pools_commit(mi_restore *restore);
void mi_pools_cancel(mi_restore *restore);

// As mi_snapshot_restore, but that one part of the world's stays as it is.
mica_result mi_snapshot_restore_without(const mi_part *part, mica_snapshot *snapshot, mica_world *world,
                                        const mica_restore_options *options, const char *call);

// Restores a snapshot of a world of the same schema; `call` is for messages. As mica_snapshot_restore.
mica_result mi_snapshot_restore(mica_snapshot *snapshot, mica_world *world, const mica_restore_options *options,
                                const char *call);

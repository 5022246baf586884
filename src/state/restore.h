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
    struct mi_prepared_table *tables; // of tables.c
    struct mi_prepared_pool *pools;   // of pools.c
    struct mi_prepared_part *parts;
} mi_restore;

// Notes a failure, unless there was one before; returns false.
bool mi_restore_fail(mi_restore *restore, mica_result result);

bool mi_tables_prepare(mi_restore *restore);
void mi_tables_commit(mi_restore *restore);
void mi_tables_cancel(mi_restore *restore);

// Pools come behind tables and slots: handles are those of the restored state by then. Pools that are not in the
// snapshot become empty. Masks follow from who is in which pool.
bool mi_pools_prepare(mi_restore *restore);
void mi_pools_commit(mi_restore *restore);
void mi_pools_cancel(mi_restore *restore);

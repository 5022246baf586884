// Restoring snapshots, and what is made of that: copying a world and exchanging two.
#include "state/restore.h"

#include "state/state.h"
#include "state/tell.h"
#include "world/notice.h"
#include "world/rewind.h"

bool mi_restore_fail(mi_restore *restore, mica_result result) {
    if (restore->result == MICA_OK) {
        restore->result = result;
    }
    return false;
}

static mica_result say_failure(const mi_restore *restore, const char *call) {
    const mica_log_handler *log = &restore->world->log;
    if (restore->result == MICA_OUT_OF_MEMORY) {
        return mi_fail_memory(log, call, 0);
    }
    if (restore->part != NULL) {
        return mi_fail(log, restore->result, call, "the state's part \"{}\" cannot be read: {}", MI_TEXT(restore->part),
                       MI_TEXT(restore->fault == NULL ? "it is not what it should be" : restore->fault));
    }
    return mi_fail(log, restore->result, call, "the state cannot be restored into {}: {}",
                   MI_TEXT(restore->world->name),
                   MI_TEXT(restore->limit == NULL ? mica_result_text(restore->result) : restore->limit));
}

// What else is made ready: the epochs that count afterwards.
static bool prepare_epochs(mi_restore *restore) {
    const mica_snapshot *snapshot = restore->snapshot;
    const mi_state *state = mi_state_find(restore->world);
    restore->epochs = NULL;
    if (snapshot->origin != state->origin) {
        return true; // what was seen here was of another world
    }
    restore->epochs = mi_epochs_extend(state->vault, snapshot->epochs, snapshot->epoch_range);
    return restore->epochs != NULL || mi_restore_fail(restore, MICA_OUT_OF_MEMORY);
}

static bool prepare(mi_restore *restore) {
    if (!mi_rewind_open(restore->world)) {
        return mi_restore_fail(restore, MICA_OUT_OF_MEMORY);
    }
    return mi_entities_prepare(restore) && mi_telling_prepare(restore) && mi_tables_prepare(restore) &&
           mi_pools_prepare(restore) && mi_parts_prepare(restore) && prepare_epochs(restore);
}

static void cancel(mi_restore *restore) {
    mi_epochs_release(restore->epochs);
    mi_parts_cancel(restore);
    mi_pools_cancel(restore);
    mi_tables_cancel(restore);
    mi_telling_cancel(restore);
    mi_entities_cancel(restore);
}

static void begin_epoch(mi_restore *restore, mi_state *state) {
    mi_epochs_release(state->epochs);
    state->epochs = restore->epochs;
    state->epoch_range.first = ++state->epoch_last;
    state->epoch_range.last = state->epoch_range.first;
}

// Nothing can fail any more.
static void commit(mi_restore *restore, mica_snapshot *snapshot) {
    MI_ASSERT(snapshot != NULL);
    mica_world *world = restore->world;
    mi_state *state = mi_state_find(world);
    mi_telling_before(restore);
    mi_rewind_begin(world, snapshot->version);
    mi_tables_let_go(restore);
    mi_entities_commit_slots(restore);
    mi_tables_commit(restore);
    mi_pools_commit(restore);
    mi_entities_commit_marks(restore);
    mi_parts_commit(restore);
    mi_state_set_base(state, snapshot);
    state->mark_changes = world->store.mark_changes;
    mi_parts_note(state, snapshot);
    begin_epoch(restore, state);
    mi_rewind_end(world);
    mi_telling_after(restore);
}

static mica_result check(const mica_snapshot *snapshot, mica_world *world, const char *call) {
    if (snapshot == NULL || world == NULL) {
        return mi_fail_plain(world == NULL ? NULL : &world->log, MICA_INVALID, call, "needs a snapshot and a world");
    }
    const mica_result result = mi_world_check_still(world, call);
    if (result == MICA_OK && snapshot->vault->schema != world->schema) {
        return mi_fail(&world->log, MICA_MISMATCH, call, "the state is of a world with another schema than {} has",
                       MI_TEXT(world->name));
    }
    return result;
}

mica_result mi_snapshot_restore_without(const mi_part *part, mica_snapshot *snapshot, mica_world *world,
                                        const mica_restore_options *options, const char *call) {
    mica_result result = check(snapshot, world, call);
    if (result != MICA_OK) {
        return result;
    }
    if (mi_state_open(world) == NULL) {
        return mi_fail_memory(&world->log, call, sizeof(mi_state));
    }
    mi_restore restore = {.world = world,
                          .snapshot = snapshot,
                          .base = mi_state_find(world)->base,
                          .tells_all = options != NULL && options->tell,
                          .without = part};
    if (!prepare(&restore)) {
        cancel(&restore);
        return say_failure(&restore, call);
    }
    commit(&restore, snapshot);
    mi_world_finish(world, call);
    return MICA_OK;
}

mica_result mi_snapshot_restore(mica_snapshot *snapshot, mica_world *world, const mica_restore_options *options,
                                const char *call) {
    return mi_snapshot_restore_without(NULL, snapshot, world, options, call);
}

mica_result mica_snapshot_restore(mica_snapshot *snapshot, mica_world *world, const mica_restore_options *options) {
    return mi_snapshot_restore(snapshot, world, options, __func__);
}

mica_result mica_world_copy(mica_world *to, mica_world *from) {
    if (to == NULL || from == NULL || to == from) {
        return mi_fail_plain(to == NULL ? NULL : &to->log, MICA_INVALID, __func__, "needs two worlds");
    }
    const mica_result result = mi_world_check_still(to, __func__);
    if (result != MICA_OK) {
        return result;
    }
    mica_snapshot *snapshot = mi_snapshot_take(from, false, __func__);
    if (snapshot == NULL) {
        return mica_last_result();
    }
    const mica_result copied = mi_snapshot_restore(snapshot, to, NULL, __func__);
    mica_snapshot_release(snapshot);
    return copied;
}

mica_result mica_world_swap(mica_world *a, mica_world *b) {
    if (a == NULL || b == NULL || a == b) {
        return mi_fail_plain(a == NULL ? NULL : &a->log, MICA_INVALID, __func__, "needs two worlds");
    }
    mica_snapshot *of_a = mi_snapshot_take(a, false, __func__);
    mica_snapshot *of_b = of_a == NULL ? NULL : mi_snapshot_take(b, false, __func__);
    mica_result result = of_b == NULL ? mica_last_result() : check(of_a, b, __func__);
    mi_restore into_a = {.world = a, .snapshot = of_b, .base = of_a};
    mi_restore into_b = {.world = b, .snapshot = of_a, .base = of_b};
    if (result == MICA_OK) {
        const bool is_prepared = prepare(&into_a) && prepare(&into_b);
        if (is_prepared) {
            commit(&into_a, of_b);
            commit(&into_b, of_a);
        } else {
            const mi_restore failed = into_a.result != MICA_OK ? into_a : into_b;
            cancel(&into_b);
            cancel(&into_a);
            result = say_failure(&failed, __func__);
        }
    }
    mica_snapshot_release(of_b);
    mica_snapshot_release(of_a);
    return result;
}

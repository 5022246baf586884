// Writing journals: a record a tick.
//
// The state at the end of the last record is kept as a snapshot, and every record leads on from there: what lies
// between it and the next tick is a delta of its own. So whatever could not be recorded, ticks that failed or ran
// without the journal among it, is part of the next record, and the file always leads to states that the world has been
// in.
//
// Invariants: `last` is the state after the file's last record. A record is written behind the others as a whole, or
// the file is as it was.
#include "run/journal.h"

#include <string.h>

#include "store/schema.h"

struct mica_journal {
    mi_heap heap;
    mica_world *world;
    mica_journal_options options;
    mi_journal_source source;
    mica_snapshot *last;
    uint32_t tick_count; // since the last checkpoint
    mi_messages messages;
    mi_step_states steps;
};

// A delta from one state to another (NULL: from none), and its bytes.
typedef struct difference {
    mica_delta *delta;
    const void *bytes;
    size_t byte_size;
} difference;

static mica_result make_difference(difference *made, const mica_snapshot *from, const mica_snapshot *to) {
    *made = (difference){.delta = mica_delta_make(from, to, NULL)};
    if (made->delta == NULL) {
        return mica_last_result();
    }
    made->bytes = mica_delta_bytes(made->delta, &made->byte_size);
    return MICA_OK;
}

static mica_result compare(const mica_snapshot *a, const mica_snapshot *b, bool *is_same) {
    const mica_checksum_options exactly = {.exact = true, .leave_transient = true};
    uint64_t sums[2] = {0};
    mica_result result = mica_snapshot_checksum(a, &exactly, &sums[0]);
    if (result == MICA_OK) {
        result = mica_snapshot_checksum(b, &exactly, &sums[1]);
    }
    *is_same = sums[0] == sums[1] && a->version == b->version;
    return result;
}

// Puts a record behind the others, which leads to the state `after`.
static mica_result append(mica_journal *journal, mi_journal_kind kind, mi_writer *writer, const mica_snapshot *after,
                          const char *call) {
    if (writer->result != MICA_OK) {
        return mi_fail_memory(&journal->world->log, call, 0);
    }
    mi_journal_mark mark = {.kind = kind, .tick = mica_world_tick(journal->world)};
    const mica_result result =
        mica_snapshot_checksum(after, &(mica_checksum_options){.leave_transient = true}, &mark.checksum);
    if (result != MICA_OK) {
        return result;
    }
    return mi_journal_append(&journal->source.file, &mark, writer->record, journal->options.sync, call);
}

// Records a state as a checkpoint or as a change from `from`.
static mica_result write_state(mica_journal *journal, mi_journal_kind kind, const mica_snapshot *from,
                               const mica_snapshot *to, const char *call) {
    difference made;
    mica_result result = make_difference(&made, from, to);
    if (result != MICA_OK) {
        return result;
    }
    mi_record record = {.heap = &journal->heap};
    mi_writer writer = {.schema = journal->world->schema, .record = &record};
    mi_journal_begin_record(&writer);
    mi_write_bytes(&writer, made.bytes, made.byte_size);
    result = append(journal, kind, &writer, to, call);
    mi_record_free(&record);
    mica_delta_release(made.delta);
    return result;
}

static mica_result write_checkpoint(mica_journal *journal, const char *call) {
    const mica_result result = write_state(journal, MI_JOURNAL_CHECKPOINT, NULL, journal->last, call);
    journal->tick_count = result == MICA_OK ? 0 : journal->tick_count;
    return result;
}

static mica_result write_tick(mica_journal *journal, float delta_seconds, const difference *before,
                              const mica_snapshot *now, const mica_snapshot *after, const char *call) {
    difference made;
    mica_result result = make_difference(&made, now, after);
    if (result != MICA_OK) {
        return result;
    }
    mi_record record = {.heap = &journal->heap};
    mi_writer writer = {.schema = journal->world->schema, .record = &record};
    mi_journal_begin_record(&writer);
    uint32_t bits;
    memcpy(&bits, &delta_seconds, sizeof(bits));
    mi_write_u32(&writer, bits);
    mi_messages_write(&journal->messages, &writer);
    mi_step_states_write(&journal->steps, &writer);
    mi_write_u64(&writer, before->byte_size);
    mi_write_bytes(&writer, before->bytes, before->byte_size);
    mi_write_bytes(&writer, made.bytes, made.byte_size);
    result = append(journal, MI_JOURNAL_TICK, &writer, after, call);
    mi_record_free(&record);
    mica_delta_release(made.delta);
    return result;
}

// Takes a state for that after the last record.
static void keep_last(mica_journal *journal, mica_snapshot *snapshot) {
    mica_snapshot_release(journal->last);
    journal->last = mica_snapshot_retain(snapshot);
}

// Beginning and ending

static void free_journal(mica_journal *journal) {
    mi_heap heap = journal->heap;
    mica_snapshot_release(journal->last);
    mi_journal_source_close(&journal->source);
    mi_messages_free(&journal->messages);
    mi_step_states_free(&journal->steps);
    mi_heap_release(&heap, MICA_MEMORY_STATE, journal, sizeof(*journal), _Alignof(mica_journal));
}

// A journal without a file; NULL with the error set.
static mica_journal *make_journal(mica_world *world, const char *path, const mica_journal_options *options,
                                  const char *call) {
    if (world == NULL || path == NULL || path[0] == '\0') {
        mi_fail_plain(world == NULL ? NULL : &world->log, MICA_INVALID, call, "needs a world and a path");
        return NULL;
    }
    mi_heap heap;
    if (mi_systems_open(world, call) == NULL) {
        return NULL;
    }
    mica_journal *journal = NULL;
    if (mi_heap_init(&heap, &world->def.allocator)) {
        journal = mi_heap_allocate_zeroed(&heap, MICA_MEMORY_STATE, sizeof(*journal), _Alignof(mica_journal));
    }
    if (journal == NULL) {
        mi_fail_memory(&world->log, call, sizeof(*journal));
        return NULL;
    }
    journal->heap = heap;
    journal->world = world;
    if (options != NULL) {
        journal->options = *options;
    }
    if (journal->options.checkpoint_tick_count == 0) {
        journal->options.checkpoint_tick_count = MICA_JOURNAL_CHECKPOINT_DEFAULT;
    }
    mi_journal_source_init(&journal->source, &journal->heap, &world->log);
    journal->messages.heap = &journal->heap;
    journal->steps.heap = &journal->heap;
    return journal;
}

mica_journal *mica_journal_create(mica_world *world, const char *path, const mica_journal_options *options) {
    mica_journal *journal = make_journal(world, path, options, __func__);
    if (journal == NULL) {
        return NULL;
    }
    journal->last = mica_snapshot_take(world, NULL);
    mica_result result = journal->last == NULL ? mica_last_result() : MICA_OK;
    if (result == MICA_OK) {
        result = mi_journal_file_create(&journal->source.file, path, __func__);
    }
    if (result == MICA_OK) {
        result = write_checkpoint(journal, __func__);
        if (result == MICA_OK) {
            result = mi_journal_file_publish(&journal->source.file, journal->options.sync, __func__);
        }
        if (result != MICA_OK) {
            mi_journal_file_abandon(&journal->source.file);
        }
    }
    if (result != MICA_OK) {
        free_journal(journal);
        return NULL;
    }
    return journal;
}

// Goes on behind the records of a file: cuts off what is no part of them, and counts the ticks since the checkpoint.
static mica_result continue_file(mica_journal *journal, const char *call) {
    mi_journal_file *file = &journal->source.file;
    const mi_journal_record *records = file->records.data;
    for (uint32_t i = file->records.count; i > 0 && records[i - 1].mark.kind != MI_JOURNAL_CHECKPOINT; i--) {
        journal->tick_count += records[i - 1].mark.kind == MI_JOURNAL_TICK;
    }
    if (!file->has_rest) {
        return MICA_OK;
    }
    const int error = mi_file_truncate(&file->file, file->byte_size);
    file->has_rest = error != 0;
    return error == 0 ? MICA_OK : mi_journal_file_fail(file, call, error);
}

mica_journal *mica_journal_resume(mica_world *world, const char *path, const mica_journal_options *options) {
    mica_journal *journal = make_journal(world, path, options, __func__);
    if (journal == NULL) {
        return NULL;
    }
    mi_journal_file *file = &journal->source.file;
    mica_result result = mi_journal_file_open(file, path, MI_FILE_UPDATE, __func__);
    if (result == MICA_OK) {
        result = continue_file(journal, __func__);
    }
    if (result == MICA_OK) {
        result = mi_journal_seek(&journal->source, world, file->records.count - 1, &journal->last, __func__);
    }
    if (result != MICA_OK) {
        free_journal(journal);
        return NULL;
    }
    return journal;
}

// Ticks

static bool is_journal(const mica_journal *journal, const char *call) {
    if (journal == NULL) {
        mi_fail_plain(NULL, MICA_INVALID, call, "needs a journal");
    }
    return journal != NULL;
}

// Runs a tick, whose messages and steps are noted.
static mica_result run_tick(mica_journal *journal, float delta_seconds, const char *call) {
    mica_world *world = journal->world;
    mi_systems *systems = mi_systems_find(world);
    mica_result result = mi_messages_listen(&journal->messages, world, call);
    if (result != MICA_OK) {
        return result;
    }
    mi_step_states_clear(&journal->steps);
    if (journal->options.steps) {
        mi_step_states_begin(&journal->steps, systems);
    }
    result = mica_world_step(world, delta_seconds);
    if (journal->options.steps) {
        mi_step_states_end(&journal->steps, systems);
    }
    mi_messages_unlisten(&journal->messages, world);
    return result;
}

// Records a tick that has run; `now` is the state before it.
static mica_result record_tick(mica_journal *journal, float delta_seconds, const difference *before,
                               const mica_snapshot *now, const char *call) {
    if (journal->messages.is_short) {
        return mi_fail_memory(&journal->world->log, call, 0);
    }
    if (journal->steps.result != MICA_OK) {
        return journal->steps.result;
    }
    mica_snapshot *after = mica_snapshot_take(journal->world, NULL);
    if (after == NULL) {
        return mica_last_result();
    }
    mica_result result = write_tick(journal, delta_seconds, before, now, after, call);
    if (result == MICA_OK) {
        keep_last(journal, after);
        journal->tick_count++;
        if (journal->tick_count >= journal->options.checkpoint_tick_count) {
            result = write_checkpoint(journal, call);
        }
    }
    mica_snapshot_release(after);
    return result;
}

mica_result mica_journal_step(mica_journal *journal, float delta_seconds) {
    if (!is_journal(journal, __func__)) {
        return MICA_INVALID;
    }
    mica_snapshot *now = mica_snapshot_take(journal->world, NULL);
    if (now == NULL) {
        return mica_last_result();
    }
    difference before = {0};
    bool is_same = false;
    mica_result result = compare(journal->last, now, &is_same);
    if (result == MICA_OK && !is_same) {
        result = make_difference(&before, journal->last, now);
    }
    if (result == MICA_OK) {
        result = run_tick(journal, delta_seconds, __func__);
    }
    if (result == MICA_OK) {
        result = record_tick(journal, delta_seconds, &before, now, __func__);
    }
    mica_delta_release(before.delta);
    mica_snapshot_release(now);
    return result;
}

static mica_result step_journal(void *journal, float delta_seconds) {
    return mica_journal_step(journal, delta_seconds);
}

int32_t mica_journal_advance(mica_journal *journal, double real_seconds) {
    if (!is_journal(journal, __func__)) {
        return -1;
    }
    return mi_clock_advance(journal->world, real_seconds, step_journal, journal, __func__);
}

mica_result mica_journal_write(mica_journal *journal) {
    if (!is_journal(journal, __func__)) {
        return MICA_INVALID;
    }
    mica_snapshot *now = mica_snapshot_take(journal->world, NULL);
    if (now == NULL) {
        return mica_last_result();
    }
    bool is_same = false;
    mica_result result = compare(journal->last, now, &is_same);
    if (result == MICA_OK && !is_same) {
        result = write_state(journal, MI_JOURNAL_CHANGE, journal->last, now, __func__);
        if (result == MICA_OK) {
            keep_last(journal, now);
        }
    }
    mica_snapshot_release(now);
    return result;
}

mica_result mica_journal_close(mica_journal *journal) {
    if (journal == NULL) {
        return MICA_OK;
    }
    mica_result result = mica_journal_write(journal);
    const int error = mi_file_close(&journal->source.file.file);
    if (error != 0 && result == MICA_OK) {
        result = mi_journal_file_fail(&journal->source.file, __func__, error);
    }
    free_journal(journal);
    return result;
}

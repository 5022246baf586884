// Reading journals: taking records apart, and building the states that they lead to.
//
// A state is found from the checkpoint before it and the deltas from there on, one after the other, in a world aside;
// only if its checksum is the recorded one is it restored. So a file that leads nowhere is found out before anything
// has changed.
#include "run/journal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "state/delta.h"
#include "state/restore.h"

enum { FAULT_SIZE = 96 }; // what a message has room for

void mi_journal_source_init(mi_journal_source *source, mi_heap *heap, const mica_log_handler *log) {
    *source = (mi_journal_source){.heap = heap,
                                  .file = {.heap = heap, .log = log},
                                  .payload = {.messages = {.heap = heap}, .steps = {.heap = heap}}};
}

void mi_journal_source_close(mi_journal_source *source) {
    mi_journal_file_close(&source->file);
    MI_FREE(source->heap, MICA_MEMORY_STATE, &source->bytes);
    mi_messages_free(&source->payload.messages);
    mi_step_states_free(&source->payload.steps);
}

// Payloads

static void read_tick(mi_journal_payload *payload, mi_reader *reader) {
    const uint32_t bits = mi_read_u32(reader);
    memcpy(&payload->delta_seconds, &bits, sizeof(bits));
    if (!isfinite(payload->delta_seconds) || payload->delta_seconds < 0) {
        mi_read_fail(reader, MICA_FORMAT, "the length of a tick is negative or not finite");
    }
    mi_messages_read(&payload->messages, reader);
    mi_step_states_read(&payload->steps, reader);
    const uint64_t before_byte_size = mi_read_u64(reader);
    if (reader->result == MICA_OK && before_byte_size > reader->byte_size - reader->at) {
        mi_read_fail(reader, MICA_FORMAT, "it ends too early");
    }
    payload->before_byte_size = reader->result == MICA_OK ? (size_t)before_byte_size : 0;
    payload->before = mi_read_bytes(reader, payload->before_byte_size);
}

static mica_result fail_reader(const mi_journal_file *file, uint32_t number, const mi_reader *reader,
                               const char *call) {
    if (reader->result == MICA_OUT_OF_MEMORY) {
        return mi_fail_memory(file->log, call, 0);
    }
    if (reader->result == MICA_UNKNOWN) {
        return mi_fail(file->log, MICA_UNKNOWN, call, "{}: a message of {}, which is not known here",
                       MI_TEXT(file->path), MI_TEXT(reader->name));
    }
    return mi_journal_fail_record(file, number, reader->fault, call);
}

mica_result mi_journal_load_payload(mi_journal_source *source, const mica_schema *schema, uint32_t number,
                                    const char *call) {
    const mica_result result = mi_journal_load(&source->file, number, &source->bytes, call);
    if (result != MICA_OK) {
        return result;
    }
    mi_journal_payload *payload = &source->payload;
    payload->messages.components.count = 0;
    payload->messages.bytes.count = 0;
    payload->before_byte_size = 0;
    payload->before = NULL;
    mi_step_states_clear(&payload->steps);
    mi_reader reader = {.schema = schema,
                        .bytes = source->bytes.data + MI_JOURNAL_RECORD_SIZE,
                        .byte_size = source->bytes.count - MI_JOURNAL_RECORD_SIZE};
    if (source->file.records.data[number].mark.kind == MI_JOURNAL_TICK) {
        read_tick(payload, &reader);
    }
    if (reader.result != MICA_OK) {
        return fail_reader(&source->file, number, &reader, call);
    }
    payload->after_byte_size = reader.byte_size - reader.at;
    payload->after = mi_read_bytes(&reader, payload->after_byte_size);
    return MICA_OK;
}

// States

// The state that a delta of a record leads to; NULL: the error is set.
static mica_snapshot *build(const mi_journal_source *source, mica_world *world, const mica_snapshot *from,
                            const uint8_t *bytes, size_t byte_size, uint32_t number, const char *call) {
    mica_snapshot *built = mi_delta_build(world, from, bytes, byte_size, MICA_DELTA_FORWARDS);
    if (built == NULL && (mica_last_result() == MICA_FORMAT || mica_last_result() == MICA_MISMATCH)) {
        char fault[FAULT_SIZE];
        mi_text_copy(fault, sizeof(fault), mica_last_error());
        mi_journal_fail_record(&source->file, number, fault, call);
    }
    return built;
}

mica_snapshot *mi_journal_build_before(const mi_journal_source *source, mica_world *world, const mica_snapshot *from,
                                       uint32_t number, const char *call) {
    return build(source, world, from, source->payload.before, source->payload.before_byte_size, number, call);
}

mica_snapshot *mi_journal_build_after(const mi_journal_source *source, mica_world *world, const mica_snapshot *from,
                                      uint32_t number, const char *call) {
    const mi_journal_mark *mark = &source->file.records.data[number].mark;
    mica_snapshot *built =
        build(source, world, from, source->payload.after, source->payload.after_byte_size, number, call);
    uint64_t checksum = 0;
    if (built != NULL &&
        mica_snapshot_checksum(built, &(mica_checksum_options){.leave_transient = true}, &checksum) != MICA_OK) {
        mica_snapshot_release(built);
        return NULL;
    }
    if (built != NULL && checksum != mark->checksum) {
        mica_snapshot_release(built);
        mi_journal_fail_record(&source->file, number, "it leads to a state with another checksum", call);
        return NULL;
    }
    return built;
}

// Brings a world from one state into the next, which takes the place of `*state`.
static mica_result advance(mica_world *world, mica_snapshot **state, mica_snapshot *next, const char *call) {
    mica_snapshot_release(*state);
    *state = next;
    return next == NULL ? mica_last_result() : mi_snapshot_restore(next, world, NULL, call);
}

// Follows the records from a checkpoint on. A delta is built where a world is in the state that it leads from.
static mica_result follow(mi_journal_source *source, mica_world *world, uint32_t first, uint32_t last,
                          mica_snapshot **state, const char *call) {
    mica_result result = MICA_OK;
    for (uint32_t at = first; at <= last && result == MICA_OK; at++) {
        result = mi_journal_load_payload(source, world->schema, at, call);
        if (result == MICA_OK && source->payload.before_byte_size > 0) {
            result = advance(world, state, mi_journal_build_before(source, world, *state, at, call), call);
        }
        if (result == MICA_OK) {
            result = advance(world, state, mi_journal_build_after(source, world, *state, at, call), call);
        }
    }
    const uint64_t tick = source->file.records.data[last].mark.tick;
    return result == MICA_OK && mica_world_tick(world) != tick
               ? mi_journal_fail_record(&source->file, last, "it leads to another tick", call)
               : result;
}

// A world like another one, for states to be built in; it has the parts of the other one's state, and no systems. NULL:
// the error is set.
static mica_world *open_aside(const mica_world *world, mica_snapshot *saved, const char *call) {
    const mica_world_def def = {.schema = world->schema,
                                .allocator = world->def.allocator,
                                .inbox_message_limit = world->def.inbox_message_limit,
                                .inbox_byte_limit = world->def.inbox_byte_limit};
    mica_world *aside = mica_world_create(&def);
    if (aside != NULL &&
        (mi_systems_open(aside, call) == NULL || mi_snapshot_restore(saved, aside, NULL, call) != MICA_OK)) {
        mica_world_destroy(aside);
        aside = NULL;
    }
    return aside;
}

// The state after a record, built aside; NULL: the error is set.
static mica_snapshot *find_state(mi_journal_source *source, mica_world *world, uint32_t number, const char *call) {
    uint32_t first = number;
    while (source->file.records.data[first].mark.kind != MI_JOURNAL_CHECKPOINT) {
        first--;
    }
    // States have a part for systems, which a world knows of once it was asked for them.
    mica_snapshot *saved = mi_systems_open(world, call) == NULL ? NULL : mi_snapshot_take(world, false, call);
    mica_world *aside = saved == NULL ? NULL : open_aside(world, saved, call);
    mica_snapshot *state = aside == NULL ? NULL : mica_snapshot_retain(saved);
    if (aside != NULL && follow(source, aside, first, number, &state, call) != MICA_OK) {
        mica_snapshot_release(state);
        state = NULL;
    }
    mica_world_destroy(aside);
    mica_snapshot_release(saved);
    return state;
}

mica_result mi_journal_seek(mi_journal_source *source, mica_world *world, uint32_t number, mica_snapshot **state,
                            const char *call) {
    *state = find_state(source, world, number, call);
    if (*state == NULL) {
        return mica_last_result();
    }
    const mica_result result = mi_snapshot_restore(*state, world, NULL, call);
    if (result != MICA_OK) {
        mica_snapshot_release(*state);
        *state = NULL;
    }
    return result;
}

uint32_t mi_journal_number_of(const mi_journal_source *source, uint64_t tick, const char *call) {
    const uint32_t number = mi_journal_find(&source->file, tick);
    if (number == MI_JOURNAL_NONE) {
        const mi_pieces path = mi_text_pieces(source->file.path);
        mi_fail(source->file.log, MICA_ABSENT, call, "{}{}{}: tick {} is not in it", MI_TEXT(path.first),
                MI_TEXT(path.second), MI_TEXT(path.rest), MI_UINT(tick));
    }
    return number;
}

// The public face

mica_journal_reader *mica_journal_open(const char *path, const mica_allocator *allocator) {
    mi_heap heap;
    if (path == NULL || path[0] == '\0' || !mi_heap_init(&heap, allocator)) {
        mi_fail_plain(NULL, MICA_INVALID, __func__, "needs a path, and a whole allocator or none");
        return NULL;
    }
    mica_journal_reader *reader =
        mi_heap_allocate_zeroed(&heap, MICA_MEMORY_STATE, sizeof(*reader), _Alignof(mica_journal_reader));
    if (reader == NULL) {
        mi_fail_memory(NULL, __func__, sizeof(*reader));
        return NULL;
    }
    reader->heap = heap;
    mi_journal_source_init(&reader->source, &reader->heap, NULL);
    if (mi_journal_file_open(&reader->source.file, path, MI_FILE_READ, __func__) != MICA_OK) {
        mica_journal_reader_close(reader);
        return NULL;
    }
    return reader;
}

void mica_journal_reader_close(mica_journal_reader *reader) {
    if (reader != NULL) {
        mi_journal_source_close(&reader->source);
        mi_heap heap = reader->heap;
        mi_heap_release(&heap, MICA_MEMORY_STATE, reader, sizeof(*reader), _Alignof(mica_journal_reader));
    }
}

static bool is_reader(const mica_journal_reader *reader, const char *call) {
    if (reader == NULL) {
        mi_fail_plain(NULL, MICA_INVALID, call, "needs a reader");
    }
    return reader != NULL;
}

mica_journal_info mica_journal_reader_info(const mica_journal_reader *reader) {
    if (!is_reader(reader, __func__)) {
        return (mica_journal_info){.fault = ""};
    }
    const mi_journal_file *file = &reader->source.file;
    return (mica_journal_info){.first_tick = file->records.data[0].mark.tick,
                               .last_tick = file->records.data[file->records.count - 1].mark.tick,
                               .tick_count = (int32_t)file->tick_count,
                               .checkpoint_count = (int32_t)file->checkpoint_count,
                               .good_byte_size = file->byte_size,
                               .byte_size = file->file_size,
                               .fault = file->fault};
}

bool mica_journal_checksum(const mica_journal_reader *reader, uint64_t tick, uint64_t *checksum) {
    const uint32_t number = is_reader(reader, __func__) ? mi_journal_find(&reader->source.file, tick) : MI_JOURNAL_NONE;
    *checksum = number != MI_JOURNAL_NONE ? reader->source.file.records.data[number].mark.checksum : 0;
    return number != MI_JOURNAL_NONE;
}

mica_result mica_journal_restore(mica_journal_reader *reader, mica_world *world, uint64_t tick) {
    if (!is_reader(reader, __func__)) {
        return MICA_INVALID;
    }
    if (world == NULL) {
        return mi_fail_plain(NULL, MICA_INVALID, __func__, "needs a world");
    }
    const uint32_t number = mi_journal_number_of(&reader->source, tick, __func__);
    if (number == MI_JOURNAL_NONE) {
        return MICA_ABSENT;
    }
    mica_snapshot *state = NULL;
    const mica_result result = mi_journal_seek(&reader->source, world, number, &state, __func__);
    mica_snapshot_release(state);
    return result;
}

// Journals' files; see journal_file.h.
//
// A record is written by one call at the end of the good part, head and payload together, so that whoever ends the
// process leaves either all of it or a torn one that its checksum gives away. A record that could not be written whole
// is cut off again, at the latest before the next one is written: nothing that was given up stands between records.
//
// What is read is trusted in nothing: sizes are compared with those of the file before memory is asked for, and each
// record is compared with its checksum whenever it is read, since the file may change in between.
#include "run/journal_file.h"

#include <stdio.h>
#include <string.h>

#include "base/map.h"
#include "run/system.h"

static const char magic[8] = {'M', 'I', 'C', 'A', 'J', 'R', 'N', 'L'};

enum { HEAD_CHECKED_SIZE = 24 }; // of the file's head, before its checksum

static void put_number(uint8_t *bytes, uint64_t number, uint32_t byte_size) {
    for (uint32_t i = 0; i < byte_size; i++) {
        bytes[i] = (uint8_t)(number >> 8 * i);
    }
}

static uint64_t number_at(const uint8_t *bytes, uint32_t byte_size) {
    uint64_t number = 0;
    for (uint32_t i = 0; i < byte_size; i++) {
        number |= (uint64_t)bytes[i] << 8 * i;
    }
    return number;
}

mica_result mi_journal_file_fail(const mi_journal_file *file, const char *call, int error) {
    char text[96];
    mi_file_error_text(error, text, sizeof(text));
    const mi_pieces path = mi_text_pieces(file->path);
    return mi_fail(file->log, MICA_IO, call, "{}{}{}: {}", MI_TEXT(path.first), MI_TEXT(path.second),
                   MI_TEXT(path.rest), MI_TEXT(text));
}

static mica_result fail_format(const mi_journal_file *file, mica_result code, const char *fault, const char *call) {
    const mi_pieces path = mi_text_pieces(file->path);
    return mi_fail(file->log, code, call, "{}{}{}: {}", MI_TEXT(path.first), MI_TEXT(path.second), MI_TEXT(path.rest),
                   MI_TEXT(fault));
}

mica_result mi_journal_fail_record(const mi_journal_file *file, uint32_t number, const char *fault, const char *call) {
    const mi_pieces path = mi_text_pieces(file->path);
    return mi_fail(file->log, MICA_FORMAT, call, "{}{}{}: record at byte {}: {}", MI_TEXT(path.first),
                   MI_TEXT(path.second), MI_TEXT(path.rest), MI_UINT(file->records.data[number].offset),
                   MI_TEXT(fault));
}

static bool note_record(mi_journal_file *file, const mi_journal_record *record) {
    if (!MI_RESERVE(file->heap, MICA_MEMORY_STATE, &file->records, (size_t)file->records.count + 1)) {
        return false;
    }
    const uint32_t count = file->records.count;
    file->goes_back = file->goes_back || (count > 0 && record->mark.tick < file->records.data[count - 1].mark.tick);
    file->records.data[file->records.count++] = *record;
    file->tick_count += record->mark.kind == MI_JOURNAL_TICK;
    file->checkpoint_count += record->mark.kind == MI_JOURNAL_CHECKPOINT;
    file->byte_size = record->offset + record->byte_size;
    return true;
}

void mi_journal_file_close(mi_journal_file *file) {
    if (file->path != NULL) {
        (void)mi_file_close(&file->file);
        mi_heap_release_text(file->heap, MICA_MEMORY_STATE, file->path);
        MI_FREE(file->heap, MICA_MEMORY_STATE, &file->records);
        file->path = NULL;
    }
}

static mica_result begin(mi_journal_file *file, const char *path, const char *call) {
    file->file = MI_FILE_NONE;
    file->fault = "";
    file->path = mi_heap_copy_text(file->heap, MICA_MEMORY_STATE, path);
    return file->path != NULL ? MICA_OK : mi_fail_memory(file->log, call, strlen(path) + 1);
}

// Making a file

// The name that a file has until it takes its path's place.
static char *aside_of(const mi_journal_file *file) {
    const size_t length = strlen(file->path);
    char *aside = mi_heap_allocate(file->heap, MICA_MEMORY_STATE, length + sizeof(".tmp"), 1);
    if (aside != NULL) {
        memcpy(aside, file->path, length);
        memcpy(aside + length, ".tmp", sizeof(".tmp"));
    }
    return aside;
}

static void free_aside(const mi_journal_file *file, char *aside) {
    mi_heap_release(file->heap, MICA_MEMORY_STATE, aside, strlen(aside) + 1, 1);
}

void mi_journal_file_abandon(mi_journal_file *file) {
    char *aside = aside_of(file);
    if (aside != NULL) {
        (void)mi_file_remove(aside);
        free_aside(file, aside);
    }
    mi_journal_file_close(file);
}

static void make_head(uint8_t head[MI_JOURNAL_HEAD_SIZE]) {
    memset(head, 0, MI_JOURNAL_HEAD_SIZE);
    memcpy(head, magic, sizeof(magic));
    put_number(head + 8, MI_JOURNAL_VERSION, 4);
    head[12] = MICA_ENTITY_BITS;
    head[13] = MICA_INDEX_BITS;
    put_number(head + HEAD_CHECKED_SIZE, mi_hash_bytes(head, HEAD_CHECKED_SIZE), 8);
}

mica_result mi_journal_file_create(mi_journal_file *file, const char *path, const char *call) {
    mica_result result = begin(file, path, call);
    if (result != MICA_OK) {
        return result;
    }
    uint8_t head[MI_JOURNAL_HEAD_SIZE];
    make_head(head);
    char *aside = aside_of(file);
    if (aside == NULL) {
        result = mi_fail_memory(file->log, call, strlen(path) + sizeof(".tmp"));
    } else {
        int error = mi_file_open(&file->file, aside, MI_FILE_REPLACE);
        const bool is_made = error == 0;
        error = is_made ? mi_file_write(&file->file, 0, head, sizeof(head)) : error;
        if (error != 0) {
            result = mi_journal_file_fail(file, call, error);
            (void)(is_made && mi_file_remove(aside));
        }
        free_aside(file, aside);
    }
    file->byte_size = MI_JOURNAL_HEAD_SIZE;
    if (result != MICA_OK) {
        mi_journal_file_close(file);
    }
    return result;
}

mica_result mi_journal_file_publish(mi_journal_file *file, bool sync, const char *call) {
    char *aside = aside_of(file);
    if (aside == NULL) {
        return mi_fail_memory(file->log, call, strlen(file->path) + sizeof(".tmp"));
    }
    int error = mi_file_rename(aside, file->path);
    if (error == 0 && sync) {
        error = mi_file_sync_name(file->path);
    }
    free_aside(file, aside);
    return error == 0 ? MICA_OK : mi_journal_file_fail(file, call, error);
}

// Writing records

void mi_journal_begin_record(mi_writer *writer) {
    const uint8_t head[MI_JOURNAL_RECORD_SIZE] = {0};
    mi_write_bytes(writer, head, sizeof(head));
}

static void complete_head(mi_record *record, const mi_journal_mark *mark) {
    uint8_t *head = record->bytes.data;
    put_number(head + 8, record->bytes.count - MI_JOURNAL_RECORD_SIZE, 8);
    put_number(head + 16, mark->tick, 8);
    put_number(head + 24, mark->checksum, 8);
    put_number(head + 32, mark->kind, 4);
    put_number(head, mi_hash_bytes(head + 8, record->bytes.count - 8), 8);
}

mica_result mi_journal_append(mi_journal_file *file, const mi_journal_mark *mark, mi_record *record, bool sync,
                              const char *call) {
    if (!MI_RESERVE(file->heap, MICA_MEMORY_STATE, &file->records, (size_t)file->records.count + 1)) {
        return mi_fail_memory(file->log, call, sizeof(mi_journal_record));
    }
    complete_head(record, mark);
    int error = file->has_rest ? mi_file_truncate(&file->file, file->byte_size) : 0;
    if (error == 0) {
        file->has_rest = false;
        error = mi_file_write(&file->file, file->byte_size, record->bytes.data, record->bytes.count);
        if (error == 0 && sync) {
            error = mi_file_sync(&file->file);
        }
        if (error != 0) {
            file->has_rest = mi_file_truncate(&file->file, file->byte_size) != 0;
        }
    }
    if (error != 0) {
        return mi_journal_file_fail(file, call, error);
    }
    const mi_journal_record noted = {.offset = file->byte_size, .byte_size = record->bytes.count, .mark = *mark};
    (void)note_record(file, &noted); // room is there
    return MICA_OK;
}

// Reading

// Reads bytes of the file that are there; false with the error set.
static mica_result read_bytes(const mi_journal_file *file, uint64_t offset, void *bytes, size_t byte_size,
                              size_t *read_size, const char *call) {
    const int error = mi_file_read(&file->file, offset, bytes, byte_size, read_size);
    return error == 0 ? MICA_OK : mi_journal_file_fail(file, call, error);
}

// What is wrong with a record's head; NULL: nothing.
static const char *judge_head(const mi_journal_file *file, const uint8_t *head, mi_journal_record *record) {
    const uint64_t room = file->file_size - record->offset - MI_JOURNAL_RECORD_SIZE;
    const uint64_t payload_size = number_at(head + 8, 8);
    const uint64_t kind = number_at(head + 32, 4);
    if (payload_size > room) {
        return "the file ends within a record";
    }
    if (kind < MI_JOURNAL_CHECKPOINT || kind > MI_JOURNAL_CHANGE || number_at(head + 36, 4) != 0) {
        return "a record of an unknown kind";
    }
    if (file->records.count == 0 && kind != MI_JOURNAL_CHECKPOINT) {
        return "a record without a checkpoint before it";
    }
    record->byte_size = payload_size + MI_JOURNAL_RECORD_SIZE;
    record->mark = (mi_journal_mark){
        .tick = number_at(head + 16, 8), .checksum = number_at(head + 24, 8), .kind = (mi_journal_kind)kind};
    return record->byte_size > UINT32_MAX ? "a record of more than 4 GiB" : NULL;
}

// Reads a whole record into `bytes`. `fault` is what is wrong with it.
static mica_result read_record(const mi_journal_file *file, mi_journal_record *record, mi_journal_bytes *bytes,
                               const char **fault, const char *call) {
    uint8_t head[MI_JOURNAL_RECORD_SIZE];
    size_t read_size = 0;
    mica_result result = read_bytes(file, record->offset, head, sizeof(head), &read_size, call);
    if (result != MICA_OK) {
        return result;
    }
    *fault = read_size < sizeof(head) ? "the file ends within a record" : judge_head(file, head, record);
    if (*fault != NULL) {
        return MICA_OK;
    }
    if (!MI_RESERVE(file->heap, MICA_MEMORY_STATE, bytes, record->byte_size)) {
        return mi_fail_memory(file->log, call, record->byte_size);
    }
    bytes->count = (uint32_t)record->byte_size;
    result = read_bytes(file, record->offset, bytes->data, bytes->count, &read_size, call);
    if (result != MICA_OK) {
        return result;
    }
    if (read_size < bytes->count) {
        *fault = "the file ends within a record";
    } else if (number_at(bytes->data, 8) != mi_hash_bytes(bytes->data + 8, bytes->count - 8)) {
        *fault = "a record is damaged";
    }
    return MICA_OK;
}

// Lists the records of the good part.
static mica_result list_records(mi_journal_file *file, const char *call) {
    mi_journal_bytes bytes = {0};
    mica_result result = MICA_OK;
    const char *fault = NULL;
    while (result == MICA_OK && fault == NULL && file->byte_size < file->file_size) {
        mi_journal_record record = {.offset = file->byte_size};
        if (file->file_size - record.offset < MI_JOURNAL_RECORD_SIZE) {
            fault = "the file ends within a record";
            break;
        }
        result = read_record(file, &record, &bytes, &fault, call);
        if (result == MICA_OK && fault == NULL && !note_record(file, &record)) {
            result = mi_fail_memory(file->log, call, sizeof(record));
        }
    }
    file->fault = fault == NULL ? "" : fault;
    MI_FREE(file->heap, MICA_MEMORY_STATE, &bytes);
    return result;
}

static mica_result check_head(mi_journal_file *file, const char *call) {
    uint8_t head[MI_JOURNAL_HEAD_SIZE];
    uint8_t expected[MI_JOURNAL_HEAD_SIZE];
    size_t read_size = 0;
    const mica_result result = read_bytes(file, 0, head, sizeof(head), &read_size, call);
    if (result != MICA_OK) {
        return result;
    }
    if (read_size < sizeof(head) || memcmp(head, magic, sizeof(magic)) != 0 ||
        number_at(head + HEAD_CHECKED_SIZE, 8) != mi_hash_bytes(head, HEAD_CHECKED_SIZE)) {
        return fail_format(file, MICA_FORMAT, "it is no journal", call);
    }
    make_head(expected);
    if (memcmp(head, expected, HEAD_CHECKED_SIZE) != 0) {
        return fail_format(file, MICA_INCOMPATIBLE, "a journal of another version of the format, or handle width",
                           call);
    }
    file->byte_size = MI_JOURNAL_HEAD_SIZE;
    return MICA_OK;
}

mica_result mi_journal_file_open(mi_journal_file *file, const char *path, mi_file_mode mode, const char *call) {
    mica_result result = begin(file, path, call);
    if (result != MICA_OK) {
        return result;
    }
    int error = mi_file_open(&file->file, path, mode);
    error = error == 0 ? mi_file_size(&file->file, &file->file_size) : error;
    result = error == 0 ? check_head(file, call) : mi_journal_file_fail(file, call, error);
    if (result == MICA_OK) {
        result = list_records(file, call);
    }
    if (result == MICA_OK && file->records.count == 0) {
        result = fail_format(file, MICA_FORMAT, "a journal without a complete checkpoint", call);
    }
    if (result != MICA_OK) {
        mi_journal_file_close(file);
        return result;
    }
    file->has_rest = file->byte_size < file->file_size;
    return MICA_OK;
}

mica_result mi_journal_load(const mi_journal_file *file, uint32_t number, mi_journal_bytes *bytes, const char *call) {
    const mi_journal_record *expected = &file->records.data[number];
    mi_journal_record record = {.offset = expected->offset};
    const char *fault = NULL;
    const mica_result result = read_record(file, &record, bytes, &fault, call);
    if (result != MICA_OK) {
        return result;
    }
    if (fault == NULL && (record.byte_size != expected->byte_size || record.mark.kind != expected->mark.kind)) {
        fault = "it is another one than before";
    }
    return fault == NULL ? MICA_OK : mi_journal_fail_record(file, number, fault, call);
}

// Behind the last record that can lead to a tick.
static uint32_t end_of(const mi_journal_file *file, uint64_t tick) {
    uint32_t first = 0;
    uint32_t end = file->records.count;
    while (!file->goes_back && first < end) {
        const uint32_t middle = first + (end - first) / 2;
        if (file->records.data[middle].mark.tick <= tick) {
            first = middle + 1;
        } else {
            end = middle;
        }
    }
    return end;
}

uint32_t mi_journal_find(const mi_journal_file *file, uint64_t tick) {
    uint32_t found = MI_JOURNAL_NONE;
    for (uint32_t i = end_of(file, tick); i-- > 0 && (file->goes_back || file->records.data[i].mark.tick == tick);) {
        const mi_journal_mark *mark = &file->records.data[i].mark;
        if (mark->tick == tick && mark->kind != MI_JOURNAL_CHANGE) {
            return i;
        }
        if (mark->tick == tick && found == MI_JOURNAL_NONE) {
            found = i;
        }
    }
    return found;
}

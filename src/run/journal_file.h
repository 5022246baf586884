// The file of a journal: records behind a head, as docs/journal-format.md describes them. What their payloads say is
// the business of those who write and read them.
//
// A file is good up to the first record that is not complete, has another checksum than its bytes, or is of a kind that
// there is not. Nothing behind that place counts.
#pragma once

#include "base/array.h"
#include "base/file.h"
#include "world/world.h"

#define MI_JOURNAL_HEAD_SIZE 32u
#define MI_JOURNAL_RECORD_SIZE 40u // of a record's head, which begins with the checksum of all behind it
#define MI_JOURNAL_VERSION 1u
#define MI_JOURNAL_NONE UINT32_MAX

typedef enum mi_journal_kind {
    MI_JOURNAL_CHECKPOINT = 1, // the state of the world, which is that after the record before
    MI_JOURNAL_TICK = 2,       // a tick, and what was changed before it
    MI_JOURNAL_CHANGE = 3      // what was changed without a tick
} mi_journal_kind;

// The state that a record leads to.
typedef struct mi_journal_mark {
    uint64_t tick; // ticks that are complete in it
    uint64_t checksum;
    mi_journal_kind kind; // of the record
} mi_journal_mark;

typedef struct mi_journal_record {
    uint64_t offset;    // of its head
    uint64_t byte_size; // head and payload
    mi_journal_mark mark;
} mi_journal_record;

typedef MI_ARRAY(uint8_t) mi_journal_bytes;

typedef struct mi_journal_file {
    mi_heap *heap;               // of all that follows
    const mica_log_handler *log; // may be NULL
    char *path;                  // NULL: not open
    mi_file file;
    uint64_t byte_size; // of the good part
    uint64_t file_size; // when it was opened
    bool has_rest;      // there is something behind the good part
    const char *fault;  // why the good part ends; a literal, "" if the file ends there
    MI_ARRAY(mi_journal_record) records;
    bool goes_back;      // a record leads to fewer ticks than the one before it
    uint32_t tick_count; // records of ticks
    uint32_t checkpoint_count;
} mi_journal_file;

// Says what went wrong with the file: MICA_IO, with its path and the system's words.
mica_result mi_journal_file_fail(const mi_journal_file *file, const char *call, int error);

// Begins a file beside the path, with a head alone; it takes the path's place by mi_journal_file_publish. `heap` and
// `log` are set. On failure it is closed.
mica_result mi_journal_file_create(mi_journal_file *file, const char *path, const char *call);
mica_result mi_journal_file_publish(mi_journal_file *file, bool sync, const char *call);
// Closes a file that has not taken its path's place, and removes it.
void mi_journal_file_abandon(mi_journal_file *file);

// Opens a file and lists the records of its good part: a checkpoint comes first. `heap` and `log` are set. On failure
// it is closed.
mica_result mi_journal_file_open(mi_journal_file *file, const char *path, mi_file_mode mode, const char *call);
// Closes a file that is open; one that is not is left alone.
void mi_journal_file_close(mi_journal_file *file);

// Leaves room for the head of a record that is empty so far; the payload is written behind it.
void mi_journal_begin_record(mi_writer *writer);
// Completes the record and puts it behind the others. On failure the good part of the file is as it was.
mica_result mi_journal_append(mi_journal_file *file, const mi_journal_mark *mark, mi_record *record, bool sync,
                              const char *call);

// Reads a record, its head in front, into `bytes`, which is the heap's and grows as needed.
mica_result mi_journal_load(const mi_journal_file *file, uint32_t number, mi_journal_bytes *bytes, const char *call);
// Says that a record leads nowhere, though its checksum is right: MICA_FORMAT, with path and place.
mica_result mi_journal_fail_record(const mi_journal_file *file, uint32_t number, const char *fault, const char *call);

// The last record after which so many ticks are complete, one that is no change if there is one; MI_JOURNAL_NONE.
// O(log records), O(records) if ticks go back.
uint32_t mi_journal_find(const mi_journal_file *file, uint64_t tick);

// What writing and reading journals share: what the payloads of records say.
#pragma once

#include "run/journal_file.h"
#include "run/messages.h"
#include "run/step_states.h"

#include <mica/delta.h>
#include <mica/journal.h>

// A payload, taken apart. Of a checkpoint or a change, `after` alone is there.
typedef struct mi_journal_payload {
    float delta_seconds;
    mi_messages messages;
    mi_step_states steps;    // none: they were not recorded
    const uint8_t *before;   // the delta of what was changed before the tick
    size_t before_byte_size; // 0: nothing was
    const uint8_t *after;
    size_t after_byte_size;
} mi_journal_payload;

// A file with the record that was loaded last.
typedef struct mi_journal_source {
    mi_heap *heap; // of all that follows
    mi_journal_file file;
    mi_journal_bytes bytes;
    mi_journal_payload payload; // points into `bytes`
} mi_journal_source;

void mi_journal_source_init(mi_journal_source *source, mi_heap *heap, const mica_log_handler *log);
void mi_journal_source_close(mi_journal_source *source);

// Loads a record and takes its payload apart. MICA_UNKNOWN: the schema does not know the component of a message.
mica_result mi_journal_load_payload(mi_journal_source *source, const mica_schema *schema, uint32_t number,
                                    const char *call);

// The state that the record that is loaded leads to, or that before its tick, with a reference for the caller. `from`
// is the state that it leads from, which `world` is in: that after the record before, or that before the tick if there
// is such a delta; of a checkpoint, any state of the world. NULL: the error is set.
mica_snapshot *mi_journal_build_before(const mi_journal_source *source, mica_world *world, const mica_snapshot *from,
                                       uint32_t number, const char *call);
mica_snapshot *mi_journal_build_after(const mi_journal_source *source, mica_world *world, const mica_snapshot *from,
                                      uint32_t number, const char *call);

// Brings a world into the state after a record, and gives that with a reference for the caller. All or nothing.
mica_result mi_journal_seek(mi_journal_source *source, mica_world *world, uint32_t number, mica_snapshot **state,
                            const char *call);

// The number of the record that is meant by a tick; MI_JOURNAL_NONE with MICA_ABSENT set.
uint32_t mi_journal_number_of(const mi_journal_source *source, uint64_t tick, const char *call);

struct mica_journal_reader {
    mi_heap heap;
    mi_journal_source source;
};

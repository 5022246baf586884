// Systems as a part of the world's state: the clock, and what each system keeps from tick to tick.
//
//   u64 ticks completed, u64 bits of the seconds that are due, u64 bits of the time scale, u8 whether the clock is
//   paused, u32 systems; by system, ascending by name:
//     text name, u32 bytes of what follows, u8 flags, 4 u64 random numbers,
//     if it has a rate or states of the program: u64 bits of the seconds that are due, u64 bits of those that have
//     passed, u8 which of the states had their values,
//     u32 event readers, by reader ascending by type: text type, u64 events it has yet to see,
//     if it has a value: text type, the value (beside the bytes if its type owns something; of a transient type that
//     does in a bare record not at all, and then the system keeps the value that it has)
//   u32 systems that were started, in order of start: u32 place of each among the systems above
//   by system, in the same order: u64 age of its last run
//
// An age is 0 where there was no run, else 1 and the versions since: so it stays the same from tick to tick. Ages stand
// last, since they count in no comparison: versions grow when somebody looks. Systems go by their names. A record of
// one that the world does not have is passed over; one of the world's that has no record comes into the state in which
// it was added. Which functions there are, the queries, the plan and all times that were measured belong to the world,
// not to its state.
//
// Starting is state, since what start functions do to the world is. Whether a stop function is due is not: it stays
// due when a system goes back to not being started, so that what start has opened is closed once in the end.
#include "run/system.h"

#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "store/value.h"

static const char call[] = "mica_snapshot_restore";

enum { FLAG_ENABLED = 1, FLAG_VALUE = 2, FLAG_HOOKS = 4, FLAG_TURN = 8, FLAG_ALL = 15 };
enum {
    RANDOM_BYTE_SIZE = 32,
    FIXED_BYTE_SIZE = 1 + RANDOM_BYTE_SIZE + 4, // of what follows a system's name and its number of bytes
    TURN_BYTE_SIZE = 8 + 8 + 1,
    READER_LEAST_BYTE_SIZE = 4 + 8,
    AGE_BYTE_SIZE = 8,
    SYSTEM_LEAST_BYTE_SIZE = 4 + 4 + FIXED_BYTE_SIZE + AGE_BYTE_SIZE,
    PLACE_BYTE_SIZE = 4,
    COUNT_AT = 8 + 8 + 8 + 1 // where the number of systems stands
};

// Saving

static uint32_t text_size(const char *text) {
    return (uint32_t)(sizeof(uint32_t) + strlen(text));
}

static const char *reader_type(const mica_event_reader *reader) {
    return reader->queue->type->info.name;
}

static uint32_t body_size(const mi_system *system) {
    uint32_t size = FIXED_BYTE_SIZE + (mi_turn_has_state(&system->turn) ? TURN_BYTE_SIZE : 0);
    for (uint32_t i = 0; i < system->event_readers.count; i++) {
        size += text_size(reader_type(system->event_readers.data[i])) + (uint32_t)sizeof(uint64_t);
    }
    if (system->state_type != NULL) {
        const mica_component_info *info = &system->state_type->info;
        size += text_size(info->name) + (mi_type_is_owning(system->state_type) ? 0 : info->size);
    }
    return size;
}

static uint8_t *put_name(uint8_t *at, const char *text) {
    return mi_put_text(at, text, (uint32_t)strlen(text));
}

static uint8_t *put_system(mi_writer *writer, uint8_t *at, const mi_system *system) {
    const mi_type *type = system->state_type;
    const bool is_kept = type != NULL && mi_type_is_owning(type);
    at = put_name(at, system->order.name);
    at = mi_put_u32(at, body_size(system));
    *at++ = (uint8_t)((system->enabled_next ? FLAG_ENABLED : 0) | (type != NULL ? FLAG_VALUE : 0) |
                      (is_kept ? FLAG_HOOKS : 0) | (mi_turn_has_state(&system->turn) ? FLAG_TURN : 0));
    for (uint32_t i = 0; i < sizeof(system->random.words) / sizeof(*system->random.words); i++) {
        at = mi_put_u64(at, system->random.words[i]);
    }
    if (mi_turn_has_state(&system->turn)) {
        at = mi_put_double(at, system->turn.due_seconds);
        at = mi_put_double(at, system->turn.passed_seconds);
        *at++ = system->turn.was_open;
    }
    at = mi_put_u32(at, system->event_readers.count);
    for (uint32_t i = 0; i < system->event_readers.count; i++) {
        const mica_event_reader *reader = system->event_readers.data[i];
        at = put_name(at, reader_type(reader));
        at = mi_put_u64(at, mi_event_reader_position(reader));
    }
    if (type != NULL) {
        at = put_name(at, type->info.name);
    }
    if (is_kept) {
        mi_write_value(writer, type, system->state); // beside the bytes, which stay where they are
    } else if (type != NULL) {
        memcpy(at, system->state, type->info.size);
        at += type->info.size;
    }
    return at;
}

static uint8_t *put_starts(uint8_t *at, const mi_systems *systems) {
    uint8_t *place = at;
    uint32_t count = 0;
    at += sizeof(count);
    for (uint32_t i = 0; i < systems->started.count; i++) {
        const mi_system *system = systems->started.data[i];
        if (system->started) {
            at = mi_put_u32(at, system->place);
            count++;
        }
    }
    mi_put_u32(place, count);
    return at;
}

static uint64_t age_of(const mi_system *system, uint64_t version) {
    return system->since == 0 ? 0 : version - system->since + 1;
}

static uint8_t *put_ages(uint8_t *at, const mi_systems *systems, uint64_t version) {
    for (uint32_t i = 0; i < systems->named.count; i++) {
        at = mi_put_u64(at, age_of(systems->named.data[i], version));
    }
    return at;
}

static size_t record_size(const mi_systems *systems) {
    size_t size = COUNT_AT + 2 * sizeof(uint32_t);
    for (uint32_t i = 0; i < systems->named.count; i++) {
        const mi_system *system = systems->named.data[i];
        size += text_size(system->order.name) + sizeof(uint32_t) + (size_t)body_size(system) + AGE_BYTE_SIZE;
        size += system->started ? PLACE_BYTE_SIZE : 0;
    }
    return size;
}

static bool is_clock_new(const mi_systems *systems) {
    return systems->tick == 0 && !(systems->due_seconds > 0) && !systems->paused && !(systems->time_scale < 1) &&
           !(systems->time_scale > 1);
}

static void save_systems(const mica_world *world, mi_writer *writer) {
    const mi_systems *systems = mi_systems_find(world);
    if (systems == NULL || (systems->named.count == 0 && is_clock_new(systems))) {
        return;
    }
    uint8_t *at = mi_write_room(writer, record_size(systems));
    if (at == NULL) {
        return;
    }
    at = mi_put_u64(at, systems->tick);
    at = mi_put_double(at, systems->due_seconds);
    at = mi_put_double(at, systems->time_scale);
    *at++ = systems->paused;
    at = mi_put_u32(at, systems->named.count);
    for (uint32_t i = 0; i < systems->named.count; i++) {
        at = put_system(writer, at, systems->named.data[i]);
    }
    at = put_starts(at, systems);
    at = put_ages(at, systems, world->store.version);
    MI_ASSERT(at == writer->record->bytes.data + writer->record->bytes.count);
    (void)at;
}

static mi_record_extent find_lasting(const mi_record *record) {
    const uint32_t byte_size = record->bytes.count;
    const bool has_count = byte_size >= COUNT_AT + sizeof(uint32_t);
    const uint64_t age_size = has_count ? (uint64_t)mi_get_u32(record->bytes.data + COUNT_AT) * AGE_BYTE_SIZE : 0;
    return (mi_record_extent){.byte_count = age_size < byte_size ? byte_size - (uint32_t)age_size : byte_size,
                              .value_count = record->values.count};
}

// As strcmp, of texts of known lengths without zeros.
static int compare_texts(const char *a, uint32_t a_length, const char *b, uint32_t b_length) {
    const uint32_t length = a_length < b_length ? a_length : b_length;
    const int compared = length == 0 ? 0 : memcmp(a, b, length);
    return compared != 0 ? compared : (a_length > b_length) - (a_length < b_length);
}

// Since when the changes that a system sees count is as it is here. Of systems that are not here nothing is known.
static void complete_systems(const mica_world *world, mi_writer *writer) {
    const mi_systems *systems = mi_systems_find(world);
    mi_reader reader = mi_reader_of(writer->schema, writer->record);
    mi_read_bytes(&reader, COUNT_AT);
    const uint32_t count = mi_read_count(&reader, SYSTEM_LEAST_BYTE_SIZE - AGE_BYTE_SIZE);
    for (uint32_t i = 0; i < count && writer->result == MICA_OK; i++) {
        uint32_t length;
        const char *name = mi_read_text(&reader, &length);
        const mi_system *system = NULL;
        for (uint32_t k = 0; systems != NULL && k < systems->named.count && system == NULL; k++) {
            const char *own = systems->named.data[k]->order.name;
            system = compare_texts(name, length, own, (uint32_t)strlen(own)) == 0 ? systems->named.data[k] : NULL;
        }
        mi_read_bytes(&reader, mi_read_count(&reader, 1));
        mi_write_u64(writer, system == NULL ? 0 : age_of(system, world->store.version));
        reader.bytes = writer->record->bytes.data; // which may have moved
    }
}

// Preparing

// Where a reader is going to stand.
typedef struct reader_place {
    mica_event_reader *reader;
    uint64_t position;
    bool is_new;
} reader_place;

// What a system of the world is going to be. Values without hooks stay in the record.
typedef struct prepared_system {
    mi_system *system;
    bool is_known; // the record knows it
    bool is_enabled;
    bool is_started;
    bool keeps_value;
    uint8_t was_open;
    double due_seconds;
    double passed_seconds;
    uint64_t age;
    mica_random random;
    const uint8_t *bytes; // of its value
    void *value;          // the same made aside; NULL: `bytes`, or zeros if these are NULL too
    MI_ARRAY(reader_place) readers;
} prepared_system;

typedef struct prepared_systems {
    uint64_t tick;
    double due_seconds;
    double time_scale;
    bool paused;
    MI_ARRAY(prepared_system) systems; // as in `named`
    MI_ARRAY(uint32_t) places;         // by place in the record: that of the system in `systems`; UINT32_MAX: not there
    MI_ARRAY(mi_system *) started;
} prepared_systems;

static void free_prepared(mica_world *world, prepared_systems *prepared, bool is_committed) {
    mi_heap *heap = &world->heap;
    if (prepared == NULL) {
        return;
    }
    for (uint32_t i = 0; i < prepared->systems.count; i++) {
        prepared_system *own = &prepared->systems.data[i];
        const mi_type *type = own->system->state_type;
        if (own->value != NULL) {
            if (!is_committed) {
                mi_value_destruct(type, &world->store.values, own->value, 1);
            }
            mi_heap_release(heap, MICA_MEMORY_SYSTEMS, own->value, type->info.size, type->info.align);
        }
        for (uint32_t k = 0; k < own->readers.count && !is_committed; k++) {
            if (own->readers.data[k].is_new) {
                mi_event_reader_end(own->readers.data[k].reader);
            }
        }
        MI_FREE(heap, MICA_MEMORY_SYSTEMS, &own->readers);
    }
    MI_FREE(heap, MICA_MEMORY_SYSTEMS, &prepared->systems);
    MI_FREE(heap, MICA_MEMORY_SYSTEMS, &prepared->places);
    MI_FREE(heap, MICA_MEMORY_SYSTEMS, &prepared->started);
    mi_heap_release(heap, MICA_MEMORY_SYSTEMS, prepared, sizeof(*prepared), _Alignof(prepared_systems));
}

// All systems of the world, as they were added; NULL: out of memory.
static prepared_systems *open_prepared(mica_world *world, const mi_systems *systems) {
    mi_heap *heap = &world->heap;
    prepared_systems *prepared =
        mi_heap_allocate_zeroed(heap, MICA_MEMORY_SYSTEMS, sizeof(*prepared), _Alignof(prepared_systems));
    if (prepared == NULL) {
        return NULL;
    }
    prepared->time_scale = 1;
    if (!MI_RESERVE(heap, MICA_MEMORY_SYSTEMS, &prepared->systems, systems->named.count) ||
        !MI_RESERVE(heap, MICA_MEMORY_SYSTEMS, &prepared->started, systems->all.count)) {
        free_prepared(world, prepared, false);
        return NULL;
    }
    for (uint32_t i = 0; i < systems->named.count; i++) {
        mi_system *system = systems->named.data[i];
        prepared->systems.data[prepared->systems.count++] =
            (prepared_system){.system = system, .is_enabled = system->enabled_first};
    }
    return prepared;
}

// Makes a value aside: the next one of the record, or a constructed one if there is no reader.
static bool make_value(mica_world *world, mi_reader *reader, prepared_system *own) {
    const mi_type *type = own->system->state_type;
    void *value = mi_heap_allocate(&world->heap, MICA_MEMORY_SYSTEMS, type->info.size, type->info.align);
    const mica_allocator *allocator = &world->store.values;
    if (value == NULL || !(reader != NULL ? mi_read_value(reader, type, allocator, value)
                                          : mi_value_construct(type, allocator, value, 1))) {
        mi_heap_release(&world->heap, MICA_MEMORY_SYSTEMS, value, type->info.size, type->info.align);
        if (reader != NULL) {
            mi_read_fail(reader, MICA_OUT_OF_MEMORY, NULL);
        }
        return false;
    }
    own->value = value;
    return true;
}

// The systems that have no record get what they were added with.
static bool begin_anew(mica_world *world, prepared_systems *prepared) {
    for (uint32_t i = 0; i < prepared->systems.count; i++) {
        prepared_system *own = &prepared->systems.data[i];
        const mi_type *type = own->system->state_type;
        if (own->is_known) {
            continue;
        }
        own->random = mi_system_first_random(world, own->system->order.name);
        if (type != NULL && type->info.hooks.construct != NULL && !make_value(world, NULL, own)) {
            return false;
        }
    }
    return true;
}

static void read_value(mica_world *world, mi_reader *reader, prepared_system *own, uint8_t flags) {
    const mi_type *type = own->system->state_type;
    const bool is_there = (flags & FLAG_VALUE) != 0;
    const mica_component component = is_there ? mi_read_component(reader) : 0;
    if (reader->result != MICA_OK) {
        return;
    }
    if (is_there != (type != NULL) || (type != NULL && component != type->info.id)) {
        mi_read_fail(reader, MICA_MISMATCH, "a system's own value is of another type here");
    } else if (type != NULL && mi_type_is_owning(type) != ((flags & FLAG_HOOKS) != 0)) {
        mi_read_fail(reader, MICA_FORMAT, "a value with hooks is not there");
    } else if (type != NULL && mi_type_is_owning(type) && reader->is_bare && type->info.transient) {
        own->keeps_value = true;
    } else if (type != NULL && mi_type_is_owning(type)) {
        make_value(world, reader, own);
    } else if (type != NULL) {
        own->bytes = mi_read_bytes(reader, type->info.size);
    }
}

// A system whose turns hang on nothing here passes over what the state says of them.
static void read_turn(mi_reader *reader, prepared_system *own) {
    const double due_seconds = mi_read_double(reader);
    const double passed_seconds = mi_read_double(reader);
    const uint8_t was_open = mi_read_u8(reader);
    if (reader->result == MICA_OK && (!isfinite(due_seconds) || !isfinite(passed_seconds) || signbit(passed_seconds))) {
        mi_read_fail(reader, MICA_FORMAT, "the time of a system is not finite, or less than none has passed");
    } else if (mi_turn_has_state(&own->system->turn)) {
        own->due_seconds = due_seconds;
        own->passed_seconds = passed_seconds;
        own->was_open = was_open & (uint8_t)((1u << own->system->turn.gate_count) - 1);
    }
}

static mica_event_reader *find_reader(const mi_system *system, mica_component component) {
    for (uint32_t i = 0; i < system->event_readers.count; i++) {
        if (system->event_readers.data[i]->queue->type->info.id == component) {
            return system->event_readers.data[i];
        }
    }
    return NULL;
}

static void read_event_reader(mica_world *world, mi_reader *reader, prepared_system *own) {
    const mica_component component = mi_read_component(reader);
    const uint64_t position = mi_read_u64(reader);
    if (reader->result != MICA_OK) {
        return;
    }
    const uint32_t count = own->readers.count;
    const char *last = count == 0 ? NULL : reader_type(own->readers.data[count - 1].reader);
    if (last != NULL && strcmp(last, mi_schema_type(world->schema, component)->info.name) >= 0) {
        mi_read_fail(reader, MICA_FORMAT, "readers of events are not in order");
        return;
    }
    mica_event_reader *found = find_reader(own->system, component);
    const bool is_new = found == NULL;
    if (is_new) {
        found = mi_event_reader_lend(world, component, own->system->order.name, call);
    }
    if (found == NULL) {
        mi_read_fail(reader, MICA_OUT_OF_MEMORY, NULL);
        return;
    }
    own->readers.data[own->readers.count++] = (reader_place){found, position, is_new};
}

static void read_event_readers(mica_world *world, mi_reader *reader, prepared_system *own) {
    mi_heap *heap = &world->heap;
    const uint32_t count = mi_read_count(reader, READER_LEAST_BYTE_SIZE);
    if (!MI_RESERVE(heap, MICA_MEMORY_SYSTEMS, &own->readers, count) ||
        !MI_RESERVE(heap, MICA_MEMORY_SYSTEMS, &own->system->event_readers, count)) {
        mi_read_fail(reader, MICA_OUT_OF_MEMORY, NULL);
    }
    for (uint32_t i = 0; i < count && reader->result == MICA_OK; i++) {
        read_event_reader(world, reader, own);
    }
}

// Passes over what a system keeps that the world does not have, up to `end`.
static void pass_system(mi_reader *reader, uint8_t flags, size_t end) {
    if ((flags & FLAG_HOOKS) != 0) {
        mi_read_bytes(reader, RANDOM_BYTE_SIZE + ((flags & FLAG_TURN) != 0 ? TURN_BYTE_SIZE : 0));
        const uint32_t count = mi_read_count(reader, READER_LEAST_BYTE_SIZE);
        for (uint32_t i = 0; i < count; i++) {
            uint32_t length;
            mi_read_text(reader, &length);
            mi_read_u64(reader);
        }
        const mi_type *type = mi_schema_type(reader->schema, mi_read_component(reader));
        if (reader->result == MICA_OK && mi_type_is_owning(type) && !(reader->is_bare && type->info.transient)) {
            mi_read_value_place(reader, type);
        }
    }
    if (reader->result == MICA_OK && reader->at > end) {
        mi_read_fail(reader, MICA_FORMAT, "what a system keeps has another length");
    }
    mi_read_bytes(reader, reader->result == MICA_OK ? end - reader->at : 0);
}

// What follows a system's name and flags; `own` NULL: the world does not have it.
static void read_system(mica_world *world, mi_reader *reader, prepared_system *own, uint32_t size) {
    const size_t end = reader->at + size;
    const uint8_t flags = mi_read_u8(reader);
    if (reader->result == MICA_OK && ((flags & ~FLAG_ALL) != 0 || (flags & (FLAG_VALUE | FLAG_HOOKS)) == FLAG_HOOKS)) {
        mi_read_fail(reader, MICA_FORMAT, "a system has flags that there are not");
    }
    if (own == NULL) {
        pass_system(reader, flags, end);
        return;
    }
    own->is_known = true;
    own->is_enabled = (flags & FLAG_ENABLED) != 0;
    for (uint32_t i = 0; i < sizeof(own->random.words) / sizeof(*own->random.words); i++) {
        own->random.words[i] = mi_read_u64(reader);
    }
    if ((flags & FLAG_TURN) != 0) {
        read_turn(reader, own);
    }
    read_event_readers(world, reader, own);
    read_value(world, reader, own, flags);
    if (reader->result == MICA_OK && reader->at != end) {
        mi_read_fail(reader, MICA_FORMAT, "what a system keeps has another length");
    }
}

// Goes over the systems of the record and those of the world side by side.
static void read_systems(mica_world *world, mi_reader *reader, prepared_systems *prepared) {
    const uint32_t count = mi_read_count(reader, SYSTEM_LEAST_BYTE_SIZE);
    uint32_t at = 0;
    const char *last = "";
    uint32_t last_length = 0;
    if (!MI_RESERVE(&world->heap, MICA_MEMORY_SYSTEMS, &prepared->places, count)) {
        mi_read_fail(reader, MICA_OUT_OF_MEMORY, NULL);
    }
    for (uint32_t i = 0; i < count && reader->result == MICA_OK; i++) {
        uint32_t length;
        const char *name = mi_read_text(reader, &length);
        const uint32_t size = mi_read_count(reader, 1);
        if (reader->result == MICA_OK &&
            (compare_texts(name, length, last, last_length) <= 0 || size < FIXED_BYTE_SIZE)) {
            mi_read_fail(reader, MICA_FORMAT, "systems are not in order, or too short");
        }
        int compared = -1;
        while (reader->result == MICA_OK && at < prepared->systems.count) {
            const char *own = prepared->systems.data[at].system->order.name;
            compared = compare_texts(name, length, own, (uint32_t)strlen(own));
            if (compared <= 0) {
                break;
            }
            at++;
        }
        if (reader->result != MICA_OK) {
            return;
        }
        const bool is_there = at < prepared->systems.count && compared == 0;
        read_system(world, reader, is_there ? &prepared->systems.data[at] : NULL, size);
        prepared->places.data[prepared->places.count++] = is_there ? at : UINT32_MAX;
        last = name;
        last_length = length;
    }
}

static void read_starts(mi_reader *reader, prepared_systems *prepared) {
    const uint32_t count = mi_read_count(reader, PLACE_BYTE_SIZE);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t place = mi_read_u32(reader);
        if (place >= prepared->places.count) {
            mi_read_fail(reader, MICA_FORMAT, "a system was started that there is not");
            return;
        }
        prepared_system *own =
            prepared->places.data[place] == UINT32_MAX ? NULL : &prepared->systems.data[prepared->places.data[place]];
        if (own != NULL && own->is_started) {
            mi_read_fail(reader, MICA_FORMAT, "a system was started twice");
            return;
        }
        if (own != NULL) {
            own->is_started = true;
            prepared->started.data[prepared->started.count++] = own->system;
        }
    }
}

static void read_clock(mi_reader *reader, prepared_systems *prepared) {
    prepared->tick = mi_read_u64(reader);
    prepared->due_seconds = mi_read_double(reader);
    prepared->time_scale = mi_read_double(reader);
    const uint8_t paused = mi_read_u8(reader);
    prepared->paused = paused != 0;
    if (!isfinite(prepared->due_seconds) || signbit(prepared->due_seconds)) {
        mi_read_fail(reader, MICA_FORMAT, "the time that is due is negative or not finite");
    } else if (!isfinite(prepared->time_scale) || signbit(prepared->time_scale) || paused > 1) {
        mi_read_fail(reader, MICA_FORMAT, "the clock's scale is negative or not finite, or it is more than paused");
    }
}

static void read_ages(mi_reader *reader, prepared_systems *prepared) {
    for (uint32_t i = 0; i < prepared->places.count; i++) {
        const uint64_t age = mi_read_u64(reader);
        if (prepared->places.data[i] != UINT32_MAX) {
            prepared->systems.data[prepared->places.data[i]].age = age;
        }
    }
}

static mica_result prepare_systems(mica_world *world, mi_reader *reader, void **to) {
    *to = NULL;
    mi_systems *systems = mi_systems_find(world);
    const bool is_empty = reader == NULL || reader->byte_size == 0;
    if (systems == NULL && (is_empty || (systems = mi_systems_open(world, call)) == NULL)) {
        return is_empty ? MICA_OK : MICA_OUT_OF_MEMORY;
    }
    prepared_systems *prepared = open_prepared(world, systems);
    if (prepared == NULL) {
        return MICA_OUT_OF_MEMORY;
    }
    mica_result result = MICA_OK;
    if (!is_empty) {
        read_clock(reader, prepared);
        read_systems(world, reader, prepared);
        read_starts(reader, prepared);
        read_ages(reader, prepared);
        mi_reader_end(reader);
        result = reader->result;
    }
    if (result == MICA_OK && !begin_anew(world, prepared)) {
        result = MICA_OUT_OF_MEMORY;
    }
    if (result != MICA_OK) {
        free_prepared(world, prepared, false);
        return result;
    }
    *to = prepared;
    return MICA_OK;
}

static void cancel_systems(mica_world *world, void *prepared) {
    free_prepared(world, prepared, false);
}

// Committing

// The value changes where it is.
static void commit_value(mica_world *world, const prepared_system *own) {
    const mi_type *type = own->system->state_type;
    const mica_allocator *allocator = &world->store.values;
    if (type == NULL || own->keeps_value) {
        return;
    }
    mi_value_destruct(type, allocator, own->system->state, 1);
    if (own->value != NULL) {
        mi_value_move(type, allocator, own->system->state, own->value, 1);
    } else if (own->bytes != NULL) {
        memcpy(own->system->state, own->bytes, type->info.size);
    } else {
        memset(own->system->state, 0, type->info.size);
    }
}

// The system has the readers that it is to have, and no others.
static void commit_readers(const prepared_system *own) {
    mi_system *system = own->system;
    for (uint32_t i = 0; i < system->event_readers.count; i++) {
        mica_event_reader *reader = system->event_readers.data[i];
        uint32_t place = 0;
        while (place < own->readers.count && own->readers.data[place].reader != reader) {
            place++;
        }
        if (place == own->readers.count) {
            mi_event_reader_end(reader);
        }
    }
    for (uint32_t i = 0; i < own->readers.count; i++) {
        system->event_readers.data[i] = own->readers.data[i].reader;
        mi_event_reader_place(own->readers.data[i].reader, own->readers.data[i].position);
    }
    system->event_readers.count = own->readers.count;
}

static void commit_system(mica_world *world, const prepared_system *own) {
    mi_system *system = own->system;
    const uint64_t version = world->store.version;
    system->enabled_next = own->is_enabled;
    mi_systems_find(world)->has_switched = true;
    system->started = own->is_started;
    system->since = own->age == 0 || own->age - 1 > version ? 0 : version - (own->age - 1);
    system->random = own->random;
    system->turn.due_seconds = own->due_seconds;
    system->turn.passed_seconds = own->passed_seconds;
    system->turn.was_open = own->was_open;
    commit_value(world, own);
    commit_readers(own);
}

// Those that count as started, in their order, then those that have only to be stopped, among them who was removed in
// the tick that is being taken back.
static void commit_starts(mi_systems *systems, prepared_systems *prepared) {
    for (uint32_t i = 0; i < systems->started.count; i++) {
        if (!systems->started.data[i]->started || systems->started.data[i]->removed) {
            prepared->started.data[prepared->started.count++] = systems->started.data[i];
        }
    }
    systems->started.count = prepared->started.count;
    for (uint32_t i = 0; i < prepared->started.count; i++) {
        systems->started.data[i] = prepared->started.data[i];
        systems->started.data[i]->stop_due = true;
    }
}

static void commit_systems(mica_world *world, void *from) {
    mi_systems *systems = mi_systems_find(world);
    prepared_systems *prepared = from;
    if (prepared == NULL) {
        return;
    }
    systems->tick = prepared->tick;
    systems->due_seconds = prepared->due_seconds;
    systems->time_scale = prepared->time_scale;
    systems->paused = prepared->paused;
    for (uint32_t i = 0; i < prepared->systems.count; i++) {
        commit_system(world, &prepared->systems.data[i]);
    }
    commit_starts(systems, prepared);
    free_prepared(world, prepared, true);
}

const mi_part mi_systems_part = {.name = "systems",
                                 .spares_transient = true,
                                 .save = save_systems,
                                 .has_versions = true,
                                 .lasting = find_lasting,
                                 .complete = complete_systems,
                                 .prepare = prepare_systems,
                                 .commit = commit_systems,
                                 .cancel = cancel_systems};

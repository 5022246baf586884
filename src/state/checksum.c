// Checksums of worlds and snapshots. What they cover is said in checksum.h, how good they are in base/digest.h.
//
// A checksum is a sum of shares, so that nothing depends on the order in which sets, rows and components come. Each
// entity has a *key*, its handle mixed. Being alive, having a tag and being marked come to the key times a factor that
// stands for what it is; a value comes to its digest under the entity's key and the component's seed. So what a chunk
// comes to for everybody being there, and for all its tags, takes the sum of its keys and one multiplication.
//
// What an image comes to is noted in it, along with what else it hangs on: which image of handles stood beside it, how
// many of its values counted, and by which rules. Numbers of images are never used again, so a note that fits is right.
// An image has one note; snapshots that share images in different company write over each other's.
#include "state/checksum.h"

#include "base/digest.h"
#include "store/visibility.h"

enum {
    KEY_COUNT = MI_ROW_MAX, // rows that are looked at together: all of a chunk of a table
    ASIDE_SIZE = 16384,     // bytes of values that are brought together out of lanes
};

// What names are names of.
enum { DOMAIN_STATE, DOMAIN_VALUE, DOMAIN_TOGGLE, DOMAIN_RESOURCE, DOMAIN_PART, DOMAIN_ROWS };

// Rows whose keys are at hand.
typedef struct keyed_rows {
    const mica_entity *handles; // NULL: none are
    uint32_t count;
    uint64_t sum;
} keyed_rows;

typedef struct summing {
    mi_view view;
    mica_checksum_options options;
    mica_component only; // that counts; 0: all, and entities
    bool counts_slots;   // who is alive is found in the entity index, not by rows
    uint64_t sum;
    mica_result result;
    const mi_type *type; // that is refused
    keyed_rows keyed;
    uint64_t keys[KEY_COUNT];
    _Alignas(MI_COLUMN_ALIGN) uint8_t aside[ASIDE_SIZE];
    _Alignas(MI_COLUMN_ALIGN) uint8_t canonical[MICA_SIZE_MAX];
} summing;

static void fail_sum(summing *s, mica_result result, const mi_type *type) {
    if (s->result == MICA_OK) {
        s->result = result;
        s->type = type;
    }
}

static bool is_left_out(const summing *s, const mi_type *type) {
    const bool leaves_transient = s->options.leave_transient || s->view.leaves_transient;
    if ((s->only != 0 && s->only != type->info.id) || (leaves_transient && type->info.transient)) {
        return true;
    }
    for (int32_t i = 0; i < s->options.leave_count; i++) {
        if (s->options.leave[i] == type->info.id) {
            return true;
        }
    }
    return false;
}

// Keys and factors

// The same whatever the width of handles.
static uint64_t key_of(mica_entity entity) {
    return mi_digest_key((uint64_t)mica_entity_generation(entity) << 32 | mica_entity_index(entity));
}

static uint64_t key_of_slot(const mi_view *view, uint32_t index) {
    return mi_digest_key((mi_view_slot(view, index) & ~(uint64_t)UINT32_MAX) | index);
}

static uint64_t factor_of(uint64_t domain, const char *name) {
    return mi_digest_seed_of(domain, name).a | 1;
}

static void load_keys(summing *s, const mica_entity *handles, uint32_t count) {
    if (s->keyed.handles == handles && s->keyed.count == count) {
        return;
    }
    uint64_t sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        s->keys[i] = key_of(handles[i]);
        sum += s->keys[i];
    }
    s->keyed = (keyed_rows){.handles = handles, .count = count, .sum = sum};
}

// Notes in images

static bool read_note(mi_image *image, uint64_t handles, uint32_t count, const void *rules, uint64_t *sum) {
    bool fits = false;
    if (image != NULL && mi_note_open(&image->note.gate)) {
        const mi_image_note *note = &image->note;
        fits = note->count == count && note->handles == handles && note->rules == rules;
        *sum = note->sum;
        mi_note_close(&image->note.gate);
    }
    return fits;
}

static void write_note(mi_image *image, uint64_t handles, uint32_t count, const void *rules, uint64_t sum) {
    if (image != NULL && mi_note_open(&image->note.gate)) {
        image->note.handles = handles;
        image->note.count = count;
        image->note.rules = rules;
        image->note.sum = sum;
        mi_note_close(&image->note.gate);
    }
}

// Rows

// The next rows of a chunk, from rows->first on, that are nobody's tombstones and whose keys have room; false: there
// are no more. `end`: the chunk's rows.
static bool next_run(const summing *s, const mi_view_set *set, uint32_t end, mi_view_rows *rows) {
    rows->first += rows->count;
    rows->count = 0;
    if (rows->first >= end) {
        return false;
    }
    uint32_t most = end - rows->first < KEY_COUNT ? end - rows->first : KEY_COUNT;
    if (set->dead_count > 0) {
        const mica_entity *handles = mi_view_handles(&s->view, set, *rows);
        uint32_t start = 0;
        while (rows->first + start < end && mica_entity_is_placeholder(handles[start])) {
            start++;
        }
        rows->first += start;
        most = end - rows->first < KEY_COUNT ? end - rows->first : KEY_COUNT;
        uint32_t length = 0;
        while (length < most && !mica_entity_is_placeholder(handles[start + length])) {
            length++;
        }
        most = length;
    }
    rows->count = most;
    return most > 0;
}

static uint64_t sum_of_keys(summing *s, const mi_view_set *set, uint32_t chunk_index) {
    const uint32_t end = mi_view_chunk(set, chunk_index).count;
    mi_image *image = mi_view_handles_image(&s->view, set, chunk_index);
    uint64_t sum = 0;
    if (read_note(image, 0, end, NULL, &sum)) {
        return sum;
    }
    sum = 0;
    mi_view_rows rows = {.chunk_index = chunk_index};
    while (next_run(s, set, end, &rows)) {
        load_keys(s, mi_view_handles(&s->view, set, rows), rows.count);
        sum += s->keyed.sum;
    }
    write_note(image, 0, end, NULL, sum);
    return sum;
}

// A component's values, and how they count.
typedef struct value_kind {
    const mi_type *type;
    const mi_ranges *ranges; // unless its write hook says what a value holds
    mi_digest_seed seed;
    uint32_t column;
} value_kind;

// False: its values cannot be summed.
static bool find_value_kind(summing *s, const mi_type *type, value_kind *kind) {
    *kind = (value_kind){.type = type, .ranges = mi_type_ranges(s->view.schema, type)};
    if (kind->ranges == NULL) {
        fail_sum(s, MICA_OUT_OF_MEMORY, NULL);
        return false;
    }
    if (mi_checksum_refuses(type, kind->ranges)) {
        fail_sum(s, MICA_UNREFLECTED, type);
        return false;
    }
    kind->seed = mi_digest_seed_of(DOMAIN_VALUE, type->info.name);
    return true;
}

static void put_piece(void *user, const void *bytes, size_t byte_size) {
    uint64_t *digest = user;
    *digest = mi_digest_bytes(*digest, bytes, byte_size);
}

uint64_t mi_checksum_of_written(const mi_type *type, const void *value) {
    uint64_t digest = 0;
    const mica_sink sink = {.put = put_piece, .user = &digest};
    const mica_hook_context context = {.user = type->info.hooks.user};
    type->info.hooks.write(value, &sink, &context);
    return digest;
}

// The digest of values that lie one behind the other.
static uint64_t digest_values(summing *s, const value_kind *kind, const uint64_t *keys, const uint8_t *values,
                              uint32_t count) {
    const uint32_t size = kind->type->info.size;
    if (kind->type->info.hooks.write != NULL) {
        uint64_t sum = 0;
        for (uint32_t i = 0; i < count; i++) {
            const uint64_t digest = mi_checksum_of_written(kind->type, values + (size_t)i * size);
            sum += mi_digest_numbers(kind->seed, &keys[i], digest, 1);
        }
        return sum;
    }
    if (kind->ranges->is_whole) {
        return mi_digest_values(kind->seed, keys, values, size, count);
    }
    const uint32_t room = MICA_SIZE_MAX / size;
    uint64_t sum = 0;
    for (uint32_t done = 0; done < count;) {
        const uint32_t taken = count - done < room ? count - done : room;
        mi_ranges_copy(kind->ranges, size, s->canonical, values + (size_t)done * size, taken);
        sum += mi_digest_values(kind->seed, keys + done, s->canonical, size, taken);
        done += taken;
    }
    return sum;
}

// The digest of rows whose keys are loaded.
static uint64_t digest_rows(summing *s, const mi_view_set *set, const value_kind *kind, mi_view_rows rows) {
    const bool is_apart = mi_view_lies_apart(set, kind->column);
    const uint32_t room = is_apart ? ASIDE_SIZE / kind->type->info.size : rows.count;
    uint64_t sum = 0;
    for (uint32_t done = 0; done < rows.count;) {
        const uint32_t taken = rows.count - done < room ? rows.count - done : room;
        const mi_view_rows part = {.chunk_index = rows.chunk_index, .first = rows.first + done, .count = taken};
        const void *values = mi_view_values(&s->view, set, kind->column, part, s->aside);
        sum += digest_values(s, kind, s->keys + done, values, taken);
        done += taken;
    }
    return sum;
}

static uint64_t sum_of_values(summing *s, const mi_view_set *set, const value_kind *kind, uint32_t chunk_index) {
    const uint32_t end = mi_view_chunk(set, chunk_index).count;
    const mi_image *handles = mi_view_handles_image(&s->view, set, chunk_index);
    mi_image *image = handles == NULL ? NULL : mi_view_values_image(&s->view, set, kind->column, chunk_index);
    uint64_t sum = 0;
    if (image != NULL && read_note(image, handles->number, end, kind->ranges, &sum)) {
        return sum;
    }
    sum = 0;
    mi_view_rows rows = {.chunk_index = chunk_index};
    while (next_run(s, set, end, &rows)) {
        load_keys(s, mi_view_handles(&s->view, set, rows), rows.count);
        sum += digest_rows(s, set, kind, rows);
    }
    if (image != NULL) {
        write_note(image, handles->number, end, kind->ranges, sum);
    }
    return sum;
}

// What everybody in a set comes to for being there: what keys are multiplied by.
static uint64_t factor_of_set(const summing *s, const mi_view_set *set) {
    const bool tells_alive = !set->is_pool && s->only == 0 && !s->counts_slots;
    uint64_t factor = tells_alive ? factor_of(DOMAIN_STATE, "alive") : 0;
    for (uint32_t i = 0; i < set->component_count; i++) {
        const mi_type *type = mi_schema_type(s->view.schema, set->components[i]);
        if (type->info.size == 0 && !is_left_out(s, type)) {
            factor += factor_of(DOMAIN_VALUE, type->info.name);
        }
    }
    return factor;
}

static void sum_set(summing *s, const mi_view_set *set) {
    const uint64_t factor = factor_of_set(s, set);
    const uint32_t chunk_count = mi_view_chunk_count(set);
    value_kind kinds[16];
    uint32_t kind_count = 0;
    for (uint32_t column = 0; column <= set->column_count && s->result == MICA_OK; column++) {
        // So many columns at a time that the keys of a chunk are found once for all of them.
        const bool is_end = column == set->column_count;
        if (!is_end && !is_left_out(s, mi_view_column_type(set, column)) &&
            find_value_kind(s, mi_view_column_type(set, column), &kinds[kind_count])) {
            kinds[kind_count++].column = column;
        }
        if (!is_end && kind_count < sizeof(kinds) / sizeof(kinds[0])) {
            continue;
        }
        for (uint32_t k = 0; k < chunk_count && s->result == MICA_OK; k++) {
            s->sum += is_end && factor != 0 ? factor * sum_of_keys(s, set, k) : 0;
            for (uint32_t i = 0; i < kind_count; i++) {
                s->sum += sum_of_values(s, set, &kinds[i], k);
            }
        }
        kind_count = 0;
    }
}

// Everybody who is alive, by the entity index; needed where some have no row in a table.
static void sum_slots(summing *s) {
    const uint64_t factor = factor_of(DOMAIN_STATE, "alive");
    const uint32_t end = mi_view_slot_end(&s->view);
    uint64_t keys = 0;
    for (uint32_t i = 1; i < end; i++) {
        keys += (mi_view_slot(&s->view, i) & MI_SLOT_FREE) == 0 ? key_of_slot(&s->view, i) : 0;
    }
    s->sum += factor * keys;
}

static bool is_row_each(const mi_view *view) {
    uint64_t row_count = 0;
    for (uint32_t i = 0; i < view->set_count; i++) {
        mi_view_set set;
        row_count += mi_view_find_set(view, i, &set) && !set.is_pool ? set.row_count : 0;
    }
    return row_count == mi_view_slot_numbers(view).alive;
}

// Marks

// What being in a set of marks comes to; 0: it does not count.
static uint64_t factor_of_marks(const summing *s, mi_marks_kind kind, mica_component component) {
    if (kind != MI_MARKS_TOGGLED) {
        return s->only != 0 ? 0 : factor_of(DOMAIN_STATE, kind == MI_MARKS_DISABLED ? "disabled" : "killed");
    }
    const mi_type *type = mi_schema_type(s->view.schema, component);
    return is_left_out(s, type) ? 0 : factor_of(DOMAIN_TOGGLE, type->info.name);
}

static void sum_marks(summing *s) {
    const uint32_t count = mi_view_marks_count(&s->view);
    for (uint32_t i = 0; i < count; i++) {
        mi_view_marks marks;
        const uint64_t factor =
            mi_view_find_marks(&s->view, i, &marks) ? factor_of_marks(s, marks.kind, marks.component) : 0;
        uint32_t cursor = 0;
        uint32_t index = factor == 0 ? UINT32_MAX : mi_view_next_marked(&marks, &cursor);
        for (; index != UINT32_MAX; index = mi_view_next_marked(&marks, &cursor)) {
            s->sum += factor * key_of_slot(&s->view, index);
        }
    }
}

// Parts

static void sum_record(summing *s, const mi_part *part, const mi_record *record) {
    const uint64_t seed = mi_digest_seed_of(DOMAIN_PART, part->name).a;
    const mi_record_extent lasting = mi_part_lasting(part, record);
    s->sum += lasting.byte_count == 0 ? 0 : mi_digest_bytes(seed, record->bytes.data, lasting.byte_count);
    uint32_t place = 0; // among those that count
    for (uint32_t i = 0; i < lasting.value_count; i++) {
        value_kind kind;
        if (is_left_out(s, record->values.data[i].type)) {
            continue;
        }
        if (!find_value_kind(s, record->values.data[i].type, &kind)) {
            return;
        }
        const uint64_t key = mi_digest_key(seed + place++);
        s->sum += digest_values(s, &kind, &key, record->values.data[i].value, 1);
    }
}

// The same in every order, and whenever values were set.
static void sum_resources(summing *s, const mi_record *record) {
    mi_reader reader = mi_reader_of(s->view.schema, record);
    const uint32_t count = record->bytes.count == 0 ? 0 : mi_read_count(&reader, sizeof(uint32_t));
    const uint64_t key = mi_digest_key(0);
    for (uint32_t i = 0; i < count && s->result == MICA_OK; i++) {
        mi_recorded_resource resource;
        value_kind kind;
        const bool is_read = mi_read_resource(&reader, &resource);
        MI_ASSERT(is_read);
        if (is_read && !is_left_out(s, resource.type) && find_value_kind(s, resource.type, &kind)) {
            kind.seed = mi_digest_seed_of(DOMAIN_RESOURCE, resource.type->info.name);
            s->sum += digest_values(s, &kind, &key, resource.value, 1);
        }
    }
}

static void sum_parts(summing *s) {
    const uint32_t count = mi_view_part_count(&s->view);
    for (uint32_t i = 0; i < count && s->result == MICA_OK; i++) {
        mi_view_part part;
        const mi_type *refused = NULL;
        const mica_result result = mi_view_open_part(&s->view, i, &part, &refused);
        if (result != MICA_OK) {
            fail_sum(s, result, refused);
        } else if (part.part != NULL && part.part->holds_resources) {
            sum_resources(s, part.record);
        } else if (part.part != NULL && mi_checksum_has_part(&s->options, part.part)) {
            sum_record(s, part.part, part.record);
        }
        mi_view_close_part(&part);
    }
}

// Order, of exact checksums

// The seed of a set's rows: its components, in whatever order.
static mi_digest_seed seed_of_set(const summing *s, const mi_view_set *set) {
    uint64_t seed = set->is_pool;
    for (uint32_t i = 0; i < set->component_count; i++) {
        seed += mi_digest_seed_of(DOMAIN_ROWS, mi_schema_type(s->view.schema, set->components[i])->info.name).b;
    }
    return (mi_digest_seed){.a = mi_digest_key(seed), .b = mi_digest_key(seed + 1)};
}

static void sum_chunk_order(summing *s, const mi_view_set *set, mi_digest_seed seed, uint32_t chunk_index) {
    const mi_view_rows all = mi_view_chunk(set, chunk_index);
    const uint64_t first_row = (uint64_t)chunk_index << set->shift;
    for (uint32_t done = 0; done < all.count;) {
        const uint32_t taken = all.count - done < KEY_COUNT ? all.count - done : KEY_COUNT;
        const mi_view_rows rows = {.chunk_index = chunk_index, .first = done, .count = taken};
        load_keys(s, mi_view_handles(&s->view, set, rows), taken);
        s->sum += mi_digest_numbers(seed, s->keys, first_row + done, taken);
        done += taken;
    }
}

static void sum_order(summing *s) {
    for (uint32_t i = 0; i < s->view.set_count; i++) {
        mi_view_set set;
        if (!mi_view_find_set(&s->view, i, &set)) {
            continue;
        }
        const mi_digest_seed seed = seed_of_set(s, &set);
        const uint64_t dead[] = {set.dead_count, set.dead_count > 0 ? set.dead_head : 0};
        s->sum += mi_digest_bytes(seed.a, dead, sizeof(dead));
        for (uint32_t k = 0; k < mi_view_chunk_count(&set); k++) {
            sum_chunk_order(s, &set, seed, k);
        }
    }
    const mi_digest_seed seed = mi_digest_seed_of(DOMAIN_STATE, "slots");
    const uint32_t end = mi_view_slot_end(&s->view);
    const mi_view_slots slots = mi_view_slot_numbers(&s->view);
    const uint64_t numbers[] = {end, slots.free_head, slots.issued};
    s->sum += mi_digest_bytes(seed.a, numbers, sizeof(numbers));
    for (uint32_t i = 1; i < end; i++) {
        const uint64_t slot = mi_view_slot(&s->view, i);
        const uint64_t key = mi_digest_key(i);
        s->sum += (slot & MI_SLOT_FREE) == 0 ? 0 : mi_digest_numbers(seed, &key, slot, 1);
    }
}

// The whole

static void sum_all(summing *s) {
    s->counts_slots = s->only == 0 && !is_row_each(&s->view);
    for (uint32_t i = 0; i < s->view.set_count && s->result == MICA_OK; i++) {
        mi_view_set set;
        if (mi_view_find_set(&s->view, i, &set)) {
            sum_set(s, &set);
        }
    }
    if (s->counts_slots) {
        sum_slots(s);
    }
    sum_marks(s);
    if (s->only == 0 && !s->options.entities_only) {
        sum_parts(s);
    }
    if (s->only == 0 && s->options.exact) {
        sum_order(s);
    }
}

mica_result mi_checksum_fail_type(const mica_log_handler *log, mica_result code, const mi_type *type,
                                  const char *call) {
    return code == MICA_NO_COPY ? mi_fail(log, code, call, "a value of {} cannot be copied", MI_TEXT(type->info.name))
                                : mi_fail(log, code, call,
                                          "the fields of {} are not known, and its hooks say that its bytes are not "
                                          "all there is; leave it out, or give it the hook `write`",
                                          MI_TEXT(type->info.name));
}

static mica_result fail_checksum(const summing *s, const mica_log_handler *log, const char *call) {
    return s->result == MICA_OUT_OF_MEMORY ? mi_fail_memory(log, call, 0)
                                           : mi_checksum_fail_type(log, s->result, s->type, call);
}

mica_result mi_checksum_check_options(const mica_schema *schema, const mica_checksum_options *options,
                                      const mica_log_handler *log, const char *call) {
    if (options != NULL && (options->leave_count < 0 || (options->leave_count > 0 && options->leave == NULL))) {
        return mi_fail_plain(log, MICA_INVALID, call, "the list of components to leave out is not there");
    }
    for (int32_t i = 0; options != NULL && i < options->leave_count; i++) {
        if (mi_schema_type(schema, options->leave[i]) == NULL) {
            return mi_fail(log, MICA_UNKNOWN, call, "the schema has no type {}", MI_UINT(options->leave[i]));
        }
    }
    return MICA_OK;
}

// What keys and values go through is left as it is: nobody reads it before it is written.
static void begin_sum(summing *s, mi_view view, const mica_checksum_options *options, mica_component only) {
    s->view = view;
    s->options = options != NULL ? *options : (mica_checksum_options){.exact = false};
    s->only = only;
    s->counts_slots = false;
    s->sum = 0;
    s->result = MICA_OK;
    s->type = NULL;
    s->keyed = (keyed_rows){.handles = NULL};
}

// What is summed for a call; `only` 0: all.
typedef struct asked {
    const mica_checksum_options *options;
    mica_component only;
    const mica_log_handler *log;
    const char *call;
} request;

static mica_result sum_view(mi_view view, const request *asked, uint64_t *checksum) {
    const mica_result fault = mi_checksum_check_options(view.schema, asked->options, asked->log, asked->call);
    if (fault != MICA_OK) {
        return fault;
    }
    if (asked->only != 0 && mi_schema_type(view.schema, asked->only) == NULL) {
        return mi_fail(asked->log, MICA_UNKNOWN, asked->call, "the schema has no type {}", MI_UINT(asked->only));
    }
    summing s;
    begin_sum(&s, view, asked->options, asked->only);
    sum_all(&s);
    if (s.result != MICA_OK) {
        return fail_checksum(&s, asked->log, asked->call);
    }
    *checksum = s.sum;
    return MICA_OK;
}

static mica_result sum_world(mica_world *world, const request *asked, uint64_t *checksum) {
    if (world == NULL || checksum == NULL) {
        return mi_fail_plain(asked->log, MICA_INVALID, asked->call, "needs a world, and a place for the checksum");
    }
    if (mi_world_check_making(world, "what is everywhere", asked->call) != MICA_OK) {
        return MICA_LOCKED;
    }
    mi_world_settle_all(world);
    mi_slots_settle(&world->store.slots);
    return sum_view(mi_view_of_world(world), asked, checksum);
}

static mica_result sum_snapshot(const mica_snapshot *snapshot, const request *asked, uint64_t *checksum) {
    if (snapshot == NULL || checksum == NULL) {
        return mi_fail_plain(asked->log, MICA_INVALID, asked->call, "needs a snapshot, and a place for the checksum");
    }
    return sum_view(mi_view_of_snapshot(snapshot), asked, checksum);
}

static const mica_log_handler *log_of(const mica_world *world) {
    return world != NULL ? &world->log : NULL;
}

static const mica_log_handler *log_of_snapshot(const mica_snapshot *snapshot) {
    return snapshot != NULL ? &snapshot->vault->schema->log : NULL;
}

mica_result mica_world_checksum(mica_world *world, const mica_checksum_options *options, uint64_t *checksum) {
    const request asked = {.options = options, .log = log_of(world), .call = "mica_world_checksum"};
    return sum_world(world, &asked, checksum);
}

mica_result mica_snapshot_checksum(const mica_snapshot *snapshot, const mica_checksum_options *options,
                                   uint64_t *checksum) {
    const request asked = {.options = options, .log = log_of_snapshot(snapshot), .call = "mica_snapshot_checksum"};
    return sum_snapshot(snapshot, &asked, checksum);
}

// Component 0, which no type has, would ask for everything.
static mica_result check_component(mica_component component, const request *asked) {
    return component != 0 ? MICA_OK
                          : mi_fail_plain(asked->log, MICA_UNKNOWN, asked->call, "component 0 is that of no type");
}

mica_result mica_world_component_checksum(mica_world *world, mica_component component, uint64_t *checksum) {
    const request asked = {.only = component, .log = log_of(world), .call = "mica_world_component_checksum"};
    const mica_result fault = check_component(component, &asked);
    return fault != MICA_OK ? fault : sum_world(world, &asked, checksum);
}

mica_result mica_snapshot_component_checksum(const mica_snapshot *snapshot, mica_component component,
                                             uint64_t *checksum) {
    const request asked = {
        .only = component, .log = log_of_snapshot(snapshot), .call = "mica_snapshot_component_checksum"};
    const mica_result fault = check_component(component, &asked);
    return fault != MICA_OK ? fault : sum_snapshot(snapshot, &asked, checksum);
}

// One entity

static void sum_component_of(summing *s, uint64_t key, const mi_type *type, const void *value) {
    value_kind kind;
    if (is_left_out(s, type)) {
        return;
    }
    if (type->info.size == 0) {
        s->sum += key * factor_of(DOMAIN_VALUE, type->info.name);
    } else if (find_value_kind(s, type, &kind)) {
        s->sum += digest_values(s, &kind, &key, value, 1);
    }
}

static void sum_marks_of(summing *s, mica_entity entity) {
    const uint32_t count = mi_view_marks_count(&s->view);
    for (uint32_t i = 0; i < count; i++) {
        mi_view_marks marks;
        if (mi_view_find_marks(&s->view, i, &marks) && mi_marks_has(marks.marks, mica_entity_index(entity))) {
            s->sum += key_of(entity) * factor_of_marks(s, marks.kind, marks.component);
        }
    }
}

static void sum_entity(summing *s, const mi_store *store, mica_entity entity, uint32_t location) {
    const uint64_t key = key_of(entity);
    const mi_table *table = mi_store_table_at(store, location);
    s->sum += key * factor_of(DOMAIN_STATE, "alive");
    for (uint32_t i = 0; i < table->component_count; i++) {
        mi_lanes_value aside;
        const mica_component component = table->components[i];
        sum_component_of(s, key, mi_schema_type(s->view.schema, component),
                         mi_store_look(store, table, location, component, &aside));
    }
    for (uint32_t i = 0; i < store->pool_list.count; i++) {
        const mi_pool *pool = store->pool_list.data[i];
        const uint32_t position = mi_pool_find(pool, entity);
        if (position != MI_POSITION_NONE) {
            sum_component_of(s, key, pool->type, pool->size != 0 ? mi_pool_value(pool, position) : NULL);
        }
    }
    sum_marks_of(s, entity);
}

mica_result mica_entity_checksum(mica_world *world, mica_entity entity, const mica_checksum_options *options,
                                 uint64_t *checksum) {
    static const char call[] = "mica_entity_checksum";
    uint32_t location = 0;
    mica_result fault = mi_world_resolve(world, entity, &location, call);
    if (fault != MICA_OK) {
        return fault;
    }
    if (checksum == NULL) {
        return mi_fail_plain(&world->log, MICA_INVALID, call, "needs a place for the checksum");
    }
    fault = mi_checksum_check_options(world->schema, options, &world->log, call);
    if (fault != MICA_OK) {
        return fault;
    }
    mi_world_settle_all(world);
    summing s;
    begin_sum(&s, mi_view_of_world(world), options, 0);
    sum_entity(&s, &world->store, entity, location);
    if (s.result != MICA_OK) {
        return fail_checksum(&s, &world->log, call);
    }
    *checksum = s.sum;
    return MICA_OK;
}

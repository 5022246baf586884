// The bytes of a delta: reading them into mi_delta, and writing what stands between its sets, numbers and values.
//
// Reading checks everything that can be checked without a world, so that those who use a delta find sets ascending,
// numbers inside their ranges, names in order and streams as long as they have to be. What it allocates is bounded by
// the bytes that there are. docs/delta-format.md describes them; the two change together, along with MI_DELTA_FORMAT.
#include "base/error.h"
#include "base/map.h"
#include "state/delta.h"

#include <string.h>

// What a part says of itself.
enum { PART_IN_BASE = 1, PART_IN_TARGET = 2, PART_HAS_REST = 4 };

// Objects

mica_delta *mi_delta_open(const mica_allocator *allocator) {
    mi_heap heap;
    if (!mi_heap_init(&heap, allocator)) {
        return NULL;
    }
    mica_delta *delta = mi_heap_allocate_zeroed(&heap, MICA_MEMORY_STATE, sizeof(*delta), _Alignof(mica_delta));
    if (delta != NULL) {
        delta->heap = heap;
        delta->bytes = mi_bytes_in(&delta->heap);
    }
    return delta;
}

void mica_delta_release(mica_delta *delta) {
    if (delta == NULL) {
        return;
    }
    mi_bytes_free(&delta->bytes);
    mi_heap last = delta->heap;
    mi_heap_release(&last, MICA_MEMORY_STATE, delta, sizeof(*delta), _Alignof(mica_delta));
}

const void *mica_delta_bytes(const mica_delta *delta, size_t *byte_size) {
    if (byte_size != NULL) {
        *byte_size = delta == NULL ? 0 : delta->bytes.array.count;
    }
    return delta == NULL ? NULL : delta->bytes.array.data;
}

// Walks

bool mi_fates_next(mi_fates_walk *walk, uint32_t *slot, mi_ends *generations) {
    if (walk->generations.at == walk->generations.end || !mi_set_next(&walk->slots, slot)) {
        return false;
    }
    generations->base = mi_source_number(&walk->generations, MICA_GENERATION_MAX);
    generations->target = generations->base + mi_unzigzag(mi_source_varint(&walk->generations));
    return !walk->generations.is_broken;
}

bool mi_hunk_next(mi_source *hunks, mi_hunk *hunk) {
    if (hunks->at == hunks->end) {
        return false;
    }
    hunk->kept = mi_source_number(hunks, MI_BYTES_MAX);
    hunk->base_size = (uint32_t)mi_source_number(hunks, MI_BYTES_MAX);
    hunk->target_size = (uint32_t)mi_source_number(hunks, MI_BYTES_MAX);
    hunk->base = mi_source_take(hunks, hunk->base_size);
    hunk->target = mi_source_take(hunks, hunk->target_size);
    return !hunks->is_broken;
}

// Reading

// One more element of an array of `delta`, all zero; NULL: out of memory.
#define APPEND(DELTA, ARRAY)                                                                         \
    (MI_RESERVE((DELTA)->heap, MICA_MEMORY_STATE, &(DELTA)->ARRAY, (size_t)(DELTA)->ARRAY.count + 1) \
         ? memset(&(DELTA)->ARRAY.data[(DELTA)->ARRAY.count++], 0, sizeof(*(DELTA)->ARRAY.data))     \
         : NULL)

// What a reader came to.
typedef struct reading {
    mi_delta *delta;
    mi_source body;
    bool lacks_memory;
} reading;

static bool lack_memory(reading *r) {
    r->lacks_memory = true;
    return false;
}

static mi_ends read_ends(mi_source *source, uint64_t most) {
    mi_ends ends = {.base = mi_source_number(source, most)};
    ends.target = ends.base + mi_unzigzag(mi_source_varint(source));
    if (ends.target > most) {
        mi_source_break(source);
    }
    return ends;
}

static mi_ends read_sums(mi_source *source) {
    mi_ends sums = {.base = mi_source_u64(source)};
    sums.target = mi_source_u64(source);
    return sums;
}

// A text with its length in front and a zero behind.
static const char *read_name(mi_source *source, uint32_t most) {
    const uint64_t length = mi_source_number(source, most);
    const uint8_t *text = mi_source_take(source, length + 1);
    if (text == NULL || length == 0 || memchr(text, 0, (size_t)length + 1) != text + length) {
        mi_source_break(source);
        return "";
    }
    return (const char *)text;
}

static void read_fates(mi_source *source, mi_fates *fates) {
    *fates = (mi_fates){.slots = mi_source_set(source)};
    if (fates->slots.count == 0) {
        return;
    }
    fates->generations = mi_source_stream(source);
    mi_fates_walk walk = mi_fates_walk_of(fates);
    uint32_t slot = 0;
    uint32_t count = 0;
    mi_ends generations = {0};
    while (mi_fates_next(&walk, &slot, &generations) && slot != 0 && generations.target <= MICA_GENERATION_MAX) {
        count++;
    }
    if (count != fates->slots.count || !mi_source_at_end(&walk.generations)) {
        mi_source_break(source);
        *fates = (mi_fates){.slots.count = 0};
    }
}

static bool read_component(reading *r, const char *last_name) {
    mi_source *body = &r->body;
    mi_delta_component *component = APPEND(r->delta, components);
    if (component == NULL) {
        return lack_memory(r);
    }
    component->name = read_name(body, MICA_NAME_MAX);
    const uint64_t size = mi_source_number(body, (uint64_t)UINT32_MAX << 1);
    component->is_told = (size & 1) != 0;
    component->size = (uint32_t)(size >> 1);
    component->fields_hash = mi_source_u32(body);
    component->sums = read_sums(body);
    component->added = mi_source_set(body);
    component->removed = mi_source_set(body);
    if (component->is_told) {
        component->told = mi_source_told(body);
        return !body->is_broken && component->size == 0 && component->fields_hash == 0 &&
               strcmp(last_name, component->name) < 0;
    }
    component->values = mi_source_values(body, component->size);
    return !body->is_broken && strcmp(last_name, component->name) < 0;
}

// Components of a table or pool: whether they come behind those of the rows before.
static bool is_behind(const mi_delta *delta, const mi_delta_rows *rows, const mi_delta_rows *last) {
    if (last->is_pool != rows->is_pool) {
        return rows->is_pool;
    }
    for (uint32_t i = 0; i < rows->key_count && i < last->key_count; i++) {
        const uint32_t a = delta->keys.data[last->first_key + i];
        const uint32_t b = delta->keys.data[rows->first_key + i];
        if (a != b) {
            return a < b;
        }
    }
    return last->key_count < rows->key_count;
}

static bool read_keys(reading *r, mi_delta_rows *rows) {
    mi_delta *delta = r->delta;
    const uint64_t head = mi_source_number(&r->body, (uint64_t)delta->components.count << 1 | 1);
    rows->is_pool = (head & 1) != 0;
    rows->key_count = (uint32_t)(head >> 1);
    rows->first_key = delta->keys.count;
    if (rows->key_count == 0 || (rows->is_pool && rows->key_count != 1)) {
        return false;
    }
    uint64_t next = 0;
    for (uint32_t i = 0; i < rows->key_count; i++) {
        next += mi_source_number(&r->body, UINT32_MAX);
        if (r->body.is_broken || next >= delta->components.count) {
            return false;
        }
        uint32_t *key = APPEND(delta, keys);
        if (key == NULL) {
            return lack_memory(r);
        }
        *key = (uint32_t)next++;
    }
    return true;
}

static bool read_rows(reading *r, uint32_t number) {
    mi_source *body = &r->body;
    mi_delta_rows *rows = APPEND(r->delta, rows);
    if (rows == NULL) {
        return lack_memory(r);
    }
    if (!read_keys(r, rows)) {
        return false;
    }
    rows->row_count = read_ends(body, UINT32_MAX - 1);
    if (rows->is_pool) {
        rows->dead_count = read_ends(body, UINT32_MAX);
        rows->dead_head = read_ends(body, UINT32_MAX);
    }
    rows->order = mi_source_numbers(body);
    rows->versions = mi_source_numbers(body);
    return !body->is_broken && (number == 0 || is_behind(r->delta, rows, rows - 1));
}

static bool read_marks(reading *r, uint32_t number) {
    mi_delta_marks *marks = APPEND(r->delta, marks);
    if (marks == NULL) {
        return lack_memory(r);
    }
    marks->kind = (uint32_t)mi_source_number(&r->body, UINT32_MAX);
    marks->changed = mi_source_set(&r->body);
    return !r->body.is_broken && marks->changed.count > 0 &&
           marks->kind < MI_DELTA_MARK_TOGGLED + r->delta->components.count &&
           (number == 0 || marks[-1].kind < marks->kind);
}

static bool read_section(mi_source *body, mi_delta_section *section) {
    section->sums = read_sums(body);
    section->hunk_count = (uint32_t)mi_source_number(body, UINT32_MAX);
    section->hunks = section->hunk_count == 0 ? mi_source_of(NULL, 0) : mi_source_stream(body);
    mi_source walk = section->hunks;
    mi_hunk hunk;
    uint32_t count = 0;
    while (mi_hunk_next(&walk, &hunk) && (hunk.base_size > 0 || hunk.target_size > 0)) {
        count++;
    }
    section->values = mi_source_told(body);
    return !body->is_broken && count == section->hunk_count && mi_source_at_end(&walk);
}

static bool read_part(reading *r, const char *last_name) {
    mi_source *body = &r->body;
    mi_delta_part *part = APPEND(r->delta, parts);
    if (part == NULL) {
        return lack_memory(r);
    }
    part->name = read_name(body, MICA_NAME_MAX);
    const uint64_t presence = mi_source_number(body, PART_IN_BASE | PART_IN_TARGET | PART_HAS_REST);
    part->in_base = (presence & PART_IN_BASE) != 0;
    part->in_target = (presence & PART_IN_TARGET) != 0;
    mi_delta_section *rest = &part->sections[MI_SECTION_REST];
    const bool has_rest = (presence & PART_HAS_REST) != 0;
    return (part->in_base || part->in_target) && read_section(body, &part->sections[MI_SECTION_LASTING]) &&
           (!has_rest || (read_section(body, rest) && !mi_section_is_void(rest))) && strcmp(last_name, part->name) < 0;
}

// What exact deltas have beside entities and components.
static bool read_rest(reading *r) {
    mi_delta *delta = r->delta;
    mi_source *body = &r->body;
    delta->version = read_ends(body, INT64_MAX);
    delta->used = read_ends(body, (uint64_t)MICA_INDEX_MAX + 1);
    delta->free_head = read_ends(body, MICA_INDEX_MAX);
    delta->chain = mi_source_numbers(body);
    const uint64_t rows_count = mi_source_varint(body);
    for (uint32_t i = 0; i < rows_count; i++) {
        if (!read_rows(r, i)) {
            return false;
        }
    }
    const uint64_t marks_count = mi_source_varint(body);
    for (uint32_t i = 0; i < marks_count; i++) {
        if (!read_marks(r, i)) {
            return false;
        }
    }
    const uint64_t part_count = mi_source_varint(body);
    for (uint32_t i = 0; i < part_count; i++) {
        if (!read_part(r, i == 0 ? "" : delta->parts.data[i - 1].name)) {
            return false;
        }
    }
    delta->sums.entities = read_sums(body);
    delta->sums.order = read_sums(body);
    delta->sums.versions = read_sums(body);
    delta->sums.marks = read_sums(body);
    return true;
}

static bool read_body(reading *r) {
    mi_delta *delta = r->delta;
    mi_source *body = &r->body;
    if ((delta->flags & MI_DELTA_OF_ENTITIES) != 0) {
        delta->limit = mi_source_set(body);
    }
    for (uint32_t fate = 0; fate < (mi_delta_is_limited(delta) ? MI_FATE_NOBODY : MI_FATE_COUNT); fate++) {
        read_fates(body, &delta->fates[fate]);
    }
    const uint64_t component_count = mi_source_varint(body);
    for (uint32_t i = 0; i < component_count; i++) {
        if (!read_component(r, i == 0 ? "" : delta->components.data[i - 1].name)) {
            return false;
        }
    }
    return (mi_delta_is_limited(delta) || read_rest(r)) && mi_source_at_end(body);
}

// The checksum of a delta, whose own place is left out.
static uint64_t sum_bytes(const uint8_t *bytes, size_t byte_size) {
    return mi_hash_mix(mi_hash_bytes(bytes, MI_DELTA_CHECKSUM_AT) ^
                       mi_hash_bytes(bytes + MI_DELTA_HEAD_SIZE, byte_size - MI_DELTA_HEAD_SIZE));
}

static mica_result read_head(mi_delta *delta, mi_source *head, size_t byte_size, const mica_log_handler *log,
                             const char *call) {
    const uint8_t *bytes = head->at;
    const uint8_t *magic = mi_source_take(head, sizeof(MI_DELTA_MAGIC) - 1);
    if (byte_size < MI_DELTA_HEAD_SIZE || memcmp(magic, MI_DELTA_MAGIC, sizeof(MI_DELTA_MAGIC) - 1) != 0) {
        return mi_fail_plain(log, MICA_FORMAT, call, "these bytes are no delta");
    }
    const uint32_t version = mi_source_u8(head);
    delta->flags = mi_source_u8(head);
    const uint32_t handle_bits = mi_source_u8(head);
    const uint32_t index_bits = mi_source_u8(head);
    const uint64_t whole_size = mi_source_u64(head);
    const uint64_t checksum = mi_source_u64(head);
    if (whole_size != byte_size) {
        return mi_fail(log, MICA_FORMAT, call, "the delta has {} bytes, and here are {}", MI_UINT(whole_size),
                       MI_UINT(byte_size));
    }
    if (checksum != sum_bytes(bytes, byte_size)) {
        return mi_fail_plain(log, MICA_FORMAT, call, "the delta is damaged: its checksum is wrong");
    }
    if (version != MI_DELTA_FORMAT) {
        return mi_fail(log, MICA_INCOMPATIBLE, call, "the delta has version {} of the format, known is {}",
                       MI_UINT(version), MI_UINT(MI_DELTA_FORMAT));
    }
    if (handle_bits != MICA_ENTITY_BITS || index_bits != MICA_INDEX_BITS) {
        return mi_fail(log, MICA_INCOMPATIBLE, call,
                       "the delta has handles of {} bits with {} of index, and not of {} with {}", MI_UINT(handle_bits),
                       MI_UINT(index_bits), MI_UINT(MICA_ENTITY_BITS), MI_UINT(MICA_INDEX_BITS));
    }
    const uint32_t flags = delta->flags;
    const bool is_limited = (flags & MI_DELTA_LIMITED) != 0;
    const bool is_odd = (flags & ~(uint32_t)MI_DELTA_FLAGS) != 0 || (is_limited && (flags & MI_DELTA_WHOLE) != 0) ||
                        (!is_limited && (flags & MI_DELTA_OF_ENTITIES) != 0);
    return is_odd ? mi_fail_plain(log, MICA_FORMAT, call, "the delta has flags that contradict each other") : MICA_OK;
}

mica_result mi_delta_read(mi_delta *delta, mi_heap *heap, const void *bytes, size_t byte_size,
                          const mica_log_handler *log, const char *call) {
    *delta = (mi_delta){.heap = heap};
    if (bytes == NULL) {
        return mi_fail_plain(log, MICA_INVALID, call, "needs the bytes of a delta");
    }
    mi_source head = mi_source_of(bytes, byte_size < MI_DELTA_HEAD_SIZE ? byte_size : MI_DELTA_HEAD_SIZE);
    const mica_result result = read_head(delta, &head, byte_size, log, call);
    if (result != MICA_OK) {
        return result;
    }
    reading r = {.delta = delta,
                 .body = mi_source_of((const uint8_t *)bytes + MI_DELTA_HEAD_SIZE, byte_size - MI_DELTA_HEAD_SIZE)};
    if (read_body(&r)) {
        return MICA_OK;
    }
    mi_delta_free(delta);
    return r.lacks_memory ? mi_fail_memory(log, call, 0)
                          : mi_fail_plain(log, MICA_FORMAT, call, "the delta is not put together as one is");
}

void mi_delta_free(mi_delta *delta) {
    MI_FREE(delta->heap, MICA_MEMORY_STATE, &delta->components);
    MI_FREE(delta->heap, MICA_MEMORY_STATE, &delta->keys);
    MI_FREE(delta->heap, MICA_MEMORY_STATE, &delta->rows);
    MI_FREE(delta->heap, MICA_MEMORY_STATE, &delta->marks);
    MI_FREE(delta->heap, MICA_MEMORY_STATE, &delta->parts);
}

static uint64_t add_sum(uint64_t sum, uint64_t name, uint64_t part) {
    return part == 0 ? sum : sum + mi_hash_mix(name ^ mi_hash_mix(part));
}

uint64_t mi_delta_end_sum(const mi_delta *delta, bool is_target) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < delta->components.count; i++) {
        const mi_delta_component *component = &delta->components.data[i];
        sum = add_sum(sum, mi_hash_bytes(component->name, strlen(component->name)),
                      mi_end_of(component->sums, is_target));
    }
    for (uint32_t i = 0; i < delta->parts.count; i++) {
        const mi_delta_part *part = &delta->parts.data[i];
        for (uint32_t k = 0; k < MI_SECTION_COUNT; k++) {
            sum = add_sum(sum, ~mi_hash_bytes(part->name, strlen(part->name)) + k,
                          mi_end_of(part->sections[k].sums, is_target));
        }
    }
    sum = add_sum(sum, 1, mi_end_of(delta->sums.entities, is_target));
    sum = add_sum(sum, 2, mi_end_of(delta->sums.order, is_target));
    sum = add_sum(sum, 3, mi_end_of(delta->sums.versions, is_target));
    return add_sum(sum, 4, mi_end_of(delta->sums.marks, is_target));
}

// Writing

void mi_delta_put_head(mi_bytes *bytes, uint32_t flags) {
    mi_bytes_put(bytes, MI_DELTA_MAGIC, sizeof(MI_DELTA_MAGIC) - 1);
    mi_bytes_put_u8(bytes, MI_DELTA_FORMAT);
    mi_bytes_put_u8(bytes, (uint8_t)flags);
    mi_bytes_put_u8(bytes, MICA_ENTITY_BITS);
    mi_bytes_put_u8(bytes, MICA_INDEX_BITS);
    mi_bytes_put_u64(bytes, 0);
    mi_bytes_put_u64(bytes, 0);
}

void mi_delta_put_ends(mi_bytes *bytes, mi_ends ends) {
    mi_bytes_put_varint(bytes, ends.base);
    mi_bytes_put_varint(bytes, mi_zigzag(ends.target - ends.base));
}

void mi_delta_put_sums(mi_bytes *bytes, mi_ends sums) {
    mi_bytes_put_u64(bytes, sums.base);
    mi_bytes_put_u64(bytes, sums.target);
}

static void put_name(mi_bytes *bytes, const char *name) {
    const size_t length = strlen(name);
    mi_bytes_put_varint(bytes, length);
    mi_bytes_put(bytes, name, length + 1);
}

void mi_delta_put_component(mi_bytes *bytes, const mi_delta_component *component) {
    put_name(bytes, component->name);
    mi_bytes_put_varint(bytes, (uint64_t)component->size << 1 | component->is_told);
    mi_bytes_put_u32(bytes, component->fields_hash);
    mi_delta_put_sums(bytes, component->sums);
}

void mi_delta_put_rows(mi_bytes *bytes, const mi_delta_rows *rows, const uint32_t *keys) {
    mi_bytes_put_varint(bytes, (uint64_t)rows->key_count << 1 | rows->is_pool);
    uint32_t next = 0;
    for (uint32_t i = 0; i < rows->key_count; i++) {
        mi_bytes_put_varint(bytes, keys[i] - next);
        next = keys[i] + 1;
    }
    mi_delta_put_ends(bytes, rows->row_count);
    if (rows->is_pool) {
        mi_delta_put_ends(bytes, rows->dead_count);
        mi_delta_put_ends(bytes, rows->dead_head);
    }
}

void mi_delta_put_part(mi_bytes *bytes, const mi_delta_part *part) {
    put_name(bytes, part->name);
    mi_bytes_put_varint(bytes, (part->in_base ? PART_IN_BASE : 0u) | (part->in_target ? PART_IN_TARGET : 0u) |
                                   (mi_section_is_void(&part->sections[MI_SECTION_REST]) ? 0u : PART_HAS_REST));
}

static void store_number(uint8_t *place, uint64_t number) {
    for (uint32_t i = 0; i < sizeof(number); i++) {
        place[i] = (uint8_t)(number >> 8 * i);
    }
}

mica_result mi_delta_finish(mi_bytes *bytes) {
    if (bytes->result == MICA_OK) {
        store_number(bytes->array.data + MI_DELTA_SIZE_AT, bytes->array.count);
        store_number(bytes->array.data + MI_DELTA_CHECKSUM_AT, sum_bytes(bytes->array.data, bytes->array.count));
    }
    return bytes->result;
}

void mi_fates_add(mi_fates_writer *fates, uint32_t slot, mi_ends generations) {
    mi_set_add(&fates->slots, slot);
    mi_delta_put_ends(&fates->generations, generations);
}

void mi_fates_finish(mi_fates_writer *fates, mi_bytes *to) {
    const bool is_empty = fates->slots.count == 0;
    mi_set_finish(&fates->slots, to);
    if (!is_empty) {
        mi_bytes_put_stream(to, &fates->generations);
    }
    mi_bytes_clear(&fates->generations);
}

void mi_fates_writer_free(mi_fates_writer *fates) {
    mi_set_writer_free(&fates->slots);
    mi_bytes_free(&fates->generations);
}

void mi_hunks_add(mi_hunks_writer *hunks, const mi_hunk *hunk) {
    hunks->count++;
    mi_bytes_put_varint(&hunks->bytes, hunk->kept);
    mi_bytes_put_varint(&hunks->bytes, hunk->base_size);
    mi_bytes_put_varint(&hunks->bytes, hunk->target_size);
    mi_bytes_put(&hunks->bytes, hunk->base, hunk->base_size);
    mi_bytes_put(&hunks->bytes, hunk->target, hunk->target_size);
}

void mi_hunks_finish(mi_hunks_writer *hunks, mi_bytes *to) {
    mi_bytes_put_varint(to, hunks->count);
    if (hunks->count > 0) {
        mi_bytes_put_stream(to, &hunks->bytes);
    }
    mi_bytes_clear(&hunks->bytes);
    hunks->count = 0;
}

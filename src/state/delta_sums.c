// Sums of states; see delta_sums.h.
//
// What has a place (a value of a slot, a chunk of a table, a page of slots) is hashed with it and added up, so that
// nothing depends on the order in which tables or components come.
#include "state/delta_sums.h"

#include "state/checksum.h"

#include <mica/checksum.h>

#include <string.h>

#include "store/reflect.h"

static const mi_slots_image no_slots = {.reference_count = 1};
const mica_snapshot mi_blank_state = {
    .reference_count = 1, .version = 1, .slots = (mi_slots_image *)(uintptr_t)&no_slots};

static uint64_t sum_at(uint64_t where, uint64_t place, uint64_t what) {
    return mi_hash_mix(mi_hash_mix(where + place * UINT64_C(0x9e3779b97f4a7c15)) ^ what);
}

// The hash of words, in chains beside each other, since a single one waits for itself most of the time. Each step keeps
// all that it is given.
static uint64_t hash_words(const void *words, size_t byte_size) {
    enum { LANE_COUNT = 4, WIDE = LANE_COUNT * sizeof(uint64_t) };
    uint64_t lanes[LANE_COUNT] = {1, 2, 3, 4};
    const uint8_t *rest = words;
    size_t left = byte_size;
    for (; left >= WIDE; left -= WIDE, rest += WIDE) {
        uint64_t next[LANE_COUNT];
        memcpy(next, rest, WIDE);
        for (uint32_t i = 0; i < LANE_COUNT; i++) {
            lanes[i] = (lanes[i] ^ next[i]) * UINT64_C(0xd6e8feb86659fd93);
            lanes[i] ^= lanes[i] >> 32;
        }
    }
    uint64_t hash = mi_hash_bytes(rest, left) ^ mi_hash_mix(byte_size);
    for (uint32_t i = 0; i < LANE_COUNT; i++) {
        hash = mi_hash_mix(hash ^ lanes[i]);
    }
    return hash;
}

static uint64_t sum_name(const mica_schema *schema, mica_component component) {
    const mi_type *type = mi_schema_type(schema, component);
    return mi_hash_bytes(type->info.name, strlen(type->info.name));
}

uint64_t mi_sum_of_components(const mica_schema *schema, const mi_rows_image *rows) {
    uint64_t sum = rows->is_pool;
    for (uint32_t i = 0; i < rows->component_count; i++) {
        sum += mi_hash_mix(sum_name(schema, rows->components[i]));
    }
    return mi_hash_mix(sum);
}

bool mi_rows_image_has(const mi_rows_image *rows, mica_component component, uint32_t *column) {
    *column = UINT32_MAX;
    for (uint32_t i = 0; i < rows->column_count; i++) {
        if (rows->columns[i]->info.id == component) {
            *column = i;
            return true;
        }
    }
    for (uint32_t i = 0; i < rows->component_count; i++) {
        if (rows->components[i] == component) {
            return true;
        }
    }
    return false;
}

// Components

typedef struct summing {
    const mi_type *type;
    const mi_ranges *ranges;
    const mi_slot_bits *limit;
    uint8_t *room; // for the canonical bytes of a value
    uint64_t sum;
} summing;

static uint64_t sum_value(const summing *s, const mi_image *image, uint32_t row) {
    const uint8_t *value = image->data + (size_t)row * image->size;
    if (mi_type_is_told(s->type)) {
        return mi_checksum_of_written(s->type, value);
    }
    if (!s->ranges->is_whole) {
        mi_ranges_copy(s->ranges, image->size, s->room, value, 1);
        value = s->room;
    }
    return mi_hash_bytes(value, image->size);
}

static void sum_chunk(summing *s, const mi_chunk_image *chunk, uint32_t column) {
    // Bytes of values that own something say nothing of whether they are equal.
    const bool is_mute = mi_type_is_owning(s->type) && !mi_type_is_told(s->type);
    const mi_image *image = column == UINT32_MAX || is_mute ? NULL : chunk->columns[column].image;
    const mica_entity *handles = mi_image_handles(chunk->handles.image);
    for (uint32_t row = 0; row < chunk->row_count; row++) {
        const uint32_t slot = mica_entity_index(handles[row]);
        if (!mi_handle_is_dead(handles[row]) && mi_slot_bits_have(s->limit, slot)) {
            s->sum += sum_at(0, slot, image == NULL ? 0 : sum_value(s, image, row));
        }
    }
}

static void sum_rows(summing *s, const mi_rows_image *rows) {
    uint32_t column = UINT32_MAX;
    if (!mi_rows_image_has(rows, s->type->info.id, &column)) {
        return;
    }
    for (uint32_t k = 0; k < rows->chunk_count; k++) {
        sum_chunk(s, rows->chunks[k], column);
    }
}

bool mi_sum_component(const mica_snapshot *snapshot, const mi_type *type, const mi_slot_bits *limit, mi_heap *heap,
                      uint64_t *sum) {
    const mica_schema *schema = snapshot->vault == NULL ? NULL : snapshot->vault->schema;
    *sum = 0;
    if (schema == NULL) {
        return true; // the state of a world that was just made
    }
    if (limit == NULL && (!mi_type_is_owning(type) || mi_type_is_told(type))) {
        return mica_snapshot_component_checksum(snapshot, type->info.id, sum) == MICA_OK;
    }
    const size_t size = type->info.size;
    summing s = {.type = type, .limit = limit, .ranges = mi_type_ranges(schema, type)};
    if (s.ranges == NULL) {
        return false;
    }
    if (!s.ranges->is_whole) {
        s.room = mi_heap_allocate(heap, MICA_MEMORY_STATE, size, _Alignof(max_align_t));
        if (s.room == NULL) {
            return false;
        }
    }
    for (uint32_t i = 0; i < snapshot->table_count; i++) {
        sum_rows(&s, snapshot->tables[i]);
    }
    for (uint32_t i = 0; i < snapshot->pool_count; i++) {
        sum_rows(&s, snapshot->pools[i]);
    }
    mi_heap_release(heap, MICA_MEMORY_STATE, s.room, s.room == NULL ? 0 : size, _Alignof(max_align_t));
    *sum = s.sum;
    return true;
}

// The rest

uint64_t mi_sum_entities(const mi_slots_image *slots) {
    uint64_t sum = 0;
    if (slots->used <= 1) {
        return 0; // slot 0 alone says nothing
    }
    for (uint32_t page = 0; page < slots->page_count; page++) {
        sum += sum_at(1, page, hash_words(slots->pages[page]->slots, sizeof(slots->pages[page]->slots)));
    }
    return sum_at(sum, slots->free_head, mi_hash_mix(slots->issued) + slots->used);
}

static uint64_t sum_order_of(const mica_schema *schema, const mi_rows_image *rows) {
    const uint64_t where = mi_sum_of_components(schema, rows);
    uint64_t sum = sum_at(where, rows->row_count, rows->dead_count == 0 ? 0 : rows->dead_head + UINT64_C(1));
    for (uint32_t k = 0; k < rows->chunk_count; k++) {
        const mi_chunk_image *chunk = rows->chunks[k];
        sum += sum_at(where, k, hash_words(chunk->handles.image->data, chunk->row_count * sizeof(mica_entity)));
    }
    return sum;
}

static uint64_t sum_versions_of(const mica_schema *schema, const mi_rows_image *rows) {
    const uint64_t where = mi_sum_of_components(schema, rows);
    uint64_t sum = 0;
    for (uint32_t k = 0; k < rows->chunk_count; k++) {
        const mi_chunk_image *chunk = rows->chunks[k];
        const uint64_t first = (uint64_t)k * (rows->column_count + 1);
        sum += sum_at(where, first, chunk->handles.version);
        for (uint32_t i = 0; i < chunk->column_count; i++) {
            sum += sum_at(where, first + i + 1, chunk->columns[i].version);
        }
    }
    return sum;
}

uint64_t mi_sum_order(const mica_snapshot *snapshot) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < snapshot->table_count; i++) {
        sum += sum_order_of(snapshot->vault->schema, snapshot->tables[i]);
    }
    for (uint32_t i = 0; i < snapshot->pool_count; i++) {
        sum += sum_order_of(snapshot->vault->schema, snapshot->pools[i]);
    }
    return sum;
}

uint64_t mi_sum_versions(const mica_snapshot *snapshot) {
    uint64_t sum = mi_hash_mix(snapshot->version);
    for (uint32_t i = 0; i < snapshot->table_count; i++) {
        sum += sum_versions_of(snapshot->vault->schema, snapshot->tables[i]);
    }
    for (uint32_t i = 0; i < snapshot->pool_count; i++) {
        sum += sum_versions_of(snapshot->vault->schema, snapshot->pools[i]);
    }
    return sum;
}

uint64_t mi_sum_marks(const mica_snapshot *snapshot) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < snapshot->mark_count; i++) {
        const mi_marks_image *marks = snapshot->marks[i];
        const uint64_t where =
            marks->component == 0 ? marks->kind : sum_name(snapshot->vault->schema, marks->component);
        for (uint32_t k = 0; k < marks->count; k++) {
            sum += sum_at(where, marks->indices[k], 0);
        }
    }
    return sum;
}

mi_section mi_part_section(const mi_part_image *part, mi_section_kind kind) {
    if (part == NULL || part->record.bytes.count == 0) {
        return (mi_section){.byte_count = 0};
    }
    const mi_record *record = &part->record;
    const mi_record_extent lasting = mi_part_lasting(part->part, record);
    if (kind == MI_SECTION_LASTING) {
        return (mi_section){.part = part->part,
                            .bytes = record->bytes.data,
                            .byte_count = lasting.byte_count,
                            .values = record->values.data,
                            .value_count = lasting.value_count};
    }
    const bool has_values = record->values.count > lasting.value_count;
    return (mi_section){.part = part->part,
                        .bytes = record->bytes.data + lasting.byte_count,
                        .byte_count = record->bytes.count - lasting.byte_count,
                        .values = has_values ? record->values.data + lasting.value_count : NULL,
                        .value_count = record->values.count - lasting.value_count};
}

const mi_record_value *mi_section_next_value(const mi_section *section, uint32_t *at) {
    while (section->values != NULL && *at < section->value_count) {
        const mi_record_value *value = &section->values[(*at)++];
        if (!mi_part_spares(section->part, value->type)) {
            return value;
        }
    }
    return NULL;
}

// As of components, bytes of values that own something say nothing, and what hooks tell of them counts.
static uint64_t sum_section_values(const mi_section *section) {
    uint64_t sum = 0;
    uint32_t at = 0;
    const mi_record_value *value;
    for (uint32_t place = 0; (value = mi_section_next_value(section, &at)) != NULL; place++) {
        const char *name = value->type->info.name;
        const uint64_t told = mi_type_is_told(value->type) ? mi_checksum_of_written(value->type, value->value) : 0;
        sum += sum_at(mi_hash_bytes(name, strlen(name)), place, told);
    }
    return sum;
}

uint64_t mi_sum_part(const mi_part_image *part, mi_section_kind kind) {
    const mi_section section = mi_part_section(part, kind);
    if (section.byte_count == 0 && section.value_count == 0) {
        return 0;
    }
    const uint64_t sum = mi_hash_bytes(section.bytes, section.byte_count) + sum_section_values(&section);
    return sum == 0 ? 1 : sum;
}

uint32_t mi_sum_fields(const mica_schema *schema, const mi_type *type) {
    if (mi_type_reflect(schema, type->info.id) != MICA_OK) {
        return 0;
    }
    const mi_reflection *reflection = mi_load_pointer((void *const *)&type->reflection);
    uint64_t sum = 1;
    for (uint32_t i = 0; i < reflection->fields.count; i++) {
        const mica_field *field = &reflection->fields.data[i];
        const mi_type *nested = field->type == 0 ? NULL : mi_schema_type(schema, field->type);
        const uint64_t layout[] = {
            mi_hash_bytes(field->name, strlen(field->name)), (uint64_t)field->kind << 32 | field->offset,
            (uint64_t)field->size << 32 | field->count, nested == NULL ? 0 : sum_name(schema, field->type)};
        for (uint32_t k = 0; k < sizeof(layout) / sizeof(layout[0]); k++) {
            sum = mi_hash_mix(sum ^ layout[k]);
        }
    }
    return (uint32_t)sum == 0 ? 1 : (uint32_t)sum;
}

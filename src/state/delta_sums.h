// Sums of what is in a snapshot, by which a delta knows the states at its ends.
//
// A sum is the same for equal states in every process. It is 0 where there is nothing. Sums over everything go by
// images, whose own checksums are kept (checksum.h), so that what was summed once costs nothing again; sums over chosen
// entities go by values, and know nothing of where rows stand.
#pragma once

#include "base/bitset.h"
#include "state/snapshot.h"
#include "store/ranges.h"

// In order of a record: see `lasting` of a part.
typedef enum mi_section_kind { MI_SECTION_LASTING, MI_SECTION_REST, MI_SECTION_COUNT } mi_section_kind;

// Entities that sums are limited to, by slot. NULL instead of one: all, and rows where they stand.
typedef struct mi_slot_bits {
    uint64_t *words;
    uint32_t word_count;
} mi_slot_bits;

static inline bool mi_slot_bits_have(const mi_slot_bits *bits, uint32_t slot) {
    return bits == NULL || mi_bit_get(bits->words, bits->word_count, slot);
}

// The state of a world that was just made.
extern const mica_snapshot mi_blank_state;

// What a set of components is known by.
uint64_t mi_sum_of_components(const mica_schema *schema, const mi_rows_image *rows);

// Who has a component, and the values; false: out of memory.
bool mi_sum_component(const mica_snapshot *snapshot, const mi_type *type, const mi_slot_bits *limit, mi_heap *heap,
                      uint64_t *sum);
uint64_t mi_sum_entities(const mi_slots_image *slots);
uint64_t mi_sum_order(const mica_snapshot *snapshot);
uint64_t mi_sum_versions(const mica_snapshot *snapshot);
uint64_t mi_sum_marks(const mica_snapshot *snapshot);

// What of a part's record lasts, or the rest; `part` NULL: nothing.
typedef struct mi_section {
    const mi_part *part;
    const uint8_t *bytes;
    uint32_t byte_count;
    const mi_record_value *values;
    uint32_t value_count;
} mi_section;

mi_section mi_part_section(const mi_part_image *part, mi_section_kind kind);
// The value from number *at on that does not stay out of deltas; NULL: there are no more.
const mi_record_value *mi_section_next_value(const mi_section *section, uint32_t *at);
uint64_t mi_sum_part(const mi_part_image *part, mi_section_kind kind);

// What is known of the fields of a type; 0: nothing. Sets no error.
uint32_t mi_sum_fields(const mica_schema *schema, const mi_type *type);

// Whether a rows image has the component; *column is the number of its column, or UINT32_MAX: there is none.
bool mi_rows_image_has(const mi_rows_image *rows, mica_component component, uint32_t *column);

// Whether what stands at a position is a tombstone.
static inline bool mi_handle_is_dead(mica_entity handle) {
    return mica_entity_generation(handle) == MICA_GENERATION_MAX;
}

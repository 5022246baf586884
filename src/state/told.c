// Values that hooks write and read, by place; see told.h.
//
// Of each place the lengths stream has two varints, one an end: 0 for a value that is not there, else one more than the
// number of its bytes. The bytes of either end stand in a stream of their own.
#include "state/told.h"

#include <string.h>

bool mi_told_ends_equal(const mi_told_end *a, const mi_told_end *b) {
    return a->is_there == b->is_there && a->byte_size == b->byte_size &&
           (a->byte_size == 0 || memcmp(a->bytes, b->bytes, a->byte_size) == 0);
}

void mi_told_add(mi_told_writer *told, uint32_t place, const mi_told_value *value) {
    if (mi_told_ends_equal(&value->ends[0], &value->ends[1])) {
        return;
    }
    mi_set_add(&told->places, place);
    for (uint32_t i = 0; i < 2; i++) {
        const mi_told_end *end = &value->ends[i];
        mi_bytes_put_varint(&told->lengths, end->is_there ? end->byte_size + UINT64_C(1) : 0);
        mi_bytes_put(&told->bytes[i], end->bytes, end->byte_size);
    }
}

void mi_told_finish(mi_told_writer *told, mi_bytes *to) {
    const bool is_empty = told->places.count == 0;
    mi_set_finish(&told->places, to);
    if (!is_empty) {
        mi_bytes_put_stream(to, &told->lengths);
        mi_bytes_put_stream(to, &told->bytes[0]);
        mi_bytes_put_stream(to, &told->bytes[1]);
    }
    mi_bytes_clear(&told->lengths);
    mi_bytes_clear(&told->bytes[0]);
    mi_bytes_clear(&told->bytes[1]);
}

void mi_told_writer_free(mi_told_writer *told) {
    mi_set_writer_free(&told->places);
    mi_bytes_free(&told->lengths);
    mi_bytes_free(&told->bytes[0]);
    mi_bytes_free(&told->bytes[1]);
}

bool mi_told_next(mi_told_walk *walk, uint32_t *place, mi_told_value *value) {
    // Lengths first: a set of places may be long without many bytes.
    if (walk->lengths.at == walk->lengths.end || !mi_set_next(&walk->places, place)) {
        return false;
    }
    bool is_fine = true;
    for (uint32_t i = 0; i < 2; i++) {
        const uint64_t length = mi_source_number(&walk->lengths, MI_BYTES_MAX);
        mi_told_end *end = &value->ends[i];
        *end = (mi_told_end){.byte_size = length == 0 ? 0 : (uint32_t)length - 1, .is_there = length > 0};
        end->bytes = mi_source_take(&walk->bytes[i], end->byte_size);
        is_fine = is_fine && !walk->lengths.is_broken && !walk->bytes[i].is_broken;
    }
    return is_fine;
}

mi_told_values mi_source_told(mi_source *source) {
    mi_told_values told = {.places = mi_source_set(source)};
    if (told.places.count == 0) {
        return told;
    }
    told.lengths = mi_source_stream(source);
    told.bytes[0] = mi_source_stream(source);
    told.bytes[1] = mi_source_stream(source);
    mi_told_walk walk = mi_told_walk_of(&told);
    mi_told_value value;
    uint32_t place = 0;
    uint32_t count = 0;
    while (mi_told_next(&walk, &place, &value) && !mi_told_ends_equal(&value.ends[0], &value.ends[1])) {
        count++;
    }
    if (count != told.places.count || !mi_source_at_end(&walk.lengths) || !mi_source_at_end(&walk.bytes[0]) ||
        !mi_source_at_end(&walk.bytes[1])) {
        mi_source_break(source);
        return (mi_told_values){.places.count = 0};
    }
    return told;
}

// Packing and unpacking what deltas are made of; see stream.h.
//
// Invariants of what is written, which readers hold: runs of a set do not touch each other; numbers and values are not
// 0; a shape has a bit for each byte that its value has there, at least one, and none beyond the value's size.
#include "state/stream.h"

#include <string.h>

#include "base/map.h"

enum { VARINT_BYTES = 10, WORD_BYTES = 8 };

// Bytes

void mi_bytes_free(mi_bytes *bytes) {
    MI_FREE(bytes->heap, MICA_MEMORY_STATE, &bytes->array);
}

uint8_t *mi_bytes_open(mi_bytes *bytes, size_t byte_size) {
    const size_t need = bytes->array.count + byte_size;
    if (MICA_LIKELY(bytes->result == MICA_OK && need <= bytes->array.capacity && need >= byte_size)) {
        return bytes->array.data + bytes->array.count;
    }
    if (bytes->result == MICA_OK && (need > MI_BYTES_MAX || need < byte_size)) {
        bytes->result = MICA_LIMIT;
    }
    if (bytes->result == MICA_OK && !MI_RESERVE(bytes->heap, MICA_MEMORY_STATE, &bytes->array, need)) {
        bytes->result = MICA_OUT_OF_MEMORY;
    }
    return bytes->result == MICA_OK ? bytes->array.data + bytes->array.count : NULL;
}

void mi_bytes_put(mi_bytes *bytes, const void *data, size_t byte_size) {
    uint8_t *place = byte_size > 0 ? mi_bytes_open(bytes, byte_size) : NULL;
    if (place != NULL) {
        memcpy(place, data, byte_size);
        bytes->array.count += (uint32_t)byte_size;
    }
}

void mi_bytes_put_u8(mi_bytes *bytes, uint8_t number) {
    mi_bytes_put(bytes, &number, sizeof(number));
}

static void put_number(mi_bytes *bytes, uint64_t number, uint32_t byte_size) {
    uint8_t *place = mi_bytes_open(bytes, byte_size);
    if (place == NULL) {
        return;
    }
    for (uint32_t i = 0; i < byte_size; i++) {
        place[i] = (uint8_t)(number >> 8 * i);
    }
    bytes->array.count += byte_size;
}

void mi_bytes_put_u32(mi_bytes *bytes, uint32_t number) {
    put_number(bytes, number, sizeof(number));
}

void mi_bytes_put_u64(mi_bytes *bytes, uint64_t number) {
    put_number(bytes, number, sizeof(number));
}

void mi_bytes_put_varint(mi_bytes *bytes, uint64_t number) {
    uint8_t *place = mi_bytes_open(bytes, VARINT_BYTES);
    if (place == NULL) {
        return;
    }
    uint32_t length = 0;
    for (; number >= 0x80; number >>= 7) {
        place[length++] = (uint8_t)(number | 0x80);
    }
    place[length++] = (uint8_t)number;
    bytes->array.count += length;
}

static void take_over_failure(mi_bytes *bytes, const mi_bytes *other) {
    if (bytes->result == MICA_OK) {
        bytes->result = other->result;
    }
}

void mi_bytes_put_stream(mi_bytes *bytes, const mi_bytes *other) {
    take_over_failure(bytes, other);
    mi_bytes_put_varint(bytes, other->array.count);
    mi_bytes_put(bytes, other->array.data, other->array.count);
}

// Sources

const uint8_t *mi_source_take(mi_source *source, uint64_t byte_size) {
    if (byte_size > (uint64_t)(source->end - source->at)) {
        mi_source_break(source);
        return NULL;
    }
    const uint8_t *bytes = source->at;
    source->at = byte_size == 0 ? bytes : bytes + byte_size; // there may be no memory at all
    return bytes;
}

static uint64_t take_number(mi_source *source, uint32_t byte_size) {
    const uint8_t *bytes = mi_source_take(source, byte_size);
    uint64_t number = 0;
    for (uint32_t i = 0; bytes != NULL && i < byte_size; i++) {
        number |= (uint64_t)bytes[i] << 8 * i;
    }
    return number;
}

uint8_t mi_source_u8(mi_source *source) {
    return (uint8_t)take_number(source, sizeof(uint8_t));
}

uint32_t mi_source_u32(mi_source *source) {
    return (uint32_t)take_number(source, sizeof(uint32_t));
}

uint64_t mi_source_u64(mi_source *source) {
    return take_number(source, sizeof(uint64_t));
}

uint64_t mi_source_varint_slowly(mi_source *source) {
    uint64_t number = 0;
    for (uint32_t shift = 0; source->at < source->end && shift < 64; shift += 7) {
        const uint8_t byte = *source->at++;
        number |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            // The shortest form alone, and no bits that fall off.
            const bool is_fine = (byte != 0 || shift == 0) && (shift < 63 || byte < 2);
            return is_fine ? number : mi_source_break(source);
        }
    }
    return mi_source_break(source);
}

uint64_t mi_source_number(mi_source *source, uint64_t most) {
    const uint64_t number = mi_source_varint(source);
    return number <= most ? number : mi_source_break(source);
}

mi_source mi_source_stream(mi_source *source) {
    const uint64_t byte_size = mi_source_varint(source);
    const uint8_t *bytes = mi_source_take(source, byte_size);
    return mi_source_of(bytes, bytes == NULL ? 0 : (size_t)byte_size);
}

// Sets
//
// A run is `skipped << 1 | (it has several members)`, then, if it has, their number less 2. What the first run skips
// counts from 0, what any other one skips from one behind the end of the run before it, since a gap is never empty.

static void close_run(mi_set_writer *set) {
    if (set->run_end == 0) {
        return;
    }
    const bool is_first = set->last_end == 0;
    const uint64_t skipped = set->run_first - set->last_end - (is_first ? 0 : 1);
    const uint32_t length = set->run_end - set->run_first;
    mi_bytes_put_varint(&set->runs, skipped << 1 | (length > 1));
    if (length > 1) {
        mi_bytes_put_varint(&set->runs, length - 2);
    }
    set->last_end = set->run_end;
    set->run_end = 0;
}

void mi_set_add_run(mi_set_writer *set, uint32_t member, uint32_t count) {
    if (count == 0) {
        return;
    }
    if (set->run_end == 0 || set->run_end != member) {
        close_run(set);
        set->run_first = member;
    }
    set->run_end = member + count;
    set->count += count;
}

void mi_set_finish(mi_set_writer *set, mi_bytes *to) {
    close_run(set);
    mi_bytes_put_varint(to, set->count);
    if (set->count > 0) {
        mi_bytes_put_stream(to, &set->runs);
    }
    take_over_failure(to, &set->runs);
    mi_bytes_clear(&set->runs);
    *set = (mi_set_writer){.runs = set->runs};
}

void mi_set_writer_free(mi_set_writer *set) {
    mi_bytes_free(&set->runs);
}

bool mi_set_next_run(mi_set_walk *walk) {
    if (walk->runs.at == walk->runs.end) {
        return false;
    }
    const uint64_t head = mi_source_number(&walk->runs, (uint64_t)UINT32_MAX << 1 | 1);
    const uint64_t length = (head & 1) == 0 ? 1 : 2 + mi_source_number(&walk->runs, UINT32_MAX);
    const uint64_t first = walk->end + (head >> 1) + (walk->is_first ? 0 : 1);
    if (walk->runs.is_broken || first + length > UINT32_MAX) {
        mi_source_break(&walk->runs);
        return false;
    }
    walk->is_first = false;
    walk->next = first;
    walk->end = first + length;
    return true;
}

mi_set mi_source_set(mi_source *source) {
    mi_set set = {.count = (uint32_t)mi_source_number(source, UINT32_MAX)};
    if (set.count == 0) {
        return set;
    }
    set.runs = mi_source_stream(source);
    mi_set_walk walk = mi_set_walk_of(&set);
    uint64_t count = 0;
    while (mi_set_next_run(&walk)) {
        count += walk.end - walk.next;
    }
    if (walk.runs.is_broken || count != set.count) {
        mi_source_break(source);
        return (mi_set){.count = 0};
    }
    return set;
}

static void sweep_on(mi_sweep *sweep, uint32_t i) {
    mi_set_walk *walk = &sweep->walks[i];
    if ((sweep->members >> i & 1) == 0) {
        sweep->bounds[i] = mi_set_next_run(walk) ? walk->next : UINT64_MAX;
    } else {
        sweep->bounds[i] = walk->end;
    }
}

mi_sweep mi_sweep_of(const mi_set *const *sets, uint32_t count) {
    mi_sweep sweep = {.count = count};
    for (uint32_t i = 0; i < count; i++) {
        sweep.walks[i] = mi_set_walk_of(sets[i]);
        sweep_on(&sweep, i);
    }
    return sweep;
}

bool mi_sweep_next(mi_sweep *sweep, uint32_t *first, uint32_t *length, uint32_t *members) {
    for (;;) {
        uint64_t next = UINT64_MAX;
        for (uint32_t i = 0; i < sweep->count; i++) {
            next = sweep->bounds[i] < next ? sweep->bounds[i] : next;
        }
        if (next == UINT64_MAX) {
            return false;
        }
        *first = (uint32_t)sweep->at;
        *length = (uint32_t)(next - sweep->at);
        *members = sweep->members;
        sweep->at = next;
        for (uint32_t i = 0; i < sweep->count; i++) {
            if (sweep->bounds[i] == next) {
                sweep->members ^= 1u << i;
                sweep_on(sweep, i);
            }
        }
        if (*members != 0 && *length > 0) {
            return true;
        }
    }
}

// Numbers
//
// Each is written as its difference from the one before plus one: numbers that count up cost a byte that is 0.

void mi_numbers_add(mi_numbers_writer *numbers, uint32_t place, uint64_t number) {
    if (number == 0) {
        return;
    }
    mi_set_add(&numbers->places, place);
    mi_bytes_put_varint(&numbers->numbers, mi_zigzag(number - numbers->expected));
    numbers->expected = number + 1;
}

void mi_numbers_finish(mi_numbers_writer *numbers, mi_bytes *to) {
    const bool is_empty = numbers->places.count == 0;
    mi_set_finish(&numbers->places, to);
    if (!is_empty) {
        mi_bytes_put_stream(to, &numbers->numbers);
    }
    mi_bytes_clear(&numbers->numbers);
    numbers->expected = 0;
}

void mi_numbers_writer_free(mi_numbers_writer *numbers) {
    mi_set_writer_free(&numbers->places);
    mi_bytes_free(&numbers->numbers);
}

bool mi_numbers_next(mi_numbers_walk *walk, uint32_t *place, uint64_t *number) {
    // Numbers first: a set of places may be long without many bytes.
    if (walk->numbers.at == walk->numbers.end || !mi_set_next(&walk->places, place)) {
        return false;
    }
    *number = walk->expected + mi_unzigzag(mi_source_varint(&walk->numbers));
    walk->expected = *number + 1;
    return !walk->numbers.is_broken;
}

mi_numbers mi_source_numbers(mi_source *source) {
    mi_numbers numbers = {.places = mi_source_set(source)};
    if (numbers.places.count == 0) {
        return numbers;
    }
    numbers.numbers = mi_source_stream(source);
    mi_numbers_walk walk = mi_numbers_walk_of(&numbers);
    uint32_t place = 0;
    uint64_t number = 0;
    uint32_t count = 0;
    while (mi_numbers_next(&walk, &place, &number) && number != 0) {
        count++;
    }
    if (count != numbers.places.count || !mi_source_at_end(&walk.numbers)) {
        mi_source_break(source);
        return (mi_numbers){.places.count = 0};
    }
    return numbers;
}

// Shapes
//
// Of values of up to 8 bytes: one byte with a bit for each of theirs. Of larger ones: a bit for each word of 8 bytes,
// in as many bytes as that takes, then for each word whose bit is set a byte as above.

static uint32_t word_count_of(uint32_t size) {
    return size / WORD_BYTES + (size % WORD_BYTES != 0);
}

// A bit for each byte of a word that is not 0, by its place in memory.
static uint32_t bytes_of_word(const uint8_t *bytes) {
    const uint64_t low = UINT64_C(0x7f7f7f7f7f7f7f7f);
    uint64_t word;
    memcpy(&word, bytes, sizeof(word));
    const uint64_t tops = (((word & low) + low) | word) & ~low;
    return (uint32_t)((tops >> 7) * UINT64_C(0x0102040810204080) >> 56);
}

// The length of a shape at the front of a source; 0: it is broken.
static uint32_t check_shape(const mi_source *source, uint32_t size) {
    const size_t left = (size_t)(source->end - source->at);
    const uint32_t words = word_count_of(size);
    const uint32_t head = size <= WORD_BYTES ? 0 : (words + 7) / 8;
    const uint32_t last_bytes = size - (words - 1) * WORD_BYTES;
    uint32_t length = head;
    if (left < head) {
        return 0;
    }
    for (uint32_t w = 0; w < words; w++) {
        if (head > 0 && (source->at[w / 8] >> w % 8 & 1) == 0) {
            continue;
        }
        if (length == left || source->at[length] == 0 || (w + 1 == words && source->at[length] >> last_bytes != 0)) {
            return 0;
        }
        length++;
    }
    return length > head && (words % 8 == 0 || head == 0 || source->at[head - 1] >> words % 8 == 0) ? length : 0;
}

// Values

mi_values_writer mi_values_writer_in(mi_heap *heap) {
    return (mi_values_writer){.places = mi_set_writer_in(heap),
                              .codes = mi_bytes_in(heap),
                              .shapes = mi_bytes_in(heap),
                              .data = mi_bytes_in(heap),
                              .shape = mi_bytes_in(heap)};
}

void mi_values_start(mi_values_writer *values, uint32_t size) {
    values->size = size;
    values->shape_count = 0;
    memset(values->found, 0, sizeof(values->found));
}

// Finds the shape of a value; the number of its bytes that are not 0.
static uint32_t find_shape(mi_values_writer *values, const uint8_t *value) {
    const uint32_t words = word_count_of(values->size);
    const uint32_t head = values->size <= WORD_BYTES ? 0 : (words + 7) / 8;
    mi_bytes *shape = &values->shape;
    mi_bytes_clear(shape);
    uint8_t *to = mi_bytes_open(shape, (size_t)head + words);
    uint32_t length = head;
    uint32_t count = 0;
    if (to == NULL) {
        return 0;
    }
    memset(to, 0, head);
    for (uint32_t w = 0; w < words; w++) {
        const uint32_t bits = bytes_of_word(value + (size_t)w * WORD_BYTES);
        if (bits == 0) {
            continue;
        }
        if (head > 0) {
            to[w / 8] |= (uint8_t)(1u << w % 8);
        }
        to[length++] = (uint8_t)bits;
        count += (uint32_t)__builtin_popcount(bits);
    }
    shape->array.count = length;
    return count;
}

// The place in `found` of the shape at hand: its code, or 0 where it would stand.
static uint8_t *seek_shape(mi_values_writer *values) {
    const uint8_t *shape = values->shape.array.data;
    const uint32_t length = values->shape.array.count;
    uint32_t place = (uint32_t)mi_hash_bytes(shape, length) % sizeof(values->found);
    for (; values->found[place] != 0; place = (place + 1) % sizeof(values->found)) {
        const uint32_t number = values->found[place] - MI_SHAPE_FIRST;
        const uint32_t from = number == 0 ? 0 : values->shape_ends[number - 1];
        if (values->shape_ends[number] - from == length &&
            memcmp(values->shapes.array.data + from, shape, length) == 0) {
            break;
        }
    }
    return &values->found[place];
}

// The code of the shape at hand, which is written if it is new. A value whose bytes say less than its shape would is
// written whole.
static uint8_t code_shape(mi_values_writer *values, uint32_t byte_count) {
    uint8_t *place = seek_shape(values);
    if (*place != 0) {
        return *place;
    }
    if (values->size - byte_count <= values->shape.array.count) {
        return MI_SHAPE_WHOLE;
    }
    mi_bytes_put(&values->shapes, values->shape.array.data, values->shape.array.count);
    if (values->shape_count < MI_SHAPE_MAX && values->shapes.result == MICA_OK) {
        values->shape_ends[values->shape_count] = values->shapes.array.count;
        *place = (uint8_t)(MI_SHAPE_FIRST + values->shape_count++);
    }
    return MI_SHAPE_NEW;
}

// Where the next word that a shape names starts; see take_shaped.
static uint32_t next_word(const uint8_t *shape, uint32_t words, uint32_t word) {
    while (word < words && (shape[word / 8] >> word % 8 & 1) == 0) {
        word++;
    }
    return word;
}

static uint8_t *put_bytes_of_word(uint8_t *to, const uint8_t *word, uint32_t bits) {
    if (bits == 0xff) {
        memcpy(to, word, WORD_BYTES);
        return to + WORD_BYTES;
    }
    for (; bits != 0; bits &= bits - 1) {
        *to++ = word[__builtin_ctz(bits)];
    }
    return to;
}

static void put_shaped(mi_values_writer *values, const uint8_t *value, uint32_t byte_count) {
    uint8_t *to = mi_bytes_open(&values->data, byte_count);
    if (to == NULL) {
        return;
    }
    const uint8_t *shape = values->shape.array.data;
    if (values->size <= WORD_BYTES) {
        put_bytes_of_word(to, value, shape[0]);
    } else {
        const uint32_t words = word_count_of(values->size);
        const uint8_t *bits = shape + (words + 7) / 8;
        for (uint32_t w = next_word(shape, words, 0); w < words; w = next_word(shape, words, w + 1)) {
            to = put_bytes_of_word(to, value + (size_t)w * WORD_BYTES, *bits++);
        }
    }
    values->data.array.count += byte_count;
}

void mi_values_add(mi_values_writer *values, uint32_t place, const uint8_t *value) {
    const uint32_t byte_count = find_shape(values, value);
    if (byte_count == 0) {
        return;
    }
    const uint8_t code = code_shape(values, byte_count);
    mi_set_add(&values->places, place);
    mi_bytes_put_u8(&values->codes, code);
    if (code == MI_SHAPE_WHOLE) {
        mi_bytes_put(&values->data, value, values->size);
    } else {
        put_shaped(values, value, byte_count);
    }
}

void mi_values_finish(mi_values_writer *values, mi_bytes *to) {
    const bool is_empty = values->places.count == 0;
    take_over_failure(to, &values->shape);
    mi_set_finish(&values->places, to);
    if (!is_empty) {
        mi_bytes_put_stream(to, &values->codes);
        mi_bytes_put_stream(to, &values->shapes);
        mi_bytes_put_stream(to, &values->data);
    }
    mi_bytes_clear(&values->codes);
    mi_bytes_clear(&values->shapes);
    mi_bytes_clear(&values->data);
    mi_values_start(values, values->size);
}

void mi_values_writer_free(mi_values_writer *values) {
    mi_set_writer_free(&values->places);
    mi_bytes_free(&values->codes);
    mi_bytes_free(&values->shapes);
    mi_bytes_free(&values->data);
    mi_bytes_free(&values->shape);
}

void mi_values_walk_begin(mi_values_walk *walk, const mi_values *values) {
    walk->size = values->size;
    walk->places = mi_set_walk_of(&values->places);
    walk->codes = values->codes;
    walk->shapes = values->shapes;
    walk->data = values->data;
    walk->shape = NULL;
    walk->shape_count = 0;
}

// Reads a shape, and gives it a code if there are codes left; false: it is broken.
static bool take_new_shape(mi_values_walk *walk) {
    const uint32_t length = check_shape(&walk->shapes, walk->size);
    walk->shape = mi_source_take(&walk->shapes, length);
    if (length > 0 && walk->shape_count < MI_SHAPE_MAX) {
        walk->known[walk->shape_count++] = walk->shape;
    }
    return length > 0;
}

bool mi_values_next(mi_values_walk *walk, uint32_t *place) {
    if (walk->codes.at == walk->codes.end || !mi_set_next(&walk->places, place)) {
        return false;
    }
    const uint8_t code = mi_source_u8(&walk->codes);
    bool is_fine = true;
    if (code == MI_SHAPE_WHOLE) {
        walk->shape = NULL;
    } else if (code == MI_SHAPE_NEW) {
        is_fine = take_new_shape(walk);
    } else {
        is_fine = (uint32_t)(code - MI_SHAPE_FIRST) < walk->shape_count;
        walk->shape = is_fine ? walk->known[code - MI_SHAPE_FIRST] : NULL;
    }
    if (!is_fine) {
        mi_source_break(&walk->codes);
    }
    return is_fine;
}

// Exclusive-ors the bytes that `bits` names into a word; false: they are not there.
static bool take_bytes_of_word(mi_source *data, uint8_t *to, uint32_t bits) {
    const uint8_t *from = mi_source_take(data, (uint32_t)__builtin_popcount(bits));
    for (; from != NULL && to != NULL && bits != 0; bits &= bits - 1) {
        to[__builtin_ctz(bits)] ^= *from++;
    }
    return from != NULL;
}

static bool take_whole(mi_values_walk *walk, uint8_t *to) {
    const uint8_t *from = mi_source_take(&walk->data, walk->size);
    for (uint32_t i = 0; from != NULL && to != NULL && i < walk->size; i++) {
        to[i] ^= from[i];
    }
    return from != NULL;
}

bool mi_values_take(mi_values_walk *walk, uint8_t *to) {
    const uint8_t *shape = walk->shape;
    if (shape == NULL) {
        return take_whole(walk, to);
    }
    if (walk->size <= WORD_BYTES) {
        return take_bytes_of_word(&walk->data, to, shape[0]);
    }
    const uint32_t words = word_count_of(walk->size);
    const uint8_t *bits = shape + (words + 7) / 8;
    for (uint32_t w = next_word(shape, words, 0); w < words; w = next_word(shape, words, w + 1)) {
        if (!take_bytes_of_word(&walk->data, to == NULL ? NULL : to + (size_t)w * WORD_BYTES, *bits++)) {
            return false;
        }
    }
    return true;
}

mi_values mi_source_values(mi_source *source, uint32_t size) {
    mi_values values = {.size = size, .places = mi_source_set(source)};
    if (values.places.count == 0) {
        return values;
    }
    values.codes = mi_source_stream(source);
    values.shapes = mi_source_stream(source);
    values.data = mi_source_stream(source);
    mi_values_walk walk;
    mi_values_walk_begin(&walk, &values);
    uint32_t place = 0;
    uint32_t count = 0;
    while (size > 0 && mi_values_next(&walk, &place) && mi_values_take(&walk, NULL)) {
        count++;
    }
    if (count != values.places.count || !mi_source_at_end(&walk.codes) || !mi_source_at_end(&walk.shapes) ||
        !mi_source_at_end(&walk.data)) {
        mi_source_break(source);
        return (mi_values){.size = size};
    }
    return values;
}

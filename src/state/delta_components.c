// What differs of the components of two snapshots; see delta_make.h.
//
// Where chunks do not share their images, rows that stand at the same position for the same slot are compared in wide
// words; the others, the *strays*, are gathered on both sides, ordered by slot and met there. What differs is then
// ordered by slot and written: bytes as their exclusive-or, values that own something as what their hooks tell of them
// at both ends. What owns something and has no hooks for that has no bytes: where its values are not the very same
// there is no delta; but if the type is transient they stay out of it, as if they were the same.
#include "state/delta_make.h"

#include "base/sort.h"

#include <string.h>

// Orders items by slot. False: out of memory.
static bool sort_items(mi_maker *m, mi_item_list *items) {
    if (items->count > 0) {
        if (!MI_MAKER_RESERVE(m, &m->spare, items->count)) {
            return false;
        }
        mi_sort_by_high_half(items->data, m->spare.data, items->count);
    }
    return true;
}

static inline uint32_t slot_of(uint64_t item) {
    return (uint32_t)(item >> 32);
}

// Strays

static bool add_stray(mi_maker *m, mi_stray_list *list, uint32_t pair_number, const mi_rows_image *rows, uint32_t chunk,
                      uint32_t row) {
    const mica_entity handle = mi_image_handles(rows->chunks[chunk]->handles.image)[row];
    const uint32_t slot = mica_entity_index(handle);
    if (mi_handle_is_dead(handle) || !mi_slot_bits_have(m->limit, slot)) {
        return true;
    }
    if (!MI_MAKER_RESERVE(m, &list->strays, list->strays.count + (size_t)1) ||
        !MI_MAKER_RESERVE(m, &list->items, list->items.count + (size_t)1)) {
        return false;
    }
    list->items.data[list->items.count++] = (uint64_t)slot << 32 | list->strays.count;
    list->strays.data[list->strays.count++] = (mi_stray){.pair = pair_number, .row = chunk << rows->shift | row};
    return true;
}

static bool gather_chunk(mi_maker *m, uint32_t pair_number, uint32_t chunk, mi_stray_list *lists) {
    const mi_pair *p = &m->pairs.data[pair_number];
    const mi_rows_image *const sides[2] = {p->base, p->target};
    const uint32_t counts[2] = {mi_rows_in(p->base, chunk), mi_rows_in(p->target, chunk)};
    const uint32_t shared = counts[0] < counts[1] ? counts[0] : counts[1];
    if (shared > 0 && p->base->chunks[chunk]->handles.image != p->target->chunks[chunk]->handles.image) {
        const mica_entity *a = mi_image_handles(p->base->chunks[chunk]->handles.image);
        const mica_entity *b = mi_image_handles(p->target->chunks[chunk]->handles.image);
        for (uint32_t row = 0; row < shared; row++) {
            if (MICA_LIKELY(mica_entity_equal(a[row], b[row])) ||
                (mica_entity_index(a[row]) == mica_entity_index(b[row]) && !mi_handle_is_dead(a[row]) &&
                 !mi_handle_is_dead(b[row]))) {
                continue;
            }
            if (!add_stray(m, &lists[0], pair_number, p->base, chunk, row) ||
                !add_stray(m, &lists[1], pair_number, p->target, chunk, row)) {
                return false;
            }
        }
    }
    for (uint32_t side = 0; side < 2; side++) {
        for (uint32_t row = shared; row < counts[side]; row++) {
            if (!add_stray(m, &lists[side], pair_number, sides[side], chunk, row)) {
                return false;
            }
        }
    }
    return true;
}

// Gathers the strays of pairs, ordered by slot.
bool mi_maker_gather_strays(mi_maker *m, uint32_t first, uint32_t count, mi_stray_list *lists) {
    for (uint32_t side = 0; side < 2; side++) {
        lists[side].strays.count = 0;
        lists[side].items.count = 0;
    }
    for (uint32_t i = first; i < first + count; i++) {
        const mi_pair *p = &m->pairs.data[i];
        const uint32_t chunk_count = p->base == p->target ? 0 : mi_chunks_of(p);
        for (uint32_t chunk = 0; chunk < chunk_count; chunk++) {
            if (!mi_chunk_is_shared(p, chunk) && !gather_chunk(m, i, chunk, lists)) {
                return false;
            }
        }
    }
    return sort_items(m, &lists[0].items) && sort_items(m, &lists[1].items);
}

// Values

// What differs of one component.
typedef struct component_maker {
    mi_maker *m;
    const mi_type *type;
    const mi_ranges *ranges;
    bool has_values;
    bool is_owning;
    bool is_told;
} component_maker;

static bool add_change(component_maker *c, uint32_t slot, const uint8_t *base, const uint8_t *target) {
    mi_maker *m = c->m;
    if (c->is_owning && !c->is_told) {
        return mi_maker_fail(m, MICA_UNSUPPORTED, c->type->info.name);
    }
    if (!MI_MAKER_RESERVE(m, &m->changes, m->changes.count + (size_t)1) ||
        !MI_MAKER_RESERVE(m, &m->items, m->items.count + (size_t)1)) {
        return false;
    }
    m->items.data[m->items.count++] = (uint64_t)slot << 32 | m->changes.count;
    m->changes.data[m->changes.count++] = (mi_value_ends){.base = base, .target = target};
    return true;
}

// The first byte from `at` on in which two pieces of memory differ; `end`: none.
static size_t find_difference(const uint8_t *a, const uint8_t *b, size_t at, size_t end) {
    enum { WIDE = 64 };
    while (end - at >= WIDE) {
        uint64_t x[WIDE / 8];
        uint64_t y[WIDE / 8];
        memcpy(x, a + at, WIDE);
        memcpy(y, b + at, WIDE);
        uint64_t differs = 0;
        for (uint32_t i = 0; i < WIDE / 8; i++) {
            differs |= x[i] ^ y[i];
        }
        if (differs != 0) {
            break;
        }
        at += WIDE;
    }
    while (at < end && a[at] == b[at]) {
        at++;
    }
    return at;
}

// Finds the rows of a chunk that stand where they stood and have another value.
static bool compare_chunk(component_maker *c, const mi_chunk_image *a, const mi_chunk_image *b, uint32_t column) {
    const mi_image *base = a->columns[column].image;
    const mi_image *target = b->columns[column].image;
    if (base == target) {
        return true;
    }
    const mica_entity *base_handles = mi_image_handles(a->handles.image);
    const mica_entity *target_handles = mi_image_handles(b->handles.image);
    const uint32_t size = c->type->info.size;
    const uint32_t count = a->row_count < b->row_count ? a->row_count : b->row_count;
    const size_t end = (size_t)count * size;
    for (size_t at = 0; at < end;) {
        // What copies of hooks have in their bytes says nothing of whether they are equal.
        at = c->is_owning ? at : find_difference(base->data, target->data, at, end);
        const uint32_t row = (uint32_t)(at / size);
        const size_t offset = (size_t)row * size;
        if (at < end && !mi_handle_is_dead(base_handles[row]) && !mi_handle_is_dead(target_handles[row])) {
            const uint32_t slot = mica_entity_index(base_handles[row]);
            if (slot == mica_entity_index(target_handles[row]) && mi_slot_bits_have(c->m->limit, slot) &&
                !add_change(c, slot, base->data + offset, target->data + offset)) {
                return false;
            }
        }
        at = offset + size;
    }
    return true;
}

static const uint8_t *value_of(const mi_rows_image *rows, uint32_t column, uint32_t row) {
    const mi_image *image = rows->chunks[row >> rows->shift]->columns[column].image;
    return image->data + (size_t)(row & ((1u << rows->shift) - 1)) * image->size;
}

// One end of a slot that strays: whether the component is there, and its value.
typedef struct stray_end {
    bool has;
    const uint8_t *value;
} stray_end;

static stray_end look_up(const component_maker *c, const mi_stray_list *list, uint64_t item, bool is_target) {
    const mi_stray *s = &list->strays.data[(uint32_t)item];
    const mi_pair *p = &c->m->pairs.data[s->pair];
    stray_end end = {.has = p->has};
    if (p->has && c->has_values) {
        end.value = value_of(is_target ? p->target : p->base, p->column, s->row);
    }
    return end;
}

// Meets the strays of both sides.
static bool meet_strays(component_maker *c, const mi_stray_list *lists) {
    mi_maker *m = c->m;
    const mi_item_list *a = &lists[0].items;
    const mi_item_list *b = &lists[1].items;
    for (uint32_t i = 0, k = 0; i < a->count || k < b->count;) {
        const uint32_t base_slot = i < a->count ? slot_of(a->data[i]) : UINT32_MAX;
        const uint32_t target_slot = k < b->count ? slot_of(b->data[k]) : UINT32_MAX;
        const uint32_t slot = base_slot < target_slot ? base_slot : target_slot;
        stray_end base = {.has = false};
        stray_end target = {.has = false};
        if (base_slot == slot) {
            base = look_up(c, &lists[0], a->data[i++], false);
        }
        if (target_slot == slot) {
            target = look_up(c, &lists[1], b->data[k++], true);
        }
        if (base.has != target.has) {
            mi_set_add(base.has ? &m->removed : &m->added, slot);
        }
        if ((base.value != NULL || target.value != NULL) && !add_change(c, slot, base.value, target.value)) {
            return false;
        }
    }
    return true;
}

// Makes room for values of so many bytes.
static bool open_room(mi_maker *m, uint32_t size) {
    const size_t need = ((size_t)size + 7) / 8 * 8 + 8;
    if (need <= m->room_size) {
        return true;
    }
    for (uint32_t i = 0; i < 2; i++) {
        mi_heap_release(m->heap, MICA_MEMORY_STATE, m->room[i], m->room_size, _Alignof(max_align_t));
        m->room[i] = NULL;
    }
    m->room_size = need;
    for (uint32_t i = 0; i < 2; i++) {
        m->room[i] = mi_heap_allocate(m->heap, MICA_MEMORY_STATE, need, _Alignof(max_align_t));
    }
    return (m->room[0] != NULL && m->room[1] != NULL) || mi_maker_lack(m);
}

static const uint8_t *canonical(const component_maker *c, const uint8_t *value, uint8_t *room) {
    if (c->ranges->is_whole) {
        return value;
    }
    mi_ranges_copy(c->ranges, c->type->info.size, room, value, 1);
    return room;
}

// The exclusive-or of both ends, in room[0], with 0 behind it.
static const uint8_t *difference_of(const component_maker *c, const mi_value_ends *ends) {
    mi_maker *m = c->m;
    const uint32_t size = c->type->info.size;
    uint8_t *to = m->room[0];
    memset(to + size / 8 * 8, 0, 8);
    if (ends->base == NULL || ends->target == NULL) {
        const uint8_t *value = ends->base == NULL ? ends->target : ends->base;
        if (c->ranges->is_whole) {
            memcpy(to, value, size);
        } else {
            mi_ranges_copy(c->ranges, size, to, value, 1);
        }
        return to;
    }
    const uint8_t *base = canonical(c, ends->base, m->room[0]);
    const uint8_t *target = canonical(c, ends->target, m->room[1]);
    for (uint32_t i = 0; i < size; i++) {
        to[i] = base[i] ^ target[i];
    }
    return to;
}

static void put_piece(void *user, const void *bytes, size_t byte_size) {
    mi_bytes_put(user, bytes, byte_size);
}

mi_told_end mi_maker_tell(mi_maker *m, uint32_t side, const mi_type *type, const void *value, const char *name) {
    mi_bytes *bytes = &m->told_bytes[side];
    mi_bytes_clear(bytes);
    if (value != NULL) {
        const mica_sink sink = {.put = put_piece, .user = bytes};
        const mica_hook_context context = {.allocator = &m->target->vault->values, .user = type->info.hooks.user};
        mi_bytes_put(bytes, name, name == NULL ? 0 : strlen(name) + 1);
        type->info.hooks.write(value, &sink, &context);
    }
    return (mi_told_end){.bytes = bytes->array.data, .byte_size = bytes->array.count, .is_there = value != NULL};
}

bool mi_maker_add_told(mi_maker *m, uint32_t place, const mi_told_value *value) {
    for (uint32_t side = 0; side < 2; side++) {
        if (m->told_bytes[side].result != MICA_OK) {
            return mi_maker_fail(m, m->told_bytes[side].result, NULL);
        }
    }
    mi_told_add(&m->told, place, value);
    return true;
}

static bool write_told(component_maker *c) {
    mi_maker *m = c->m;
    if (!sort_items(m, &m->items)) {
        return false;
    }
    for (uint32_t i = 0; i < m->items.count; i++) {
        const mi_value_ends *change = &m->changes.data[(uint32_t)m->items.data[i]];
        const mi_told_value value = {.ends = {mi_maker_tell(m, 0, c->type, change->base, NULL),
                                              mi_maker_tell(m, 1, c->type, change->target, NULL)}};
        if (!mi_maker_add_told(m, slot_of(m->items.data[i]), &value)) {
            return false;
        }
    }
    return true;
}

static bool write_values(component_maker *c) {
    mi_maker *m = c->m;
    if (c->is_told) {
        return write_told(c);
    }
    mi_values_start(&m->values, c->has_values ? c->type->info.size : 0);
    if (!c->has_values || m->items.count == 0) {
        return true;
    }
    if (!open_room(m, c->type->info.size) || !sort_items(m, &m->items)) {
        return false;
    }
    for (uint32_t i = 0; i < m->items.count; i++) {
        mi_values_add(&m->values, slot_of(m->items.data[i]),
                      difference_of(c, &m->changes.data[(uint32_t)m->items.data[i]]));
    }
    return true;
}

static bool compare_pair(component_maker *c, const mi_pair *p) {
    if (p->base == NULL || p->target == NULL || p->base == p->target) {
        return true;
    }
    for (uint32_t k = 0; k < p->base->chunk_count && k < p->target->chunk_count; k++) {
        if (p->base->chunks[k] != p->target->chunks[k] &&
            !compare_chunk(c, p->base->chunks[k], p->target->chunks[k], p->column)) {
            return false;
        }
    }
    return true;
}

// Finds everything that differs of a component.
static bool gather_component(component_maker *c) {
    mi_maker *m = c->m;
    const mica_component component = c->type->info.id;
    const bool in_pool = c->type->in_pool;
    const uint32_t first = in_pool ? m->table_pairs : 0;
    const uint32_t count = in_pool ? m->pairs.count - m->table_pairs : m->table_pairs;
    m->changes.count = 0;
    m->items.count = 0;
    for (uint32_t i = first; i < first + count; i++) {
        mi_pair *p = &m->pairs.data[i];
        p->has = mi_rows_image_has(p->target == NULL ? p->base : p->target, component, &p->column);
        if (!p->has) {
            continue;
        }
        if (in_pool && !mi_maker_gather_strays(m, i, 1, m->pool_strays)) {
            return false;
        }
        if (p->column != UINT32_MAX && c->has_values && !compare_pair(c, p)) {
            return false;
        }
        if (in_pool) {
            return meet_strays(c, m->pool_strays);
        }
    }
    return in_pool || meet_strays(c, m->table_strays);
}

bool mi_maker_put_component(mi_maker *m, mica_component component) {
    const mi_type *type = mi_schema_type(m->schema, component);
    component_maker c = {.m = m,
                         .type = type,
                         .ranges = mi_type_ranges(m->schema, type),
                         .is_owning = mi_type_is_owning(type),
                         .is_told = mi_type_is_told(type)};
    c.has_values = type->info.size > 0 && (m->is_complete || !mi_delta_leaves(type)) &&
                   !(type->info.transient && (m->flags & MI_DELTA_LEAVES_TRANSIENT) != 0);
    mi_delta_component head = {.name = type->info.name, .is_told = c.is_told};
    if (c.ranges == NULL) {
        return mi_maker_lack(m);
    }
    if (!c.is_told) {
        head.size = type->info.size;
        head.fields_hash = mi_sum_fields(m->schema, type);
    }
    if (!mi_sum_component(m->base, type, m->limit, m->heap, &head.sums.base) ||
        !mi_sum_component(m->target, type, m->limit, m->heap, &head.sums.target)) {
        return mi_maker_lack(m);
    }
    if (!gather_component(&c) || !write_values(&c)) {
        return false;
    }
    mi_delta_put_component(m->bytes, &head);
    mi_set_finish(&m->added, m->bytes);
    mi_set_finish(&m->removed, m->bytes);
    if (c.is_told) {
        mi_told_finish(&m->told, m->bytes);
    } else {
        mi_values_finish(&m->values, m->bytes);
    }
    return true;
}

static void free_strays(mi_maker *m, mi_stray_list *lists) {
    for (uint32_t side = 0; side < 2; side++) {
        MI_FREE(m->heap, MICA_MEMORY_STATE, &lists[side].strays);
        MI_FREE(m->heap, MICA_MEMORY_STATE, &lists[side].items);
    }
}

void mi_maker_free_components(mi_maker *m) {
    MI_FREE(m->heap, MICA_MEMORY_STATE, &m->changes);
    MI_FREE(m->heap, MICA_MEMORY_STATE, &m->items);
    MI_FREE(m->heap, MICA_MEMORY_STATE, &m->spare);
    free_strays(m, m->table_strays);
    free_strays(m, m->pool_strays);
    mi_set_writer_free(&m->added);
    mi_set_writer_free(&m->removed);
    mi_values_writer_free(&m->values);
    mi_told_writer_free(&m->told);
    for (uint32_t i = 0; i < 2; i++) {
        mi_bytes_free(&m->told_bytes[i]);
        mi_heap_release(m->heap, MICA_MEMORY_STATE, m->room[i], m->room_size, _Alignof(max_align_t));
    }
}

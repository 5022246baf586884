// Making a delta out of two snapshots.
//
// What the snapshots share is the same pointer, and costs nothing: rows images, chunk images, images of columns, pages
// of slots, records of parts. The tables and pools of both are paired by their components; then everything that a state
// has is gone over in the order of the format, and what differs is written.
#include "state/delta_make.h"
#include "base/error.h"
#include "base/sort.h"

#include <string.h>

static const char call_name[] = "mica_delta_make";

// Components and pairs

static int compare_components(const void *context, uint32_t a, uint32_t b) {
    const mica_schema *schema = context;
    return mi_type_compare_names(mi_schema_type(schema, (mica_component)a), mi_schema_type(schema, (mica_component)b));
}

// Adds a component to the list, once.
static bool list_component(mi_maker *m, mica_component component) {
    if (!MI_MAKER_RESERVE(m, &m->numbers, (size_t)component + 1)) {
        return false;
    }
    while (m->numbers.count <= component) {
        m->numbers.data[m->numbers.count++] = UINT32_MAX;
    }
    if (m->numbers.data[component] != UINT32_MAX) {
        return true;
    }
    if (!MI_MAKER_RESERVE(m, &m->components, m->components.count + (size_t)1)) {
        return false;
    }
    m->numbers.data[component] = m->components.count;
    m->components.data[m->components.count++] = component;
    return true;
}

static bool list_rows(mi_maker *m, mi_rows_image *const *rows, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = 0; k < rows[i]->component_count; k++) {
            if (!list_component(m, rows[i]->components[k])) {
                return false;
            }
        }
    }
    return true;
}

static bool list_marks(mi_maker *m, const mica_snapshot *snapshot) {
    for (uint32_t i = 0; i < snapshot->mark_count; i++) {
        if (snapshot->marks[i]->component != 0 && !list_component(m, snapshot->marks[i]->component)) {
            return false;
        }
    }
    return true;
}

static bool list_components(mi_maker *m) {
    const bool is_fine = list_rows(m, m->base->tables, m->base->table_count) &&
                         list_rows(m, m->base->pools, m->base->pool_count) && list_marks(m, m->base) &&
                         list_rows(m, m->target->tables, m->target->table_count) &&
                         list_rows(m, m->target->pools, m->target->pool_count) && list_marks(m, m->target);
    uint32_t *spare = NULL;
    const size_t spare_size = m->components.count * sizeof(uint32_t);
    if (!is_fine || m->components.count == 0) {
        return is_fine;
    }
    spare = mi_heap_allocate(m->heap, MICA_MEMORY_STATE, spare_size, _Alignof(uint32_t));
    if (spare == NULL) {
        return mi_maker_lack(m);
    }
    mi_sort(m->components.data, spare, m->components.count, compare_components, m->schema);
    mi_heap_release(m->heap, MICA_MEMORY_STATE, spare, spare_size, _Alignof(uint32_t));
    for (uint32_t i = 0; i < m->components.count; i++) {
        m->numbers.data[m->components.data[i]] = i;
    }
    return true;
}

// Appends the numbers of the components of a rows image, ascending.
static bool list_keys(mi_maker *m, const mi_rows_image *rows, mi_pair *p) {
    p->first_key = m->keys.count;
    p->key_count = rows->component_count;
    if (!MI_MAKER_RESERVE(m, &m->keys, m->keys.count + (size_t)rows->component_count)) {
        return false;
    }
    for (uint32_t i = 0; i < rows->component_count; i++) {
        const uint32_t number = m->numbers.data[rows->components[i]];
        uint32_t place = m->keys.count++;
        for (; place > p->first_key && m->keys.data[place - 1] > number; place--) {
            m->keys.data[place] = m->keys.data[place - 1];
        }
        m->keys.data[place] = number;
    }
    return true;
}

typedef struct key_order {
    const mi_pair *pairs;
    const uint32_t *keys;
} key_order;

static int compare_keys(const void *context, uint32_t a, uint32_t b) {
    const key_order *order = context;
    const mi_pair *x = &order->pairs[a];
    const mi_pair *y = &order->pairs[b];
    for (uint32_t i = 0; i < x->key_count && i < y->key_count; i++) {
        const uint32_t p = order->keys[x->first_key + i];
        const uint32_t q = order->keys[y->first_key + i];
        if (p != q) {
            return p < q ? -1 : 1;
        }
    }
    return (x->key_count > y->key_count) - (x->key_count < y->key_count);
}

static bool is_same_set(const mi_rows_image *a, const mi_rows_image *b) {
    return a->component_count == b->component_count &&
           memcmp(a->components, b->components, a->component_count * sizeof(mica_component)) == 0;
}

// Pairs the tables, or pools, of both snapshots, in canonical order. `singles` has room for all of them, `order` for
// twice as many.
static bool pair_up(mi_maker *m, mi_pair *singles, uint32_t *order, mi_rows_image *const *const rows[2],
                    const uint32_t counts[2]) {
    uint32_t count = 0;
    for (uint32_t side = 0; side < 2; side++) {
        for (uint32_t i = 0; i < counts[side]; i++) {
            singles[count] =
                (mi_pair){.base = side == 0 ? rows[side][i] : NULL, .target = side == 1 ? rows[side][i] : NULL};
            if (!list_keys(m, rows[side][i], &singles[count])) {
                return false;
            }
            order[count] = count;
            count++;
        }
    }
    const key_order by_keys = {.pairs = singles, .keys = m->keys.data};
    mi_sort(order, order + count, count, compare_keys, &by_keys);
    if (!MI_MAKER_RESERVE(m, &m->pairs, m->pairs.count + (size_t)count)) {
        return false;
    }
    const uint32_t first = m->pairs.count;
    for (uint32_t i = 0; i < count; i++) {
        const mi_pair *single = &singles[order[i]];
        mi_pair *last = m->pairs.count > first ? &m->pairs.data[m->pairs.count - 1] : NULL;
        if (last != NULL && last->target == NULL && single->base == NULL && is_same_set(last->base, single->target)) {
            last->target = single->target;
        } else {
            m->pairs.data[m->pairs.count++] = *single;
        }
    }
    return true;
}

static bool make_pairs_of(mi_maker *m, bool of_pools) {
    mi_rows_image *const *const rows[2] = {of_pools ? m->base->pools : m->base->tables,
                                           of_pools ? m->target->pools : m->target->tables};
    const uint32_t counts[2] = {of_pools ? m->base->pool_count : m->base->table_count,
                                of_pools ? m->target->pool_count : m->target->table_count};
    const size_t count = (size_t)counts[0] + counts[1];
    if (count == 0) {
        return true;
    }
    mi_pair *singles = mi_heap_allocate(m->heap, MICA_MEMORY_STATE, count * sizeof(mi_pair), _Alignof(mi_pair));
    uint32_t *order = mi_heap_allocate(m->heap, MICA_MEMORY_STATE, 2 * count * sizeof(uint32_t), _Alignof(uint32_t));
    const bool is_fine = singles != NULL && order != NULL ? pair_up(m, singles, order, rows, counts) : mi_maker_lack(m);
    mi_heap_release(m->heap, MICA_MEMORY_STATE, singles, count * sizeof(mi_pair), _Alignof(mi_pair));
    mi_heap_release(m->heap, MICA_MEMORY_STATE, order, 2 * count * sizeof(uint32_t), _Alignof(uint32_t));
    return is_fine;
}

// Entities

// What an index says of a slot, also of one that was never used.
static uint64_t slot_at(const mi_slots_image *slots, uint32_t index) {
    return index < slots->used ? mi_slots_image_at(slots, index) : MI_SLOT_FREE;
}

static bool slot_lives(uint64_t slot) {
    return (uint32_t)slot == 0;
}

static bool is_page_shared(const mi_slots_image *a, const mi_slots_image *b, uint32_t page) {
    return page < a->page_count && page < b->page_count && a->pages[page] == b->pages[page];
}

static void make_fate(mi_maker *m, mi_fates_writer *fates, uint32_t index, uint64_t base, uint64_t target) {
    const mi_ends generations = {.base = base >> 32, .target = target >> 32};
    const bool lived = slot_lives(base);
    const bool lives = slot_lives(target);
    if (lived && lives && generations.base != generations.target) {
        mi_fates_add(&fates[MI_FATE_REPLACED], index, generations);
    } else if (lived != lives) {
        mi_fates_add(&fates[lives ? MI_FATE_CREATED : MI_FATE_DESTROYED], index, generations);
    } else if (generations.base != generations.target && (m->flags & MI_DELTA_LIMITED) == 0) {
        mi_fates_add(&fates[MI_FATE_NOBODY], index, generations);
    }
}

static uint64_t next_free(uint64_t slot) {
    return slot_lives(slot) ? 0 : (uint32_t)slot & ~MI_SLOT_FREE;
}

// Walks over all slots that may differ: fates, and the free list into the numbers' writer.
static void make_fates(mi_maker *m, mi_fates_writer *fates) {
    const mi_slots_image *base = m->base->slots;
    const mi_slots_image *target = m->target->slots;
    const uint32_t end = base->used > target->used ? base->used : target->used;
    for (uint32_t index = 1; index < end; index++) {
        if (is_page_shared(base, target, index >> MI_SLOT_PAGE_SHIFT)) {
            index |= (1u << MI_SLOT_PAGE_SHIFT) - 1;
            continue;
        }
        const uint64_t before = slot_at(base, index);
        const uint64_t after = slot_at(target, index);
        if (before == after || !mi_slot_bits_have(m->limit, index)) {
            continue;
        }
        make_fate(m, fates, index, before, after);
        mi_numbers_add(&m->numbers_writer, index, next_free(before) ^ next_free(after));
    }
}

static void make_entities(mi_maker *m) {
    mi_fates_writer fates[MI_FATE_COUNT];
    for (uint32_t i = 0; i < MI_FATE_COUNT; i++) {
        fates[i] = mi_fates_writer_in(m->heap);
    }
    make_fates(m, fates);
    const uint32_t count = (m->flags & MI_DELTA_LIMITED) != 0 ? MI_FATE_NOBODY : MI_FATE_COUNT;
    for (uint32_t i = 0; i < count; i++) {
        mi_fates_finish(&fates[i], m->bytes);
    }
    for (uint32_t i = 0; i < MI_FATE_COUNT; i++) {
        mi_fates_writer_free(&fates[i]);
    }
}

static void make_limit(mi_maker *m) {
    for (uint32_t slot = 0; slot < m->limit->word_count * 64; slot++) {
        if (mi_slot_bits_have(m->limit, slot)) {
            mi_set_add(&m->set, slot);
        }
    }
    mi_set_finish(&m->set, m->bytes);
}

// Order

static uint64_t order_of(mica_entity handle) {
    return mica_entity_index(handle) | (mi_handle_is_dead(handle) ? MI_ORDER_DEAD : 0);
}

static void make_order(mi_maker *m, const mi_pair *p, uint32_t chunk) {
    const uint32_t shift = p->base != NULL ? p->base->shift : p->target->shift;
    const uint32_t base_count = mi_rows_in(p->base, chunk);
    const uint32_t target_count = mi_rows_in(p->target, chunk);
    const mi_image *base = base_count == 0 ? NULL : p->base->chunks[chunk]->handles.image;
    const mi_image *target = target_count == 0 ? NULL : p->target->chunks[chunk]->handles.image;
    const uint32_t count = base_count > target_count ? base_count : target_count;
    const uint32_t shared = base_count < target_count ? base_count : target_count;
    for (uint32_t row = base == target ? shared : 0; row < count; row++) {
        const uint64_t before = base != NULL && row < base_count ? order_of(mi_image_handles(base)[row]) : 0;
        const uint64_t after = target != NULL && row < target_count ? order_of(mi_image_handles(target)[row]) : 0;
        mi_numbers_add(&m->numbers_writer, chunk << shift | row, before ^ after);
    }
}

static uint64_t version_of(const mi_rows_image *rows, uint32_t chunk, uint32_t column) {
    if (rows == NULL || chunk >= rows->chunk_count) {
        return 0;
    }
    return column == 0 ? rows->chunks[chunk]->handles.version : rows->chunks[chunk]->columns[column - 1].version;
}

static void make_versions(mi_maker *m, const mi_pair *p, uint32_t chunk) {
    const uint32_t columns = 1 + (p->base != NULL ? p->base->column_count : p->target->column_count);
    for (uint32_t column = 0; column < columns; column++) {
        mi_numbers_add(&m->numbers_writer, chunk * columns + column,
                       version_of(p->base, chunk, column) ^ version_of(p->target, chunk, column));
    }
}

static mi_ends ends_of_rows(const mi_pair *p, uint32_t (*get)(const mi_rows_image *rows)) {
    return (mi_ends){.base = get(p->base), .target = get(p->target)};
}
static uint32_t get_row_count(const mi_rows_image *rows) {
    return rows == NULL ? 0 : rows->row_count;
}
static uint32_t get_dead_count(const mi_rows_image *rows) {
    return rows == NULL ? 0 : rows->dead_count;
}
static uint32_t get_dead_head(const mi_rows_image *rows) {
    return rows == NULL ? MI_POSITION_NONE : rows->dead_head;
}

static void make_rows(mi_maker *m) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < m->pairs.count; i++) {
        count += m->pairs.data[i].base != m->pairs.data[i].target;
    }
    mi_bytes_put_varint(m->bytes, count);
    for (uint32_t i = 0; i < m->pairs.count; i++) {
        const mi_pair *p = &m->pairs.data[i];
        if (p->base == p->target) {
            continue;
        }
        const mi_delta_rows rows = {.key_count = p->key_count,
                                    .is_pool = i >= m->table_pairs,
                                    .row_count = ends_of_rows(p, get_row_count),
                                    .dead_count = ends_of_rows(p, get_dead_count),
                                    .dead_head = ends_of_rows(p, get_dead_head)};
        mi_delta_put_rows(m->bytes, &rows, m->keys.data + p->first_key);
        for (uint32_t chunk = 0; chunk < mi_chunks_of(p); chunk++) {
            if (!mi_chunk_is_shared(p, chunk)) {
                make_order(m, p, chunk);
            }
        }
        mi_numbers_finish(&m->numbers_writer, m->bytes);
        for (uint32_t chunk = 0; chunk < mi_chunks_of(p); chunk++) {
            if (!mi_chunk_is_shared(p, chunk)) {
                make_versions(m, p, chunk);
            }
        }
        mi_numbers_finish(&m->numbers_writer, m->bytes);
    }
}

// Marks

static uint32_t kind_of_marks(const mi_maker *m, const mi_marks_image *marks) {
    switch (marks->kind) {
    case MI_MARKS_DISABLED:
        return MI_DELTA_MARK_DISABLED;
    case MI_MARKS_KILLED:
        return MI_DELTA_MARK_KILLED;
    case MI_MARKS_TOGGLED:
    default:
        return MI_DELTA_MARK_TOGGLED + m->numbers.data[marks->component];
    }
}

// The set of a kind in a snapshot; NULL: nobody is in it. Sets come in the order of their kinds.
static const mi_marks_image *marks_at(const mi_maker *m, const mica_snapshot *snapshot, uint32_t *at, uint32_t kind) {
    if (*at == snapshot->mark_count || kind_of_marks(m, snapshot->marks[*at]) != kind) {
        return NULL;
    }
    return snapshot->marks[(*at)++];
}

// Writes who is in one of two sets alone.
static void make_set(mi_maker *m, const mi_marks_image *base, const mi_marks_image *target) {
    const uint32_t base_count = base == NULL ? 0 : base->count;
    const uint32_t target_count = target == NULL ? 0 : target->count;
    for (uint32_t i = 0, k = 0; i < base_count || k < target_count;) {
        const uint32_t a = i < base_count ? base->indices[i] : UINT32_MAX;
        const uint32_t b = k < target_count ? target->indices[k] : UINT32_MAX;
        if (a != b) {
            mi_set_add(&m->set, a < b ? a : b);
        }
        i += a <= b;
        k += b <= a;
    }
}

static void make_marks(mi_maker *m) {
    mi_bytes sets = mi_bytes_in(m->heap);
    uint32_t count = 0;
    uint32_t base_at = 0;
    uint32_t target_at = 0;
    for (uint32_t kind = 0; kind < MI_DELTA_MARK_TOGGLED + m->components.count; kind++) {
        const mi_marks_image *base = marks_at(m, m->base, &base_at, kind);
        const mi_marks_image *target = marks_at(m, m->target, &target_at, kind);
        if (base == target) {
            continue;
        }
        make_set(m, base, target);
        if (m->set.count > 0) {
            count++;
            mi_bytes_put_varint(&sets, kind);
            mi_set_finish(&m->set, &sets);
        }
    }
    mi_bytes_put_varint(m->bytes, count);
    mi_bytes_put(m->bytes, sets.array.data, sets.array.count);
    if (sets.result != MICA_OK) {
        mi_maker_fail(m, sets.result, NULL);
    }
    mi_bytes_free(&sets);
}

// Parts

// Those of equal length differ in stretches; of others, what they begin and end with in common is left out.
static void make_hunks(mi_maker *m, mi_section base, mi_section target) {
    enum { NEAR = 6 }; // bytes in common that a new hunk would not be worth
    const uint8_t *a = base.bytes;
    const uint8_t *b = target.bytes;
    const uint32_t a_size = base.byte_count;
    const uint32_t b_size = target.byte_count;
    const uint32_t shared = a_size < b_size ? a_size : b_size;
    uint32_t front = 0;
    uint32_t back = 0;
    while (front < shared && a[front] == b[front]) {
        front++;
    }
    while (back < shared - front && a[a_size - 1 - back] == b[b_size - 1 - back]) {
        back++;
    }
    if (a_size != b_size) {
        const mi_hunk hunk = {.kept = front,
                              .base_size = a_size - front - back,
                              .target_size = b_size - front - back,
                              .base = a == NULL ? NULL : a + front,
                              .target = b == NULL ? NULL : b + front};
        mi_hunks_add(&m->hunks, &hunk);
        return;
    }
    uint32_t last_end = 0;
    for (uint32_t at = front; at < a_size - back;) {
        uint32_t end = at;
        for (uint32_t i = at; i < a_size - back && i < end + NEAR; i++) {
            end = a[i] != b[i] ? i + 1 : end;
        }
        const mi_hunk hunk = {
            .kept = at - last_end, .base_size = end - at, .target_size = end - at, .base = a + at, .target = b + at};
        mi_hunks_add(&m->hunks, &hunk);
        last_end = end;
        at = end;
        while (at < a_size - back && a[at] == b[at]) {
            at++;
        }
    }
}

// The first part by name behind `name`; NULL: there is none.
static const mi_part_image *next_part(const mica_snapshot *snapshot, const char *name) {
    const mi_part_image *next = NULL;
    for (uint32_t i = 0; i < snapshot->part_count; i++) {
        const mi_part_image *part = snapshot->parts[i];
        // A record without bytes says the same as none.
        if (part->record.bytes.count == 0 && part->record.values.count == 0) {
            continue;
        }
        if (strcmp(part->part->name, name) > 0 && (next == NULL || strcmp(part->part->name, next->part->name) < 0)) {
            next = part;
        }
    }
    return next;
}

// Whether bytes say all that the delta is to have of a part's record, which may be NULL.
static bool can_write(mi_maker *m, const mi_part_image *image) {
    for (uint32_t i = 0; image != NULL && i < image->record.values.count; i++) {
        const mi_type *type = image->record.values.data[i].type;
        if (mi_part_spares(image->part, type) ? m->is_complete : !mi_type_is_told(type)) {
            m->place = image->part->name;
            return mi_maker_fail(m, MICA_UNSUPPORTED, type->info.name);
        }
    }
    return true;
}

// Tells of the values beside the bytes, by number, where they differ.
static bool tell_values(mi_maker *m, const mi_section sections[2]) {
    uint32_t at[2] = {0};
    for (uint32_t place = 0;; place++) {
        mi_told_value told;
        bool is_end = true;
        for (uint32_t side = 0; side < 2; side++) {
            const mi_record_value *value = mi_section_next_value(&sections[side], &at[side]);
            told.ends[side] = value == NULL ? mi_maker_tell(m, side, NULL, NULL, NULL)
                                            : mi_maker_tell(m, side, value->type, value->value, value->type->info.name);
            is_end = is_end && value == NULL;
        }
        if (is_end) {
            return true;
        }
        if (!mi_maker_add_told(m, place, &told)) {
            return false;
        }
    }
}

static bool make_part(mi_maker *m, mi_bytes *to, const char *name, const mi_part_image *base,
                      const mi_part_image *target) {
    mi_delta_part part = {.name = name, .in_base = base != NULL, .in_target = target != NULL};
    if (base != target && (!can_write(m, base) || !can_write(m, target))) {
        return false;
    }
    for (uint32_t kind = 0; kind < MI_SECTION_COUNT; kind++) {
        part.sections[kind].sums = (mi_ends){.base = mi_sum_part(base, kind), .target = mi_sum_part(target, kind)};
    }
    mi_delta_put_part(to, &part);
    for (uint32_t kind = 0; kind < MI_SECTION_COUNT; kind++) {
        if (kind == MI_SECTION_REST && mi_section_is_void(&part.sections[kind])) {
            continue;
        }
        if (base != target) {
            const mi_section sections[2] = {mi_part_section(base, kind), mi_part_section(target, kind)};
            make_hunks(m, sections[0], sections[1]);
            if (!tell_values(m, sections)) {
                return false;
            }
        }
        mi_delta_put_sums(to, part.sections[kind].sums);
        mi_hunks_finish(&m->hunks, to);
        mi_told_finish(&m->told, to);
    }
    return true;
}

static void make_parts(mi_maker *m) {
    mi_bytes parts = mi_bytes_in(m->heap);
    uint32_t count = 0;
    const mi_part_image *base = next_part(m->base, "");
    const mi_part_image *target = next_part(m->target, "");
    while (base != NULL || target != NULL) {
        const int order = base == NULL ? 1 : target == NULL ? -1 : strcmp(base->part->name, target->part->name);
        const char *name = order <= 0 ? base->part->name : target->part->name;
        if (!make_part(m, &parts, name, order <= 0 ? base : NULL, order >= 0 ? target : NULL)) {
            break;
        }
        count++;
        base = next_part(m->base, name);
        target = next_part(m->target, name);
    }
    mi_bytes_put_varint(m->bytes, count);
    mi_bytes_put(m->bytes, parts.array.data, parts.array.count);
    if (parts.result != MICA_OK) {
        mi_maker_fail(m, parts.result, NULL);
    }
    mi_bytes_free(&parts);
}

// The whole

// Whether everybody stands where he stood, as far as images alone tell.
static bool stands_as_before(mi_rows_image *const *base, mi_rows_image *const *target, uint32_t count) {
    bool is_same = true;
    for (uint32_t i = 0; i < count && is_same; i++) {
        const mi_rows_image *a = base[i];
        const mi_rows_image *b = target[i];
        is_same = a == b || (is_same_set(a, b) && a->row_count == b->row_count && a->dead_count == b->dead_count &&
                             a->dead_head == b->dead_head);
        for (uint32_t k = 0; a != b && is_same && k < a->chunk_count; k++) {
            is_same = a->chunks[k]->handles.image == b->chunks[k]->handles.image;
        }
    }
    return is_same;
}

static mi_ends sums_of_order(const mica_snapshot *base, const mica_snapshot *target) {
    const bool is_same = base->table_count == target->table_count && base->pool_count == target->pool_count &&
                         stands_as_before(base->tables, target->tables, base->table_count) &&
                         stands_as_before(base->pools, target->pools, base->pool_count);
    const uint64_t sum = mi_sum_order(target);
    return (mi_ends){.base = is_same ? sum : mi_sum_order(base), .target = sum};
}

static mi_ends sums_of_entities(const mi_slots_image *base, const mi_slots_image *target) {
    const uint64_t sum = mi_sum_entities(target);
    return (mi_ends){.base = base == target ? sum : mi_sum_entities(base), .target = sum};
}

static void make_rest(mi_maker *m) {
    const mica_snapshot *base = m->base;
    const mica_snapshot *target = m->target;
    make_rows(m);
    make_marks(m);
    make_parts(m);
    mi_delta_put_sums(m->bytes, sums_of_entities(base->slots, target->slots));
    mi_delta_put_sums(m->bytes, sums_of_order(base, target));
    mi_delta_put_sums(m->bytes, (mi_ends){mi_sum_versions(base), mi_sum_versions(target)});
    mi_delta_put_sums(m->bytes, (mi_ends){mi_sum_marks(base), mi_sum_marks(target)});
}

static bool is_chosen(const mica_delta_options *options, uint32_t component) {
    bool is_named = options->components == NULL;
    for (int32_t i = 0; !is_named && i < options->component_count; i++) {
        is_named = options->components[i] == component;
    }
    return is_named;
}

static void make(mi_maker *m, const mica_delta_options *options) {
    const mi_slots_image *base = m->base->slots;
    const mi_slots_image *target = m->target->slots;
    const bool is_limited = (m->flags & MI_DELTA_LIMITED) != 0;
    mi_delta_put_head(m->bytes, m->flags);
    if (m->limit != NULL) {
        make_limit(m);
    }
    if (!list_components(m) || !make_pairs_of(m, false)) {
        return;
    }
    m->table_pairs = m->pairs.count;
    if (!make_pairs_of(m, true) || !mi_maker_gather_strays(m, 0, m->table_pairs, m->table_strays)) {
        return;
    }
    make_entities(m);
    uint32_t chosen_count = 0;
    for (uint32_t i = 0; i < m->components.count; i++) {
        chosen_count += is_chosen(options, m->components.data[i]);
    }
    mi_bytes_put_varint(m->bytes, chosen_count);
    for (uint32_t i = 0; i < m->components.count; i++) {
        if (is_chosen(options, m->components.data[i]) &&
            !mi_maker_put_component(m, (mica_component)m->components.data[i])) {
            return;
        }
    }
    if (is_limited) {
        return;
    }
    mi_delta_put_ends(m->bytes, (mi_ends){m->base->version, m->target->version});
    mi_delta_put_ends(m->bytes, (mi_ends){base->used, target->used});
    mi_delta_put_ends(m->bytes, (mi_ends){base->free_head, target->free_head});
    mi_numbers_finish(&m->numbers_writer, m->bytes);
    make_rest(m);
}

static void free_maker(mi_maker *m) {
    mi_maker_free_components(m);
    MI_FREE(m->heap, MICA_MEMORY_STATE, &m->components);
    MI_FREE(m->heap, MICA_MEMORY_STATE, &m->numbers);
    MI_FREE(m->heap, MICA_MEMORY_STATE, &m->pairs);
    MI_FREE(m->heap, MICA_MEMORY_STATE, &m->keys);
    mi_set_writer_free(&m->set);
    mi_numbers_writer_free(&m->numbers_writer);
    mi_bytes_free(&m->hunks.bytes);
    mi_heap_release(m->heap, MICA_MEMORY_STATE, m->limit_bits.words, m->limit_bits.word_count * sizeof(uint64_t),
                    _Alignof(uint64_t));
}

// Marks the slots of the entities that are alive in one of the snapshots.
static bool open_limit(mi_maker *m, const mica_delta_options *options) {
    const mi_slots_image *base = m->base->slots;
    const mi_slots_image *target = m->target->slots;
    const uint32_t end = (base->used > target->used ? base->used : target->used) + 1;
    m->limit_bits.words =
        mi_heap_allocate_zeroed(m->heap, MICA_MEMORY_STATE, mi_bit_words(end) * sizeof(uint64_t), _Alignof(uint64_t));
    if (m->limit_bits.words == NULL) {
        return mi_maker_lack(m);
    }
    m->limit_bits.word_count = mi_bit_words(end);
    m->limit = &m->limit_bits;
    for (int32_t i = 0; i < options->entity_count; i++) {
        const uint32_t slot = mica_entity_index(options->entities[i]);
        const uint64_t alive = (uint64_t)mica_entity_generation(options->entities[i]) << 32;
        if (slot != 0 && slot < end && (slot_at(base, slot) == alive || slot_at(target, slot) == alive)) {
            mi_bit_set(m->limit_bits.words, slot);
        }
    }
    return true;
}

static mica_result check_options(const mica_snapshot *from, const mica_snapshot *to,
                                 const mica_delta_options *options) {
    if (to == NULL) {
        return mi_fail_plain(NULL, MICA_INVALID, call_name, "needs a snapshot to lead to");
    }
    const mica_log_handler *log = &to->vault->schema->log;
    if (from != NULL && from->vault->schema != to->vault->schema) {
        return mi_fail_plain(log, MICA_INVALID, call_name, "the snapshots are of worlds of two schemas");
    }
    if (from != NULL && from->leaves_transient != to->leaves_transient) {
        return mi_fail_plain(log, MICA_INVALID, call_name, "one of the snapshots is without transient values");
    }
    if (options->component_count < 0 || options->entity_count < 0 ||
        (options->component_count > 0 && options->components == NULL) ||
        (options->entity_count > 0 && options->entities == NULL)) {
        return mi_fail_plain(log, MICA_INVALID, call_name, "a count is negative, or its list is missing");
    }
    for (int32_t i = 0; i < options->component_count; i++) {
        if (mi_schema_type(to->vault->schema, options->components[i]) == NULL) {
            return mi_fail(log, MICA_INVALID, call_name, "there is no component {}", MI_UINT(options->components[i]));
        }
    }
    return MICA_OK;
}

static mica_result fail_make(const mi_maker *m, const mica_log_handler *log) {
    switch (m->result) {
    case MICA_UNSUPPORTED:
        if (m->place != NULL) {
            return mi_fail(log, MICA_UNSUPPORTED, call_name,
                           "a value of {} may differ in the part \"{}\" of the state, and its type lacks one of the "
                           "hooks write, read and copy: no bytes stand for it",
                           MI_TEXT(m->culprit), MI_TEXT(m->place));
        }
        return mi_fail(log, MICA_UNSUPPORTED, call_name,
                       "values of {} differ, or rows with them have moved, and have hooks other than write and read: "
                       "no bytes stand for them",
                       MI_TEXT(m->culprit));
    case MICA_LIMIT:
        return mi_fail(log, MICA_LIMIT, call_name, "the delta would have more than {} bytes", MI_UINT(MI_BYTES_MAX));
    default:
        return mi_fail_memory(log, call_name, 0);
    }
}

static mica_delta *make_delta(const mica_snapshot *from, const mica_snapshot *to, const mica_delta_options *options,
                              bool is_complete) {
    const mica_delta_options all = {.components = NULL};
    options = options == NULL ? &all : options;
    if (check_options(from, to, options) != MICA_OK) {
        return NULL;
    }
    const mica_log_handler *log = &to->vault->schema->log;
    mica_delta *delta = mi_delta_open(&to->vault->heap.allocator);
    if (delta == NULL) {
        mi_fail_memory(log, call_name, 0);
        return NULL;
    }
    const bool is_limited = options->components != NULL || options->entities != NULL;
    mi_heap *heap = &delta->heap;
    mi_maker m = {.heap = heap,
                  .schema = to->vault->schema,
                  .base = from == NULL ? &mi_blank_state : from,
                  .target = to,
                  .is_complete = is_complete,
                  .flags = (is_limited ? MI_DELTA_LIMITED : 0u) | (from == NULL && !is_limited ? MI_DELTA_WHOLE : 0u) |
                           (options->entities != NULL ? MI_DELTA_OF_ENTITIES : 0u) |
                           (to->leaves_transient ? MI_DELTA_LEAVES_TRANSIENT : 0u),
                  .bytes = &delta->bytes,
                  .added = mi_set_writer_in(heap),
                  .removed = mi_set_writer_in(heap),
                  .set = mi_set_writer_in(heap),
                  .numbers_writer = mi_numbers_writer_in(heap),
                  .values = mi_values_writer_in(heap),
                  .told = mi_told_writer_in(heap),
                  .told_bytes = {mi_bytes_in(heap), mi_bytes_in(heap)},
                  .hunks.bytes = mi_bytes_in(heap)};
    if (options->entities == NULL || open_limit(&m, options)) {
        make(&m, options);
    }
    if (m.result == MICA_OK) {
        m.result = mi_delta_finish(&delta->bytes);
    }
    free_maker(&m);
    if (m.result != MICA_OK) {
        fail_make(&m, log);
        mica_delta_release(delta);
        return NULL;
    }
    return delta;
}

mica_delta *mica_delta_make(const mica_snapshot *from, const mica_snapshot *to, const mica_delta_options *options) {
    return make_delta(from, to, options, false);
}

mica_delta *mi_delta_make_complete(const mica_snapshot *from, const mica_snapshot *to) {
    return make_delta(from, to, NULL, true);
}

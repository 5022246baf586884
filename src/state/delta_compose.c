// Composing two deltas.
//
// Everything that differs has a key (a slot, a position, a place in a record), and the two deltas are walked along it
// side by side. What both of them have, cancels or joins: exclusive-ors are exclusive-ored, fates follow each other,
// hunks of a record are laid over the bytes that the state in the middle had there. Sets are taken by stretches, so
// that the time follows the bytes.
#include "base/error.h"
#include "state/delta.h"

#include <string.h>

static const char call_name[] = "mica_delta_compose";

typedef struct composer {
    mi_heap *heap;
    mi_delta first;
    mi_delta second;
    mi_bytes *bytes;
    MI_ARRAY(uint32_t) numbers[2]; // of the components of each delta: what they are in the composed one
    MI_ARRAY(uint8_t) value;
    mi_set_writer set;
    mi_set_writer other_set;
    mi_numbers_writer numbers_writer;
    mi_values_writer values;
    mi_told_writer told;
    mi_hunks_writer hunks;
    mi_bytes base_bytes; // of a hunk
    mi_bytes middle_bytes;
    mi_bytes target_bytes;
    mica_result result;
    const char *fault;
    const char *name; // what the fault is about; NULL: nothing with a name
} composer;

static bool fail(composer *c, mica_result result, const char *fault, const char *name) {
    if (c->result == MICA_OK) {
        c->result = result;
        c->fault = fault;
        c->name = name;
    }
    return false;
}

static bool mismatch(composer *c, const char *name) {
    return fail(c, MICA_MISMATCH, "the second delta does not begin where the first one ends", name);
}

// What is not in a delta.
static const mi_set no_set = {.count = 0};
static const mi_numbers no_numbers = {.places = {.count = 0}};
static const mi_told_values no_told = {.places = {.count = 0}};

// Joining

static void put_joined_sets(const mi_set *a, const mi_set *b, mi_set_writer *to) {
    const mi_set *const sets[] = {a, b};
    mi_sweep sweep = mi_sweep_of(sets, 2);
    uint32_t first = 0;
    uint32_t length = 0;
    uint32_t members = 0;
    while (mi_sweep_next(&sweep, &first, &length, &members)) {
        if (members != 3) {
            mi_set_add_run(to, first, length);
        }
    }
}

static void put_joined_numbers(composer *c, const mi_numbers *a, const mi_numbers *b, mi_bytes *to) {
    mi_numbers_walk walks[2] = {mi_numbers_walk_of(a), mi_numbers_walk_of(b)};
    uint32_t places[2] = {0};
    uint64_t numbers[2] = {0};
    bool has[2];
    for (uint32_t i = 0; i < 2; i++) {
        has[i] = mi_numbers_next(&walks[i], &places[i], &numbers[i]);
    }
    while (has[0] || has[1]) {
        const uint32_t place = !has[1] || (has[0] && places[0] < places[1]) ? places[0] : places[1];
        uint64_t joined = 0;
        for (uint32_t i = 0; i < 2; i++) {
            if (has[i] && places[i] == place) {
                joined ^= numbers[i];
                has[i] = mi_numbers_next(&walks[i], &places[i], &numbers[i]);
            }
        }
        mi_numbers_add(&c->numbers_writer, place, joined);
    }
    mi_numbers_finish(&c->numbers_writer, to);
}

static bool put_joined_values(composer *c, const mi_values *a, const mi_values *b, uint32_t size) {
    const size_t room = ((size_t)size + 7) / 8 * 8 + 8;
    mi_values_start(&c->values, size);
    if (a->places.count == 0 && b->places.count == 0) {
        mi_values_finish(&c->values, c->bytes);
        return true;
    }
    if (!MI_RESERVE(c->heap, MICA_MEMORY_STATE, &c->value, room)) {
        return fail(c, MICA_OUT_OF_MEMORY, NULL, NULL);
    }
    mi_values_walk walks[2];
    uint32_t places[2] = {0};
    bool has[2];
    mi_values_walk_begin(&walks[0], a);
    mi_values_walk_begin(&walks[1], b);
    for (uint32_t i = 0; i < 2; i++) {
        has[i] = mi_values_next(&walks[i], &places[i]);
    }
    while (has[0] || has[1]) {
        const uint32_t place = !has[1] || (has[0] && places[0] < places[1]) ? places[0] : places[1];
        memset(c->value.data, 0, room);
        for (uint32_t i = 0; i < 2; i++) {
            if (has[i] && places[i] == place) {
                mi_values_take(&walks[i], c->value.data);
                has[i] = mi_values_next(&walks[i], &places[i]);
            }
        }
        mi_values_add(&c->values, place, c->value.data);
    }
    mi_values_finish(&c->values, c->bytes);
    return true;
}

// Puts values that both deltas tell of; what the first ends with is what the second begins with.
static bool put_joined_told(composer *c, const mi_told_values *a, const mi_told_values *b, const char *name,
                            mi_bytes *to) {
    mi_told_walk walks[2] = {mi_told_walk_of(a), mi_told_walk_of(b)};
    mi_told_value values[2];
    uint32_t places[2] = {0};
    bool has[2];
    bool is_fine = true;
    for (uint32_t i = 0; i < 2; i++) {
        has[i] = mi_told_next(&walks[i], &places[i], &values[i]);
    }
    while (is_fine && (has[0] || has[1])) {
        const uint32_t place = !has[1] || (has[0] && places[0] < places[1]) ? places[0] : places[1];
        const bool in_first = has[0] && places[0] == place;
        const bool in_second = has[1] && places[1] == place;
        const mi_told_value joined = {
            .ends = {values[in_first ? 0 : 1].ends[0], values[in_second ? 1 : 0].ends[1]},
        };
        is_fine = !in_first || !in_second || mi_told_ends_equal(&values[0].ends[1], &values[1].ends[0]);
        mi_told_add(&c->told, place, &joined);
        has[0] = in_first ? mi_told_next(&walks[0], &places[0], &values[0]) : has[0];
        has[1] = in_second ? mi_told_next(&walks[1], &places[1], &values[1]) : has[1];
    }
    mi_told_finish(&c->told, to);
    return is_fine || mismatch(c, name);
}

// Fates

// The fates of a delta in the order of slots.
typedef struct fates_merge {
    mi_fates_walk walks[MI_FATE_COUNT];
    uint32_t slots[MI_FATE_COUNT];
    mi_ends generations[MI_FATE_COUNT];
    bool has[MI_FATE_COUNT];
} fates_merge;

typedef struct fated {
    uint32_t slot; // UINT32_MAX: there are no more
    mi_fate fate;
    mi_ends generations;
} fated;

static fates_merge merge_of(const mi_delta *delta) {
    fates_merge merge;
    for (uint32_t i = 0; i < MI_FATE_COUNT; i++) {
        merge.walks[i] = mi_fates_walk_of(&delta->fates[i]);
        merge.has[i] = mi_fates_next(&merge.walks[i], &merge.slots[i], &merge.generations[i]);
    }
    return merge;
}

static fated next_fated(fates_merge *merge) {
    fated next = {.slot = UINT32_MAX};
    for (uint32_t i = 0; i < MI_FATE_COUNT; i++) {
        if (merge->has[i] && merge->slots[i] < next.slot) {
            next = (fated){.slot = merge->slots[i], .fate = (mi_fate)i, .generations = merge->generations[i]};
        }
    }
    if (next.slot != UINT32_MAX) {
        const uint32_t i = next.fate;
        merge->has[i] = mi_fates_next(&merge->walks[i], &merge->slots[i], &merge->generations[i]);
    }
    return next;
}

static bool lived(mi_fate fate) {
    return fate == MI_FATE_DESTROYED || fate == MI_FATE_REPLACED;
}

static bool lives(mi_fate fate) {
    return fate == MI_FATE_CREATED || fate == MI_FATE_REPLACED;
}

// What two fates of a slot come to; MI_FATE_COUNT: nothing.
static bool join_fates(composer *c, const fated *a, const fated *b, fated *joined) {
    const bool is_limited = mi_delta_is_limited(&c->first);
    const bool is_there = lives(a->fate);
    if (is_there != lived(b->fate) || ((is_there || !is_limited) && a->generations.target != b->generations.base)) {
        return mismatch(c, "entities");
    }
    const mi_ends generations = {.base = a->generations.base, .target = b->generations.target};
    const bool is_same = generations.base == generations.target;
    *joined = (fated){.slot = a->slot, .generations = generations, .fate = MI_FATE_COUNT};
    if (lived(a->fate) && lives(b->fate)) {
        joined->fate = is_same ? MI_FATE_COUNT : MI_FATE_REPLACED;
    } else if (lived(a->fate)) {
        joined->fate = MI_FATE_DESTROYED;
    } else if (lives(b->fate)) {
        joined->fate = MI_FATE_CREATED;
    } else {
        joined->fate = is_same || is_limited ? MI_FATE_COUNT : MI_FATE_NOBODY;
    }
    return true;
}

static bool compose_fates(composer *c) {
    mi_fates_writer fates[MI_FATE_COUNT];
    for (uint32_t i = 0; i < MI_FATE_COUNT; i++) {
        fates[i] = mi_fates_writer_in(c->heap);
    }
    fates_merge merges[2] = {merge_of(&c->first), merge_of(&c->second)};
    fated a = next_fated(&merges[0]);
    fated b = next_fated(&merges[1]);
    bool is_fine = true;
    while (is_fine && (a.slot != UINT32_MAX || b.slot != UINT32_MAX)) {
        fated joined = a.slot < b.slot ? a : b;
        const uint32_t slot = joined.slot;
        if (a.slot == b.slot) {
            is_fine = join_fates(c, &a, &b, &joined);
        }
        if (is_fine && joined.fate != MI_FATE_COUNT) {
            mi_fates_add(&fates[joined.fate], joined.slot, joined.generations);
        }
        a = a.slot == slot ? next_fated(&merges[0]) : a;
        b = b.slot == slot ? next_fated(&merges[1]) : b;
    }
    const uint32_t count = mi_delta_is_limited(&c->first) ? MI_FATE_NOBODY : MI_FATE_COUNT;
    for (uint32_t i = 0; i < count; i++) {
        mi_fates_finish(&fates[i], c->bytes);
    }
    for (uint32_t i = 0; i < MI_FATE_COUNT; i++) {
        mi_fates_writer_free(&fates[i]);
    }
    return is_fine;
}

// Components

// Whether what one delta ends with is what the other one begins with; NULL: has nothing of it.
static bool sums_meet(const mi_ends *first, const mi_ends *second) {
    return (first == NULL ? 0 : first->target) == (second == NULL ? 0 : second->base);
}

static mi_ends join_ends(const mi_ends *first, const mi_ends *second) {
    return (mi_ends){.base = first == NULL ? 0 : first->base, .target = second == NULL ? 0 : second->target};
}

// Who has the component in the end and not at the beginning, and the other way around.
static bool put_joined_presence(composer *c, const mi_delta_component *a, const mi_delta_component *b,
                                const char *name) {
    enum { FIRST_ADDS = 1, FIRST_REMOVES = 2, SECOND_ADDS = 4, SECOND_REMOVES = 8 };
    const mi_set *const sets[] = {a == NULL ? &no_set : &a->added, a == NULL ? &no_set : &a->removed,
                                  b == NULL ? &no_set : &b->added, b == NULL ? &no_set : &b->removed};
    mi_sweep sweep = mi_sweep_of(sets, 4);
    uint32_t first = 0;
    uint32_t length = 0;
    uint32_t members = 0;
    bool is_fine = true;
    while (is_fine && mi_sweep_next(&sweep, &first, &length, &members)) {
        if (members == FIRST_ADDS || members == SECOND_ADDS) {
            mi_set_add_run(&c->set, first, length);
        } else if (members == FIRST_REMOVES || members == SECOND_REMOVES) {
            mi_set_add_run(&c->other_set, first, length);
        } else {
            is_fine = members == (FIRST_ADDS | SECOND_REMOVES) || members == (FIRST_REMOVES | SECOND_ADDS);
        }
    }
    mi_set_finish(&c->set, c->bytes);
    mi_set_finish(&c->other_set, c->bytes);
    return is_fine || mismatch(c, name);
}

static bool compose_component(composer *c, const mi_delta_component *a, const mi_delta_component *b) {
    const mi_delta_component *either = a == NULL ? b : a;
    if (either == NULL) {
        return true; // not both are missing
    }
    const mi_values no_values = {.size = either->size};
    if (a != NULL && b != NULL &&
        (a->size != b->size || a->is_told != b->is_told ||
         (a->fields_hash != b->fields_hash && a->fields_hash != 0 && b->fields_hash != 0))) {
        return fail(c, MICA_MISMATCH, "the component has another size or other fields in the second delta", a->name);
    }
    if (!sums_meet(a == NULL ? NULL : &a->sums, b == NULL ? NULL : &b->sums)) {
        return mismatch(c, either->name);
    }
    const mi_delta_component head = {.name = either->name,
                                     .is_told = either->is_told,
                                     .size = either->size,
                                     .fields_hash =
                                         b != NULL && either->fields_hash == 0 ? b->fields_hash : either->fields_hash,
                                     .sums = join_ends(a == NULL ? NULL : &a->sums, b == NULL ? NULL : &b->sums)};
    mi_delta_put_component(c->bytes, &head);
    if (!put_joined_presence(c, a, b, head.name)) {
        return false;
    }
    if (head.is_told) {
        return put_joined_told(c, a == NULL ? &no_told : &a->told, b == NULL ? &no_told : &b->told, head.name,
                               c->bytes);
    }
    return put_joined_values(c, a == NULL ? &no_values : &a->values, b == NULL ? &no_values : &b->values, head.size);
}

// By name; NULL, the end of a list, comes last.
static int compare_names(const char *a, const char *b) {
    return a == NULL ? 1 : b == NULL ? -1 : strcmp(a, b);
}

// Puts a count and what was written aside.
static bool put_counted(composer *c, uint32_t count, mi_bytes *aside) {
    mi_bytes_put_varint(c->bytes, count);
    mi_bytes_put(c->bytes, aside->array.data, aside->array.count);
    const mica_result result = aside->result;
    mi_bytes_free(aside);
    return result == MICA_OK || fail(c, result, NULL, NULL);
}

static bool compose_components(composer *c) {
    const mi_delta *deltas[2] = {&c->first, &c->second};
    uint32_t at[2] = {0};
    uint32_t count = 0;
    for (uint32_t i = 0; i < 2; i++) {
        if (!MI_RESERVE(c->heap, MICA_MEMORY_STATE, &c->numbers[i], deltas[i]->components.count)) {
            return fail(c, MICA_OUT_OF_MEMORY, NULL, NULL);
        }
    }
    mi_bytes whole = *c->bytes; // their number stands in front of them
    *c->bytes = mi_bytes_in(c->heap);
    bool is_fine = true;
    while (is_fine && (at[0] < c->first.components.count || at[1] < c->second.components.count)) {
        const mi_delta_component *next[2];
        for (uint32_t i = 0; i < 2; i++) {
            next[i] = at[i] < deltas[i]->components.count ? &deltas[i]->components.data[at[i]] : NULL;
        }
        const int order = compare_names(next[0] == NULL ? NULL : next[0]->name, next[1] == NULL ? NULL : next[1]->name);
        for (uint32_t i = 0; i < 2; i++) {
            if (i == 0 ? order > 0 : order < 0) {
                next[i] = NULL;
            } else {
                c->numbers[i].data[c->numbers[i].count++] = count;
                at[i]++;
            }
        }
        count++;
        is_fine = compose_component(c, next[0], next[1]);
    }
    mi_bytes components = *c->bytes;
    *c->bytes = whole;
    return put_counted(c, count, &components) && is_fine;
}

// Rows

// The number that component `i` of rows has in the composed delta.
static uint32_t key_of(const composer *c, uint32_t which, const mi_delta_rows *rows, uint32_t i) {
    const mi_delta *delta = which == 0 ? &c->first : &c->second;
    return c->numbers[which].data[delta->keys.data[rows->first_key + i]];
}

static int compare_rows(const composer *c, const mi_delta_rows *a, const mi_delta_rows *b) {
    if (a == NULL || b == NULL) {
        return a == NULL ? 1 : -1;
    }
    if (a->is_pool != b->is_pool) {
        return a->is_pool ? 1 : -1;
    }
    for (uint32_t i = 0; i < a->key_count && i < b->key_count; i++) {
        const uint32_t x = key_of(c, 0, a, i);
        const uint32_t y = key_of(c, 1, b, i);
        if (x != y) {
            return x < y ? -1 : 1;
        }
    }
    return (a->key_count > b->key_count) - (a->key_count < b->key_count);
}

// What one delta says of rows that the other one says nothing of is as it was in it.
static bool join_counts(const mi_ends *a, const mi_ends *b, mi_ends *joined) {
    const bool meet = a == NULL || b == NULL || a->target == b->base;
    const mi_ends none = {0, 0}; // not both say nothing
    const mi_ends *first = a != NULL ? a : b != NULL ? b : &none;
    const mi_ends *last = b != NULL ? b : first;
    *joined = (mi_ends){.base = first->base, .target = last->target};
    return meet;
}

static bool compose_rows_of(composer *c, const mi_delta_rows *a, const mi_delta_rows *b, mi_bytes *to,
                            uint32_t *count) {
    const mi_delta_rows *either = a == NULL ? b : a;
    if (either == NULL) {
        return true; // not both are missing
    }
    mi_delta_rows head = {.key_count = either->key_count, .is_pool = either->is_pool};
    const bool meet =
        join_counts(a == NULL ? NULL : &a->row_count, b == NULL ? NULL : &b->row_count, &head.row_count) &&
        join_counts(a == NULL ? NULL : &a->dead_count, b == NULL ? NULL : &b->dead_count, &head.dead_count) &&
        join_counts(a == NULL ? NULL : &a->dead_head, b == NULL ? NULL : &b->dead_head, &head.dead_head);
    if (!meet) {
        return mismatch(c, "rows");
    }
    if (head.row_count.base == 0 && head.row_count.target == 0) {
        return true; // there were rows in the middle alone
    }
    uint32_t *keys =
        mi_heap_allocate(c->heap, MICA_MEMORY_STATE, either->key_count * sizeof(uint32_t), _Alignof(uint32_t));
    if (keys == NULL) {
        return fail(c, MICA_OUT_OF_MEMORY, NULL, NULL);
    }
    for (uint32_t i = 0; i < either->key_count; i++) {
        keys[i] = key_of(c, a == NULL ? 1 : 0, either, i);
    }
    mi_delta_put_rows(to, &head, keys);
    mi_heap_release(c->heap, MICA_MEMORY_STATE, keys, either->key_count * sizeof(uint32_t), _Alignof(uint32_t));
    put_joined_numbers(c, a == NULL ? &no_numbers : &a->order, b == NULL ? &no_numbers : &b->order, to);
    put_joined_numbers(c, a == NULL ? &no_numbers : &a->versions, b == NULL ? &no_numbers : &b->versions, to);
    ++*count;
    return true;
}

static bool compose_rows(composer *c) {
    mi_bytes rows = mi_bytes_in(c->heap);
    uint32_t count = 0;
    bool is_fine = true;
    for (uint32_t i = 0, k = 0; is_fine && (i < c->first.rows.count || k < c->second.rows.count);) {
        const mi_delta_rows *a = i < c->first.rows.count ? &c->first.rows.data[i] : NULL;
        const mi_delta_rows *b = k < c->second.rows.count ? &c->second.rows.data[k] : NULL;
        const int order = compare_rows(c, a, b);
        i += order <= 0;
        k += order >= 0;
        is_fine = compose_rows_of(c, order <= 0 ? a : NULL, order >= 0 ? b : NULL, &rows, &count);
    }
    return put_counted(c, count, &rows) && is_fine;
}

static uint32_t kind_of(const composer *c, uint32_t which, uint32_t kind) {
    return kind < MI_DELTA_MARK_TOGGLED ? kind
                                        : MI_DELTA_MARK_TOGGLED + c->numbers[which].data[kind - MI_DELTA_MARK_TOGGLED];
}

static bool compose_marks(composer *c) {
    mi_bytes marks = mi_bytes_in(c->heap);
    uint32_t count = 0;
    for (uint32_t i = 0, k = 0; i < c->first.marks.count || k < c->second.marks.count;) {
        const mi_delta_marks *a = i < c->first.marks.count ? &c->first.marks.data[i] : NULL;
        const mi_delta_marks *b = k < c->second.marks.count ? &c->second.marks.data[k] : NULL;
        const uint32_t a_kind = a == NULL ? UINT32_MAX : kind_of(c, 0, a->kind);
        const uint32_t b_kind = b == NULL ? UINT32_MAX : kind_of(c, 1, b->kind);
        i += a_kind <= b_kind;
        k += b_kind <= a_kind;
        put_joined_sets(a_kind <= b_kind ? &a->changed : &no_set, b_kind <= a_kind ? &b->changed : &no_set, &c->set);
        if (c->set.count > 0) {
            count++;
            mi_bytes_put_varint(&marks, a_kind <= b_kind ? a_kind : b_kind);
            mi_set_finish(&c->set, &marks);
        }
    }
    return put_counted(c, count, &marks);
}

// Parts

// A walk over hunks, with where each stands in the record of the state in the middle.
typedef struct hunk_walk {
    mi_source hunks;
    bool is_first; // the middle is the target's side; else the base's
    mi_hunk hunk;
    bool has;
    uint64_t middle_at; // of the hunk
    uint64_t other_at;
    uint64_t middle_end; // of the hunk before
    uint64_t other_end;
} hunk_walk;

static uint32_t middle_size(const hunk_walk *walk) {
    return walk->is_first ? walk->hunk.target_size : walk->hunk.base_size;
}
static uint32_t other_size(const hunk_walk *walk) {
    return walk->is_first ? walk->hunk.base_size : walk->hunk.target_size;
}
static const uint8_t *middle_of(const hunk_walk *walk) {
    return walk->is_first ? walk->hunk.target : walk->hunk.base;
}
static const uint8_t *other_of(const hunk_walk *walk) {
    return walk->is_first ? walk->hunk.base : walk->hunk.target;
}

static void next_hunk(hunk_walk *walk) {
    walk->has = mi_hunk_next(&walk->hunks, &walk->hunk);
    if (walk->has) {
        walk->middle_at = walk->middle_end + walk->hunk.kept;
        walk->other_at = walk->other_end + walk->hunk.kept;
        walk->middle_end = walk->middle_at + middle_size(walk);
        walk->other_end = walk->other_at + other_size(walk);
    }
}

static hunk_walk walk_hunks(const mi_delta_section *section, bool is_first) {
    hunk_walk walk = {.hunks = section == NULL ? mi_source_of(NULL, 0) : section->hunks, .is_first = is_first};
    next_hunk(&walk);
    return walk;
}

// Writes the bytes of the middle that a hunk covers where they are not written yet, and checks those that are; false:
// they contradict each other.
static bool cover(mi_bytes *middle, uint64_t start, const hunk_walk *walk) {
    const uint64_t at = walk->middle_at - start;
    const uint32_t size = middle_size(walk);
    const uint64_t written = middle->array.count;
    const uint64_t shared = written <= at ? 0 : written - at < size ? written - at : size;
    if (shared > 0 && memcmp(middle->array.data + at, middle_of(walk), (size_t)shared) != 0) {
        return false;
    }
    mi_bytes_put(middle, middle_of(walk) + shared, size - (size_t)shared);
    return true;
}

// Goes on with one side of a cluster: what stands in the middle between its hunks, then what the hunk has.
static void go_to(mi_bytes *side, const mi_bytes *middle, uint64_t *at, uint64_t start, uint64_t end) {
    if (end > *at && middle->result == MICA_OK) {
        mi_bytes_put(side, middle->array.data + (*at - start), (size_t)(end - *at));
    }
    *at = end;
}

// Joins hunks of both deltas that touch each other into one; false: they contradict each other.
static bool join_cluster(composer *c, hunk_walk *a, hunk_walk *b) {
    hunk_walk starts[2] = {*a, *b};
    const uint64_t start = !b->has || (a->has && a->middle_at <= b->middle_at) ? a->middle_at : b->middle_at;
    mi_bytes_clear(&c->base_bytes);
    mi_bytes_clear(&c->middle_bytes);
    mi_bytes_clear(&c->target_bytes);
    uint64_t end = start;
    uint32_t counts[2] = {0};
    hunk_walk *walks[2] = {a, b};
    for (bool goes_on = true; goes_on;) {
        goes_on = false;
        for (uint32_t i = 0; i < 2; i++) {
            hunk_walk *walk = walks[i];
            if (walk->has && walk->middle_at <= end) {
                if (!cover(&c->middle_bytes, start, walk)) {
                    return false;
                }
                end = walk->middle_end > end ? walk->middle_end : end;
                counts[i]++;
                next_hunk(walk);
                goes_on = true;
            }
        }
    }
    mi_bytes *sides[2] = {&c->base_bytes, &c->target_bytes};
    for (uint32_t i = 0; i < 2; i++) {
        uint64_t at = start;
        for (; counts[i] > 0; counts[i]--) {
            go_to(sides[i], &c->middle_bytes, &at, start, starts[i].middle_at);
            mi_bytes_put(sides[i], other_of(&starts[i]), other_size(&starts[i]));
            at = starts[i].middle_end;
            next_hunk(&starts[i]);
        }
        go_to(sides[i], &c->middle_bytes, &at, start, end);
    }
    return true;
}

// Writes the joined hunks of a section; false: they contradict each other.
static bool join_hunks(composer *c, const mi_delta_section *first, const mi_delta_section *second) {
    hunk_walk a = walk_hunks(first, true);
    hunk_walk b = walk_hunks(second, false);
    uint64_t middle_at = 0; // behind the cluster before
    uint64_t kept = 0;      // of the base since the hunk that was written last
    while (a.has || b.has) {
        const uint64_t start = !b.has || (a.has && a.middle_at <= b.middle_at) ? a.middle_at : b.middle_at;
        kept += start - middle_at;
        if (!join_cluster(c, &a, &b)) {
            return false;
        }
        middle_at = start + c->middle_bytes.array.count;
        const mi_hunk hunk = {.kept = kept,
                              .base_size = c->base_bytes.array.count,
                              .target_size = c->target_bytes.array.count,
                              .base = c->base_bytes.array.data,
                              .target = c->target_bytes.array.data};
        if (hunk.base_size == hunk.target_size &&
            (hunk.base_size == 0 || memcmp(hunk.base, hunk.target, hunk.base_size) == 0)) {
            kept += hunk.base_size;
            continue;
        }
        mi_hunks_add(&c->hunks, &hunk);
        kept = 0;
    }
    return true;
}

static bool compose_part(composer *c, const mi_delta_part *a, const mi_delta_part *b, mi_bytes *to, uint32_t *count) {
    const mi_delta_part *either = a == NULL ? b : a;
    if (either == NULL) {
        return true; // not both are missing
    }
    mi_delta_part part = {
        .name = either->name, .in_base = a != NULL && a->in_base, .in_target = b != NULL && b->in_target};
    const mi_delta_section *sections[MI_SECTION_COUNT][2];
    for (uint32_t kind = 0; kind < MI_SECTION_COUNT; kind++) {
        sections[kind][0] = a == NULL ? NULL : &a->sections[kind];
        sections[kind][1] = b == NULL ? NULL : &b->sections[kind];
        const mi_ends *first = a == NULL ? NULL : &a->sections[kind].sums;
        const mi_ends *second = b == NULL ? NULL : &b->sections[kind].sums;
        if (!sums_meet(first, second)) {
            return mismatch(c, part.name);
        }
        part.sections[kind].sums = join_ends(first, second);
    }
    if ((a != NULL && a->in_target) != (b != NULL && b->in_base)) {
        return mismatch(c, part.name);
    }
    const bool is_there = part.in_base || part.in_target;
    if (is_there) {
        mi_delta_put_part(to, &part);
        ++*count;
    }
    for (uint32_t kind = 0; kind < MI_SECTION_COUNT; kind++) {
        if (!join_hunks(c, sections[kind][0], sections[kind][1])) {
            return mismatch(c, part.name);
        }
        if (is_there && (kind == MI_SECTION_LASTING || !mi_section_is_void(&part.sections[kind]))) {
            mi_delta_put_sums(to, part.sections[kind].sums);
            mi_hunks_finish(&c->hunks, to);
            if (!put_joined_told(c, a == NULL ? &no_told : &a->sections[kind].values,
                                 b == NULL ? &no_told : &b->sections[kind].values, part.name, to)) {
                return false;
            }
        }
        mi_bytes_clear(&c->hunks.bytes);
        c->hunks.count = 0;
    }
    return true;
}

static bool compose_parts(composer *c) {
    mi_bytes parts = mi_bytes_in(c->heap);
    uint32_t count = 0;
    bool is_fine = true;
    for (uint32_t i = 0, k = 0; is_fine && (i < c->first.parts.count || k < c->second.parts.count);) {
        const mi_delta_part *a = i < c->first.parts.count ? &c->first.parts.data[i] : NULL;
        const mi_delta_part *b = k < c->second.parts.count ? &c->second.parts.data[k] : NULL;
        const int order = compare_names(a == NULL ? NULL : a->name, b == NULL ? NULL : b->name);
        i += order <= 0;
        k += order >= 0;
        is_fine = compose_part(c, order <= 0 ? a : NULL, order >= 0 ? b : NULL, &parts, &count);
    }
    return put_counted(c, count, &parts) && is_fine;
}

// The whole

static bool put_met_ends(composer *c, mi_ends a, mi_ends b, const char *name) {
    mi_delta_put_ends(c->bytes, (mi_ends){a.base, b.target});
    return a.target == b.base || mismatch(c, name);
}

static bool put_met_sums(composer *c, mi_ends a, mi_ends b, const char *name) {
    mi_delta_put_sums(c->bytes, (mi_ends){a.base, b.target});
    return a.target == b.base || mismatch(c, name);
}

static bool have_same_limit(const mi_delta *a, const mi_delta *b) {
    const mi_set *const sets[] = {&a->limit, &b->limit};
    mi_sweep sweep = mi_sweep_of(sets, 2);
    uint32_t first = 0;
    uint32_t length = 0;
    uint32_t members = 0;
    bool is_same = true;
    while (is_same && mi_sweep_next(&sweep, &first, &length, &members)) {
        is_same = members == 3;
    }
    return is_same;
}

static bool compose(composer *c) {
    const mi_delta *a = &c->first;
    const mi_delta *b = &c->second;
    const uint32_t flags = a->flags;
    if ((flags & ~(uint32_t)MI_DELTA_WHOLE) != (b->flags & ~(uint32_t)MI_DELTA_WHOLE) || !have_same_limit(a, b)) {
        return fail(c, MICA_MISMATCH, "the deltas are not limited to the same", NULL);
    }
    mi_delta_put_head(c->bytes, flags);
    if ((flags & MI_DELTA_OF_ENTITIES) != 0) {
        put_joined_sets(&a->limit, &no_set, &c->set);
        mi_set_finish(&c->set, c->bytes);
    }
    if (!compose_fates(c) || !compose_components(c)) {
        return false;
    }
    if (mi_delta_is_limited(a)) {
        return true;
    }
    if (!put_met_ends(c, a->version, b->version, "version") || !put_met_ends(c, a->used, b->used, "entities") ||
        !put_met_ends(c, a->free_head, b->free_head, "free list")) {
        return false;
    }
    put_joined_numbers(c, &a->chain, &b->chain, c->bytes);
    return compose_rows(c) && compose_marks(c) && compose_parts(c) &&
           put_met_sums(c, a->sums.entities, b->sums.entities, "entities") &&
           put_met_sums(c, a->sums.order, b->sums.order, "order") &&
           put_met_sums(c, a->sums.versions, b->sums.versions, "versions") &&
           put_met_sums(c, a->sums.marks, b->sums.marks, "marks");
}

static void free_composer(composer *c) {
    for (uint32_t i = 0; i < 2; i++) {
        MI_FREE(c->heap, MICA_MEMORY_STATE, &c->numbers[i]);
    }
    MI_FREE(c->heap, MICA_MEMORY_STATE, &c->value);
    mi_set_writer_free(&c->set);
    mi_set_writer_free(&c->other_set);
    mi_numbers_writer_free(&c->numbers_writer);
    mi_values_writer_free(&c->values);
    mi_told_writer_free(&c->told);
    mi_bytes_free(&c->hunks.bytes);
    mi_bytes_free(&c->base_bytes);
    mi_bytes_free(&c->middle_bytes);
    mi_bytes_free(&c->target_bytes);
}

static mica_result fail_compose(const composer *c) {
    switch (c->result) {
    case MICA_OUT_OF_MEMORY:
        return mi_fail_memory(NULL, call_name, 0);
    case MICA_LIMIT:
        return mi_fail(NULL, MICA_LIMIT, call_name, "the delta would have more than {} bytes", MI_UINT(MI_BYTES_MAX));
    default:
        return c->name == NULL ? mi_fail(NULL, c->result, call_name, "{}", MI_TEXT(c->fault))
                               : mi_fail(NULL, c->result, call_name, "{}: {}", MI_TEXT(c->name), MI_TEXT(c->fault));
    }
}

// Composes what was read; MICA_OK, or the error is set.
static mica_result run(mica_delta *delta, const mi_delta *first, const mi_delta *second) {
    mi_heap *heap = &delta->heap;
    composer c = {.heap = heap,
                  .first = *first,
                  .second = *second,
                  .bytes = &delta->bytes,
                  .set = mi_set_writer_in(heap),
                  .other_set = mi_set_writer_in(heap),
                  .numbers_writer = mi_numbers_writer_in(heap),
                  .values = mi_values_writer_in(heap),
                  .told = mi_told_writer_in(heap),
                  .hunks.bytes = mi_bytes_in(heap),
                  .base_bytes = mi_bytes_in(heap),
                  .middle_bytes = mi_bytes_in(heap),
                  .target_bytes = mi_bytes_in(heap)};
    const mi_bytes *asides[] = {&c.base_bytes, &c.middle_bytes, &c.target_bytes};
    if (compose(&c)) {
        c.result = mi_delta_finish(&delta->bytes);
    }
    for (uint32_t i = 0; i < 3 && c.result == MICA_OK; i++) {
        c.result = asides[i]->result;
    }
    free_composer(&c);
    return c.result == MICA_OK ? MICA_OK : fail_compose(&c);
}

mica_delta *mica_delta_compose(const void *first, size_t first_byte_size, const void *second, size_t second_byte_size,
                               const mica_allocator *allocator) {
    mica_delta *delta = mi_delta_open(allocator);
    if (delta == NULL) {
        mi_fail_memory(NULL, call_name, sizeof(mica_delta));
        return NULL;
    }
    mi_delta a;
    mi_delta b;
    mica_result result = mi_delta_read(&a, &delta->heap, first, first_byte_size, NULL, call_name);
    if (result == MICA_OK) {
        result = mi_delta_read(&b, &delta->heap, second, second_byte_size, NULL, call_name);
        if (result == MICA_OK) {
            result = run(delta, &a, &b);
            mi_delta_free(&b);
        }
        mi_delta_free(&a);
    }
    if (result != MICA_OK) {
        mica_delta_release(delta);
        return NULL;
    }
    return delta;
}

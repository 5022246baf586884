// Applying a delta: checking that the world is where it begins, making the state that it leads to, restoring that.
//
// A snapshot of the world is the base, which costs what has been written since the last one. The sums in the delta say
// whether it is the right one, and in the end whether what was made is what the delta says it is.
//
// What does not last (versions, and what parts say that does not) is not asked for. Where it is as in the delta's base
// it becomes that of its target; else it is the world's, completed by what the delta changes.
#include "base/error.h"
#include "state/delta_target.h"
#include "state/restore.h"
#include "state/state.h"

#include <string.h>

static const char call_name[] = "mica_delta_apply";

static bool differ(mi_target *target, const char *what, const char *name) {
    return mi_target_fail(target, MICA_MISMATCH, what, name);
}

// Types

static bool find_types(mi_target *target) {
    const mica_schema *schema = target->world->schema;
    const mi_delta *delta = target->delta;
    for (uint32_t i = 0; i < delta->components.count; i++) {
        const mi_delta_component *component = &delta->components.data[i];
        const mi_type *type = mi_schema_type(schema, mica_schema_find(schema, component->name));
        if (type == NULL) {
            return mi_target_fail(target, MICA_UNKNOWN, "the component is not known here", component->name);
        }
        if (component->is_told != mi_type_is_told(type)) {
            return differ(target,
                          component->is_told ? "no hooks write and read values of the component here"
                                             : "hooks write and read values of the component here",
                          component->name);
        }
        const uint32_t fields_hash = component->is_told ? 0 : mi_sum_fields(schema, type);
        if (!component->is_told && type->info.size != component->size) {
            return differ(target, "values of the component have another size here", component->name);
        }
        if (fields_hash != 0 && component->fields_hash != 0 && fields_hash != component->fields_hash) {
            return differ(target, "the component has other fields here", component->name);
        }
        if (component->values.places.count > 0 && mi_type_is_owning(type)) {
            return mi_target_fail(target, MICA_UNSUPPORTED, "values of the component have hooks", component->name);
        }
        // What keeps its links is a part of the state, which is known from here on.
        if (mi_world_attach(target->world, type, call_name) != MICA_OK) {
            return mi_target_lack(target);
        }
        target->types[i] = type;
    }
    return true;
}

// Sums

static int32_t find_component(const mi_target *target, mica_component component) {
    for (uint32_t i = 0; i < target->delta->components.count; i++) {
        if (target->types[i]->info.id == component) {
            return (int32_t)i;
        }
    }
    return -1;
}

// Whether a snapshot has rows with components that the delta does not name.
static bool check_named(mi_target *target, mi_rows_image *const *rows, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = 0; k < rows[i]->component_count; k++) {
            if (find_component(target, rows[i]->components[k]) < 0) {
                return differ(target, "the component differs",
                              mi_schema_type(target->world->schema, rows[i]->components[k])->info.name);
            }
        }
    }
    return true;
}

static bool check_components(mi_target *target, const mica_snapshot *snapshot, const mi_slot_bits *limit, bool to) {
    for (uint32_t i = 0; i < target->delta->components.count; i++) {
        const mi_delta_component *component = &target->delta->components.data[i];
        uint64_t sum = 0;
        if (!mi_sum_component(snapshot, target->types[i], limit, target->heap, &sum)) {
            return mi_target_lack(target);
        }
        if (sum != (to ? mi_target_to(target, component->sums) : mi_target_from(target, component->sums))) {
            return differ(target, "the component differs", component->name);
        }
    }
    return true;
}

static bool check_sum(mi_target *target, mi_ends sums, uint64_t sum, bool to, const char *what) {
    return sum == (to ? mi_target_to(target, sums) : mi_target_from(target, sums)) || differ(target, what, NULL);
}

static bool check_versions(mi_target *target) {
    return target->keeps_versions || check_sum(target, target->delta->sums.versions, mi_sum_versions(target->snapshot),
                                               true, "the same values were written at other versions");
}

// Whether a snapshot is the state at one end of the delta.
static bool check_end(mi_target *target, const mica_snapshot *snapshot, const mi_slot_bits *limit, bool to) {
    const mi_delta_sums *sums = &target->delta->sums;
    if (!check_components(target, snapshot, limit, to)) {
        return false;
    }
    return target->is_limited ||
           (check_named(target, snapshot->tables, snapshot->table_count) &&
            check_named(target, snapshot->pools, snapshot->pool_count) &&
            check_sum(target, sums->entities, mi_sum_entities(snapshot->slots), to,
                      "entities differ, or the order in which handles will be issued") &&
            check_sum(target, sums->order, mi_sum_order(snapshot), to, "rows stand in another order") &&
            check_sum(target, sums->marks, mi_sum_marks(snapshot), to, "others are disabled or killed") &&
            mi_target_check_parts(target, snapshot, to));
}

// Slots of an exact delta

static mi_slot_page *own_page(mi_target *target, uint32_t number) {
    mi_slots_image *slots = target->snapshot->slots;
    mi_slot_page *page = slots->pages[number];
    if (page != NULL && page->reference_count == 1) {
        return page;
    }
    mi_slot_page *copy = mi_vault_take(target->vault, sizeof(mi_slot_page));
    if (copy == NULL) {
        mi_target_lack(target);
        return NULL;
    }
    if (page != NULL) {
        memcpy(copy, page, sizeof(*copy));
        page->reference_count--;
    } else {
        memset(copy->slots, 0xff, sizeof(copy->slots));
    }
    copy->reference_count = 1;
    slots->pages[number] = copy;
    return copy;
}

uint64_t *mi_target_open_slot(mi_target *target, uint32_t index) {
    mi_slot_page *page = index < target->snapshot->slots->used ? own_page(target, index >> MI_SLOT_PAGE_SHIFT) : NULL;
    if (page == NULL) {
        mi_target_fail(target, MICA_FORMAT, "a slot is beyond the last one", NULL);
        return NULL;
    }
    return &page->slots[index & ((1u << MI_SLOT_PAGE_SHIFT) - 1)];
}

bool mi_target_open_slots(mi_target *target, uint32_t used) {
    const mi_slots_image *base = target->base->slots;
    mi_slots_image *slots = mi_slots_image_create(target->vault, used);
    if (slots == NULL) {
        return mi_target_lack(target);
    }
    target->snapshot->slots = slots;
    for (uint32_t page = 0; page < slots->page_count && page < base->page_count; page++) {
        slots->pages[page] = base->pages[page];
        slots->pages[page]->reference_count++;
    }
    for (uint32_t index = base->used; index < used; index++) {
        uint64_t *slot = mi_target_open_slot(target, index);
        if (slot == NULL) {
            return false;
        }
        *slot = index == 0 ? (uint64_t)MICA_GENERATION_MAX << 32 | MI_SLOT_FREE : MI_SLOT_FREE;
    }
    const uint32_t end = slots->page_count << MI_SLOT_PAGE_SHIFT;
    for (uint32_t index = used; index < base->used && index < end; index++) {
        mi_slot_page *page = own_page(target, index >> MI_SLOT_PAGE_SHIFT);
        if (page == NULL) {
            return false;
        }
        page->slots[index & ((1u << MI_SLOT_PAGE_SHIFT) - 1)] = UINT64_MAX;
    }
    return true;
}

uint64_t mi_target_slot_before(const mi_target *target, uint32_t index) {
    const mi_slots_image *slots = target->base->slots;
    return index < slots->used ? mi_slots_image_at(slots, index) : MI_SLOT_FREE;
}

// What a fate says of a slot at both ends, seen in the direction of the delta.
typedef struct passage {
    bool lived;
    bool lives;
} passage;

static passage passage_of(const mi_target *target, mi_fate fate) {
    const bool both = fate == MI_FATE_REPLACED;
    const bool in_base = both || fate == MI_FATE_DESTROYED;
    const bool in_target = both || fate == MI_FATE_CREATED;
    return target->forwards ? (passage){in_base, in_target} : (passage){in_target, in_base};
}

static bool make_fates(mi_target *target, mi_fate fate) {
    const passage way = passage_of(target, fate);
    mi_fates_walk walk = mi_fates_walk_of(&target->delta->fates[fate]);
    uint32_t index = 0;
    mi_ends generations;
    while (mi_fates_next(&walk, &index, &generations)) {
        const uint64_t before = mi_target_slot_before(target, index);
        const uint64_t from = mi_target_from(target, generations);
        const uint64_t to = mi_target_to(target, generations);
        if (((uint32_t)before == 0) != way.lived || before >> 32 != from || (way.lives && to == MICA_GENERATION_MAX)) {
            return mi_target_fail(target, MICA_FORMAT, "a slot is not as it was said to be", NULL);
        }
        if (index >= target->snapshot->slots->used && !way.lives && to == 0) {
            continue; // was never used
        }
        uint64_t *slot = mi_target_open_slot(target, index);
        if (slot == NULL) {
            return false;
        }
        *slot = to << 32 | (uint32_t)*slot;
        if (way.lived && !way.lives) {
            *slot |= MI_SLOT_FREE;
        } else if (!way.lived && way.lives) {
            *slot &= ~(uint64_t)MI_SLOT_FREE;
        }
    }
    return true;
}

static bool make_chain(mi_target *target) {
    mi_numbers_walk walk = mi_numbers_walk_of(&target->delta->chain);
    uint32_t index = 0;
    uint64_t number = 0;
    while (mi_numbers_next(&walk, &index, &number)) {
        if (number >= MI_SLOT_FREE) {
            return mi_target_fail(target, MICA_FORMAT, "a slot is beyond the last one", NULL);
        }
        if (index >= target->snapshot->slots->used) {
            continue;
        }
        uint64_t *slot = index == 0 ? NULL : mi_target_open_slot(target, index);
        if (slot == NULL) {
            return mi_target_fail(target, MICA_FORMAT, "slot 0 is in the free list", NULL);
        }
        *slot ^= number;
    }
    return true;
}

// Counts what the index holds, and walks over the free list: whether it is one that a world can have.
bool mi_target_check_slots(mi_target *target) {
    mi_slots_image *slots = target->snapshot->slots;
    slots->alive = slots->retired = slots->last_count = 0;
    slots->issued = 0;
    for (uint32_t index = 1; index < slots->used; index++) {
        const uint64_t slot = mi_slots_image_at(slots, index);
        const uint32_t generation = (uint32_t)(slot >> 32);
        const bool lives = (uint32_t)slot == 0;
        if ((!lives && (slot & MI_SLOT_FREE) == 0) || (lives && generation == MICA_GENERATION_MAX)) {
            return mi_target_fail(target, MICA_FORMAT, "a slot is neither free nor in use", NULL);
        }
        slots->alive += lives;
        slots->retired += generation == MICA_GENERATION_MAX;
        slots->last_count += generation == MICA_GENERATION_MAX - 1;
        slots->issued += (uint64_t)generation + lives;
    }
    uint32_t left = slots->used == 0 ? 0 : slots->used - 1 - slots->alive - slots->retired;
    uint32_t index = slots->free_head;
    for (; index != 0 && left > 0; left--) {
        const uint64_t slot = index < slots->used ? mi_slots_image_at(slots, index) : 0;
        if ((slot & MI_SLOT_FREE) == 0 || slot >> 32 == MICA_GENERATION_MAX) {
            break;
        }
        index = (uint32_t)slot & ~MI_SLOT_FREE;
    }
    return (index == 0 && left == 0) || mi_target_fail(target, MICA_FORMAT, "the free list is broken", NULL);
}

static bool share_slots(mi_target *target) {
    target->base->slots->reference_count++;
    target->snapshot->slots = target->base->slots;
    return true;
}

bool mi_target_make_slots(mi_target *target) {
    const mi_delta *delta = target->delta;
    const uint64_t used = mi_target_to(target, delta->used);
    uint64_t named = delta->chain.places.count + UINT64_C(2);
    uint32_t fated = 0;
    for (uint32_t fate = 0; fate < MI_FATE_COUNT; fate++) {
        fated += delta->fates[fate].slots.count;
    }
    named += fated;
    if (fated == 0 && delta->chain.places.count == 0 && used == target->base->slots->used && !target->is_blank) {
        return share_slots(target);
    }
    // Whoever is new is in use, or was, or is followed by another one in the free list; but for the last one of it.
    if (used > target->base->slots->used + named) {
        return mi_target_fail(target, MICA_FORMAT, "there are more slots than anything is said of", NULL);
    }
    if (!mi_target_open_slots(target, (uint32_t)used)) {
        return false;
    }
    target->snapshot->slots->free_head = (uint32_t)mi_target_to(target, delta->free_head);
    if (!make_chain(target)) {
        return false;
    }
    for (mi_fate fate = 0; fate < MI_FATE_COUNT; fate++) {
        if (!make_fates(target, fate)) {
            return false;
        }
    }
    return mi_target_check_slots(target);
}

// Rows of an exact delta

static bool find_sites(mi_target *target) {
    const mi_delta *delta = target->delta;
    if (!MI_TARGET_RESERVE(target, &target->rows_sites, (size_t)delta->rows.count)) {
        return false;
    }
    for (uint32_t i = 0; i < delta->rows.count; i++) {
        const mi_delta_rows *rows = &delta->rows.data[i];
        if (!MI_TARGET_RESERVE(target, &target->set, (size_t)rows->key_count)) {
            return false;
        }
        mica_component *components = target->set.data;
        for (uint32_t k = 0; k < rows->key_count; k++) {
            const mi_type *type = target->types[delta->keys.data[rows->first_key + k]];
            if (type->in_pool != rows->is_pool) {
                return differ(target, "the component lives in another storage here", type->info.name);
            }
            uint32_t place = k;
            for (; place > 0 && components[place - 1] > type->info.id; place--) {
                components[place] = components[place - 1];
            }
            components[place] = type->info.id;
        }
        const uint32_t site = mi_target_site(target, components, rows->key_count, rows->is_pool);
        if (site == MI_SITE_NONE) {
            return false;
        }
        target->rows_sites.data[target->rows_sites.count++] = site;
    }
    return true;
}

static bool touch_rows(mi_target *target, const mi_delta_rows *rows, uint32_t number) {
    mi_site *site = &target->sites.data[number];
    const uint32_t base_count = site->base == NULL ? 0 : site->base->row_count;
    if (mi_target_from(target, rows->row_count) != base_count) {
        return mi_target_fail(target, MICA_FORMAT, "a table has another number of rows than was said", NULL);
    }
    site->dead_count = (uint32_t)mi_target_to(target, rows->dead_count);
    site->dead_head = rows->is_pool ? (uint32_t)mi_target_to(target, rows->dead_head) : site->dead_head;
    if (!mi_target_begin_rows(target, number, mi_target_to(target, rows->row_count))) {
        return false;
    }
    mi_numbers_walk walk = mi_numbers_walk_of(&rows->order);
    uint32_t row = 0;
    uint64_t entry = 0;
    while (mi_numbers_next(&walk, &row, &entry)) {
        entry ^= mi_target_entry(&target->sites.data[number], row);
        if (!mi_target_touch(target, number, row, entry)) {
            return false;
        }
    }
    return mi_target_end_rows(target, number);
}

static bool touch_all(mi_target *target) {
    const mi_delta *delta = target->delta;
    if (!find_sites(target)) {
        return false;
    }
    for (uint32_t i = 0; i < delta->rows.count; i++) {
        if (!touch_rows(target, &delta->rows.data[i], target->rows_sites.data[i])) {
            return false;
        }
    }
    return true;
}

// Marks

// Whether the target has the component on a slot that is alive.
static bool has_component(const mi_target *target, uint32_t slot, mica_component component) {
    const mi_type *type = mi_schema_type(target->world->schema, component);
    const mi_pool *pool = type->in_pool ? mi_store_find_pool(&target->world->store, component) : NULL;
    mi_standing at;
    uint32_t column = 0;
    return (!type->in_pool || pool != NULL) &&
           mi_target_stands(target, slot, pool == NULL ? 0 : pool->index + 1, &at) &&
           mi_rows_image_has(target->sites.data[at.site].rows, component, &column);
}

// Whether somebody may be in a set of marks.
static bool may_be_marked(const mi_target *target, mi_marks_kind kind, mica_component component, uint32_t slot) {
    return mi_target_lives(target, slot) && (kind != MI_MARKS_TOGGLED || has_component(target, slot, component));
}

static bool add_marks(mi_target *target, const mi_marks_image *base, const mi_set *changed, mi_marks_kind kind,
                      mica_component component) {
    static const mi_set nobody = {.count = 0};
    mica_snapshot *snapshot = target->snapshot;
    const uint32_t base_count = base == NULL ? 0 : base->count;
    changed = changed == NULL ? &nobody : changed;
    mi_set_walk walk = mi_set_walk_of(changed);
    uint32_t next = 0;
    bool has_next = mi_set_next(&walk, &next);
    // Nobody is in it who is not alive, so this bounds it however long the set may be.
    const uint64_t most = (uint64_t)base_count + changed->count;
    const uint32_t room = most < snapshot->slots->alive ? (uint32_t)most : snapshot->slots->alive;
    mi_marks_image *image = mi_marks_image_create(target->vault, kind, component, room);
    if (image == NULL) {
        return mi_target_lack(target);
    }
    image->count = 0;
    bool is_fine = true;
    for (uint32_t i = 0; is_fine && (i < base_count || has_next);) {
        const uint32_t before = i < base_count ? base->indices[i] : UINT32_MAX;
        const uint32_t slot = has_next && next < before ? next : before;
        const bool is_changed = has_next && next == slot;
        const bool may_be = may_be_marked(target, kind, component, slot);
        i += before == slot;
        if (is_changed) {
            has_next = mi_set_next(&walk, &next);
        }
        if (is_changed == (before == slot)) {
            continue; // it is in it no more
        }
        // What a limited delta takes away, takes its marks away.
        is_fine = may_be || (target->is_limited && !is_changed);
        if (may_be && is_fine) {
            image->indices[image->count++] = slot;
        }
    }
    if (!is_fine || image->count == 0) {
        mi_marks_image_release(target->vault, image);
    } else {
        snapshot->marks[snapshot->mark_count++] = image;
    }
    return is_fine || mi_target_fail(target, MICA_FORMAT, "somebody is marked who cannot be", NULL);
}

// By number: disabled, killed, then the toggles of components in the order of their names.
static const mi_marks_image *find_marks(const mica_snapshot *snapshot, mi_marks_kind kind, mica_component component) {
    for (uint32_t i = 0; i < snapshot->mark_count; i++) {
        if (snapshot->marks[i]->kind == kind && snapshot->marks[i]->component == component) {
            return snapshot->marks[i];
        }
    }
    return NULL;
}

static const mi_set *find_changed(const mi_delta *delta, uint32_t kind) {
    for (uint32_t i = 0; i < delta->marks.count; i++) {
        if (delta->marks.data[i].kind == kind) {
            return &delta->marks.data[i].changed;
        }
    }
    return NULL;
}

static bool make_marks_of(mi_target *target, mi_marks_kind kind, mica_component component, uint32_t number) {
    const mi_marks_image *base = find_marks(target->base, kind, component);
    const mi_set *changed = find_changed(target->delta, number);
    if (changed != NULL && component != 0 && !mi_schema_type(target->world->schema, component)->info.toggle) {
        return mi_target_fail(target, MICA_FORMAT, "a component is disabled that cannot be", NULL);
    }
    return (base == NULL && changed == NULL) || add_marks(target, base, changed, kind, component);
}

static bool make_marks(mi_target *target) {
    const mi_delta *delta = target->delta;
    mica_snapshot *snapshot = target->snapshot;
    const size_t most = (size_t)target->base->mark_count + delta->marks.count;
    snapshot->marks = mi_vault_take(target->vault, (most + 1) * sizeof(mi_marks_image *));
    if (snapshot->marks == NULL) {
        return mi_target_lack(target);
    }
    if (!make_marks_of(target, MI_MARKS_DISABLED, 0, MI_DELTA_MARK_DISABLED) ||
        !make_marks_of(target, MI_MARKS_KILLED, 0, MI_DELTA_MARK_KILLED)) {
        return false;
    }
    if (target->is_limited) { // toggles of components that the delta does not know are kept as well
        for (uint32_t i = 0; i < target->base->mark_count; i++) {
            const mi_marks_image *marks = target->base->marks[i];
            if (marks->kind == MI_MARKS_TOGGLED && !make_marks_of(target, marks->kind, marks->component, UINT32_MAX)) {
                return false;
            }
        }
        return true;
    }
    for (uint32_t i = 0; i < delta->components.count; i++) {
        if (!make_marks_of(target, MI_MARKS_TOGGLED, target->types[i]->info.id, MI_DELTA_MARK_TOGGLED + i)) {
            return false;
        }
    }
    return true;
}

// The whole

static bool make_target(mi_target *target) {
    mica_snapshot *snapshot = target->snapshot;
    const mica_snapshot *base = target->base;
    snapshot->is_made = true;
    snapshot->leaves_transient = base->leaves_transient;
    snapshot->keeps_versions = target->keeps_versions;
    snapshot->version = target->keeps_versions ? base->version : mi_target_to(target, target->delta->version);
    if (!mi_target_open_sites(target)) {
        return false;
    }
    const bool is_planned =
        target->is_limited ? mi_target_plan_limited(target) : mi_target_make_slots(target) && touch_all(target);
    return is_planned && mi_target_make_rows(target) && mi_target_make_values(target) &&
           (target->keeps_versions || mi_target_make_versions(target)) && make_marks(target) &&
           mi_target_make_parts(target) && mi_target_finish_rows(target);
}

// The slots that the delta is limited to; NULL: all.
static bool open_limit(mi_target *target, mi_slot_bits *bits, const mi_slot_bits **limit) {
    const mi_delta *delta = target->delta;
    *limit = NULL;
    if ((delta->flags & MI_DELTA_OF_ENTITIES) == 0) {
        return true;
    }
    const uint32_t end = target->base->slots->used;
    bits->word_count = mi_bit_words(end) + 1;
    bits->words = mi_heap_allocate_zeroed(target->heap, MICA_MEMORY_STATE, bits->word_count * sizeof(uint64_t),
                                          _Alignof(uint64_t));
    if (bits->words == NULL) {
        return mi_target_lack(target);
    }
    *limit = bits;
    mi_set_walk walk = mi_set_walk_of(&delta->limit);
    uint32_t slot = 0;
    while (mi_set_next(&walk, &slot) && slot < end) {
        mi_bit_set(bits->words, slot);
    }
    return true;
}

static mica_result fail_apply(const mi_target *target) {
    const mica_log_handler *log = &target->world->log;
    if (target->result == MICA_OUT_OF_MEMORY) {
        return mi_fail_memory(log, call_name, 0);
    }
    const char *fault = target->fault == NULL ? mica_result_text(target->result) : target->fault;
    if (target->name != NULL) {
        return mi_fail(log, target->result, call_name, "the delta does not go with {}: {}: {}",
                       MI_TEXT(target->world->name), MI_TEXT(target->name), MI_TEXT(fault));
    }
    return mi_fail(log, target->result, call_name, "the delta does not go with {}: {}", MI_TEXT(target->world->name),
                   MI_TEXT(fault));
}

// Makes the target from a base that is checked first; false: failed.
static bool run(mi_target *target) {
    mi_slot_bits bits = {.words = NULL};
    const mi_slot_bits *limit = NULL;
    const bool checks_base = target->checks_sums && !target->is_blank;
    bool is_fine = find_types(target) && open_limit(target, &bits, &limit) &&
                   (!checks_base || check_end(target, target->base, limit, false));
    target->keeps_versions = target->is_limited || (is_fine && !target->is_blank && !mi_target_has_versions(target));
    is_fine = is_fine && make_target(target);
    if (is_fine && target->checks_sums && !target->is_limited &&
        (!check_end(target, target->snapshot, limit, true) || !check_versions(target))) {
        is_fine = false;
        target->result = target->result == MICA_MISMATCH ? MICA_FORMAT : target->result;
    }
    mi_heap_release(target->heap, MICA_MEMORY_STATE, bits.words, bits.word_count * sizeof(uint64_t),
                    _Alignof(uint64_t));
    return is_fine;
}

// The state at the other end, from that at this one, which the world is in; NULL: the error is set.
static mica_snapshot *build(mica_world *world, const mi_delta *delta, const mica_snapshot *base, bool forwards,
                            bool checks_sums) {
    mica_snapshot blank = mi_blank_state;
    blank.vault = base->vault;
    blank.leaves_transient = base->leaves_transient;
    const bool is_blank = forwards && (delta->flags & MI_DELTA_WHOLE) != 0;
    const size_t types_size = (size_t)delta->components.count * sizeof(mi_type *);
    mi_target target = {.world = world,
                        .heap = &world->heap,
                        .vault = base->vault,
                        .delta = delta,
                        .forwards = forwards,
                        .checks_sums = checks_sums,
                        .is_limited = mi_delta_is_limited(delta),
                        .base = is_blank ? &blank : base,
                        .is_blank = is_blank,
                        .snapshot = mi_snapshot_create(base->vault)};
    target.types =
        mi_heap_allocate_zeroed(target.heap, MICA_MEMORY_STATE, types_size, _Alignof(mi_type *)); // none: NULL
    if (target.snapshot == NULL || (types_size > 0 && target.types == NULL)) {
        mi_target_lack(&target);
    }
    mica_snapshot *built = NULL;
    if (target.result == MICA_OK && run(&target)) {
        built = target.snapshot;
        built->origin = base->origin;
        built->epochs = mi_epochs_retain(base->epochs);
        built->epoch_range = base->epoch_range;
    } else {
        fail_apply(&target);
        mica_snapshot_release(target.snapshot);
    }
    mi_target_free_sites(&target);
    mi_heap_release(target.heap, MICA_MEMORY_STATE, (void *)(uintptr_t)target.types, types_size, _Alignof(mi_type *));
    return built;
}

static mica_result apply(mica_world *world, const mi_delta *delta, bool forwards, const mica_restore_options *options,
                         bool checks_sums) {
    mica_snapshot *before = mi_snapshot_take(world, (delta->flags & MI_DELTA_LEAVES_TRANSIENT) != 0, call_name);
    if (before == NULL) {
        return mica_last_result();
    }
    mica_snapshot *built = build(world, delta, before, forwards, checks_sums);
    const mica_result result =
        built == NULL ? mica_last_result() : mi_snapshot_restore(built, world, options, call_name);
    mica_snapshot_release(built);
    mica_snapshot_release(before);
    return result;
}

mica_snapshot *mi_delta_build(mica_world *world, const mica_snapshot *base, const void *bytes, size_t byte_size,
                              mica_delta_direction direction) {
    mi_delta delta;
    if (mi_delta_read(&delta, &world->heap, bytes, byte_size, &world->log, call_name) != MICA_OK) {
        return NULL;
    }
    mica_snapshot *built = build(world, &delta, base, direction == MICA_DELTA_FORWARDS, true);
    mi_delta_free(&delta);
    return built;
}

mica_result mi_delta_apply(mica_world *world, const void *bytes, size_t byte_size, mica_delta_direction direction,
                           const mica_restore_options *options, bool checks_sums) {
    if (world == NULL) {
        return mi_fail_plain(NULL, MICA_INVALID, call_name, "needs a world");
    }
    if (direction != MICA_DELTA_FORWARDS && direction != MICA_DELTA_BACKWARDS) {
        return mi_fail_plain(&world->log, MICA_INVALID, call_name, "there are two directions");
    }
    mi_delta delta;
    const mica_result read = mi_delta_read(&delta, &world->heap, bytes, byte_size, &world->log, call_name);
    if (read != MICA_OK) {
        return read;
    }
    const mica_result result = apply(world, &delta, direction == MICA_DELTA_FORWARDS, options, checks_sums);
    mi_delta_free(&delta);
    return result;
}

mica_result mica_delta_apply(mica_world *world, const void *bytes, size_t byte_size, mica_delta_direction direction,
                             const mica_restore_options *options) {
    return mi_delta_apply(world, bytes, byte_size, direction, options, true);
}

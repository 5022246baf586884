// What a limited delta touches: who comes into which row, and who goes.
//
// It says who gains and loses components, and nothing of where anybody stands. So that the same delta does the same to
// equal worlds, rows are filled in one way: those who come, by slot, take the places of those who go; if more come,
// they stand last; if more go, the last ones move up. In stable pools nobody moves: a place that nobody takes becomes a
// tombstone. Slots that are taken leave the free list, and those that are given back stand in front of it.
#include "state/delta_target.h"

#include "base/sort.h"
#include "store/pools.h"

#include <string.h>

// A slot may be so far beyond all others without much being said.
#define FAR_SLOT_COUNT (UINT32_C(1) << 20)
#define FATED UINT32_MAX // the low half of a change: the slot's entity is another one, or none

typedef MI_ARRAY(uint64_t) item_list;

typedef struct plan {
    mi_target *target;
    item_list changes; // slot << 32 | component's number << 1 | it is gained; or FATED
    item_list leaving; // site << 32 | row
    item_list coming;  // site << 32 | slot
    item_list touched; // row << 32 | number in `entries`
    item_list entries; // what stands there then
    item_list spare;
} plan;

static bool break_form(plan *p, const char *fault) {
    return mi_target_fail(p->target, MICA_FORMAT, fault, NULL);
}

static bool add_item(plan *p, item_list *items, uint32_t high, uint32_t low) {
    if (!MI_TARGET_RESERVE(p->target, items, (size_t)items->count + 1)) {
        return false;
    }
    items->data[items->count++] = (uint64_t)high << 32 | low;
    return true;
}

static bool sort_items(plan *p, item_list *items) {
    if (items->count > 0) {
        if (!MI_TARGET_RESERVE(p->target, &p->spare, (size_t)items->count)) {
            return false;
        }
        mi_sort_by_high_half(items->data, p->spare.data, items->count);
    }
    return true;
}

// Slots

static bool lived(const plan *p, uint32_t slot) {
    return slot != 0 && (uint32_t)mi_target_slot_before(p->target, slot) == 0;
}

// The generation of a slot when its entity ends.
static uint32_t ended(uint32_t generation) {
    return generation + (generation < MICA_GENERATION_MAX);
}

static bool is_comer(const plan *p, mi_fate fate) {
    return fate == (p->target->forwards ? MI_FATE_CREATED : MI_FATE_DESTROYED);
}

// How many slots there will be; 0: failed.
static uint32_t count_slots(plan *p) {
    const mi_target *target = p->target;
    const uint32_t before = target->base->slots->used;
    uint32_t end = before;
    uint32_t named = 0;
    for (mi_fate fate = 0; fate < MI_FATE_NOBODY; fate++) {
        mi_fates_walk walk = mi_fates_walk_of(&target->delta->fates[fate]);
        uint32_t slot = 0;
        mi_ends generations;
        while (mi_fates_next(&walk, &slot, &generations)) {
            end = is_comer(p, fate) && slot >= end ? slot + 1 : end;
            named++;
        }
    }
    if (end > MICA_INDEX_MAX || end - before > (uint64_t)before + FAR_SLOT_COUNT + UINT64_C(64) * named) {
        mi_target_fail(p->target, MICA_LIMIT, "a slot is far beyond all others", NULL);
        return 0;
    }
    return end == 0 ? 1 : end;
}

static bool pass_fate(plan *p, mi_fate fate, uint32_t slot, mi_ends generations) {
    mi_target *target = p->target;
    const uint32_t from = (uint32_t)mi_target_from(target, generations);
    const uint32_t to = (uint32_t)mi_target_to(target, generations);
    const bool comes = is_comer(p, fate);
    const bool stays = fate == MI_FATE_REPLACED;
    const uint64_t before = mi_target_slot_before(target, slot);
    if (lived(p, slot) == comes || (!comes && before >> 32 != from)) {
        return mi_target_fail(target, MICA_MISMATCH,
                              "an entity is alive here that is not there, or the other way around", NULL);
    }
    if ((comes || stays) && to >= MICA_GENERATION_MAX) {
        return break_form(p, "a living entity has the last generation");
    }
    if (comes && before >> 32 == MICA_GENERATION_MAX && slot < target->base->slots->used) {
        return break_form(p, "an entity comes to a slot that is retired");
    }
    uint64_t *place = mi_target_open_slot(target, slot);
    if (place == NULL || !add_item(p, &p->changes, slot, FATED)) {
        return false;
    }
    *place = comes || stays ? (uint64_t)to << 32 : (uint64_t)ended(from) << 32 | MI_SLOT_FREE;
    return true;
}

// Lets a slot be followed by another one in the free list.
static bool link_slot(plan *p, uint32_t slot, uint32_t next) {
    mi_target *target = p->target;
    if (slot == 0) {
        target->snapshot->slots->free_head = next;
        return true;
    }
    const uint64_t now = mi_slots_image_at(target->snapshot->slots, slot);
    const uint64_t wanted = (now & ~(uint64_t)UINT32_MAX) | MI_SLOT_FREE | next;
    uint64_t *place = now == wanted ? NULL : mi_target_open_slot(target, slot);
    if (place != NULL) {
        *place = wanted;
    }
    return now == wanted || place != NULL;
}

static bool is_listed(const mi_target *target, uint32_t slot) {
    const uint64_t now = mi_slots_image_at(target->snapshot->slots, slot);
    return (now & MI_SLOT_FREE) != 0 && now >> 32 != MICA_GENERATION_MAX;
}

// Puts the free list together: slots given back, those never used before, those that were in it.
static bool link_slots(plan *p) {
    mi_target *target = p->target;
    const mi_slots_image *base = target->base->slots;
    uint32_t last = 0;
    const mi_fate gone = target->forwards ? MI_FATE_DESTROYED : MI_FATE_CREATED;
    mi_fates_walk walk = mi_fates_walk_of(&target->delta->fates[gone]);
    uint32_t slot = 0;
    mi_ends generations;
    while (mi_fates_next(&walk, &slot, &generations)) {
        if (is_listed(target, slot)) {
            if (!link_slot(p, last, slot)) {
                return false;
            }
            last = slot;
        }
    }
    for (slot = base->used == 0 ? 1 : base->used; slot < target->snapshot->slots->used; slot++) {
        if (is_listed(target, slot)) {
            if (!link_slot(p, last, slot)) {
                return false;
            }
            last = slot;
        }
    }
    for (slot = base->free_head; slot != 0; slot = (uint32_t)mi_slots_image_at(base, slot) & ~MI_SLOT_FREE) {
        if (is_listed(target, slot)) {
            if (!link_slot(p, last, slot)) {
                return false;
            }
            last = slot;
        }
    }
    return link_slot(p, last, 0);
}

static bool plan_slots(plan *p) {
    mi_target *target = p->target;
    const mi_delta *delta = target->delta;
    uint32_t fated = 0;
    for (mi_fate fate = 0; fate < MI_FATE_NOBODY; fate++) {
        fated += delta->fates[fate].slots.count;
    }
    if (fated == 0) {
        target->base->slots->reference_count++;
        target->snapshot->slots = target->base->slots;
        return true;
    }
    const uint32_t used = count_slots(p);
    if (used == 0 || !mi_target_open_slots(target, used)) {
        return false;
    }
    for (mi_fate fate = 0; fate < MI_FATE_NOBODY; fate++) {
        mi_fates_walk walk = mi_fates_walk_of(&delta->fates[fate]);
        uint32_t slot = 0;
        mi_ends generations;
        while (mi_fates_next(&walk, &slot, &generations)) {
            if (!pass_fate(p, fate, slot, generations)) {
                return false;
            }
        }
    }
    return link_slots(p) && mi_target_check_slots(target);
}

// Components

static bool list_set(plan *p, const mi_set *set, uint32_t code) {
    mi_set_walk walk = mi_set_walk_of(set);
    uint32_t slot = 0;
    while (mi_set_next(&walk, &slot)) {
        // Nobody else than these can gain or lose anything, which bounds the list however long the set may be.
        if (!mi_target_lives(p->target, slot) && !lived(p, slot)) {
            return break_form(p, "a component comes to nobody, or goes from nobody");
        }
        if (!add_item(p, &p->changes, slot, code)) {
            return false;
        }
    }
    return true;
}

static bool list_changes(plan *p) {
    const mi_target *target = p->target;
    for (uint32_t i = 0; i < target->delta->components.count; i++) {
        const mi_delta_component *component = &target->delta->components.data[i];
        const mi_set *gained = target->forwards ? &component->added : &component->removed;
        const mi_set *lost = target->forwards ? &component->removed : &component->added;
        if (target->types[i]->is_relation &&
            (gained->count > 0 || lost->count > 0 || mi_delta_places(component)->count > 0)) {
            return mi_target_fail(p->target, MICA_UNSUPPORTED, "limited deltas cannot change links", component->name);
        }
        if (!list_set(p, gained, i << 1 | 1) || !list_set(p, lost, i << 1)) {
            return false;
        }
    }
    return sort_items(p, &p->changes);
}

static bool is_named(const mi_target *target, mica_component component) {
    for (uint32_t i = 0; i < target->delta->components.count; i++) {
        if (target->types[i]->info.id == component) {
            return true;
        }
    }
    return false;
}

// Whether the components that a slot had are another entity's by now.
static bool is_replaced(const plan *p, uint32_t slot) {
    return lived(p, slot) && mi_target_lives(p->target, slot) &&
           mi_target_slot_before(p->target, slot) != mi_slots_image_at(p->target->snapshot->slots, slot);
}

static bool leave(plan *p, mi_standing at) {
    return add_item(p, &p->leaving, at.site, at.row);
}

// Finds the table that a slot comes to: `set` of the target holds the components of the one that it was in.
static bool change_table(plan *p, uint32_t slot, const uint64_t *changes, uint32_t count) {
    mi_target *target = p->target;
    mi_standing stood = {.site = MI_SITE_NONE};
    const bool stands = mi_target_stood(target, slot, 0, &stood);
    const mi_site *site = stands ? &target->sites.data[stood.site] : NULL;
    const uint32_t before = stands ? site->component_count : 0;
    const bool is_dropped = is_replaced(p, slot);
    uint32_t set_count = 0;
    if (!MI_TARGET_RESERVE(target, &target->set, (size_t)before + count)) {
        return false;
    }
    for (uint32_t i = 0; i < before && mi_target_lives(target, slot); i++) {
        if (!is_dropped || is_named(target, site->components[i])) {
            target->set.data[set_count++] = site->components[i];
        }
    }
    for (uint32_t i = 0; i < count && mi_target_lives(target, slot); i++) {
        const uint32_t code = (uint32_t)changes[i];
        const mi_type *type = code == FATED ? NULL : target->types[code >> 1];
        if (type == NULL || type->in_pool) {
            continue;
        }
        uint32_t place = 0;
        while (place < set_count && target->set.data[place] < type->info.id) {
            place++;
        }
        const bool has = place < set_count && target->set.data[place] == type->info.id;
        if (has == ((code & 1) != 0)) {
            return break_form(p, "somebody gains what he has, or loses what he has not");
        }
        mica_component *rest = target->set.data + place;
        if (has) {
            memmove(rest, rest + 1, (--set_count - place) * sizeof(*rest));
        } else {
            memmove(rest + 1, rest, (set_count++ - place) * sizeof(*rest));
            *rest = type->info.id;
        }
    }
    if (set_count == before &&
        (before == 0 || memcmp(target->set.data, site->components, before * sizeof(mica_component)) == 0)) {
        return true;
    }
    if (stands && !leave(p, stood)) {
        return false;
    }
    const uint32_t to = set_count == 0 ? 0 : mi_target_site(target, target->set.data, set_count, false);
    return set_count == 0 || (to != MI_SITE_NONE && add_item(p, &p->coming, to, slot));
}

static bool change_element(plan *p, uint32_t slot, uint32_t code) {
    mi_target *target = p->target;
    const mi_type *type = target->types[code >> 1];
    const bool gains = (code & 1) != 0;
    const uint32_t site = mi_target_site(target, &type->info.id, 1, true);
    if (site == MI_SITE_NONE) {
        return false;
    }
    mi_standing stood;
    if (mi_target_stood(target, slot, target->sites.data[site].pool_number, &stood) == gains) {
        return break_form(p, "somebody gains what he has, or loses what he has not");
    }
    return gains ? add_item(p, &p->coming, site, slot) : leave(p, stood);
}

// Takes a slot whose entity has ended out of its pools; out of those that the delta knows nothing of, if another
// entity is there.
static bool leave_pools(plan *p, uint32_t slot) {
    const mi_target *target = p->target;
    const mi_store *store = &target->world->store;
    if (store->pool_list.count == 0) {
        return true;
    }
    const uint64_t *mask = mi_masks_of(&store->masks, slot);
    for (uint32_t number = mi_store_next_pool(store, mask, 0); number != MI_POOL_NONE;
         number = mi_store_next_pool(store, mask, number + 1)) {
        mi_standing stood;
        const bool is_asked =
            !mi_target_lives(target, slot) || !is_named(target, store->pool_list.data[number]->type->info.id);
        if (is_asked && mi_target_stood(target, slot, number + 1, &stood) && !leave(p, stood)) {
            return false;
        }
    }
    return true;
}

static bool change_slot(plan *p, const uint64_t *changes, uint32_t count) {
    const uint32_t slot = (uint32_t)(changes[0] >> 32);
    const bool lives = mi_target_lives(p->target, slot);
    const bool has_ended = lived(p, slot) && (!lives || is_replaced(p, slot));
    if (!change_table(p, slot, changes, count) || (has_ended && !leave_pools(p, slot))) {
        return false;
    }
    for (uint32_t i = 0; i < count && lives; i++) {
        const uint32_t code = (uint32_t)changes[i];
        if (code != FATED && p->target->types[code >> 1]->in_pool && !change_element(p, slot, code)) {
            return false;
        }
    }
    return true;
}

static bool plan_changes(plan *p) {
    for (uint32_t i = 0; i < p->changes.count;) {
        uint32_t end = i + 1;
        while (end < p->changes.count && p->changes.data[end] >> 32 == p->changes.data[i] >> 32) {
            end++;
        }
        if (!change_slot(p, p->changes.data + i, end - i)) {
            return false;
        }
        i = end;
    }
    return true;
}

// Rows

static bool put_entry(plan *p, uint32_t row, uint64_t entry) {
    if (!MI_TARGET_RESERVE(p->target, &p->entries, (size_t)p->entries.count + 1)) {
        return false;
    }
    p->entries.data[p->entries.count] = entry;
    return add_item(p, &p->touched, row, p->entries.count++);
}

// Who goes and comes at one site: rows and slots in the low halves, ascending.
typedef struct exchange {
    uint32_t site;
    const uint64_t *rows;
    uint32_t row_count;
    const uint64_t *slots;
    uint32_t slot_count;
} exchange;

// Fills the places of those who go, and counts the rows.
static bool exchange_rows(plan *p, const exchange *e, uint32_t *count) {
    const mi_site *site = &p->target->sites.data[e->site];
    const uint32_t before = site->base == NULL ? 0 : site->base->row_count;
    const uint32_t after = before - e->row_count + e->slot_count;
    uint32_t last = after; // candidates to move up: from here on, but for those who go
    uint32_t gone = 0;     // rows of those who go, beside `last`
    while (gone < e->row_count && (uint32_t)e->rows[gone] < after) {
        gone++;
    }
    for (uint32_t i = 0; i < e->row_count; i++) {
        const uint32_t row = (uint32_t)e->rows[i];
        uint64_t entry = 0;
        if (i < e->slot_count) {
            entry = (uint32_t)e->slots[i];
        } else if (row < after) {
            while (gone < e->row_count && (uint32_t)e->rows[gone] == last) {
                gone++;
                last++;
            }
            entry = mi_target_entry(site, last++);
        } else {
            continue;
        }
        if (!put_entry(p, row, entry)) {
            return false;
        }
    }
    for (uint32_t row = after; row < before; row++) {
        if (!put_entry(p, row, 0)) {
            return false;
        }
    }
    for (uint32_t i = e->row_count; i < e->slot_count; i++) {
        if (!put_entry(p, before + i - e->row_count, (uint32_t)e->slots[i])) {
            return false;
        }
    }
    *count = after;
    return true;
}

// A stable pool that loses everybody starts anew.
static bool empty_rows(plan *p, const exchange *e, uint32_t *count) {
    mi_site *site = &p->target->sites.data[e->site];
    const uint32_t before = site->base == NULL ? 0 : site->base->row_count;
    for (uint32_t row = 0; row < before; row++) {
        if (!put_entry(p, row, 0)) {
            return false;
        }
    }
    site->dead_count = 0;
    site->dead_head = MI_POSITION_NONE;
    *count = 0;
    return true;
}

static bool exchange_stable(plan *p, const exchange *e, uint32_t *count) {
    mi_site *site = &p->target->sites.data[e->site];
    const uint32_t none = mica_entity_index(mica_entity_make(MI_POSITION_NONE, MICA_GENERATION_MAX));
    const uint32_t before = site->base == NULL ? 0 : site->base->row_count;
    if (e->slot_count == 0 && e->row_count == before - site->dead_count) {
        return empty_rows(p, e, count);
    }
    *count = before;
    for (uint32_t i = 0; i < e->row_count; i++) {
        const uint32_t row = (uint32_t)e->rows[i];
        uint64_t entry = 0;
        if (i < e->slot_count) {
            entry = (uint32_t)e->slots[i];
        } else {
            entry = MI_ORDER_DEAD | (site->dead_head == MI_POSITION_NONE ? none : site->dead_head);
            site->dead_head = row;
            site->dead_count++;
        }
        if (!put_entry(p, row, entry)) {
            return false;
        }
    }
    for (uint32_t i = e->row_count; i < e->slot_count; i++) {
        uint32_t row = site->dead_head;
        if (row != MI_POSITION_NONE) {
            const uint32_t next = (uint32_t)mi_target_entry(site, row);
            site->dead_head = next == none ? MI_POSITION_NONE : next;
            site->dead_count--;
        } else {
            row = (*count)++;
        }
        if (!put_entry(p, row, (uint32_t)e->slots[i])) {
            return false;
        }
    }
    return true;
}

static bool plan_site(plan *p, const exchange *e) {
    mi_target *target = p->target;
    const mi_site *site = &target->sites.data[e->site];
    const mi_store *store = &target->world->store;
    const bool is_stable = site->pool_number != 0 && store->pool_list.data[site->pool_number - 1]->type->info.stable;
    uint32_t count = 0;
    p->touched.count = 0;
    p->entries.count = 0;
    if (!(is_stable ? exchange_stable(p, e, &count) : exchange_rows(p, e, &count)) || !sort_items(p, &p->touched) ||
        !mi_target_begin_rows(target, e->site, count)) {
        return false;
    }
    for (uint32_t i = 0; i < p->touched.count; i++) {
        const uint64_t item = p->touched.data[i];
        if (!mi_target_touch(target, e->site, (uint32_t)(item >> 32), p->entries.data[(uint32_t)item])) {
            return false;
        }
    }
    return mi_target_end_rows(target, e->site);
}

static uint32_t count_site(const item_list *items, uint32_t from, uint32_t site) {
    uint32_t end = from;
    while (end < items->count && items->data[end] >> 32 == site) {
        end++;
    }
    return end - from;
}

// Slots come in ascending order, so they need nothing but to be ordered by site; rows do not.
static bool sort_leaving(plan *p) {
    for (uint32_t i = 0; i < p->leaving.count; i++) { // by row first: halves exchanged
        p->leaving.data[i] = p->leaving.data[i] << 32 | p->leaving.data[i] >> 32;
    }
    if (!sort_items(p, &p->leaving)) {
        return false;
    }
    for (uint32_t i = 0; i < p->leaving.count; i++) {
        p->leaving.data[i] = p->leaving.data[i] << 32 | p->leaving.data[i] >> 32;
    }
    return sort_items(p, &p->leaving);
}

static bool plan_rows(plan *p) {
    static const uint64_t nothing = 0;
    if (!sort_leaving(p) || !sort_items(p, &p->coming)) {
        return false;
    }
    for (uint32_t i = 0, k = 0; i < p->leaving.count || k < p->coming.count;) {
        const uint64_t a = i < p->leaving.count ? p->leaving.data[i] >> 32 : UINT64_MAX;
        const uint64_t b = k < p->coming.count ? p->coming.data[k] >> 32 : UINT64_MAX;
        const uint32_t site = (uint32_t)(a < b ? a : b);
        const exchange e = {.site = site,
                            .rows = i < p->leaving.count ? &p->leaving.data[i] : &nothing,
                            .row_count = count_site(&p->leaving, i, site),
                            .slots = k < p->coming.count ? &p->coming.data[k] : &nothing,
                            .slot_count = count_site(&p->coming, k, site)};
        if (!plan_site(p, &e)) {
            return false;
        }
        i += e.row_count;
        k += e.slot_count;
    }
    return true;
}

bool mi_target_plan_limited(mi_target *target) {
    mi_heap *heap = target->heap;
    plan p = {.target = target};
    const bool is_fine = plan_slots(&p) && list_changes(&p) && plan_changes(&p) && plan_rows(&p);
    MI_FREE(heap, MICA_MEMORY_STATE, &p.changes);
    MI_FREE(heap, MICA_MEMORY_STATE, &p.leaving);
    MI_FREE(heap, MICA_MEMORY_STATE, &p.coming);
    MI_FREE(heap, MICA_MEMORY_STATE, &p.touched);
    MI_FREE(heap, MICA_MEMORY_STATE, &p.entries);
    MI_FREE(heap, MICA_MEMORY_STATE, &p.spare);
    return is_fine;
}

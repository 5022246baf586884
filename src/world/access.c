// Access sets: sorted lists, since a system names a handful of components out of up to 65,536, and lists that ascend
// are compared side by side.
//
// Invariants: entries ascend by component and no component stands twice; one that is written is not listed as read as
// well.
#include "world/access.h"

#include "world/notice.h"

#include <string.h>

// Where the component stands, or would.
static uint32_t find_place(const mi_access *access, uint32_t component) {
    uint32_t low = 0;
    uint32_t high = access->entries.count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (access->entries.data[middle].component < component) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

const mi_access_entry *mi_access_find(const mi_access *access, mica_component component) {
    const uint32_t place = find_place(access, component);
    const bool is_there = place < access->entries.count && access->entries.data[place].component == component;
    return is_there ? &access->entries.data[place] : NULL;
}

bool mi_access_add(mi_access *access, mi_heap *heap, mica_component component, bool writes) {
    const uint32_t place = find_place(access, component);
    if (place < access->entries.count && access->entries.data[place].component == component) {
        access->entries.data[place].writes |= writes;
        return true;
    }
    if (!MI_RESERVE(heap, MICA_MEMORY_SYSTEMS, &access->entries, (size_t)access->entries.count + 1)) {
        return false;
    }
    mi_access_entry *at = access->entries.data + place;
    memmove(at + 1, at, (access->entries.count - place) * sizeof(*at));
    *at = (mi_access_entry){component, writes};
    access->entries.count++;
    return true;
}

bool mi_access_writes(const mi_term *term) {
    return term->use == MICA_USE_WRITE || term->use == MICA_USE_OPTIONAL_WRITE;
}

bool mi_access_touches(const mi_term *term) {
    return mi_access_writes(term) || term->use == MICA_USE_READ || term->use == MICA_USE_OPTIONAL_READ ||
           term->asks != 0;
}

bool mi_access_add_query(mi_access *access, mi_heap *heap, const mica_query *query) {
    for (uint32_t i = 0; i < query->term_count; i++) {
        const mi_term *term = &query->terms[i];
        if (mi_access_touches(term) && !mi_access_add(access, heap, term->component, mi_access_writes(term))) {
            return false;
        }
    }
    return true;
}

mica_component mi_access_conflict(const mi_access *a, const mi_access *b, uint32_t from) {
    uint32_t at_a = find_place(a, from);
    uint32_t at_b = find_place(b, from);
    while (at_a < a->entries.count && at_b < b->entries.count) {
        const mi_access_entry *entry_a = &a->entries.data[at_a];
        const mi_access_entry *entry_b = &b->entries.data[at_b];
        if (entry_a->component == entry_b->component && (entry_a->writes || entry_b->writes)) {
            return entry_a->component;
        }
        at_a += entry_a->component <= entry_b->component;
        at_b += entry_b->component <= entry_a->component;
    }
    return 0;
}

bool mi_access_is_observed(const mi_access *access, const mica_world *world) {
    bool is_observed = false;
    if (MICA_LIKELY(world->signals.kinds == 0 && !world->front.watches_writes)) {
        return false;
    }
    for (uint32_t i = 0; i < access->entries.count && !is_observed; i++) {
        const mi_access_entry *entry = &access->entries.data[i];
        is_observed = entry->writes && mi_signals_hear_write(&world->signals, entry->component);
    }
    return is_observed;
}

void mi_access_free(mi_access *access, mi_heap *heap) {
    MI_FREE(heap, MICA_MEMORY_SYSTEMS, &access->entries);
}

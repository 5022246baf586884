// The state of a world; see state.h.
#include "state/state.h"

#include <string.h>

static const char extension_key;

mi_state *mi_state_find(const mica_world *world) {
    return mi_world_extension(world, &extension_key);
}

void mi_state_set_base(mi_state *state, mica_snapshot *snapshot) {
    if (state->base != NULL) {
        mi_state **link = &state->base->states;
        while (*link != state) {
            link = &(*link)->next;
        }
        *link = state->next;
    }
    state->base = snapshot;
    if (snapshot != NULL) {
        state->next = snapshot->states;
        snapshot->states = state;
    }
}

static void free_state(mica_world *world, void *pointer) {
    mi_state *state = pointer;
    mi_heap *heap = &world->heap;
    mi_state_set_base(state, NULL);
    mi_vault_release(state->vault);
    mi_epochs_release(state->epochs);
    MI_FREE(heap, MICA_MEMORY_STATE, &state->places);
    MI_FREE(heap, MICA_MEMORY_STATE, &state->parts);
    mi_heap_release(heap, MICA_MEMORY_STATE, state, sizeof(*state), _Alignof(mi_state));
}

mi_state *mi_state_open(mica_world *world) {
    mi_state *state = mi_state_find(world);
    if (state != NULL) {
        return state;
    }
    mi_heap *heap = &world->heap;
    state = mi_heap_allocate_zeroed(heap, MICA_MEMORY_STATE, sizeof(*state), _Alignof(mi_state));
    if (state == NULL) {
        return NULL;
    }
    state->world = world;
    state->origin = mi_next_number(&world->schema->image_number);
    state->epoch_range = (mi_epoch_range){1, 1};
    state->epoch_last = 1;
    state->vault = mi_vault_create(&world->def.allocator, world->schema);
    const mi_extension extension = {.key = &extension_key, .state = state, .destroy = free_state};
    if (state->vault == NULL || !mi_world_add_extension(world, &extension)) {
        mi_vault_release(state->vault);
        mi_heap_release(heap, MICA_MEMORY_STATE, state, sizeof(*state), _Alignof(mi_state));
        return NULL;
    }
    return state;
}

// Tables

mi_rows_image *mi_state_find_table(const mi_state *state, const mi_table *table) {
    const mica_snapshot *base = state->base;
    const uint32_t place = base != NULL && table->id < state->places.count ? state->places.data[table->id] : UINT32_MAX;
    if (base == NULL || place >= base->table_count) {
        return NULL;
    }
    // Ids are given to other tables when theirs are dropped.
    mi_rows_image *rows = base->tables[place];
    const bool is_same =
        rows->component_count == table->component_count &&
        memcmp(rows->components, table->components, rows->component_count * sizeof(mica_component)) == 0;
    return is_same ? rows : NULL;
}

bool mi_state_reserve_places(mi_state *state) {
    const uint32_t count = state->world->store.tables.count;
    if (!MI_RESERVE(&state->world->heap, MICA_MEMORY_STATE, &state->places, count)) {
        return false;
    }
    while (state->places.count < count) {
        state->places.data[state->places.count++] = UINT32_MAX;
    }
    return true;
}

void mi_state_note_table(mi_state *state, const mi_table *table, uint32_t number) {
    state->places.data[table->id] = number;
}

// Slots

// Marks the pages of the slots that were free in the base and may have been taken since: each creation has taken the
// first one of the list, as it was or as destroying has made it, whose pages are marked already.
static void touch_taken(const mi_slots *slots, const mi_slots_image *image) {
    uint64_t taken_count = slots->issued - image->issued;
    for (uint32_t index = image->free_head; index != 0 && taken_count > 0; taken_count--) {
        mi_slots_touch(slots, index);
        index = (uint32_t)mi_slots_image_at(image, index) & ~MI_SLOT_FREE;
    }
    for (uint32_t index = image->used; index < slots->used; index++) {
        mi_slots_touch(slots, index);
    }
}

void mi_state_touch_slots(mi_state *state) {
    const mi_slots *slots = &state->world->store.slots;
    const mica_snapshot *base = state->base;
    if (slots->capacity == 0) {
        return;
    }
    if (base == NULL) {
        memset(mi_slots_touched(slots), 1, mi_slots_pages(slots->used));
    } else if (slots->issued != base->slots->issued) {
        touch_taken(slots, base->slots);
    }
}

// The entity index and the marks of entities in snapshots.
//
// Pages of slots that nothing has happened to since the base was taken are shared with it; which those are follows from
// the marks of pages where entities ended and from the free list that the base has. Locations are not kept: those of
// living entities come from handles of rows, and are brought back with them.
#include "state/capture.h"
#include "state/restore.h"
#include "state/state.h"
#include "store/visibility.h"

#include <string.h>

#define PAGE_SIZE (1u << MI_SLOT_PAGE_SHIFT)

// Slots

static uint32_t used_in_page(uint32_t used, uint32_t page) {
    const uint32_t rest = used - (page << MI_SLOT_PAGE_SHIFT);
    return rest < PAGE_SIZE ? rest : PAGE_SIZE;
}

static mi_slot_page *copy_page(mi_vault *vault, const mi_slots *slots, uint32_t page) {
    mi_slot_page *copy = mi_vault_take(vault, sizeof(mi_slot_page));
    if (copy == NULL) {
        return NULL;
    }
    copy->reference_count = 1;
    const uint64_t *from = slots->data + ((size_t)page << MI_SLOT_PAGE_SHIFT);
    const uint32_t count = used_in_page(slots->used, page);
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t is_free = 0 - (from[i] >> 31 & 1);
        copy->slots[i] = from[i] & (~(uint64_t)UINT32_MAX | is_free);
    }
    memset(copy->slots + count, 0xff, (PAGE_SIZE - count) * sizeof(uint64_t)); // as those never used
    return copy;
}

void mi_slots_image_release(mi_vault *vault, mi_slots_image *image) {
    if (image == NULL || --image->reference_count > 0) {
        return;
    }
    for (uint32_t page = 0; page < image->page_count; page++) {
        mi_slot_page *gone = image->pages[page];
        if (gone != NULL && --gone->reference_count == 0) {
            mi_vault_give(vault, gone);
        }
    }
    mi_vault_give(vault, image);
}

mi_slots_image *mi_slots_image_create(mi_vault *vault, uint32_t used) {
    const uint32_t page_count = mi_slots_pages(used);
    const size_t byte_size = sizeof(mi_slots_image) + page_count * sizeof(mi_slot_page *);
    mi_slots_image *image = mi_vault_take(vault, byte_size);
    if (image != NULL) {
        memset(image, 0, byte_size);
        image->reference_count = 1;
        image->used = used;
        image->page_count = page_count;
    }
    return image;
}

static bool is_page_same(const mi_slots *slots, const mi_slots_image *earlier, uint32_t page) {
    return earlier != NULL && page < earlier->page_count && mi_slots_touched(slots)[page] == 0;
}

// Whether nothing has happened to any slot since the base was taken.
static bool are_slots_same(const mi_slots *slots, const mi_slots_image *earlier) {
    return earlier != NULL && slots->issued == earlier->issued && slots->alive == earlier->alive &&
           slots->used == earlier->used && slots->retired == earlier->retired &&
           slots->free_head == earlier->free_head &&
           (slots->used == 0 || memchr(mi_slots_touched(slots), 1, mi_slots_pages(slots->used)) == NULL);
}

static mi_slots_image *capture_slots(mi_capture *capture, const mi_slots *slots) {
    mi_slots_image *earlier = capture->base == NULL ? NULL : capture->base->slots;
    if (are_slots_same(slots, earlier)) {
        earlier->reference_count++;
        return earlier;
    }
    mi_slots_image *image = mi_slots_image_create(capture->vault, slots->used);
    if (image == NULL) {
        return NULL;
    }
    image->free_head = slots->free_head;
    image->alive = slots->alive;
    image->retired = slots->retired;
    image->last_count = slots->last_count;
    image->issued = slots->issued;
    for (uint32_t page = 0; page < image->page_count; page++) {
        if (is_page_same(slots, earlier, page)) {
            image->pages[page] = earlier->pages[page];
            image->pages[page]->reference_count++;
            continue;
        }
        image->pages[page] = copy_page(capture->vault, slots, page);
        if (image->pages[page] == NULL) {
            mi_slots_image_release(capture->vault, image);
            return NULL;
        }
    }
    return image;
}

// Marks

void mi_marks_image_release(mi_vault *vault, mi_marks_image *image) {
    if (image != NULL && --image->reference_count == 0) {
        mi_vault_give(vault, image);
    }
}

mi_marks_image *mi_marks_image_create(mi_vault *vault, mi_marks_kind kind, mica_component component, uint32_t count) {
    mi_marks_image *image = mi_vault_take(vault, sizeof(mi_marks_image) + count * sizeof(uint32_t));
    if (image != NULL) {
        *image = (mi_marks_image){.reference_count = 1, .kind = kind, .component = component, .count = count};
    }
    return image;
}

// Adds an image of a set, unless nobody is in it.
static bool capture_set(mi_capture *capture, mica_snapshot *snapshot, mi_marks_kind kind, mica_component component,
                        const mi_marks *marks) {
    if (marks->count == 0) {
        return true;
    }
    mi_marks_image *image = mi_marks_image_create(capture->vault, kind, component, marks->count);
    if (image == NULL) {
        return mi_capture_fail(capture, MICA_OUT_OF_MEMORY, NULL);
    }
    uint32_t count = 0;
    for (uint32_t index = mi_marks_next(marks, 0); index != UINT32_MAX; index = mi_marks_next(marks, index + 1)) {
        image->indices[count++] = index;
    }
    snapshot->marks[snapshot->mark_count++] = image;
    return true;
}

// Puts the sets of toggled components, which are the last ones, into the order of the components' names.
static void sort_toggles(const mica_schema *schema, mica_snapshot *snapshot) {
    uint32_t first = 0;
    while (first < snapshot->mark_count && snapshot->marks[first]->kind != MI_MARKS_TOGGLED) {
        first++;
    }
    for (uint32_t i = first + 1; i < snapshot->mark_count; i++) {
        mi_marks_image *image = snapshot->marks[i];
        const mi_type *type = mi_schema_type(schema, image->component);
        uint32_t place = i;
        while (place > first &&
               mi_type_compare_names(mi_schema_type(schema, snapshot->marks[place - 1]->component), type) > 0) {
            snapshot->marks[place] = snapshot->marks[place - 1];
            place--;
        }
        snapshot->marks[place] = image;
    }
}

static bool share_marks(mi_capture *capture, mica_snapshot *snapshot) {
    const mica_snapshot *base = capture->base;
    for (uint32_t i = 0; i < base->mark_count; i++) {
        snapshot->marks[i] = base->marks[i];
        snapshot->marks[i]->reference_count++;
    }
    snapshot->mark_count = base->mark_count;
    return true;
}

static bool capture_marks(mi_capture *capture, mica_snapshot *snapshot) {
    const mi_store *store = &capture->world->store;
    const mi_state *state = mi_state_find(capture->world);
    const bool is_same = capture->base != NULL && state->mark_changes == store->mark_changes;
    uint32_t count = (store->disabled.count > 0 ? 1u : 0u) + (store->killed.count > 0 ? 1u : 0u);
    for (uint32_t id = 0; id < store->toggled.count; id++) {
        count += store->toggled.data[id].count > 0;
    }
    if (count == 0) {
        return true;
    }
    snapshot->marks = mi_vault_take(capture->vault, count * sizeof(mi_marks_image *));
    if (snapshot->marks == NULL) {
        return mi_capture_fail(capture, MICA_OUT_OF_MEMORY, NULL);
    }
    if (is_same) {
        return share_marks(capture, snapshot);
    }
    bool is_fine = capture_set(capture, snapshot, MI_MARKS_DISABLED, 0, &store->disabled) &&
                   capture_set(capture, snapshot, MI_MARKS_KILLED, 0, &store->killed);
    for (uint32_t id = 0; is_fine && id < store->toggled.count; id++) {
        is_fine = capture_set(capture, snapshot, MI_MARKS_TOGGLED, (mica_component)id, &store->toggled.data[id]);
    }
    sort_toggles(capture->world->schema, snapshot);
    return is_fine;
}

bool mi_entities_capture(mi_capture *capture, mica_snapshot *snapshot) {
    mi_slots *slots = &capture->world->store.slots;
    mi_slots_settle(slots);
    mi_state_touch_slots(mi_state_find(capture->world));
    snapshot->slots = capture_slots(capture, slots);
    if (snapshot->slots == NULL) {
        return mi_capture_fail(capture, MICA_OUT_OF_MEMORY, NULL);
    }
    return capture_marks(capture, snapshot);
}

// Restoring

typedef struct mi_prepared_entities {
    bool keeps_marks; // they are as the snapshot says
    mi_hidden hidden;
} mi_prepared_entities;

static bool prepare_set(mi_restore *restore, mi_hidden *hidden, const mi_marks_image *image) {
    mi_heap *heap = &restore->world->heap;
    mi_marks *marks = image->kind == MI_MARKS_DISABLED ? &hidden->disabled : &hidden->killed;
    if (image->kind == MI_MARKS_TOGGLED) {
        if (!MI_RESERVE(heap, MICA_MEMORY_ENTITIES, &hidden->toggled, image->component + 1u)) {
            return mi_restore_fail(restore, MICA_OUT_OF_MEMORY);
        }
        while (hidden->toggled.count <= image->component) {
            hidden->toggled.data[hidden->toggled.count++] = (mi_marks){0};
        }
        marks = &hidden->toggled.data[image->component];
        hidden->toggle_count += image->count;
    }
    for (uint32_t i = 0; i < image->count; i++) {
        if (!mi_marks_open(marks, heap, image->indices[i])) {
            return mi_restore_fail(restore, MICA_OUT_OF_MEMORY);
        }
        mi_marks_put(marks, image->indices[i], true);
    }
    return true;
}

bool mi_entities_prepare(mi_restore *restore) {
    mica_world *world = restore->world;
    const mica_snapshot *snapshot = restore->snapshot;
    mi_slots *slots = &world->store.slots;
    const mi_state *state = mi_state_find(world);
    mi_prepared_entities *prepared =
        mi_heap_allocate_zeroed(&world->heap, MICA_MEMORY_STATE, sizeof(*prepared), _Alignof(mi_prepared_entities));
    restore->entities = prepared;
    if (prepared == NULL) {
        return mi_restore_fail(restore, MICA_OUT_OF_MEMORY);
    }
    const mica_result result = mi_slots_reserve_used(slots, &world->heap, snapshot->slots->used);
    if (result != MICA_OK) {
        restore->limit = "all indices of entities are in use or retired";
        return mi_restore_fail(restore, result);
    }
    mi_slots_settle(slots);
    prepared->keeps_marks = snapshot == state->base && state->mark_changes == world->store.mark_changes;
    bool is_fine = true;
    for (uint32_t i = 0; is_fine && !prepared->keeps_marks && i < snapshot->mark_count; i++) {
        is_fine = prepare_set(restore, &prepared->hidden, snapshot->marks[i]);
    }
    return is_fine;
}

static void free_prepared(mi_restore *restore) {
    mi_heap *heap = &restore->world->heap;
    mi_hidden_free(&restore->entities->hidden, heap);
    mi_heap_release(heap, MICA_MEMORY_STATE, restore->entities, sizeof(mi_prepared_entities),
                    _Alignof(mi_prepared_entities));
    restore->entities = NULL;
}

void mi_entities_cancel(mi_restore *restore) {
    if (restore->entities != NULL) {
        free_prepared(restore);
    }
}

// Brings a page of slots to what its image says; living entities that stay keep their location.
static void commit_page(mi_slots *slots, const mi_slot_page *image, uint32_t first, uint32_t count) {
    uint64_t *data = slots->data + first;
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t wanted = image->slots[i];
        const bool stays =
            (wanted & MI_SLOT_FREE) == 0 && (data[i] & MI_SLOT_FREE) == 0 && data[i] >> 32 == wanted >> 32;
        data[i] = stays ? data[i] : wanted;
    }
}

void mi_entities_commit_slots(mi_restore *restore) {
    mi_slots *slots = &restore->world->store.slots;
    mi_state *state = mi_state_find(restore->world);
    const mi_slots_image *image = restore->snapshot->slots;
    const mi_slots_image *base = state->base == NULL ? NULL : state->base->slots;
    if (slots->capacity == 0) {
        return; // nor has the snapshot any
    }
    mi_state_touch_slots(state);
    for (uint32_t page = 0; page < image->page_count; page++) {
        const bool is_same = is_page_same(slots, base, page) && base->pages[page] == image->pages[page];
        if (!is_same) {
            commit_page(slots, image->pages[page], page << MI_SLOT_PAGE_SHIFT, used_in_page(image->used, page));
        }
    }
    const uint32_t used = image->used == 0 ? 1 : image->used; // slot 0 is there as soon as there is room for any
    if (slots->used > used) {                                 // as those never used
        memset(slots->data + used, 0xff, (slots->used - used) * sizeof(uint64_t));
    }
    memset(mi_slots_touched(slots), 0, mi_slots_pages(slots->capacity));
    slots->used = used;
    slots->free_head = image->free_head;
    slots->alive = image->alive;
    slots->retired = image->retired;
    slots->last_count = image->last_count;
    slots->issued = image->issued;
}

void mi_entities_commit_marks(mi_restore *restore) {
    mi_store *store = &restore->world->store;
    if (!restore->entities->keeps_marks) {
        mi_store_exchange_marks(store, &restore->entities->hidden);
    } else {
        mi_store_recount_hidden(store);
    }
    free_prepared(restore);
}

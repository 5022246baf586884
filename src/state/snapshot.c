// Snapshots: taking and giving back. What is in one is taken by entities.c, tables.c, pools.c and parts.c.
//
// A capture that fails leaves the base as it was. Columns that have been copied by then name images that are gone, so
// they are copied once more the next time; nothing else of the world has changed.
#include "state/snapshot.h"

#include "state/capture.h"
#include "state/restore.h"
#include "state/state.h"
#include "world/rewind.h"

#include <string.h>

mica_snapshot *mi_snapshot_create(mi_vault *vault) {
    mica_snapshot *snapshot = mi_vault_take(vault, sizeof(mica_snapshot));
    if (snapshot != NULL) {
        memset(snapshot, 0, sizeof(*snapshot));
        snapshot->reference_count = 1;
        snapshot->vault = mi_vault_retain(vault);
    }
    return snapshot;
}

static void give_list(mi_vault *vault, void *list) {
    if (list != NULL) {
        mi_vault_give(vault, list);
    }
}

static void free_snapshot(mica_snapshot *snapshot) {
    mi_vault *vault = snapshot->vault;
    while (snapshot->states != NULL) {
        mi_state_set_base(snapshot->states, NULL);
    }
    for (uint32_t i = 0; i < snapshot->table_count; i++) {
        mi_rows_image_release(snapshot->tables[i]);
    }
    for (uint32_t i = 0; i < snapshot->pool_count; i++) {
        mi_rows_image_release(snapshot->pools[i]);
    }
    for (uint32_t i = 0; i < snapshot->mark_count; i++) {
        mi_marks_image_release(vault, snapshot->marks[i]);
    }
    for (uint32_t i = 0; i < snapshot->part_count; i++) {
        mi_part_image_release(vault, snapshot->parts[i]);
    }
    mi_slots_image_release(vault, snapshot->slots);
    mi_epochs_release(snapshot->epochs);
    give_list(vault, snapshot->tables);
    give_list(vault, snapshot->pools);
    give_list(vault, snapshot->marks);
    give_list(vault, snapshot->parts);
    mi_vault_give(vault, snapshot);
    mi_vault_release(vault);
}

// Everything has been captured: the snapshot is the base from now on.
static void become_base(mi_state *state, mica_snapshot *snapshot) {
    const mi_store *store = &state->world->store;
    uint32_t number = 0;
    for (uint32_t i = 0; i < store->ordered.count; i++) {
        if (store->ordered.data[i]->row_count > 0) {
            mi_state_note_table(state, store->ordered.data[i], number++);
        }
    }
    if (store->slots.capacity > 0) {
        memset(mi_slots_touched(&store->slots), 0, mi_slots_pages(store->slots.capacity));
    }
    state->mark_changes = store->mark_changes;
    mi_state_set_base(state, snapshot);
    mi_parts_note(state, snapshot);
}

// Those who hold references taken in the present epoch have seen no more than the snapshot has.
static void end_epoch(mi_state *state, mica_snapshot *snapshot) {
    snapshot->origin = state->origin;
    snapshot->epochs = mi_epochs_retain(state->epochs);
    snapshot->epoch_range = state->epoch_range;
    state->epoch_range.last = ++state->epoch_last;
}

static mica_result fail_capture(const mi_capture *capture, const char *call) {
    const mica_world *world = capture->world;
    if (capture->result == MICA_NO_COPY) {
        return mi_fail(&world->log, MICA_NO_COPY, call, "{} owns something and has no copy hook: {} cannot be copied",
                       MI_TEXT(capture->type->info.name), MI_TEXT(world->name));
    }
    return mi_fail_memory(&world->log, call, 0);
}

mica_result mi_world_check_still(mica_world *world, const char *call) {
    const mica_result result = mi_world_check_structure(world, call);
    if (result != MICA_OK) {
        return result;
    }
    if (world->running != NULL) {
        return mi_fail(&world->log, MICA_LOCKED, call, "system \"{}\" is running", MI_TEXT(world->running_system));
    }
    return MICA_OK;
}

// Parts write how old things are, in versions: the snapshot's has to be known by then.
static bool capture_parts(mi_capture *capture, mica_snapshot *snapshot) {
    mica_world *world = capture->world;
    snapshot->version = mi_rewind_line(world, capture->latest);
    world->store.version = snapshot->version;
    return mi_parts_capture(capture, snapshot);
}

mica_snapshot *mi_snapshot_take(mica_world *world, bool leaves_transient, const char *call) {
    if (mi_world_check_still(world, call) != MICA_OK) {
        return NULL;
    }
    mi_world_apply_walk_commands(world, call); // those that memory was too short for: no part could save them
    mi_state *state = mi_state_open(world);
    if (state == NULL) {
        mi_fail_memory(&world->log, call, sizeof(mi_state));
        return NULL;
    }
    const bool has_base = state->base != NULL && state->base->leaves_transient == leaves_transient;
    mi_capture capture = {.world = world,
                          .vault = has_base ? state->base->vault : state->vault,
                          .base = has_base ? state->base : NULL,
                          .leaves_transient = leaves_transient};
    mica_snapshot *snapshot = mi_snapshot_create(capture.vault);
    if (snapshot == NULL) {
        mi_fail_memory(&world->log, call, sizeof(mica_snapshot));
        return NULL;
    }
    snapshot->leaves_transient = leaves_transient;
    if (!mi_entities_capture(&capture, snapshot) || !mi_tables_capture(&capture, snapshot) ||
        !mi_pools_capture(&capture, snapshot) || !capture_parts(&capture, snapshot)) {
        free_snapshot(snapshot);
        fail_capture(&capture, call);
        return NULL;
    }
    end_epoch(state, snapshot);
    become_base(state, snapshot);
    return snapshot;
}

mica_snapshot *mica_snapshot_take(mica_world *world, const mica_snapshot_options *options) {
    return mi_snapshot_take(world, options != NULL && options->leave_transient, __func__);
}

mica_snapshot *mica_snapshot_retain(mica_snapshot *snapshot) {
    if (snapshot != NULL) {
        snapshot->reference_count++;
    }
    return snapshot;
}

void mica_snapshot_release(mica_snapshot *snapshot) {
    if (snapshot != NULL && --snapshot->reference_count == 0) {
        free_snapshot(snapshot);
    }
}

int32_t mica_snapshot_entity_count(const mica_snapshot *snapshot) {
    return snapshot == NULL ? 0 : (int32_t)snapshot->slots->alive;
}

// Sizes: of all that a snapshot has, or of that alone which no other snapshot shares

static size_t image_bytes(const mi_image *image, bool own) {
    return image == NULL || (own && image->reference_count > 1) ? 0
                                                                : sizeof(mi_image) + (size_t)image->size * image->count;
}

static size_t rows_bytes(const mi_rows_image *rows, bool own) {
    if (own && rows->reference_count > 1) {
        return 0;
    }
    size_t bytes = sizeof(mi_rows_image) + rows->chunk_count * sizeof(mi_chunk_image *) +
                   rows->column_count * sizeof(mi_type *) + rows->component_count * sizeof(mica_component);
    for (uint32_t k = 0; k < rows->chunk_count; k++) {
        const mi_chunk_image *chunk = rows->chunks[k];
        if (own && chunk->reference_count > 1) {
            continue;
        }
        bytes += sizeof(mi_chunk_image) + chunk->column_count * sizeof(mi_column_image);
        bytes += image_bytes(chunk->handles.image, own);
        for (uint32_t i = 0; i < chunk->column_count; i++) {
            bytes += image_bytes(chunk->columns[i].image, own);
        }
    }
    return bytes;
}

static size_t slots_bytes(const mi_slots_image *slots, bool own) {
    if (own && slots->reference_count > 1) {
        return 0;
    }
    size_t bytes = sizeof(mi_slots_image) + slots->page_count * sizeof(mi_slot_page *);
    for (uint32_t page = 0; page < slots->page_count; page++) {
        bytes += own && slots->pages[page]->reference_count > 1 ? 0 : sizeof(mi_slot_page);
    }
    return bytes;
}

size_t mi_snapshot_byte_size(const mica_snapshot *snapshot, bool own) {
    size_t bytes =
        sizeof(mica_snapshot) + slots_bytes(snapshot->slots, own) +
        (snapshot->table_count + snapshot->pool_count + snapshot->mark_count + snapshot->part_count) * sizeof(void *);
    for (uint32_t i = 0; i < snapshot->table_count; i++) {
        bytes += rows_bytes(snapshot->tables[i], own);
    }
    for (uint32_t i = 0; i < snapshot->pool_count; i++) {
        bytes += rows_bytes(snapshot->pools[i], own);
    }
    for (uint32_t i = 0; i < snapshot->mark_count; i++) {
        const mi_marks_image *marks = snapshot->marks[i];
        bytes += own && marks->reference_count > 1 ? 0 : sizeof(*marks) + marks->count * sizeof(uint32_t);
    }
    for (uint32_t i = 0; i < snapshot->part_count; i++) {
        const mi_part_image *part = snapshot->parts[i];
        bytes += own && part->reference_count > 1 ? 0 : sizeof(*part) + part->record.bytes.capacity;
    }
    return bytes;
}

size_t mica_snapshot_own_byte_size(const mica_snapshot *snapshot) {
    return snapshot == NULL ? 0 : mi_snapshot_byte_size(snapshot, true);
}

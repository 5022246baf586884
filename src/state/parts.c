// Parts in snapshots: records that parts of the world write and read themselves (world/part.h).
#include "state/capture.h"
#include "state/restore.h"
#include "state/state.h"

#include <string.h>

void mi_part_image_release(mi_vault *vault, mi_part_image *image) {
    if (image != NULL && --image->reference_count == 0) {
        mi_record_free(&image->record);
        mi_vault_give(vault, image);
    }
}

// Parts of a world by number: those that all worlds have, then those of extensions. NULL: this one has none.
static uint32_t part_end(const mica_world *world) {
    return mi_world_part_count + world->extensions.count;
}

static const mi_part *part_at(const mica_world *world, uint32_t number) {
    return number < mi_world_part_count ? mi_world_parts[number]
                                        : world->extensions.data[number - mi_world_part_count].part;
}

static mi_part_note *find_note(const mi_state *state, const mi_part *part) {
    for (uint32_t i = 0; i < state->parts.count; i++) {
        if (state->parts.data[i].part == part) {
            return &state->parts.data[i];
        }
    }
    return NULL;
}

bool mi_state_reserve_notes(mi_state *state, uint32_t count) {
    return MI_RESERVE(&state->world->heap, MICA_MEMORY_STATE, &state->parts, count);
}

// Notes that the base's record of a part is as the part is; the room is there.
static void note_part(mi_state *state, const mi_part *part, const mi_part_image *image) {
    mi_part_note *note = find_note(state, part);
    if (note == NULL) {
        note = &state->parts.data[state->parts.count++];
    }
    *note = (mi_part_note){.part = part, .image = image, .stamp = part->stamp == NULL ? 0 : part->stamp(state->world)};
}

// The base's record of a part, if the part has not changed since; NULL.
static mi_part_image *find_same(const mi_state *state, const mi_part *part) {
    const mi_part_note *note = state->base == NULL ? NULL : find_note(state, part);
    if (note == NULL || note->image == NULL || part->stamp == NULL || part->stamp(state->world) != note->stamp) {
        return NULL;
    }
    for (uint32_t i = 0; i < state->base->part_count; i++) {
        if (state->base->parts[i] == note->image) {
            return state->base->parts[i];
        }
    }
    return NULL;
}

static mi_part_image *write_part(mi_capture *capture, const mi_part *part) {
    mi_vault *vault = capture->vault;
    mi_part_image *image = mi_vault_take(vault, sizeof(mi_part_image));
    if (image == NULL) {
        mi_capture_fail(capture, MICA_OUT_OF_MEMORY, NULL);
        return NULL;
    }
    *image = (mi_part_image){.reference_count = 1, .part = part};
    image->record = (mi_record){.heap = &vault->heap, .allocator = &vault->values};
    mi_writer writer = {.schema = capture->world->schema, .record = &image->record};
    part->save(capture->world, &writer);
    if (writer.result != MICA_OK) {
        mi_capture_fail(capture, writer.result, writer.type);
        mi_part_image_release(vault, image);
        return NULL;
    }
    return image;
}

bool mi_parts_capture(mi_capture *capture, mica_snapshot *snapshot) {
    const mica_world *world = capture->world;
    mi_state *state = mi_state_find(world);
    const uint32_t end = part_end(world);
    snapshot->parts = end == 0 ? NULL : mi_vault_take(capture->vault, end * sizeof(mi_part_image *));
    if ((end > 0 && snapshot->parts == NULL) || !mi_state_reserve_notes(state, state->parts.count + end)) {
        return mi_capture_fail(capture, MICA_OUT_OF_MEMORY, NULL);
    }
    for (uint32_t i = 0; i < end; i++) {
        const mi_part *part = part_at(world, i);
        mi_part_image *image = part == NULL ? NULL : find_same(state, part);
        if (image != NULL) {
            image->reference_count++;
        } else if (part != NULL && (image = write_part(capture, part)) == NULL) {
            return false;
        }
        if (image != NULL) {
            snapshot->parts[snapshot->part_count++] = image;
        }
    }
    return true;
}

void mi_parts_note(mi_state *state, const mica_snapshot *snapshot) {
    for (uint32_t i = 0; i < snapshot->part_count; i++) {
        note_part(state, snapshot->parts[i]->part, snapshot->parts[i]);
    }
}

// Restoring

typedef struct prepared_part {
    const mi_part *part;
    void *prepared;
} prepared_part;

typedef struct mi_prepared_parts {
    MI_ARRAY(prepared_part) parts;
} mi_prepared_parts;

static const mi_part_image *find_image(const mica_snapshot *snapshot, const mi_part *part) {
    for (uint32_t i = 0; i < snapshot->part_count; i++) {
        if (snapshot->parts[i]->part == part) {
            return snapshot->parts[i];
        }
    }
    return NULL;
}

// Prepares a part for its record (NULL: it has none).
static bool prepare_part(mi_restore *restore, const mi_part *part, const mi_part_image *image) {
    mica_world *world = restore->world;
    mi_prepared_parts *prepared = restore->parts;
    if (part == restore->without) {
        return true;
    }
    const bool is_made = restore->snapshot->is_made;
    // Observers that are told of the restore may write to what is as it was until then.
    const bool may_change = restore->telling != NULL && restore->tells_all;
    if (image != NULL && !is_made && !may_change && find_same(mi_state_find(world), part) == image) {
        return true;
    }
    if (!MI_RESERVE(&world->heap, MICA_MEMORY_STATE, &prepared->parts, prepared->parts.count + 1)) {
        return mi_restore_fail(restore, MICA_OUT_OF_MEMORY);
    }
    mi_reader reader = {0};
    if (image != NULL) {
        reader = mi_reader_of(world->schema, &image->record);
    }
    void *aside = NULL;
    const mica_result result = part->prepare(world, image == NULL ? NULL : &reader, &aside);
    if (result != MICA_OK) {
        restore->part = part->name;
        restore->fault = reader.fault;
        return mi_restore_fail(restore, result);
    }
    prepared->parts.data[prepared->parts.count++] = (prepared_part){.part = part, .prepared = aside};
    const char *fault = is_made && part->check != NULL ? part->check(world, aside, restore->snapshot) : NULL;
    if (fault != NULL) {
        restore->part = part->name;
        restore->fault = fault;
        return mi_restore_fail(restore, MICA_FORMAT);
    }
    return true;
}

static bool is_of_world(const mica_world *world, const mi_part *part) {
    for (uint32_t i = 0; i < part_end(world); i++) {
        if (part_at(world, i) == part) {
            return true;
        }
    }
    return false;
}

bool mi_parts_prepare(mi_restore *restore) {
    mica_world *world = restore->world;
    const mica_snapshot *snapshot = restore->snapshot;
    mi_heap *heap = &world->heap;
    mi_state *state = mi_state_find(world);
    restore->parts =
        mi_heap_allocate_zeroed(heap, MICA_MEMORY_STATE, sizeof(mi_prepared_parts), _Alignof(mi_prepared_parts));
    if (restore->parts == NULL) {
        return mi_restore_fail(restore, MICA_OUT_OF_MEMORY);
    }
    // Those that the world does not have yet first: they come to be, and are among its parts then.
    for (uint32_t i = 0; i < snapshot->part_count; i++) {
        const mi_part_image *image = snapshot->parts[i];
        if (!is_of_world(world, image->part) && !prepare_part(restore, image->part, image)) {
            return false;
        }
    }
    const uint32_t made_count = restore->parts->parts.count;
    for (uint32_t i = 0; i < part_end(world); i++) {
        const mi_part *part = part_at(world, i);
        bool is_prepared = part == NULL || (snapshot->keeps_versions && part->is_history);
        for (uint32_t k = 0; k < made_count; k++) {
            is_prepared = is_prepared || restore->parts->parts.data[k].part == part;
        }
        if (!is_prepared && !prepare_part(restore, part, find_image(snapshot, part))) {
            return false;
        }
    }
    return mi_state_reserve_notes(state, state->parts.count + snapshot->part_count) ||
           mi_restore_fail(restore, MICA_OUT_OF_MEMORY);
}

static void free_prepared(mi_restore *restore) {
    mi_heap *heap = &restore->world->heap;
    MI_FREE(heap, MICA_MEMORY_STATE, &restore->parts->parts);
    mi_heap_release(heap, MICA_MEMORY_STATE, restore->parts, sizeof(mi_prepared_parts), _Alignof(mi_prepared_parts));
    restore->parts = NULL;
}

static bool is_of_every_world(const mi_part *part) {
    for (uint32_t i = 0; i < mi_world_part_count; i++) {
        if (mi_world_parts[i] == part) {
            return true;
        }
    }
    return false;
}

// Extensions may build on what every world has, whenever they were made.
void mi_parts_commit(mi_restore *restore) {
    for (uint32_t turn = 0; turn < 2; turn++) {
        for (uint32_t i = 0; i < restore->parts->parts.count; i++) {
            const prepared_part *prepared = &restore->parts->parts.data[i];
            if (is_of_every_world(prepared->part) == (turn == 0)) {
                prepared->part->commit(restore->world, prepared->prepared);
            }
        }
    }
    free_prepared(restore);
}

void mi_parts_cancel(mi_restore *restore) {
    if (restore->parts == NULL) {
        return;
    }
    for (uint32_t i = restore->parts->parts.count; i-- > 0;) {
        const prepared_part *prepared = &restore->parts->parts.data[i];
        prepared->part->cancel(restore->world, prepared->prepared);
    }
    free_prepared(restore);
}

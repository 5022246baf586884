// What is in a delta, in numbers, for tools.
#include "base/error.h"
#include "state/delta.h"

static const char call_name[] = "mica_delta_describe";

// How many values changed of those who have the component at both ends.
static uint32_t count_changed(const mi_delta_component *component) {
    const mi_set *const sets[] = {mi_delta_places(component), &component->added, &component->removed};
    mi_sweep sweep = mi_sweep_of(sets, 3);
    uint32_t first = 0;
    uint32_t length = 0;
    uint32_t members = 0;
    uint32_t count = 0;
    while (mi_sweep_next(&sweep, &first, &length, &members)) {
        count += members == 1 ? length : 0;
    }
    return count;
}

static mica_delta_info describe(const mi_delta *delta, mica_delta_component_info *components, int32_t capacity) {
    const uint32_t replaced = delta->fates[MI_FATE_REPLACED].slots.count;
    mica_delta_info info = {
        .is_limited = mi_delta_is_limited(delta),
        .is_whole = (delta->flags & MI_DELTA_WHOLE) != 0,
        .created_count = (int32_t)(delta->fates[MI_FATE_CREATED].slots.count + replaced),
        .destroyed_count = (int32_t)(delta->fates[MI_FATE_DESTROYED].slots.count + replaced),
        .base_checksum = mi_delta_end_sum(delta, false),
        .target_checksum = mi_delta_end_sum(delta, true),
    };
    for (uint32_t i = 0; i < delta->components.count; i++) {
        const mi_delta_component *component = &delta->components.data[i];
        if (component->added.count == 0 && component->removed.count == 0 && mi_delta_places(component)->count == 0) {
            continue;
        }
        if (info.component_count < capacity) {
            components[info.component_count] =
                (mica_delta_component_info){.name = component->name,
                                            .byte_size = (int32_t)component->size,
                                            .added_count = (int32_t)component->added.count,
                                            .removed_count = (int32_t)component->removed.count,
                                            .changed_count = (int32_t)count_changed(component)};
        }
        info.component_count++;
    }
    for (uint32_t i = 0; i < delta->parts.count; i++) {
        const mi_delta_part *part = &delta->parts.data[i];
        const mi_delta_section *lasting = &part->sections[MI_SECTION_LASTING];
        info.part_count += lasting->hunk_count > 0 || lasting->sums.base != lasting->sums.target;
    }
    return info;
}

mica_result mica_delta_describe(const void *bytes, size_t byte_size, mica_delta_info *info,
                                mica_delta_component_info *components, int32_t component_capacity) {
    if (info == NULL || component_capacity < 0 || (component_capacity > 0 && components == NULL)) {
        return mi_fail_plain(NULL, MICA_INVALID, call_name, "needs a place for what it has to say");
    }
    mi_heap heap;
    mi_heap_init(&heap, NULL);
    mi_delta delta;
    const mica_result result = mi_delta_read(&delta, &heap, bytes, byte_size, NULL, call_name);
    if (result == MICA_OK) {
        *info = describe(&delta, components, component_capacity);
        mi_delta_free(&delta);
    }
    return result;
}

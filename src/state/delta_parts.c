// Parts of the state that a delta leads to: checking those of the base, making those of the target.
//
// What lasts of a part and the rest are sections of their own. The rest is made as the delta says where the base has it
// as the delta says; else the part completes what lasts by what the world has.
//
// Values beside the bytes go by their numbers among those of their section. What deltas tell of one is its type's name,
// a zero, and what the hook `write` tells; so one of another type in the same place is just another one.
#include "state/delta_target.h"

#include <string.h>

#include "store/value.h"

static const mi_part_image *find_part(const mica_snapshot *snapshot, const char *name) {
    for (uint32_t i = 0; i < snapshot->part_count; i++) {
        const mi_part_image *part = snapshot->parts[i];
        if (strcmp(part->part->name, name) == 0) {
            return part->record.bytes.count == 0 && part->record.values.count == 0 ? NULL : part;
        }
    }
    return NULL;
}

static const mi_delta_part *find_said(const mi_delta *delta, const char *name) {
    for (uint32_t i = 0; i < delta->parts.count; i++) {
        if (strcmp(delta->parts.data[i].name, name) == 0) {
            return &delta->parts.data[i];
        }
    }
    return NULL;
}

static bool is_section_as_said(const mi_target *target, const mi_part_image *image, const mi_delta_part *part,
                               mi_section_kind kind, bool to) {
    const mi_ends sums = part == NULL ? (mi_ends){0, 0} : part->sections[kind].sums;
    return mi_sum_part(image, kind) == (to ? mi_target_to(target, sums) : mi_target_from(target, sums));
}

bool mi_target_check_parts(mi_target *target, const mica_snapshot *snapshot, bool to) {
    const mi_delta *delta = target->delta;
    for (uint32_t i = 0; i < delta->parts.count; i++) {
        const mi_delta_part *part = &delta->parts.data[i];
        if (!is_section_as_said(target, find_part(snapshot, part->name), part, MI_SECTION_LASTING, to)) {
            return mi_target_fail(target, MICA_MISMATCH, "the part of the state differs", part->name);
        }
    }
    for (uint32_t i = 0; i < snapshot->part_count; i++) {
        const char *name = snapshot->parts[i]->part->name;
        if (find_said(delta, name) == NULL && mi_sum_part(snapshot->parts[i], MI_SECTION_LASTING) != 0) {
            return mi_target_fail(target, MICA_MISMATCH, "the part of the state differs", name);
        }
    }
    return true;
}

// Whether the versions of the base are those that the delta begins with.
bool mi_target_has_versions(const mi_target *target) {
    const mica_snapshot *base = target->base;
    bool is_same = mi_sum_versions(base) == mi_target_from(target, target->delta->sums.versions);
    for (uint32_t i = 0; i < target->delta->parts.count && is_same; i++) {
        const mi_delta_part *part = &target->delta->parts.data[i];
        const mi_part_image *image = find_part(base, part->name);
        is_same = image == NULL || !(image->part->is_history || image->part->has_versions) ||
                  is_section_as_said(target, image, part, MI_SECTION_REST, false);
    }
    for (uint32_t i = 0; i < base->part_count && is_same; i++) {
        const mi_part_image *image = find_part(base, base->parts[i]->part->name);
        is_same = image == NULL || !image->part->is_history || find_said(target->delta, image->part->name) != NULL;
    }
    return is_same;
}

// Making

static const mi_part *find_known_part(const mica_world *world, const char *name) {
    for (uint32_t i = 0; i < mi_world_part_count; i++) {
        if (strcmp(mi_world_parts[i]->name, name) == 0) {
            return mi_world_parts[i];
        }
    }
    for (uint32_t i = 0; i < world->extensions.count; i++) {
        const mi_part *part = world->extensions.data[i].part;
        if (part != NULL && strcmp(part->name, name) == 0) {
            return part;
        }
    }
    return NULL;
}

static bool append(mi_target *target, mi_record *record, const uint8_t *bytes, uint64_t byte_size) {
    if (byte_size == 0 || bytes == NULL) {
        return true;
    }
    if (record->bytes.count + byte_size > MI_BYTES_MAX ||
        !MI_RESERVE(record->heap, MICA_MEMORY_STATE, &record->bytes, (size_t)(record->bytes.count + byte_size))) {
        return mi_target_lack(target);
    }
    memcpy(record->bytes.data + record->bytes.count, bytes, (size_t)byte_size);
    record->bytes.count += (uint32_t)byte_size;
    return true;
}

static bool differs_from_itself(mi_target *target, const mi_delta_part *part) {
    return mi_target_fail(target, MICA_FORMAT, "a part of the state is not as it was said to be", part->name);
}

// Adds a value to a record: what it holds was told.
static bool read_value(mi_target *target, mi_record *record, const mi_delta_part *part, const mi_told_end *told) {
    const uint8_t *end = told->byte_size == 0 ? NULL : memchr(told->bytes, 0, told->byte_size);
    const mi_type *type = NULL;
    if (end == NULL) {
        return differs_from_itself(target, part);
    }
    type = mi_schema_type(target->world->schema, mica_schema_find(target->world->schema, (const char *)told->bytes));
    if (type == NULL) {
        return mi_target_fail(target, MICA_UNKNOWN, "a value in it is of a component that is not known here",
                              part->name);
    }
    if (!mi_type_is_told(type)) {
        return mi_target_fail(target, MICA_MISMATCH, "no hooks write and read values of the component here",
                              type->info.name);
    }
    const uint8_t *bytes = end + 1;
    const mica_hook_context context = {.allocator = record->allocator, .user = type->info.hooks.user};
    void *value = mi_record_open_value(record, type);
    const mica_result result =
        value == NULL ? MICA_OUT_OF_MEMORY
                      : type->info.hooks.read(value, bytes, told->byte_size - (size_t)(bytes - told->bytes), &context);
    mi_record_end_value(record, type, value, result == MICA_OK);
    return result == MICA_OK ||
           (result == MICA_OUT_OF_MEMORY
                ? mi_target_lack(target)
                : mi_target_fail(target, MICA_FORMAT, "bytes of a value tell of none", type->info.name));
}

// Copies the base's values from number `from` on up to number `to`; false: failed.
static bool copy_values(mi_target *target, mi_record *record, const mi_section *base, uint32_t *at, uint32_t from,
                        uint32_t to) {
    const mi_record_value *next;
    for (uint32_t place = from; place < to && (next = mi_section_next_value(base, at)) != NULL; place++) {
        void *value = mi_record_open_value(record, next->type);
        const bool is_made = value != NULL && mi_value_copy(next->type, record->allocator, value, next->value, 1);
        mi_record_end_value(record, next->type, value, is_made);
        if (!is_made) {
            return mi_target_lack(target);
        }
    }
    return true;
}

static bool make_values(mi_target *target, const mi_delta_part *part, const mi_section *base, mi_record *record,
                        mi_section_kind kind) {
    mi_told_walk walk = mi_told_walk_of(&part->sections[kind].values);
    mi_told_value told;
    uint32_t place = 0;
    uint32_t done = 0;
    uint32_t at = 0;
    for (; mi_told_next(&walk, &place, &told); done = place + 1) {
        if (!copy_values(target, record, base, &at, done, place)) {
            return false;
        }
        if ((mi_section_next_value(base, &at) != NULL) != told.ends[!target->forwards].is_there) {
            return differs_from_itself(target, part);
        }
        if (told.ends[target->forwards].is_there && !read_value(target, record, part, &told.ends[target->forwards])) {
            return false;
        }
    }
    return copy_values(target, record, base, &at, done, UINT32_MAX);
}

// Writes what the hunks of a section make of that of the base.
static bool make_section(mi_target *target, const mi_delta_part *part, const mi_part_image *base, mi_part_image *image,
                         mi_section_kind kind) {
    const mi_section from = mi_part_section(base, kind);
    const uint8_t *bytes = from.bytes;
    const size_t byte_size = from.byte_count;
    mi_record *to = &image->record;
    size_t at = 0;
    mi_source hunks = part->sections[kind].hunks;
    mi_hunk hunk;
    while (mi_hunk_next(&hunks, &hunk)) {
        const uint32_t from_size = target->forwards ? hunk.base_size : hunk.target_size;
        const uint32_t to_size = target->forwards ? hunk.target_size : hunk.base_size;
        if (hunk.kept > byte_size - at || from_size > byte_size - at - hunk.kept ||
            (from_size > 0 && bytes != NULL &&
             memcmp(bytes + at + hunk.kept, target->forwards ? hunk.base : hunk.target, from_size) != 0)) {
            return differs_from_itself(target, part);
        }
        if (!append(target, to, bytes == NULL ? NULL : bytes + at, hunk.kept) ||
            !append(target, to, target->forwards ? hunk.target : hunk.base, to_size)) {
            return false;
        }
        at += (size_t)hunk.kept + from_size;
    }
    if (!append(target, to, bytes == NULL ? NULL : bytes + at, byte_size - at) ||
        !make_values(target, part, &from, to, kind)) {
        return false;
    }
    return kind == MI_SECTION_LASTING || !target->checks_sums || is_section_as_said(target, image, part, kind, true) ||
           differs_from_itself(target, part);
}

static bool complete(mi_target *target, mi_part_image *image) {
    mi_writer writer = {.schema = target->world->schema, .record = &image->record};
    if (image->part->complete != NULL) {
        image->part->complete(target->world, &writer);
    }
    return writer.result == MICA_OK || mi_target_fail(target, writer.result, NULL, image->part->name);
}

static bool is_section_same(const mi_delta_section *section) {
    return section->hunk_count == 0 && section->values.places.count == 0;
}

static bool make_part(mi_target *target, const mi_delta_part *part, mi_part_image *base) {
    mica_snapshot *snapshot = target->snapshot;
    const bool is_there = target->forwards ? part->in_target : part->in_base;
    const bool was_there = target->forwards ? part->in_base : part->in_target;
    const mi_part *known = find_known_part(target->world, part->name);
    const bool lasts = !mi_section_is_void(&part->sections[MI_SECTION_LASTING]);
    if (!lasts && (known == NULL || (known->is_history && target->keeps_versions))) {
        return true; // history that nobody keeps here, or another one
    }
    if (was_there != (base != NULL)) {
        return differs_from_itself(target, part);
    }
    if (!is_there) {
        return true;
    }
    const bool completes = known != NULL && known->has_versions
                               ? target->keeps_versions
                               : !is_section_as_said(target, base, part, MI_SECTION_REST, false);
    if (base != NULL && is_section_same(&part->sections[MI_SECTION_LASTING]) &&
        (completes || is_section_same(&part->sections[MI_SECTION_REST]))) {
        base->reference_count++;
        snapshot->parts[snapshot->part_count++] = base;
        return true;
    }
    if (known == NULL) {
        return mi_target_fail(target, MICA_UNKNOWN, "the part of the state is not known here", part->name);
    }
    mi_part_image *image = mi_vault_take(target->vault, sizeof(mi_part_image));
    if (image == NULL) {
        return mi_target_lack(target);
    }
    *image = (mi_part_image){.reference_count = 1, .part = known};
    image->record = (mi_record){.heap = &target->vault->heap, .allocator = &target->vault->values, .is_bare = true};
    snapshot->parts[snapshot->part_count++] = image;
    return make_section(target, part, base, image, MI_SECTION_LASTING) &&
           (completes ? complete(target, image) : make_section(target, part, base, image, MI_SECTION_REST));
}

bool mi_target_make_parts(mi_target *target) {
    const mi_delta *delta = target->delta;
    mica_snapshot *snapshot = target->snapshot;
    const mica_snapshot *base = target->base;
    const size_t most = (size_t)base->part_count + delta->parts.count;
    snapshot->parts = mi_vault_take(target->vault, (most + 1) * sizeof(mi_part_image *));
    if (snapshot->parts == NULL) {
        return mi_target_lack(target);
    }
    for (uint32_t i = 0; target->is_limited && i < base->part_count; i++) {
        if (!base->parts[i]->part->is_history) {
            base->parts[i]->reference_count++;
            snapshot->parts[snapshot->part_count++] = base->parts[i];
        }
    }
    for (uint32_t i = 0; i < delta->parts.count; i++) {
        const mi_delta_part *part = &delta->parts.data[i];
        if (!make_part(target, part, (mi_part_image *)(uintptr_t)find_part(base, part->name))) {
            return false;
        }
    }
    return true;
}

// Resources: one value of a type for a whole world, found by component id.
//
// Every value that the world holds has memory of its own, so that its address stays while others come and go; replacing
// a value happens at its address. A value held by pointer is the caller's, and hooks never see it.
//
// As state they are two parts. *Heavy* ones own something or are large: they are copied when one of them may have
// changed, not along with the counters and settings that change in every tick.
//
// Invariants: where `value` is NULL the version is 0; entries from the array's end on do not exist; a value that
// observers are being told of stays where it is.
#include "store/ranges.h"
#include "store/stamp.h"
#include "world/notice.h"
#include "world/rewind.h"

// Bytes of a value from which on it is heavy.
enum { HEAVY_SIZE_LEAST = 4096 };

static bool is_heavy(const mi_type *type) {
    return mi_type_is_owning(type) || type->info.size >= HEAVY_SIZE_LEAST;
}

static size_t value_byte_size(const mica_world *world, const mi_type *type) {
    return world->heap.parts_values ? mi_heap_whole_pages(type->info.size) : type->info.size;
}

static size_t value_align(const mica_world *world, const mi_type *type) {
    return world->heap.parts_values ? MI_HEAP_PAGE : type->info.align;
}

static void *allocate_value(mica_world *world, const mi_type *type) {
    return mi_heap_allocate(&world->heap, MICA_MEMORY_RESOURCES, value_byte_size(world, type),
                            value_align(world, type));
}

static void release_value(mica_world *world, const mi_type *type, void *value) {
    mi_heap_release(&world->heap, MICA_MEMORY_RESOURCES, value, value_byte_size(world, type), value_align(world, type));
}

static mi_resource *find(const mica_world *world, mica_component component) {
    mi_resource *resource = component < world->resources.count ? &world->resources.data[component] : NULL;
    return resource != NULL && resource->value != NULL ? resource : NULL;
}

static void count_change(mica_world *world, const mi_resource *resource) {
    mi_world_count(world, &world->resource_changes[resource->is_heavy], 1);
}

// The value may be another one now.
static void mark(mica_world *world, mi_resource *resource) {
    count_change(world, resource);
    resource->version = mi_world_version(world);
}

void mi_world_mark_resource(mica_world *world, mica_component component) {
    mark(world, &world->resources.data[component]);
}

// The type of an id that can be a resource's and may be written, or NULL with the error set.
static const mi_type *check_type(const mica_world *world, mica_component component, const char *call) {
    if (world == NULL) {
        mi_fail_plain(NULL, MICA_INVALID, call, "needs a world");
        return NULL;
    }
    const mi_type *type = mi_world_type(world, component, call);
    if (type != NULL && type->info.size == 0) {
        mi_fail(&world->log, MICA_NO_VALUE, call, "{} is a tag", MI_TEXT(type->info.name));
        return NULL;
    }
    return mi_world_check_access(world, component, true, MICA_NULL, call) == MICA_OK &&
                   mi_tell_check_depth(world, MICA_RESOURCE_SET, component, call) == MICA_OK
               ? type
               : NULL;
}

static mica_result fail_value(const mica_world *world, const mi_type *type, const char *call) {
    return mi_fail(&world->log, MICA_OUT_OF_MEMORY, call, "no memory for a value of {}, or its hook could not make it",
                   MI_TEXT(type->info.name));
}

static mica_result fail_missing(const mica_world *world, const mi_type *type, const char *call) {
    return mi_fail(&world->log, MICA_INVALID, call, "needs a value of {}", MI_TEXT(type->info.name));
}

// Makes entries up to the number `need`.
static bool reserve_entries(mica_world *world, uint32_t need) {
    if (need <= world->resources.count) {
        return true;
    }
    if (world->is_shared || !MI_RESERVE(&world->heap, MICA_MEMORY_RESOURCES, &world->resources, need)) {
        return false;
    }
    memset(world->resources.data + world->resources.count, 0,
           (need - world->resources.count) * sizeof(*world->resources.data));
    world->resources.count = need;
    return true;
}

// Makes sure that the entry of a component exists.
static bool reserve_entry(mica_world *world, mica_component component) {
    return reserve_entries(world, (uint32_t)component + 1);
}

bool mi_world_have_resource_entries(mica_world *world) {
    return reserve_entries(world, mi_load_count(&world->schema->count) + 1); // ids begin at 1
}

// Gives the world a value that it does not have yet: the caller's, or a constructed one for NULL. The entry, or NULL.
static mi_resource *add(mica_world *world, const mi_type *type, const void *value) {
    if (!reserve_entry(world, type->info.id)) {
        return NULL;
    }
    void *place = allocate_value(world, type);
    if (place == NULL) {
        return NULL;
    }
    const mica_allocator *allocator = &world->store.values;
    if (value == NULL ? !mi_value_construct(type, allocator, place, 1)
                      : !mi_value_take(type, allocator, place, value, 1)) {
        release_value(world, type, place);
        return NULL;
    }
    mi_resource *resource = &world->resources.data[type->info.id];
    *resource = (mi_resource){.value = place, .is_heavy = is_heavy(type)};
    mark(world, resource);
    return resource;
}

static void tell(mica_world *world, mica_signal_kind kind, mica_component component) {
    mi_resource *resource = &world->resources.data[component];
    resource->telling_count++;
    mi_tell_resource(world, kind, component, resource->value);
    world->resources.data[component].telling_count--; // there may be more of them by now
}

// The resource has got a value.
static mica_result tell_set(mica_world *world, mica_component component, const char *call) {
    tell(world, MICA_RESOURCE_SET, component);
    mi_world_finish(world, call);
    return MICA_OK;
}

// Refuses to take a value away from those who are being told of it.
static mica_result check_told(const mica_world *world, mica_component component, const char *call) {
    const mi_resource *resource = find(world, component);
    return resource == NULL || resource->telling_count == 0
               ? MICA_OK
               : mi_fail(&world->log, MICA_LOCKED, call, "observers of {} are being told of the resource {}",
                         MI_TEXT(world->name), MI_TEXT(mi_schema_type(world->schema, component)->info.name));
}

mica_result mica_resource_set(mica_world *world, mica_component component, const void *value) {
    static const char call[] = "mica_resource_set";
    const mi_type *type = check_type(world, component, call);
    if (type == NULL) {
        return mica_last_result();
    }
    if (value == NULL) {
        return fail_missing(world, type, call);
    }
    mi_resource *resource = find(world, component);
    if (resource == NULL) {
        return add(world, type, value) != NULL ? tell_set(world, component, call) : fail_value(world, type, call);
    }
    if (resource->is_pointer) {
        return mi_fail(&world->log, MICA_EXISTS, call, "{} holds {} by pointer", MI_TEXT(world->name),
                       MI_TEXT(type->info.name));
    }
    if (!mi_world_replace_value(world, type, resource->value, value, false)) {
        return fail_value(world, type, call);
    }
    mark(world, resource);
    return tell_set(world, component, call);
}

mica_result mica_resource_set_pointer(mica_world *world, mica_component component, void *value) {
    static const char call[] = "mica_resource_set_pointer";
    const mi_type *type = check_type(world, component, call);
    if (type == NULL) {
        return mica_last_result();
    }
    if (value == NULL) {
        return fail_missing(world, type, call);
    }
    const mi_resource *held = find(world, component);
    if (held != NULL && !held->is_pointer) {
        return mi_fail(&world->log, MICA_EXISTS, call, "{} holds {} by value", MI_TEXT(world->name),
                       MI_TEXT(type->info.name));
    }
    const mica_result checked = check_told(world, component, call);
    if (checked != MICA_OK) {
        return checked;
    }
    if (!reserve_entry(world, component)) {
        return mi_fail_memory(&world->log, call, sizeof(mi_resource));
    }
    world->resources.data[component] =
        (mi_resource){.value = value, .version = world->store.version, .is_pointer = true};
    return tell_set(world, component, call);
}

// The entry of a component, or NULL: there is none, or the error is set because nothing of that name is known or the
// system that asks has not declared it.
static mi_resource *look_up(const mica_world *world, mica_component component, bool writes, const char *call) {
    if (world == NULL) {
        mi_fail_plain(NULL, MICA_INVALID, call, "needs a world");
        return NULL;
    }
    if (mi_world_check_access(world, component, writes, MICA_NULL, call) != MICA_OK) {
        return NULL;
    }
    mi_resource *resource = find(world, component);
    if (resource == NULL) {
        mi_world_type(world, component, call);
    }
    return resource;
}

const void *mica_resource_get(const mica_world *world, mica_component component) {
    const mi_resource *resource = look_up(world, component, false, "mica_resource_get");
    return resource == NULL ? NULL : resource->value;
}

void *mica_resource_get_write(mica_world *world, mica_component component) {
    mi_resource *resource = look_up(world, component, true, "mica_resource_get_write");
    if (resource == NULL) {
        return NULL;
    }
    mark(world, resource);
    return resource->value;
}

void *mica_resource_ensure(mica_world *world, mica_component component) {
    static const char call[] = "mica_resource_ensure";
    const mi_type *type = check_type(world, component, call);
    if (type == NULL) {
        return NULL;
    }
    mi_resource *resource = find(world, component);
    if (resource == NULL) {
        resource = add(world, type, NULL);
        if (resource == NULL) {
            fail_value(world, type, call);
            return NULL;
        }
        tell_set(world, component, call);
        resource = find(world, component); // what observers have caused may have removed it
    }
    if (resource == NULL) {
        return NULL;
    }
    mark(world, resource);
    return resource->value;
}

static void end(mica_world *world, mica_component component, mi_resource *resource) {
    count_change(world, resource);
    if (!resource->is_pointer) {
        const mi_type *type = mi_schema_type(world->schema, component);
        mi_value_destruct(type, &world->store.values, resource->value, 1);
        release_value(world, type, resource->value);
    }
    *resource = (mi_resource){.value = NULL};
}

mica_result mica_resource_remove(mica_world *world, mica_component component) {
    static const char call[] = "mica_resource_remove";
    if (world == NULL) {
        return mi_fail_plain(NULL, MICA_INVALID, call, "needs a world");
    }
    if (mi_world_type(world, component, call) == NULL) {
        return MICA_UNKNOWN;
    }
    mica_result checked = mi_world_check_access(world, component, true, MICA_NULL, call);
    if (checked == MICA_OK) {
        checked = check_told(world, component, call);
    }
    if (checked == MICA_OK) {
        checked = mi_tell_check_depth(world, MICA_RESOURCE_REMOVED, component, call);
    }
    if (checked != MICA_OK) {
        return checked;
    }
    if (find(world, component) != NULL) {
        tell(world, MICA_RESOURCE_REMOVED, component);
        end(world, component, find(world, component));
        mi_world_finish(world, call);
    }
    return MICA_OK;
}

uint64_t mica_resource_version(const mica_world *world, mica_component component) {
    const mi_resource *resource = world == NULL ? NULL : find(world, component);
    if (resource == NULL || mi_world_check_access(world, component, false, MICA_NULL, __func__) != MICA_OK) {
        return 0;
    }
    const uint64_t version = mi_outside_version(world, resource->version);
    return version > resource->exchanged ? version : resource->exchanged;
}

void mi_world_tell_end_of_resources(mica_world *world) {
    for (uint32_t i = 0; i < world->resources.count; i++) { // an observer may remove others, and set them
        if (world->resources.data[i].value != NULL) {
            tell(world, MICA_RESOURCE_REMOVED, (mica_component)i);
        }
    }
}

void mi_world_free_resources(mica_world *world) {
    for (uint32_t i = 0; i < world->resources.count; i++) {
        if (world->resources.data[i].value != NULL) {
            end(world, (mica_component)i, &world->resources.data[i]);
        }
    }
    MI_FREE(&world->heap, MICA_MEMORY_RESOURCES, &world->resources);
}

// State
//
// Values that the world holds are state, those held by pointer are not. The record: how many there are u32, in order of
// their types' names each one's name and value, then in the same order each one's version u64. Versions stand last,
// since they do not last. Restoring leaves a value where it is and gives it another content.

// Whether a resource is of the part of those that are heavy, or of the other one.
static bool is_of_part(const mi_resource *resource, bool heavy) {
    return resource->value != NULL && !resource->is_pointer && resource->is_heavy == heavy;
}

// A value of a type whose writers cannot be seen may be another one each time it is looked at.
static uint64_t stamp_part(const mica_world *world, bool heavy) {
    for (uint32_t i = 0; i < world->resources.count; i++) {
        if (is_of_part(&world->resources.data[i], heavy) &&
            mi_schema_type(world->schema, (mica_component)i)->info.always_dirty) {
            return ++((mica_world *)(uintptr_t)world)->resource_changes[heavy];
        }
    }
    return world->resource_changes[heavy];
}

static bool is_light_meant(const void *user, uint32_t component) {
    const mica_world *world = user;
    return is_of_part(&world->resources.data[component], false);
}

static bool is_heavy_meant(const void *user, uint32_t component) {
    const mica_world *world = user;
    return is_of_part(&world->resources.data[component], true);
}

static void save_part(const mica_world *world, mi_writer *writer, bool heavy) {
    mi_component_list list;
    if (!mi_list_components(writer, world->resources.count, heavy ? is_heavy_meant : is_light_meant, world, &list)) {
        return;
    }
    mi_write_u32(writer, list.count);
    for (uint32_t i = 0; i < list.count; i++) {
        const mica_component component = (mica_component)list.data[i];
        mi_write_component(writer, component);
        mi_write_value(writer, mi_schema_type(world->schema, component), world->resources.data[component].value);
    }
    for (uint32_t i = 0; i < list.count; i++) {
        mi_write_u64(writer, world->resources.data[list.data[i]].version);
    }
    mi_free_components(writer, &list);
}

static mi_record_extent find_lasting(const mi_record *record) {
    const uint32_t byte_size = record->bytes.count;
    const uint64_t count = byte_size < sizeof(uint32_t) ? 0 : mi_get_u32(record->bytes.data);
    const uint64_t rest = count * sizeof(uint64_t);
    return (mi_record_extent){.byte_count = rest < byte_size ? byte_size - (uint32_t)rest : byte_size,
                              .value_count = record->values.count};
}

// Who has the value that he has here has it since when he has it here.
static void complete_part(const mica_world *world, mi_writer *writer) {
    mi_reader reader = mi_reader_of(writer->schema, writer->record);
    const uint32_t count = mi_read_count(&reader, sizeof(uint32_t));
    for (uint32_t i = 0; i < count && writer->result == MICA_OK; i++) {
        mi_recorded_resource recorded;
        const mi_resource *resource = mi_read_resource(&reader, &recorded) ? find(world, recorded.type->info.id) : NULL;
        const mi_ranges *ranges =
            resource == NULL || mi_type_is_owning(recorded.type) ? NULL : mi_type_ranges(world->schema, recorded.type);
        const bool is_same = ranges != NULL && !resource->is_pointer &&
                             mi_ranges_equal(ranges, recorded.type->info.size, resource->value, recorded.value);
        mi_write_u64(writer, is_same ? resource->version : world->store.version);
        reader.bytes = writer->record->bytes.data; // which may have moved
    }
}

typedef struct restored_resource {
    const mi_type *type;
    const mi_ranges *ranges; // what of its values can be compared; NULL: they own something
    void *value;             // as resources have it: owned
    uint64_t version;
} restored_resource;

typedef struct restored_resources {
    bool is_heavy;
    MI_ARRAY(restored_resource) list; // in order of the types' names
} restored_resources;

static void drop_restored(mica_world *world, const restored_resource *restored) {
    mi_value_destruct(restored->type, &world->store.values, restored->value, 1);
    release_value(world, restored->type, restored->value);
}

static void free_restored(mica_world *world, restored_resources *restored) {
    MI_FREE(&world->heap, MICA_MEMORY_RESOURCES, &restored->list);
    mi_heap_release(&world->heap, MICA_MEMORY_RESOURCES, restored, sizeof(*restored), _Alignof(restored_resources));
}

static void cancel_resources(mica_world *world, void *prepared) {
    restored_resources *restored = prepared;
    for (uint32_t i = 0; i < restored->list.count; i++) {
        drop_restored(world, &restored->list.data[i]);
    }
    free_restored(world, restored);
}

// Reads one, whose type comes behind `last` (NULL: any); its type.
static const mi_type *read_resource(mica_world *world, mi_reader *reader, const mi_type *last,
                                    restored_resources *restored) {
    const mi_type *type = mi_schema_type(reader->schema, mi_read_component(reader));
    if (reader->result != MICA_OK) {
        return NULL;
    }
    if (type->info.size == 0) {
        mi_read_fail(reader, MICA_FORMAT, "a resource is a tag");
        return NULL;
    }
    if (is_heavy(type) != restored->is_heavy || (last != NULL && mi_type_compare_names(last, type) >= 0)) {
        mi_read_fail(reader, MICA_FORMAT, "the resources are not in order");
        return NULL;
    }
    const bool is_owning = mi_type_is_owning(type);
    const mi_ranges *ranges = is_owning ? NULL : mi_type_ranges(world->schema, type);
    void *value = NULL;
    if ((ranges == NULL && !is_owning) ||
        !MI_RESERVE(&world->heap, MICA_MEMORY_RESOURCES, &restored->list, (size_t)restored->list.count + 1) ||
        !reserve_entry(world, type->info.id) || (value = allocate_value(world, type)) == NULL) {
        mi_read_fail(reader, MICA_OUT_OF_MEMORY, NULL);
        return NULL;
    }
    if (!mi_read_value(reader, type, &world->store.values, value)) {
        release_value(world, type, value);
        return NULL;
    }
    restored->list.data[restored->list.count++] = (restored_resource){.type = type, .ranges = ranges, .value = value};
    return type;
}

static void read_versions(mi_reader *reader, restored_resources *restored) {
    for (uint32_t i = 0; i < restored->list.count && reader->result == MICA_OK; i++) {
        restored->list.data[i].version = mi_read_u64(reader);
        if (mi_stamp_is_named(restored->list.data[i].version)) {
            mi_read_fail(reader, MICA_FORMAT, "a resource's version is out of range");
        }
    }
}

static mica_result prepare_part(mica_world *world, mi_reader *reader, bool heavy, void **prepared) {
    *prepared = NULL;
    restored_resources *restored = mi_heap_allocate_zeroed(&world->heap, MICA_MEMORY_RESOURCES,
                                                           sizeof(restored_resources), _Alignof(restored_resources));
    if (restored == NULL) {
        return MICA_OUT_OF_MEMORY;
    }
    restored->is_heavy = heavy;
    if (reader != NULL) {
        const mi_type *type = NULL;
        const uint32_t count = mi_read_count(reader, sizeof(uint32_t));
        for (uint32_t i = 0; i < count && reader->result == MICA_OK; i++) {
            type = read_resource(world, reader, type, restored);
        }
        read_versions(reader, restored);
        if (!mi_reader_end(reader)) {
            cancel_resources(world, restored);
            return reader->result;
        }
    }
    *prepared = restored;
    return MICA_OK;
}

// Where the program has put a value of its own by pointer meanwhile, that stays.
static void put_restored(mica_world *world, const restored_resource *restored) {
    mi_resource *resource = &world->resources.data[restored->type->info.id];
    if (resource->value != NULL && resource->is_pointer) {
        drop_restored(world, restored);
        return;
    }
    if (resource->value == NULL || restored->ranges == NULL ||
        !mi_ranges_equal(restored->ranges, restored->type->info.size, resource->value, restored->value)) {
        resource->exchanged = mi_outside_now(world);
    }
    if (resource->value == NULL) {
        resource->value = restored->value;
        resource->is_heavy = is_heavy(restored->type);
    } else {
        mi_value_destruct(restored->type, &world->store.values, resource->value, 1);
        mi_value_move_one(restored->type, &world->store.values, resource->value, restored->value);
        release_value(world, restored->type, restored->value);
    }
    resource->version = restored->version;
    resource->is_restored = true;
}

static void commit_resources(mica_world *world, void *prepared) {
    restored_resources *restored = prepared;
    for (uint32_t i = 0; i < restored->list.count; i++) {
        put_restored(world, &restored->list.data[i]);
    }
    for (uint32_t i = 0; i < world->resources.count; i++) {
        mi_resource *resource = &world->resources.data[i];
        if (is_of_part(resource, restored->is_heavy) && !resource->is_restored) {
            end(world, (mica_component)i, resource);
        }
        resource->is_restored = false;
    }
    world->resource_changes[restored->is_heavy]++;
    free_restored(world, restored);
}

static uint64_t stamp_light(const mica_world *world) {
    return stamp_part(world, false);
}

static void save_light(const mica_world *world, mi_writer *writer) {
    save_part(world, writer, false);
}

static mica_result prepare_light(mica_world *world, mi_reader *reader, void **prepared) {
    return prepare_part(world, reader, false, prepared);
}

static uint64_t stamp_heavy(const mica_world *world) {
    return stamp_part(world, true);
}

static void save_heavy(const mica_world *world, mi_writer *writer) {
    save_part(world, writer, true);
}

static mica_result prepare_heavy(mica_world *world, mi_reader *reader, void **prepared) {
    return prepare_part(world, reader, true, prepared);
}

const mi_part mi_resources_part = {.name = "resources",
                                   .holds_resources = true,
                                   .has_versions = true,
                                   .stamp = stamp_light,
                                   .save = save_light,
                                   .lasting = find_lasting,
                                   .complete = complete_part,
                                   .prepare = prepare_light,
                                   .commit = commit_resources,
                                   .cancel = cancel_resources};
const mi_part mi_heavy_resources_part = {.name = "heavy resources",
                                         .holds_resources = true,
                                         .has_versions = true,
                                         .stamp = stamp_heavy,
                                         .save = save_heavy,
                                         .lasting = find_lasting,
                                         .complete = complete_part,
                                         .prepare = prepare_heavy,
                                         .commit = commit_resources,
                                         .cancel = cancel_resources};

// Finding the first difference between two states. See checksum.h for what comes first.
//
// Entities are compared component by component, in the order of names: where the first state has a component is noted
// by entity index, then the rows of the second one are held against that, and what is left over was in the first alone.
// Whatever is found counts only if its entity's index is lower than that of all that was found before; so of one
// entity the first component by name is named, and every row is looked at once for each of its components. Memory: a
// word for each slot.
//
// The two may have different schemas: a component is a pair of types with one name.
#include "state/checksum.h"

#include <inttypes.h>

#include "base/sort.h"
#include "base/text.h"
#include "store/field_text.h"
#include "store/ranges.h"

// One component in both schemas.
typedef struct type_pair {
    const mi_type *types[2]; // NULL: the schema does not know it, or nobody has it
    const mi_ranges *ranges; // what counts of its values
} type_pair;

// A set, and which column the component in question has there.
typedef struct looked_set {
    mi_view_set set; // no rows: not to be looked at
    uint32_t column; // UINT32_MAX: none, or a tag
    bool has_component;
} looked_set;

typedef struct comparison {
    mi_view views[2];
    mica_checksum_options options;
    const mica_log_handler *log;
    const char *call;
    mi_heap heap;
    MI_ARRAY(type_pair) pairs; // of components that somebody has
    MI_ARRAY(bool) seen[2];    // by component id: it is in a pair, or left out
    MI_ARRAY(uint32_t) order;  // numbers of pairs, by name
    MI_ARRAY(looked_set) sets[2];
    MI_ARRAY(uint64_t) places; // by entity index: (number of the set + 1) << 32 | row; 0 between components
    mica_result result;
    // The first difference so far.
    uint32_t index; // of its entity; UINT32_MAX: none
    mica_difference *difference;
    mi_text_out text;
    mi_lanes_value aside[2];
} comparison;

static const char *const side_names[2] = {"the first", "the second"};

static void fail_for_memory(comparison *c) {
    if (c->result == MICA_OK) {
        c->result = mi_fail_memory(c->log, c->call, 0);
    }
}

// Writing down what was found

// Begins a difference, which takes the place of the one before; the text is to be written.
static void begin_difference(comparison *c, mica_difference_kind kind, uint32_t index, const type_pair *pair) {
    *c->difference = (mica_difference){.kind = kind};
    c->index = index;
    c->text = mi_text_begin(c->difference->text, sizeof(c->difference->text));
    if (pair != NULL) {
        c->difference->component = pair->types[pair->types[0] == NULL]->info.id;
    }
}

static mica_entity handle_at(const mi_view *view, uint32_t index) {
    const uint64_t slot = index < mi_view_slot_end(view) ? mi_view_slot(view, index) : MI_SLOT_FREE;
    return (slot & MI_SLOT_FREE) != 0 ? MICA_NULL : mica_entity_make(index, (uint32_t)(slot >> 32));
}

static void write_entity(comparison *c, mica_entity entity) {
    c->difference->entity = entity;
    mi_text_add(&c->text, "entity %" PRIu32 ":%" PRIu32, mica_entity_index(entity), mica_entity_generation(entity));
}

static const char *name_of(const type_pair *pair) {
    const mi_type *type = pair->types[0] != NULL ? pair->types[0] : pair->types[1];
    MI_ASSERT(type != NULL);
    return type->info.name;
}

// What a write hook hands out, for people: as far as it fits.
typedef struct told_text {
    char bytes[64];
    size_t length;
} told_text;

static void put_text(void *user, const void *bytes, size_t byte_size) {
    told_text *told = user;
    for (size_t i = 0; i < byte_size && told->length + 1 < sizeof(told->bytes); i++) {
        const char byte = ((const char *)bytes)[i];
        told->bytes[told->length++] = byte >= 0 && byte < ' ' ? '?' : byte;
    }
}

// The differing field of two values, and what it holds in each.
static void write_values(comparison *c, const type_pair *pair, const void *a, const void *b) {
    const void *values[2] = {a, b};
    const mi_type *type = pair->types[0];
    const bool is_told = type->info.hooks.write != NULL;
    const uint32_t offset = is_told ? 0 : mi_ranges_difference(pair->ranges, type->info.size, a, b);
    mi_text_out path = mi_text_begin(c->difference->path, sizeof(c->difference->path));
    if (!is_told && type->info.kind == MICA_KIND_STRUCT) {
        mi_field_path(c->views[0].schema, type, offset, &path);
    }
    mi_text_add(&c->text, "%s%s%s is ", name_of(pair), path.length > 0 ? "." : "", c->difference->path);
    for (uint32_t side = 0; side < 2; side++) {
        const mi_type *own = pair->types[side];
        if (is_told) {
            told_text told = {.length = 0};
            const mica_hook_context context = {.user = own->info.hooks.user};
            own->info.hooks.write(values[side], &(mica_sink){.put = put_text, .user = &told}, &context);
            mi_text_add(&c->text, "\"%.*s\"", (int)told.length, told.bytes);
        } else {
            mi_field_value(c->views[side].schema, own, offset, values[side], &c->text);
        }
        mi_text_add(&c->text, " in %s%s", side_names[side], side == 0 ? " and " : "");
    }
}

static bool are_equal(const type_pair *pair, const void *a, const void *b) {
    const mi_type *type = pair->types[0];
    if (type->info.hooks.write != NULL) {
        return mi_checksum_of_written(type, a) == mi_checksum_of_written(type, b);
    }
    return a == b || mi_ranges_equal(pair->ranges, type->info.size, a, b);
}

// Types

static bool is_left_out(const comparison *c, const type_pair *pair) {
    const bool leaves_transient =
        c->options.leave_transient || c->views[0].leaves_transient || c->views[1].leaves_transient;
    for (uint32_t side = 0; side < 2; side++) {
        if (pair->types[side] != NULL && leaves_transient && pair->types[side]->info.transient) {
            return true;
        }
    }
    for (int32_t i = 0; i < c->options.leave_count; i++) {
        const mi_type *left = mi_schema_type(c->views[0].schema, c->options.leave[i]);
        if (strcmp(left->info.name, name_of(pair)) == 0) {
            return true;
        }
    }
    return false;
}

// A pair of the type that a schema has and the one of that name that the other one has. False, with the error set: they
// cannot be compared.
static bool make_pair(comparison *c, uint32_t side, const mi_type *type, type_pair *pair) {
    MI_ASSERT(type != NULL);
    *pair = (type_pair){.types = {NULL}};
    pair->types[side] = type;
    const mica_schema *other = c->views[1 - side].schema;
    pair->types[1 - side] =
        other == c->views[side].schema ? type : mi_schema_type(other, mica_schema_find(other, type->info.name));
    const mi_type *b = pair->types[1 - side];
    if (b != NULL && (b->info.size != type->info.size || b->info.kind != type->info.kind)) {
        c->result = mi_fail(c->log, MICA_MISMATCH, c->call, "{} has {} bytes in one schema and {} in the other",
                            MI_TEXT(type->info.name), MI_UINT(type->info.size), MI_UINT(b->info.size));
        return false;
    }
    const mi_view *view = &c->views[pair->types[0] == NULL];
    pair->ranges = mi_type_ranges(view->schema, pair->types[pair->types[0] == NULL]);
    if (pair->ranges == NULL || (b != NULL && mi_type_ranges(other, b) == NULL)) {
        fail_for_memory(c);
        return false;
    }
    if (mi_checksum_refuses(type, pair->ranges) && !is_left_out(c, pair)) {
        c->result = mi_checksum_fail_type(c->log, MICA_UNREFLECTED, type, c->call);
        return false;
    }
    return true;
}

static int compare_pairs(const void *context, uint32_t a, uint32_t b) {
    const type_pair *pairs = context;
    return strcmp(name_of(&pairs[a]), name_of(&pairs[b]));
}

// Takes up a component that somebody has in a state.
static bool add_pair(comparison *c, uint32_t side, mica_component component) {
    if (c->seen[side].data[component]) {
        return true;
    }
    type_pair pair;
    if (!make_pair(c, side, mi_schema_type(c->views[side].schema, component), &pair)) {
        return false;
    }
    for (uint32_t i = 0; i < 2; i++) {
        if (pair.types[i] != NULL) {
            c->seen[i].data[pair.types[i]->info.id] = true;
        }
    }
    if (is_left_out(c, &pair)) {
        return true;
    }
    if (!MI_RESERVE(&c->heap, MICA_MEMORY_STATE, &c->pairs, c->pairs.count + 1)) {
        fail_for_memory(c);
        return false;
    }
    c->pairs.data[c->pairs.count++] = pair;
    return true;
}

// Memory for a comparison, what sets there are, and which components somebody has.
static bool prepare(comparison *c) {
    uint32_t slot_end = 1;
    for (uint32_t side = 0; side < 2; side++) {
        const mi_view *view = &c->views[side];
        const uint32_t type_end = (uint32_t)mica_schema_count(view->schema) + 1;
        slot_end = slot_end < mi_view_slot_end(view) ? mi_view_slot_end(view) : slot_end;
        if (!MI_RESERVE(&c->heap, MICA_MEMORY_STATE, &c->sets[side], view->set_count) ||
            !MI_RESERVE(&c->heap, MICA_MEMORY_STATE, &c->seen[side], type_end)) {
            fail_for_memory(c);
            return false;
        }
        memset(c->seen[side].data, 0, type_end);
        c->sets[side].count = view->set_count;
        for (uint32_t i = 0; i < view->set_count; i++) {
            mi_view_find_set(view, i, &c->sets[side].data[i].set);
        }
    }
    if (!MI_RESERVE(&c->heap, MICA_MEMORY_STATE, &c->places, slot_end)) {
        fail_for_memory(c);
        return false;
    }
    c->places.count = slot_end;
    memset(c->places.data, 0, slot_end * sizeof(*c->places.data));
    for (uint32_t side = 0; side < 2; side++) {
        for (uint32_t i = 0; i < c->sets[side].count; i++) {
            const mi_view_set *set = &c->sets[side].data[i].set;
            for (uint32_t k = 0; set->row_count > set->dead_count && k < set->component_count; k++) {
                if (!add_pair(c, side, set->components[k])) {
                    return false;
                }
            }
        }
    }
    return true;
}

static bool sort_pairs(comparison *c) {
    const uint32_t count = c->pairs.count;
    if (!MI_RESERVE(&c->heap, MICA_MEMORY_STATE, &c->order, (size_t)count * 2)) {
        fail_for_memory(c);
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        c->order.data[i] = i;
    }
    if (count > 0) {
        mi_sort(c->order.data, c->order.data + count, count, compare_pairs, c->pairs.data);
    }
    return true;
}

static void free_comparison(comparison *c) {
    for (uint32_t side = 0; side < 2; side++) {
        MI_FREE(&c->heap, MICA_MEMORY_STATE, &c->sets[side]);
        MI_FREE(&c->heap, MICA_MEMORY_STATE, &c->seen[side]);
    }
    MI_FREE(&c->heap, MICA_MEMORY_STATE, &c->places);
    MI_FREE(&c->heap, MICA_MEMORY_STATE, &c->pairs);
    MI_FREE(&c->heap, MICA_MEMORY_STATE, &c->order);
}

// Entities

static void compare_alive(comparison *c) {
    const uint32_t end = c->places.count;
    for (uint32_t i = 1; i < end; i++) {
        const mica_entity handles[2] = {handle_at(&c->views[0], i), handle_at(&c->views[1], i)};
        if (mica_entity_equal(handles[0], handles[1])) {
            continue;
        }
        begin_difference(c, MICA_DIFFERENCE_ENTITY, i, NULL);
        const uint32_t side = mica_entity_is_null(handles[0]);
        write_entity(c, handles[side]);
        if (mica_entity_is_null(handles[1 - side])) {
            mi_text_add(&c->text, " is alive in %s alone", side_names[side]);
        } else {
            mi_text_add(&c->text, " is alive in %s, and %" PRIu32 ":%" PRIu32 " in %s", side_names[0], i,
                        mica_entity_generation(handles[1]), side_names[1]);
        }
        return;
    }
}

// Finds in which sets of a state a component is.
static void look_for(comparison *c, uint32_t side, const mi_type *type) {
    for (uint32_t i = 0; i < c->sets[side].count; i++) {
        looked_set *looked = &c->sets[side].data[i];
        looked->has_component = false;
        looked->column = UINT32_MAX;
        for (uint32_t k = 0; type != NULL && looked->set.row_count > 0 && k < looked->set.component_count; k++) {
            looked->has_component = looked->has_component || looked->set.components[k] == type->info.id;
        }
        if (looked->has_component) {
            looked->column = mi_view_find_column(&looked->set, type->info.id);
        }
    }
}

// What is to be done with each entity that has a component.
typedef void (*row_visit)(comparison *c, const type_pair *pair, uint32_t index, const looked_set *looked,
                          uint64_t place, const void *value);

// Visits the rows of a state that have the component that was looked for. `value` NULL: a tag, or not wanted.
static void visit_rows(comparison *c, uint32_t side, const type_pair *pair, bool wants_values, row_visit visit) {
    const mi_view *view = &c->views[side];
    for (uint32_t i = 0; i < c->sets[side].count; i++) {
        const looked_set *looked = &c->sets[side].data[i];
        const mi_view_set *set = &looked->set;
        for (uint32_t row = 0; looked->has_component && row < set->row_count; row++) {
            const mi_view_rows one = mi_view_row(set, row);
            const mica_entity entity = *mi_view_handles(view, set, one);
            if (set->dead_count > 0 && mica_entity_is_placeholder(entity)) {
                continue;
            }
            const void *value = wants_values && looked->column != UINT32_MAX
                                    ? mi_view_values(view, set, looked->column, one, &c->aside[side])
                                    : NULL;
            visit(c, pair, mica_entity_index(entity), looked, (uint64_t)(i + 1) << 32 | row, value);
        }
    }
}

static void note_place(comparison *c, const type_pair *pair, uint32_t index, const looked_set *looked, uint64_t place,
                       const void *value) {
    (void)pair;
    (void)looked;
    (void)value;
    c->places.data[index] = place;
}

static void begin_absence(comparison *c, const type_pair *pair, uint32_t index, uint32_t side) {
    begin_difference(c, MICA_DIFFERENCE_COMPONENT, index, pair);
    write_entity(c, handle_at(&c->views[side], index));
    mi_text_add(&c->text, " has %s in %s alone", name_of(pair), side_names[side]);
}

// Holds a row of the second state against that of the first.
static void compare_row(comparison *c, const type_pair *pair, uint32_t index, const looked_set *looked, uint64_t place,
                        const void *value) {
    (void)place;
    (void)looked;
    const uint64_t other = c->places.data[index];
    c->places.data[index] = 0;
    if (index >= c->index) {
        return;
    }
    if (other == 0) {
        begin_absence(c, pair, index, 1);
        return;
    }
    const looked_set *first = &c->sets[0].data[(other >> 32) - 1];
    if (first->column == UINT32_MAX || value == NULL) {
        return;
    }
    const void *own = mi_view_values(&c->views[0], &first->set, first->column,
                                     mi_view_row(&first->set, (uint32_t)other), &c->aside[0]);
    if (!are_equal(pair, own, value)) {
        begin_difference(c, MICA_DIFFERENCE_VALUE, index, pair);
        write_entity(c, handle_at(&c->views[0], index));
        mi_text_add(&c->text, ": ");
        write_values(c, pair, own, value);
    }
}

static void take_leftover(comparison *c, const type_pair *pair, uint32_t index, const looked_set *looked,
                          uint64_t place, const void *value) {
    (void)looked;
    (void)value;
    if (index < c->index && c->places.data[index] == place) {
        begin_absence(c, pair, index, 0);
    }
    c->places.data[index] = c->places.data[index] == place ? 0 : c->places.data[index];
}

static void compare_component(comparison *c, const type_pair *pair) {
    look_for(c, 0, pair->types[0]);
    look_for(c, 1, pair->types[1]);
    visit_rows(c, 0, pair, false, note_place);
    visit_rows(c, 1, pair, true, compare_row);
    visit_rows(c, 0, pair, false, take_leftover);
}

// Marks

// The set of marks of a kind in a state; no members: there is none.
static mi_view_marks find_marks(const mi_view *view, mi_marks_kind kind, const mi_type *type) {
    const uint32_t count = mi_view_marks_count(view);
    mi_view_marks marks = {.count = 0};
    for (uint32_t i = 0; i < count; i++) {
        if (mi_view_find_marks(view, i, &marks) && marks.kind == kind &&
            (type == NULL || marks.component == type->info.id)) {
            return marks;
        }
    }
    return (mi_view_marks){.count = 0};
}

static void compare_marks(comparison *c, mi_marks_kind kind, const type_pair *pair) {
    mi_view_marks marks[2];
    uint32_t cursors[2] = {0, 0};
    uint32_t next[2];
    for (uint32_t side = 0; side < 2; side++) {
        const mi_type *type = pair != NULL ? pair->types[side] : NULL;
        marks[side] = (mi_view_marks){.count = 0};
        if (pair == NULL || type != NULL) {
            marks[side] = find_marks(&c->views[side], kind, type);
        }
        next[side] = marks[side].count > 0 ? mi_view_next_marked(&marks[side], &cursors[side]) : UINT32_MAX;
    }
    while (next[0] == next[1] && next[0] < c->index) {
        next[0] = mi_view_next_marked(&marks[0], &cursors[0]);
        next[1] = mi_view_next_marked(&marks[1], &cursors[1]);
    }
    const uint32_t side = next[1] < next[0];
    if (next[side] >= c->index) {
        return;
    }
    begin_difference(c, MICA_DIFFERENCE_MARK, next[side], pair);
    write_entity(c, handle_at(&c->views[side], next[side]));
    mi_text_add(&c->text, "%s%s is %s in %s alone", pair != NULL ? ": " : "", pair != NULL ? name_of(pair) : "",
                kind == MI_MARKS_KILLED ? "killed" : "disabled", side_names[side]);
}

static void compare_all_marks(comparison *c) {
    compare_marks(c, MI_MARKS_DISABLED, NULL);
    compare_marks(c, MI_MARKS_KILLED, NULL);
    for (uint32_t i = 0; i < c->pairs.count; i++) {
        const type_pair *pair = &c->pairs.data[c->order.data[i]];
        if (pair->types[pair->types[0] == NULL]->info.toggle) {
            compare_marks(c, MI_MARKS_TOGGLED, pair);
        }
    }
}

// Parts

static void begin_part(comparison *c, const char *name) {
    begin_difference(c, MICA_DIFFERENCE_PART, UINT32_MAX, NULL);
    mi_text_out path = mi_text_begin(c->difference->path, sizeof(c->difference->path));
    mi_text_add(&path, "%s", name);
}

// The next resource of a record that is not left out; `type` NULL: there are no more.
static mi_recorded_resource next_resource(comparison *c, uint32_t side, mi_reader *reader, uint32_t *left) {
    mi_recorded_resource resource = {.type = NULL};
    while (*left > 0 && resource.type == NULL) {
        --*left;
        if (!mi_read_resource(reader, &resource)) {
            return (mi_recorded_resource){.type = NULL};
        }
        type_pair alone = {.types = {NULL}};
        alone.types[side] = resource.type;
        resource.type = is_left_out(c, &alone) ? NULL : resource.type;
    }
    return resource;
}

// Compares two resources, of which the one whose name comes first is looked at if the names differ. True: they differ.
static bool compare_resource(comparison *c, const mi_recorded_resource resources[2]) {
    const mi_type *types[2] = {resources[0].type, resources[1].type};
    const int order = types[0] == NULL ? 1 : types[1] == NULL ? -1 : strcmp(types[0]->info.name, types[1]->info.name);
    type_pair pair;
    if (order != 0) {
        begin_part(c, "resources");
        c->difference->component = types[order > 0]->info.id;
        mi_text_add(&c->text, "there is a resource %s in %s alone", types[order > 0]->info.name, side_names[order > 0]);
        return true;
    }
    if (!make_pair(c, 0, types[0], &pair) || are_equal(&pair, resources[0].value, resources[1].value)) {
        return false;
    }
    begin_part(c, "resources");
    c->difference->component = types[0]->info.id;
    mi_text_add(&c->text, "the resource ");
    write_values(c, &pair, resources[0].value, resources[1].value);
    return true;
}

static void compare_resources(comparison *c, const mi_record *const records[2]) {
    mi_reader readers[2];
    uint32_t left[2] = {0, 0};
    mi_recorded_resource next[2];
    for (uint32_t side = 0; side < 2; side++) {
        static const mi_record none = {.heap = NULL};
        const mi_record *record = records[side] != NULL ? records[side] : &none;
        readers[side] = mi_reader_of(c->views[side].schema, record);
        left[side] = record->bytes.count == 0 ? 0 : mi_read_count(&readers[side], sizeof(uint32_t));
        next[side] = next_resource(c, side, &readers[side], &left[side]);
    }
    while (c->result == MICA_OK && (next[0].type != NULL || next[1].type != NULL)) {
        if (compare_resource(c, next)) {
            return;
        }
        for (uint32_t side = 0; side < 2; side++) {
            next[side] = next_resource(c, side, &readers[side], &left[side]);
        }
    }
}

// The next of the first `count` values beside a record that is not left out; NULL: there are no more.
static const mi_record_value *next_value(const comparison *c, uint32_t side, const mi_record *record, uint32_t count,
                                         uint32_t *at) {
    while (*at < count) {
        const mi_record_value *value = &record->values.data[(*at)++];
        type_pair alone = {.types = {NULL}};
        alone.types[side] = value->type;
        if (!is_left_out(c, &alone)) {
            return value;
        }
    }
    return NULL;
}

// Whether the values that stand beside two records are equal, as far as they count.
static bool are_values_equal(comparison *c, const mi_record *const records[2], const mi_record_extent extents[2]) {
    uint32_t at[2] = {0};
    for (;;) {
        const mi_record_value *next[2];
        for (uint32_t side = 0; side < 2; side++) {
            next[side] = next_value(c, side, records[side], extents[side].value_count, &at[side]);
        }
        if (next[0] == NULL || next[1] == NULL) {
            return next[0] == next[1];
        }
        type_pair pair;
        if (!make_pair(c, 0, next[0]->type, &pair) || pair.types[1] != next[1]->type ||
            !are_equal(&pair, next[0]->value, next[1]->value)) {
            return false;
        }
    }
}

static void compare_records(comparison *c, const mi_part *part, const mi_record *const records[2]) {
    static const mi_record none = {.heap = NULL};
    const mi_record *a = records[0] != NULL ? records[0] : &none;
    const mi_record *b = records[1] != NULL ? records[1] : &none;
    const mi_record_extent lasting[2] = {mi_part_lasting(part, a), mi_part_lasting(part, b)};
    const uint32_t sizes[2] = {lasting[0].byte_count, lasting[1].byte_count};
    const uint32_t shared = sizes[0] < sizes[1] ? sizes[0] : sizes[1];
    uint32_t offset = 0;
    while (offset < shared && a->bytes.data[offset] == b->bytes.data[offset]) {
        offset++;
    }
    if (offset == sizes[0] && offset == sizes[1] && are_values_equal(c, (const mi_record *const[2]){a, b}, lasting)) {
        return;
    }
    if (c->result == MICA_OK) {
        begin_part(c, part->name);
        mi_text_add(&c->text, "the part \"%s\" of the state differs, from byte %" PRIu32 " of %" PRIu32 " and %" PRIu32,
                    part->name, offset, sizes[0], sizes[1]);
    }
}

static bool open_part(comparison *c, uint32_t side, uint32_t number, mi_view_part *part) {
    const mi_type *refused = NULL;
    const mica_result result = mi_view_open_part(&c->views[side], number, part, &refused);
    if (result == MICA_OUT_OF_MEMORY) {
        fail_for_memory(c);
    } else if (result != MICA_OK) {
        c->result = mi_checksum_fail_type(c->log, result, refused, c->call);
    }
    return result == MICA_OK;
}

// Compares a part of one state with that of the same name in the other one. What both have is compared once.
static void compare_part(comparison *c, uint32_t side, const mi_view_part *part) {
    const mi_record *records[2] = {NULL, NULL};
    mi_view_part other = {.part = NULL};
    bool has_other = false;
    records[side] = part->record;
    const uint32_t count = mi_view_part_count(&c->views[1 - side]);
    for (uint32_t i = 0; i < count && !has_other; i++) {
        if (!open_part(c, 1 - side, i, &other)) {
            mi_view_close_part(&other);
            return;
        }
        has_other = other.part == part->part;
        if (!has_other) {
            mi_view_close_part(&other);
        }
    }
    records[1 - side] = has_other ? other.record : NULL;
    if (side == 0 || !has_other) {
        if (part->part->holds_resources) {
            compare_resources(c, records);
        } else {
            compare_records(c, part->part, records);
        }
    }
    if (has_other) {
        mi_view_close_part(&other);
    }
}

static void compare_parts(comparison *c) {
    for (uint32_t side = 0; side < 2; side++) {
        const uint32_t count = mi_view_part_count(&c->views[side]);
        for (uint32_t i = 0; i < count && c->difference->kind == MICA_DIFFERENCE_NONE && c->result == MICA_OK; i++) {
            mi_view_part part;
            if (open_part(c, side, i, &part) && part.part != NULL && mi_checksum_has_part(&c->options, part.part)) {
                compare_part(c, side, &part);
            }
            mi_view_close_part(&part);
        }
    }
}

// Order

static bool has_same_components(const comparison *c, const mi_view_set *a, const mi_view_set *b) {
    if (a->is_pool != b->is_pool || a->component_count != b->component_count) {
        return false;
    }
    for (uint32_t i = 0; i < a->component_count; i++) {
        const mi_type *type = mi_schema_type(c->views[0].schema, a->components[i]);
        const mica_component wanted = c->views[0].schema == c->views[1].schema
                                          ? type->info.id
                                          : mica_schema_find(c->views[1].schema, type->info.name);
        bool is_there = false;
        for (uint32_t k = 0; k < b->component_count; k++) {
            is_there = is_there || b->components[k] == wanted;
        }
        if (!is_there) {
            return false;
        }
    }
    return true;
}

static void write_set(comparison *c, const mi_view_set *set) {
    mi_text_add(&c->text, set->is_pool ? " of the pool of " : " of the table {");
    for (uint32_t i = 0; i < set->component_count; i++) {
        mi_text_add(&c->text, "%s%s", i > 0 ? ", " : "",
                    mi_schema_type(c->views[0].schema, set->components[i])->info.name);
    }
    mi_text_add(&c->text, set->is_pool ? "" : "}");
}

static void write_row(comparison *c, uint32_t side, const mi_view_set *set, uint32_t row) {
    if (row >= set->row_count) {
        mi_text_add(&c->text, "nobody");
        return;
    }
    const mica_entity entity = *mi_view_handles(&c->views[side], set, mi_view_row(set, row));
    if (mica_entity_is_placeholder(entity)) {
        mi_text_add(&c->text, "a tombstone");
    } else {
        write_entity(c, entity);
    }
}

static void compare_rows(comparison *c, const mi_view_set *a, const mi_view_set *b) {
    const uint32_t most = a->row_count > b->row_count ? a->row_count : b->row_count;
    for (uint32_t row = 0; row < most; row++) {
        if (row < a->row_count && row < b->row_count &&
            mica_entity_equal(*mi_view_handles(&c->views[0], a, mi_view_row(a, row)),
                              *mi_view_handles(&c->views[1], b, mi_view_row(b, row)))) {
            continue;
        }
        begin_difference(c, MICA_DIFFERENCE_ORDER, UINT32_MAX, NULL);
        mi_text_add(&c->text, "row %" PRIu32, row);
        write_set(c, a);
        mi_text_add(&c->text, " is ");
        write_row(c, 1, b, row);
        mi_text_add(&c->text, " in %s and ", side_names[1]);
        write_row(c, 0, a, row);
        mi_text_add(&c->text, " in %s", side_names[0]);
        return;
    }
}

static void compare_slots(comparison *c) {
    const uint32_t ends[2] = {mi_view_slot_end(&c->views[0]), mi_view_slot_end(&c->views[1])};
    const mi_view_slots numbers[2] = {mi_view_slot_numbers(&c->views[0]), mi_view_slot_numbers(&c->views[1])};
    uint32_t index = 1;
    while (index < ends[0] && index < ends[1] &&
           mi_view_slot(&c->views[0], index) == mi_view_slot(&c->views[1], index)) {
        index++;
    }
    if (ends[0] != ends[1] || index < ends[0]) {
        begin_difference(c, MICA_DIFFERENCE_ORDER, UINT32_MAX, NULL);
        mi_text_add(&c->text, "free handles differ, first of all that of index %" PRIu32, index);
    } else if (numbers[0].free_head != numbers[1].free_head || numbers[0].issued != numbers[1].issued) {
        begin_difference(c, MICA_DIFFERENCE_ORDER, UINT32_MAX, NULL);
        mi_text_add(&c->text, "the order in which free handles will be issued differs");
    }
}

static void compare_order(comparison *c) {
    for (uint32_t i = 0; i < c->sets[0].count && c->difference->kind == MICA_DIFFERENCE_NONE; i++) {
        const mi_view_set *a = &c->sets[0].data[i].set;
        for (uint32_t k = 0; a->row_count > 0 && k < c->sets[1].count; k++) {
            const mi_view_set *b = &c->sets[1].data[k].set;
            if (b->row_count > 0 && has_same_components(c, a, b)) {
                compare_rows(c, a, b);
                break;
            }
        }
    }
    if (c->difference->kind == MICA_DIFFERENCE_NONE) {
        compare_slots(c);
    }
}

// The whole

static void compare_all(comparison *c) {
    if (!prepare(c) || !sort_pairs(c)) {
        return;
    }
    compare_alive(c);
    for (uint32_t i = 0; i < c->pairs.count; i++) {
        compare_component(c, &c->pairs.data[c->order.data[i]]);
    }
    compare_all_marks(c);
    if (c->difference->kind == MICA_DIFFERENCE_NONE && !c->options.entities_only) {
        compare_parts(c);
    }
    if (c->difference->kind == MICA_DIFFERENCE_NONE && c->result == MICA_OK && c->options.exact) {
        compare_order(c);
    }
}

typedef struct compare_request {
    const mica_allocator *allocator;
    const mica_log_handler *log;
    const mica_checksum_options *options;
    const char *call;
} compare_request;

static mica_result compare_views(mi_view a, mi_view b, const compare_request *request, mica_difference *difference) {
    const mica_result fault = mi_checksum_check_options(a.schema, request->options, request->log, request->call);
    if (fault != MICA_OK) {
        return fault;
    }
    mica_difference found = {.kind = MICA_DIFFERENCE_NONE};
    comparison c = {.views = {a, b},
                    .log = request->log,
                    .call = request->call,
                    .result = MICA_OK,
                    .index = UINT32_MAX,
                    .difference = &found};
    if (request->options != NULL) {
        c.options = *request->options;
    }
    mi_heap_init(&c.heap, request->allocator);
    compare_all(&c);
    free_comparison(&c);
    if (c.result == MICA_OK) {
        *difference = found;
    }
    return c.result;
}

static mica_result check_view(const mica_world *world, const char *call) {
    return mi_world_check_making(world, "what is everywhere", call);
}

static mi_view settled_view(mica_world *world) {
    mi_world_settle_all(world);
    mi_slots_settle(&world->store.slots);
    return mi_view_of_world(world);
}

mica_result mica_world_compare(mica_world *a, mica_world *b, const mica_checksum_options *options,
                               mica_difference *difference) {
    static const char call[] = "mica_world_compare";
    if (a == NULL || b == NULL || difference == NULL) {
        return mi_fail_plain(a != NULL ? &a->log : NULL, MICA_INVALID, call,
                             "needs two worlds, and a place for the difference");
    }
    if (check_view(a, call) != MICA_OK || check_view(b, call) != MICA_OK) {
        return MICA_LOCKED;
    }
    const compare_request request = {&a->heap.allocator, &a->log, options, call};
    return compare_views(settled_view(a), settled_view(b), &request, difference);
}

mica_result mica_snapshot_compare(const mica_snapshot *a, const mica_snapshot *b, const mica_checksum_options *options,
                                  mica_difference *difference) {
    static const char call[] = "mica_snapshot_compare";
    if (a == NULL || b == NULL || difference == NULL) {
        return mi_fail_plain(NULL, MICA_INVALID, call, "needs two snapshots, and a place for the difference");
    }
    const compare_request request = {&a->vault->heap.allocator, &a->vault->schema->log, options, call};
    return compare_views(mi_view_of_snapshot(a), mi_view_of_snapshot(b), &request, difference);
}

mica_result mica_snapshot_compare_world(const mica_snapshot *a, mica_world *b, const mica_checksum_options *options,
                                        mica_difference *difference) {
    static const char call[] = "mica_snapshot_compare_world";
    if (a == NULL || b == NULL || difference == NULL) {
        return mi_fail_plain(b != NULL ? &b->log : NULL, MICA_INVALID, call,
                             "needs a snapshot, a world, and a place for the difference");
    }
    if (check_view(b, call) != MICA_OK) {
        return MICA_LOCKED;
    }
    const compare_request request = {&b->heap.allocator, &b->log, options, call};
    return compare_views(mi_view_of_snapshot(a), settled_view(b), &request, difference);
}

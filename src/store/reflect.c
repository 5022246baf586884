// What a schema knows of the fields of its types, found out when it is first asked for.
//
// A struct is known if all of it is: its text could be read, and every nested type is a known one of the schema. Nested
// types are resolved before those that hold them, with a stack on the heap instead of recursion; a type that would hold
// itself is found by the mark on the types of that stack.
//
// Invariants: a reflection is complete and immutable when it is published, and stays until the schema is gone. That a
// type is not known holds for one revision of the schema: a type or a text that comes later may be what was missing.
// So what a type is known to be depends on which types there are, never on their order. All but the look at what is
// published happens under the schema's lock.
#include "store/reflect.h"

#include <string.h>

#include "store/fields.h"
#include "store/refusal.h"

// A type that is being resolved, and how far.
typedef struct type_frame {
    mi_type *type;
    mi_declaration declaration;
    uint32_t next; // the first field that was not looked at yet
} type_frame;

typedef struct type_resolution {
    mica_schema *schema;
    MI_ARRAY(type_frame) frames;
} type_resolution;

typedef enum resolve_step { STEP_DONE, STEP_DEEPER, STEP_UNKNOWN, STEP_NO_MEMORY } resolve_step;

void mi_reflection_free(mi_reflection *reflection, mi_heap *heap) {
    if (reflection == NULL) {
        return;
    }
    mi_heap_release(heap, MICA_MEMORY_SCHEMA, reflection->names, reflection->names_byte_size, 1);
    MI_FREE(heap, MICA_MEMORY_SCHEMA, &reflection->fields);
    MI_FREE(heap, MICA_MEMORY_SCHEMA, &reflection->enumerators);
    MI_FREE(heap, MICA_MEMORY_SCHEMA, &reflection->entities);
    mi_ranges_free(heap, &reflection->ranges);
    mi_heap_release(heap, MICA_MEMORY_SCHEMA, reflection, sizeof(*reflection), _Alignof(mi_reflection));
}

static const mi_reflection *nested_reflection(const mica_schema *schema, const mi_declared_field *field) {
    return mi_type_reflection(mi_schema_type_at(schema, field->type));
}

// Making a reflection out of a declaration whose nested types are all known

static bool allocate_reflection(mi_heap *heap, const mi_type *type, const mi_declaration *declaration,
                                mi_reflection *reflection, uint32_t entity_count) {
    reflection->names_byte_size = strlen(type->fields) + 1;
    reflection->names = mi_heap_allocate(heap, MICA_MEMORY_SCHEMA, reflection->names_byte_size, 1);
    return reflection->names != NULL &&
           MI_RESERVE(heap, MICA_MEMORY_SCHEMA, &reflection->fields, declaration->fields.count) &&
           MI_RESERVE(heap, MICA_MEMORY_SCHEMA, &reflection->enumerators, declaration->enumerators.count) &&
           MI_RESERVE(heap, MICA_MEMORY_SCHEMA, &reflection->entities, entity_count);
}

// How many entities one element of a field holds.
static uint32_t element_entity_count(const mica_schema *schema, const mi_declared_field *field) {
    switch (field->kind) {
    case MICA_FIELD_ENTITY:
        return 1;
    case MICA_FIELD_STRUCT:
        return nested_reflection(schema, field)->entities.count;
    default:
        return 0;
    }
}

// There is a byte behind every name that is no part of it.
static const char *close_name(mi_reflection *reflection, uint32_t offset, uint32_t length) {
    reflection->names[offset + length] = '\0';
    return reflection->names + offset;
}

static void fill_entities(const mica_schema *schema, mi_reflection *reflection, const mi_declared_field *field) {
    const mi_reflection *nested = field->kind == MICA_FIELD_STRUCT ? nested_reflection(schema, field) : NULL;
    const uint32_t inside = element_entity_count(schema, field);
    for (uint32_t i = 0; inside > 0 && i < field->count; i++) {
        for (uint32_t k = 0; k < inside; k++) {
            const uint32_t within = nested != NULL ? nested->entities.data[k] : 0;
            reflection->entities.data[reflection->entities.count++] = field->offset + i * field->size + within;
        }
    }
}

static void fill_reflection(const mica_schema *schema, mi_reflection *reflection, const char *text,
                            const mi_declaration *declaration) {
    memcpy(reflection->names, text, reflection->names_byte_size);
    for (uint32_t i = 0; i < declaration->fields.count; i++) {
        const mi_declared_field *field = &declaration->fields.data[i];
        reflection->fields.data[reflection->fields.count++] =
            (mica_field){.name = close_name(reflection, field->name_offset, field->name_length),
                         .kind = field->kind,
                         .type = field->type,
                         .offset = field->offset,
                         .size = field->size,
                         .count = field->count,
                         .is_array = field->is_array};
        fill_entities(schema, reflection, field);
    }
    for (uint32_t i = 0; i < declaration->enumerators.count; i++) {
        const mi_declared_enumerator *enumerator = &declaration->enumerators.data[i];
        reflection->enumerators.data[reflection->enumerators.count++] = (mica_enumerator){
            close_name(reflection, enumerator->name_offset, enumerator->name_length), enumerator->value};
    }
}

static bool publish_reflection(mica_schema *schema, mi_type *type, const mi_declaration *declaration) {
    // What is laid out fits a value, so its entities are fewer than its bytes.
    uint32_t entity_count = 0;
    for (uint32_t i = 0; i < declaration->fields.count; i++) {
        const mi_declared_field *field = &declaration->fields.data[i];
        entity_count += field->count * element_entity_count(schema, field);
    }
    mi_reflection *reflection =
        mi_heap_allocate_zeroed(&schema->heap, MICA_MEMORY_SCHEMA, sizeof(*reflection), _Alignof(mi_reflection));
    if (reflection == NULL) {
        return false;
    }
    if (!allocate_reflection(&schema->heap, type, declaration, reflection, entity_count)) {
        mi_reflection_free(reflection, &schema->heap);
        return false;
    }
    fill_reflection(schema, reflection, type->fields, declaration);
    if (!mi_ranges_find(&schema->heap, schema, type, reflection->fields.data, reflection->fields.count,
                        &reflection->ranges)) {
        mi_reflection_free(reflection, &schema->heap);
        return false;
    }
    mi_store_pointer(&type->reflection, reflection);
    return true;
}

// Resolving

static resolve_step unknown(const type_frame *frame, const char *reason, uint32_t offset, uint32_t bytes) {
    frame->type->fault = (mi_text_fault){reason, offset, bytes};
    return STEP_UNKNOWN;
}

static bool is_unknown_now(const mica_schema *schema, const mi_type *type) {
    return type->unreflected_at == schema->revision;
}

// Starts on a type. The frame is on the stack whatever comes out.
static resolve_step push_type(type_resolution *resolution, mi_type *type) {
    mica_schema *schema = resolution->schema;
    if (!MI_RESERVE(&schema->heap, MICA_MEMORY_SCHEMA, &resolution->frames, resolution->frames.count + 1)) {
        return STEP_NO_MEMORY;
    }
    type_frame *frame = &resolution->frames.data[resolution->frames.count++];
    frame->type = type;
    frame->declaration = (mi_declaration){0};
    frame->next = 0;
    type->is_resolving = true;
    if (type->info.kind == MICA_KIND_TAG) {
        return unknown(frame, "a tag has no fields", 0, 0);
    }
    if (type->fields == NULL) {
        return unknown(frame, "it was declared without fields", 0, 0);
    }
    switch (mi_declaration_parse(&schema->heap, type->info.kind, type->fields, &frame->declaration, &type->fault)) {
    case MI_PARSED:
        return STEP_DEEPER;
    case MI_PARSED_FAULT:
        return STEP_UNKNOWN;
    case MI_PARSED_NO_MEMORY:
        break;
    }
    return STEP_NO_MEMORY;
}

// Fills a field with what its nested type is. `deeper`: that must be resolved first.
static resolve_step look_up(const type_resolution *resolution, const type_frame *frame, mi_declared_field *field,
                            mi_type **deeper) {
    const mica_schema *schema = resolution->schema;
    const uint32_t place = field->type_offset;
    const mica_component id =
        mi_schema_find_locked(schema, frame->type->fields + field->type_offset, field->type_length);
    mi_type *nested = mi_schema_type_at(schema, id);
    if (nested == NULL) {
        return unknown(frame, "the schema does not know this type", place, 0);
    }
    const mica_type_kind kind = nested->info.kind;
    if (kind == MICA_KIND_TAG || (field->nested == MI_NESTED_STRUCT && kind != MICA_KIND_STRUCT) ||
        (field->nested == MI_NESTED_ENUM && kind != MICA_KIND_ENUM)) {
        return unknown(frame, "the schema knows this type as something else", place, 0);
    }
    if (nested->is_resolving) {
        return unknown(frame, "this type would hold itself", place, 0);
    }
    if (is_unknown_now(schema, nested)) {
        return unknown(frame, "the fields of this type are not known", place, 0);
    }
    if (mi_type_reflection(nested) == NULL) {
        *deeper = nested;
        return STEP_DEEPER;
    }
    field->type = id;
    field->kind = kind == MICA_KIND_ENUM ? MICA_FIELD_ENUM : MICA_FIELD_STRUCT;
    field->size = nested->info.size;
    field->align = nested->info.align;
    return STEP_DONE;
}

static resolve_step finish(mica_schema *schema, type_frame *frame) {
    mi_type *type = frame->type;
    if (type->info.kind == MICA_KIND_STRUCT) {
        const mi_layout layout = mi_declaration_lay_out(&frame->declaration, type->info.align);
        if (layout.size != type->info.size) {
            return unknown(frame, "sizes disagree", 0, layout.size);
        }
        if (layout.align > type->info.align) {
            return unknown(frame, "it is aligned to less than its fields need", 0, 0);
        }
    }
    return publish_reflection(schema, type, &frame->declaration) ? STEP_DONE : STEP_NO_MEMORY;
}

// Goes on with the last frame until it is done or must wait for a nested type.
static resolve_step advance(type_resolution *resolution) {
    type_frame *frame = &resolution->frames.data[resolution->frames.count - 1];
    for (; frame->next < frame->declaration.fields.count; frame->next++) {
        mi_declared_field *field = &frame->declaration.fields.data[frame->next];
        mi_type *deeper = NULL;
        if (field->nested != MI_NESTED_NONE) {
            const resolve_step looked = look_up(resolution, frame, field, &deeper);
            if (looked != STEP_DONE) {
                return looked == STEP_DEEPER ? push_type(resolution, deeper) : looked;
            }
        }
    }
    return finish(resolution->schema, frame);
}

static void pop_type(type_resolution *resolution, bool is_unknown) {
    type_frame *frame = &resolution->frames.data[--resolution->frames.count];
    frame->type->is_resolving = false;
    if (is_unknown) {
        mi_store_count(&frame->type->unreflected_at, resolution->schema->revision);
    }
    mi_declaration_free(&frame->declaration, &resolution->schema->heap);
}

// Resolves a type of which nothing is known yet in this revision.
static mica_result resolve(mica_schema *schema, mi_type *type) {
    type_resolution resolution = {.schema = schema};
    resolve_step step = push_type(&resolution, type);
    while (resolution.frames.count > 0 && step != STEP_NO_MEMORY) {
        // A type that is unknown makes the one that waits for it look again, and find that out.
        if (step == STEP_DEEPER) {
            step = advance(&resolution);
        } else {
            pop_type(&resolution, step == STEP_UNKNOWN);
            step = STEP_DEEPER;
        }
    }
    while (resolution.frames.count > 0) {
        pop_type(&resolution, false);
    }
    MI_FREE(&schema->heap, MICA_MEMORY_SCHEMA, &resolution.frames);
    return step == STEP_NO_MEMORY ? MICA_OUT_OF_MEMORY : mi_type_reflection(type) != NULL ? MICA_OK : MICA_UNREFLECTED;
}

static void refuse_unreflected(const mi_type *type, mi_refusal *refusal) {
    const mi_text_fault *fault = &type->fault;
    const char *what = type->info.kind == MICA_KIND_ENUM ? "names" : "fields";
    if (fault->bytes != 0) {
        mi_refuse(refusal, MICA_UNREFLECTED, "the {} of \"{}\" are not known: it has {} bytes, but they make {}",
                  MI_TEXT(what), MI_TEXT(type->name), MI_UINT(type->info.size), MI_UINT(fault->bytes));
    } else if (fault->offset != 0) {
        mi_text_excerpt(type->fields, fault->offset, refusal->excerpts[0]);
        mi_refuse(refusal, MICA_UNREFLECTED, "the {} of \"{}\" are not known: {}: \"{}\"", MI_TEXT(what),
                  MI_TEXT(type->name), MI_TEXT(fault->reason), MI_TEXT(refusal->excerpts[0]));
    } else {
        mi_refuse(refusal, MICA_UNREFLECTED, "the {} of \"{}\" are not known: {}", MI_TEXT(what), MI_TEXT(type->name),
                  MI_TEXT(fault->reason));
    }
}

// What is known of a type, or why it is not: `refusal` NULL: nobody wants to know.
static mica_result reflect(const mica_schema *const_schema, mica_component id, const mi_reflection **reflection,
                           mi_refusal *refusal) {
    const mi_type *found = mi_schema_type(const_schema, id);
    if (found == NULL) {
        return MICA_UNKNOWN;
    }
    *reflection = mi_type_reflection(found);
    if (*reflection != NULL) {
        return MICA_OK;
    }
    if (refusal == NULL && mi_load_count(&found->unreflected_at) == mi_load_count(&const_schema->revision)) {
        return MICA_UNREFLECTED;
    }
    mica_schema *schema = mi_schema_writable(const_schema);
    mi_lock_take(&schema->lock);
    mi_type *type = mi_schema_type_at(schema, id);
    mica_result result = mi_type_reflection(type) != NULL ? MICA_OK : MICA_UNREFLECTED;
    if (result != MICA_OK && !is_unknown_now(schema, type)) {
        result = resolve(schema, type);
    }
    *reflection = mi_type_reflection(type);
    if (result == MICA_UNREFLECTED && refusal != NULL) {
        refuse_unreflected(type, refusal);
    }
    mi_lock_give(&schema->lock);
    return result;
}

mica_result mi_type_reflect(const mica_schema *schema, mica_component id) {
    const mi_reflection *reflection;
    return reflect(schema, id, &reflection, NULL);
}

bool mi_type_patch_entities(const mica_schema *schema, mica_component id, void *value,
                            bool (*patch)(void *user, mica_entity *entity), void *user) {
    const mi_reflection *reflection;
    if (reflect(schema, id, &reflection, NULL) != MICA_OK) {
        return false;
    }
    for (uint32_t i = 0; i < reflection->entities.count; i++) {
        if (!patch(user, (mica_entity *)(void *)((char *)value + reflection->entities.data[i]))) {
            break;
        }
    }
    return true;
}

bool mi_type_has_entities(const mica_schema *schema, mica_component id) {
    const mi_reflection *reflection;
    return reflect(schema, id, &reflection, NULL) == MICA_OK && reflection->entities.count > 0;
}

// The reflection of a type of a certain kind, with the error set if there is none.
static const mi_reflection *require(const mica_schema *schema, mica_component id, bool enumeration, const char *call) {
    if (schema == NULL) {
        mi_fail_plain(NULL, MICA_INVALID, call, "no schema is given");
        return NULL;
    }
    const mi_reflection *reflection = NULL;
    mi_refusal refusal = {0};
    const mica_result result = reflect(schema, id, &reflection, &refusal);
    const mi_type *type = result != MICA_UNKNOWN ? mi_schema_type(schema, id) : NULL;
    switch (result) {
    case MICA_OK:
        if ((type->info.kind == MICA_KIND_ENUM) == enumeration) {
            return reflection;
        }
        mi_fail(&schema->log, MICA_UNREFLECTED, call, "\"{}\" is {}", MI_TEXT(type->name),
                MI_TEXT(enumeration ? "a struct and has no enumerators" : "an enumeration and has no fields"));
        break;
    case MICA_UNKNOWN:
        mi_fail(&schema->log, MICA_UNKNOWN, call, "the schema has no type {}", MI_UINT(id));
        break;
    case MICA_OUT_OF_MEMORY:
        mi_fail_memory(&schema->log, call, sizeof(mi_reflection));
        break;
    default:
        mi_refusal_raise(&refusal, &schema->log, call);
        break;
    }
    return NULL;
}

const mica_field *mica_schema_fields(const mica_schema *schema, mica_component id, int32_t *count) {
    const mi_reflection *reflection = require(schema, id, false, "mica_schema_fields");
    if (count != NULL) {
        *count = reflection != NULL ? (int32_t)reflection->fields.count : 0;
    }
    return reflection != NULL ? reflection->fields.data : NULL;
}

const mica_enumerator *mica_schema_enumerators(const mica_schema *schema, mica_component id, int32_t *count) {
    const mi_reflection *reflection = require(schema, id, true, "mica_schema_enumerators");
    if (count != NULL) {
        *count = reflection != NULL ? (int32_t)reflection->enumerators.count : 0;
    }
    return reflection != NULL ? reflection->enumerators.data : NULL;
}

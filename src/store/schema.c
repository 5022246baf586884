// The set of component types: registration, and looking types up.
//
// A type is drafted from its descriptor together with all types that it requires, and published when nothing can fail
// any more: so a refusal leaves the schema as it was. All of that happens under the schema's lock; the names' map and
// the heap are never touched without it. Types live each in memory of their own and are reached by id through pages
// of pointers, each pointer written once: readers need no lock, and what they got stays valid until the schema is gone.
//
// Invariants: ids are 1 to count without gaps; a type's closure holds every type that comes along with it and never the
// type itself; descriptors are only read while they are being registered, and nothing points into them afterwards
// (their library may be unloaded). A descriptor may leave much to defaults, or to another descriptor: what it comes to
// is found out by `declare`, and nothing else reads one. What two descriptors of one name must agree on is checked in
// `agrees`; it does not depend on which of them came first.
#include "store/schema.h"

#include <string.h>

#include "base/bitset.h"
#include "store/fields.h"
#include "store/index_key.h"
#include "store/lanes.h"
#include "store/reflect.h"
#include "store/refusal.h"
#include "store/traits.h"

// Most descriptors that take over from each other in a row.
#define SAME_AS_MAX 64

// A type that is about to be published, what it is declared as, and the descriptor that says so.
typedef struct draft {
    mi_type *type;
    mica_type declared;
    mica_type *descriptor;
} draft;

// One registration: a type and those it requires, directly or not, that are new. The n-th draft will have the n-th id
// after the schema's last.
typedef struct type_batch {
    mica_schema *schema;
    mi_refusal *refusal;
    MI_ARRAY(draft) drafts;
    uint64_t *seen; // a bit an id, all zero between closures
    uint32_t seen_word_count;
} type_batch;

static mi_type *batch_type(const type_batch *batch, mica_component id) {
    const uint32_t count = batch->schema->count;
    return id <= count ? mi_schema_type_at(batch->schema, id) : batch->drafts.data[id - count - 1].type;
}

// Names

typedef struct name_search {
    const type_batch *batch;
    const char *name;
    size_t length;
} name_search;

static bool name_is(const void *context, uint32_t id) {
    const name_search *search = context;
    const char *name = batch_type(search->batch, (mica_component)id)->name;
    return strncmp(name, search->name, search->length) == 0 && name[search->length] == '\0';
}

static mica_component find_name(const type_batch *batch, const char *name, size_t length) {
    const name_search search = {batch, name, length};
    const uint32_t id = mi_map_find(&batch->schema->names, mi_hash_bytes(name, length), name_is, &search);
    return id != MI_MAP_NONE ? (mica_component)id : 0;
}

mica_component mi_schema_find_locked(const mica_schema *schema, const char *name, size_t length) {
    const type_batch none = {.schema = mi_schema_writable(schema)};
    return find_name(&none, name, length);
}

static uint64_t name_key(const char *name) {
    uint64_t key = 0;
    for (int shift = 56; shift >= 0 && *name != '\0'; shift -= 8) {
        key |= (uint64_t)(unsigned char)*name++ << shift;
    }
    return key;
}

int mi_type_compare_names(const mi_type *a, const mi_type *b) {
    if (a->name_key != b->name_key) {
        return a->name_key < b->name_key ? -1 : 1;
    }
    return strcmp(a->name, b->name);
}

// Descriptors by themselves

static bool check_name(const mica_type *descriptor, mi_refusal *refusal) {
    const bool has_name = descriptor->name != NULL && descriptor->name[0] != '\0';
    if (!has_name && descriptor->same_as != NULL && descriptor->same_as->name != NULL) {
        return mi_refuse(refusal, MICA_BAD_TYPE, "a type that is the same as \"{}\" has no name",
                         MI_TEXT(descriptor->same_as->name));
    }
    if (!has_name) {
        return mi_refuse(refusal, MICA_BAD_TYPE, "a type of {} bytes has no name", MI_UINT(descriptor->size));
    }
    if (strnlen(descriptor->name, MICA_NAME_MAX + 1) > MICA_NAME_MAX) {
        return mi_refuse(refusal, MICA_BAD_TYPE, "the name \"{}\" is longer than {} bytes", MI_TEXT(descriptor->name),
                         MI_UINT(MICA_NAME_MAX));
    }
    return true;
}

// What a descriptor comes to: complete, without defaults, and not checked but for its name. The cache, which other
// threads may be writing, is not read.
static bool declare(const mica_type *descriptor, mica_type *declared, mi_refusal *refusal) {
    if (!check_name(descriptor, refusal)) {
        return false;
    }
    const mica_type *origin = descriptor;
    const mica_type *traits_from = descriptor;
    const mica_type *hooks_from = descriptor;
    for (uint32_t i = 0; origin->same_as != NULL; i++) {
        if (i == SAME_AS_MAX) {
            return mi_refuse(refusal, MICA_BAD_TYPE, "\"{}\" is the same as another type over more than {} types",
                             MI_TEXT(descriptor->name), MI_UINT(SAME_AS_MAX));
        }
        const mica_type *next = origin->same_as;
        traits_from = traits_from == origin && origin->same_traits ? next : traits_from;
        hooks_from = hooks_from == origin && !mi_hooks_given(&origin->traits.hooks) ? next : hooks_from;
        origin = next;
    }
    *declared = (mica_type){.name = descriptor->name,
                            .fields = origin->fields,
                            .size = origin->size,
                            .align = origin->align,
                            .kind = origin->kind,
                            .traits = traits_from->traits};
    declared->traits.hooks = hooks_from->traits.hooks;
    if (origin != descriptor && declared->traits.hooks.attach != NULL) {
        return mi_refuse(refusal, MICA_BAD_TYPE, "\"{}\" would be a second name for a relation",
                         MI_TEXT(descriptor->name));
    }
    mi_traits_resolve(declared);
    return true;
}

static bool check_tag(const mica_type *descriptor, mi_refusal *refusal) {
    if (descriptor->size != 0 || descriptor->align > 1) {
        return mi_refuse(refusal, MICA_BAD_TYPE, "\"{}\" is a tag and cannot have {} bytes of data aligned to {}",
                         MI_TEXT(descriptor->name), MI_UINT(descriptor->size), MI_UINT(descriptor->align));
    }
    if (mi_hooks_given(&descriptor->traits.hooks)) {
        return mi_refuse(refusal, MICA_BAD_TYPE, "\"{}\" is a tag and has no values for hooks to work on",
                         MI_TEXT(descriptor->name));
    }
    return true;
}

static bool check_data(const mica_type *descriptor, mi_refusal *refusal) {
    const uint32_t size = descriptor->size;
    const uint32_t align = descriptor->align;
    if (size == 0) {
        return mi_refuse(refusal, MICA_BAD_TYPE, "\"{}\" has no data; a tag is declared with MICA_TAG",
                         MI_TEXT(descriptor->name));
    }
    if (size > MICA_SIZE_MAX) {
        return mi_refuse(refusal, MICA_BAD_TYPE, "\"{}\" has {} bytes; a value has at most {}",
                         MI_TEXT(descriptor->name), MI_UINT(size), MI_UINT(MICA_SIZE_MAX));
    }
    if (align == 0 || (align & (align - 1)) != 0 || align > MICA_ALIGN_MAX) {
        return mi_refuse(refusal, MICA_BAD_TYPE,
                         "\"{}\" is aligned to {} bytes; an alignment is a power of two of at most {}",
                         MI_TEXT(descriptor->name), MI_UINT(align), MI_UINT(MICA_ALIGN_MAX));
    }
    if (size % align != 0) {
        return mi_refuse(refusal, MICA_BAD_TYPE, "\"{}\" has {} bytes, which is no multiple of its alignment {}",
                         MI_TEXT(descriptor->name), MI_UINT(size), MI_UINT(align));
    }
    if (descriptor->kind == MICA_KIND_ENUM && size != 1 && size != 2 && size != 4 && size != 8) {
        return mi_refuse(refusal, MICA_BAD_TYPE, "\"{}\" is an enumeration and cannot have {} bytes",
                         MI_TEXT(descriptor->name), MI_UINT(size));
    }
    return true;
}

// A text that says something else than the compiler did is refused; one that cannot be read leaves the type
// unreflected. Structs with nested types wait until their fields are asked for, whether the schema knows those types
// already or not, so that the order of registration does not show.
static bool check_text(mi_heap *heap, const mica_type *descriptor, mi_refusal *refusal) {
    mi_declaration declaration = {0};
    mi_text_fault fault;
    const mi_parsed parsed = mi_declaration_parse(heap, descriptor->kind, descriptor->fields, &declaration, &fault);
    bool right = true;
    if (parsed == MI_PARSED_NO_MEMORY) {
        right = mi_refuse_memory(refusal, sizeof(mi_declared_field));
    } else if (parsed == MI_PARSED && descriptor->kind == MICA_KIND_ENUM) {
        const mi_declared_enumerator *misfit = mi_declaration_misfit(&declaration, descriptor->size);
        if (misfit != NULL) {
            mi_text_excerpt(descriptor->fields, misfit->name_offset, refusal->excerpts[0]);
            right = mi_refuse(refusal, MICA_BAD_TYPE, "\"{}\" has {} bytes, too few for the value {} of \"{}\"",
                              MI_TEXT(descriptor->name), MI_UINT(descriptor->size), MI_INT(misfit->value),
                              MI_TEXT(refusal->excerpts[0]));
        }
    } else if (parsed == MI_PARSED && !declaration.has_nested) {
        const mi_layout layout = mi_declaration_lay_out(&declaration, descriptor->align);
        mi_text_excerpt(descriptor->fields, 0, refusal->excerpts[0]);
        if (layout.size != descriptor->size) {
            right = mi_refuse(refusal, MICA_BAD_TYPE, "\"{}\" has {} bytes, but its fields make {}: {}",
                              MI_TEXT(descriptor->name), MI_UINT(descriptor->size), MI_UINT(layout.size),
                              MI_TEXT(refusal->excerpts[0]));
        } else if (layout.align > descriptor->align) {
            right = mi_refuse(refusal, MICA_BAD_TYPE, "\"{}\" is aligned to {} bytes, but its fields need {}: {}",
                              MI_TEXT(descriptor->name), MI_UINT(descriptor->align), MI_UINT(layout.align),
                              MI_TEXT(refusal->excerpts[0]));
        }
    }
    if (right) {
        right = mi_index_traits_check(descriptor, parsed == MI_PARSED ? &declaration : NULL, &fault, refusal);
    }
    mi_declaration_free(&declaration, heap);
    return right;
}

// For a type without a text.
static bool check_no_indexes(const mica_type *descriptor, mi_refusal *refusal) {
    const mi_text_fault no_fault = {.reason = NULL};
    return mi_index_traits_check(descriptor, NULL, &no_fault, refusal);
}

static bool has_text(const mica_type *descriptor) {
    return descriptor->kind != MICA_KIND_TAG && descriptor->fields != NULL;
}

static bool check_descriptor(mi_heap *heap, const mica_type *descriptor, mi_refusal *refusal) {
    switch (descriptor->kind) {
    case MICA_KIND_TAG:
        return check_tag(descriptor, refusal) && mi_traits_check(descriptor, refusal) &&
               check_no_indexes(descriptor, refusal);
    case MICA_KIND_STRUCT:
    case MICA_KIND_ENUM:
        return check_data(descriptor, refusal) && mi_traits_check(descriptor, refusal) &&
               (has_text(descriptor) ? check_text(heap, descriptor, refusal) : check_no_indexes(descriptor, refusal));
    }
    return mi_refuse(refusal, MICA_BAD_TYPE, "\"{}\" is of no known kind ({})", MI_TEXT(descriptor->name),
                     MI_INT(descriptor->kind));
}

// Descriptors of a name that is known

static const char *kind_name(mica_type_kind kind) {
    switch (kind) {
    case MICA_KIND_TAG:
        return "a tag";
    case MICA_KIND_STRUCT:
        return "a struct";
    case MICA_KIND_ENUM:
        return "an enumeration";
    }
    return "nothing known";
}

static bool agrees_in_text(mi_heap *heap, const mi_type *type, const mica_type *descriptor, mi_refusal *refusal) {
    uint32_t known_offset;
    uint32_t declared_offset;
    if (type->fields == NULL || !has_text(descriptor) ||
        mi_texts_equal(type->fields, descriptor->fields, &known_offset, &declared_offset)) {
        return true;
    }
    switch (mi_declarations_agree(heap, descriptor->kind, type->fields, descriptor->fields)) {
    case MI_AGREE:
        return true;
    case MI_AGREE_NO_MEMORY:
        return mi_refuse_memory(refusal, sizeof(mi_declared_field));
    case MI_DISAGREE:
        break;
    }
    mi_text_excerpt_at_difference(type->fields, known_offset, refusal->excerpts[0]);
    mi_text_excerpt_at_difference(descriptor->fields, declared_offset, refusal->excerpts[1]);
    return mi_refuse(refusal, MICA_MISMATCH, "\"{}\" is known with the fields \"{}\" and declared with \"{}\"",
                     MI_TEXT(descriptor->name), MI_TEXT(refusal->excerpts[0]), MI_TEXT(refusal->excerpts[1]));
}

static uint32_t count_required(const mica_type *descriptor) {
    uint32_t count = 0;
    while (count < MICA_REQUIRED_MAX && descriptor->traits.required[count] != NULL) {
        count++;
    }
    return count;
}

// Whether the descriptor names the required type, or the other way round: the two lists are sets of names.
static bool agrees_in_required(const type_batch *batch, const mi_type *type, const mica_type *descriptor) {
    const uint32_t count = count_required(descriptor);
    bool found_in_known[MICA_REQUIRED_MAX] = {false};
    for (uint32_t i = 0; i < count; i++) {
        const char *name = descriptor->traits.required[i]->name;
        bool found = name != NULL && strcmp(name, descriptor->name) == 0;
        for (uint32_t k = 0; k < type->required_count && name != NULL; k++) {
            if (strcmp(batch_type(batch, type->required[k])->name, name) == 0) {
                found_in_known[k] = true;
                found = true;
            }
        }
        if (!found) {
            return false;
        }
    }
    for (uint32_t k = 0; k < type->required_count; k++) {
        if (!found_in_known[k]) {
            return false;
        }
    }
    return true;
}

static bool refuse_traits(const type_batch *batch, const mica_type *descriptor, const char *trait) {
    return mi_refuse(batch->refusal, MICA_MISMATCH, "\"{}\" is known and declared with different traits: {}",
                     MI_TEXT(descriptor->name), MI_TEXT(trait));
}

// Hooks of two libraries lie at different addresses; that they are there must agree, or values that one library makes
// would be forgotten by the other.
static bool agrees_in_traits(const type_batch *batch, const mi_type *type, const mica_type *descriptor) {
    const mica_hooks *hooks = &descriptor->traits.hooks;
    const char *other = mi_traits_difference(&type->info, &descriptor->traits);
    if (other != NULL) {
        return refuse_traits(batch, descriptor, other);
    }
    if (type->has_construct != (hooks->construct != NULL)) {
        other = "hooks.construct";
    } else if (type->has_destruct != (hooks->destruct != NULL)) {
        other = "hooks.destruct";
    } else if (type->has_move != (hooks->move != NULL)) {
        other = "hooks.move";
    } else if (type->has_copy != (hooks->copy != NULL)) {
        other = "hooks.copy";
    } else if ((type->info.hooks.write != NULL) != (hooks->write != NULL)) {
        other = "hooks.write";
    } else if ((type->info.hooks.read != NULL) != (hooks->read != NULL)) {
        other = "hooks.read";
    } else if (!agrees_in_required(batch, type, descriptor)) {
        other = "required";
    }
    return other == NULL || refuse_traits(batch, descriptor, other);
}

static bool agrees(const type_batch *batch, const mi_type *type, const mica_type *descriptor) {
    // A tag may be said to be aligned to 1 byte as well.
    const bool is_plain_tag = descriptor->kind == MICA_KIND_TAG && descriptor->align == 1;
    const uint32_t align = is_plain_tag ? 0 : descriptor->align;
    if (type->info.kind != descriptor->kind) {
        return mi_refuse(batch->refusal, MICA_MISMATCH, "\"{}\" is known as {} and declared as {}",
                         MI_TEXT(descriptor->name), MI_TEXT(kind_name(type->info.kind)),
                         MI_TEXT(kind_name(descriptor->kind)));
    }
    if (type->info.size != descriptor->size) {
        return mi_refuse(batch->refusal, MICA_MISMATCH, "\"{}\" is known with {} bytes and declared with {}",
                         MI_TEXT(descriptor->name), MI_UINT(type->info.size), MI_UINT(descriptor->size));
    }
    if (type->info.align != align) {
        return mi_refuse(batch->refusal, MICA_MISMATCH, "\"{}\" is known aligned to {} bytes and declared to {}",
                         MI_TEXT(descriptor->name), MI_UINT(type->info.align), MI_UINT(align));
    }
    return agrees_in_text(&batch->schema->heap, type, descriptor, batch->refusal) &&
           agrees_in_traits(batch, type, descriptor);
}

// A type that was declared without fields gets those of a descriptor that has them.
static bool adopt_text(const type_batch *batch, mi_type *type, const mica_type *descriptor) {
    if (type->fields != NULL || !has_text(descriptor)) {
        return true;
    }
    mi_heap *heap = &batch->schema->heap;
    if (!check_text(heap, descriptor, batch->refusal)) {
        return false;
    }
    type->fields = mi_heap_copy_text(heap, MICA_MEMORY_SCHEMA, descriptor->fields);
    if (type->fields == NULL) {
        return mi_refuse_memory(batch->refusal, strlen(descriptor->fields) + 1);
    }
    mi_store_count(&batch->schema->revision, batch->schema->revision + 1);
    return true;
}

// Drafts

static void free_type(mi_heap *heap, mi_type *type) {
    mi_reflection_free(type->reflection, heap);
    mi_heap_release_text(heap, MICA_MEMORY_SCHEMA, type->fields);
    mi_heap_release_text(heap, MICA_MEMORY_SCHEMA, type->name);
    MI_FREE(heap, MICA_MEMORY_SCHEMA, &type->closure);
    MI_FREE(heap, MICA_MEMORY_SCHEMA, &type->lanes);
    for (int32_t i = 0; i < type->info.index_count; i++) {
        mi_heap_release_text(heap, MICA_MEMORY_SCHEMA, type->indexes[i].field);
    }
    mi_heap_release(heap, MICA_MEMORY_SCHEMA, type, sizeof(*type), _Alignof(mi_type));
}

static bool copy_indexes(mi_heap *heap, mi_type *type, const mica_traits *traits) {
    const uint32_t count = mi_index_traits_count(traits);
    type->info.indexes = type->indexes;
    for (uint32_t i = 0; i < count; i++) {
        const char *field = mi_heap_copy_text(heap, MICA_MEMORY_SCHEMA, traits->indexes[i].field);
        if (field == NULL) {
            return false;
        }
        type->indexes[i] = (mica_index_trait){field, traits->indexes[i].kind};
        type->info.index_count++;
    }
    return true;
}

static mi_type *make_type(mi_heap *heap, const mica_type *descriptor) {
    mi_type *type = mi_heap_allocate_zeroed(heap, MICA_MEMORY_SCHEMA, sizeof(*type), _Alignof(mi_type));
    if (type == NULL) {
        return NULL;
    }
    type->name = mi_heap_copy_text(heap, MICA_MEMORY_SCHEMA, descriptor->name);
    if (has_text(descriptor)) {
        type->fields = mi_heap_copy_text(heap, MICA_MEMORY_SCHEMA, descriptor->fields);
    }
    if (type->name == NULL || (has_text(descriptor) && type->fields == NULL)) {
        free_type(heap, type);
        return NULL;
    }
    const mica_traits *traits = &descriptor->traits;
    const mica_hooks *hooks = &traits->hooks;
    type->name_key = name_key(type->name);
    type->has_construct = hooks->construct != NULL;
    type->has_destruct = hooks->destruct != NULL;
    type->has_move = hooks->move != NULL;
    type->has_copy = hooks->copy != NULL;
    type->movable_only = type->has_destruct && !type->has_copy;
    type->in_pool = traits->storage == MICA_POOL;
    type->copies_rows = !type->has_move && !traits->always_dirty && traits->layout != MICA_LANES &&
                        descriptor->size <= MI_COPIED_SIZE_MAX;
    type->info = (mica_component_info){.kind = descriptor->kind,
                                       .size = descriptor->size,
                                       .align = descriptor->kind == MICA_KIND_TAG ? 0 : descriptor->align,
                                       .transient = traits->transient,
                                       .stable = traits->stable,
                                       .always_dirty = traits->always_dirty,
                                       .toggle = traits->toggle,
                                       .track_rows = traits->track_rows,
                                       .storage = traits->storage,
                                       .layout = traits->layout,
                                       .page_size = traits->page_size,
                                       .name = type->name,
                                       .hooks = *hooks};
    if (!copy_indexes(heap, type, traits)) {
        free_type(heap, type);
        return NULL;
    }
    return type;
}

static bool reserve_page(mica_schema *schema, mica_component id) {
    void **place = &schema->pages[id / MI_TYPE_PAGE_SIZE];
    if (*place == NULL) {
        void *page = mi_heap_allocate_zeroed(&schema->heap, MICA_MEMORY_SCHEMA, MI_TYPE_PAGE_SIZE * sizeof(void *),
                                             _Alignof(void *));
        if (page == NULL) {
            return false;
        }
        mi_store_pointer(place, page);
    }
    return true;
}

static const mi_type *search_type(const void *context, const char *name, size_t length) {
    const type_batch *batch = context;
    const mica_component id = find_name(batch, name, length);
    return id != 0 ? batch_type(batch, id) : NULL;
}

// Adds a draft of a type that is new; 0: refused.
static mica_component add_draft(type_batch *batch, const mica_type *declared, mica_type *descriptor) {
    mica_schema *schema = batch->schema;
    const uint32_t before = schema->count + batch->drafts.count;
    if (!check_descriptor(&schema->heap, declared, batch->refusal)) {
        return 0;
    }
    if (before == MICA_COMPONENT_MAX) {
        mi_refuse(batch->refusal, MICA_LIMIT, "\"{}\" would be type {}; a schema holds at most {}",
                  MI_TEXT(declared->name), MI_UINT(before + 1), MI_UINT(MICA_COMPONENT_MAX));
        return 0;
    }
    const mica_component id = (mica_component)(before + 1);
    mi_type *type = NULL;
    if (!MI_RESERVE(&schema->heap, MICA_MEMORY_SCHEMA, &batch->drafts, batch->drafts.count + 1) ||
        !mi_map_reserve(&schema->names, &schema->heap, MICA_MEMORY_SCHEMA, 1) || !reserve_page(schema, id) ||
        (type = make_type(&schema->heap, declared)) == NULL) {
        mi_refuse_memory(batch->refusal, sizeof(*type));
        return 0;
    }
    if (declared->traits.layout == MICA_LANES &&
        !mi_lanes_declare(&schema->heap, declared, search_type, batch, type, batch->refusal)) {
        free_type(&schema->heap, type);
        return 0;
    }
    type->info.id = id;
    type->name_hash = mi_hash_bytes(type->name, strlen(type->name));
    mi_map_insert(&schema->names, type->name_hash, id);
    batch->drafts.data[batch->drafts.count++] = (draft){type, *declared, descriptor};
    return id;
}

// The id that a descriptor's type has or will have; 0: refused. One that is known is not compared yet.
static mica_component draft_type(type_batch *batch, mica_type *descriptor) {
    mica_type declared;
    if (!declare(descriptor, &declared, batch->refusal)) {
        return 0;
    }
    const mica_component known = find_name(batch, declared.name, strlen(declared.name));
    return known != 0 ? known : add_draft(batch, &declared, descriptor);
}

// Drafts a new type and everything that comes along with it, breadth first: the list of drafts is its own queue.
static bool draft_all(type_batch *batch, mica_type *descriptor) {
    if (draft_type(batch, descriptor) == 0) {
        return false;
    }
    for (uint32_t i = 0; i < batch->drafts.count; i++) {
        const draft current = batch->drafts.data[i];
        const uint32_t count = count_required(&current.declared);
        for (uint32_t k = 0; k < count; k++) {
            mica_type *required = current.declared.traits.required[k];
            if (required->traits.hooks.attach != NULL) {
                return mi_refuse(batch->refusal, MICA_BAD_TYPE,
                                 "\"{}\" requires \"{}\", which is a relation: nothing says whom to link to",
                                 MI_TEXT(current.declared.name), MI_TEXT(required->name));
            }
            const mica_component id = draft_type(batch, required);
            if (id == 0) {
                return false;
            }
            if (id != current.type->info.id) {
                current.type->required[current.type->required_count++] = id;
            }
        }
    }
    return true;
}

// Compares the descriptors of required types with what is known or drafted under their names; what drafts require is
// complete by now.
static bool compare_required(const type_batch *batch) {
    for (uint32_t i = 0; i < batch->drafts.count; i++) {
        const draft current = batch->drafts.data[i];
        const uint32_t count = count_required(&current.declared);
        for (uint32_t k = 0; k < count; k++) {
            mica_type required;
            if (!declare(current.declared.traits.required[k], &required, batch->refusal)) {
                return false;
            }
            mi_type *type = batch_type(batch, find_name(batch, required.name, strlen(required.name)));
            const bool is_draft = type->info.id > batch->schema->count;
            if (!agrees(batch, type, &required) || (is_draft && !adopt_text(batch, type, &required))) {
                return false;
            }
        }
    }
    return true;
}

// Appends to the closure of `type` what it has not got yet of the types that `from` requires.
static bool close_over(const type_batch *batch, mi_type *type, const mi_type *from) {
    if (!MI_RESERVE(&batch->schema->heap, MICA_MEMORY_SCHEMA, &type->closure,
                    type->closure.count + from->required_count)) {
        return false;
    }
    for (uint32_t i = 0; i < from->required_count; i++) {
        const mica_component id = from->required[i];
        if (!mi_bit_get(batch->seen, batch->seen_word_count, id)) {
            mi_bit_set(batch->seen, id);
            type->closure.data[type->closure.count++] = id;
        }
    }
    return true;
}

// Finds everything that comes along with a draft, breadth first: the closure is its own queue.
static bool close_draft(const type_batch *batch, mi_type *type) {
    mi_bit_set(batch->seen, type->info.id);
    bool closed = close_over(batch, type, type);
    for (uint32_t i = 0; closed && i < type->closure.count; i++) {
        closed = close_over(batch, type, batch_type(batch, type->closure.data[i]));
    }
    mi_bit_clear(batch->seen, type->info.id);
    for (uint32_t i = 0; i < type->closure.count; i++) {
        const bool in_pool = batch_type(batch, type->closure.data[i])->in_pool;
        type->brings_pool = type->brings_pool || in_pool;
        type->brings_table = type->brings_table || !in_pool;
        mi_bit_clear(batch->seen, type->closure.data[i]);
    }
    type->info.required = type->closure.data;
    type->info.required_count = (int32_t)type->closure.count;
    return closed;
}

static bool close_all(type_batch *batch) {
    mi_heap *heap = &batch->schema->heap;
    batch->seen_word_count = mi_bit_words(batch->schema->count + batch->drafts.count + 1);
    const size_t byte_size = batch->seen_word_count * sizeof(uint64_t);
    batch->seen = mi_heap_allocate_zeroed(heap, MICA_MEMORY_SCHEMA, byte_size, _Alignof(uint64_t));
    bool closed = batch->seen != NULL;
    for (uint32_t i = 0; closed && i < batch->drafts.count; i++) {
        closed = close_draft(batch, batch->drafts.data[i].type);
    }
    mi_heap_release(heap, MICA_MEMORY_SCHEMA, batch->seen, byte_size, _Alignof(uint64_t));
    return closed || mi_refuse_memory(batch->refusal, byte_size);
}

// So that inline functions know type and storage without asking.
static void cache_id(const mica_schema *schema, const mi_type *type, mica_type *descriptor) {
    const uint64_t storage_bit = type->in_pool ? MICA_HEAD_POOL_BIT : mi_type_in_lanes(type) ? MICA_HEAD_LANES_BIT : 0;
    mi_store_cache(&descriptor->cache, (uint64_t)schema->serial << 32 | storage_bit | type->info.id);
}

static void publish_all(const type_batch *batch) {
    mica_schema *schema = batch->schema;
    for (uint32_t i = 0; i < batch->drafts.count; i++) {
        mi_type *type = batch->drafts.data[i].type;
        void **page = schema->pages[type->info.id / MI_TYPE_PAGE_SIZE];
        mi_store_pointer(&page[type->info.id % MI_TYPE_PAGE_SIZE], type);
    }
    mi_store_count(&schema->revision, schema->revision + 1);
    mi_store_count(&schema->count, schema->count + batch->drafts.count);
    for (uint32_t i = 0; i < batch->drafts.count; i++) {
        cache_id(schema, batch->drafts.data[i].type, batch->drafts.data[i].descriptor);
    }
}

static void drop_all(const type_batch *batch) {
    mica_schema *schema = batch->schema;
    for (uint32_t i = 0; i < batch->drafts.count; i++) {
        mi_type *type = batch->drafts.data[i].type;
        mi_map_remove(&schema->names, type->name_hash, type->info.id);
        free_type(&schema->heap, type);
    }
}

static mica_component register_new(mica_schema *schema, mica_type *descriptor, mi_refusal *refusal) {
    const uint32_t first_id = schema->count + 1;
    type_batch batch = {.schema = schema, .refusal = refusal};
    const bool drafted = draft_all(&batch, descriptor) && compare_required(&batch) && close_all(&batch);
    if (drafted) {
        publish_all(&batch);
    } else {
        drop_all(&batch);
    }
    MI_FREE(&schema->heap, MICA_MEMORY_SCHEMA, &batch.drafts);
    return drafted ? (mica_component)first_id : 0;
}

static mica_component register_locked(mica_schema *schema, mica_type *descriptor, mi_refusal *refusal) {
    mica_type declared;
    if (!declare(descriptor, &declared, refusal)) {
        return 0;
    }
    const type_batch batch = {.schema = schema, .refusal = refusal};
    const mica_component id = find_name(&batch, declared.name, strlen(declared.name));
    if (id == 0) {
        return register_new(schema, descriptor, refusal);
    }
    mi_type *type = mi_schema_type_at(schema, id);
    if (!agrees(&batch, type, &declared) || !adopt_text(&batch, type, &declared)) {
        return 0;
    }
    cache_id(schema, type, descriptor);
    return id;
}

mica_component mica_schema_register(mica_schema *schema, mica_type *type) {
    if (schema == NULL || type == NULL) {
        mi_fail(schema != NULL ? &schema->log : NULL, MICA_INVALID, "mica_schema_register", "no {} is given",
                MI_TEXT(schema == NULL ? "schema" : "type"));
        return 0;
    }
    const uint64_t cache = mi_load_cache(&type->cache);
    if (cache >> 32 == schema->serial) {
        return (mica_component)cache;
    }
    mi_refusal refusal = {0};
    mi_lock_take(&schema->lock);
    const mica_component id = register_locked(schema, type, &refusal);
    mi_lock_give(&schema->lock);
    if (id == 0) {
        mi_refusal_raise(&refusal, &schema->log, "mica_schema_register");
    }
    return id;
}

mica_component mica_schema_register_named(mica_schema *schema, const mica_type *type, const char *name,
                                          const mica_traits *traits) {
    if (schema == NULL || type == NULL || name == NULL) {
        mi_fail(schema != NULL ? &schema->log : NULL, MICA_INVALID, "mica_schema_register_named", "no {} is given",
                MI_TEXT(schema == NULL ? "schema"
                        : type == NULL ? "type"
                                       : "name"));
        return 0;
    }
    mica_type named = {.name = name, .same_as = type, .same_traits = traits == NULL};
    if (traits != NULL) {
        named.traits = *traits;
    }
    mi_refusal refusal = {0};
    mi_lock_take(&schema->lock);
    const mica_component id = register_locked(schema, &named, &refusal);
    mi_lock_give(&schema->lock);
    if (id == 0) {
        mi_refusal_raise(&refusal, &schema->log, "mica_schema_register_named");
    }
    return id;
}

// Schemas

// Serials of schemas are the one count that a process has: descriptors, which schemas share, tell them apart by it.
static uint32_t next_serial(void) {
    static uint32_t last;
    return mi_next_serial(&last);
}

mica_schema *mica_schema_create(const mica_schema_def *def) {
    const mica_log_handler *log = def != NULL ? &def->log : NULL;
    mi_heap heap;
    if (!mi_heap_init(&heap, def != NULL ? &def->allocator : NULL)) {
        mi_fail_plain(log, MICA_INVALID, "mica_schema_create", "the allocator has only one of its two functions");
        return NULL;
    }
    if (def != NULL && def->fixed_byte_size > 0 && !mi_heap_fix(&heap, NULL, def->fixed_byte_size)) {
        mi_fail_memory(log, "mica_schema_create", def->fixed_byte_size);
        return NULL;
    }
    mica_schema *schema = mi_heap_allocate_zeroed(&heap, MICA_MEMORY_SCHEMA, sizeof(*schema), _Alignof(mica_schema));
    if (schema == NULL) {
        mi_fail_memory(log, "mica_schema_create", sizeof(*schema));
        mi_heap_unfix(&heap);
        return NULL;
    }
    const uint32_t serial = next_serial();
    if (serial == 0 || !mi_lock_init(&schema->lock)) {
        mi_heap_release(&heap, MICA_MEMORY_SCHEMA, schema, sizeof(*schema), _Alignof(mica_schema));
        mi_heap_unfix(&heap);
        mi_fail(log, MICA_LIMIT, "mica_schema_create", "the process has no {} left",
                MI_TEXT(serial == 0 ? "serial numbers for schemas" : "locks"));
        return NULL;
    }
    schema->reference_count = 1;
    schema->serial = serial;
    schema->revision = 1;
    schema->heap = heap;
    if (log != NULL) {
        schema->log = *log;
    }
    return schema;
}

mica_schema *mica_schema_retain(mica_schema *schema) {
    if (schema == NULL) {
        mi_fail_plain(NULL, MICA_INVALID, "mica_schema_retain", "no schema is given");
        return NULL;
    }
    mi_reference_take(&schema->reference_count);
    return schema;
}

void mica_schema_release(mica_schema *schema) {
    if (schema == NULL || !mi_reference_give(&schema->reference_count)) {
        return;
    }
    for (uint32_t id = 1; id <= schema->count; id++) {
        free_type(&schema->heap, mi_schema_type_at(schema, (mica_component)id));
    }
    // Ids ascend, and so pages come one after the other.
    for (size_t i = 0; i < sizeof(schema->pages) / sizeof(schema->pages[0]) && schema->pages[i] != NULL; i++) {
        mi_heap_release(&schema->heap, MICA_MEMORY_SCHEMA, schema->pages[i], MI_TYPE_PAGE_SIZE * sizeof(void *),
                        _Alignof(void *));
    }
    mi_map_free(&schema->names, &schema->heap, MICA_MEMORY_SCHEMA);
    mi_lock_destroy(&schema->lock);
    mi_heap heap = schema->heap;
    mi_heap_release(&heap, MICA_MEMORY_SCHEMA, schema, sizeof(*schema), _Alignof(mica_schema));
    mi_heap_unfix(&heap);
}

mica_memory_usage mi_schema_memory(const mica_schema *schema) {
    mi_lock *lock = mi_schema_lock(schema);
    mi_lock_take(lock);
    const mica_memory_usage usage = mi_heap_usage(&schema->heap);
    mi_lock_give(lock);
    return usage;
}

// Looking up

const mi_type *mi_schema_type_locked(const mica_schema *schema, mica_component id) {
    mi_lock *lock = mi_schema_lock(schema);
    mi_lock_take(lock);
    const mi_type *type = mi_schema_type_at(schema, id);
    mi_lock_give(lock);
    return type;
}

mica_component mica_schema_find(const mica_schema *schema, const char *name) {
    if (schema == NULL || name == NULL) {
        mi_fail(schema != NULL ? &schema->log : NULL, MICA_INVALID, "mica_schema_find", "no {} is given",
                MI_TEXT(schema == NULL ? "schema" : "name"));
        return 0;
    }
    mi_lock *lock = mi_schema_lock(schema);
    mi_lock_take(lock);
    const mica_component id = mi_schema_find_locked(schema, name, strlen(name));
    mi_lock_give(lock);
    return id;
}

int32_t mica_schema_count(const mica_schema *schema) {
    if (schema == NULL) {
        mi_fail_plain(NULL, MICA_INVALID, "mica_schema_count", "no schema is given");
        return 0;
    }
    return (int32_t)mi_load_count(&schema->count);
}

const mica_component_info *mica_schema_info(const mica_schema *schema, mica_component id) {
    if (schema == NULL) {
        mi_fail_plain(NULL, MICA_INVALID, "mica_schema_info", "no schema is given");
        return NULL;
    }
    const mi_type *type = mi_schema_type(schema, id);
    if (type == NULL) {
        mi_fail(&schema->log, MICA_UNKNOWN, "mica_schema_info", "the schema has no type {}; its last is {}",
                MI_UINT(id), MI_UINT(mi_load_count(&schema->count)));
        return NULL;
    }
    return &type->info;
}

void mi_schema_mark_relation(mica_schema *schema, mica_component id) {
    mi_lock_take(&schema->lock);
    mi_type *type = mi_schema_type_at(schema, id);
    if (type != NULL && !type->is_relation) {
        type->is_relation = true;
    }
    mi_lock_give(&schema->lock);
}

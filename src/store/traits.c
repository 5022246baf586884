// What the traits of a type come to.
//
// A type is resolved before it is checked, and checked in its resolved form alone: so two descriptors of one name that
// say the same in different words (a default, and what it stands for) are the same, and what is refused is refused
// whichever way it is said. Resolving puts nothing in that contradicts what stands there.
#include "store/traits.h"

#include <string.h>

#include "base/map.h"

static mica_storage default_storage(const mica_type *type) {
    switch (MI_DEFAULT_STORAGE) {
    case MI_DEFAULT_POOL:
        return MICA_POOL;
    case MI_DEFAULT_MIXED:
        return (mi_hash_mix(mi_hash_bytes(type->name, strlen(type->name))) & 1) != 0 ? MICA_POOL : MICA_TABLE;
    default:
        return MICA_TABLE;
    }
}

void mi_traits_resolve(mica_type *type) {
    mica_traits *traits = &type->traits;
    if (traits->storage == MICA_STORAGE_DEFAULT) {
        // Rows of relations are the library's to arrange, and lanes are of tables.
        const bool needs_table = traits->hooks.attach != NULL || traits->layout == MICA_LANES;
        traits->storage = needs_table ? MICA_TABLE : default_storage(type);
    }
    if (traits->storage != MICA_POOL || type->kind == MICA_KIND_TAG) {
        return;
    }
    if (traits->layout == MICA_LAYOUT_DEFAULT) {
        const bool asks_for_pages = traits->stable || traits->page_size != 0;
        traits->layout = asks_for_pages || type->size > MICA_PACKED_SIZE_MAX ? MICA_PAGED : MICA_PACKED;
    }
    if (traits->layout == MICA_PAGED && traits->page_size == 0) {
        traits->page_size = MICA_PAGE_SIZE_DEFAULT;
    }
}

static bool refuse(const mica_type *type, mi_refusal *refusal, mica_result code, const char *pattern) {
    return mi_refuse(refusal, code, pattern, MI_TEXT(type->name));
}

static bool check_known(const mica_type *type, mi_refusal *refusal) {
    const mica_traits *traits = &type->traits;
    if (traits->storage != MICA_TABLE && traits->storage != MICA_POOL) {
        return mi_refuse(refusal, MICA_BAD_TYPE, "\"{}\" asks for a storage that is not known ({})",
                         MI_TEXT(type->name), MI_INT(traits->storage));
    }
    switch (traits->layout) {
    case MICA_LAYOUT_DEFAULT:
    case MICA_PACKED:
    case MICA_PAGED:
    case MICA_LANES:
        return true;
    }
    return mi_refuse(refusal, MICA_BAD_TYPE, "\"{}\" asks for a layout that is not known ({})", MI_TEXT(type->name),
                     MI_INT(traits->layout));
}

// Relations are values that link verbs alone write, in rows that they arrange.
static bool check_relation(const mica_type *type, mi_refusal *refusal) {
    const mica_traits *traits = &type->traits;
    const char *trait = traits->storage == MICA_POOL ? "storage MICA_POOL"
                        : traits->always_dirty       ? "always_dirty"
                        : traits->toggle             ? "toggle"
                                                     : NULL;
    return trait == NULL || mi_refuse(refusal, MICA_BAD_TYPE, "\"{}\" is a relation and cannot have the trait {}",
                                      MI_TEXT(type->name), MI_TEXT(trait));
}

static bool check_tag(const mica_type *type, mi_refusal *refusal) {
    const mica_traits *traits = &type->traits;
    const char *trait = traits->stable                          ? "stable"
                        : traits->layout != MICA_LAYOUT_DEFAULT ? "layout"
                        : traits->page_size != 0                ? "page_size"
                        : traits->always_dirty                  ? "always_dirty"
                        : traits->track_rows                    ? "track_rows"
                                                                : NULL;
    return trait == NULL || mi_refuse(refusal, MICA_BAD_TYPE, "\"{}\" is a tag and has no values for the trait {}",
                                      MI_TEXT(type->name), MI_TEXT(trait));
}

static bool check_lanes(const mica_type *type, mi_refusal *refusal) {
    if (type->traits.storage == MICA_POOL) {
        return refuse(type, refusal, MICA_BAD_TYPE, "\"{}\" lives in a pool: the layout MICA_LANES is for tables");
    }
    if (mi_hooks_given(&type->traits.hooks) || type->traits.hooks.attach != NULL) {
        return refuse(type, refusal, MICA_BAD_TYPE,
                      "\"{}\" has hooks, which work on whole values: the layout MICA_LANES splits them");
    }
    if (type->kind == MICA_KIND_ENUM) {
        return refuse(type, refusal, MICA_BAD_TYPE,
                      "\"{}\" is an enumeration: the layout MICA_LANES is for structs, an array a field");
    }
    if (type->traits.indexes[0].field != NULL) {
        return refuse(type, refusal, MICA_BAD_TYPE,
                      "\"{}\" asks for an index, which looks at whole values: the layout MICA_LANES splits them");
    }
    if (type->size > MICA_LANES_SIZE_MAX || type->align > MICA_LANES_ALIGN_MAX) {
        return mi_refuse(
            refusal, MICA_BAD_TYPE,
            "\"{}\" has {} bytes aligned to {}: in the layout MICA_LANES a value has at most {}, aligned to "
            "{}",
            MI_TEXT(type->name), MI_UINT(type->size), MI_UINT(type->align), MI_UINT(MICA_LANES_SIZE_MAX),
            MI_UINT(MICA_LANES_ALIGN_MAX));
    }
    return true;
}

static bool check_in_table(const mica_type *type, mi_refusal *refusal) {
    const mica_traits *traits = &type->traits;
    const char *trait = traits->stable                  ? "stable"
                        : traits->page_size != 0        ? "page_size"
                        : traits->layout == MICA_PACKED ? "layout MICA_PACKED"
                        : traits->layout == MICA_PAGED  ? "layout MICA_PAGED"
                                                        : NULL;
    if (trait != NULL) {
        return mi_refuse(refusal, MICA_BAD_TYPE, "\"{}\" lives in tables: the trait {} is for pools",
                         MI_TEXT(type->name), MI_TEXT(trait));
    }
    return true;
}

static bool check_in_pool(const mica_type *type, mi_refusal *refusal) {
    const mica_traits *traits = &type->traits;
    const uint32_t page_size = traits->page_size;
    if (traits->layout == MICA_PACKED && traits->stable) {
        return refuse(type, refusal, MICA_BAD_TYPE,
                      "\"{}\" is stable and packed: packed values move when their array grows");
    }
    if (traits->layout == MICA_PACKED && page_size != 0) {
        return mi_refuse(refusal, MICA_BAD_TYPE, "\"{}\" is packed and has no pages for the trait page_size ({})",
                         MI_TEXT(type->name), MI_UINT(page_size));
    }
    if ((page_size & (page_size - 1)) != 0) {
        return mi_refuse(refusal, MICA_BAD_TYPE, "\"{}\" has pages of {} values, which is no power of two",
                         MI_TEXT(type->name), MI_UINT(page_size));
    }
    if (page_size > MICA_PAGE_SIZE_MAX) {
        return mi_refuse(refusal, MICA_BAD_TYPE, "\"{}\" has pages of {} values; a page has at most {}",
                         MI_TEXT(type->name), MI_UINT(page_size), MI_UINT(MICA_PAGE_SIZE_MAX));
    }
    const uint64_t byte_size = (uint64_t)page_size * type->size;
    if (byte_size > MICA_PAGE_BYTE_SIZE_MAX) {
        return mi_refuse(refusal, MICA_BAD_TYPE, "\"{}\" has pages of {} values of {} bytes; a page has at most {}",
                         MI_TEXT(type->name), MI_UINT(page_size), MI_UINT(type->size),
                         MI_UINT(MICA_PAGE_BYTE_SIZE_MAX));
    }
    return true;
}

// What is read is what was written.
static bool check_hooks(const mica_type *type, mi_refusal *refusal) {
    const mica_hooks *hooks = &type->traits.hooks;
    return hooks->read == NULL || hooks->write != NULL ||
           refuse(type, refusal, MICA_BAD_TYPE, "\"{}\" has the hook read, and no hook write that tells what it reads");
}

bool mi_traits_check(const mica_type *type, mi_refusal *refusal) {
    if (!check_hooks(type, refusal)) {
        return false;
    }
    if (!check_known(type, refusal) || (type->traits.hooks.attach != NULL && !check_relation(type, refusal)) ||
        (type->kind == MICA_KIND_TAG && !check_tag(type, refusal)) ||
        (type->traits.layout == MICA_LANES && !check_lanes(type, refusal))) {
        return false;
    }
    return type->traits.storage == MICA_POOL ? check_in_pool(type, refusal) : check_in_table(type, refusal);
}

static bool has_same_indexes(const mica_component_info *known, const mica_traits *declared) {
    for (int32_t i = 0; i < known->index_count; i++) {
        const mica_index_trait *index = &declared->indexes[i];
        if (index->field == NULL || strcmp(index->field, known->indexes[i].field) != 0 ||
            index->kind != known->indexes[i].kind) {
            return false;
        }
    }
    return known->index_count == MICA_TYPE_INDEX_MAX || declared->indexes[known->index_count].field == NULL;
}

const char *mi_traits_difference(const mica_component_info *known, const mica_traits *declared) {
    return known->transient != declared->transient         ? "transient"
           : known->storage != declared->storage           ? "storage"
           : known->stable != declared->stable             ? "stable"
           : known->layout != declared->layout             ? "layout"
           : known->page_size != declared->page_size       ? "page_size"
           : known->always_dirty != declared->always_dirty ? "always_dirty"
           : known->toggle != declared->toggle             ? "toggle"
           : known->track_rows != declared->track_rows     ? "track_rows"
           : !has_same_indexes(known, declared)            ? "indexes"
                                                           : NULL;
}

// Catalogs: definitions of systems that belong to no world.
//
// A definition is checked here only for what is wrong in every world; the rest shows when it is added to one.
// Invariants: the names of the definitions differ; every text that a definition points to is a copy of its own; entries
// never move, so that what was found stays good.
#include <mica/catalog.h>

#include "base/array.h"
#include "base/error.h"
#include "run/definition.h"

#include <string.h>

struct mica_catalog {
    mi_heap heap;
    MI_ARRAY(mica_system_def *) defs; // in order of entering
};

static const mica_memory_purpose purpose = MICA_MEMORY_SYSTEMS;

mica_catalog *mica_catalog_create(const mica_allocator *allocator) {
    mi_heap heap;
    if (!mi_heap_init(&heap, allocator)) {
        mi_fail_plain(NULL, MICA_INVALID, __func__, "the allocator lacks one of its functions");
        return NULL;
    }
    mica_catalog *catalog = mi_heap_allocate_zeroed(&heap, purpose, sizeof(*catalog), _Alignof(mica_catalog));
    if (catalog == NULL) {
        mi_fail_memory(NULL, __func__, sizeof(*catalog));
        return NULL;
    }
    catalog->heap = heap;
    return catalog;
}

void mica_catalog_destroy(mica_catalog *catalog) {
    if (catalog == NULL) {
        return;
    }
    for (uint32_t i = 0; i < catalog->defs.count; i++) {
        mi_definition_free(&catalog->heap, catalog->defs.data[i]);
    }
    MI_FREE(&catalog->heap, purpose, &catalog->defs);
    mi_heap heap = catalog->heap;
    mi_heap_release(&heap, purpose, catalog, sizeof(*catalog), _Alignof(mica_catalog));
}

int32_t mica_catalog_count(const mica_catalog *catalog) {
    return catalog == NULL ? 0 : (int32_t)catalog->defs.count;
}

const mica_system_def *mica_catalog_at(const mica_catalog *catalog, int32_t number) {
    if (number < 0 || number >= mica_catalog_count(catalog)) {
        mi_fail(NULL, MICA_UNKNOWN, __func__, "the catalog has no definition number {}: it has {} of them",
                MI_INT(number), MI_INT(mica_catalog_count(catalog)));
        return NULL;
    }
    return catalog->defs.data[number];
}

const mica_system_def *mica_catalog_find(const mica_catalog *catalog, const char *name) {
    const int32_t count = name == NULL ? 0 : mica_catalog_count(catalog);
    for (int32_t i = 0; i < count; i++) {
        if (strcmp(catalog->defs.data[i]->name, name) == 0) {
            return catalog->defs.data[i];
        }
    }
    return NULL;
}

// Entering

static bool names_component_by_id(const mica_term *terms) {
    for (int32_t i = 0; i < MICA_TERM_MAX && terms[i].use != MICA_USE_NONE; i++) {
        if (terms[i].component != 0) {
            return true;
        }
    }
    return false;
}

static mica_result check_def(const mica_catalog *catalog, const mica_system_def *def, const char *call) {
    if (catalog == NULL || def == NULL || def->name == NULL || def->name[0] == 0) {
        return mi_fail(NULL, MICA_INVALID, call, "needs {}",
                       MI_TEXT(catalog == NULL ? "a catalog" : "a definition with a name"));
    }
    if (def->run == NULL) {
        return mi_fail(NULL, MICA_INVALID, call, "system \"{}\" has no function to run", MI_TEXT(def->name));
    }
    if (def->also_count < 0 || def->also_count > MICA_SYSTEM_STAGE_MAX || def->query_count < 0 ||
        def->query_count > MICA_SYSTEM_QUERY_MAX) {
        return mi_fail(NULL, MICA_INVALID, call, "system \"{}\" has {} further stages and {} further queries",
                       MI_TEXT(def->name), MI_INT(def->also_count), MI_INT(def->query_count));
    }
    bool has_ids = names_component_by_id(def->query);
    for (int32_t i = 0; i < def->query_count; i++) {
        has_ids |= names_component_by_id(def->queries[i].terms);
    }
    for (int32_t i = 0; i < MICA_SYSTEM_ACCESS_MAX; i++) {
        has_ids |= def->access[i].component != 0;
    }
    for (int32_t i = 0; i < MICA_SYSTEM_GATE_MAX; i++) {
        has_ids |= def->gates[i].component != 0;
    }
    if (has_ids) {
        return mi_fail(NULL, MICA_INVALID, call, "system \"{}\" names a component by its id in one schema",
                       MI_TEXT(def->name));
    }
    return mica_catalog_find(catalog, def->name) == NULL
               ? MICA_OK
               : mi_fail(NULL, MICA_EXISTS, call, "the catalog has a system \"{}\" already", MI_TEXT(def->name));
}

mica_result mica_catalog_enter(mica_catalog *catalog, const mica_system_def *def) {
    const mica_result result = check_def(catalog, def, __func__);
    if (result != MICA_OK) {
        return result;
    }
    mica_system_def *copy = MI_RESERVE(&catalog->heap, purpose, &catalog->defs, (size_t)catalog->defs.count + 1)
                                ? mi_definition_copy(&catalog->heap, def)
                                : NULL;
    if (copy == NULL) {
        return mi_fail(NULL, MICA_OUT_OF_MEMORY, __func__, "out of memory for system \"{}\"", MI_TEXT(def->name));
    }
    catalog->defs.data[catalog->defs.count++] = copy;
    return MICA_OK;
}

mica_system mica_system_add_named(mica_world *world, const mica_catalog *catalog, const char *name) {
    const mica_system_def *def = mica_catalog_find(catalog, name);
    if (def == NULL) {
        mi_fail(NULL, MICA_UNKNOWN, __func__, "the catalog has no system \"{}\"",
                MI_TEXT(name == NULL ? "(no name)" : name));
        return (mica_system){0};
    }
    return mica_system_add(world, def);
}

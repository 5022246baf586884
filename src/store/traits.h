// What the traits of a type come to: defaults put in, and what contradicts itself refused.
#pragma once

#include <mica/schema.h>

#include "store/refusal.h"

// Where types live that do not ask for a storage: in tables, unless a build for tests defines otherwise, so that its
// suite shows whether storage shows.
#define MI_DEFAULT_TABLE 0
#define MI_DEFAULT_POOL 1
#define MI_DEFAULT_MIXED 2 // about half of the types in pools, by their names
#if !defined(MI_DEFAULT_STORAGE)
#define MI_DEFAULT_STORAGE MI_DEFAULT_TABLE
#endif

static inline bool mi_hooks_given(const mica_hooks *hooks) {
    return hooks->construct != NULL || hooks->destruct != NULL || hooks->move != NULL || hooks->copy != NULL ||
           hooks->write != NULL || hooks->read != NULL;
}

// Puts what they stand for in place of the defaults of storage, layout and page size. What contradicts itself stays
// so. The type has a name.
void mi_traits_resolve(mica_type *type);

// Whether the traits of a type can be had together. `type` is resolved, and right in all but its traits.
bool mi_traits_check(const mica_type *type, mi_refusal *refusal);

// The name of the first trait in which two resolved types differ, or NULL. Those that a type has of others, hooks and
// required types, are not looked at.
const char *mi_traits_difference(const mica_component_info *known, const mica_traits *declared);

// Write groups: which components say that somebody else writes a component of their entities.
#pragma once

#include <mica/system.h>

#include "base/array.h"

struct mi_systems;
struct mi_system;

typedef struct mi_write_group_entry {
    mica_component written;
    mica_component member;
} mi_write_group_entry;

// What a system that yields was added with: the terms of its queries, by id.
typedef struct mi_declared_query {
    int32_t term_count;
    mica_term terms[MICA_TERM_MAX];
} mi_declared_query;

// Makes the queries of a system that is being added. As mica_query_create.
mica_result mi_system_make_queries(struct mi_systems *systems, struct mi_system *system, const mica_system_def *def,
                                   const char *call);

// Makes the queries of all systems that yield anew if write groups have members that they do not know. Not during a
// tick. As mica_query_create; what was not made yet is made by the next call.
mica_result mi_systems_yield(struct mi_systems *systems);

// Values of transient types in tables, where a snapshot has left them out; see transients.c.
#pragma once

#include "world/world.h"

// Values aside for a column of rows that come into a chunk.
typedef struct mi_kept_values {
    const mi_column *column;
    uint32_t count;
    const mica_entity *entities; // of the rows
    uint8_t *values;
    uint64_t *lifted; // a bit each: the entity has the component now, and the value will be, or was, lifted from there
} mi_kept_values;

// Whose values of a component are lifted.
typedef struct mi_lifted {
    mica_component component;
    mi_marks marks;
} mi_lifted;

typedef struct mi_transients {
    MI_ARRAY(mi_kept_values) kept; // in the order in which they are placed
    uint32_t placed_count;
    MI_ARRAY(mi_lifted) lifted;
} mi_transients;

// Rows of a chunk that a restore exchanges, with the entities that come there; those stay where they are.
typedef struct mi_transient_rows {
    const mi_table *table;
    const mica_entity *entities;
    uint32_t count;
} mi_transient_rows;

// Makes values ready for rows; false: out of memory, or a construct hook failed.
bool mi_transients_prepare(mica_world *world, mi_transients *transients, const mi_transient_rows *rows);
void mi_transients_cancel(mica_world *world, mi_transients *transients);
// Lifts values, before anything is exchanged.
void mi_transients_lift(mica_world *world, mi_transients *transients);
// Ends the values of a transient column in rows from `first` to below `end`, unless they were lifted.
void mi_transients_end_rows(mica_world *world, const mi_transients *transients, const mi_column *column,
                            const uint8_t *base, uint32_t first, uint32_t end);
// Puts the values in place that were made ready for these rows; chunks come in the order in which they were prepared.
void mi_transients_place(mica_world *world, mi_transients *transients, const mi_table *table, uint8_t *base,
                         uint32_t first, uint32_t end);
void mi_transients_finish(mica_world *world, mi_transients *transients);

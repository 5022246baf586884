// Structural work and look-ups as hand-written C would do them: a minimal archetype storage.
#pragma once

#include "harness.h"

extern const bench_side limit_create_one;        ///< create with a position and a velocity, n times
extern const bench_side limit_create_bulk;       ///< the same from columns, in one call
extern const bench_side limit_create_one_fresh;  ///< as `limit_create_one`, in memory that was never touched
extern const bench_side limit_create_bulk_fresh; ///< as `limit_create_bulk`, the same way
extern const bench_side limit_destroy_order;     ///< destroy n entities in order of creation
extern const bench_side limit_destroy_random;    ///< the same in random order
extern const bench_side limit_change_order;      ///< add `Data` to n entities, then remove it, in order of creation
extern const bench_side limit_change_random;     ///< the same in random order
extern const bench_side limit_observer;          ///< add `Data` to n entities, and tell the functions of a list, of one
extern const bench_side limit_commands;          ///< list adds of `Data` to n entities, then do them
extern const bench_side limit_commands_record;   ///< the first half of that
extern const bench_side limit_commands_apply;    ///< the second half
extern const bench_side limit_commands_tag;      ///< both without values
extern const bench_side limit_get_random;        ///< read the positions of n entities in random order
extern const bench_side limit_scatter_random;    ///< write the positions of n entities in random order
extern const bench_side limit_has_random;        ///< ask n entities in random order for `Data`, which half of them have

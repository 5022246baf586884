// Work with pools as hand-written C would do it: a bare sparse set.
#pragma once

#include "harness.h"

extern const bench_side limit_pool_change_order;  ///< add `Data` to n entities, then remove it, in order of creation
extern const bench_side limit_pool_change_random; ///< the same in random order
extern const bench_side limit_pool_tag_order;     ///< both without values
extern const bench_side limit_pool_tag_random;
extern const bench_side limit_pool_observer; ///< add `Data` to n entities, and tell the functions of a list, of one
extern const bench_side limit_pool_get;      ///< read the positions of n entities in random order
extern const bench_side limit_pool_has;      ///< ask n entities in random order, of which half are in the set
extern const bench_side limit_pools_mixed;   ///< move n positions by n velocities, two sets filled in different orders
extern const bench_side limit_pool_table;    ///< move n / 100 of n positions in a table by the velocities in a set

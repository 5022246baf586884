/// \file order.h
/// Orders: walks over a query sorted by a key, kept sorted between walks.
///
///     mica_order *by_depth = mica_order_create(sprites, mica_register(world, Sprite), compare_depths, NULL);
///     mica_each (by_depth, it) { ... }
///
/// Spans come in ascending order of the compare function; equal ones keep the query's order of visit. When a walk opens
/// and nothing has changed since the last one, nothing is sorted. Otherwise only those are compared whose keys may have
/// changed: new entities, and those in a chunk of a table, or a page of a pool, whose key column was written. The rest
/// keeps its order without being compared to each other. Neighbours of an order lie apart in memory, so most spans hand
/// out copies (see query.h), up to 256 rows each.
///
/// A key counts as written when its column or value is asked for to be written, as everywhere. An address that was got
/// for writing before a sorted walk is to be asked for again before it is written through afterwards.
#pragma once

#include <mica/pool.h>
#include <mica/query.h>

MICA_BEGIN

/// Makes an order of a query's entities. `key` is a component that the query reads or writes and that every match must
/// have; the compare function is given its values where they stand. 0: entities alone are compared, with `value` NULL.
/// `compare` must not call the world, and must say the same of the same values at all times. Keeps a reference to the
/// query, and `user` as it is. NULL: `MICA_INVALID` (no query, no function, a query that asks for changes),
/// `MICA_UNKNOWN`, `MICA_NO_ACCESS` (the query does not require and read the key; the message names both),
/// `MICA_UNSUPPORTED` (a key in lanes, whose values have no addresses), `MICA_LOCKED` (called by a compare function),
/// `MICA_OUT_OF_MEMORY`. O(1); sorting is left to the first walk. The world's thread.
MICA_API mica_order *mica_order_create(mica_query *query, mica_component key, mica_compare_function compare,
                                       void *user);

/// Ends an order; walks over it that are open go on. NULL is allowed. Orders end with their world at the latest.
/// Refuses (leaves it, with the error set): `MICA_LOCKED` (called by a compare function, or in a system that may run
/// beside others). O(orders of the world).
MICA_API void mica_order_destroy(mica_order *order);

MICA_END

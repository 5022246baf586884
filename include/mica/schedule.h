/// \file schedule.h
/// Looking at the schedule: in which order systems run, which of them may run side by side, what keeps them apart, and
/// what is left to chance.
///
/// All of these are texts for people, closed by zero, cut to `capacity` bytes; they return the length without the cut.
/// A `text` of NULL gives the length alone. They speak of the plan of the next tick, inside a system of that of the
/// running one; empty if there are no systems, or with `MICA_OUT_OF_MEMORY`. All belong to the world's thread.
#pragma once

#include <mica/world.h>

MICA_BEGIN

/// The plan, a line a stage, system and barrier. Behind a system's name stands what there is to say of it: that it is
/// disabled, that it is exclusive or belongs to the main thread, and which systems it waits for before it runs.
/// Between barriers and exclusive systems all others may run side by side. O(systems + waits).
///
///     stage update
///       move
///       hunt
///       follow (disabled, waits for move, hunt)
///       load (exclusive)
///       barrier
MICA_API size_t mica_world_plan(mica_world *world, char *text, size_t capacity);

/// What keeps systems from running side by side: of each system those between the same two barriers that it conflicts
/// with, and at which components, ascending by name, or that both belong to the main thread; of each barrier the order
/// that asks for it. O(systems^2) in what systems touch.
///
///     stage update
///       move: conflicts with draw (Position, Velocity), follow (Position)
///       hunt: conflicts with nobody
///       draw: conflicts with move (Position, Velocity)
///       load: is exclusive, for it has neither a query nor access
///       barrier: follow comes after draw
///       follow: conflicts with nobody
///       barrier: the stage ends
MICA_API size_t mica_world_plan_explain(mica_world *world, char *text, size_t capacity);

/// The plan as a graph in Graphviz's language, for `dot -Tsvg`: systems as boxes (dashed: disabled; bold: of the main
/// thread; double: exclusive), barriers as bars, stages as frames. Arrows lead from what has to have ended to what
/// waits for it; beside them the components of a conflict, or "main thread". O(systems + waits) in what systems touch.
MICA_API size_t mica_world_plan_graph(mica_world *world, char *text, size_t capacity);

/// The pairs of systems of a stage that conflict although nothing says which comes first: neither `before` and `after`,
/// directly or by way of others, nor priorities; so it is the order in which they were added that decides. A line a
/// stage that has some, then a line a pair in order of addition, with the components that they conflict at, ascending
/// by name. Empty: there are none. O(systems * (systems + constraints)) in what systems touch.
///
///     stage update
///       move, draw: Position, Velocity
///       move, load: load is exclusive
MICA_API size_t mica_world_ambiguities(mica_world *world, char *text, size_t capacity);

MICA_END

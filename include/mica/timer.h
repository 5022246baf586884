/// \file timer.h
/// Entities that end after a time, and timers that fire once or again and again.
///
/// Both count down the seconds that are left, by the length of each tick, in the system that is added for them; an
/// entity that is disabled or killed stands still meanwhile. Left times are in double precision, so that a timer of
/// days still counts ticks of a sixtieth of a second; `mica_world_step` takes the length of a tick as a float, and what
/// that is off by adds up: five ticks of 0.02f are a little less than 0.1 seconds, while those of 1/64 are exact. A
/// left time that is negative or not a number counts as 0, one that is infinite never ends. Programs may write both at
/// any time. Nothing depends on anything but the values and the lengths of ticks.
#pragma once

#include <mica/event.h>
#include <mica/system.h>
#include <mica/type.h>

/// How long an entity still lives. It ends in the first tick that brings `left_seconds` to 0 or below; constructed by
/// zeros, in the next one. Named "Lifetime" in files.
MICA_STRUCT_NAMED_WITH(mica_lifetime, "Lifetime", (.toggle = true), {
    double left_seconds;
    bool takes_subtree; ///< ends as by `mica_destroy_subtree`; otherwise, as by `mica_destroy`, children move up
});

/// A timer: fires in the first tick that brings `left_seconds` to 0 or below; constructed by zeros, once, in the next
/// one. Named "Timer" in files.
///
/// With a `period_seconds` above 0 it goes on: the period is added until something is left again, and each time counts
/// as a firing. So a tick may count several, and no part of a tick is lost. (Computed with one division's remainder
/// instead of sums: rounding does not add up.) Without one (0, negative, not a number) `left_seconds` is infinite from
/// then on: the timer has stopped, and starts again when a time is written.
MICA_STRUCT_NAMED_WITH(mica_timer, "Timer", (.toggle = true), {
    double left_seconds;
    double period_seconds;
    /// How often it fired since the program last wrote this; stays at the highest value when that is reached.
    uint32_t fired_count;
});

/// The event that a timer has fired; named "TimerFired" in files. See event.h for reading events.
MICA_STRUCT_NAMED(mica_timer_fired, "TimerFired", {
    mica_entity timer;
    uint32_t count; ///< how often in this tick, at least 1
});

MICA_BEGIN

/// Adds the system "end_lifetimes" in the stage last: destroys the entities whose time is up when the stage ends, so
/// that a tick's other systems have still seen them and those of the stage extract have not. It writes
/// `mica_lifetime`. Entities that end with an ancestor in the same tick count as skipped commands. 0 as
/// `mica_system_add`. A tick: O(entities with a lifetime), and the destroying.
MICA_API mica_system mica_lifetime_system_add(mica_world *world);

/// Adds the system "fire_timers" in the stage pre-update: what update and the stages after it do can follow from a
/// timer in the same tick. It writes `mica_timer` and sends a `mica_timer_fired` for each timer that fires, in order of
/// visit. 0 as `mica_system_add`. A tick: O(entities with a timer). Where an event cannot be sent
/// (`MICA_OUT_OF_MEMORY`), the tick fails, with this timer counted down and fired.
MICA_API mica_system mica_timer_system_add(mica_world *world);

MICA_END

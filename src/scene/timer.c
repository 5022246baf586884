// Lifetimes and timers: seconds that are counted down, and what happens when none are left.
//
// Both systems visit every entity with their component once a tick and do nothing else but record commands or send
// events, so the outcome depends on values and the lengths of ticks alone. Invariants: after its system has run, a
// timer that repeats has more than 0 and at most a period left, one that does not and has fired has infinity left; a
// lifetime whose time is up stays up until its entity is gone, so that a tick that failed may be run again.
#include <mica/timer.h>

#include <math.h>

#include <mica/hierarchy.h>
#include <mica/verbs.h>

// What is left after `delta_seconds`. Counting begins at 0 at the least, also for what is not a number: so no more than
// the tick is ever due.
static double count_down(double left_seconds, double delta_seconds) {
    return (left_seconds > 0 ? left_seconds : 0) - delta_seconds;
}

static void run_lifetimes(mica_run *run) {
    const double delta_seconds = (double)mica_delta_time(run);
    mica_commands *commands = mica_run_commands(run);
    mica_each (run, it) {
        mica_lifetime *lifetimes = mica_write_of(it, mica_lifetime);
        for (int32_t i = 0; i < it.count; i++) {
            lifetimes[i].left_seconds = count_down(lifetimes[i].left_seconds, delta_seconds);
            if (lifetimes[i].left_seconds > 0) {
                continue;
            }
            const mica_result result = lifetimes[i].takes_subtree
                                           ? mica_commands_destroy_subtree(commands, it.entities[i])
                                           : mica_commands_destroy_entity(commands, it.entities[i]);
            if (result != MICA_OK) {
                mica_run_fail(run, result, mica_last_error());
                return;
            }
        }
    }
}

mica_system mica_lifetime_system_add(mica_world *world) {
    return mica_system_add(world, &(mica_system_def){.name = "end_lifetimes",
                                                     .stage = MICA_LAST,
                                                     .run = run_lifetimes,
                                                     .query = {mica_write(mica_lifetime)}});
}

// Counts `timer` down; returns how often it fired.
static uint32_t advance_timer(mica_timer *timer, double delta_seconds) {
    timer->left_seconds = count_down(timer->left_seconds, delta_seconds);
    if (timer->left_seconds > 0) {
        return 0;
    }
    if (!(timer->period_seconds > 0)) {
        timer->left_seconds = (double)INFINITY;
        return 1;
    }
    const double due_seconds = -timer->left_seconds;
    const double rest_seconds = fmod(due_seconds, timer->period_seconds);
    timer->left_seconds = timer->period_seconds - rest_seconds;
    // A whole number but for rounding.
    const double more = floor((due_seconds - rest_seconds) / timer->period_seconds + 0.5);
    return more < (double)UINT32_MAX ? 1 + (uint32_t)more : UINT32_MAX;
}

static void run_timers(mica_run *run) {
    const double delta_seconds = (double)mica_delta_time(run);
    mica_world *world = mica_run_world(run);
    mica_each (run, it) {
        mica_timer *timers = mica_write_of(it, mica_timer);
        for (int32_t i = 0; i < it.count; i++) {
            const uint32_t count = advance_timer(&timers[i], delta_seconds);
            const uint32_t room = UINT32_MAX - timers[i].fired_count;
            timers[i].fired_count += count < room ? count : room;
            if (count > 0 && mica_send(world, mica_timer_fired, {it.entities[i], count}) != MICA_OK) {
                mica_run_fail(run, mica_last_result(), mica_last_error());
                return;
            }
        }
    }
}

mica_system mica_timer_system_add(mica_world *world) {
    if (mica_register(world, mica_timer_fired) == 0) {
        return (mica_system){0};
    }
    return mica_system_add(world, &(mica_system_def){.name = "fire_timers",
                                                     .stage = MICA_PRE_UPDATE,
                                                     .run = run_timers,
                                                     .query = {mica_write(mica_timer)},
                                                     .access = {mica_writes(mica_timer_fired)}});
}

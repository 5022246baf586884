// A fixed step under a varying frame rate: the simulation advances in ticks of one length, and what is drawn lies
// between the last two of them.
#include <mica/mica.h>

#include <math.h>
#include <stdio.h>

// A component keeps the value before the last tick, so that a frame can be drawn between the two.
MICA_STRUCT(Height, { double before, now; });

static void rise(mica_run *run) {
    mica_each (run, it) {
        Height *height = mica_write_of(it, Height);
        for (int32_t i = 0; i < it.count; i++) {
            height[i].before = height[i].now;
            height[i].now += 2 * (double)mica_delta_time(run);
        }
    }
}

int main(void) {
    // Ticks of 1/32 s; a frame that took very long is caught up with by at most 8 of them, and the rest is dropped.
    mica_world *world = mica_world_create(&(mica_world_def){.fixed_delta_seconds = 1.0 / 32, .advance_tick_limit = 8});
    mica_system_add(world, &(mica_system_def){.name = "rise", .run = rise, .query = {mica_write(Height)}});
    const mica_entity balloon = mica_spawn(world, mica_value_of(Height, {0, 0}));

    const double frames[] = {1.0 / 64, 1.0 / 64, 1.0 / 32, 1.0 / 128, 1.0 / 16, 3.0};
    bool as_expected = true;
    double expected = 0; // the height a tick ago, had there been a tick for every instant
    for (size_t i = 0; i < sizeof(frames) / sizeof(frames[0]); i++) {
        const int32_t ticks = mica_world_advance(world, frames[i]);
        if (ticks < 0) {
            fprintf(stderr, "%s\n", mica_last_error());
            break;
        }
        const double alpha = mica_world_alpha(world);
        const Height *height = mica_get(world, balloon, Height);
        const double drawn = height->before + (height->now - height->before) * alpha;
        printf("frame of %6.4f s: %d ticks, alpha %.2f, drawn at %.5f\n", frames[i], (int)ticks, alpha, drawn);
        if (i + 1 < sizeof(frames) / sizeof(frames[0])) {
            expected += 2 * frames[i];
            as_expected = as_expected && (mica_world_tick(world) == 0 || fabs(drawn - (expected - 2.0 / 32)) < 1e-9);
        } else {
            as_expected = as_expected && ticks == 8; // and not 96
        }
    }
    mica_world_destroy(world);
    return as_expected ? 0 : 1;
}

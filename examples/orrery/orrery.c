// An orrery: a plugin that moves bodies on Kepler orbits, grows belts of asteroids, and draws what it saw.
//
//   mica run examples/orrery/orrery.json --plugin build/release/plugins/orrery.so --ticks 1000 --stats
//
// Everything that can be changed without compiling stands in the scene: give a planet another eccentricity, add a moon,
// make the belt ten times as dense. Distances are in astronomical units, times in days, angles in degrees.
#include "canvas.h"

#include <mica/mica.h>

#include <math.h>

// The components. Their fields are found by name in the scene, in any order; what is left out is zero.

// The shape of an orbit around the parent, and where the body stood on it at day zero.
MICA_STRUCT(OrbitFrame, {
    double mean_motion;          // radians a day; 0: not worked out yet
    double towards_periapsis[3]; // the orbit's own axes, as long as its half axes
    double ahead[3];
});
MICA_STRUCT_WITH(Orbit, (.required = {mica_type_of(OrbitFrame), mica_type_of(mica_transform)}), {
    double semi_major_axis;
    double eccentricity;
    double inclination;
    double ascending_node; // longitude of the ascending node
    double periapsis;      // argument of periapsis
    double mean_anomaly;   // at day zero
    double period;
});

// The calendar: every tick adds `days_per_tick`.
MICA_STRUCT(Ephemeris, {
    double days;
    double days_per_tick;
});

// Asteroids to be grown around the entity: `count` of them between two distances. Grown once; the tag remembers.
MICA_STRUCT(Belt, {
    int32_t count;
    uint32_t seed;
    double inner;
    double outer;
});
MICA_TAG(Grown);
MICA_TAG(Asteroid);

// What a body looks like, and where its trail stood last. Radius in pixels.
MICA_STRUCT_WITH(Trail, (.transient = true), {
    float x, y;
    bool started;
});
MICA_STRUCT_WITH(Body, (.required = {mica_type_of(Trail)}), {
    float radius;
    float color[3];
});

// Where the picture goes, its size in pixels, and the distance at its edge.
MICA_STRUCT(Picture, {
    char path[96];
    int32_t width, height;
    double extent;
});

static const double pi = 3.14159265358979323846;

// The tests build this file with an error here, to see that they would notice one.
#ifndef ORRERY_MEAN_MOTION_ERROR
#define ORRERY_MEAN_MOTION_ERROR 0.0
#endif

// Turns the elements of an orbit into two vectors that span it. Sines are the library's own, so that the planets stand
// at the same place to the last bit on every machine.
static void work_out(OrbitFrame *frame, const Orbit *orbit) {
    const mica_sine_cosine node = mica_sincos(orbit->ascending_node * pi / 180);
    const mica_sine_cosine periapsis = mica_sincos(orbit->periapsis * pi / 180);
    const mica_sine_cosine tilt = mica_sincos(orbit->inclination * pi / 180);
    const double major = orbit->semi_major_axis;
    const double minor = major * sqrt(1 - orbit->eccentricity * orbit->eccentricity);
    frame->towards_periapsis[0] = major * (node.cosine * periapsis.cosine - node.sine * periapsis.sine * tilt.cosine);
    frame->towards_periapsis[1] = major * (node.sine * periapsis.cosine + node.cosine * periapsis.sine * tilt.cosine);
    frame->towards_periapsis[2] = major * (periapsis.sine * tilt.sine);
    frame->ahead[0] = minor * (-node.cosine * periapsis.sine - node.sine * periapsis.cosine * tilt.cosine);
    frame->ahead[1] = minor * (-node.sine * periapsis.sine + node.cosine * periapsis.cosine * tilt.cosine);
    frame->ahead[2] = minor * (periapsis.cosine * tilt.sine);
    frame->mean_motion = 2 * pi / orbit->period * (1 + ORRERY_MEAN_MOTION_ERROR);
}

// Kepler's equation M = E - e sin E, solved for E by Newton's method; the sine and cosine of E.
static mica_sine_cosine eccentric_anomaly(double mean_anomaly, double eccentricity) {
    const double mean = remainder(mean_anomaly, 2 * pi);
    double eccentric = mean + eccentricity * mica_sin(mean);
    mica_sine_cosine both = mica_sincos(eccentric);
    for (int i = 0; i < 16; i++) {
        const double step = (eccentric - eccentricity * both.sine - mean) / (1 - eccentricity * both.cosine);
        eccentric -= step;
        both = mica_sincos(eccentric);
        if (fabs(step) < 1e-13) {
            break;
        }
    }
    return both;
}

// System: the calendar.
static void turn_pages(mica_run *run) {
    mica_each (run, it) {
        Ephemeris *ephemeris = mica_write_of(it, Ephemeris);
        for (int32_t i = 0; i < it.count; i++) {
            ephemeris[i].days += ephemeris[i].days_per_tick;
        }
    }
}

// Whether a body comes round on this orbit; fails the system by name if not.
static bool is_ellipse(mica_run *run, const Orbit *orbit, mica_entity entity) {
    if (orbit->eccentricity >= 0 && orbit->eccentricity < 1 && orbit->period != 0) {
        return true;
    }
    char text[200];
    snprintf(text, sizeof(text),
             "the orbit of \"%.60s\" needs an eccentricity from 0 to below 1 and a period; it has %g and %g",
             mica_name_of(mica_run_world(run), entity), orbit->eccentricity, orbit->period);
    mica_run_fail(run, MICA_INVALID, text);
    return false;
}

// System: what follows from the elements of an orbit, once for each that is new or has changed.
static void work_out_orbits(mica_run *run) {
    mica_each (run, it) {
        OrbitFrame *frame = mica_write_of(it, OrbitFrame);
        const Orbit *orbit = mica_read_of(it, Orbit);
        for (int32_t i = 0; i < it.count; i++) {
            if (!is_ellipse(run, &orbit[i], it.entities[i])) {
                return;
            }
            work_out(&frame[i], &orbit[i]);
        }
    }
}

// The bodies of a span on their orbits. Where they are depends on the day alone.
static void follow_span(mica_run *run, mica_iter *span, void *user) {
    (void)run;
    const double days = *(const double *)user;
    mica_transform *transform = mica_write_of(*span, mica_transform);
    const OrbitFrame *frame = mica_read_of(*span, OrbitFrame);
    const Orbit *orbit = mica_read_of(*span, Orbit);
    for (int32_t i = 0; i < span->count; i++) {
        const double mean = orbit[i].mean_anomaly * pi / 180 + frame[i].mean_motion * days;
        const mica_sine_cosine anomaly = eccentric_anomaly(mean, orbit[i].eccentricity);
        const double x = anomaly.cosine - orbit[i].eccentricity;
        const double y = anomaly.sine;
        for (int axis = 0; axis < 3; axis++) {
            transform[i].position[axis] = (float)(frame[i].towards_periapsis[axis] * x + frame[i].ahead[axis] * y);
        }
    }
}

// System: every body on its orbit, on as many threads as the world has.
static void follow_orbits(mica_run *run) {
    double days = 0;
    mica_each (mica_run_query(run, 0), it) {
        days = mica_read_of(it, Ephemeris)[0].days;
    }
    mica_parallel_for(run, NULL, follow_span, &days);
}

typedef struct belt_growth {
    Belt belt;
    mica_random random;
    mica_entity *asteroids;
} belt_growth;

// Fills in the orbits of new asteroids, span by span. Kepler's third law gives the periods.
static void scatter(void *user, const mica_spawn_span *span) {
    belt_growth *growth = user;
    Orbit *orbit = span->columns[0];
    for (int32_t i = 0; i < span->count; i++) {
        double parts[7]; // drawn one after another: C leaves the order within an initialiser open
        for (int k = 0; k < 7; k++) {
            parts[k] = mica_random_unit(&growth->random);
        }
        const double axis = growth->belt.inner + (growth->belt.outer - growth->belt.inner) * (parts[0] + parts[1]) / 2;
        orbit[i] = (Orbit){
            .semi_major_axis = axis,
            .eccentricity = 0.18 * parts[2],
            .inclination = 12 * parts[3],
            .ascending_node = 360 * parts[4],
            .periapsis = 360 * parts[5],
            .mean_anomaly = 360 * parts[6],
            .period = 365.256 * axis * sqrt(axis),
        };
        growth->asteroids[span->first + i] = span->entities[i];
    }
}

static mica_result grow(mica_world *world, mica_entity entity, Belt belt) {
    const size_t count = belt.count > 0 ? (size_t)belt.count : 0;
    mica_entity *memory = malloc((count + 1) * 2 * sizeof(mica_entity));
    if (memory == NULL) {
        return MICA_OUT_OF_MEMORY;
    }
    belt_growth growth = {.belt = belt, .random = mica_random_seeded(belt.seed), .asteroids = memory};
    mica_entity *parents = memory + count + 1;
    for (size_t i = 0; i < count; i++) {
        parents[i] = entity;
    }
    const mica_component components[] = {mica_register(world, Orbit), mica_register(world, Asteroid)};
    mica_result result = mica_entity_spawn_fill(world, components, 2, (int32_t)count, scatter, &growth);
    if (result == MICA_OK) {
        result = mica_set_parent_many(world, growth.asteroids, parents, (int32_t)count);
    }
    free(memory);
    if (result != MICA_OK) {
        return result;
    }
    return mica_add(world, entity, Grown);
}

// System: grows belts that are new. It asks for no query of its own and so has the world to itself, and may change it
// directly.
static void grow_belts(mica_run *run) {
    mica_world *world = mica_run_world(run);
    mica_query *new_belts = mica_query_of(world, mica_read(Belt), mica_without(Grown));
    mica_entity entity = mica_query_first(new_belts);
    while (!mica_entity_is_null(entity)) {
        const mica_result result = grow(world, entity, *mica_get(world, entity, Belt));
        if (result != MICA_OK) {
            mica_run_fail(run, result, result == mica_last_result() ? mica_last_error() : mica_result_text(result));
            return;
        }
        entity = mica_query_first(new_belts);
    }
}

// The picture's distances are compressed to their power of 7/16, so that Mercury and Neptune both find room. C
// libraries differ in powers, but not in square roots.
static void place(const Canvas *canvas, const float world[16], float *x, float *y) {
    const double distance = sqrt((double)world[12] * (double)world[12] + (double)world[13] * (double)world[13]);
    const double half = sqrt(distance / canvas->extent);
    const double quarter = sqrt(half);
    const double eighth = sqrt(quarter);
    const double shown = distance > 0 ? quarter * eighth * sqrt(eighth) / distance : 0;
    *x = (float)(canvas->width * (0.5 + 0.48 * shown * (double)world[12]));
    *y = (float)(canvas->height * (0.5 - 0.48 * shown * (double)world[13]));
}

// System: draws every body's trail on the canvas, which is the system's own state.
static void draw_trails(mica_run *run) {
    Canvas *canvas = mica_run_state(run, Canvas);
    mica_each (mica_run_query(run, 0), it) {
        const Picture *picture = mica_read_of(it, Picture);
        if (canvas->pixels == NULL && !canvas_open(canvas, picture->width, picture->height, picture->extent)) {
            mica_run_fail(run, MICA_OUT_OF_MEMORY, "no memory for the picture, or its size is not 1 to 16384");
            return;
        }
    }
    if (canvas->pixels == NULL) {
        return; // the scene asks for no picture
    }
    mica_each (run, it) {
        Trail *trail = mica_write_of(it, Trail);
        const Body *body = mica_read_of(it, Body);
        const mica_world_transform *world = mica_read_of(it, mica_world_transform);
        for (int32_t i = 0; i < it.count; i++) {
            float x = 0;
            float y = 0;
            place(canvas, world[i].m, &x, &y);
            if (trail[i].started) {
                canvas_line(canvas, trail[i].x, trail[i].y, x, y, body[i].color);
            }
            trail[i] = (Trail){.x = x, .y = y, .started = true};
        }
    }
}

// When the world ends: the bodies themselves, on top of their trails, and the file.
static void finish_picture(mica_run *run) {
    Canvas *canvas = mica_run_state(run, Canvas);
    if (canvas->pixels == NULL) {
        return;
    }
    const float grey[3] = {0.055f, 0.05f, 0.045f};
    float x = 0;
    float y = 0;
    mica_each (mica_run_query(run, 1), it) {
        const mica_world_transform *world = mica_read_of(it, mica_world_transform);
        for (int32_t i = 0; i < it.count; i++) {
            place(canvas, world[i].m, &x, &y);
            canvas_dot(canvas, x, y, 0.7f, grey);
        }
    }
    mica_each (run, it) {
        const Body *body = mica_read_of(it, Body);
        const mica_world_transform *world = mica_read_of(it, mica_world_transform);
        for (int32_t i = 0; i < it.count; i++) {
            place(canvas, world[i].m, &x, &y);
            canvas_dot(canvas, x, y, body[i].radius, body[i].color);
        }
    }
    mica_each (mica_run_query(run, 0), it) {
        const Picture *picture = mica_read_of(it, Picture);
        if (!canvas_write(canvas, picture->path)) {
            fprintf(stderr, "orrery: could not write the picture %s\n", picture->path);
        }
    }
}

MICA_PLUGIN(mica_world *world, const mica_plugin_host *host) {
    if (mica_plugin_check(host) != MICA_OK) {
        return MICA_INCOMPATIBLE;
    }
    // The scene is loaded next: its components must be known by then.
    mica_register(world, Orbit);
    mica_register(world, Ephemeris);
    mica_register(world, Belt);
    mica_register(world, Grown);
    mica_register(world, Asteroid);
    mica_register(world, Body);
    mica_register(world, Picture);

    const mica_system_def systems[] = {
        {.name = "grow_belts", .stage = MICA_FIRST, .run = grow_belts},
        {.name = "turn_pages", .run = turn_pages, .query = {mica_write(Ephemeris)}},
        {.name = "work_out_orbits",
         .run = work_out_orbits,
         .query = {mica_write(OrbitFrame), mica_read(Orbit), mica_changed(Orbit)},
         .access = {mica_reads(mica_name)}}, // names stand in errors
        {.name = "follow_orbits",
         .run = follow_orbits,
         .after = {"turn_pages", "work_out_orbits"},
         .query = {mica_write(mica_transform), mica_read(OrbitFrame), mica_read(Orbit)},
         .query_count = 1,
         .queries = {{{mica_read(Ephemeris)}}}},
        {.name = "draw_trails",
         .stage = MICA_LAST, // world matrices are resolved by then
         .run = draw_trails,
         .stop = finish_picture,
         .state = mica_type_of(Canvas),
         .query = {mica_write(Trail), mica_read(Body), mica_read(mica_world_transform)},
         .query_count = 2,
         .queries = {{{mica_read(Picture)}}, {{mica_with(Asteroid), mica_read(mica_world_transform)}}}},
    };
    for (size_t i = 0; i < sizeof(systems) / sizeof(systems[0]); i++) {
        if (mica_system_add(world, &systems[i]).id == 0) {
            return mica_last_result();
        }
    }
    return MICA_OK;
}

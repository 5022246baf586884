// What the two sides of a workload share: the components, the values given to them, and how results are summed up.
#pragma once

#include <mica/mica.h>

#include <stdint.h>
#include <string.h>

MICA_STRUCT(Position, { float x, y, z; });
MICA_STRUCT(Velocity, { float x, y, z; });
MICA_STRUCT(Data, { uint32_t value; });

// The same in pools.
MICA_NAMED_WITH(PoolPosition, Position, (.storage = MICA_POOL));
MICA_NAMED_WITH(PoolVelocity, Velocity, (.storage = MICA_POOL));
MICA_NAMED_WITH(PoolData, Data, (.storage = MICA_POOL));
MICA_TAG_WITH(PoolMark, (.storage = MICA_POOL));

static const float bench_delta_seconds = 1.0f / 60;

enum { BENCH_SEED_FIRST = 1, BENCH_SEED_SECOND = 2 };

/// The position that the entity created as number `i` starts with.
static inline Position bench_position(uint32_t i) {
    const float start = (float)i;
    return (Position){start, start + 0.25f, start + 0.5f};
}

/// The velocity of the same entity.
static inline Velocity bench_velocity(uint32_t i) {
    const float speed = (float)(i & 255);
    return (Velocity){speed, speed + 0.5f, -speed};
}

/// The movement loop, word for word the same for both sides.
static inline void bench_move(Position *restrict positions, const Velocity *restrict velocities, int32_t count) {
    for (int32_t i = 0; i < count; i++) {
        positions[i].x += velocities[i].x * bench_delta_seconds;
        positions[i].y += velocities[i].y * bench_delta_seconds;
        positions[i].z += velocities[i].z * bench_delta_seconds;
    }
}

/// The same loop over an array a field.
static inline void bench_move_lanes(float *restrict x, float *restrict y, float *restrict z,
                                    const float *restrict speed_x, const float *restrict speed_y,
                                    const float *restrict speed_z, int32_t count) {
    for (int32_t i = 0; i < count; i++) {
        x[i] += speed_x[i] * bench_delta_seconds;
        y[i] += speed_y[i] * bench_delta_seconds;
        z[i] += speed_z[i] * bench_delta_seconds;
    }
}

/// The loop over one table of `Data`.
static inline void bench_advance(Data *data, int32_t count) {
    for (int32_t i = 0; i < count; i++) {
        data[i].value++;
    }
}

/// Adds a word to a checksum that depends on the order.
static inline uint64_t bench_mix(uint64_t checksum, uint64_t word) {
    checksum = (checksum ^ word) * 0x9e3779b97f4a7c15u;
    return checksum ^ (checksum >> 32);
}

/// Adds three floats to a checksum, bit by bit.
static inline uint64_t bench_mix_floats(uint64_t checksum, float x, float y, float z) {
    const float values[3] = {x, y, z};
    uint32_t words[3];
    memcpy(words, values, sizeof words);
    return bench_mix(bench_mix(bench_mix(checksum, words[0]), words[1]), words[2]);
}

static inline uint64_t bench_mix_position(uint64_t checksum, const Position *position) {
    return bench_mix_floats(checksum, position->x, position->y, position->z);
}

static inline uint64_t bench_mix_velocity(uint64_t checksum, const Velocity *velocity) {
    return bench_mix_floats(checksum, velocity->x, velocity->y, velocity->z);
}

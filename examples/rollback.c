// Rollback netcode in small: the other player's input comes late, so each tick runs on a guess of it. When the input
// comes and the guess was wrong, the world goes back to that tick and runs again, all before the next frame is drawn.
#include <mica/mica.h>

#include <stdio.h>

enum { TICK_COUNT = 240, DELAY = 6, PLAYERS = 2 };

MICA_STRUCT(Input, { int8_t steer[PLAYERS]; }); // a resource: what the players do in this tick
MICA_STRUCT(Player, { int32_t number; });
MICA_STRUCT(Place, { float x, y; });
MICA_STRUCT(Shot, { int32_t ticks_left; });

static void steer(mica_run *run) {
    const Input *input = mica_resource(mica_run_world(run), Input);
    mica_each (run, it) {
        Place *place = mica_write_of(it, Place);
        const Player *player = mica_read_of(it, Player);
        for (int32_t i = 0; i < it.count; i++) {
            const int8_t wanted = input->steer[player[i].number];
            place[i].x += (float)wanted * mica_delta_time(run);
            if (wanted > 1 && mica_random_chance(mica_run_random(run), 0.25)) {
                mica_spawn(mica_run_commands(run), mica_value_of(Place, {place[i].x, 0}), mica_value_of(Shot, {30}));
            }
        }
    }
}

static void fly(mica_run *run) {
    mica_each (run, it) {
        Place *place = mica_write_of(it, Place);
        Shot *shot = mica_write_of(it, Shot);
        for (int32_t i = 0; i < it.count; i++) {
            place[i].y += 20 * mica_delta_time(run);
            if (--shot[i].ticks_left == 0) {
                mica_destroy(mica_iter_commands(it), it.entities[i]);
            }
        }
    }
}

static mica_world *open_match(void) {
    mica_world *world = mica_world_create(NULL);
    const mica_system_def systems[] = {
        {.name = "steer", .run = steer, .query = {mica_write(Place), mica_read(Player)}, .access = {mica_reads(Input)}},
        {.name = "fly", .run = fly, .after = {"steer"}, .query = {mica_write(Place), mica_write(Shot)}},
    };
    for (size_t i = 0; i < sizeof(systems) / sizeof(systems[0]); i++) {
        mica_system_add(world, &systems[i]);
    }
    for (int32_t i = 0; i < PLAYERS; i++) {
        mica_spawn(world, mica_value_of(Player, {i}), mica_value_of(Place, {(float)(10 * i), 0}));
    }
    return world;
}

// What a player does: the same for some ticks, then something else.
static int8_t input_of(int32_t player, int32_t tick) {
    mica_random random = mica_random_seeded((uint64_t)(tick / (9 + 4 * player)) * PLAYERS + (uint64_t)player);
    return (int8_t)(mica_random_below(&random, 5) - 2);
}

static void run_tick(mica_world *world, int8_t mine, int8_t theirs) {
    mica_set_resource(world, Input, {{mine, theirs}});
    mica_world_step(world, 1.0f / 60);
}

typedef struct match {
    mica_world *world;
    mica_ring *ring;            // the state before each of the last ticks
    int8_t guesses[TICK_COUNT]; // of the other player's input: what the tick ran with
    int32_t again_count;        // ticks that were run again
} match;

static void play(match *played, int32_t tick, int8_t theirs) {
    mica_ring_take(played->ring, (uint64_t)tick);
    played->guesses[tick] = theirs;
    run_tick(played->world, input_of(0, tick), theirs);
}

// The other player's input of a tick has come, when `now` ticks have run.
static void receive(match *played, int32_t tick, int32_t now) {
    const int8_t theirs = input_of(1, tick);
    if (played->guesses[tick] == theirs) {
        return;
    }
    mica_ring_restore(played->ring, (uint64_t)tick, NULL);
    for (int32_t again = tick; again < now; again++) { // and the same is guessed for what has not come yet
        play(played, again, theirs);
        played->again_count++;
    }
}

int main(void) {
    // What both would see without a network between them.
    mica_world *truth = open_match();
    for (int32_t tick = 0; tick < TICK_COUNT; tick++) {
        run_tick(truth, input_of(0, tick), input_of(1, tick));
    }

    match played = {.world = open_match()};
    played.ring = mica_ring_create(played.world, &(mica_ring_def){.capacity = DELAY + 1});
    for (int32_t tick = 0; tick < TICK_COUNT; tick++) {
        if (tick >= DELAY) {
            receive(&played, tick - DELAY, tick);
        }
        play(&played, tick, tick == 0 ? 0 : played.guesses[tick - 1]);
    }
    for (int32_t tick = TICK_COUNT - DELAY; tick < TICK_COUNT; tick++) {
        receive(&played, tick, TICK_COUNT);
    }

    uint64_t sums[2] = {0};
    mica_world_checksum(truth, NULL, &sums[0]);
    mica_world_checksum(played.world, NULL, &sums[1]);
    mica_difference difference = {0};
    mica_world_compare(truth, played.world, NULL, &difference);
    printf("%d ticks, %d of them run again\n", TICK_COUNT, played.again_count);
    printf("%s\n", difference.kind == MICA_DIFFERENCE_NONE ? "the world is what it would have been" : difference.text);
    const bool is_right = sums[0] == sums[1] && difference.kind == MICA_DIFFERENCE_NONE && played.again_count > 0;

    mica_ring_destroy(played.ring);
    mica_world_destroy(played.world);
    mica_world_destroy(truth);
    return is_right ? 0 : 1;
}

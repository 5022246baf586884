// Extracts: what systems hand to a reader.
#include <mica/mica.h>
#include <mica/snapshot.h>

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <pthread.h>
#include <sched.h>

#include <cmocka.h>

#include "support/test_allocator.h"

MICA_STRUCT(Body, { float x; });

typedef struct sprite {
    uint64_t tick;
    float x;
} sprite;

static mica_world *world;
static mica_extract *extract;
static int32_t sprite_count; // that "draw" adds in a tick
static bool draw_asks;
static mica_result draw_fails;

static void draw(mica_run *run) {
    if (!draw_asks) {
        return;
    }
    mica_frame *frame = mica_run_frame(run, extract);
    assert_non_null(frame);
    sprite *sprites = mica_frame_add(frame, 0, sprite, sprite_count);
    assert_non_null(sprites);
    for (int32_t i = 0; i < sprite_count; i++) {
        sprites[i] = (sprite){.tick = mica_run_tick(run) + 1, .x = (float)i};
    }
    if (draw_fails != MICA_OK) {
        mica_run_fail(run, draw_fails, "as asked");
    }
}

static int set_up(void **state) {
    (void)state;
    world = mica_world_create(&(mica_world_def){.fixed_delta_seconds = 0.25});
    assert_non_null(world);
    extract = mica_extract_create(
        world, &(mica_extract_def){.name = "screen", .lists = {mica_list_of(sprite, 4), {.item_byte_size = 1}}});
    assert_non_null(extract);
    const mica_system_def def = {
        .name = "draw", .run = draw, .stage = MICA_EXTRACT, .query = {mica_read(Body)}, .runs_while_paused = true};
    assert_int_not_equal(mica_system_add(world, &def).id, 0);
    sprite_count = 3;
    draw_asks = true;
    draw_fails = MICA_OK;
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    mica_world_destroy(world);
    world = NULL;
    return 0;
}

static void a_frame_comes_with_each_tick(void **state) {
    (void)state;
    assert_null(mica_extract_latest(extract));
    assert_int_equal(mica_world_step(world, 0.5f), MICA_OK);
    const mica_frame *frame = mica_extract_latest(extract);
    assert_non_null(frame);
    const mica_frame_info info = mica_frame_describe(frame);
    assert_int_equal(info.number, 1);
    assert_int_equal(info.tick, 1);
    assert_true(info.delta_seconds == 0.5f);
    assert_false(info.is_paused);
    assert_true(info.alpha == 0);
    int32_t count = 0;
    const sprite *sprites = mica_frame_list(frame, 0, sprite, &count);
    assert_int_equal(count, 3);
    assert_int_equal(sprites[2].tick, 1);
    assert_true(sprites[2].x == 2);
    assert_null(mica_frame_list(frame, 1, char, &count));
    assert_int_equal(count, 0);
}

static void the_frame_that_is_held_stays_as_it_is(void **state) {
    (void)state;
    assert_int_equal(mica_world_step(world, 1), MICA_OK);
    const mica_frame *held = mica_extract_latest(extract);
    sprite_count = 100;
    for (int32_t i = 0; i < 5; i++) {
        assert_int_equal(mica_world_step(world, 1), MICA_OK);
    }
    int32_t count = 0;
    const sprite *sprites = mica_frame_list(held, 0, sprite, &count);
    assert_int_equal(count, 3);
    assert_int_equal(sprites[0].tick, 1);
    assert_int_equal(mica_frame_describe(held).number, 1);
    const mica_frame *latest = mica_extract_latest(extract);
    assert_int_equal(mica_frame_describe(latest).number, 6);
    assert_non_null(mica_frame_list(latest, 0, sprite, &count));
    assert_int_equal(count, 100);
    assert_ptr_equal(mica_extract_latest(extract), latest);
}

static void a_tick_that_fails_publishes_nothing(void **state) {
    (void)state;
    assert_int_equal(mica_world_step(world, 1), MICA_OK);
    draw_fails = MICA_FAILED;
    assert_int_equal(mica_world_step(world, 1), MICA_FAILED);
    assert_int_equal(mica_frame_describe(mica_extract_latest(extract)).number, 1);
    draw_fails = MICA_OK;
    assert_int_equal(mica_world_step(world, 1), MICA_OK);
    const mica_frame *frame = mica_extract_latest(extract);
    assert_int_equal(mica_frame_describe(frame).number, 2);
    int32_t count = 0;
    assert_non_null(mica_frame_list(frame, 0, sprite, &count));
    assert_int_equal(count, 3); // nothing of the tick that failed
}

static void nobody_who_asks_leaves_the_latest_frame(void **state) {
    (void)state;
    assert_int_equal(mica_world_step(world, 1), MICA_OK);
    draw_asks = false;
    assert_int_equal(mica_world_step(world, 1), MICA_OK);
    assert_int_equal(mica_frame_describe(mica_extract_latest(extract)).number, 1);
}

static void an_empty_frame_is_published_as_well(void **state) {
    (void)state;
    assert_int_equal(mica_world_step(world, 1), MICA_OK);
    sprite_count = 0;
    assert_int_equal(mica_world_step(world, 1), MICA_OK);
    int32_t count = 7;
    const mica_frame *frame = mica_extract_latest(extract);
    assert_int_equal(mica_frame_describe(frame).number, 2);
    assert_null(mica_frame_list(frame, 0, sprite, &count));
    assert_int_equal(count, 0);
}

static void frames_say_how_far_the_clock_stands(void **state) {
    (void)state;
    assert_int_equal(mica_world_advance(world, 0.375), 1);
    assert_true(mica_frame_describe(mica_extract_latest(extract)).alpha == 0.5);
    assert_true(mica_world_alpha(world) == 0.5);
    assert_int_equal(mica_world_advance(world, 1), 4);
    const mica_frame_info info = mica_frame_describe(mica_extract_latest(extract));
    assert_int_equal(info.tick, 5);
    assert_true(info.alpha == 0.5);
    assert_int_equal(mica_world_step(world, 0.25f), MICA_OK);
    assert_true(mica_frame_describe(mica_extract_latest(extract)).alpha == 0.5);
}

static double seen_alpha;

static void see_frame(mica_run *run) {
    (void)run;
    const mica_frame *frame = mica_extract_latest(extract);
    seen_alpha = frame == NULL ? -1 : mica_frame_describe(frame).alpha;
}

static void frames_that_are_made_up_for_say_so(void **state) {
    (void)state;
    assert_int_not_equal(mica_system_add(world, &(mica_system_def){.name = "see", .run = see_frame}).id, 0);
    assert_int_equal(mica_world_advance(world, 0.625), 2);
    assert_true(seen_alpha == 1.5); // of the first one, seen by the second tick
}

static void a_paused_world_publishes_what_goes_on(void **state) {
    (void)state;
    assert_int_equal(mica_world_advance(world, 0.375), 1);
    assert_int_equal(mica_world_pause(world, true), MICA_OK);
    assert_int_equal(mica_world_advance(world, 0.25), 0);
    const mica_frame_info info = mica_frame_describe(mica_extract_latest(extract));
    assert_int_equal(info.number, 2);
    assert_int_equal(info.tick, 1);
    assert_true(info.is_paused);
    assert_true(info.alpha == 0.5);
}

static void a_restore_takes_no_frame_back(void **state) {
    (void)state;
    mica_snapshot *snapshot = mica_snapshot_take(world, NULL);
    assert_int_equal(mica_world_step(world, 1), MICA_OK);
    assert_int_equal(mica_snapshot_restore(snapshot, world, NULL), MICA_OK);
    assert_int_equal(mica_frame_describe(mica_extract_latest(extract)).number, 1);
    assert_int_equal(mica_world_step(world, 1), MICA_OK);
    const mica_frame_info info = mica_frame_describe(mica_extract_latest(extract));
    assert_int_equal(info.number, 2);
    assert_int_equal(info.tick, 1);
    mica_snapshot_release(snapshot);
}

// Misuse

static void misuse_by_the_writer(mica_run *run) {
    mica_frame *frame = mica_run_frame(run, extract);
    assert_null(mica_frame_add(frame, 2, sprite, 1));
    assert_int_equal(mica_last_result(), MICA_INVALID);
    assert_non_null(strstr(mica_last_error(), "screen"));
    assert_null(mica_frame_add(frame, -1, sprite, 1));
    assert_null(mica_frame_add(frame, 0, char, 1));
    assert_non_null(strstr(mica_last_error(), "bytes"));
    assert_null(mica_frame_add(frame, 0, sprite, -1));
    assert_int_equal(mica_last_result(), MICA_INVALID);
    assert_null(mica_frame_add(NULL, 0, sprite, 1));
    assert_non_null(mica_frame_add(frame, 1, char, 10));
    assert_null(mica_frame_add(frame, 1, char, INT32_MAX));
    assert_int_equal(mica_last_result(), MICA_LIMIT);
    assert_null(mica_run_frame(run, NULL));
    assert_null(mica_run_frame(NULL, extract));
    assert_null(mica_extract_create(mica_run_world(run), &(mica_extract_def){.lists = {mica_list_of(sprite, 1)}}));
    assert_int_equal(mica_last_result(), MICA_LOCKED);
    mica_extract_destroy(extract);
    assert_int_equal(mica_last_result(), MICA_LOCKED);
    mica_world *other = mica_world_create(NULL);
    mica_extract *others = mica_extract_create(other, &(mica_extract_def){.lists = {mica_list_of(sprite, 1)}});
    assert_null(mica_run_frame(run, others));
    assert_int_equal(mica_last_result(), MICA_INVALID);
    mica_world_destroy(other);
}

static void stop_late(mica_run *run) {
    assert_null(mica_run_frame(run, extract));
    assert_int_equal(mica_last_result(), MICA_INVALID);
}

static void misuse_is_refused(void **state) {
    (void)state;
    const mica_system_def def = {.name = "misuse", .run = misuse_by_the_writer, .stop = stop_late};
    const mica_system misuse = mica_system_add(world, &def);
    assert_int_equal(mica_world_step(world, 1), MICA_OK);
    assert_int_equal(mica_system_remove(world, misuse), MICA_OK);
    const mica_frame *frame = mica_extract_latest(extract);
    int32_t count = -1;
    assert_null(mica_frame_list(frame, 0, char, &count));
    assert_int_equal(mica_last_result(), MICA_INVALID);
    assert_int_equal(count, 0);
    assert_non_null(mica_frame_list(frame, 1, char, &count));
    assert_int_equal(count, 10);
    assert_null(mica_frame_list(frame, 9, char, NULL));
    assert_null(mica_frame_list(NULL, 0, char, NULL));
    assert_null(mica_extract_latest(NULL));
    assert_int_equal(mica_frame_describe(NULL).number, 0);
    assert_null(mica_extract_create(NULL, &(mica_extract_def){.lists = {mica_list_of(sprite, 1)}}));
    assert_null(mica_extract_create(world, NULL));
    assert_null(mica_extract_create(world, &(mica_extract_def){.name = "empty"}));
    assert_int_equal(mica_last_result(), MICA_INVALID);
    assert_null(mica_extract_create(world, &(mica_extract_def){.lists = {{.item_byte_size = 4, .item_align = 3}}}));
    assert_int_equal(mica_last_result(), MICA_INVALID);
    mica_extract_destroy(NULL);
    mica_extract_destroy(extract);
    draw_asks = false;
    assert_int_equal(mica_world_step(world, 1), MICA_OK);
}

static void one_may_end_while_another_goes_on(void **state) {
    (void)state;
    mica_extract *other =
        mica_extract_create(world, &(mica_extract_def){.name = "radar", .lists = {mica_list_of(sprite, 1)}});
    assert_int_equal(mica_world_step(world, 1), MICA_OK);
    mica_extract_destroy(other);
    assert_int_equal(mica_world_step(world, 1), MICA_OK);
    assert_int_equal(mica_frame_describe(mica_extract_latest(extract)).tick, 2);
}

static void items_lie_at_their_alignment(void **state) {
    (void)state;
    mica_extract_destroy(extract);
    extract = mica_extract_create(
        world, &(mica_extract_def){.lists = {{.item_byte_size = sizeof(sprite), .item_align = 256, .capacity = 1}}});
    sprite_count = 50;
    assert_int_equal(mica_world_step(world, 1), MICA_OK);
    assert_true((uintptr_t)mica_frame_list(mica_extract_latest(extract), 0, sprite, NULL) % 256 == 0);
}

static void frames_that_are_alike_allocate_nothing(void **state) {
    (void)state;
    test_allocator allocator;
    test_allocator_init(&allocator);
    mica_world *own = mica_world_create(&(mica_world_def){.allocator = test_allocator_hooks(&allocator)});
    mica_world *kept = world;
    world = own;
    extract = mica_extract_create(own, &(mica_extract_def){.lists = {mica_list_of(sprite, 0)}});
    const mica_system_def def = {.name = "draw", .run = draw, .query = {mica_read(Body)}};
    assert_int_not_equal(mica_system_add(own, &def).id, 0);
    sprite_count = 200;
    for (int32_t i = 0; i < 6; i++) {
        assert_int_equal(mica_world_step(own, 1), MICA_OK);
        assert_non_null(mica_extract_latest(extract));
    }
    test_allocator_fail_at(&allocator, 1);
    for (int32_t i = 0; i < 6; i++) {
        assert_int_equal(mica_world_step(own, 1), MICA_OK);
        assert_non_null(mica_extract_latest(extract));
    }
    assert_false(test_allocator_fail_stop(&allocator));
    world = kept;
    mica_world_destroy(own);
    test_allocator_finish(&allocator);
}

// A reader on a thread of its own

enum { TICK_COUNT = 3000 };

typedef struct reading {
    uint64_t frame_count;
    uint64_t torn_count;
    uint64_t back_count;
} reading;

static void *read_frames(void *argument) {
    reading *read = argument;
    uint64_t last = 0;
    while (last < TICK_COUNT) {
        const mica_frame *frame = mica_extract_latest(extract);
        const mica_frame_info info = frame == NULL ? (mica_frame_info){0} : mica_frame_describe(frame);
        if (info.number == last) {
            sched_yield();
            continue;
        }
        int32_t count = 0;
        const sprite *sprites = mica_frame_list(frame, 0, sprite, &count);
        read->frame_count++;
        read->back_count += info.number < last || info.tick != info.number;
        read->torn_count += count != (int32_t)(info.tick % 100) + 1;
        for (int32_t i = 0; i < count; i++) {
            read->torn_count += sprites[i].tick != info.tick;
        }
        last = info.number;
    }
    return NULL;
}

static void a_reader_on_another_thread_sees_whole_frames_in_order(void **state) {
    (void)state;
    reading read = {0};
    pthread_t reader;
    assert_int_equal(pthread_create(&reader, NULL, read_frames, &read), 0);
    for (uint64_t tick = 1; tick <= TICK_COUNT; tick++) {
        sprite_count = (int32_t)(tick % 100) + 1;
        assert_int_equal(mica_world_step(world, 1), MICA_OK);
    }
    assert_int_equal(pthread_join(reader, NULL), 0);
    assert_true(read.frame_count > 0);
    assert_int_equal(read.back_count, 0);
    assert_int_equal(read.torn_count, 0);
}

// Several lists

enum { MARK_COUNT = 500 };

typedef struct mark {
    uint64_t tick;
} mark;

static void draw_list(mica_run *run) {
    const int32_t list = *(const int32_t *)mica_run_user(run);
    mica_frame *frame = mica_run_frame(run, extract);
    mark *marks = mica_frame_add(frame, list, mark, MARK_COUNT);
    if (marks == NULL) {
        mica_run_fail(run, mica_last_result(), mica_last_error());
        return;
    }
    for (int32_t i = 0; i < MARK_COUNT; i++) {
        marks[i].tick = mica_run_tick(run) + 1;
    }
}

typedef struct list_reading {
    const mica_frame *frame;
    int32_t list;
    int32_t right_count; // marks of the frame's own tick
} list_reading;

static void *read_list(void *argument) {
    list_reading *read = argument;
    const uint64_t tick = mica_frame_describe(read->frame).tick;
    int32_t count = 0;
    const mark *marks = mica_frame_list(read->frame, read->list, mark, &count);
    for (int32_t i = 0; i < count; i++) {
        read->right_count += marks[i].tick == tick;
    }
    return NULL;
}

static void lists_are_filled_side_by_side_and_read_by_several_threads(void **state) {
    (void)state;
    static const int32_t lists[2] = {0, 1};
    mica_world *own = mica_world_create(&(mica_world_def){.thread_count = 3, .always_parallel = true});
    extract = mica_extract_create(own, &(mica_extract_def){.lists = {mica_list_of(mark, 0), mica_list_of(mark, 0)}});
    assert_non_null(extract);
    const mica_system_def defs[2] = {
        {.name = "left", .run = draw_list, .query = {mica_read(Body)}, .user = (void *)(uintptr_t)&lists[0]},
        {.name = "right", .run = draw_list, .query = {mica_read(Body)}, .user = (void *)(uintptr_t)&lists[1]},
    };
    assert_int_not_equal(mica_system_add(own, &defs[0]).id, 0);
    assert_int_not_equal(mica_system_add(own, &defs[1]).id, 0);
    assert_int_equal(mica_world_step(own, 1), MICA_OK);
    for (int32_t i = 0; i < 20; i++) {
        const mica_frame *frame = mica_extract_latest(extract);
        list_reading read[2] = {{frame, 0, 0}, {frame, 1, 0}};
        pthread_t readers[2];
        assert_int_equal(pthread_create(&readers[0], NULL, read_list, &read[0]), 0);
        assert_int_equal(pthread_create(&readers[1], NULL, read_list, &read[1]), 0);
        assert_int_equal(mica_world_step(own, 1), MICA_OK); // fills another frame meanwhile
        assert_int_equal(pthread_join(readers[0], NULL), 0);
        assert_int_equal(pthread_join(readers[1], NULL), 0);
        assert_int_equal(read[0].right_count, MARK_COUNT);
        assert_int_equal(read[1].right_count, MARK_COUNT);
    }
    mica_world_destroy(own);
}

int main(void) {
#define CASE(NAME) cmocka_unit_test_setup_teardown(NAME, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(a_frame_comes_with_each_tick),
        CASE(the_frame_that_is_held_stays_as_it_is),
        CASE(a_tick_that_fails_publishes_nothing),
        CASE(nobody_who_asks_leaves_the_latest_frame),
        CASE(an_empty_frame_is_published_as_well),
        CASE(frames_say_how_far_the_clock_stands),
        CASE(frames_that_are_made_up_for_say_so),
        CASE(a_paused_world_publishes_what_goes_on),
        CASE(a_restore_takes_no_frame_back),
        CASE(misuse_is_refused),
        CASE(one_may_end_while_another_goes_on),
        CASE(items_lie_at_their_alignment),
        CASE(frames_that_are_alike_allocate_nothing),
        CASE(a_reader_on_another_thread_sees_whole_frames_in_order),
        CASE(lists_are_filled_side_by_side_and_read_by_several_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// Frames in which as many entities come as go allocate nothing once all has been there.
#include "busy_world.h"

enum { WARM_UP = 100, FRAME_COUNT = 1000 };

static void a_steady_frame_allocates_nothing(void **state) {
    (void)state;
    test_allocator allocator;
    test_allocator_init(&allocator);
    busy_world busy;
    busy_begin(&busy, &(mica_world_def){.allocator = test_allocator_hooks(&allocator)});
    for (int32_t i = 0; i < WARM_UP; i++) {
        busy_frame(&busy);
    }
    const uint64_t calls = allocator.call_count;
    const size_t bytes = allocator.live_bytes;
    const Score before = *mica_resource(busy.world, Score);
    const int64_t signals = busy.signal_count;
    for (int32_t i = 0; i < FRAME_COUNT; i++) {
        busy_frame(&busy);
        assert_int_equal(allocator.call_count - calls, 0);
    }
    assert_int_equal(allocator.live_bytes, bytes); // nor is anything given back
    // Everything did go on.
    const Score *after = mica_resource(busy.world, Score);
    assert_true(after->heard - before.heard >= FRAME_COUNT);
    assert_int_equal(after->heard - before.heard, after->hits - before.hits);
    assert_true(after->noticed - before.noticed >= FRAME_COUNT);
    assert_true(after->placed - before.placed >= FRAME_COUNT);
    assert_true(busy.signal_count - signals >= FRAME_COUNT * 40);
    assert_true(mica_group_count(busy.group) > 0);
    assert_int_equal(mica_world_validate(busy.world), MICA_OK);
    busy_end(&busy);
    test_allocator_finish(&allocator);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_steady_frame_allocates_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

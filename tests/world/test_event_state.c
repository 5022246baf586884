// Events as state: queues go on from where they were, whatever happened meanwhile, and readers of the program with what
// they have not seen.
#include "support/test_random.h"
#include "world/event.h"
#include "world/ledger.h"
#include "world/part_world.h"

MICA_STRUCT(Hit, {
    uint8_t kind;
    int32_t damage;
});
MICA_STRUCT(Wide, { int32_t numbers[300]; });
MICA_STRUCT(Alpha, { int32_t number; });
MICA_TAG(Bell);

enum { TYPE_COUNT = 4, READER_COUNT = 6 };

typedef struct fixture {
    test_allocator allocator;
    mi_heap heap;
    mica_world *world;
    mi_record record;
    mica_component types[TYPE_COUNT]; // Hit, Wide, Bell, Owned
    mica_event_reader *readers[READER_COUNT];
    uint64_t positions[READER_COUNT]; // of the readers, saved
    uint64_t heard;                   // a hash of all that was seen
    int32_t damages[64];              // of hits that handlers were told of
    int32_t told_count;
    mica_event_handler handler;
} fixture;

static int set_up(void **state) {
    static fixture f;
    f = (fixture){.world = NULL};
    ledger_start();
    test_heap_begin(&f.allocator, &f.heap);
    f.world = mica_world_create(&(mica_world_def){.allocator = test_allocator_hooks(&f.allocator)});
    assert_non_null(f.world);
    f.record = part_record(&f.heap);
    f.types[0] = mica_register(f.world, Hit);
    f.types[1] = mica_register(f.world, Wide);
    f.types[2] = mica_register(f.world, Bell);
    f.types[3] = mica_register(f.world, Owned);
    *state = &f;
    return 0;
}

static int tear_down(void **state) {
    fixture *f = *state;
    mi_record_free(&f->record);
    assert_string_equal(mica_world_validate(f->world) == MICA_OK ? "" : mica_last_error(), "");
    mica_world_destroy(f->world);
    ledger_finish();
    test_allocator_finish(&f->allocator);
    return 0;
}

// Saves, also where the readers that are lent stand.
static void save(fixture *f) {
    mi_record_free(&f->record);
    assert_int_equal(part_save(f->world, &mi_events_part, &f->record), MICA_OK);
    for (int32_t i = 0; i < READER_COUNT && f->readers[i] != NULL; i++) {
        f->positions[i] = mi_event_reader_position(f->readers[i]);
    }
}

static void load(const fixture *f) {
    assert_int_equal(part_load(f->world, &mi_events_part, &f->record), MICA_OK);
    for (int32_t i = 0; i < READER_COUNT && f->readers[i] != NULL; i++) {
        mi_event_reader_place(f->readers[i], f->positions[i]);
    }
}

static void send_hits(const fixture *f, int32_t first, int32_t count) {
    for (int32_t i = 0; i < count; i++) {
        mica_send(f->world, Hit, {1, first + i});
    }
}

// What a reader of hits sees next; -1: nothing.
static int32_t next_hit(mica_event_reader *reader) {
    const Hit *hit = mica_next_event(reader, Hit);
    return hit != NULL ? hit->damage : -1;
}

static void hear_hit(const mica_event *event) {
    fixture *f = event->user;
    if (f->told_count < 64) {
        f->damages[f->told_count++] = mica_event_value(event, Hit)->damage;
    }
}

static void pending_events_come_back(void **state) {
    fixture *f = *state;
    mica_event_reader *reader = mi_event_reader_lend(f->world, f->types[0], "lent", "test");
    f->readers[0] = reader;
    send_hits(f, 0, 5);
    assert_int_equal(next_hit(reader), 0);
    save(f);
    assert_int_equal(next_hit(reader), 1);
    send_hits(f, 100, 3);
    mica_world_step(f->world, 1);
    load(f);
    assert_int_equal(mica_event_reader_count(reader), 4);
    for (int32_t i = 1; i < 5; i++) {
        assert_int_equal(next_hit(reader), i);
    }
    assert_int_equal(next_hit(reader), -1);
    load(f); // as often as wanted
    assert_int_equal(next_hit(reader), 1);
}

static void deliveries_go_on_from_where_they_were(void **state) {
    fixture *f = *state;
    mica_on_event(f->world, Hit, hear_hit, f);
    send_hits(f, 0, 2);
    assert_int_equal(mica_deliver(f->world, Hit), 2);
    send_hits(f, 2, 3);
    save(f);
    assert_int_equal(mica_deliver(f->world, Hit), 3);
    send_hits(f, 100, 3);
    assert_int_equal(mica_deliver(f->world, Hit), 3);
    load(f);
    f->told_count = 0;
    assert_int_equal(mica_deliver(f->world, Hit), 3);
    for (int32_t i = 0; i < 3; i++) {
        assert_int_equal(f->damages[i], 2 + i);
    }
}

static void who_was_bound_later_hears_nothing_older(void **state) {
    fixture *f = *state;
    mica_event_reader *reader = mica_reader_of(f->world, Hit, NULL);
    send_hits(f, 0, 3);
    save(f);
    send_hits(f, 100, 3);
    mica_on_event(f->world, Hit, hear_hit, f);
    load(f);
    assert_int_equal(mica_deliver(f->world, Hit), 0);
    send_hits(f, 3, 1);
    assert_int_equal(mica_deliver(f->world, Hit), 1);
    assert_int_equal(f->damages[0], 3);
    mica_event_reader_destroy(reader);
}

// Readers of the program

static void a_reader_that_has_seen_what_is_discarded_sees_what_is_sent_again(void **state) {
    fixture *f = *state;
    mica_event_reader *reader = mica_reader_of(f->world, Hit, NULL);
    send_hits(f, 0, 3);
    for (int32_t i = 0; i < 3; i++) {
        next_hit(reader);
    }
    save(f);
    send_hits(f, 3, 2);
    assert_int_equal(next_hit(reader), 3);
    assert_int_equal(next_hit(reader), 4);
    load(f);
    assert_int_equal(next_hit(reader), -1);
    send_hits(f, 3, 2);
    assert_int_equal(next_hit(reader), 3);
    assert_int_equal(next_hit(reader), 4);
    assert_int_equal(next_hit(reader), -1);
}

static void a_reader_goes_on_with_what_it_has_not_seen(void **state) {
    fixture *f = *state;
    mica_event_reader *reader = mica_reader_of(f->world, Hit, NULL);
    send_hits(f, 0, 5);
    save(f);
    assert_int_equal(next_hit(reader), 0);
    assert_int_equal(next_hit(reader), 1);
    send_hits(f, 100, 2); // are discarded
    load(f);
    for (int32_t i = 2; i < 5; i++) {
        assert_int_equal(next_hit(reader), i);
    }
    assert_int_equal(next_hit(reader), -1);
    assert_int_equal(mica_event_reader_statistics(reader).missed_count, 0);
}

static void a_reader_that_is_made_later_sees_what_is_sent_from_then_on(void **state) {
    fixture *f = *state;
    mica_event_reader *first = mica_reader_of(f->world, Hit, NULL);
    send_hits(f, 0, 2);
    save(f);
    send_hits(f, 100, 7);
    mica_event_reader *second = mica_reader_of(f->world, Hit, NULL);
    load(f);
    assert_int_equal(next_hit(second), -1);
    assert_int_equal(next_hit(first), 0);
    send_hits(f, 2, 1);
    assert_int_equal(next_hit(second), 2);
}

static void forwards_again_a_reader_sees_what_came_in_between(void **state) {
    fixture *f = *state;
    mica_event_reader *reader = mica_reader_of(f->world, Hit, NULL);
    mi_record early = part_record(&f->heap);
    send_hits(f, 0, 2);
    assert_int_equal(part_save(f->world, &mi_events_part, &early), MICA_OK);
    send_hits(f, 2, 2);
    save(f);
    assert_int_equal(part_load(f->world, &mi_events_part, &early), MICA_OK);
    assert_int_equal(next_hit(reader), 0);
    assert_int_equal(next_hit(reader), 1);
    assert_int_equal(next_hit(reader), -1);
    load(f);
    assert_int_equal(next_hit(reader), 2);
    assert_int_equal(next_hit(reader), 3);
    mi_record_free(&early);
}

static void numbers_count_what_nobody_hears(void **state) {
    fixture *f = *state;
    send_hits(f, 0, 4);
    save(f);
    mica_event_reader *reader = mica_reader_of(f->world, Hit, NULL);
    send_hits(f, 4, 1);
    assert_int_equal(next_hit(reader), 4);
    load(f);
    send_hits(f, 4, 1);
    assert_int_equal(next_hit(reader), 4); // sent again, seen again
}

// Ages and limits

static void limits_come_back(void **state) {
    fixture *f = *state;
    mica_event_reader *reader = mica_reader_of(f->world, Hit, NULL);
    assert_int_equal(mica_event_set_limits(f->world, f->types[0], 2, 3), MICA_OK);
    save(f);
    assert_int_equal(mica_event_set_limits(f->world, f->types[0], 40, 0), MICA_OK);
    load(f);
    send_hits(f, 0, 5);
    assert_int_equal(mica_event_reader_count(reader), 3);
    for (int32_t i = 0; i < 3; i++) {
        assert_int_equal(mica_world_step(f->world, 1), MICA_OK);
    }
    assert_int_equal(mica_event_reader_count(reader), 0);
}

static void events_are_as_old_as_they_were(void **state) {
    fixture *f = *state;
    mica_event_reader *reader = mi_event_reader_lend(f->world, f->types[0], "lent", "test");
    f->readers[0] = reader;
    assert_int_equal(mica_event_set_limits(f->world, f->types[0], 3, 0), MICA_OK);
    for (int32_t tick = 0; tick < 3; tick++) {
        send_hits(f, tick, 1);
        assert_int_equal(mica_world_step(f->world, 1), MICA_OK);
    }
    save(f);
    assert_int_equal(mica_event_reader_count(reader), 3);
    for (int32_t later = 0; later < 7; later++) { // whatever tick it is now
        assert_int_equal(mica_world_step(f->world, 1), MICA_OK);
        load(f);
        for (uint64_t tick = 0; tick < 3; tick++) {
            assert_int_equal(mica_event_reader_count(reader), 3 - tick);
            assert_int_equal(mica_world_step(f->world, 1), MICA_OK);
        }
        assert_int_equal(mica_event_reader_count(reader), 0);
    }
}

static void types_that_were_new_are_new_again(void **state) {
    fixture *f = *state;
    save(f);
    mica_event_reader *reader = mica_reader_of(f->world, Hit, NULL);
    assert_int_equal(mica_event_set_limits(f->world, f->types[0], 2, 3), MICA_OK);
    send_hits(f, 0, 3);
    assert_int_equal(next_hit(reader), 0);
    load(f);
    assert_int_equal(next_hit(reader), -1);
    assert_true(part_is(f->world, &mi_events_part, &f->record));
    send_hits(f, 0, 5);
    assert_int_equal(mica_event_reader_count(reader), 5);
    assert_int_equal(part_load(f->world, &mi_events_part, NULL), MICA_OK);
    assert_int_equal(mica_event_reader_count(reader), 0);
}

// What a system sees depends on where spans are cut.
static void spans_are_cut_where_they_were(void **state) {
    fixture *f = *state;
    mica_event_reader *reader = mi_event_reader_lend(f->world, f->types[1], "lent", "test");
    f->readers[0] = reader;
    for (int32_t i = 0; i < 40; i++) {
        mica_send(f->world, Wide, {{i}});
        if (i == 4 || i == 6) {
            mica_next_event(reader, Wide);
        }
    }
    save(f);
    int32_t lengths[2][64];
    int32_t counts[2] = {0, 0};
    for (int32_t turn = 0; turn < 2; turn++) {
        while (counts[turn] < 64 && mica_next_events(reader, Wide, &lengths[turn][counts[turn]]) != NULL) {
            counts[turn]++;
        }
        load(f);
    }
    assert_int_equal(counts[0], counts[1]);
    assert_memory_equal(lengths[0], lengths[1], (size_t)counts[0] * sizeof(int32_t));
}

// Also where all events have been seen, so that none is in the record.
static void spans_of_later_events_are_cut_where_they_were(void **state) {
    fixture *f = *state;
    mica_event_reader *reader = mi_event_reader_lend(f->world, f->types[1], "lent", "test");
    f->readers[0] = reader;
    for (int32_t i = 0; i < 5; i++) {
        mica_send(f->world, Wide, {{i}});
        mica_next_event(reader, Wide);
    }
    save(f);
    int32_t lengths[2][64];
    int32_t counts[2] = {0, 0};
    for (int32_t turn = 0; turn < 2; turn++) {
        for (int32_t i = 0; i < 40; i++) {
            mica_send(f->world, Wide, {{i}});
        }
        while (counts[turn] < 64 && mica_next_events(reader, Wide, &lengths[turn][counts[turn]]) != NULL) {
            counts[turn]++;
        }
        load(f);
    }
    assert_true(counts[0] > 1);
    assert_int_equal(counts[0], counts[1]);
    assert_memory_equal(lengths[0], lengths[1], (size_t)counts[0] * sizeof(int32_t));
}

// All of it, at random

static void mix(fixture *f, uint64_t number) {
    f->heard = (f->heard ^ number) * UINT64_C(0x9e3779b97f4a7c15) + (f->heard >> 29);
}

static void hear_any(const mica_event *event) {
    fixture *f = event->user;
    mix(f, event->component);
    if (event->component == f->types[0]) {
        mix(f, (uint64_t)mica_event_value(event, Hit)->damage);
    } else if (event->component == f->types[3]) {
        mix(f, (uint64_t)*mica_event_value(event, Owned)->number);
    }
}

static void send_any(const fixture *f, test_random *random) {
    const uint32_t which = test_random_below(random, TYPE_COUNT);
    const int32_t number = (int32_t)test_random_below(random, 1000);
    if (which == 0) {
        mica_send(f->world, Hit, {2, number});
    } else if (which == 1) {
        mica_send(f->world, Wide, {{number}});
    } else if (which == 2) {
        mica_send_tag(f->world, Bell);
    } else {
        Owned value;
        owned_hold(&value, number, f->world);
        mica_send_from(f->world, Owned, &value);
        owned_drop(&value, f->world);
    }
}

static void read_any(fixture *f, test_random *random) {
    mica_event_reader *reader = f->readers[test_random_below(random, READER_COUNT)];
    const mica_component type = mica_event_reader_statistics(reader).component;
    int32_t count = 0;
    const void *values = mica_event_reader_span(reader, NULL, (int32_t)test_random_below(random, 40), &count);
    mix(f, (uint64_t)count);
    for (int32_t i = 0; i < count; i++) {
        if (type == f->types[0]) {
            mix(f, (uint64_t)((const Hit *)values)[i].damage);
        } else if (type == f->types[1]) {
            mix(f, (uint64_t)((const Wide *)values)[i].numbers[0]);
        } else if (type == f->types[3]) {
            mix(f, (uint64_t) * ((const Owned *)values)[i].number);
        }
    }
}

static void play(fixture *f, uint64_t seed, int32_t count) {
    test_random random = {seed};
    for (int32_t i = 0; i < count; i++) {
        const uint32_t what = test_random_below(&random, 100);
        if (what < 60) {
            send_any(f, &random);
        } else if (what < 85) {
            read_any(f, &random);
        } else if (what < 92) {
            mix(f, (uint64_t)mica_event_deliver(f->world, f->types[test_random_below(&random, TYPE_COUNT)]));
        } else if (what < 98) {
            assert_int_equal(mica_world_step(f->world, 1), MICA_OK);
        } else {
            assert_int_equal(mica_event_set_limits(f->world, f->types[test_random_below(&random, TYPE_COUNT)],
                                                   1 + test_random_below(&random, 20), test_random_below(&random, 60)),
                             MICA_OK);
        }
    }
}

static void begin_play(fixture *f) {
    for (int32_t i = 0; i < READER_COUNT; i++) {
        f->readers[i] = mi_event_reader_lend(f->world, f->types[i % TYPE_COUNT], "lent", "test");
        assert_non_null(f->readers[i]);
    }
    mica_on_event(f->world, Hit, hear_any, f);
    mica_on_event(f->world, Owned, hear_any, f);
}

static void the_next_thousand_operations_are_the_same_again(void **state) {
    fixture *f = *state;
    begin_play(f);
    for (uint64_t seed = 1; seed <= 30; seed++) {
        play(f, seed, 1 + (int32_t)seed * 10);
        mica_world_step(f->world, 1); // what was handed out is not in use any more
        save(f);
        mi_record end = part_record(&f->heap);
        uint64_t heard[3];
        for (int32_t turn = 0; turn < 3; turn++) {
            f->heard = 0;
            play(f, seed + 1000, 1000);
            heard[turn] = f->heard;
            if (turn == 0) {
                assert_int_equal(part_save(f->world, &mi_events_part, &end), MICA_OK);
            } else {
                assert_true(part_is(f->world, &mi_events_part, &end));
            }
            play(f, seed + 2000, 50);
            load(f);
            assert_true(part_is(f->world, &mi_events_part, &f->record));
        }
        assert_true(heard[0] == heard[1] && heard[0] == heard[2]);
        mi_record_free(&end);
        assert_int_equal(mica_world_validate(f->world), MICA_OK);
    }
}

static void the_stamp_tells_of_every_change(void **state) {
    fixture *f = *state;
    begin_play(f);
    test_random random = {7};
    mi_record last = part_record(&f->heap);
    for (int32_t i = 0; i < 2000; i++) {
        const uint64_t stamp = mi_events_part.stamp(f->world);
        assert_int_equal(part_save(f->world, &mi_events_part, &last), MICA_OK);
        if (i % 50 == 49) {
            load(f);
        } else {
            play(f, test_random_next(&random), 1);
        }
        const uint64_t next = mi_events_part.stamp(f->world);
        assert_true(next >= stamp);
        assert_true(next > stamp || part_is(f->world, &mi_events_part, &last));
        if (i % 50 == 20) {
            save(f);
        }
        mi_record_free(&last);
    }
}

static void ticks_in_which_nothing_waits_change_no_stamp(void **state) {
    fixture *f = *state;
    mica_event_reader *reader = mica_reader_of(f->world, Hit, NULL);
    send_hits(f, 0, 1);
    next_hit(reader);
    const uint64_t stamp = mi_events_part.stamp(f->world);
    mica_world_step(f->world, 1);
    assert_int_equal(mi_events_part.stamp(f->world), stamp);
}

// So a world that is kept equal to another one by deltas may be looked at.
static void what_readers_of_the_program_see_changes_no_stamp(void **state) {
    fixture *f = *state;
    mica_event_reader *first = mica_reader_of(f->world, Hit, NULL);
    mica_event_reader *second = mica_reader_of(f->world, Hit, NULL);
    send_hits(f, 0, 3);
    save(f);
    const uint64_t stamp = mi_events_part.stamp(f->world);
    assert_int_equal(next_hit(first), 0);
    assert_int_equal(next_hit(first), 1);
    mica_event_reader_destroy(second);
    assert_int_equal(mi_events_part.stamp(f->world), stamp);
    load(f); // has more than anybody has to see
    assert_int_equal(next_hit(first), 2);
    assert_int_equal(next_hit(first), -1);
}

// Records

static void bytes_depend_neither_on_padding_nor_on_the_order_of_registration(void **state) {
    fixture *f = *state;
    mica_world *other = mica_world_create(NULL);
    mica_world *worlds[] = {f->world, other};
    mica_register(f->world, Alpha);
    mica_register(other, Alpha);
    for (int32_t i = 0; i < 2; i++) {
        Hit hit;
        memset(&hit, i == 0 ? 0x11 : 0xee, sizeof(hit));
        hit.kind = 1;
        hit.damage = 5;
        assert_non_null(mica_reader_of(worlds[i], Hit, NULL));
        mica_event_send(worlds[i], mica_world_component(worlds[i], mica_type_of(Hit)), &hit);
        mica_send(worlds[i], Alpha, {3});
        mica_world_step(worlds[i], 1);
    }
    mica_world_step(other, 1); // events are a tick older there
    save(f);
    assert_false(part_is(other, &mi_events_part, &f->record));
    mica_world_step(f->world, 1);
    save(f);
    assert_true(part_is(other, &mi_events_part, &f->record));
    mica_world_destroy(other);
}

static void a_record_is_good_for_another_world(void **state) {
    fixture *f = *state;
    begin_play(f);
    play(f, 3, 500);
    mica_world_step(f->world, 1);
    save(f);
    mica_world *other = mica_world_create(&(mica_world_def){.schema = mica_world_schema(f->world)});
    assert_int_equal(part_load(other, &mi_events_part, &f->record), MICA_OK);
    assert_int_equal(mica_world_validate(other), MICA_OK);
    mica_event_reader *reader = mi_event_reader_lend(other, f->types[0], "lent", "test");
    mi_event_reader_place(reader, f->positions[0]);
    assert_int_equal(mica_event_reader_count(reader), mica_event_reader_count(f->readers[0]));
    for (int32_t damage = 0; damage != -1;) {
        damage = next_hit(reader);
        assert_int_equal(damage, next_hit(f->readers[0]));
    }
    mica_world_destroy(other);
}

static uint64_t checksum_of(fixture *f) {
    uint64_t checksum = 0;
    assert_int_equal(mica_world_checksum(f->world, NULL, &checksum), MICA_OK);
    return checksum;
}

static uint64_t checksum_of_snapshot(fixture *f) {
    mica_snapshot *snapshot = mica_snapshot_take(f->world, NULL);
    uint64_t checksum = 0;
    assert_int_equal(mica_snapshot_checksum(snapshot, NULL, &checksum), MICA_OK);
    mica_snapshot_release(snapshot);
    return checksum;
}

// Readers of the program are no state: that they read makes no other world.
static void what_readers_of_the_program_see_changes_no_checksum(void **state) {
    fixture *f = *state;
    mica_event_reader *lent = mi_event_reader_lend(f->world, f->types[0], "lent", "test");
    mica_event_reader *own = mica_reader_of(f->world, Hit, "own");
    send_hits(f, 0, 5);
    mica_next_event(lent, Hit);
    mica_next_event(lent, Hit);
    const uint64_t before = checksum_of(f);
    assert_int_equal(checksum_of_snapshot(f), before);
    for (int32_t i = 0; i < 5; i++) {
        assert_non_null(mica_next_event(own, Hit));
        assert_int_equal(checksum_of(f), before);
        assert_int_equal(checksum_of_snapshot(f), before);
    }
    mica_next_event(lent, Hit);
    assert_int_not_equal(checksum_of(f), before);
    mi_event_reader_end(lent);
}

static void a_position_beyond_what_is_there_is_the_first_event(void **state) {
    fixture *f = *state;
    mica_event_reader *reader = mi_event_reader_lend(f->world, f->types[0], "lent", "test");
    send_hits(f, 0, 3);
    mi_event_reader_place(reader, UINT64_MAX);
    assert_int_equal(mi_event_reader_position(reader), 3);
    assert_int_equal(next_hit(reader), 0);
}

static void a_value_that_can_only_move_cannot_be_saved(void **state) {
    fixture *f = *state;
    mica_register(f->world, Sole);
    mica_event_reader *reader = mica_reader_of(f->world, Sole, NULL);
    Sole value;
    owned_hold(&value.owned, 7, f->world);
    mica_send_from(f->world, Sole, &value);
    mi_writer writer = {.schema = f->world->schema, .record = &f->record};
    mi_events_part.save(f->world, &writer);
    assert_int_equal(writer.result, MICA_NO_COPY);
    assert_string_equal(writer.type->info.name, "Sole");
    mica_next_event(reader, Sole);
    save(f); // nobody has it to see any more
    load(f);
}

// Sends, reads, delivers and grows old, with whatever numbers.
static void use_events(void *user) {
    fixture *f = user;
    for (int32_t turn = 0; turn < 3; turn++) {
        send_hits(f, 0, 2);
        mica_send_tag(f->world, Bell);
        while (next_hit(f->readers[0]) != -1) {
        }
        assert_true(mica_deliver(f->world, Hit) >= 0);
        assert_true(mica_deliver(f->world, Bell) >= 0);
        while (mica_next_event(f->readers[1], Owned) != NULL) {
        }
        assert_int_equal(mica_world_step(f->world, 1), MICA_OK);
        assert_int_equal(mica_world_validate(f->world), MICA_OK);
    }
}

static void records_from_outside_stand_every_cut_and_change(void **state) {
    fixture *f = *state;
    mica_event_reader *hits = mica_reader_of(f->world, Hit, NULL);
    f->readers[0] = hits;
    f->readers[1] = mica_reader_of(f->world, Owned, NULL);
    mica_on_event(f->world, Hit, hear_any, f);
    mica_on_event(f->world, Bell, hear_any, f);
    assert_int_equal(mica_event_set_limits(f->world, f->types[0], 4, 5), MICA_OK);
    send_hits(f, 0, 3);
    mica_world_step(f->world, 1);
    mica_send_tag(f->world, Bell);
    for (int32_t i = 0; i < 2; i++) {
        Owned value;
        owned_hold(&value, i, f->world);
        mica_send_from(f->world, Owned, &value);
        owned_drop(&value, f->world);
    }
    next_hit(hits);
    mica_deliver(f->world, Hit);
    send_hits(f, 3, 1);
    save(f);
    part_assert_stands_all(&(part_outside){
        .world = f->world, .part = &mi_events_part, .record = &f->record, .use = use_events, .user = f});
}

static void every_lack_of_memory_leaves_everything_as_it_was(void **state) {
    fixture *f = *state;
    test_random random = {5};
    begin_play(f);
    for (int32_t i = 0; i < 300; i++) { // nobody reads, so that no reader has to be placed
        send_any(f, &random);
        if (i == 200) {
            save(f);
            mica_deliver(f->world, Owned);
            mica_world_step(f->world, 1);
        }
    }
    part_assert_stands_lack(f->world, &mi_events_part, &f->record, &f->allocator);
}

int main(void) {
#define CASE(NAME) cmocka_unit_test_setup_teardown(NAME, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(pending_events_come_back),
        CASE(deliveries_go_on_from_where_they_were),
        CASE(who_was_bound_later_hears_nothing_older),
        CASE(a_reader_that_has_seen_what_is_discarded_sees_what_is_sent_again),
        CASE(a_reader_goes_on_with_what_it_has_not_seen),
        CASE(a_reader_that_is_made_later_sees_what_is_sent_from_then_on),
        CASE(forwards_again_a_reader_sees_what_came_in_between),
        CASE(numbers_count_what_nobody_hears),
        CASE(limits_come_back),
        CASE(events_are_as_old_as_they_were),
        CASE(types_that_were_new_are_new_again),
        CASE(spans_are_cut_where_they_were),
        CASE(spans_of_later_events_are_cut_where_they_were),
        CASE(the_next_thousand_operations_are_the_same_again),
        CASE(the_stamp_tells_of_every_change),
        CASE(ticks_in_which_nothing_waits_change_no_stamp),
        CASE(what_readers_of_the_program_see_changes_no_stamp),
        CASE(bytes_depend_neither_on_padding_nor_on_the_order_of_registration),
        CASE(a_record_is_good_for_another_world),
        CASE(what_readers_of_the_program_see_changes_no_checksum),
        CASE(a_position_beyond_what_is_there_is_the_first_event),
        CASE(a_value_that_can_only_move_cannot_be_saved),
        CASE(records_from_outside_stand_every_cut_and_change),
        CASE(every_lack_of_memory_leaves_everything_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

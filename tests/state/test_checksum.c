// Checksums: the same for every way to come to a state, different for every state.
#include "state/checksum_world.h"

#include "store/ranges.h"

static const recipe plain = {.mix = ALL_IN_TABLES, .type_stride = 1, .entity_stride = 1, .padding = 0};

static uint64_t checksum_with(mica_world *world, const mica_checksum_options *options) {
    uint64_t checksum = 0;
    assert_int_equal(mica_world_checksum(world, options, &checksum), MICA_OK);
    return checksum;
}

static uint64_t checksum_of(mica_world *world) {
    return checksum_with(world, NULL);
}

static uint64_t checksum_of_snapshot(const mica_snapshot *snapshot) {
    uint64_t checksum = 0;
    assert_int_equal(mica_snapshot_checksum(snapshot, NULL, &checksum), MICA_OK);
    return checksum;
}

static uint64_t checksum_of_component(mica_world *world, mica_component component) {
    uint64_t checksum = 0;
    assert_int_equal(mica_world_component_checksum(world, component, &checksum), MICA_OK);
    return checksum;
}

static void it_is_the_same_for_every_storage_order_and_registration(void **state) {
    (void)state;
    mica_world *first = make_world(&plain);
    const uint64_t expected = checksum_of(first);
    for (storage_mix mix = ALL_IN_TABLES; mix < MIX_COUNT; mix++) {
        const uint32_t strides[][2] = {{1, 1}, {2, 7}, {4, 59}, {7, 13}};
        for (size_t i = 0; i < 4; i++) {
            const recipe other = {
                .mix = mix, .type_stride = strides[i][0], .entity_stride = strides[i][1], .padding = (uint8_t)(i * 85)};
            mica_world *world = make_world(&other);
            assert_int_equal(checksum_of(world), expected);
            for (uint32_t kind = 0; kind < KIND_COUNT; kind++) {
                assert_int_equal(checksum_of_component(world, component_of(world, kind)),
                                 checksum_of_component(first, component_of(first, kind)));
            }
            for (uint32_t n = 0; n < ENTITY_COUNT; n++) {
                uint64_t checksums[2];
                assert_int_equal(mica_entity_checksum(first, entity_at(n), NULL, &checksums[0]), MICA_OK);
                assert_int_equal(mica_entity_checksum(world, entity_at(n), NULL, &checksums[1]), MICA_OK);
                assert_int_equal(checksums[0], checksums[1]);
            }
            mica_world_destroy(world);
        }
    }
    mica_world_destroy(first);
}

// Constants that hold for all compilers, options and handle widths.
static void it_never_changes(void **state) {
    (void)state;
    const mica_checksum_options options = {.entities_only = true};
    mica_world *world = make_world(&plain);
    assert_int_equal(checksum_with(world, &options), UINT64_C(0x1e3baa430b09feb5));
    assert_int_equal(checksum_of_component(world, component_of(world, 1)), UINT64_C(0xbef3d0345a104275));
    assert_int_equal(checksum_of_component(world, component_of(world, 7)), UINT64_C(0x8fdab6da1ca77517));
    mica_world_destroy(world);
    world = mica_world_create(NULL);
    assert_int_equal(checksum_with(world, &options), 0);
    mica_world_destroy(world);
}

// Puts a value with one bit changed in place of another.
static void flip_bit(mica_world *world, mica_entity entity, mica_component component, uint32_t bit) {
    _Alignas(64) uint8_t value[128];
    assert_true(mica_entity_load(world, entity, component, value));
    value[bit / 8] ^= (uint8_t)(1u << bit % 8);
    assert_int_equal(mica_entity_store(world, entity, component, value), MICA_OK);
}

static bool counts(const mi_ranges *ranges, const uint8_t *value, uint32_t byte) {
    if (ranges->is_whole) {
        return true;
    }
    for (uint32_t i = 0; i < ranges->count; i++) {
        const mi_range *range = &ranges->data[i];
        if (byte >= range->offset && byte < range->offset + range->byte_size) {
            return !range->is_text || byte <= range->offset + strlen((const char *)value + range->offset);
        }
    }
    return false;
}

static void every_bit_of_every_field_counts_and_no_other(void **state) {
    (void)state;
    for (storage_mix mix = ALL_IN_TABLES; mix < MIX_COUNT; mix++) {
        const recipe how = {.mix = mix, .type_stride = 2, .entity_stride = 7, .padding = 0x5A};
        mica_world *world = make_world(&how);
        const uint64_t before = checksum_of(world);
        uint32_t counted = 0;
        uint32_t uncounted = 0;
        for (uint32_t kind = 0; kind < 7; kind++) {
            const mica_component component = component_of(world, kind);
            const mi_type *type = mi_schema_type(mica_world_schema(world), component);
            const mi_ranges *ranges = mi_type_ranges(mica_world_schema(world), type);
            const mica_entity entity = owner_of(kind, 11);
            _Alignas(64) uint8_t value[128];
            assert_true(mica_entity_load(world, entity, component, value));
            for (uint32_t bit = 0; bit < type->info.size * 8; bit++) {
                flip_bit(world, entity, component, bit);
                const bool is_counted = counts(ranges, value, bit / 8);
                assert_int_equal(checksum_of(world) != before, is_counted);
                flip_bit(world, entity, component, bit);
                counted += is_counted;
                uncounted += !is_counted;
            }
        }
        assert_int_equal(checksum_of(world), before);
        assert_true(counted > 500 && uncounted > 100);
        mica_world_destroy(world);
    }
}

// Things that can be done to one entity, each of which is another state.
enum { DEED_COUNT = 8 };

static bool do_deed(mica_world *world, uint32_t deed, mica_entity entity) {
    switch (deed) {
    case 0:
        return !mica_entity_has(world, entity, component_of(world, 7)) &&
               mica_entity_add(world, entity, component_of(world, 7), NULL) == MICA_OK;
    case 1:
        return mica_entity_has(world, entity, component_of(world, 7)) &&
               mica_entity_remove(world, entity, component_of(world, 7)) == MICA_OK;
    case 2:
        return mica_entity_has(world, entity, component_of(world, 3)) &&
               mica_entity_remove(world, entity, component_of(world, 3)) == MICA_OK;
    case 3:
        return mica_entity_enable(world, entity, !mica_entity_enabled(world, entity)) == MICA_OK;
    case 4:
        return mica_entity_kill(world, entity) == MICA_OK;
    case 5:
        return mica_entity_has(world, entity, component_of(world, 5)) &&
               mica_entity_enable_component(world, entity, component_of(world, 5),
                                            !mica_entity_component_enabled(world, entity, component_of(world, 5))) ==
                   MICA_OK;
    case 6:
        return mica_destroy(world, entity) == MICA_OK;
    default:
        // Another generation with the same components: none.
        return mica_destroy(world, entity) == MICA_OK && !mica_entity_is_null(mica_entity_create(world));
    }
}

static void whatever_is_done_to_any_entity_changes_it(void **state) {
    (void)state;
    for (storage_mix mix = ALL_IN_TABLES; mix < MIX_COUNT; mix += 2) {
        const recipe how = {.mix = mix, .type_stride = 1, .entity_stride = 7, .padding = 0};
        uint64_t seen[DEED_COUNT * ENTITY_COUNT + 1];
        uint32_t seen_count = 0;
        mica_world *world = make_world(&how);
        mica_snapshot *begin = mica_snapshot_take(world, NULL);
        assert_non_null(begin);
        const mica_checksum_options options = {.entities_only = true};
        seen[seen_count++] = checksum_with(world, &options);
        for (uint32_t deed = 0; deed < DEED_COUNT; deed++) {
            for (uint32_t n = 0; n < ENTITY_COUNT; n += 5) {
                if (do_deed(world, deed, entity_at(n))) {
                    seen[seen_count++] = checksum_with(world, &options);
                }
                assert_int_equal(mica_snapshot_restore(begin, world, NULL), MICA_OK);
                assert_int_equal(checksum_with(world, &options), seen[0]);
            }
        }
        assert_true(seen_count > 50);
        for (uint32_t i = 0; i < seen_count; i++) {
            for (uint32_t k = 0; k < i; k++) {
                assert_int_not_equal(seen[i], seen[k]);
            }
        }
        mica_snapshot_release(begin);
        mica_world_destroy(world);
    }
}

static void values_that_change_places_change_it(void **state) {
    (void)state;
    mica_world *world = make_world(&plain);
    const uint64_t before = checksum_of(world);
    const mica_component dense = component_of(world, 0);
    for (uint32_t n = 0; n < 40; n++) {
        const mica_entity first = owner_of(0, n);
        const mica_entity second = owner_of(0, mica_entity_index(first));
        Dense a;
        Dense b;
        assert_true(mica_entity_load(world, first, dense, &a));
        assert_true(mica_entity_load(world, second, dense, &b));
        mica_entity_store(world, first, dense, &b);
        mica_entity_store(world, second, dense, &a);
        assert_int_not_equal(checksum_of(world), before);
        mica_entity_store(world, first, dense, &a);
        mica_entity_store(world, second, dense, &b);
    }
    assert_int_equal(checksum_of(world), before);
    mica_world_destroy(world);
}

static void entities_add_up_to_the_world(void **state) {
    (void)state;
    for (storage_mix mix = ALL_IN_TABLES; mix < MIX_COUNT; mix++) {
        const recipe how = {.mix = mix, .type_stride = 1, .entity_stride = 1, .padding = 0x33};
        mica_world *world = make_world(&how);
        mica_destroy(world, entity_at(5));
        mica_destroy(world, entity_at(30));
        mica_entity_create(world);
        const mica_checksum_options options = {.entities_only = true};
        uint64_t sum = 0;
        uint32_t alive = 0;
        for (uint32_t n = 0; n < ENTITY_COUNT; n++) {
            for (uint32_t generation = 0; generation < 2; generation++) {
                uint64_t checksum = 0;
                const mica_entity entity = mica_entity_make(n + 1, generation);
                if (mica_entity_alive(world, entity)) {
                    assert_int_equal(mica_entity_checksum(world, entity, NULL, &checksum), MICA_OK);
                    alive++;
                }
                sum += checksum;
            }
        }
        assert_int_equal(alive, ENTITY_COUNT - 1);
        assert_int_equal(sum, checksum_with(world, &options));
        mica_world_destroy(world);
    }
}

static void a_snapshot_has_that_of_the_world_then(void **state) {
    (void)state;
    for (storage_mix mix = ALL_IN_TABLES; mix < MIX_COUNT; mix++) {
        const recipe how = {.mix = mix, .type_stride = 4, .entity_stride = 13, .padding = 0xEE};
        mica_world *world = make_world(&how);
        mica_world *cold = mica_world_create(&(mica_world_def){.schema = mica_world_schema(world)});
        mica_snapshot *snapshots[12];
        uint64_t checksums[12];
        test_random random = {mix + 1};
        for (uint32_t i = 0; i < 12; i++) {
            snapshots[i] = mica_snapshot_take(world, NULL);
            assert_non_null(snapshots[i]);
            checksums[i] = checksum_of_snapshot(snapshots[i]);
            assert_int_equal(checksums[i], checksum_of(world)); // by what is noted in images
            // A world that knows of no notes.
            assert_int_equal(mica_world_copy(cold, world), MICA_OK);
            assert_int_equal(checksum_of(cold), checksums[i]);
            for (uint32_t k = 0; k < i % 4; k++) {
                const mica_entity entity = entity_at(test_random_below(&random, ENTITY_COUNT));
                do_deed(world, test_random_below(&random, 7), entity);
                if (mica_entity_has(world, entity, component_of(world, 4))) {
                    flip_bit(world, entity, component_of(world, 4), test_random_below(&random, 72));
                }
            }
        }
        for (uint32_t i = 0; i < 12; i++) {
            assert_int_equal(checksum_of_snapshot(snapshots[(i * 5) % 12]), checksums[(i * 5) % 12]);
            assert_int_equal(mica_snapshot_restore(snapshots[i], world, NULL), MICA_OK);
            assert_int_equal(checksum_of(world), checksums[i]);
            for (uint32_t kind = 0; kind < KIND_COUNT; kind++) {
                uint64_t checksum = 0;
                const mica_component component = component_of(world, kind);
                assert_int_equal(mica_snapshot_component_checksum(snapshots[i], component, &checksum), MICA_OK);
                assert_int_equal(checksum, checksum_of_component(world, component));
            }
        }
        for (uint32_t i = 0; i < 12; i++) {
            mica_snapshot_release(snapshots[i]);
        }
        mica_world_destroy(cold);
        mica_world_destroy(world);
    }
}

static void what_was_noted_of_a_longer_column_is_not_taken_for_a_shorter_one(void **state) {
    (void)state;
    mica_world *world = mica_world_create(NULL);
    mica_world *other = mica_world_create(NULL);
    mica_entity last = MICA_NULL;
    for (uint8_t i = 0; i < 10; i++) {
        last = mica_spawn(world, mica_value_of(Small, {i}));
        if (i < 9) {
            mica_spawn(other, mica_value_of(Small, {i}));
        }
    }
    mica_snapshot *longer = mica_snapshot_take(world, NULL);
    const uint64_t before = checksum_of_snapshot(longer);
    mica_destroy(world, last);
    mica_snapshot *shorter = mica_snapshot_take(world, NULL);
    assert_int_equal(checksum_of_snapshot(shorter), checksum_of(other));
    assert_int_equal(checksum_of(world), checksum_of(other));
    assert_int_equal(checksum_of_snapshot(longer), before);
    assert_int_not_equal(checksum_of(world), before);
    mica_snapshot_release(longer);
    mica_snapshot_release(shorter);
    mica_world_destroy(world);
    mica_world_destroy(other);
}

static void what_is_left_out_does_not_count(void **state) {
    (void)state;
    mica_world *world = make_world(&plain);
    const mica_component leave[] = {component_of(world, 0), component_of(world, 8)};
    const mica_checksum_options options = {.leave = leave, .leave_count = 2};
    const uint64_t before = checksum_with(world, &options);
    assert_int_not_equal(before, checksum_of(world));
    flip_bit(world, owner_of(0, 12), leave[0], 3);
    mica_entity_remove(world, owner_of(8, 0), leave[1]);
    assert_int_equal(checksum_with(world, &options), before);
    flip_bit(world, owner_of(3, 0), component_of(world, 3), 3);
    assert_int_not_equal(checksum_with(world, &options), before);
    mica_world_destroy(world);
}

MICA_STRUCT_WITH(Cached, (.transient = true), { int32_t number; });

static void transient_types_count_unless_they_are_left_out(void **state) {
    (void)state;
    mica_world *world = make_world(&plain);
    const mica_checksum_options options = {.leave_transient = true};
    const uint64_t before = checksum_of(world);
    assert_int_equal(checksum_with(world, &options), before);
    mica_set(world, entity_at(3), Cached, {4});
    assert_int_not_equal(checksum_of(world), before);
    assert_int_equal(checksum_with(world, &options), before);
    mica_snapshot *snapshot = mica_snapshot_take(world, &(mica_snapshot_options){.leave_transient = true});
    assert_int_equal(checksum_of_snapshot(snapshot), before);
    mica_snapshot_release(snapshot);
    mica_world_destroy(world);
}

static void resources_count_unless_entities_alone_are_asked_for(void **state) {
    (void)state;
    mica_world *world = make_world(&plain);
    const mica_checksum_options options = {.entities_only = true};
    const uint64_t all = checksum_of(world);
    const uint64_t entities = checksum_with(world, &options);
    mica_set_resource(world, Score, {1});
    assert_int_not_equal(checksum_of(world), all);
    assert_int_equal(checksum_with(world, &options), entities);
    mica_set_resource(world, Score, {ENTITY_COUNT});
    assert_int_equal(checksum_of(world), all);
    mica_world_destroy(world);
}

static void exact_ones_see_the_order_of_rows_and_of_free_handles(void **state) {
    (void)state;
    const mica_checksum_options exact = {.exact = true};
    mica_world *worlds[3];
    for (uint32_t i = 0; i < 3; i++) {
        worlds[i] = mica_world_create(NULL);
        mica_entity entities[6];
        for (uint8_t k = 0; k < 6; k++) {
            entities[k] = mica_spawn(worlds[i], mica_value_of(Small, {k}));
        }
        // The last two end in the other order in one world, and a row moves to and fro in another one.
        mica_destroy(worlds[i], entities[i == 1 ? 4 : 5]);
        mica_destroy(worlds[i], entities[i == 1 ? 5 : 4]);
        if (i == 2) {
            mica_add(worlds[i], entities[0], Lit);
            mica_remove(worlds[i], entities[0], Lit);
        }
    }
    assert_int_equal(checksum_of(worlds[0]), checksum_of(worlds[1]));
    assert_int_equal(checksum_of(worlds[0]), checksum_of(worlds[2]));
    assert_int_not_equal(checksum_with(worlds[0], &exact), checksum_with(worlds[1], &exact));
    assert_int_not_equal(checksum_with(worlds[0], &exact), checksum_with(worlds[2], &exact));
    for (uint32_t i = 0; i < 3; i++) {
        mica_snapshot *snapshot = mica_snapshot_take(worlds[i], NULL);
        uint64_t checksum = 0;
        assert_int_equal(mica_snapshot_checksum(snapshot, &exact, &checksum), MICA_OK);
        assert_int_equal(checksum, checksum_with(worlds[i], &exact));
        mica_snapshot_release(snapshot);
        mica_world_destroy(worlds[i]);
    }
}

static void exact_ones_see_slots_that_a_cleared_world_left(void **state) {
    (void)state;
    const mica_checksum_options exact = {.exact = true};
    mica_world *world = make_world(&plain);
    mica_world_clear(world);
    const uint64_t cleared = checksum_with(world, &exact);
    mica_snapshot *snapshot = mica_snapshot_take(world, NULL);
    uint64_t checksum = 0;
    assert_int_equal(mica_snapshot_checksum(snapshot, &exact, &checksum), MICA_OK);
    assert_int_equal(checksum, cleared);
    assert_int_equal(mica_entity_index(mica_entity_create(world)), 1);
    assert_int_not_equal(checksum_with(world, &exact), cleared);
    mica_snapshot_release(snapshot);
    mica_world_destroy(world);
}

MICA_STRUCT_WITH(Nail, (.storage = MICA_POOL, .stable = true, .page_size = 4), { int32_t number; });

static void tombstones_do_not_count_unless_it_is_exact(void **state) {
    (void)state;
    const mica_checksum_options exact = {.exact = true};
    mica_world *worlds[2];
    for (uint32_t i = 0; i < 2; i++) {
        worlds[i] = mica_world_create(NULL);
        mica_entity entities[20];
        for (int32_t k = 0; k < 20; k++) {
            entities[k] = mica_entity_create(worlds[i]);
            mica_set(worlds[i], entities[k], Nail, {k});
        }
        for (int32_t k = 1; i == 1 && k < 20; k += 2) {
            mica_remove(worlds[i], entities[k], Nail);
        }
        for (int32_t k = 1; i == 1 && k < 20; k += 2) {
            mica_set(worlds[i], entities[k], Nail, {k});
        }
        mica_remove(worlds[i], entities[7], Nail);
        mica_remove(worlds[i], entities[8], Nail);
    }
    assert_int_equal(checksum_of(worlds[0]), checksum_of(worlds[1]));
    assert_int_not_equal(checksum_with(worlds[0], &exact), checksum_with(worlds[1], &exact));
    mica_snapshot *snapshot = mica_snapshot_take(worlds[0], NULL);
    assert_int_equal(checksum_of_snapshot(snapshot), checksum_of(worlds[0]));
    mica_snapshot_release(snapshot);
    mica_world_destroy(worlds[0]);
    mica_world_destroy(worlds[1]);
}

static bool copy_bytes(void *to, const void *from, int32_t count, const mica_hook_context *context) {
    (void)context;
    memcpy(to, from, (size_t)count * sizeof(void *));
    return true;
}

MICA_STRUCT_WITH(Secret, (.hooks = {.copy = copy_bytes}), { void *address; });

static void values_that_mean_nothing_elsewhere_are_refused_by_name(void **state) {
    (void)state;
    mica_world *world = make_world(&plain);
    const uint64_t before = checksum_of(world);
    uint64_t checksum = 5;
    mica_set(world, entity_at(3), Secret, {world});
    assert_int_equal(mica_world_checksum(world, NULL, &checksum), MICA_UNREFLECTED);
    assert_int_equal(checksum, 5);
    assert_non_null(strstr(mica_last_error(), "Secret"));
    assert_int_equal(mica_entity_checksum(world, entity_at(3), NULL, &checksum), MICA_UNREFLECTED);
    assert_int_equal(mica_entity_checksum(world, entity_at(4), NULL, &checksum), MICA_OK);
    const mica_component secret = mica_world_component(world, mica_type_of(Secret));
    assert_int_equal(mica_world_component_checksum(world, secret, &checksum), MICA_UNREFLECTED);
    assert_int_equal(checksum_with(world, &(mica_checksum_options){.leave = &secret, .leave_count = 1}), before);
    mica_world_destroy(world);
}

static void write_target(const void *value, const mica_sink *sink, const mica_hook_context *context) {
    const char *const *text = value;
    (void)context;
    sink->put(sink->user, *text, strlen(*text));
}

MICA_STRUCT_WITH(Told, (.hooks = {.copy = copy_bytes, .write = write_target}), { const char *text; });

static void a_write_hook_says_what_values_hold(void **state) {
    (void)state;
    mica_world *world = make_world(&plain);
    static const char texts[2][8] = {"same", "same"};
    mica_set(world, entity_at(3), Told, {texts[0]});
    const uint64_t before = checksum_of(world);
    mica_set(world, entity_at(3), Told, {texts[1]});
    assert_int_equal(checksum_of(world), before);
    mica_set(world, entity_at(3), Told, {"other"});
    assert_int_not_equal(checksum_of(world), before);
    mica_world_destroy(world);
}

static void names_count_by_their_texts(void **state) {
    (void)state;
    mica_world *worlds[2] = {make_world(&plain), make_world(&plain)};
    for (uint32_t i = 0; i < 2; i++) {
        mica_set_name(worlds[i], entity_at(3), i == 0 ? "lamp" : "first another one");
        mica_set_name(worlds[i], entity_at(4), "");
        mica_set_name(worlds[i], entity_at(3), "lamp");
    }
    assert_int_equal(checksum_of(worlds[0]), checksum_of(worlds[1]));
    mica_set_name(worlds[1], entity_at(3), "lamq");
    assert_int_not_equal(checksum_of(worlds[0]), checksum_of(worlds[1]));
    mica_world_destroy(worlds[0]);
    mica_world_destroy(worlds[1]);
}

static void misuse_is_refused(void **state) {
    (void)state;
    uint64_t checksum = 0;
    mica_world *world = make_world(&plain);
    const mica_component none = 9999;
    assert_int_equal(mica_world_checksum(NULL, NULL, &checksum), MICA_INVALID);
    assert_int_equal(mica_world_checksum(world, NULL, NULL), MICA_INVALID);
    assert_int_equal(mica_snapshot_checksum(NULL, NULL, &checksum), MICA_INVALID);
    assert_int_equal(mica_world_checksum(world, &(mica_checksum_options){.leave_count = 1}, &checksum), MICA_INVALID);
    assert_int_equal(mica_world_checksum(world, &(mica_checksum_options){.leave = &none, .leave_count = 1}, &checksum),
                     MICA_UNKNOWN);
    assert_int_equal(mica_world_component_checksum(world, none, &checksum), MICA_UNKNOWN);
    assert_int_equal(mica_world_component_checksum(world, 0, &checksum), MICA_UNKNOWN);
    assert_int_equal(mica_entity_checksum(world, mica_entity_make(900, 0), NULL, &checksum), MICA_STALE);
    assert_int_equal(mica_entity_checksum(world, entity_at(0), NULL, NULL), MICA_INVALID);
    mica_world_destroy(world);
}

MICA_STRUCT(Huge, {
    uint8_t first;
    uint32_t numbers[16000];
    char text[1500];
});

static void large_values_count_byte_by_byte(void **state) {
    (void)state;
    mica_world *world = mica_world_create(NULL);
    static Huge huge;
    memset(&huge, 0x77, sizeof(huge));
    memcpy(huge.text, "a text", 7);
    const mica_entity entity = mica_entity_create(world);
    assert_int_equal(mica_set_from(world, entity, Huge, &huge), MICA_OK);
    const uint64_t before = checksum_of(world);
    huge.text[7] = 'x';
    ((uint8_t *)&huge)[1] = 0;
    assert_int_equal(mica_set_from(world, entity, Huge, &huge), MICA_OK);
    assert_int_equal(checksum_of(world), before);
    huge.numbers[15999]++;
    assert_int_equal(mica_set_from(world, entity, Huge, &huge), MICA_OK);
    assert_int_not_equal(checksum_of(world), before);
    mica_world_destroy(world);
}

static void a_world_of_many_chunks_has_one_too(void **state) {
    (void)state;
    enum { MANY = 30000 };
    mica_world *worlds[2] = {mica_world_create(NULL), mica_world_create(NULL)};
    static mica_entity entities[MANY];
    for (uint32_t w = 0; w < 2; w++) {
        for (uint32_t i = 0; i < MANY; i++) {
            entities[i] = mica_entity_create(worlds[w]);
        }
        for (uint32_t n = 0; n < MANY; n++) {
            const uint32_t i = w == 0 ? n : n * 7919 % MANY;
            mica_set(worlds[w], entities[i], Dense, {(float)i, 0, 0});
            mica_set(worlds[w], entities[i], Split, {.small = (uint8_t)i});
        }
    }
    assert_int_equal(checksum_of(worlds[0]), checksum_of(worlds[1]));
    mica_get_write(worlds[1], entities[MANY - 7], Dense)->x++;
    assert_int_not_equal(checksum_of(worlds[0]), checksum_of(worlds[1]));
    mica_world_destroy(worlds[0]);
    mica_world_destroy(worlds[1]);
}

static void what_a_walk_has_written_counts(void **state) {
    (void)state;
    mica_world *world = make_world(&(recipe){.mix = ODD_IN_POOLS, .type_stride = 1, .entity_stride = 7});
    const uint64_t before = checksum_of(world);
    const mica_term terms[] = {mica_write(Padded), mica_write(Dense)};
    mica_query *query = mica_query_create(world, terms, 2);
    assert_non_null(query);
    uint64_t during = before;
    mica_each (query, it) {
        Padded *padded = mica_write_of(it, Padded);
        padded[0].number += 1;
        during = checksum_of(world);
        break;
    }
    assert_int_not_equal(during, before);
    assert_int_equal(checksum_of(world), during);
    mica_query_release(query);
    mica_world_destroy(world);
}

static void do_nothing(mica_run *run) {
    (void)run;
}

static uint64_t checksum_of_order(mica_world *world) {
    return checksum_with(world, &(mica_checksum_options){.exact = true});
}

// Versions grow when somebody looks: how old things are by them does not count.
static void looking_does_not_change_it(void **state) {
    (void)state;
    mica_world *world = make_world(&plain);
    const mica_system_def def = {.name = "idle", .run = do_nothing};
    assert_int_not_equal(mica_system_add(world, &def).id, 0);
    const mica_term terms[] = {{.component = component_of(world, 1), .use = MICA_USE_REMOVED}};
    mica_query *removals = mica_query_create(world, terms, 1);
    assert_int_equal(mica_world_step(world, 1), MICA_OK);
    mica_destroy(world, entity_at(3)); // the snapshot is of a later version than this
    const uint64_t before = checksum_of(world);
    const uint64_t exactly_before = checksum_of_order(world);
    mica_snapshot *snapshot = mica_snapshot_take(world, NULL);
    assert_non_null(snapshot);
    assert_int_equal(checksum_of(world), before);
    assert_int_equal(checksum_of_order(world), exactly_before);
    assert_int_equal(checksum_of_snapshot(snapshot), before);
    const uint64_t version = mica_world_version(world);
    assert_int_not_equal(mica_world_advance_version(world), 0);
    assert_true(mica_world_version(world) > version);
    assert_int_equal(checksum_of(world), before);
    assert_int_equal(checksum_of_order(world), exactly_before);
    mica_difference difference;
    const mica_checksum_options exactly = {.exact = true};
    assert_int_equal(mica_snapshot_compare_world(snapshot, world, &exactly, &difference), MICA_OK);
    assert_string_equal(difference.kind == MICA_DIFFERENCE_NONE ? "" : difference.text, "");
    mica_snapshot_release(snapshot);
    mica_query_release(removals);
    mica_world_destroy(world);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_the_same_for_every_storage_order_and_registration),
        cmocka_unit_test(it_never_changes),
        cmocka_unit_test(every_bit_of_every_field_counts_and_no_other),
        cmocka_unit_test(whatever_is_done_to_any_entity_changes_it),
        cmocka_unit_test(values_that_change_places_change_it),
        cmocka_unit_test(entities_add_up_to_the_world),
        cmocka_unit_test(a_snapshot_has_that_of_the_world_then),
        cmocka_unit_test(what_was_noted_of_a_longer_column_is_not_taken_for_a_shorter_one),
        cmocka_unit_test(what_is_left_out_does_not_count),
        cmocka_unit_test(transient_types_count_unless_they_are_left_out),
        cmocka_unit_test(resources_count_unless_entities_alone_are_asked_for),
        cmocka_unit_test(exact_ones_see_the_order_of_rows_and_of_free_handles),
        cmocka_unit_test(exact_ones_see_slots_that_a_cleared_world_left),
        cmocka_unit_test(tombstones_do_not_count_unless_it_is_exact),
        cmocka_unit_test(values_that_mean_nothing_elsewhere_are_refused_by_name),
        cmocka_unit_test(a_write_hook_says_what_values_hold),
        cmocka_unit_test(names_count_by_their_texts),
        cmocka_unit_test(misuse_is_refused),
        cmocka_unit_test(large_values_count_byte_by_byte),
        cmocka_unit_test(a_world_of_many_chunks_has_one_too),
        cmocka_unit_test(what_a_walk_has_written_counts),
        cmocka_unit_test(looking_does_not_change_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

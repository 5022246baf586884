// Who hears of what the library itself writes into poses and matrices: subscriptions and, of poses, tracked rows and
// indexes.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <mica/mica.h>

// From now on poses have exact rows, and a field that can be indexed.
static int make_poses_exact(void **state) {
    (void)state;
    mica_type_mica_transform.fields = "{ float x; float y; float z; float rotation[4]; float scale[3]; }";
    mica_type_mica_transform.traits.track_rows = true;
    mica_type_mica_transform.traits.indexes[0] = (mica_index_trait){"x", MICA_ORDERED};
    return 0;
}

typedef struct listeners {
    mica_world *world;
    mica_subscription *subscription;
    mica_query *changed;
    mica_index *by_x;
    uint64_t version; // drawn before what is asked about
} listeners;

// Begins to listen to poses in every way there is; all that was before is known.
static void listen(listeners *on, mica_world *world) {
    *on = (listeners){.world = world,
                      .subscription =
                          mica_subscribe(world, &(mica_subscription_def){.components = {mica_type_of(mica_transform)}}),
                      .changed = mica_query_of(world, mica_changed(mica_transform)),
                      .by_x = mica_index_of(world, mica_transform, "x")};
    assert_non_null(on->subscription);
    assert_non_null(on->changed);
    assert_true(mica_index_count(on->by_x) > 0);
    on->version = mica_world_advance_version(world);
}

// Exactly these have changed, and the index finds each by its new `x`.
static void assert_heard(listeners *on, const mica_entity *entities, const float *xs, int32_t count) {
    mica_change changes[8];
    assert_int_equal(mica_subscription_collect(on->subscription, changes, 8), count);
    for (int32_t i = 0; i < count; i++) {
        assert_true(mica_entity_equal(changes[i].entity, entities[i]));
        assert_int_equal(changes[i].flags, MICA_CHANGE_VALUE);
        mica_entity found = MICA_NULL;
        assert_int_equal(mica_index_find(on->by_x, &xs[i], &found, 1), 1);
        assert_true(mica_entity_equal(found, entities[i]));
    }
    int32_t changed_count = 0;
    mica_each_since(on->changed, on->version, it) {
        changed_count += it.count;
    }
    assert_int_equal(changed_count, count);
    on->version = mica_world_advance_version(on->world);
}

static mica_entity spawn_at(mica_world *world, float x) {
    return mica_spawn(
        world, mica_value_of(mica_transform, {.position = {x, 0, 0}, .rotation = {0, 0, 0, 1}, .scale = {1, 1, 1}}));
}

static void resolved_matrices_are_heard_of(void **state) {
    (void)state;
    mica_world *world = mica_world_create(NULL);
    const mica_entity parent = mica_create(world);
    const mica_entity entities[] = {mica_spawn(world, mica_tag(mica_transform)),
                                    mica_spawn(world, mica_tag(mica_transform)),
                                    mica_spawn(world, mica_tag(mica_transform))};
    mica_spawn(world, mica_tag(mica_world_transform)); // has no pose
    assert_int_equal(mica_set_parent(world, entities[2], parent), MICA_OK);
    mica_subscription *subscription =
        mica_subscribe(world, &(mica_subscription_def){.components = {mica_type_of(mica_world_transform)}});
    for (int32_t pass = 0; pass < 2; pass++) {
        mica_change changes[8];
        assert_int_equal(mica_transform_resolve(world), MICA_OK);
        assert_int_equal(mica_subscription_collect(subscription, changes, 8), 3);
        for (int32_t i = 0; i < 3; i++) {
            assert_true(mica_entity_equal(changes[i].entity, entities[(i + 2) % 3])); // ChildOf comes before Transform
            assert_int_equal(changes[i].flags, MICA_CHANGE_VALUE);
        }
        assert_int_equal(mica_subscription_collect(subscription, changes, 8), 0);
    }
    mica_world_destroy(world);
}

static void poses_that_stay_where_they_are_in_the_world_are_heard_of(void **state) {
    (void)state;
    mica_world *world = mica_world_create(NULL);
    const mica_entity parent = spawn_at(world, 4);
    const mica_entity child = spawn_at(world, 6);
    const mica_entity other = spawn_at(world, 10);
    listeners on;
    listen(&on, world);
    assert_int_equal(mica_set_parent_keep_pose(world, child, parent), MICA_OK);
    assert_heard(&on, &child, (const float[]){2}, 1);
    assert_int_equal(mica_set_parent_keep_pose(world, child, other), MICA_OK);
    assert_heard(&on, &child, (const float[]){-4}, 1);
    assert_int_equal(mica_set_parent_keep_pose(world, child, MICA_NULL), MICA_OK);
    assert_heard(&on, &child, (const float[]){6}, 1);
    mica_world_destroy(world);
}

static void children_of_who_ends_are_heard_of(void **state) {
    (void)state;
    mica_world *world = mica_world_create(NULL);
    const mica_entity parent = spawn_at(world, 4);
    const mica_entity child = spawn_at(world, 6);
    assert_int_equal(mica_set_parent(world, child, parent), MICA_OK);
    mica_query *changed = mica_query_of(world, mica_changed(mica_transform));
    const uint64_t version = mica_world_advance_version(world);
    assert_int_equal(mica_destroy(world, parent), MICA_OK);
    int32_t count = 0;
    mica_each_since(changed, version, it) {
        count += it.count;
        assert_true(mica_entity_equal(it.entities[0], child));
    }
    assert_int_equal(count, 1);
    assert_true(mica_get(world, child, mica_transform)->position[0] == 10.0f);
    mica_world_destroy(world);
}

static void the_order_in_which_matrices_are_heard_of_is_not_that_of_tables(void **state) {
    (void)state;
    mica_entity heard[2][2];
    mica_schema *schema = mica_schema_create(NULL);
    for (int32_t turn = 0; turn < 2; turn++) {
        mica_world *world = mica_world_create(&(mica_world_def){.schema = schema});
        if (turn == 1) { // a table that is going to be used comes to be before the other one
            mica_destroy(world, mica_spawn(world, mica_tag(mica_transform), mica_tag(mica_world_transform),
                                           mica_tag(mica_name)));
        }
        mica_entity made[2] = {mica_create(world), mica_create(world)};
        mica_add(world, made[0], mica_transform);
        mica_add(world, made[0], mica_world_transform);
        mica_add(world, made[1], mica_name);
        mica_add(world, made[1], mica_transform);
        mica_add(world, made[1], mica_world_transform);
        mica_subscription *subscription =
            mica_subscribe(world, &(mica_subscription_def){.components = {mica_type_of(mica_world_transform)}});
        mica_change changes[4];
        assert_int_equal(mica_transform_resolve(world), MICA_OK);
        assert_int_equal(mica_subscription_collect(subscription, changes, 4), 2);
        for (int32_t i = 0; i < 2; i++) {
            heard[turn][i] = mica_entity_make(mica_entity_index(changes[i].entity), 0);
        }
        mica_subscription_destroy(subscription);
        mica_world_destroy(world);
    }
    mica_schema_release(schema);
    assert_true(mica_entity_equal(heard[0][0], heard[1][0]));
    assert_true(mica_entity_equal(heard[0][1], heard[1][1]));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(resolved_matrices_are_heard_of),
        cmocka_unit_test(the_order_in_which_matrices_are_heard_of_is_not_that_of_tables),
        cmocka_unit_test_setup(poses_that_stay_where_they_are_in_the_world_are_heard_of, make_poses_exact),
        cmocka_unit_test_setup(children_of_who_ends_are_heard_of, make_poses_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

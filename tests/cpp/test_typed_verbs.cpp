// The typed verbs from C++17: the same words as in C, by overloads and templates.
#include <mica/mica.h>

#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
extern "C" {
#include <cmocka.h>
}

namespace {

MICA_STRUCT(Position, { float x, y, z; });
MICA_STRUCT(Velocity, { float x, y, z; });
MICA_STRUCT(Target, { mica_entity who; });
MICA_STRUCT_WITH(Shield, (.toggle = true), { int32_t now; });
MICA_TAG(Frozen);
MICA_ENUM(Phase, {WAXING, FULL, WANING});
MICA_NAMED(Home, Position);
MICA_NAMED_WITH(Goal, Home, (.storage = MICA_TABLE, .toggle = true));
MICA_STRUCT_WITH(Contact, (.storage = MICA_POOL, .layout = MICA_PAGED, .page_size = 64, .always_dirty = true),
                 { float depth; });
MICA_NAMED(Touch, Contact);
MICA_STRUCT_WITH(Path, (.layout = MICA_LANES), {
    float x, y;
    int32_t steps[3];
});
MICA_STRUCT_WITH(Unit, (.indexes = {{"team", MICA_HASH}, {"hp", MICA_ORDERED}}), { int32_t team, hp; });

int make_world(void **state) {
    *state = mica_world_create(nullptr);
    return *state == nullptr ? 1 : 0;
}

int end_world(void **state) {
    mica_world_destroy(static_cast<mica_world *>(*state));
    return 0;
}

void spawned_values_are_read_back(void **state) {
    mica_world *world = static_cast<mica_world *>(*state);
    const mica_entity ship =
        mica_spawn(world, mica_value_of(Position, {1, 2, 3}), mica_value_of(Velocity, {4, 5, 6}), mica_tag(Frozen));
    assert_true(mica_alive(world, ship));
    const Position *position = mica_get(world, ship, Position);
    assert_non_null(position);
    assert_true(position->x == 1 && position->y == 2 && position->z == 3);
    const Velocity *velocity = mica_get(world, ship, Velocity);
    assert_non_null(velocity);
    assert_true(velocity->x == 4 && velocity->y == 5 && velocity->z == 6);
    assert_true(mica_has(world, ship, Frozen));
    assert_true(mica_has_all(world, ship, mica_type_of(Position), mica_type_of(Frozen)));
    assert_false(mica_has_any(world, ship, mica_type_of(Target)));
}

void many_entities_change_at_once(void **state) {
    mica_world *world = static_cast<mica_world *>(*state);
    mica_entity ships[3];
    const Position positions[3] = {{1, 0, 0}, {2, 0, 0}, {3, 0, 0}};
    Position read[3];
    bool found[3];
    assert_int_equal(mica_spawn_many(world, 3, ships, mica_tag(Frozen)), MICA_OK);
    assert_int_equal(mica_add_many(world, ships, 3, Position, positions), MICA_OK);
    assert_int_equal(mica_add_many(world, ships, 2, Velocity, nullptr), MICA_OK);
    assert_int_equal(mica_set_many(world, ships, 2, Position, positions + 1), MICA_OK);
    assert_int_equal(mica_remove_many(world, ships, 2, Frozen), MICA_OK);
    assert_int_equal(mica_gather(world, ships, 3, Position, read, found), 3);
    assert_true(read[0].x == 2 && read[1].x == 3 && read[2].x == 3 && found[2]);
    assert_int_equal(mica_scatter(world, ships, 3, Velocity, nullptr, nullptr), -1);
    const Velocity velocities[3] = {{1, 0, 0}, {2, 0, 0}, {3, 0, 0}};
    assert_int_equal(mica_scatter(world, ships, 3, Velocity, velocities, nullptr), 2);
    mica_commands *commands = mica_commands_create(world);
    assert_int_equal(mica_tag_many(commands, ships, 2, Frozen), MICA_OK);
    assert_int_equal(mica_set_many(commands, ships, 3, Velocity, velocities), MICA_OK);
    assert_int_equal(mica_remove_many(commands, ships, 3, Position), MICA_OK);
    assert_int_equal(mica_commands_apply(commands), MICA_OK);
    mica_commands_destroy(commands);
    assert_true(mica_has(world, ships[0], Frozen) && !mica_has(world, ships[0], Position));
    assert_true(mica_get(world, ships[2], Velocity)->x == 3);
}

void set_adds_and_replaces(void **state) {
    mica_world *world = static_cast<mica_world *>(*state);
    const mica_entity ship = mica_create(world);
    assert_null(mica_get(world, ship, Position));
    assert_int_equal(mica_set(world, ship, Position, {1, 2, 3}), MICA_OK);
    assert_int_equal(mica_set(world, ship, Position, {7, 8, 9}), MICA_OK);
    assert_true(mica_get(world, ship, Position)->y == 8);
    const Position other{10, 11, 12};
    assert_int_equal(mica_set_from(world, ship, Position, &other), MICA_OK);
    assert_true(mica_get(world, ship, Position)->z == 12);
    assert_int_equal(mica_set(world, ship, Target, {MICA_NULL}), MICA_OK);
    assert_true(mica_entity_is_null(mica_get(world, ship, Target)->who));
    assert_int_equal(mica_set(world, ship, Phase, {WANING}), MICA_OK);
    assert_int_equal(*mica_get(world, ship, Phase), WANING);
}

void add_refuses_a_second_one(void **state) {
    mica_world *world = static_cast<mica_world *>(*state);
    const mica_entity ship = mica_create(world);
    assert_int_equal(mica_add(world, ship, Frozen), MICA_OK);
    assert_int_equal(mica_add(world, ship, Frozen), MICA_EXISTS);
    assert_int_equal(mica_add_value(world, ship, Position, {1, 2, 3}), MICA_OK);
    assert_int_equal(mica_add_value(world, ship, Position, {4, 5, 6}), MICA_EXISTS);
    assert_true(mica_get(world, ship, Position)->x == 1);
    assert_int_equal(mica_remove(world, ship, Frozen), MICA_OK);
    assert_false(mica_has(world, ship, Frozen));
}

void one_c_type_is_several_components(void **state) {
    mica_world *world = static_cast<mica_world *>(*state);
    const mica_entity cat = mica_spawn(world, mica_value_of(Position, {1, 2, 3}), mica_value_of(Home, {4, 5, 6}));
    assert_int_equal(mica_set(world, cat, Goal, {7, 8, 9}), MICA_OK);
    assert_true(mica_get(world, cat, Position)->x == 1);
    const Position *home = mica_get(world, cat, Home);
    assert_non_null(home);
    assert_true(home->x == 4);
    assert_true(mica_get(world, cat, Goal)->x == 7);
    assert_int_equal(mica_remove(world, cat, Home), MICA_OK);
    assert_null(mica_get(world, cat, Home));
    assert_true(mica_get(world, cat, Position)->x == 1 && mica_get(world, cat, Goal)->z == 9);
}

void traits_are_written_in_their_order(void **state) {
    mica_world *world = static_cast<mica_world *>(*state);
    const mica_schema *schema = mica_world_schema(world);
    const mica_component_info *goal = mica_schema_info(schema, mica_register(world, Goal));
    assert_true(goal->storage == MICA_TABLE && goal->toggle && goal->size == sizeof(Position));
    const mica_component_info *touch = mica_schema_info(schema, mica_register(world, Touch));
    assert_string_equal(touch->name, "Touch");
    assert_true(touch->storage == MICA_POOL && touch->layout == MICA_PAGED && touch->page_size == 64);
    assert_true(touch->always_dirty && !touch->toggle && touch->size == sizeof(Contact));
    assert_int_equal(mica_schema_find(schema, "Contact"), 0);
}

void a_walk_writes_what_it_matches(void **state) {
    mica_world *world = static_cast<mica_world *>(*state);
    const mica_entity moving =
        mica_spawn(world, mica_value_of(Position, {1, 0, 0}), mica_value_of(Velocity, {2, 0, 0}));
    const mica_entity frozen =
        mica_spawn(world, mica_value_of(Position, {1, 0, 0}), mica_value_of(Velocity, {2, 0, 0}), mica_tag(Frozen));
    mica_query *query = mica_query_of(world, mica_write(Position), mica_read(Velocity), mica_without(Frozen));
    assert_non_null(query);
    int visited = 0;
    mica_each (query, it) {
        Position *position = mica_write_of(it, Position);
        const Velocity *velocity = mica_read_of(it, Velocity);
        for (int32_t i = 0; i < it.count; i++) {
            position[i].x += velocity[i].x;
            visited++;
        }
    }
    assert_int_equal(visited, 1);
    assert_true(mica_get(world, moving, Position)->x == 3);
    assert_true(mica_get(world, frozen, Position)->x == 1);
}

void systems_list_what_they_touch(void **state) {
    mica_world *world = static_cast<mica_world *>(*state);
    mica_system_def def = {};
    def.name = "count";
    def.run = [](mica_run *run) { *static_cast<bool *>(mica_run_user(run)) = mica_run_query(run, 0) == nullptr; };
    def.access[0] = mica_reads(Position);
    def.access[1] = mica_writes(Frozen);
    bool has_run = false;
    def.user = &has_run;
    assert_int_not_equal(mica_system_add(world, &def).id, 0);
    assert_int_equal(mica_world_step(world, 1), MICA_OK);
    assert_true(has_run);
    assert_true(def.access[1].writes && !def.access[0].writes);
}

void a_walk_writes_lanes(void **state) {
    mica_world *world = static_cast<mica_world *>(*state);
    const mica_entity first = mica_spawn(world, mica_value_of(Path, {1, 2, {3, 4, 5}}));
    const mica_entity second = mica_spawn(world, mica_value_of(Path, {6, 7, {8, 9, 10}}));
    mica_query *query = mica_query_of(world, mica_write(Path));
    mica_each (query, it) {
        float *x = mica_lane(it, Path, x);
        const float *y = mica_lane_read(it, Path, y);
        int32_t(*steps)[3] = mica_lane(it, Path, steps);
        assert_true(x != nullptr && y != nullptr && steps != nullptr);
        for (int32_t i = 0; i < it.count; i++) {
            x[i] += y[i];
            steps[i][1] = 100;
        }
        assert_true(mica_load(it, Path, 1).x == 13);
        assert_int_equal(mica_store(it, Path, 1, {0, 0, {1, 1, 1}}), MICA_OK);
    }
    Path value{};
    assert_true(mica_load_of(world, first, Path, &value));
    assert_true(value.x == 3 && value.steps[0] == 3 && value.steps[1] == 100 && value.steps[2] == 5);
    value.y = 50;
    assert_int_equal(mica_store_of(world, first, Path, &value), MICA_OK);
    assert_true(mica_load_of(world, first, Path, &value) && value.y == 50);
    assert_true(mica_load_of(world, second, Path, &value) && value.steps[2] == 1);
    assert_null(mica_get(world, first, Path));
    assert_int_equal(mica_last_result(), MICA_UNSUPPORTED);
}

void a_walk_over_an_order_is_sorted(void **state) {
    mica_world *world = static_cast<mica_world *>(*state);
    for (int i = 0; i < 5; i++) {
        mica_spawn(world, mica_value_of(Position, {static_cast<float>(i * 2 % 5), 0, 0}));
    }
    const auto compare = [](const mica_element *a, const mica_element *b, void *) -> int {
        const float left = static_cast<const Position *>(a->value)->x;
        const float right = static_cast<const Position *>(b->value)->x;
        return (left > right) - (left < right);
    };
    mica_query *query = mica_query_of(world, mica_read(Position));
    mica_order *order = mica_order_create(query, mica_register(world, Position), compare, nullptr);
    float visited = 0;
    mica_each_row (order, it) {
        assert_true(mica_row_read(it, Position)->x == visited);
        visited += 1;
    }
    assert_true(visited == 5);
}

void a_walk_by_rows_may_destroy_through_commands(void **state) {
    mica_world *world = static_cast<mica_world *>(*state);
    mica_entity ships[8];
    Position positions[8];
    for (int i = 0; i < 8; i++) {
        positions[i] = Position{static_cast<float>(i), 0, 0};
    }
    assert_int_equal(mica_spawn_many(world, 8, ships, mica_column_of(Position, positions)), MICA_OK);
    mica_query *query = mica_query_of(world, mica_read(Position));
    mica_each_row (query, it) {
        if (mica_row_read(it, Position)->x >= 5) {
            assert_int_equal(mica_destroy(mica_iter_commands(it), mica_row_entity(it)), MICA_OK);
        }
        assert_int_equal(mica_destroy(world, mica_row_entity(it)), MICA_LOCKED);
    }
    for (int i = 0; i < 8; i++) {
        assert_int_equal(mica_alive(world, ships[i]), i < 5);
    }
}

void a_walk_left_early_unlocks(void **state) {
    mica_world *world = static_cast<mica_world *>(*state);
    const mica_entity ship = mica_spawn(world, mica_value_of(Position, {1, 2, 3}));
    mica_query *query = mica_query_of(world, mica_read(Position));
    const auto first = [query]() -> mica_entity {
        mica_each (query, it) {
            return it.entities[0];
        }
        return MICA_NULL;
    };
    assert_true(mica_entity_equal(first(), ship));
    assert_int_equal(mica_destroy(world, ship), MICA_OK);
}

void resources_are_typed(void **state) {
    mica_world *world = static_cast<mica_world *>(*state);
    assert_null(mica_resource(world, Position));
    assert_int_equal(mica_set_resource(world, Position, {1, 2, 3}), MICA_OK);
    mica_resource_write(world, Position)->y = 5;
    assert_true(mica_resource(world, Position)->y == 5);
    assert_int_equal(mica_remove_resource(world, Position), MICA_OK);
    assert_null(mica_resource(world, Position));
}

void commands_record_with_the_same_verbs(void **state) {
    mica_world *world = static_cast<mica_world *>(*state);
    mica_commands *commands = mica_commands_create(world);
    assert_non_null(commands);
    const mica_entity recorded = mica_spawn(commands, mica_value_of(Position, {1, 2, 3}));
    assert_true(mica_entity_is_placeholder(recorded));
    assert_int_equal(mica_set(commands, recorded, Target, {recorded}), MICA_OK);
    assert_int_equal(mica_commands_apply(commands), MICA_OK);
    const mica_entity made = mica_commands_resolve(commands, recorded);
    assert_true(mica_entity_equal(mica_get(world, made, Target)->who, made));
    mica_commands_destroy(commands);
}

void changes_are_asked_for_and_marked(void **state) {
    mica_world *world = static_cast<mica_world *>(*state);
    const mica_entity ship = mica_spawn(world, mica_value_of(Position, {1, 2, 3}), mica_value_of(Velocity, {1, 0, 0}));
    mica_query *moved = mica_query_of(world, mica_changed(Position), mica_write_marked(Position));
    mica_query *either = mica_query_of(world, mica_any_changed(1, Position), mica_any_changed(1, Velocity));
    mica_query *arrived = mica_query_of(world, mica_added(Frozen));
    mica_query *left = mica_query_of(world, mica_removed(Velocity));
    uint64_t since = mica_world_advance_version(world);
    assert_int_equal(mica_set(world, ship, Position, {4, 5, 6}), MICA_OK);
    int32_t count = 0;
    mica_each_since(moved, since, it) {
        count += it.count;
        mica_write_of(it, Position)->x = 7;
        since = mica_world_version(world);
        assert_int_equal(mica_mark(it, Position, 0), MICA_OK);
    }
    assert_int_equal(count, 1);
    assert_int_equal(mica_add(world, ship, Frozen), MICA_OK);
    assert_int_equal(mica_remove(world, ship, Velocity), MICA_OK);
    mica_query *asked[] = {either, arrived, left};
    for (mica_query *query : asked) {
        mica_each_since(query, since - 1, it) {
            count += it.count;
            assert_true(mica_entity_equal(it.entities[0], ship));
        }
    }
    assert_int_equal(count, 4);
}

void what_is_hidden_comes_back(void **state) {
    mica_world *world = static_cast<mica_world *>(*state);
    const mica_entity ship = mica_spawn(world, mica_value_of(Position, {1, 2, 3}), mica_value_of(Shield, {4}));
    mica_query *shielded = mica_query_of(world, mica_read(Shield));
    assert_int_equal(mica_disable(world, ship), MICA_OK);
    assert_false(mica_is_enabled(world, ship));
    assert_int_equal(mica_query_count(shielded), 0);
    assert_int_equal(mica_query_count(mica_query_of(world, mica_read(Shield), mica_disabled_only())), 1);
    assert_int_equal(mica_enable(world, ship), MICA_OK);
    assert_int_equal(mica_query_count(shielded), 1);
    assert_int_equal(mica_disable_component(world, ship, Shield), MICA_OK);
    assert_false(mica_is_component_enabled(world, ship, Shield));
    assert_int_equal(mica_query_count(shielded), 0);
    assert_int_equal(mica_enable_component(world, ship, Shield), MICA_OK);
    assert_int_equal(mica_kill(world, ship), MICA_OK);
    assert_true(mica_is_killed(world, ship));
    assert_int_equal(mica_refresh(world), 1);
    assert_false(mica_alive(world, ship));
}

void hiding_is_recorded_with_the_same_verbs(void **state) {
    mica_world *world = static_cast<mica_world *>(*state);
    mica_commands *commands = mica_commands_create(world);
    const mica_entity ship = mica_spawn(world, mica_value_of(Shield, {4}));
    const mica_entity wreck = mica_create(world);
    assert_int_equal(mica_disable(commands, ship), MICA_OK);
    assert_int_equal(mica_disable_component(commands, ship, Shield), MICA_OK);
    assert_int_equal(mica_kill(commands, wreck), MICA_OK);
    assert_int_equal(mica_refresh(commands), MICA_OK);
    assert_int_equal(mica_commands_apply(commands), MICA_OK);
    assert_false(mica_is_enabled(world, ship));
    assert_false(mica_is_component_enabled(world, ship, Shield));
    assert_false(mica_alive(world, wreck));
    assert_int_equal(mica_enable(commands, ship), MICA_OK);
    assert_int_equal(mica_enable_component(commands, ship, Shield), MICA_OK);
    assert_int_equal(mica_commands_apply(commands), MICA_OK);
    assert_true(mica_is_enabled(world, ship));
    assert_true(mica_is_component_enabled(world, ship, Shield));
    mica_commands_destroy(commands);
}

struct heard {
    int32_t number;
    int32_t rings;
};

void hear_contact(const mica_event *event) {
    static_cast<heard *>(event->user)->number += static_cast<int32_t>(mica_event_value(event, Contact)->depth);
}

void hear_ring(const mica_event *event) {
    static_cast<heard *>(event->user)->rings++;
}

void events_are_typed(void **state) {
    mica_world *world = static_cast<mica_world *>(*state);
    heard h{0, 0};
    mica_event_reader *contacts = mica_reader_of(world, Contact, nullptr);
    const mica_event_handler handler = mica_on_event(world, Contact, hear_contact, &h);
    mica_on_event(world, Frozen, hear_ring, &h);
    assert_int_equal(mica_trigger(world, Contact, {2}), MICA_OK);
    assert_int_equal(mica_trigger_tag(world, Frozen), MICA_OK);
    assert_int_equal(mica_send(world, Contact, {3}), MICA_OK);
    const Contact other{5};
    assert_int_equal(mica_send_from(world, Contact, &other), MICA_OK);
    assert_int_equal(mica_send_tag(world, Frozen), MICA_OK);
    assert_int_equal(mica_deliver(world, Contact), 2);
    assert_int_equal(h.number, 10);
    assert_int_equal(h.rings, 1);
    assert_true(mica_next_event(contacts, Contact)->depth == 3);
    int32_t count = 0;
    assert_true(mica_next_events(contacts, Contact, &count)->depth == 5);
    assert_int_equal(count, 1);
    assert_null(mica_next_event(contacts, Contact));
    assert_int_equal(mica_event_unbind(world, handler), MICA_OK);
}

void the_inbox_is_typed(void **state) {
    mica_world *world = static_cast<mica_world *>(*state);
    mica_event_reader *contacts = mica_reader_of(world, Contact, "contacts");
    mica_event_reader *frozen = mica_reader_of(world, Frozen, "frozen");
    mica_inbox *inbox = mica_world_inbox(world);
    assert_int_equal(mica_post(inbox, Contact, {7}), MICA_OK);
    assert_int_equal(mica_post_tag(inbox, Frozen), MICA_OK);
    assert_int_equal(mica_inbox_drain(world), 2);
    assert_true(mica_next_event(contacts, Contact)->depth == 7);
    assert_true(mica_next_tag_event(frozen, Frozen));
}

void indexes_are_looked_up_by_typed_values(void **state) {
    mica_world *world = static_cast<mica_world *>(*state);
    const mica_entity weak = mica_spawn(world, mica_value_of(Unit, {3, 1}));
    const mica_entity strong = mica_spawn(world, mica_value_of(Unit, {3, 9}));
    mica_index *by_team = mica_index_of(world, Unit, "team");
    mica_index *by_hp = mica_index_of(world, Unit, "hp");
    mica_entity found[4];
    assert_int_equal(mica_index_find_value(by_team, int32_t, 3, found, 4), 2);
    assert_true(mica_entity_equal(found[0], weak) && mica_entity_equal(found[1], strong));
    assert_int_equal(mica_index_range_values(by_hp, int32_t, 2, 10, found, 4), 1);
    assert_true(mica_entity_equal(found[0], strong));
    assert_true(mica_entity_equal(mica_index_first(by_hp), weak));
    assert_int_equal(mica_index_find_value(by_team, int64_t, 3, found, 4), 0); // a key of another size
    assert_int_equal(mica_last_result(), MICA_INVALID);
}

struct told {
    int32_t added, set, removed;
};

void count_added(const mica_signal *signal) {
    static_cast<told *>(signal->user)->added += mica_signal_value(signal, Unit)->hp;
}

void count_set(const mica_signal *signal) {
    static_cast<told *>(signal->user)->set += mica_signal_value(signal, Unit)->hp;
}

void count_removed(const mica_signal *signal) {
    static_cast<told *>(signal->user)->removed += mica_signal_value(signal, Unit)->hp;
    mica_set(signal->commands, signal->entity, Shield, {5});
}

void observers_are_connected_by_type(void **state) {
    mica_world *world = static_cast<mica_world *>(*state);
    told sums{0, 0, 0};
    const mica_observer added = mica_on_added(world, Unit, count_added, &sums);
    mica_on_set(world, Unit, count_set, &sums);
    mica_on_removed(world, Unit, count_removed, &sums);
    const mica_entity unit = mica_spawn(world, mica_value_of(Unit, {1, 10}));
    assert_int_equal(mica_set(world, unit, Unit, {1, 100}), MICA_OK);
    assert_int_equal(mica_remove(world, unit, Unit), MICA_OK);
    assert_int_equal(sums.added, 10);
    assert_int_equal(sums.set, 110);
    assert_int_equal(sums.removed, 100);
    assert_int_equal(mica_get(world, unit, Shield)->now, 5);
    assert_int_equal(mica_observer_disconnect(world, added), MICA_OK);
}

void a_subscription_names_types(void **state) {
    mica_world *world = static_cast<mica_world *>(*state);
    mica_subscription_def def{};
    def.components[0] = mica_type_of(Unit);
    mica_subscription *units = mica_subscribe(world, &def);
    assert_non_null(units);
    mica_spawn(world, mica_value_of(Position, {1, 2, 3}));
    const mica_entity unit = mica_spawn(world, mica_value_of(Unit, {1, 10}));
    mica_change changes[4];
    assert_int_equal(mica_subscription_collect(units, changes, 4), 1);
    assert_true(mica_entity_equal(changes[0].entity, unit));
    assert_int_equal(changes[0].flags, MICA_CHANGE_CREATED | MICA_CHANGE_ADDED | MICA_CHANGE_VALUE);
    mica_subscription_destroy(units);
}

void timers_and_lifetimes_run_out(void **state) {
    mica_world *world = static_cast<mica_world *>(*state);
    assert_true(mica_timer_system_add(world).id != 0);
    assert_true(mica_lifetime_system_add(world).id != 0);
    mica_event_reader *fired = mica_reader_of(world, mica_timer_fired, nullptr);
    const mica_entity timer = mica_spawn(world, mica_value_of(mica_timer, {0.25, 0.25, 0}));
    const mica_entity spark = mica_spawn(world, mica_value_of(mica_lifetime, {0.5, false}));
    assert_int_equal(mica_world_step(world, 0.5F), MICA_OK);
    const mica_timer_fired *event = mica_next_event(fired, mica_timer_fired);
    assert_non_null(event);
    assert_true(mica_entity_equal(event->timer, timer));
    assert_int_equal(event->count, 2);
    assert_int_equal(mica_get(world, timer, mica_timer)->fired_count, 2);
    assert_false(mica_alive(world, spark));
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(spawned_values_are_read_back, make_world, end_world),
        cmocka_unit_test_setup_teardown(many_entities_change_at_once, make_world, end_world),
        cmocka_unit_test_setup_teardown(set_adds_and_replaces, make_world, end_world),
        cmocka_unit_test_setup_teardown(add_refuses_a_second_one, make_world, end_world),
        cmocka_unit_test_setup_teardown(one_c_type_is_several_components, make_world, end_world),
        cmocka_unit_test_setup_teardown(traits_are_written_in_their_order, make_world, end_world),
        cmocka_unit_test_setup_teardown(a_walk_writes_what_it_matches, make_world, end_world),
        cmocka_unit_test_setup_teardown(systems_list_what_they_touch, make_world, end_world),
        cmocka_unit_test_setup_teardown(a_walk_writes_lanes, make_world, end_world),
        cmocka_unit_test_setup_teardown(a_walk_over_an_order_is_sorted, make_world, end_world),
        cmocka_unit_test_setup_teardown(a_walk_by_rows_may_destroy_through_commands, make_world, end_world),
        cmocka_unit_test_setup_teardown(a_walk_left_early_unlocks, make_world, end_world),
        cmocka_unit_test_setup_teardown(resources_are_typed, make_world, end_world),
        cmocka_unit_test_setup_teardown(commands_record_with_the_same_verbs, make_world, end_world),
        cmocka_unit_test_setup_teardown(changes_are_asked_for_and_marked, make_world, end_world),
        cmocka_unit_test_setup_teardown(what_is_hidden_comes_back, make_world, end_world),
        cmocka_unit_test_setup_teardown(hiding_is_recorded_with_the_same_verbs, make_world, end_world),
        cmocka_unit_test_setup_teardown(events_are_typed, make_world, end_world),
        cmocka_unit_test_setup_teardown(the_inbox_is_typed, make_world, end_world),
        cmocka_unit_test_setup_teardown(indexes_are_looked_up_by_typed_values, make_world, end_world),
        cmocka_unit_test_setup_teardown(observers_are_connected_by_type, make_world, end_world),
        cmocka_unit_test_setup_teardown(a_subscription_names_types, make_world, end_world),
        cmocka_unit_test_setup_teardown(timers_and_lifetimes_run_out, make_world, end_world),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}

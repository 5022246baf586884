// Command buffers: what is refused when it is recorded, placeholders, values from recording to their place, counts, and
// what memory a buffer takes.
#include "world/command_buffer.h"

#include <mica/verbs.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "world/commands_world.h"
#include "world/follows.h"
#include "world/storages.h"

MICA_STRUCT(Position, { float x, y; });
MICA_STRUCT(Target, { mica_entity who; });
MICA_STRUCT(Squad, {
    int32_t size;
    mica_entity members[3];
    Target leader;
});
MICA_TAG(Frozen);
MICA_TAG(Burning);
typedef struct Line {
    _Alignas(64) unsigned char bytes[64];
} Line;
typedef struct Page {
    _Alignas(4096) unsigned char bytes[4096];
} Page;
typedef struct Huge {
    unsigned char bytes[65536];
} Huge;
MICA_COMPONENT(Huge);

// Says where the values of these two are copied to and moved to.
static uintptr_t strayed;

static void note_address(const void *value, uintptr_t alignment) {
    strayed |= (uintptr_t)value & (alignment - 1);
}

static bool line_copy(void *to, const void *from, int32_t count, const mica_hook_context *context) {
    (void)context;
    note_address(to, 64);
    memcpy(to, from, (size_t)count * sizeof(Line));
    return true;
}
static void line_move(void *to, void *from, int32_t count, const mica_hook_context *context) {
    (void)context;
    note_address(to, 64);
    note_address(from, 64);
    memcpy(to, from, (size_t)count * sizeof(Line));
}
static bool page_copy(void *to, const void *from, int32_t count, const mica_hook_context *context) {
    (void)context;
    note_address(to, 4096);
    memcpy(to, from, (size_t)count * sizeof(Page));
    return true;
}
static void page_move(void *to, void *from, int32_t count, const mica_hook_context *context) {
    (void)context;
    note_address(to, 4096);
    note_address(from, 4096);
    memcpy(to, from, (size_t)count * sizeof(Page));
}
MICA_COMPONENT_WITH(Line, (.hooks = {.copy = line_copy, .move = line_move}));
MICA_COMPONENT_WITH(Page, (.hooks = {.copy = page_copy, .move = page_move}));

static int set_up(void **state) {
    static fixture f;
    begin(&f);
    f.position = mica_register(f.world, Position);
    f.target = mica_register(f.world, Target);
    f.squad = mica_register(f.world, Squad);
    f.frozen = mica_register(f.world, Frozen);
    f.owned = mica_register(f.world, Owned);
    f.sole = mica_register(f.world, Sole);
    mica_error_clear();
    *state = &f;
    return 0;
}

// Nothing was recorded, and the error is `result`.
static void assert_refused(const fixture *f, mica_result result, int32_t count) {
    assert_int_equal(mica_last_result(), result);
    assert_int_equal(mica_commands_count(f->commands), count);
    mica_error_clear();
}

// Recording

static void recording_does_not_touch_the_world(void **state) {
    const fixture *f = *state;
    const mica_entity entity = mica_spawn(f->world, mica_value_of(Position, {1, 2}));
    mica_set(f->commands, entity, Position, {3, 4});
    mica_add(f->commands, entity, Frozen);
    mica_create(f->commands);
    assert_int_equal(mica_commands_count(f->commands), 3);
    assert_int_equal(mica_world_entity_count(f->world), 1);
    assert_true(mica_get(f->world, entity, Position)->x == 1);
    assert_false(mica_has(f->world, entity, Frozen));
    apply(f);
    assert_int_equal(mica_world_entity_count(f->world), 2);
    assert_true(mica_get(f->world, entity, Position)->x == 3);
    assert_true(mica_has(f->world, entity, Frozen));
    assert_counts(f, 3, 0);
}

static void targets_that_stand_for_nothing_are_refused(void **state) {
    const fixture *f = *state;
    const Position value = {1, 2};
    const mica_entity unknown = mica_entity_make(1, MICA_GENERATION_MAX);
    const mica_entity bad[] = {MICA_NULL, unknown, mica_entity_make(0, MICA_GENERATION_MAX)};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(mica_commands_add(f->commands, bad[i], f->position, &value), MICA_STALE);
        assert_int_equal(mica_commands_set(f->commands, bad[i], f->position, &value), MICA_STALE);
        assert_int_equal(mica_commands_remove(f->commands, bad[i], f->position), MICA_STALE);
        assert_int_equal(mica_commands_destroy_entity(f->commands, bad[i]), MICA_STALE);
        assert_true(mica_entity_is_null(mica_commands_clone(f->commands, bad[i])));
        assert_refused(f, MICA_STALE, 0);
    }
}

static void unknown_ids_missing_values_and_values_of_tags_are_refused(void **state) {
    const fixture *f = *state;
    const mica_entity entity = mica_create(f->world);
    const Position value = {1, 2};
    assert_int_equal(mica_commands_add(f->commands, entity, 999, NULL), MICA_UNKNOWN);
    assert_int_equal(mica_commands_set(f->commands, entity, 0, &value), MICA_UNKNOWN);
    assert_int_equal(mica_commands_set(f->commands, entity, 999, NULL), MICA_UNKNOWN);
    assert_int_equal(mica_commands_remove(f->commands, entity, 999), MICA_UNKNOWN);
    assert_refused(f, MICA_UNKNOWN, 0);
    assert_int_equal(mica_commands_set(f->commands, entity, f->position, NULL), MICA_INVALID);
    assert_refused(f, MICA_INVALID, 0);
    assert_int_equal(mica_commands_add(f->commands, entity, f->frozen, &value), MICA_NO_VALUE);
    assert_int_equal(mica_commands_set(f->commands, entity, f->frozen, &value), MICA_NO_VALUE);
    assert_int_equal(mica_commands_set(f->commands, entity, f->frozen, NULL), MICA_NO_VALUE);
    assert_non_null(strstr(mica_last_error(), "Frozen"));
    assert_refused(f, MICA_NO_VALUE, 0);
}

static void a_spawn_is_refused_as_a_whole(void **state) {
    const fixture *f = *state;
    Owned owned;
    Sole sole;
    owned_hold(&owned, 1, f->world);
    owned_hold(&sole.owned, 2, f->world);
    const mica_value twice[] = {{.component = f->owned, .value = &owned},
                                {.component = f->sole, .value = &sole},
                                {.component = f->owned, .value = &owned}};
    assert_true(mica_entity_is_null(mica_commands_spawn(f->commands, twice, 3)));
    assert_non_null(strstr(mica_last_error(), "Owned"));
    assert_refused(f, MICA_EXISTS, 0);
    const mica_value tag[] = {{.component = f->sole, .value = &sole}, {.component = f->frozen, .value = &owned}};
    assert_true(mica_entity_is_null(mica_commands_spawn(f->commands, tag, 2)));
    assert_refused(f, MICA_NO_VALUE, 0);
    const mica_value unknown[] = {{.component = f->sole, .value = &sole}, {.component = 999}};
    assert_true(mica_entity_is_null(mica_commands_spawn(f->commands, unknown, 2)));
    assert_refused(f, MICA_UNKNOWN, 0);
    const Target astray = {mica_entity_make(9, MICA_GENERATION_MAX)};
    const mica_value foreign[] = {{.component = f->sole, .value = &sole}, {.component = f->target, .value = &astray}};
    assert_true(mica_entity_is_null(mica_commands_spawn(f->commands, foreign, 2)));
    assert_refused(f, MICA_STALE, 0);
    assert_true(mica_entity_is_null(mica_commands_spawn(f->commands, NULL, 2)));
    assert_true(mica_entity_is_null(mica_commands_spawn(f->commands, foreign, -1)));
    assert_refused(f, MICA_INVALID, 0);
    assert_ptr_equal(sole.owned.self, &sole); // still the caller's
    assert_int_equal(ledger_live_count(), 2);
    const mica_entity placeholder = mica_commands_spawn(f->commands, twice, 2);
    assert_false(mica_entity_is_null(placeholder));
    assert_null(sole.owned.self);
    apply(f);
    assert_int_equal(*mica_get(f->world, resolve(f, placeholder), Sole)->owned.number, 2);
    owned_drop(&owned, f->world);
}

static void a_destroy_many_names_the_index_that_it_refuses(void **state) {
    const fixture *f = *state;
    const mica_entity list[] = {mica_create(f->world), mica_create(f->world), MICA_NULL};
    assert_int_equal(mica_destroy_many(f->commands, list, 3), MICA_STALE);
    assert_non_null(strstr(mica_last_error(), "2"));
    assert_int_equal(mica_destroy_many(f->commands, NULL, 3), MICA_INVALID);
    assert_int_equal(mica_destroy_many(f->commands, list, -1), MICA_INVALID);
    assert_int_equal(mica_destroy_many(f->commands, NULL, 0), MICA_OK);
    assert_int_equal(mica_commands_count(f->commands), 0);
    assert_int_equal(mica_world_entity_count(f->world), 2);
}

static void without_a_buffer_everything_is_refused(void **state) {
    (void)state;
    const mica_entity entity = mica_entity_make(1, 0);
    assert_null(mica_commands_create(NULL));
    assert_int_equal(mica_commands_add(NULL, entity, 1, NULL), MICA_INVALID);
    assert_int_equal(mica_commands_set(NULL, entity, 1, NULL), MICA_INVALID);
    assert_int_equal(mica_commands_remove(NULL, entity, 1), MICA_INVALID);
    assert_int_equal(mica_commands_destroy_entity(NULL, entity), MICA_INVALID);
    assert_int_equal(mica_commands_destroy_many(NULL, &entity, 1), MICA_INVALID);
    assert_true(mica_entity_is_null(mica_commands_clone(NULL, entity)));
    assert_true(mica_entity_is_null(mica_commands_spawn(NULL, NULL, 0)));
    assert_int_equal(mica_commands_apply(NULL), MICA_INVALID);
    assert_null(mica_commands_world(NULL));
    assert_int_equal(mica_commands_count(NULL), 0);
    assert_true(mica_entity_is_null(mica_commands_resolve(NULL, entity)));
    mica_commands_clear(NULL);
    mica_commands_destroy(NULL);
}

static void applying_is_refused_while_structure_is_locked_and_recording_is_not(void **state) {
    const fixture *f = *state;
    const mica_entity entity = mica_spawn(f->world, mica_value_of(Position, {1, 2}));
    f->world->front.running_locks = true; // as if a system that declared its access ran
    f->world->running_system = "mover";
    assert_int_equal(mica_destroy(f->commands, entity), MICA_OK);
    assert_int_equal(mica_commands_apply(f->commands), MICA_LOCKED);
    assert_int_equal(mica_commands_count(f->commands), 1);
    assert_true(mica_alive(f->world, entity));
    f->world->front.running_locks = false;
    apply(f);
    assert_false(mica_alive(f->world, entity));
}

// Placeholders

static void a_placeholder_is_refused_by_the_world(void **state) {
    const fixture *f = *state;
    const mica_entity placeholder = mica_create(f->commands);
    assert_true(mica_entity_is_placeholder(placeholder));
    assert_false(mica_alive(f->world, placeholder));
    assert_int_equal(mica_destroy(f->world, placeholder), MICA_STALE);
    assert_int_equal(mica_add(f->world, placeholder, Frozen), MICA_STALE);
    assert_true(mica_entity_is_null(resolve(f, placeholder)));
}

static void placeholders_are_targets_and_values_in_their_buffer(void **state) {
    const fixture *f = *state;
    const mica_entity old = mica_create(f->world);
    const mica_entity first = mica_spawn(f->commands, mica_value_of(Position, {1, 1}));
    const mica_entity second = mica_spawn(f->commands, mica_value_of(Target, {first}));
    const mica_entity third = mica_create(f->commands);
    mica_set(f->commands, third, Squad, {3, {first, old, third}, {second}});
    mica_set(f->commands, first, Target, {third});
    mica_set(f->commands, old, Target, {second});
    apply(f);
    const mica_entity handles[] = {resolve(f, first), resolve(f, second), resolve(f, third)};
    for (int i = 0; i < 3; i++) {
        assert_true(mica_alive(f->world, handles[i]));
        assert_false(mica_entity_is_placeholder(handles[i]));
    }
    assert_true(mica_entity_equal(mica_get(f->world, handles[1], Target)->who, handles[0]));
    assert_true(mica_entity_equal(mica_get(f->world, handles[0], Target)->who, handles[2]));
    assert_true(mica_entity_equal(mica_get(f->world, old, Target)->who, handles[1]));
    const Squad *squad = mica_get(f->world, handles[2], Squad);
    assert_int_equal(squad->size, 3);
    assert_true(mica_entity_equal(squad->members[0], handles[0]));
    assert_true(mica_entity_equal(squad->members[1], old));
    assert_true(mica_entity_equal(squad->members[2], handles[2]));
    assert_true(mica_entity_equal(squad->leader.who, handles[1]));
    assert_true(mica_get(f->world, handles[0], Position)->x == 1);
}

// The first entity changed names one that is made after it was recorded first.
static void a_value_may_name_an_entity_recorded_later_than_its_owner(void **state) {
    const fixture *f = *state;
    const mica_entity old = mica_create(f->world);
    mica_add(f->commands, old, Frozen);
    const mica_entity first = mica_spawn(f->commands, mica_value_of(Position, {1, 1}));
    const mica_entity second = mica_spawn(f->commands, mica_value_of(Position, {2, 2}), mica_tag(Frozen));
    const mica_entity third = mica_spawn(f->commands, mica_value_of(Position, {3, 3}));
    mica_set(f->commands, old, Target, {second});
    apply(f);
    assert_true(mica_entity_equal(mica_get(f->world, old, Target)->who, resolve(f, second)));
    assert_true(mica_get(f->world, resolve(f, first), Position)->x == 1);
    assert_true(mica_get(f->world, resolve(f, second), Position)->x == 2);
    assert_true(mica_has(f->world, resolve(f, second), Frozen));
    assert_true(mica_get(f->world, resolve(f, third), Position)->x == 3);
    assert_true(mica_entity_index(resolve(f, first)) < mica_entity_index(resolve(f, second)));
    assert_true(mica_entity_index(resolve(f, second)) < mica_entity_index(resolve(f, third)));
}

static void placeholders_of_an_earlier_round_are_refused(void **state) {
    const fixture *f = *state;
    const mica_entity first = mica_create(f->commands);
    const mica_entity second = mica_create(f->commands);
    apply(f);
    const mica_entity made = resolve(f, second);
    assert_true(mica_alive(f->world, made));
    assert_int_equal(mica_add(f->commands, second, Frozen), MICA_STALE);
    assert_true(mica_entity_equal(resolve(f, second), made)); // nothing was recorded
    const mica_entity third = mica_create(f->commands);
    assert_false(mica_entity_equal(first, third));
    assert_int_equal(mica_add(f->commands, first, Frozen), MICA_STALE);
    assert_int_equal(mica_destroy(f->commands, second), MICA_STALE);
    assert_int_equal(mica_set(f->commands, third, Target, {second}), MICA_STALE);
    assert_int_equal(mica_set(f->commands, third, Squad, {0, {MICA_NULL, third, second}, {MICA_NULL}}), MICA_STALE);
    assert_non_null(strstr(mica_last_error(), "Squad"));
    assert_refused(f, MICA_STALE, 1);
    assert_true(mica_entity_is_null(resolve(f, second)));
    mica_commands_clear(f->commands);
    assert_int_equal(mica_add(f->commands, third, Frozen), MICA_STALE);
    assert_true(mica_entity_is_null(resolve(f, third)));
    assert_int_equal(mica_world_entity_count(f->world), 2);
}

static void placeholders_beyond_another_buffers_are_refused(void **state) {
    const fixture *f = *state;
    mica_commands *other = mica_commands_create(f->world);
    mica_create(other);
    const mica_entity foreign = mica_create(other);
    const mica_entity mine = mica_create(f->commands);
    assert_int_equal(mica_add(f->commands, foreign, Frozen), MICA_STALE);
    assert_int_equal(mica_set(f->commands, mine, Target, {foreign}), MICA_STALE);
    mica_commands_destroy(other);
}

// Numbers go on from round to round and begin again at the end of the indices.
static void numbers_of_placeholders_wrap_around(void **state) {
    const fixture *f = *state;
    f->commands->placeholder_base = MICA_INDEX_MAX - 2;
    mica_entity placeholders[5];
    for (int i = 0; i < 5; i++) {
        placeholders[i] = mica_create(f->commands);
        assert_true(mica_entity_is_placeholder(placeholders[i]));
        assert_int_not_equal(mica_entity_index(placeholders[i]), 0);
        assert_int_equal(mica_set(f->commands, placeholders[i], Target, {placeholders[0]}), MICA_OK);
    }
    apply(f);
    for (int i = 0; i < 5; i++) {
        assert_true(mica_entity_equal(mica_get(f->world, resolve(f, placeholders[i]), Target)->who,
                                      resolve(f, placeholders[0])));
    }
    const mica_entity next = mica_create(f->commands);
    assert_int_equal(mica_entity_index(next), 4);
    assert_int_equal(mica_add(f->commands, placeholders[4], Frozen), MICA_STALE);
}

static void the_placeholder_of_a_skipped_clone_names_nothing(void **state) {
    const fixture *f = *state;
    const mica_entity source = mica_create(f->world);
    mica_destroy(f->commands, source);
    const mica_entity clone = mica_clone(f->commands, source);
    mica_add(f->commands, clone, Frozen);
    const mica_entity other = mica_spawn(f->commands, mica_value_of(Target, {clone}));
    apply(f);
    assert_true(mica_entity_is_null(resolve(f, clone)));
    assert_true(mica_entity_is_null(mica_get(f->world, resolve(f, other), Target)->who));
    assert_counts(f, 2, 2);
}

// What dies between recording and applying

static void a_kill_of_what_has_died_leaves_the_slots_new_owner(void **state) {
    const fixture *f = *state;
    const mica_entity old = mica_spawn(f->world, mica_value_of(Position, {1, 1}));
    mica_destroy(f->commands, old);
    mica_set(f->commands, old, Position, {5, 5});
    mica_destroy(f->world, old);
    const mica_entity young = mica_spawn(f->world, mica_value_of(Position, {2, 2}));
    assert_int_equal(mica_entity_index(young), mica_entity_index(old));
    apply(f);
    assert_true(mica_alive(f->world, young));
    assert_true(mica_get(f->world, young, Position)->x == 2);
    assert_counts(f, 0, 2);
    mica_destroy(f->commands, young);
    assert_int_equal(mica_world_clear(f->world), MICA_OK);
    apply(f);
    assert_int_equal(mica_world_entity_count(f->world), 0);
}

static void a_clone_of_what_is_destroyed_in_the_same_buffer(void **state) {
    const fixture *f = *state;
    const mica_entity entity = mica_spawn(f->world, mica_value_of(Position, {4, 4}));
    const mica_entity before = mica_clone(f->commands, entity);
    mica_destroy(f->commands, entity);
    const mica_entity after = mica_clone(f->commands, entity);
    apply(f);
    assert_true(mica_get(f->world, resolve(f, before), Position)->x == 4);
    assert_true(mica_entity_is_null(resolve(f, after)));
    assert_int_equal(mica_world_entity_count(f->world), 1);
    assert_counts(f, 2, 1);
}

static void destroying_twice_is_skipped_and_counted_where_it_was_recorded(void **state) {
    const fixture *f = *state;
    mica_commands *second = mica_commands_create(f->world);
    const mica_entity entity = mica_create(f->world);
    mica_destroy(f->commands, entity);
    mica_destroy(second, entity);
    apply(f);
    assert_int_equal(mica_commands_apply(second), MICA_OK);
    assert_int_equal(mica_commands_statistics(f->commands).skipped_count, 0);
    assert_int_equal(mica_commands_statistics(second).skipped_count, 1);
    assert_int_equal(mica_world_statistics(f->world).command_skipped_count, 1);
    mica_commands_destroy(second);
}

static void a_destroy_many_skips_who_is_dead_one_by_one(void **state) {
    const fixture *f = *state;
    mica_entity list[5];
    for (int i = 0; i < 3; i++) {
        list[i] = mica_spawn(f->world, mica_value_of(Position, {1, 1}));
    }
    list[3] = list[0];
    list[4] = mica_spawn(f->commands, mica_value_of(Position, {1, 1}));
    assert_int_equal(mica_destroy_many(f->commands, list, 5), MICA_OK);
    list[2] = MICA_NULL; // the list was copied
    mica_destroy(f->world, list[1]);
    apply(f);
    assert_int_equal(mica_world_entity_count(f->world), 0);
    assert_counts(f, 4, 2);
}

static void a_clone_that_the_world_refuses_is_skipped(void **state) {
    const fixture *f = *state;
    const mica_entity entity = mica_create(f->commands);
    mica_add(f->commands, entity, Sole);
    const mica_entity clone = mica_clone(f->commands, entity);
    const mica_entity last = mica_create(f->commands);
    apply(f);
    assert_true(mica_entity_is_null(resolve(f, clone)));
    assert_true(mica_alive(f->world, resolve(f, last)));
    assert_counts(f, 3, 1);
}

// Values

static void values_are_copied_once_and_moved_once(void **state) {
    const fixture *f = *state;
    const mica_entity entity = mica_create(f->world);
    Owned value;
    owned_hold(&value, 8, f->world);
    assert_int_equal(mica_set_from(f->commands, entity, Owned, &value), MICA_OK);
    owned_drop(&value, f->world);
    assert_int_equal(ledger_live_count(), 1);
    apply(f);
    assert_int_equal(ledger.made_count, 2);
    assert_true(!LEDGER_COUNTS_MOVES || ledger.moved_count == 1);
    assert_int_equal(*mica_get(f->world, entity, Owned)->number, 8);
}

static void move_only_values_are_moved_in_and_out(void **state) {
    const fixture *f = *state;
    const mica_entity entity = mica_create(f->world);
    Sole first, second;
    owned_hold(&first.owned, 1, f->world);
    owned_hold(&second.owned, 2, f->world);
    assert_int_equal(mica_commands_add(f->commands, entity, f->sole, &first), MICA_OK);
    assert_int_equal(mica_commands_set(f->commands, entity, f->sole, &second), MICA_OK);
    assert_null(first.owned.self);
    assert_null(second.owned.self);
    apply(f);
    assert_int_equal(*mica_get(f->world, entity, Sole)->owned.number, 2);
    assert_int_equal(ledger_live_count(), 1);
}

static void what_is_dropped_is_destructed_once(void **state) {
    const fixture *f = *state;
    const mica_entity entity = mica_spawn(f->world, mica_tag(Owned));
    const mica_entity dead = mica_create(f->world);
    mica_destroy(f->world, dead);
    Owned value;
    owned_hold(&value, 8, f->world);
    const mica_value spawned = {.component = f->owned, .value = &value};
    for (int round = 0; round < 2; round++) {
        mica_set_from(f->commands, entity, Owned, &value);
        mica_commands_add(f->commands, entity, f->owned, &value); // skipped: it is there
        mica_set_from(f->commands, dead, Owned, &value);          // skipped: its target is dead
        mica_commands_spawn(f->commands, &spawned, 1);
        assert_int_equal(ledger_live_count(), 2 + 4);
        mica_commands_clear(f->commands);
        assert_int_equal(mica_commands_count(f->commands), 0);
        assert_int_equal(ledger_live_count(), 2);
        ledger_check();
    }
    mica_set_from(f->commands, entity, Owned, &value);
    mica_commands_add(f->commands, entity, f->owned, &value);
    mica_set_from(f->commands, dead, Owned, &value);
    mica_commands_spawn(f->commands, &spawned, 1);
    apply(f);
    assert_int_equal(ledger_live_count(), 3);
    assert_counts(f, 2, 2);
    mica_commands_spawn(f->commands, &spawned, 1); // dropped with the buffer
    owned_drop(&value, f->world);
}

static void recorded_values_are_aligned(void **state) {
    const fixture *f = *state;
    static Page page;
    static Line line;
    strayed = 0;
    mica_entity entities[40];
    for (int i = 0; i < 40; i++) {
        entities[i] = mica_create(f->world);
        page.bytes[4095] = (unsigned char)i;
        line.bytes[63] = (unsigned char)(i + 1);
        mica_set(f->commands, entities[i], Position, {1, 2});
        mica_set_from(f->commands, entities[i], Line, &line);
        if (i % 4 == 0) {
            mica_set_from(f->commands, entities[i], Page, &page);
        }
    }
    const mica_value both[] = {{.type = mica_type_of(Line), .value = &line},
                               {.type = mica_type_of(Page), .value = &page}};
    const mica_entity spawned = mica_commands_spawn(f->commands, both, 2);
    const mica_entity clone = mica_clone(f->commands, spawned);
    apply(f);
    assert_int_equal(strayed, 0);
    for (int i = 0; i < 40; i++) {
        const Line *held = mica_get(f->world, entities[i], Line);
        assert_int_equal((uintptr_t)held % 64, 0);
        assert_int_equal(held->bytes[63], i + 1);
        const Page *held_page = mica_get(f->world, entities[i], Page);
        assert_true((held_page != NULL) == (i % 4 == 0));
        assert_true(held_page == NULL || ((uintptr_t)held_page % 4096 == 0 && held_page->bytes[4095] == i));
    }
    assert_int_equal((uintptr_t)mica_get(f->world, resolve(f, clone), Page) % 4096, 0);
}

static void the_largest_value_fits(void **state) {
    const fixture *f = *state;
    static Huge huge;
    huge.bytes[65535] = 9;
    const mica_entity entity = mica_create(f->world);
    mica_set(f->commands, entity, Position, {1, 2});
    assert_int_equal(mica_set_from(f->commands, entity, Huge, &huge), MICA_OK);
    apply(f);
    assert_int_equal(mica_get(f->world, entity, Huge)->bytes[65535], 9);
}

// Hooks that call back

static mica_commands *entered;
static mica_result entered_result[2];

static void enter(void *values, int32_t count, const mica_hook_context *context) {
    (void)values;
    (void)count;
    (void)context;
    if (entered != NULL) {
        const mica_entity entity = mica_entity_make(1, 0);
        entered_result[0] = mica_commands_destroy_entity(entered, entity);
        entered_result[1] = mica_commands_apply(entered);
        mica_commands_clear(entered);
        mica_commands_destroy(entered);
    }
}

typedef struct Entering {
    int32_t number;
} Entering;
MICA_COMPONENT_WITH(Entering, (.hooks = {.destruct = enter}));

static void a_buffer_that_is_being_applied_takes_nothing(void **state) {
    const fixture *f = *state;
    const mica_entity entity = mica_create(f->world);
    Entering value = {1};
    assert_int_equal(mica_commands_set(f->commands, entity, mica_register(f->world, Entering), &value), MICA_OK);
    mica_remove(f->commands, entity, Entering);
    entered = f->commands;
    entered_result[0] = entered_result[1] = MICA_OK;
    apply(f);
    entered = NULL;
    assert_int_equal(entered_result[0], MICA_LOCKED);
    assert_int_equal(entered_result[1], MICA_LOCKED);
    assert_counts(f, 2, 0);
}

static void lent_buffers_are_left_alone(void **state) {
    const fixture *f = *state;
    mica_commands *lent = mi_commands_create(f->world, true);
    mica_create(lent);
    mica_commands_destroy(lent);
    assert_int_equal(mica_commands_count(lent), 1);
    assert_int_equal(mi_commands_apply(lent, "mica_iter_end"), MICA_OK);
    assert_int_equal(mica_world_entity_count(f->world), 1);
    mi_commands_destroy(lent);
}

// Memory

static void record_round(const fixture *f, const mica_entity *entities, int count) {
    for (int i = 0; i < count; i++) {
        mica_set(f->commands, entities[i], Position, {(float)i, 0});
        if (mica_has(f->world, entities[i], Frozen)) {
            mica_remove(f->commands, entities[i], Frozen);
        } else {
            mica_add(f->commands, entities[i], Frozen);
        }
        const mica_entity made = mica_spawn(f->commands, mica_value_of(Position, {1, 1}), mica_tag(Burning));
        mica_set(f->commands, entities[i], Target, {made});
        mica_destroy(f->commands, made);
    }
    mica_destroy_many(f->commands, entities, 0);
}

static void rounds_alike_soon_allocate_nothing(void **state) {
    fixture *f = *state;
    mica_entity entities[300];
    for (int i = 0; i < 300; i++) {
        entities[i] = mica_create(f->world);
    }
    for (int round = 0; round < 6; round++) {
        record_round(f, entities, 300);
        apply(f);
    }
    const uint64_t calls = f->allocator.call_count;
    const size_t bytes = f->allocator.live_bytes;
    for (int round = 0; round < 6; round++) {
        record_round(f, entities, 300);
        apply(f);
    }
    assert_int_equal(f->allocator.call_count, calls);
    assert_int_equal(f->allocator.live_bytes, bytes);
}

// Work is counted: a small flush asks for no memory and moves one row, however large the world and the buffer were.
static void a_tiny_flush_does_not_work_in_proportion_to_the_world(void **state) {
    fixture *f = *state;
    enum { ENTITY_COUNT = 30000, FLUSH_COUNT = 300 };
    static mica_entity entities[ENTITY_COUNT];
    for (int i = 0; i < ENTITY_COUNT; i++) {
        entities[i] = mica_spawn(f->world, mica_value_of(Position, {1, 1}));
        mica_add(f->commands, entities[i], Burning);
    }
    apply(f);
    for (int i = 0; i < FLUSH_COUNT; i++) {
        mica_add(f->commands, entities[i], Owned);
        apply(f);
    }
    for (int i = 0; i < FLUSH_COUNT; i++) {
        mica_remove(f->commands, entities[i], Owned);
        apply(f);
    }
    const uint64_t calls = f->allocator.call_count;
    const int64_t made = ledger.made_count;
    const int64_t moved = ledger.moved_count;
    for (int i = 0; i < FLUSH_COUNT; i++) {
        mica_add(f->commands, entities[i], Owned);
        apply(f);
    }
    // One integer a value, which the constructor takes; no value but the new one is touched.
    assert_int_equal(f->allocator.call_count - calls, FLUSH_COUNT);
    assert_int_equal(ledger.made_count - made, FLUSH_COUNT);
    assert_true(!LEDGER_COUNTS_MOVES || ledger.moved_count == moved);
}

static void a_record_that_fails_leaves_the_buffer_and_the_value(void **state) {
    fixture *f = *state;
    const mica_entity entity = mica_create(f->world);
    Owned owned;
    Sole sole;
    owned_hold(&owned, 1, f->world);
    const mica_entity many[] = {entity, entity};
    for (int kind = 0; kind < 6; kind++) {
        mica_commands *commands = mica_commands_create(f->world);
        owned_hold(&sole.owned, 2, f->world);
        const mica_value values[] = {
            {.component = f->sole, .value = &sole}, {.component = f->frozen}, {.component = f->owned, .value = &owned}};
        const int64_t live = ledger_live_count();
        for (uint64_t n = 1;; n++) {
            mica_result result = MICA_OK;
            test_allocator_fail_at(&f->allocator, n);
            switch (kind) {
            case 0:
                result = mica_commands_set(commands, entity, f->owned, &owned);
                break;
            case 1:
                result = mica_commands_add(commands, entity, f->sole, &sole);
                break;
            case 2:
                result = mica_entity_is_null(mica_commands_spawn(commands, values, 3)) ? mica_last_result() : MICA_OK;
                break;
            case 3:
                result = mica_entity_is_null(mica_commands_clone(commands, entity)) ? mica_last_result() : MICA_OK;
                break;
            case 4:
                result = mica_commands_destroy_many(commands, many, 2);
                break;
            default:
                result = mica_commands_remove(commands, entity, f->owned);
                break;
            }
            if (!test_allocator_fail_stop(&f->allocator)) {
                assert_int_equal(result, MICA_OK);
                assert_true(n > 1);
                break;
            }
            assert_int_equal(result, MICA_OUT_OF_MEMORY);
            assert_int_equal(mica_commands_count(commands), 0);
            assert_int_equal(ledger_live_count(), live);
            assert_ptr_equal(sole.owned.self, &sole);
        }
        assert_int_equal(mica_commands_count(commands), 1);
        assert_int_equal(mica_commands_apply(commands), MICA_OK);
        mica_remove(f->world, entity, Sole);
        mica_commands_destroy(commands);
        owned_drop(&sole.owned, f->world);
    }
    owned_drop(&owned, f->world);
}

static void a_buffer_that_cannot_be_made_is_refused(void **state) {
    fixture *f = *state;
    test_allocator_fail_at(&f->allocator, 1);
    assert_null(mica_commands_create(f->world));
    assert_int_equal(mica_last_result(), MICA_OUT_OF_MEMORY);
    assert_true(test_allocator_fail_stop(&f->allocator));
}

// Relations

static void relations_are_linked_and_unlinked(void **state) {
    const fixture *f = *state;
    const mica_entity leader = mica_create(f->world);
    const mica_entity entity = mica_create(f->world);
    const mica_entity made = mica_spawn(f->commands, mica_value_of(Position, {1, 1}));
    mica_set(f->commands, entity, Follows, {made});
    mica_add_value(f->commands, entity, Follows, {leader}); // skipped: it has one
    mica_set(f->commands, leader, Follows, {leader});       // skipped: refused
    const mica_entity child =
        mica_spawn(f->commands, mica_value_of(Position, {2, 2}), mica_value_of(Follows, {entity}));
    const mica_entity refused =
        mica_spawn(f->commands, mica_value_of(Position, {2, 2}), mica_value_of(Follows, {mica_entity_make(77, 0)}));
    mica_add(f->commands, refused, Frozen); // skipped: there is no such entity
    const mica_entity last = mica_create(f->commands);
    apply(f);
    assert_true(mica_entity_equal(mica_get(f->world, entity, Follows)->whom, resolve(f, made)));
    assert_false(mica_has(f->world, leader, Follows));
    assert_true(mica_entity_equal(mica_get(f->world, resolve(f, child), Follows)->whom, entity));
    assert_true(mica_get(f->world, resolve(f, child), Position)->x == 2);
    assert_true(mica_entity_is_null(resolve(f, refused)));
    assert_true(mica_alive(f->world, resolve(f, last)));
    assert_int_equal(mica_world_entity_count(f->world), 5);
    assert_counts(f, 4, 4);
    mica_remove(f->commands, entity, Follows);
    mica_remove(f->commands, leader, Follows); // no link: applied, no effect
    apply(f);
    assert_false(mica_has(f->world, entity, Follows));
    assert_counts(f, 6, 4);
}

static void links_of_other_parts_are_recorded_with_their_flags(void **state) {
    const fixture *f = *state;
    const mica_component follows = mica_register(f->world, Follows);
    const mica_entity a = mica_create(f->world);
    const mica_entity b = mica_create(f->world);
    const Follows value = {b};
    assert_int_equal(mi_commands_link(f->commands, a, follows, &value, 1, "test"), MICA_OK);
    apply(f);
    assert_true(mica_entity_equal(mica_get(f->world, a, Follows)->whom, b));
    assert_int_equal(mi_commands_unlink(f->commands, a, follows, 1, "test"), MICA_OK);
    assert_int_equal(mi_commands_link(f->commands, b, follows, NULL, 0, "test"), MICA_OK);
    apply(f);
    assert_false(mica_has(f->world, a, Follows));
    assert_true(mica_entity_is_null(mica_get(f->world, b, Follows)->whom));
    const mica_entity c = mica_spawn(f->commands, mica_value_of(Follows, {a}));
    assert_int_equal(mi_commands_subtree(f->commands, c, follows, "test"), MICA_OK);
    assert_int_equal(mi_commands_subtree(f->commands, a, follows, "test"), MICA_OK); // dead by then
    assert_int_equal(mi_commands_subtree(f->commands, MICA_NULL, follows, "test"), MICA_STALE);
    apply(f);
    assert_false(mica_alive(f->world, a));
    assert_int_equal(mica_world_entity_count(f->world), 1);
    assert_counts(f, 5, 1);
}

#define CASE(NAME) cmocka_unit_test_setup_teardown(NAME, set_up, tear_down)

static void place_types(storage_mix mix) {
    static mica_type *const types[] = {mica_type_of(Position), mica_type_of(Target),  mica_type_of(Squad),
                                       mica_type_of(Frozen),   mica_type_of(Burning), mica_type_of(Line),
                                       mica_type_of(Page),     mica_type_of(Huge),    mica_type_of(Owned),
                                       mica_type_of(Sole),     mica_type_of(Entering)};
    for (uint32_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
        place_type(types[i], mix, i);
    }
}

int main(void) {
    const struct CMUnitTest anywhere[] = {
        CASE(recording_does_not_touch_the_world),
        CASE(targets_that_stand_for_nothing_are_refused),
        CASE(unknown_ids_missing_values_and_values_of_tags_are_refused),
        CASE(a_spawn_is_refused_as_a_whole),
        CASE(a_destroy_many_names_the_index_that_it_refuses),
        CASE(without_a_buffer_everything_is_refused),
        CASE(applying_is_refused_while_structure_is_locked_and_recording_is_not),
        CASE(a_placeholder_is_refused_by_the_world),
        CASE(placeholders_are_targets_and_values_in_their_buffer),
        CASE(a_value_may_name_an_entity_recorded_later_than_its_owner),
        CASE(placeholders_of_an_earlier_round_are_refused),
        CASE(placeholders_beyond_another_buffers_are_refused),
        CASE(numbers_of_placeholders_wrap_around),
        CASE(the_placeholder_of_a_skipped_clone_names_nothing),
        CASE(a_kill_of_what_has_died_leaves_the_slots_new_owner),
        CASE(a_clone_of_what_is_destroyed_in_the_same_buffer),
        CASE(destroying_twice_is_skipped_and_counted_where_it_was_recorded),
        CASE(a_destroy_many_skips_who_is_dead_one_by_one),
        CASE(a_clone_that_the_world_refuses_is_skipped),
        CASE(values_are_copied_once_and_moved_once),
        CASE(move_only_values_are_moved_in_and_out),
        CASE(what_is_dropped_is_destructed_once),
        CASE(recorded_values_are_aligned),
        CASE(the_largest_value_fits),
        CASE(a_buffer_that_is_being_applied_takes_nothing),
        CASE(lent_buffers_are_left_alone),
        CASE(a_record_that_fails_leaves_the_buffer_and_the_value),
        CASE(a_buffer_that_cannot_be_made_is_refused),
        CASE(relations_are_linked_and_unlinked),
        CASE(links_of_other_parts_are_recorded_with_their_flags),
    };
    // Pools give back the pages of their sparse arrays that nobody is in.
    const struct CMUnitTest in_tables[] = {
        CASE(rounds_alike_soon_allocate_nothing),
        CASE(a_tiny_flush_does_not_work_in_proportion_to_the_world),
    };
    place_types(ALL_IN_TABLES);
    int failed_count = cmocka_run_group_tests_name("in tables", in_tables, NULL, NULL);
    for (storage_mix mix = ALL_IN_TABLES; mix < MIX_COUNT; mix++) {
        place_types(mix);
        failed_count += cmocka_run_group_tests_name(storage_mix_names[mix], anywhere, NULL, NULL);
    }
    return failed_count;
}

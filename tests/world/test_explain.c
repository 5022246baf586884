// Queries in words: what drives a walk, what matches, and why an entity matches or not, over both storages.
#include "world/world_fixture.h"

MICA_STRUCT_WITH(Ground, (.storage = MICA_TABLE), { int32_t number; });
MICA_STRUCT_WITH(Fan, (.storage = MICA_TABLE, .toggle = true), { int32_t number; });
MICA_STRUCT_WITH(Glow, (.storage = MICA_POOL), { int32_t number; });
MICA_STRUCT_WITH(Lamp, (.storage = MICA_POOL, .toggle = true), { int32_t number; });
MICA_STRUCT_WITH(Spark, (.storage = MICA_POOL), { int32_t number; });
MICA_TAG_WITH(Burnt, (.storage = MICA_POOL));

// Good until the next call.
static const char *explained(mica_query *query, mica_entity entity) {
    static char text[2048];
    const size_t length = mica_query_explain(query, entity, text, sizeof(text));
    assert_true(length > 0 && length < sizeof(text));
    assert_int_equal(length, strlen(text));
    return text;
}

#define assert_explains(QUERY, ENTITY, TEXT) assert_string_equal(explained((QUERY), (ENTITY)), (TEXT))

static void explain_says_why_an_entity_matches_or_not(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    const mica_entity entity = mica_spawn(w.world, mica_tag(Ground), mica_tag(Frozen));
    mica_query *query = mica_query_of(w.world, mica_read(Ground), mica_without(Frozen), mica_read_optional(Position));
    char text[512];
    const size_t length = mica_query_explain(query, entity, text, sizeof(text));
    assert_int_equal(length, strlen(text));
    assert_non_null(strstr(text, "does not match"));
    assert_non_null(strstr(text, "read Ground: holds"));
    assert_non_null(strstr(text, "without Frozen: fails: it is there"));
    assert_non_null(strstr(text, "optional read Position: is not there, which is allowed"));
    mica_remove(w.world, entity, Frozen);
    mica_query_explain(query, entity, text, sizeof(text));
    assert_int_equal(strncmp(text, "matches", 7), 0);
    char cut[10];
    assert_true(mica_query_explain(query, entity, cut, sizeof(cut)) > sizeof(cut));
    assert_int_equal(strlen(cut), 9);
    mica_query_explain(query, MICA_NULL, text, sizeof(text));
    assert_non_null(strstr(text, "1 row: Ground"));
    mica_destroy(w.world, entity);
    mica_query_explain(query, entity, text, sizeof(text));
    assert_non_null(strstr(text, "not alive"));
    assert_int_equal(mica_query_explain(NULL, entity, text, sizeof(text)), 0);
    watched_end(&w);
}

static void explain_says_which_clause_fails(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    char text[256];
    mica_query *query = mica_query_of(w.world, mica_any_read(1, Health), mica_any_with(1, Frozen));
    const mica_entity one = mica_spawn(w.world, mica_tag(Frozen));
    mica_query_explain(query, one, text, sizeof(text));
    assert_non_null(strstr(text, "with Frozen: holds"));
    assert_non_null(strstr(text, "read Health: is not there, another of its clause is"));
    const mica_entity none = mica_spawn(w.world, mica_value_of(Position, {0, 0, 0}));
    mica_query_explain(query, none, text, sizeof(text));
    assert_non_null(strstr(text, "does not match"));
    assert_non_null(strstr(text, "read Health: fails: none of its clause is there"));
    watched_end(&w);
}

static void the_smallest_pool_drives_where_it_holds_fewer_than_the_tables(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    mica_spawn(w.world, mica_tag(Ground));
    mica_spawn(w.world, mica_tag(Ground), mica_tag(Glow));
    mica_spawn(w.world, mica_tag(Ground), mica_tag(Glow), mica_tag(Spark));
    assert_explains(mica_query_of(w.world, mica_read(Ground), mica_write(Spark), mica_without(Burnt)), MICA_NULL,
                    "query (!Burnt, Ground, [write] Spark)\n"
                    "driven by the pool of Spark: 1 entity\n"
                    "  pool of Burnt: 0 elements\n"
                    "  pool of Spark: 1 element\n"
                    "matches 1 table\n"
                    "  3 rows: Ground\n");
    mica_query *both = mica_query_of(w.world, mica_read(Spark), mica_read(Ground), mica_read(Glow));
    assert_explains(both, MICA_NULL,
                    "query (Glow, Ground, Spark)\n"
                    "driven by the pool of Spark: 1 entity\n"
                    "  pool of Glow: 2 elements\n"
                    "  pool of Spark: 1 element\n"
                    "matches 1 table\n"
                    "  3 rows: Ground\n");
    mica_spawn(w.world, mica_tag(Spark));
    assert_non_null(strstr(explained(both, MICA_NULL), "driven by the pool of Glow: 2 entities\n"));
    watched_end(&w);
}

static void tables_drive_where_no_pool_holds_fewer(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    mica_query *query = mica_query_of(w.world, mica_read(Ground), mica_read(Spark));
    assert_explains(query, MICA_NULL,
                    "query (Ground, Spark)\n"
                    "driven by tables\n"
                    "  pool of Spark: 0 elements\n"
                    "matches 0 tables\n");
    mica_spawn(w.world, mica_tag(Ground), mica_tag(Spark));
    assert_explains(query, MICA_NULL,
                    "query (Ground, Spark)\n"
                    "driven by tables\n"
                    "  pool of Spark: 1 element\n"
                    "matches 1 table\n"
                    "  1 row: Ground\n");
    watched_end(&w);
}

static void entities_without_rows_come_behind_the_tables(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    mica_query *query = mica_query_of(w.world, mica_read_optional(Spark), mica_without(Fan));
    assert_explains(query, MICA_NULL,
                    "query (!Fan, ?Spark)\n"
                    "driven by the entities without components in tables\n"
                    "  pool of Spark: 0 elements\n"
                    "matches 0 tables\n");
    mica_spawn(w.world, mica_tag(Ground), mica_tag(Spark));
    mica_spawn(w.world, mica_tag(Fan));
    assert_explains(query, MICA_NULL,
                    "query (!Fan, ?Spark)\n"
                    "driven by tables, then the entities without components in tables\n"
                    "  pool of Spark: 1 element\n"
                    "matches 1 table\n"
                    "  1 row: Ground\n");
    watched_end(&w);
}

static void a_group_drives_the_query_of_its_components(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    mica_spawn(w.world, mica_tag(Glow), mica_tag(Spark));
    mica_spawn(w.world, mica_tag(Glow));
    mica_spawn(w.world, mica_tag(Glow), mica_tag(Spark));
    mica_spawn(w.world, mica_tag(Glow), mica_tag(Spark), mica_tag(Burnt));
    mica_query *query = mica_query_of(w.world, mica_write(Glow), mica_read(Spark), mica_without(Burnt));
    mica_group *group = mica_group_create(w.world, &(mica_group_def){.owned = {mica_type_of(Spark), mica_type_of(Glow)},
                                                                     .without = {mica_type_of(Burnt)}});
    assert_non_null(group);
    assert_non_null(
        strstr(explained(query, MICA_NULL), "driven by the group ([own] Spark, [own] Glow, !Burnt): 2 entities\n"));
    // Other terms are none of the group's.
    assert_non_null(strstr(explained(mica_query_of(w.world, mica_write(Glow), mica_read(Spark)), MICA_NULL),
                           "driven by the pool of Spark: 3 entities\n"));
    assert_int_equal(mica_group_destroy(group), MICA_OK);
    assert_non_null(strstr(explained(query, MICA_NULL), "driven by the pool of Spark: 3 entities\n"));
    watched_end(&w);
}

static void the_pools_of_a_clause_drive_one_after_the_other(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    mica_spawn(w.world, mica_tag(Spark));
    mica_spawn(w.world, mica_tag(Glow), mica_tag(Spark));
    assert_explains(mica_query_of(w.world, mica_any_read(1, Spark), mica_any_read(1, Glow)), MICA_NULL,
                    "query ([any 1] Glow, [any 1] Spark)\n"
                    "driven by the pools of its any-of clause, Glow first\n"
                    "  pool of Glow: 1 element\n"
                    "  pool of Spark: 2 elements\n");
    // Tables have a say in this one.
    assert_non_null(
        strstr(explained(mica_query_of(w.world, mica_any_read(1, Spark), mica_any_read(1, Ground)), MICA_NULL),
               "driven by the entities without components in tables\n"));
    watched_end(&w);
}

static void runs_are_known_from_a_whole_walk_until_a_pool_changes(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    for (int32_t i = 0; i < 200; i++) {
        mica_spawn(w.world, mica_tag(Glow), mica_tag(Spark));
    }
    mica_query *query = mica_query_of(w.world, mica_read(Glow), mica_read(Spark));
    assert_null(strstr(explained(query, MICA_NULL), "run"));
    int32_t visited = 0;
    mica_each (query, it) {
        visited += it.count;
    }
    assert_int_equal(visited, 200);
    assert_explains(query, MICA_NULL,
                    "query (Glow, Spark)\n"
                    "driven by the pool of Glow: 200 entities\n"
                    "  1 run known from an earlier walk\n"
                    "  pool of Glow: 200 elements\n"
                    "  pool of Spark: 200 elements\n");
    mica_spawn(w.world, mica_tag(Glow));
    assert_null(strstr(explained(query, MICA_NULL), "run"));
    watched_end(&w);
}

static void pools_are_among_the_reasons(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    mica_query *query =
        mica_query_of(w.world, mica_read(Ground), mica_write(Spark), mica_without(Burnt), mica_read_optional(Glow));
    assert_explains(query, mica_spawn(w.world, mica_tag(Ground), mica_tag(Spark)),
                    "matches (!Burnt, ?Glow, Ground, [write] Spark)\n"
                    "  without Burnt: holds\n"
                    "  optional read Glow: is not there, which is allowed\n"
                    "  read Ground: holds\n"
                    "  write Spark: holds\n");
    assert_explains(query, mica_spawn(w.world, mica_tag(Ground), mica_tag(Glow), mica_tag(Burnt)),
                    "does not match (!Burnt, ?Glow, Ground, [write] Spark)\n"
                    "  without Burnt: fails: it is there\n"
                    "  optional read Glow: is there\n"
                    "  read Ground: holds\n"
                    "  write Spark: fails: it is not there\n");
    mica_query *any = mica_query_of(w.world, mica_any_read(1, Ground), mica_any_read(1, Spark));
    assert_explains(any, mica_spawn(w.world, mica_tag(Spark)),
                    "matches ([any 1] Ground, [any 1] Spark)\n"
                    "  read Ground: is not there, another of its clause is\n"
                    "  read Spark: holds\n");
    assert_explains(any, mica_create(w.world),
                    "does not match ([any 1] Ground, [any 1] Spark)\n"
                    "  read Ground: fails: none of its clause is there\n"
                    "  read Spark: fails: none of its clause is there\n");
    watched_end(&w);
}

static void disabled_and_killed_entities_are_among_the_reasons(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    mica_query *query = mica_query_of(w.world, mica_read(Spark));
    mica_query *too = mica_query_of(w.world, mica_read(Spark), mica_disabled_too());
    mica_query *only = mica_query_of(w.world, mica_read(Spark), mica_disabled_only());
    const mica_entity entity = mica_spawn(w.world, mica_tag(Spark));
    assert_explains(only, entity,
                    "does not match (Spark, [disabled only])\n"
                    "  read Spark: holds\n"
                    "  fails: the entity is not disabled\n");
    assert_int_equal(mica_disable(w.world, entity), MICA_OK);
    assert_explains(query, entity,
                    "does not match (Spark)\n"
                    "  read Spark: holds\n"
                    "  fails: the entity is disabled\n");
    assert_explains(too, entity, "matches (Spark, [disabled too])\n  read Spark: holds\n");
    assert_explains(only, entity, "matches (Spark, [disabled only])\n  read Spark: holds\n");
    assert_int_equal(mica_kill(w.world, entity), MICA_OK);
    assert_explains(too, entity,
                    "does not match (Spark, [disabled too])\n"
                    "  read Spark: holds\n"
                    "  fails: the entity is killed\n");
    assert_explains(query, entity,
                    "does not match (Spark)\n"
                    "  read Spark: holds\n"
                    "  fails: the entity is killed\n"
                    "  fails: the entity is disabled\n");
    assert_int_equal(mica_world_refresh(w.world), 1);
    assert_explains(query, entity, "does not match: the entity is not alive\n");
    watched_end(&w);
}

static void disabled_components_are_among_the_reasons(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    const mica_entity entity = mica_spawn(w.world, mica_tag(Fan), mica_tag(Lamp));
    mica_query *query = mica_query_of(w.world, mica_read(Fan), mica_write(Lamp));
    mica_query *without = mica_query_of(w.world, mica_without(Fan), mica_without(Lamp));
    mica_query *optional = mica_query_of(w.world, mica_read_optional(Fan), mica_write_optional(Lamp));
    mica_query *any = mica_query_of(w.world, mica_any_read(1, Fan), mica_any_read(1, Lamp));
    assert_non_null(strstr(explained(query, entity), "  read Fan: holds\n  write Lamp: holds\n"));
    assert_int_equal(mica_disable_component(w.world, entity, Lamp), MICA_OK);
    assert_explains(query, entity,
                    "does not match (Fan, [write] Lamp)\n"
                    "  read Fan: holds\n"
                    "  write Lamp: fails: it is disabled\n");
    assert_explains(any, entity,
                    "matches ([any 1] Fan, [any 1] Lamp)\n"
                    "  read Fan: holds\n"
                    "  read Lamp: is not there, another of its clause is\n");
    assert_int_equal(mica_disable_component(w.world, entity, Fan), MICA_OK);
    assert_explains(without, entity,
                    "matches (!Fan, !Lamp)\n"
                    "  without Fan: holds: it is disabled\n"
                    "  without Lamp: holds: it is disabled\n");
    assert_explains(optional, entity,
                    "matches (?Fan, [write] ?Lamp)\n"
                    "  optional read Fan: is disabled, which is allowed\n"
                    "  optional write Lamp: is disabled, which is allowed\n");
    assert_non_null(strstr(explained(any, entity), "read Fan: fails: none of its clause is there\n"));
    watched_end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(explain_says_why_an_entity_matches_or_not),
        cmocka_unit_test(explain_says_which_clause_fails),
        cmocka_unit_test(the_smallest_pool_drives_where_it_holds_fewer_than_the_tables),
        cmocka_unit_test(tables_drive_where_no_pool_holds_fewer),
        cmocka_unit_test(entities_without_rows_come_behind_the_tables),
        cmocka_unit_test(a_group_drives_the_query_of_its_components),
        cmocka_unit_test(the_pools_of_a_clause_drive_one_after_the_other),
        cmocka_unit_test(runs_are_known_from_a_whole_walk_until_a_pool_changes),
        cmocka_unit_test(pools_are_among_the_reasons),
        cmocka_unit_test(disabled_and_killed_entities_are_among_the_reasons),
        cmocka_unit_test(disabled_components_are_among_the_reasons),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// Queries from texts: every text of a query finds it again, and what is wrong with a text is said with its place.
#include "world/world_fixture.h"

// Names that a text writes in quotes, and names that only look like it.
static const char *const odd_names[] = {"a, b",     ",",          "[write] Health",
                                        "!Health",  "?",          "\"",
                                        "\\",       "\"quoted\"", "back\\slash \", mixed",
                                        " before",  "behind ",    "\ttab\n",
                                        " ",        "mid dle",    "]",
                                        "in[side]", "what?",      "say \"this\"",
                                        "write",    "any 1",      "disabled too",
                                        "ChildOf",  "\xc3\xa9",   "\x01",
                                        "a!",       "\xff",       "Position Velocity"};

enum { ODD_COUNT = sizeof(odd_names) / sizeof(odd_names[0]) };

// A world with the fixture's types, and the odd names in turns as tags and as values, in tables and in pools.
static void begin(watched_world *w, mica_component odd[ODD_COUNT]) {
    watched_begin(w);
    mica_schema *schema = mica_world_schema(w->world);
    for (int32_t i = 0; i < ODD_COUNT; i++) {
        const mica_traits traits = {.storage = i / 2 % 2 == 0 ? MICA_TABLE : MICA_POOL};
        const mica_type *type = i % 2 == 0 ? mica_type_of(Health) : mica_type_of(Frozen);
        odd[i] = mica_schema_register_named(schema, type, odd_names[i], &traits);
        assert_int_not_equal(odd[i], 0);
    }
}

// The query of a text, borrowed; NULL: refused.
static mica_query *find(mica_world *world, const char *text) {
    mica_query *query = mica_query_create_text(world, text);
    mica_query_release(query);
    return query;
}

#define assert_finds(WORLD, TEXT, ...)                               \
    do {                                                             \
        mica_query *expected_ = mica_query_of((WORLD), __VA_ARGS__); \
        assert_non_null(expected_);                                  \
        assert_ptr_equal(find((WORLD), (TEXT)), expected_);          \
    } while (0)

static void assert_refused(mica_world *world, const char *text, mica_result code, const char *message) {
    const int32_t query_count = mica_world_statistics(world).query_count;
    mica_error_clear();
    assert_null(mica_query_create_text(world, text));
    assert_int_equal(mica_last_result(), code);
    assert_said(message);
    assert_said("mica_query_create_text");
    assert_int_equal(mica_world_statistics(world).query_count, query_count);
}

static void each_mark_is_its_term(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    assert_finds(w.world, "Health", mica_read(Health));
    assert_finds(w.world, "[read] Health", mica_read(Health));
    assert_finds(w.world, "[write] Health", mica_write(Health));
    assert_finds(w.world, "[with] Health", mica_with(Health));
    assert_finds(w.world, "!Health", mica_without(Health));
    assert_finds(w.world, "?Health", mica_read_optional(Health));
    assert_finds(w.world, "[write] ?Health", mica_write_optional(Health));
    assert_finds(w.world, "[any 1] Health, [any 1] [write] Wide, [any 8] [with] Frozen, [any 8] [read] Position",
                 mica_any_read(1, Health), mica_any_write(1, Wide), mica_any_with(8, Frozen),
                 mica_any_read(8, Position));
    assert_finds(w.world, "[disabled too]", mica_disabled_too());
    assert_finds(w.world, "[changed] Health", mica_changed(Health));
    assert_finds(w.world, "[changed] Health, [with] Health", mica_changed(Health));
    assert_finds(w.world, "[changed] Health, [write] Health", mica_write(Health), mica_changed(Health));
    assert_finds(w.world, "[marked] Health, [added] Frozen", mica_write_marked(Health), mica_added(Frozen));
    assert_finds(w.world, "[removed] Health, !Health", mica_without(Health), mica_removed(Health));
    assert_finds(w.world, "[any 2] [changed] Health, [any 2] [marked] Wide, Health", mica_any_changed(2, Health),
                 MICA_TERM(Wide, MICA_USE_WRITE_MARKED, 2), mica_read(Health));
    assert_finds(w.world, "[disabled only], Health", mica_disabled_only(), mica_read(Health));
    assert_finds(w.world, "Position, [write] Wide, !Frozen, ?Health", mica_read(Position), mica_write(Wide),
                 mica_without(Frozen), mica_read_optional(Health));
    watched_end(&w);
}

static void a_tag_that_is_plainly_named_must_be_there(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    assert_finds(w.world, "Frozen", mica_with(Frozen));
    assert_finds(w.world, "[any 2] Frozen, [any 2] Health", mica_any_with(2, Frozen), mica_any_read(2, Health));
    assert_finds(w.world, "!Frozen", mica_without(Frozen));
    watched_end(&w);
}

static void no_terms_are_all_living_entities(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    mica_query *all = mica_query_find(w.world, NULL, 0);
    assert_ptr_equal(find(w.world, ""), all);
    assert_ptr_equal(find(w.world, " \t\r\n\v\f"), all);
    mica_create(w.world);
    assert_int_equal(mica_query_count(all), 1);
    watched_end(&w);
}

static void white_space_may_stand_between_all_parts(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    mica_query *query = find(w.world, "[any 1] [write] Health,[any 1]Wide,[write]?Position,!Frozen,[disabled too]");
    assert_non_null(query);
    assert_ptr_equal(find(w.world, "\n[ any\t1 ] [ write ] Health \r\n, [any 1]\vWide\f,[write ] ? Position,! Frozen  ,"
                                   "[  disabled \n too]  "),
                     query);
    assert_ptr_equal(find(w.world, "[any 1][write]\"Health\",[any 1]\"Wide\" ,[write]?\"Position\", ! \"Frozen\","
                                   "[disabled\ttoo]"),
                     query);
    watched_end(&w);
}

static void the_caller_holds_a_reference(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    mica_query *held = mica_query_create_text(w.world, "Health, !Frozen");
    assert_int_equal(mica_world_trim(w.world), MICA_OK);
    assert_int_equal(mica_world_statistics(w.world).query_count, 1);
    assert_ptr_equal(mica_query_of(w.world, mica_without(Frozen), mica_read(Health)), held);
    mica_query_release(held);
    assert_int_equal(mica_world_trim(w.world), MICA_OK);
    assert_int_equal(mica_world_statistics(w.world).query_count, 0);
    watched_end(&w);
}

static void odd_names_stand_in_quotes(void **state) {
    (void)state;
    watched_world w;
    mica_component odd[ODD_COUNT];
    begin(&w, odd);
    static const char *const texts[ODD_COUNT] = {"\"a, b\"",
                                                 "\",\"",
                                                 "\"[write] Health\"",
                                                 "\"!Health\"",
                                                 "\"?\"",
                                                 "\"\\\"\"",
                                                 "\\",
                                                 "\"\\\"quoted\\\"\"",
                                                 "\"back\\\\slash \\\", mixed\"",
                                                 "\" before\"",
                                                 "\"behind \"",
                                                 "\"\ttab\n\"",
                                                 "\" \"",
                                                 "mid dle",
                                                 "]",
                                                 "in[side]",
                                                 "what?",
                                                 "say \"this\"",
                                                 "write",
                                                 "any 1",
                                                 "disabled too",
                                                 "ChildOf",
                                                 "\xc3\xa9",
                                                 "\x01",
                                                 "a!",
                                                 "\xff",
                                                 "Position Velocity"};
    for (int32_t i = 0; i < ODD_COUNT; i++) {
        const mica_term term = {.component = odd[i], .use = MICA_USE_WITHOUT};
        mica_query *query = mica_query_find(w.world, &term, 1);
        assert_int_equal(mica_query_text(query)[0], '!');
        assert_string_equal(mica_query_text(query) + 1, texts[i]);
        assert_ptr_equal(find(w.world, mica_query_text(query)), query);
    }
    // Quotes that are not needed are no other name.
    assert_finds(w.world, "\"Health\"", mica_read(Health));
    watched_end(&w);
}

// Terms with random uses, clauses and components, some of them beside each other; what create refuses is left out.
static int32_t random_terms(test_random *random, mica_world *world, mica_term terms[MICA_QUERY_TERM_MAX]) {
    const uint32_t component_count = (uint32_t)mica_schema_count(mica_world_schema(world));
    int32_t count = 0;
    const uint32_t wanted = test_random_below(random, 13);
    for (uint32_t i = 0; i < wanted; i++) {
        mica_term term = {.component = (mica_component)(1 + test_random_below(random, component_count)),
                          .use = (uint8_t)(MICA_USE_READ + test_random_below(random, MICA_USE_WRITE_MARKED))};
        if (count > 0 && test_random_below(random, 3) == 0) {
            term.component = terms[test_random_below(random, (uint32_t)count)].component;
        }
        if (test_random_below(random, 3) == 0) {
            term.any = (uint8_t)(1 + test_random_below(random, 8));
        }
        terms[count] = term;
        count += term.use != MICA_USE_DISABLED_TOO && term.use != MICA_USE_DISABLED_ONLY &&
                 mica_query_find(world, terms, count + 1) != NULL;
    }
    const uint32_t disabled = test_random_below(random, 3);
    if (disabled > 0) {
        terms[count++] = (mica_term){.use = disabled == 1 ? MICA_USE_DISABLED_TOO : MICA_USE_DISABLED_ONLY};
    }
    return count;
}

static void the_text_of_every_query_finds_it(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        test_random random = {seed};
        watched_world w;
        mica_component odd[ODD_COUNT];
        begin(&w, odd);
        int32_t term_count = 0;
        for (int32_t i = 0; i < 250; i++) {
            mica_term terms[MICA_QUERY_TERM_MAX];
            const int32_t count = random_terms(&random, w.world, terms);
            mica_query *query = mica_query_find(w.world, terms, count);
            if (query == NULL || find(w.world, mica_query_text(query)) != query) {
                fail_msg("seed %d, query %d (%s): %s", (int)seed, (int)i, mica_query_text(query), mica_last_error());
            }
            term_count += count;
        }
        assert_true(term_count > 500);
        watched_end(&w);
    }
}

static void malformed_texts_are_refused_with_place_and_expectation(void **state) {
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {",", "byte 0: found ',' where a component's name is expected"},
        {"Health,", "byte 7: the text ends where a component's name is expected"},
        {"Health, ,Wide", "byte 8: found ',Wide' where a component's name is expected"},
        {"!", "byte 1: the text ends where a component's name is expected"},
        {"! !Health", "byte 2: found '!Health' where a component's name is expected"},
        {"Wide, ??Health", "byte 7: found '?Health' where a component's name is expected"},
        {"[write]", "byte 7: the text ends where a component's name is expected"},
        {"[write] [write] Health", "byte 8: found '[write] Health' where a component's name is expected"},
        {"[write] !Health", "byte 8: found '!Health' where a component's name is expected"},
        {"[read] ?Health", "byte 7: found '?Health' where a component's name is expected"},
        {"[with] ?Health", "byte 7: found '?Health' where a component's name is expected"},
        {"[any 1] !Health", "byte 8: found '!Health' where a component's name is expected"},
        {"[any 1] ?Health", "byte 8: found '?Health' where a component's name is expected"},
        {"[any 1] [write] ?Health", "byte 16: found '?Health' where a component's name is expected"},
        {"?[write] Health", "byte 1: found '[write] Health' where a component's name is expected"},
        {"[wrote] Health", "byte 1: found 'wrote] Health' where 'read', 'write', 'with', 'marked', 'changed', 'added', "
                           "'removed', 'any' or 'disabled' is"},
        {"[writes] Health", "byte 1: found 'writes] Health'"},
        {"[] Health", "byte 1: found '] Health'"},
        {"[", "byte 1: the text ends where 'read', 'write', 'with', 'marked', 'changed', 'added', 'removed', 'any' or "
              "'disabled' is expected"},
        {"[write Health", "byte 7: found 'Health' where ']' is expected"},
        {"[write", "byte 6: the text ends where ']' is expected"},
        {"[any] Health", "byte 4: found '] Health' where the number of a clause, 1 to 8, is expected"},
        {"[any 0] Health", "byte 5: found '0] Health' where the number of a clause, 1 to 8, is expected"},
        {"[any 9] Health", "byte 5: found '9] Health'"},
        {"[any 12] Health", "byte 5: found '12] Health'"},
        {"[any -1] Health", "byte 5: found '-1] Health'"},
        {"[any1] Health", "byte 1: found 'any1] Health'"},
        {"[any 1 2] Health", "byte 7: found '2] Health' where ']' is expected"},
        {"[any 1] [any 2] Health",
         "byte 9: found 'any 2] Health' where 'read', 'write', 'with', 'marked' or 'changed' is expected"},
        {"[any 1] [disabled too]",
         "byte 9: found 'disabled too]' where 'read', 'write', 'with', 'marked' or 'changed' is expected"},
        {"[disabled]", "byte 9: found ']' where 'too' or 'only' is expected"},
        {"[disabled never]", "byte 10: found 'never]' where 'too' or 'only' is expected"},
        {"[disabled too] Health", "byte 15: found 'Health' where a comma or the end is expected"},
        {"\"Health\" Wide", "byte 9: found 'Wide' where a comma or the end is expected"},
        {"\"Health\"\"", "byte 8: found '\"' where a comma or the end is expected"},
        {"\"Health", "byte 7: the text ends where a closing quote is expected"},
        {"\"Health\\\"", "byte 9: the text ends where a closing quote is expected"},
        {"\"Hea\\lth\"", "byte 5: found 'lth\"' where '\"' or '\\' behind a backslash is expected"},
        {"\"Health\\", "byte 8: the text ends where '\"' or '\\' behind a backslash is expected"},
    };
    watched_world w;
    watched_begin(&w);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_refused(w.world, cases[i].text, MICA_FORMAT, cases[i].message);
    }
    watched_end(&w);
}

static void unknown_names_are_refused_with_their_place(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    assert_refused(w.world, "Health, [write]  Healht ", MICA_UNKNOWN, "byte 17: no component is named 'Healht'");
    assert_refused(w.world, "Health Wide", MICA_UNKNOWN, "byte 0: no component is named 'Health Wide'");
    assert_refused(w.world, "health", MICA_UNKNOWN, "byte 0");
    assert_refused(w.world, "!\"Health \"", MICA_UNKNOWN, "byte 1: no component is named 'Health '");
    assert_refused(w.world, "\"\"", MICA_UNKNOWN, "byte 0: no component is named ''");
    watched_end(&w);
}

static void what_create_refuses_is_refused_with_the_byte_of_the_term(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    assert_refused(w.world, "Health, Wide, [write] Health", MICA_INVALID, "byte 14: Health is named twice");
    assert_refused(w.world, "Wide,  [write] Frozen", MICA_INVALID, "byte 7: Frozen is a tag");
    assert_refused(w.world, "[read] Frozen", MICA_INVALID, "byte 0: Frozen is a tag");
    assert_refused(w.world, "Health, ?Frozen", MICA_INVALID, "byte 8: Frozen is a tag");
    assert_refused(w.world, "[disabled too], Health, [disabled only]", MICA_INVALID,
                   "byte 24: disabled entities are asked for once");
    char text[128];
    snprintf(text, sizeof(text), "Health, [write] %s", mica_type_of(mica_child_of)->name);
    assert_int_not_equal(mica_register(w.world, mica_child_of), 0);
    assert_refused(w.world, text, MICA_INVALID, "is a relation");
    assert_said("byte 8: ");
    watched_end(&w);
}

static void a_query_has_as_many_terms_as_create_allows(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    char text[(MICA_QUERY_TERM_MAX + 1) * 8] = "";
    size_t length = 0;
    for (int32_t i = 0; i < MICA_QUERY_TERM_MAX; i++) {
        char name[8];
        snprintf(name, sizeof(name), "C%02d", (int)i);
        mica_schema_register_named(mica_world_schema(w.world), mica_type_of(Health), name, NULL);
        length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%s", i == 0 ? "" : ", ", name);
    }
    mica_query *query = find(w.world, text);
    assert_non_null(query);
    assert_string_equal(mica_query_text(query), text);
    snprintf(text + length, sizeof(text) - length, ", C00");
    assert_refused(w.world, text, MICA_LIMIT, "a query has 64 at most");
    snprintf(text, sizeof(text), "byte %d: ", (int)(length + 2));
    assert_said(text);
    watched_end(&w);
}

static void names_of_any_length_are_read_to_their_end(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    enum { LENGTH = 1 << 20 };
    static char text[LENGTH + 1];
    memset(text, 'x', LENGTH);
    assert_refused(w.world, text, MICA_UNKNOWN, "byte 0: no component is named 'xxx");
    text[0] = '"';
    assert_refused(w.world, text, MICA_FORMAT, "byte 1048576: the text ends where a closing quote is expected");
    text[LENGTH - 1] = '"';
    assert_refused(w.world, text, MICA_UNKNOWN, "byte 0: no component is named 'xxx");
    // The longest name is found; one byte more is another name.
    memset(text, 'n', MICA_NAME_MAX + 1);
    text[MICA_NAME_MAX] = '\0';
    const mica_component id = mica_schema_register_named(mica_world_schema(w.world), mica_type_of(Health), text, NULL);
    assert_int_not_equal(id, 0);
    const mica_term term = {.component = id, .use = MICA_USE_READ};
    assert_ptr_equal(find(w.world, text), mica_query_find(w.world, &term, 1));
    text[MICA_NAME_MAX] = 'n';
    text[MICA_NAME_MAX + 1] = '\0';
    assert_refused(w.world, text, MICA_UNKNOWN, "byte 0: no component is named 'nnn");
    // Space, and brackets without an end.
    memset(text, ' ', LENGTH);
    memcpy(text + LENGTH / 2, "Health", 6);
    assert_finds(w.world, text, mica_read(Health));
    memset(text, '[', LENGTH);
    assert_refused(w.world, text, MICA_FORMAT, "byte 1: found '[[[");
    memset(text, ',', LENGTH);
    assert_refused(w.world, text, MICA_FORMAT, "byte 0: found ',,,");
    watched_end(&w);
}

// Of texts that are cut and mixed from the parts of good ones, each is refused with a reason or is a query's.
static void mixed_texts_are_queries_or_refused_with_a_reason(void **state) {
    (void)state;
    static const char *const parts[] = {"Health",  "Frozen",   "Wide", "[",   "]",         "write", "read",
                                        "with",    "any",      "1",    "9",   "disabled ", "too",   "!",
                                        "?",       ",",        ", ",   "\"",  "\\",        " ",     "\n",
                                        "[any 1]", "[write] ", "\xff", "a, b"};
    watched_world w;
    mica_component odd[ODD_COUNT];
    begin(&w, odd);
    test_random random = {77};
    int32_t query_count = 0;
    for (int32_t i = 0; i < 20000; i++) {
        char text[256] = "";
        const uint32_t part_count = 1 + test_random_below(&random, 6);
        for (uint32_t k = 0; k < part_count; k++) {
            strcat(text, parts[test_random_below(&random, sizeof(parts) / sizeof(parts[0]))]);
        }
        mica_error_clear();
        mica_query *query = find(w.world, text);
        const mica_result result = mica_last_result();
        if (query == NULL) {
            assert_true(result == MICA_FORMAT || result == MICA_UNKNOWN || result == MICA_INVALID);
            assert_said("byte ");
        } else {
            assert_int_equal(result, MICA_OK);
            assert_ptr_equal(find(w.world, mica_query_text(query)), query);
            query_count++;
        }
    }
    assert_true(query_count > 500);
    watched_end(&w);
}

static void a_world_and_a_text_are_needed(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    assert_refused(w.world, NULL, MICA_INVALID, "needs a world and a text");
    mica_error_clear();
    assert_null(mica_query_create_text(NULL, "Health"));
    assert_int_equal(mica_last_result(), MICA_INVALID);
    watched_end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_mark_is_its_term),
        cmocka_unit_test(a_tag_that_is_plainly_named_must_be_there),
        cmocka_unit_test(no_terms_are_all_living_entities),
        cmocka_unit_test(white_space_may_stand_between_all_parts),
        cmocka_unit_test(the_caller_holds_a_reference),
        cmocka_unit_test(odd_names_stand_in_quotes),
        cmocka_unit_test(the_text_of_every_query_finds_it),
        cmocka_unit_test(malformed_texts_are_refused_with_place_and_expectation),
        cmocka_unit_test(unknown_names_are_refused_with_their_place),
        cmocka_unit_test(what_create_refuses_is_refused_with_the_byte_of_the_term),
        cmocka_unit_test(a_query_has_as_many_terms_as_create_allows),
        cmocka_unit_test(names_of_any_length_are_read_to_their_end),
        cmocka_unit_test(mixed_texts_are_queries_or_refused_with_a_reason),
        cmocka_unit_test(a_world_and_a_text_are_needed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

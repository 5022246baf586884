// The thread's last error: codes, sentences, what is cut, and what is sent to a log handler.
#include "base/error.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define ASSERT_ENDS_WITH(TEXT, END) assert_string_equal((TEXT) + strlen(TEXT) - strlen(END), (END))

static int clear(void **state) {
    (void)state;
    mica_error_clear();
    return 0;
}

static void every_code_has_its_name_and_text(void **state) {
    (void)state;
    assert_string_equal(mica_result_name(MICA_OK), "MICA_OK");
    assert_string_equal(mica_result_text(MICA_OK), "done");
    assert_string_equal(mica_result_name(MICA_FAILED), "MICA_FAILED");
    assert_string_equal(mica_result_text(MICA_LOCKED), "structure is locked");
    for (int i = 0; i < MICA_RESULT_COUNT; i++) {
        assert_int_equal(strncmp(mica_result_name((mica_result)i), "MICA_", 5), 0);
        assert_true(strlen(mica_result_text((mica_result)i)) > 0);
    }
}

static void a_number_that_is_no_code_is_said_to_be_none(void **state) {
    (void)state;
    assert_string_equal(mica_result_name(MICA_RESULT_COUNT), "MICA_UNKNOWN_RESULT");
    assert_string_equal(mica_result_name((mica_result)-1), "MICA_UNKNOWN_RESULT");
    assert_string_equal(mica_result_text((mica_result)1000), "not a result code");
}

static void without_a_failure_there_is_nothing_to_say(void **state) {
    (void)state;
    assert_int_equal(mica_last_result(), MICA_OK);
    assert_string_equal(mica_last_error(), "");
}

static void a_failure_names_call_and_arguments(void **state) {
    (void)state;
    const mica_result result = mi_fail(NULL, MICA_STALE, "mica_entity_set", "{} has no entity behind it, nor {} or {}",
                                       MI_ENTITY(mica_entity_make(12, 3)), MI_ENTITY(MICA_NULL),
                                       MI_ENTITY(mica_entity_make(7, MICA_GENERATION_MAX)));
    assert_int_equal(result, MICA_STALE);
    assert_int_equal(mica_last_result(), MICA_STALE);
    assert_string_equal(mica_last_error(),
                        "mica_entity_set: entity 12:3 has no entity behind it, nor entity null or placeholder 7");
}

static void entities_are_said_at_the_ends_of_their_range(void **state) {
    (void)state;
    char expected[64];
    snprintf(expected, sizeof(expected), "f: entity %u:%u", MICA_INDEX_MAX, MICA_GENERATION_MAX - 1);
    mi_fail(NULL, MICA_STALE, "f", "{}", MI_ENTITY(mica_entity_make(MICA_INDEX_MAX, MICA_GENERATION_MAX - 1)));
    assert_string_equal(mica_last_error(), expected);
    mi_fail(NULL, MICA_STALE, "f", "{}", MI_ENTITY(mica_entity_make(0, 1)));
    assert_string_equal(mica_last_error(), "f: entity 0:1");
}

static void numbers_are_said_at_the_ends_of_their_range(void **state) {
    (void)state;
    mi_fail(NULL, MICA_INVALID, "f", "{} {} {} {} {} {}", MI_INT(INT64_MIN), MI_INT(INT64_MAX), MI_INT(-1), MI_INT(0),
            MI_UINT(UINT64_MAX), MI_UINT(0));
    assert_string_equal(mica_last_error(), "f: -9223372036854775808 9223372036854775807 -1 0 18446744073709551615 0");
}

static void a_pattern_without_arguments_is_said_as_it_is(void **state) {
    (void)state;
    assert_int_equal(mi_fail_plain(NULL, MICA_INVALID, "mica_x", "a struct {} and 100 %d"), MICA_INVALID);
    assert_string_equal(mica_last_error(), "mica_x: a struct {} and 100 %d");
}

static void braces_and_percents_in_arguments_are_only_text(void **state) {
    (void)state;
    mi_fail(NULL, MICA_INVALID, "f", "{}, {}", MI_TEXT("{} %s %n"), MI_TEXT("{}"));
    assert_string_equal(mica_last_error(), "f: {} %s %n, {}");
}

static void texts_are_copied_when_it_fails(void **state) {
    (void)state;
    char name[] = "Position";
    mi_fail(NULL, MICA_EXISTS, "f", "{} is there, {}", MI_TEXT(name), MI_TEXT(NULL));
    memset(name, 'x', sizeof(name) - 1);
    assert_string_equal(mica_last_error(), "f: Position is there, null");
}

static void a_later_failure_replaces_the_sentence(void **state) {
    (void)state;
    mi_fail_plain(NULL, MICA_INVALID, "first", "a long sentence about something");
    assert_string_equal(mica_last_error(), "first: a long sentence about something");
    mi_fail_plain(NULL, MICA_LIMIT, "second", "short");
    assert_string_equal(mica_last_error(), "second: short");
    assert_int_equal(mica_last_result(), MICA_LIMIT);
}

static void the_sentence_before_may_be_part_of_the_new_one(void **state) {
    (void)state;
    mi_fail_plain(NULL, MICA_INVALID, "inner", "no such field");
    mi_fail(NULL, MICA_FORMAT, "outer", "line {}: {}", MI_INT(3), MI_TEXT(mica_last_error()));
    assert_string_equal(mica_last_error(), "outer: line 3: inner: no such field");
}

static void clearing_forgets_the_failure(void **state) {
    (void)state;
    mi_fail_plain(NULL, MICA_INVALID, "f", "x");
    mica_error_clear();
    assert_int_equal(mica_last_result(), MICA_OK);
    assert_string_equal(mica_last_error(), "");
}

static void a_long_text_is_cut_with_an_ellipsis(void **state) {
    (void)state;
    char text[97];
    memset(text, 'n', sizeof(text));
    text[95] = 0;
    mi_fail(NULL, MICA_INVALID, "f", "{}", MI_TEXT(text));
    assert_int_equal(strlen(mica_last_error()), strlen("f: ") + 95);
    ASSERT_ENDS_WITH(mica_last_error(), "nnnn");
    text[95] = 'n';
    text[96] = 0;
    mi_fail(NULL, MICA_INVALID, "f", "{}!", MI_TEXT(text));
    assert_int_equal(strlen(mica_last_error()), strlen("f: ") + 95 + 1);
    ASSERT_ENDS_WITH(mica_last_error(), "nn...!");
}

static void a_character_of_several_bytes_is_not_cut_apart(void **state) {
    (void)state;
    // Two bytes a character: the 92 bytes in front of an ellipsis are 46 of them; one byte shifted, 45.
    char text[200];
    for (size_t i = 0; i < 98; i += 2) {
        memcpy(text + i, "\xc3\xa9", 3);
    }
    mi_fail(NULL, MICA_INVALID, "f", "{}", MI_TEXT(text));
    assert_int_equal(strlen(mica_last_error()), strlen("f: ") + 92 + 3);
    ASSERT_ENDS_WITH(mica_last_error(), "\xc3\xa9...");
    text[0] = text[1] = 'a';
    memmove(text + 1, text + 2, strlen(text + 2) + 1);
    mi_fail(NULL, MICA_INVALID, "f", "{}", MI_TEXT(text));
    assert_int_equal(strlen(mica_last_error()), strlen("f: ") + 91 + 3);
    ASSERT_ENDS_WITH(mica_last_error(), "\xc3\xa9...");
}

static void a_long_sentence_is_cut_with_an_ellipsis(void **state) {
    (void)state;
    char text[96];
    memset(text, 'n', 95);
    text[95] = 0;
    mi_fail(NULL, MICA_INVALID, "f", "{} {} {} {} {} {}", MI_TEXT(text), MI_TEXT(text), MI_TEXT(text), MI_TEXT(text),
            MI_TEXT(text), MI_TEXT(text));
    assert_int_equal(strlen(mica_last_error()), 511);
    ASSERT_ENDS_WITH(mica_last_error(), "nnn...");
    assert_ptr_equal(mica_last_error(), mica_last_error());
}

static void being_out_of_memory_names_the_bytes(void **state) {
    (void)state;
    assert_int_equal(mi_fail_memory(NULL, "mica_create", SIZE_MAX / 2 + 1), MICA_OUT_OF_MEMORY);
    assert_int_equal(mica_last_result(), MICA_OUT_OF_MEMORY);
    assert_string_equal(mica_last_error(), "mica_create: out of memory, 9223372036854775808 bytes were asked for");
}

static void *fail_elsewhere(void *seen) {
    *(mica_result *)seen = mica_last_result();
    mi_fail_plain(NULL, MICA_LIMIT, "other", "thread");
    return NULL;
}

static void each_thread_has_its_own_last_error(void **state) {
    (void)state;
    mi_fail_plain(NULL, MICA_INVALID, "this", "thread");
    mica_result seen = MICA_FAILED;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, fail_elsewhere, &seen), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(seen, MICA_OK);
    assert_string_equal(mica_last_error(), "this: thread");
}

typedef struct heard {
    int32_t count;
    mica_log_level level;
    char text[600];
} heard;

static void hear(void *user, mica_log_level level, const char *text) {
    heard *into = user;
    into->count++;
    into->level = level;
    assert_true(strlen(text) < sizeof(into->text));
    memcpy(into->text, text, strlen(text) + 1);
}

static void a_log_handler_hears_a_failure_at_once(void **state) {
    (void)state;
    heard heard_lines = {.level = MICA_LOG_INFO};
    const mica_log_handler log = {.function = hear, .user = &heard_lines};
    mi_fail(&log, MICA_STALE, "mica_destroy", "{} is gone", MI_ENTITY(mica_entity_make(1, 2)));
    assert_int_equal(heard_lines.count, 1);
    assert_int_equal(heard_lines.level, MICA_LOG_ERROR);
    assert_string_equal(heard_lines.text, "mica_destroy: entity 1:2 is gone");
    assert_string_equal(mica_last_error(), heard_lines.text);
}

static void a_handler_without_a_function_hears_nothing(void **state) {
    (void)state;
    const mica_log_handler silent = {0};
    assert_int_equal(mi_fail_plain(&silent, MICA_INVALID, "f", "x"), MICA_INVALID);
    mi_log(&silent, MICA_LOG_INFO, "%d", 1);
    mi_log(NULL, MICA_LOG_INFO, "%d", 1);
    assert_string_equal(mica_last_error(), "f: x");
}

static void a_log_line_is_formatted_and_sent_with_its_level(void **state) {
    (void)state;
    heard heard_lines = {0};
    const mica_log_handler log = {.function = hear, .user = &heard_lines};
    mi_log(&log, MICA_LOG_WARNING, "%s took %d ms", "move", 12);
    assert_int_equal(heard_lines.count, 1);
    assert_int_equal(heard_lines.level, MICA_LOG_WARNING);
    assert_string_equal(heard_lines.text, "move took 12 ms");
    assert_int_equal(mica_last_result(), MICA_OK);
}

static void a_long_log_line_is_cut_with_an_ellipsis(void **state) {
    (void)state;
    heard heard_lines = {0};
    const mica_log_handler log = {.function = hear, .user = &heard_lines};
    mi_log(&log, MICA_LOG_INFO, "%0511d", 1);
    ASSERT_ENDS_WITH(heard_lines.text, "0001");
    mi_log(&log, MICA_LOG_INFO, "%0512d", 1);
    assert_int_equal(strlen(heard_lines.text), 511);
    ASSERT_ENDS_WITH(heard_lines.text, "000...");
}

static void the_library_knows_its_version(void **state) {
    (void)state;
    assert_int_equal(mica_version(), MICA_VERSION);
}

#define ERROR_TEST(FUNCTION) cmocka_unit_test_setup(FUNCTION, clear)

int main(void) {
    const struct CMUnitTest tests[] = {
        ERROR_TEST(every_code_has_its_name_and_text),
        ERROR_TEST(a_number_that_is_no_code_is_said_to_be_none),
        ERROR_TEST(without_a_failure_there_is_nothing_to_say),
        ERROR_TEST(a_failure_names_call_and_arguments),
        ERROR_TEST(entities_are_said_at_the_ends_of_their_range),
        ERROR_TEST(numbers_are_said_at_the_ends_of_their_range),
        ERROR_TEST(a_pattern_without_arguments_is_said_as_it_is),
        ERROR_TEST(braces_and_percents_in_arguments_are_only_text),
        ERROR_TEST(texts_are_copied_when_it_fails),
        ERROR_TEST(a_later_failure_replaces_the_sentence),
        ERROR_TEST(the_sentence_before_may_be_part_of_the_new_one),
        ERROR_TEST(clearing_forgets_the_failure),
        ERROR_TEST(a_long_text_is_cut_with_an_ellipsis),
        ERROR_TEST(a_character_of_several_bytes_is_not_cut_apart),
        ERROR_TEST(a_long_sentence_is_cut_with_an_ellipsis),
        ERROR_TEST(being_out_of_memory_names_the_bytes),
        ERROR_TEST(each_thread_has_its_own_last_error),
        ERROR_TEST(a_log_handler_hears_a_failure_at_once),
        ERROR_TEST(a_handler_without_a_function_hears_nothing),
        ERROR_TEST(a_log_line_is_formatted_and_sent_with_its_level),
        ERROR_TEST(a_long_log_line_is_cut_with_an_ellipsis),
        ERROR_TEST(the_library_knows_its_version),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// Tokens of declarations, comparing texts by them, and excerpts for messages.
#include "store/lexer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/test_random.h"

static void assert_tokens(const char *text, const char *const *tokens, size_t count) {
    mi_lexer lexer;
    mi_lexer_start(&lexer, text);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(lexer.token.length, strlen(tokens[i]));
        assert_memory_equal(text + lexer.token.offset, tokens[i], lexer.token.length);
        mi_lexer_next(&lexer);
    }
    assert_int_equal(lexer.token.kind, MI_TOKEN_END);
    mi_lexer_next(&lexer);
    assert_int_equal(lexer.token.kind, MI_TOKEN_END);
}

#define ASSERT_TOKENS(TEXT, ...)                              \
    assert_tokens((TEXT), (const char *const[]){__VA_ARGS__}, \
                  sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

static void texts_are_cut_into_words_numbers_characters_and_signs(void **state) {
    (void)state;
    ASSERT_TOKENS("{ float x,y_1; }", "{", "float", "x", ",", "y_1", ";", "}");
    ASSERT_TOKENS("a[0x1Fu]<<1.5e3", "a", "[", "0x1Fu", "]", "<<", "1.5e3");
    ASSERT_TOKENS("'a''\\'' ':'", "'a'", "'\\''", "':'");
    ASSERT_TOKENS("a<=b>=c==d!=e&&f||g::h", "a", "<=", "b", ">=", "c", "==", "d", "!=", "e", "&&", "f", "||", "g",
                  "::", "h");
    ASSERT_TOKENS("<:>=!&|", "<", ":", ">=", "!", "&", "|");
    ASSERT_TOKENS("\t\n gr\xc3\xb6\xc3\x9f"
                  "e ",
                  "gr\xc3\xb6\xc3\x9f"
                  "e");
    ASSERT_TOKENS("'open", "'open");
    ASSERT_TOKENS("'\\", "'\\");
}

static void a_word_is_told_from_its_beginning(void **state) {
    (void)state;
    mi_lexer lexer;
    mi_lexer_start(&lexer, "int32");
    assert_true(mi_lexer_at_word(&lexer, "int32"));
    assert_false(mi_lexer_at_word(&lexer, "int"));
    assert_false(mi_lexer_at_word(&lexer, "int32_t"));
}

static void texts_that_differ_in_white_space_are_equal(void **state) {
    (void)state;
    uint32_t a;
    uint32_t b;
    assert_true(mi_texts_equal("{ float x; }", "{float x ;}\n", &a, &b));
    assert_true(mi_texts_equal("", " ", &a, &b));
    assert_true(mi_texts_equal("_Bool b; alignas(8) int i;", "bool b; _Alignas(8) int i;", &a, &b));
}

static void the_first_difference_is_found_in_both(void **state) {
    (void)state;
    uint32_t a;
    uint32_t b;
    assert_false(mi_texts_equal("{ float x; }", "{float  xy;}", &a, &b));
    assert_int_equal(a, 8);
    assert_int_equal(b, 8);
    assert_false(mi_texts_equal("float x", "floatx", &a, &b));
    assert_int_equal(a, 0);
    assert_false(mi_texts_equal("{ int a; }", "{ int a; } packed", &a, &b));
    assert_int_equal(a, 10);
    assert_int_equal(b, 11);
}

static void an_excerpt_shows_one_declaration(void **state) {
    (void)state;
    char excerpt[MI_EXCERPT_SIZE];
    const char *text = "{ int a;\nchar *b; int c; }";
    mi_text_excerpt(text, 9, excerpt);
    assert_string_equal(excerpt, "char *b;");
    mi_text_excerpt(text, 0, excerpt);
    assert_string_equal(excerpt, "{ int a; char *b; int c; }");
}

static void a_long_excerpt_is_cut_between_characters(void **state) {
    (void)state;
    char text[301];
    char excerpt[MI_EXCERPT_SIZE];
    for (size_t shift = 0; shift < 2; shift++) {
        text[0] = 'x';
        for (size_t i = shift; i + 1 < sizeof(text); i += 2) {
            memcpy(text + i, "\xc3\xa4", 2);
        }
        text[300] = '\0';
        mi_text_excerpt(text, 0, excerpt);
        const size_t length = strlen(excerpt);
        assert_true(length >= MI_EXCERPT_SIZE - 2 && length < MI_EXCERPT_SIZE);
        assert_string_equal(excerpt + length - 3, "...");
        assert_int_equal((unsigned char)excerpt[length - 4], 0xa4);
    }
}

static void a_difference_in_a_short_text_shows_all_of_it(void **state) {
    (void)state;
    char excerpt[MI_EXCERPT_SIZE];
    mi_text_excerpt_at_difference("{ int a; int b; }", 9, excerpt);
    assert_string_equal(excerpt, "{ int a; int b; }");
    char text[201];
    memset(text, ' ', sizeof(text));
    memcpy(text + 150, "int b; }", 9);
    mi_text_excerpt_at_difference(text, 150, excerpt);
    assert_string_equal(excerpt, "int b;");
}

// Every byte but white space belongs to exactly one token, whatever the text.
static void any_bytes_are_cut_without_gaps(void **state) {
    (void)state;
    test_random random = {7};
    for (int run = 0; run < 20000; run++) {
        char text[40];
        const uint32_t length = test_random_below(&random, sizeof(text));
        for (uint32_t i = 0; i < length; i++) {
            text[i] = (char)(1 + test_random_below(&random, 255));
        }
        char *exact = malloc(length + 1);
        memcpy(exact, text, length);
        exact[length] = '\0';
        mi_lexer lexer;
        uint32_t end = 0;
        for (mi_lexer_start(&lexer, exact); lexer.token.kind != MI_TOKEN_END; mi_lexer_next(&lexer)) {
            assert_true(lexer.token.offset >= end && lexer.token.length > 0);
            assert_int_equal(strspn(exact + end, " \t\n\v\f\r"), lexer.token.offset - end);
            end = lexer.token.offset + lexer.token.length;
        }
        assert_int_equal(lexer.token.offset, length);
        free(exact);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_cut_into_words_numbers_characters_and_signs),
        cmocka_unit_test(a_word_is_told_from_its_beginning),
        cmocka_unit_test(texts_that_differ_in_white_space_are_equal),
        cmocka_unit_test(the_first_difference_is_found_in_both),
        cmocka_unit_test(an_excerpt_shows_one_declaration),
        cmocka_unit_test(a_long_excerpt_is_cut_between_characters),
        cmocka_unit_test(a_difference_in_a_short_text_shows_all_of_it),
        cmocka_unit_test(any_bytes_are_cut_without_gaps),
    };
    return cmocka_run_group_tests_name("lexer", tests, NULL, NULL);
}

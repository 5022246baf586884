// Constant expressions: the value is the compiler's own, and what the compiler would not say is refused with its place.
#include "store/constant.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static bool find_name(const void *context, const char *name, uint32_t length, int64_t *value) {
    (void)context;
    static const struct {
        const char *name;
        int64_t value;
    } names[] = {{"one", 1}, {"minus", -7}, {"large", INT64_C(1) << 40}, {"mask", UINT32_MAX}};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strlen(names[i].name) == length && memcmp(names[i].name, name, length) == 0) {
            *value = names[i].value;
            return true;
        }
    }
    return false;
}

static void assert_value(const char *text, int64_t expected) {
    mi_lexer lexer;
    mi_text_fault fault = {0};
    int64_t value = 0;
    mi_lexer_start(&lexer, text);
    if (!mi_constant_read(&lexer, find_name, NULL, &value, &fault)) {
        fail_msg("%s: %s at %u", text, fault.reason, (unsigned)fault.offset);
    }
    if (value != expected || lexer.token.kind != MI_TOKEN_END) {
        fail_msg("%s is %" PRId64 ", not %" PRId64 ", or was not read to its end", text, value, expected);
    }
}

static void assert_fault(const char *text, uint32_t offset, const char *reason) {
    mi_lexer lexer;
    mi_text_fault fault = {0};
    int64_t value;
    mi_lexer_start(&lexer, text);
    if (mi_constant_read(&lexer, find_name, NULL, &value, &fault)) {
        fail_msg("%s is %" PRId64 ", but should be refused", text, value);
    }
    assert_non_null(strstr(fault.reason, reason));
    assert_int_equal(fault.offset, offset);
}

// The compiler evaluates the same text.
#define SAME(EXPRESSION) assert_value(#EXPRESSION, (int64_t)(EXPRESSION))

static void integers_are_read_in_all_bases_and_suffixes(void **state) {
    (void)state;
    SAME(0);
    SAME(42);
    SAME(0x1F);
    SAME(0X1f);
    SAME(017);
    SAME(42u);
    SAME(42UL);
    SAME(42lu);
    SAME(42LLU);
    SAME(42ull);
    SAME(2147483647);
    SAME(2147483648);
    SAME(0xFFFFFFFF);
    SAME(9223372036854775807);
    assert_value("0b101", 5);
    assert_value("0x7fffffffffffffff", INT64_MAX);
}

static void characters_are_their_codes(void **state) {
    (void)state;
    SAME('a');
    SAME(' ' + 1);
    assert_fault("'\\n'", 0, "plain character");
    assert_fault("'ab'", 0, "plain character");
    assert_fault("''", 0, "plain character");
    assert_fault("'a", 0, "plain character");
}

static void operators_bind_as_in_c(void **state) {
    (void)state;
    SAME((4 * 8));
    SAME(16 + 1);
    SAME(1 << 4);
    assert_value("2 + 3 * 4", 14);
    assert_value("20 - 5 - 3", 12);
    assert_value("100 / 5 / 2 % 7", 3);
    assert_value("1 << 2 + 1", 8);
    assert_value("1 | 2 ^ 3 & 6", 1);
    assert_value("1 + 1 == 2 && 3 < 2 || 4 >= 4", 1);
    assert_value("5 != 5 == 0", 1);
    assert_value("-2 * -3", 6);
    assert_value("- - 3", 3);
    assert_value("~0 + !5 + !0", 0);
    assert_value("-(2 + 3) * 2", -10);
    assert_value("((((((((7))))))))", 7);
}

static void conditionals_group_to_the_right(void **state) {
    (void)state;
    assert_value("1 ? 2 : 3", 2);
    assert_value("0 ? 2 : 3", 3);
    assert_value("0 ? 1 : 0 ? 2 : 3", 3);
    assert_value("1 ? 0 ? 4 : 5 : 6", 5);
    assert_value("1 || 0 ? 2 + 3 : 9", 5);
    assert_value("(3) > (4) ? (3) : (4)", 4);
    assert_value("(0 ? 1 : 2) + 1", 3);
}

static void arithmetic_has_the_types_of_c(void **state) {
    (void)state;
    SAME(0u - 1);
    SAME(~0u >> 28);
    SAME(~0 >> 28);
    assert_value("-1 < 1u", 0);
    SAME(-1 < 1l);
    SAME(-1 < 1ll + 1u);
    SAME(4294967295u + 1);
    SAME(4294967295u + 1ll);
    SAME(0x80000000 >> 31);
    SAME(-8 / 3);
    SAME(-8 % 3);
    SAME(-8 >> 1);
    SAME(-8ll >> 1);
    assert_value("-1 / 2u", INT32_MAX);
    assert_value("1 ? -1 : 0u", UINT32_MAX);
    SAME(1ull << 40 >> 38);
    SAME(!0x100000000);
    assert_value("1 << 31", INT32_MIN);
}

static void names_have_the_values_that_are_looked_up(void **state) {
    (void)state;
    assert_value("one + minus", -6);
    assert_value("large * 2", INT64_C(1) << 41);
    assert_value("mask + 1", 0);
    assert_fault("one + two", 6, "not known");
}

static void overflow_is_refused(void **state) {
    (void)state;
    assert_fault("2147483647 + 1", 14, "overflows");
    assert_fault("9223372036854775807 + 1", 23, "overflows");
    assert_fault("large * large", 13, "overflows");
    assert_fault("(-9223372036854775807 - 1) / -1", 31, "overflows");
    assert_fault("-9223372036854775807 - 2", 24, "overflows");
    assert_fault("18446744073709551616", 0, "too large");
    assert_fault("9223372036854775808", 0, "too large");
    assert_fault("18446744073709551615u", 21, "larger than");
    assert_fault("1 / 0", 5, "zero");
    assert_fault("1 % (2 - 2)", 11, "zero");
    assert_fault("1 << 32", 7, "too far");
    assert_fault("1 << -1", 7, "too far");
    assert_value("1ll << 32", INT64_C(1) << 32);
}

static void what_is_no_expression_is_refused_at_its_place(void **state) {
    (void)state;
    assert_fault("", 0, "missing");
    assert_fault("1 +", 3, "missing");
    assert_fault("* 2", 0, "missing");
    assert_fault("(1 + 2", 6, "not finished");
    assert_fault("()", 1, "missing");
    assert_fault("1 ? 2", 5, "not finished");
    assert_fault("(1 ? 2)", 6, "not finished");
    assert_fault("(1 : 2)", 3, "not finished");
    assert_fault("1.5", 0, "no integer");
    assert_fault("12ab", 0, "no integer");
    assert_fault("0x", 0, "no integer");
    assert_fault("089", 0, "no integer");
    assert_fault("1uu", 0, "no integer");
    assert_fault("1lul", 0, "no integer");
    assert_fault("1lL", 0, "no integer");
    assert_fault("sizeof(int)", 0, "not known");
    assert_fault("(int)4", 1, "not known");
}

static void reading_stops_where_the_expression_ends(void **state) {
    (void)state;
    static const char *const texts[] = {"3 ] 4", "3 , 4", "3 } 4", "3 ) 4", "3 : 4", "3 4", "3 = 4"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        mi_lexer lexer;
        mi_text_fault fault;
        int64_t value;
        mi_lexer_start(&lexer, texts[i]);
        assert_true(mi_constant_read(&lexer, NULL, NULL, &value, &fault));
        assert_int_equal(value, 3);
        assert_int_equal(lexer.token.offset, 2);
    }
}

static void deep_nesting_is_refused_without_recursion(void **state) {
    (void)state;
    static char text[100001];
    static const char *const openings[] = {"(", "-", "~", "1?", "1+(", "0|(0^(0&("};
    for (size_t i = 0; i < sizeof(openings) / sizeof(openings[0]); i++) {
        const size_t length = strlen(openings[i]);
        for (size_t k = 0; k + 1 < sizeof(text); k++) {
            text[k] = openings[i][k % length];
        }
        mi_lexer lexer;
        mi_text_fault fault;
        int64_t value;
        mi_lexer_start(&lexer, text);
        assert_false(mi_constant_read(&lexer, NULL, NULL, &value, &fault));
        assert_non_null(strstr(fault.reason, "too deeply"));
    }
    // What follows each other without nesting has no limit.
    for (size_t k = 0; k + 1 < sizeof(text); k += 2) {
        memcpy(text + k, "1+", 2);
    }
    text[sizeof(text) - 2] = '\0';
    assert_value(text, 50000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_are_read_in_all_bases_and_suffixes),
        cmocka_unit_test(characters_are_their_codes),
        cmocka_unit_test(operators_bind_as_in_c),
        cmocka_unit_test(conditionals_group_to_the_right),
        cmocka_unit_test(arithmetic_has_the_types_of_c),
        cmocka_unit_test(names_have_the_values_that_are_looked_up),
        cmocka_unit_test(overflow_is_refused),
        cmocka_unit_test(what_is_no_expression_is_refused_at_its_place),
        cmocka_unit_test(reading_stops_where_the_expression_ends),
        cmocka_unit_test(deep_nesting_is_refused_without_recursion),
    };
    return cmocka_run_group_tests_name("constant", tests, NULL, NULL);
}

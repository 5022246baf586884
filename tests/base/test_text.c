// Text into a caller's array: cut at the capacity, closed by zero, counted whole.
#include "base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void parts_follow_each_other(void **state) {
    (void)state;
    char text[32];
    mi_text_out out = mi_text_begin(text, sizeof(text));
    assert_string_equal(text, "");
    mi_text_add(&out, "%d row%s", 2, "s");
    mi_text_add(&out, ": %s", "Health");
    assert_string_equal(text, "2 rows: Health");
    assert_int_equal(out.length, strlen(text));
}

static void what_does_not_fit_is_counted_and_dropped(void **state) {
    (void)state;
    char text[8];
    memset(text, 'x', sizeof(text));
    mi_text_out out = mi_text_begin(text, 6);
    mi_text_add(&out, "%s", "abcd");
    mi_text_add(&out, "%s", "efgh");
    mi_text_add(&out, "%s", "ijkl");
    assert_string_equal(text, "abcde");
    assert_int_equal(out.length, 12);
    assert_int_equal(text[6], 'x');
}

static void without_an_array_it_only_counts(void **state) {
    (void)state;
    mi_text_out out = mi_text_begin(NULL, 100);
    mi_text_add(&out, "%s", "abcd");
    assert_int_equal(out.length, 4);
    char none = 'x';
    out = mi_text_begin(&none, 0);
    mi_text_add(&out, "%s", "abcd");
    assert_int_equal(out.length, 4);
    assert_int_equal(none, 'x');
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_follow_each_other),
        cmocka_unit_test(what_does_not_fit_is_counted_and_dropped),
        cmocka_unit_test(without_an_array_it_only_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// What makes a plugin and its host fit together.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <mica/plugin.h>
#include <mica/result.h>

static void the_host_of_this_program_fits(void **state) {
    (void)state;
    const mica_plugin_host host = mica_plugin_host_here();
    mica_error_clear();
    assert_int_equal(mica_plugin_check(&host), MICA_OK);
    assert_int_equal(mica_last_result(), MICA_OK);
}

static void other_handles_are_refused_with_both_widths(void **state) {
    (void)state;
    const mica_plugin_host host = {.version = 10203, .entity_bits = 64, .index_bits = 32};
    assert_int_equal(mica_plugin_compare(&host, 10203, 32, 22), MICA_INCOMPATIBLE);
    assert_non_null(strstr(mica_last_error(), "built for handles of 32 bits with an index of 22"));
    assert_non_null(strstr(mica_last_error(), "host has 64 with 32"));
    const mica_plugin_host narrow = {.version = 10203, .entity_bits = 32, .index_bits = 24};
    assert_int_equal(mica_plugin_compare(&narrow, 10203, 32, 20), MICA_INCOMPATIBLE);
    assert_non_null(strstr(mica_last_error(), "index of 20"));
    assert_non_null(strstr(mica_last_error(), "32 with 24"));
    assert_int_equal(mica_plugin_compare(&narrow, 10203, 32, 24), MICA_OK);
}

static void the_first_two_numbers_of_the_version_count(void **state) {
    (void)state;
    const mica_plugin_host host = {.version = 10203, .entity_bits = 64, .index_bits = 32};
    assert_int_equal(mica_plugin_compare(&host, 10203, 64, 32), MICA_OK);
    assert_int_equal(mica_plugin_compare(&host, 10299, 64, 32), MICA_OK);
    assert_int_equal(mica_plugin_compare(&host, 10303, 64, 32), MICA_INCOMPATIBLE);
    assert_non_null(strstr(mica_last_error(), "1.3.3"));
    assert_non_null(strstr(mica_last_error(), "1.2.3"));
    assert_int_equal(mica_plugin_compare(&host, 20203, 64, 32), MICA_INCOMPATIBLE);
    assert_non_null(strstr(mica_last_error(), "2.2.3"));
}

static void no_host_is_refused(void **state) {
    (void)state;
    assert_int_equal(mica_plugin_check(NULL), MICA_INVALID);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_host_of_this_program_fits),
        cmocka_unit_test(other_handles_are_refused_with_both_widths),
        cmocka_unit_test(the_first_two_numbers_of_the_version_count),
        cmocka_unit_test(no_host_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// Messages: their shape, and that no file can make one that is too long or unfit for a terminal.

#include "gltf_fixture.h"

static mi_gltf_report report;

static void messages_name_file_and_place(void **state) {
    (void)state;
    report = (mi_gltf_report){.label = "a.gltf"};
    assert_int_equal(mi_gltf_refuse(&report, MICA_IO, "cannot be %s", "read"), MICA_IO);
    assert_string_equal(report.text, "a.gltf: cannot be read");
    assert_int_equal(report.code, MICA_IO);
    const mi_gltf_place place = {.list = "nodes", .index = 3, .member = "rotation", .element = 2};
    assert_int_equal(mi_gltf_refuse_at(&report, MICA_FORMAT, place, "a number is expected"), MICA_FORMAT);
    assert_string_equal(report.text, "a.gltf: /nodes/3/rotation/2: a number is expected");
    const mi_gltf_place root = {.list = "scene", .index = -1, .element = -1};
    (void)mi_gltf_refuse_at(&report, MICA_FORMAT, root, "x");
    assert_string_equal(report.text, "a.gltf: /scene: x");
    report.label = NULL;
    (void)mi_gltf_refuse(&report, MICA_FORMAT, "x");
    assert_string_equal(report.text, "memory: x");
}

static void a_long_file_name_keeps_its_end(void **state) {
    (void)state;
    char label[1000];
    memset(label, 'a', sizeof label);
    memcpy(label + sizeof label - 8, "/b.gltf", 8);
    report = (mi_gltf_report){.label = label};
    (void)mi_gltf_refuse(&report, MICA_FORMAT, "the cause");
    assert_int_equal(strncmp(report.text, "...aaa", 6), 0);
    assert_non_null(strstr(report.text, "aaa/b.gltf: the cause"));
    assert_true(strlen(report.text) < 200);
}

static void long_messages_are_cut_between_characters(void **state) {
    (void)state;
    for (size_t shift = 0; shift < 4; shift++) {
        char text[1200];
        memset(text, 'x', shift);
        for (size_t i = shift; i + 2 < sizeof text; i += 2) {
            memcpy(text + i, "\xC3\xA4", 3);
        }
        report = (mi_gltf_report){.label = "a"};
        (void)mi_gltf_refuse(&report, MICA_FORMAT, "%s", text);
        const size_t size = strlen(report.text);
        assert_in_range(size, MI_MESSAGE_SIZE - 2, MI_MESSAGE_SIZE - 1);
        assert_int_equal((size - 3 - shift) % 2, 0);
    }
}

static void control_characters_are_replaced(void **state) {
    (void)state;
    report = (mi_gltf_report){.label = "a\nb"};
    (void)mi_gltf_refuse(&report, MICA_FORMAT, "\x1b[31m\x7f");
    assert_string_equal(report.text, "a?b: ?[31m?");
}

static void quotes_are_short(void **state) {
    (void)state;
    char buffer[MI_GLTF_QUOTE_SIZE];
    assert_string_equal(mi_gltf_quote(buffer, ""), "\"\"");
    assert_string_equal(mi_gltf_quote(buffer, "hull"), "\"hull\"");
    char text[200] = {0};
    memset(text, 'n', 58);
    assert_int_equal(strlen(mi_gltf_quote(buffer, text)), 60);
    memset(text, 'n', 150);
    (void)mi_gltf_quote(buffer, text);
    assert_int_equal(strlen(buffer), MI_GLTF_QUOTE_SIZE - 1);
    assert_string_equal(buffer + MI_GLTF_QUOTE_SIZE - 6, "n...\"");
}

static void prefixes_end_between_characters(void **state) {
    (void)state;
    assert_int_equal(mi_prefix_size("abc", 5), 3);
    assert_int_equal(mi_prefix_size("abc", 3), 3);
    assert_int_equal(mi_prefix_size("abc", 2), 2);
    assert_int_equal(mi_prefix_size("a\xC3\xA4", 2), 1);
    assert_int_equal(mi_prefix_size("a\xC3\xA4", 3), 3);
    assert_int_equal(mi_prefix_size("\xF0\x9F\x98\x80", 3), 0);
    assert_int_equal(mi_prefix_size("", 0), 0);
}

static void warnings_are_dropped_without_a_function(void **state) {
    (void)state;
    report = (mi_gltf_report){.label = "a"};
    mi_gltf_warn_at(&report, (mi_gltf_place){"nodes", 0, NULL, -1}, "x");
    assert_int_equal(report.warning_count, 0);
    assert_string_equal(report.text, "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_name_file_and_place),
        cmocka_unit_test(a_long_file_name_keeps_its_end),
        cmocka_unit_test(long_messages_are_cut_between_characters),
        cmocka_unit_test(control_characters_are_replaced),
        cmocka_unit_test(quotes_are_short),
        cmocka_unit_test(prefixes_end_between_characters),
        cmocka_unit_test(warnings_are_dropped_without_a_function),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// Files: what is written is read again, and what cannot be is said.
#include "base/file.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[64];

static int make_folder(void **state) {
    (void)state;
    (void)snprintf(folder, sizeof(folder), "/tmp/mica-test-file-XXXXXX");
    return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state) {
    (void)state;
    return rmdir(folder);
}

static const char *path_of(const char *name) {
    static char path[128];
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static void what_is_written_is_read_again(void **state) {
    (void)state;
    mi_file file;
    assert_int_equal(mi_file_open(&file, path_of("a"), MI_FILE_REPLACE), 0);
    assert_int_equal(mi_file_write(&file, 0, "hello", 5), 0);
    assert_int_equal(mi_file_write(&file, 5, " world", 6), 0);
    assert_int_equal(mi_file_sync(&file), 0);
    assert_int_equal(mi_file_close(&file), 0);
    assert_int_equal(mi_file_sync_name(path_of("a")), 0);
    assert_int_equal(mi_file_open(&file, path_of("a"), MI_FILE_READ), 0);
    uint64_t byte_size = 0;
    assert_int_equal(mi_file_size(&file, &byte_size), 0);
    assert_int_equal(byte_size, 11);
    char text[32] = "";
    size_t count = 0;
    assert_int_equal(mi_file_read(&file, 3, text, sizeof(text), &count), 0);
    assert_int_equal(count, 8);
    assert_memory_equal(text, "lo world", 8);
    assert_int_equal(mi_file_read(&file, 11, text, 1, &count), 0);
    assert_int_equal(count, 0);
    assert_int_equal(mi_file_close(&file), 0);
    assert_int_equal(mi_file_remove(path_of("a")), 0);
}

static void updating_keeps_and_replacing_does_not(void **state) {
    (void)state;
    mi_file file;
    assert_int_equal(mi_file_open(&file, path_of("a"), MI_FILE_REPLACE), 0);
    assert_int_equal(mi_file_write(&file, 0, "12345", 5), 0);
    assert_int_equal(mi_file_close(&file), 0);
    assert_int_equal(mi_file_open(&file, path_of("a"), MI_FILE_UPDATE), 0);
    assert_int_equal(mi_file_truncate(&file, 3), 0);
    assert_int_equal(mi_file_write(&file, 1, "x", 1), 0);
    char text[8] = "";
    size_t count = 0;
    assert_int_equal(mi_file_read(&file, 0, text, sizeof(text), &count), 0);
    assert_int_equal(count, 3);
    assert_memory_equal(text, "1x3", 3);
    assert_int_equal(mi_file_close(&file), 0);
    assert_int_equal(mi_file_open(&file, path_of("a"), MI_FILE_REPLACE), 0);
    uint64_t byte_size = 1;
    assert_int_equal(mi_file_size(&file, &byte_size), 0);
    assert_int_equal(byte_size, 0);
    assert_int_equal(mi_file_close(&file), 0);
    assert_int_equal(mi_file_rename(path_of("a"), "/tmp/mica-test-file-renamed"), 0);
    assert_int_equal(mi_file_open(&file, path_of("a"), MI_FILE_READ), ENOENT);
    assert_int_equal(mi_file_remove("/tmp/mica-test-file-renamed"), 0);
}

static void failures_are_numbers_with_texts(void **state) {
    (void)state;
    mi_file file;
    assert_int_equal(mi_file_open(&file, path_of("none"), MI_FILE_READ), ENOENT);
    assert_int_equal(file.descriptor, -1);
    assert_int_equal(mi_file_open(&file, path_of("none"), MI_FILE_UPDATE), ENOENT);
    assert_int_equal(mi_file_open(&file, folder, MI_FILE_READ), EISDIR);
    assert_int_equal(mi_file_close(&file), 0); // it is not open
    assert_int_equal(mi_file_remove(path_of("none")), ENOENT);
    assert_int_equal(mi_file_sync_name(path_of("none/file")), ENOENT);
    assert_int_equal(mi_file_open(&file, "/dev/full", MI_FILE_UPDATE), 0);
    assert_int_equal(mi_file_write(&file, 0, "x", 1), ENOSPC);
    assert_int_equal(mi_file_close(&file), 0);
    char text[64];
    mi_file_error_text(ENOSPC, text, sizeof(text));
    assert_string_equal(text, "No space left on device");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read_again),
        cmocka_unit_test(updating_keeps_and_replacing_does_not),
        cmocka_unit_test(failures_are_numbers_with_texts),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

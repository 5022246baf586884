// A folder of a test's own with the path of a journal in it, made before each case and removed after it.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[64];
static char path[128];

static int make_folder(void **state) {
    (void)state;
    (void)snprintf(folder, sizeof(folder), "/tmp/mica-test-journal-XXXXXX");
    if (mkdtemp(folder) == NULL) {
        return -1;
    }
    (void)snprintf(path, sizeof(path), "%s/journal", folder);
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    (void)remove(path);
    return rmdir(folder);
}

#define CASE(NAME) cmocka_unit_test_setup_teardown(NAME, make_folder, remove_folder)

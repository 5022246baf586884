// Texts that are to have something in them.
#pragma once

#include <mica/result.h>

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static inline void test_assert_says(const char *text, const char *part, const char *file, int line) {
    if (strstr(text, part) == NULL) {
        print_error("\"%s\" does not say \"%s\"\n", text, part);
        _fail(file, line);
    }
}

#define assert_says(TEXT, PART) test_assert_says((TEXT), (PART), __FILE__, __LINE__)
// The thread's last error.
#define assert_said(PART) assert_says(mica_last_error(), (PART))

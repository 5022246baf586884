// What the program says beside its results: to standard error, each line after its name.
#pragma once

#include <mica/result.h>

// The ends of a program.
enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

#if defined(__GNUC__)
#define SAY_PRINTF(FORMAT, FIRST) __attribute__((format(printf, FORMAT, FIRST)))
#else
#define SAY_PRINTF(FORMAT, FIRST)
#endif

// "mica: message"
void say(const char *format, ...) SAY_PRINTF(1, 2);

// Prints warnings as "mica: warning: message". Failures are left to whoever called and gets their text.
mica_log_handler say_warnings(void);

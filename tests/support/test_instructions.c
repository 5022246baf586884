// Counts by valgrind's cachegrind, whose summary says "I refs: 1,234,567".
#include "support/test_instructions.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

double test_count_instructions(const char *first_argument, const char *second_argument) {
    char program[512];
    char command[1200];
    char line[256];
    const ssize_t size = readlink("/proc/self/exe", program, sizeof program - 1);
    assert_true(size > 0);
    program[size] = '\0';
    (void)snprintf(command, sizeof command,
                   "valgrind --tool=cachegrind --cache-sim=no --cachegrind-out-file=/dev/null '%s' '%s' '%s' 2>&1",
                   program, first_argument, second_argument);
    FILE *output = popen(command, "r");
    assert_non_null(output);
    double instructions = 0;
    while (fgets(line, sizeof line, output)) {
        const char *number = strstr(line, "refs:");
        for (number = number ? number + strlen("refs:") : ""; *number; number++) {
            if (*number >= '0' && *number <= '9') {
                instructions = instructions * 10 + (*number - '0');
            }
        }
    }
    if (pclose(output) != 0 || instructions == 0) {
        fail_msg("valgrind does not run; scripts/bootstrap.sh installs what the tests need");
    }
    return instructions;
}

// Messages of the program. Standard output holds results alone.
#include "say.h"

#include <stdarg.h>
#include <stdio.h>

void say(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    (void)fputs("mica: ", stderr);
    (void)vfprintf(stderr, format, arguments);
    (void)fputc('\n', stderr);
    va_end(arguments);
}

static void print_warning(void *user, mica_log_level level, const char *text) {
    (void)user;
    if (level != MICA_LOG_ERROR) {
        say("%s%s", level == MICA_LOG_WARNING ? "warning: " : "", text);
    }
}

mica_log_handler say_warnings(void) {
    return (mica_log_handler){.function = print_warning};
}

// Reading arguments: `--name value` or `--name=value`, in any order, around the one operand; "--" ends the options. A
// number is read as a whole or refused; nothing is guessed.
#include "arguments.h"

#include "say.h"

#include <mica/jobs.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// A rate beyond these makes a tick of no length, or of one that is no number.
#define RATE_LEAST 0.001
#define RATE_MOST 1000000.0

// Whether `text` is the option, alone or with "=value".
static bool option_matches(const option *candidate, const char *text) {
    const size_t size = strlen(candidate->name);
    return strncmp(candidate->name, text, size) == 0 &&
           (text[size] == '\0' || (text[size] == '=' && candidate->kind != OPTION_FLAG));
}

static const option *find_option(const command_syntax *syntax, const char *text) {
    for (const option *candidate = syntax->options; candidate->name != NULL; candidate++) {
        if (option_matches(candidate, text)) {
            return candidate;
        }
    }
    return NULL;
}

static bool read_number(const command_syntax *syntax, const char *name, const char *text, int32_t most,
                        int64_t *number) {
    char *end = NULL;
    errno = 0;
    const long long read = strtoll(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || read > most) {
        say("%s: %s: expected a whole number from 0 to %d, found '%s'", syntax->name, name, most, text);
        return false;
    }
    *number = read;
    return true;
}

static bool read_threads(const command_syntax *syntax, const char *name, const char *text, int64_t *count) {
    *count = 0;
    if (strcmp(text, "all") != 0 && !read_number(syntax, name, text, MICA_THREADS_MAX, count)) {
        return false;
    }
    *count = *count == 0 ? MICA_THREADS_ALL : *count;
    return true;
}

static bool read_rate(const command_syntax *syntax, const char *text, double *rate) {
    char *end = NULL;
    *rate = strtod(text, &end);
    const bool is_number = (text[0] >= '0' && text[0] <= '9') || text[0] == '.';
    if (!is_number || *end != '\0' || !(*rate >= RATE_LEAST && *rate <= RATE_MOST)) {
        say("%s: --hz: expected a number from %g to %.0f, found '%s'", syntax->name, RATE_LEAST, RATE_MOST, text);
        return false;
    }
    return true;
}

static bool read_value(const command_syntax *syntax, const option *found, const char *text, arguments *values) {
    void *to = (char *)values + found->offset;
    switch (found->kind) {
    case OPTION_FLAG:
        *(bool *)to = true;
        return true;
    case OPTION_PATH:
        *(const char **)to = text;
        return true;
    case OPTION_PATHS:
        values->plugin_paths[values->plugin_count++] = text;
        return true;
    case OPTION_TICKS:
        return read_number(syntax, found->name, text, INT32_MAX, to);
    case OPTION_THREADS:
        return read_threads(syntax, found->name, text, to);
    case OPTION_RATE:
        return read_rate(syntax, text, to);
    }
    return false;
}

static bool read_operand(const command_syntax *syntax, const char *text, arguments *values) {
    const char **place =
        values->scene_path != NULL && syntax->second_name != NULL ? &values->second_path : &values->scene_path;
    if (*place != NULL) {
        say("%s: expected %s %s, found '%s' and '%s'", syntax->name,
            syntax->second_name == NULL ? "one" : "no more than",
            syntax->second_name == NULL ? syntax->operand_name : "two files", *place, text);
        return false;
    }
    if (text[0] != '\0') {
        *place = text;
    }
    return true;
}

// Reads the option at argv[*at], and its value.
static bool read_option(const command_syntax *syntax, int argc, char **argv, int *at, arguments *values) {
    const char *text = argv[*at];
    const option *found = find_option(syntax, text);
    if (found == NULL) {
        say("%s: unknown option '%s'; '%s --help' names those there are", syntax->name, text, syntax->name);
        return false;
    }
    if (found->kind == OPTION_FLAG) {
        return read_value(syntax, found, NULL, values);
    }
    const char *equals = strchr(text, '=');
    const char *value = equals != NULL ? equals + 1 : *at + 1 < argc ? argv[++*at] : "";
    if (value[0] == '\0') {
        say("%s: %s: expected %s after it", syntax->name, found->name, found->value_name);
        return false;
    }
    return read_value(syntax, found, value, values);
}

bool arguments_read(const command_syntax *syntax, int argc, char **argv, arguments *values) {
    bool is_after_options = false;
    for (int at = 0; at < argc; at++) {
        const char *text = argv[at];
        bool is_fine = true;
        if (!is_after_options && strcmp(text, "--") == 0) {
            is_after_options = true;
        } else if (is_after_options || text[0] != '-') {
            is_fine = read_operand(syntax, text, values);
        } else {
            is_fine = read_option(syntax, argc, argv, &at, values);
        }
        if (!is_fine) {
            return false;
        }
    }
    const char *missing = values->scene_path == NULL    ? syntax->operand_name
                          : values->second_path == NULL ? syntax->second_name
                                                        : NULL;
    if (missing != NULL && !values->help) {
        say("%s: expected a %s; '%s --help' says more", syntax->name, missing, syntax->name);
        return false;
    }
    return true;
}

void arguments_print_help(const command_syntax *syntax, FILE *file) {
    (void)fprintf(file, "usage: %s %s%s%s [OPTION]...\n%s\nOptions:\n", syntax->name, syntax->operand_name,
                  syntax->second_name == NULL ? "" : " ", syntax->second_name == NULL ? "" : syntax->second_name,
                  syntax->purpose);
    for (const option *each = syntax->options; each->name != NULL; each++) {
        char left[32];
        (void)snprintf(left, sizeof(left), "%s %s", each->name, each->value_name == NULL ? "" : each->value_name);
        (void)fprintf(file, "  %-16s  %s\n", left, each->help);
    }
}

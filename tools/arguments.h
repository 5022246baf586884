// The arguments of the program's commands, read by a table.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

// What was asked for. Each command looks at what its table names.
typedef struct arguments {
    const char *scene_path;
    const char *second_path; // of commands with two operands
    const char **plugin_paths;
    int32_t plugin_count;
    int64_t tick_count;
    double tick_rate;     // ticks a second
    int64_t thread_count; // 0: not given; MICA_THREADS_ALL: one a core
    const char *journal_path;
    const char *trace_path;
    int64_t synctest_count; // ticks back; 0: no SyncTest
    int64_t from_tick;      // -1: the first
    int64_t to_tick;        // -1: the last
    const char *out_path;
    bool stats;
    bool counts_hardware;
    bool check_threads;
    bool check_access;
    bool diagnose;
    bool checksum;
    bool world;
    bool memory;
    bool graph;
    bool explain;
    bool ambiguities;
    bool help;
} arguments;

typedef enum option_kind {
    OPTION_FLAG,    // a bool
    OPTION_PATH,    // a const char *
    OPTION_PATHS,   // may be given several times: plugin_paths
    OPTION_TICKS,   // an int64_t of 0 or more
    OPTION_THREADS, // an int64_t of 1 or more, or MICA_THREADS_ALL
    OPTION_RATE     // a double
} option_kind;

typedef struct option {
    const char *name; // with its dashes
    const char *value_name;
    const char *help;
    option_kind kind;
    size_t offset; // of the value in `arguments`
} option;

typedef struct command_syntax {
    const char *name;         // as the user writes it
    const char *operand_name; // of the one argument that is no option
    const char *second_name;  // of a further one; NULL: there is none
    const char *purpose;      // lines of text
    const option *options;    // the last one has no name
} command_syntax;

// Options that several commands have.
#define OPTION_OF_PLUGINS \
    { "--plugin", "LIB", "load a shared library with components and systems; may be repeated", OPTION_PATHS, 0 }
#define OPTION_OF_THREADS                                                                       \
    {                                                                                           \
        "--threads", "N", "run systems on N threads, 0 or all: one a core (1)", OPTION_THREADS, \
            offsetof(arguments, thread_count)                                                   \
    }
#define OPTION_OF_HELP \
    { "--help", NULL, "print this text", OPTION_FLAG, offsetof(arguments, help) }

// Reads what follows the command's name. `values` holds the defaults and receives what is there; plugin_paths has room
// for `argc`. False on wrong usage, which is said. With --help, a scene is not asked for.
bool arguments_read(const command_syntax *syntax, int argc, char **argv, arguments *values);

// The help of a command.
void arguments_print_help(const command_syntax *syntax, FILE *file);

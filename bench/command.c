// The command line: options, selection of rows, and what becomes of the results.
//
// Results go to standard output alone. A failed row does not stop the rows after it, and is left in the table and in
// the JSON without figures, so that its absence shows.
#include "command.h"

#include "bench.h"
#include "machine.h"
#include "report.h"

#include <string.h>

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

typedef struct command_options {
    bool help;
    bool list;
    bool quick;
    const char *json_path; // NULL: none asked for
    char **patterns;       // those of argv that are no options
    int32_t pattern_count; // 0: all rows
} command_options;

static void print_usage(FILE *out, const char *name) {
    fprintf(out,
            "usage: %s [--list] [--quick] [--json FILE] [ROW...]\n"
            "Measures Mica beside hand-written C that does the same work.\n"
            "  ROW          a row's name, or a prefix ending in '/'; all rows when none is given\n"
            "  --list       name the rows and measure nothing\n"
            "  --quick      fewer samples\n"
            "  --json FILE  write the results to FILE too\n"
            "  --help       this text\n",
            name);
}

static bool row_is_selected(const command_options *options, const bench_row *row) {
    bool selected = options->pattern_count == 0;
    for (int32_t i = 0; i < options->pattern_count && !selected; i++) {
        selected = bench_pattern_selects(options->patterns[i], row->name);
    }
    return selected;
}

// Calls `visit` for every selected row and returns how many there are.
static int32_t rows_visit(const bench_command *command, const command_options *options,
                          void (*visit)(void *context, const bench_row *row), void *context) {
    int32_t count = 0;
    for (int32_t i = 0; i < command->family_count; i++) {
        const bench_family *family = command->families[i];
        for (int32_t k = 0; k < family->count; k++) {
            if (row_is_selected(options, &family->rows[k])) {
                visit(context, &family->rows[k]);
                count++;
            }
        }
    }
    return count;
}

// Moves the arguments that are no options to the front of argv. Returns false, having said why, on wrong usage.
static bool options_parse(const bench_command *command, int argc, char **argv, command_options *options) {
    options->patterns = argv + 1;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0) {
            options->help = true;
        } else if (strcmp(argv[i], "--list") == 0) {
            options->list = true;
        } else if (strcmp(argv[i], "--quick") == 0) {
            options->quick = true;
        } else if (strcmp(argv[i], "--json") == 0) {
            if (i + 1 == argc) {
                fprintf(command->err, "%s: --json needs the name of a file\n", argv[0]);
                return false;
            }
            options->json_path = argv[++i];
        } else if (argv[i][0] == '-') {
            fprintf(command->err, "%s: unknown option %s\n", argv[0], argv[i]);
            return false;
        } else {
            options->patterns[options->pattern_count++] = argv[i];
        }
    }
    return true;
}

static void visit_fit(void *context, const bench_row *row) {
    bench_table_fit(context, row);
}

static void visit_name(void *context, const bench_row *row) {
    bench_table_name(context, row);
}

static void visit_nothing(void *context, const bench_row *row) {
    (void)context;
    (void)row;
}

// Each pattern must select something: a misspelt name would otherwise pass for a row without regressions.
static bool patterns_all_select(const bench_command *command, const char *name, const command_options *selected) {
    for (int32_t i = 0; i < selected->pattern_count; i++) {
        const command_options one = {.patterns = &selected->patterns[i], .pattern_count = 1};
        if (rows_visit(command, &one, visit_nothing, NULL) == 0) {
            fprintf(command->err, "%s: no row is selected by '%s'; --list names them\n", name, selected->patterns[i]);
            return false;
        }
    }
    return true;
}

// What is at hand while the selected rows are measured.
typedef struct row_measuring {
    const bench_command *command;
    bench_session session;
    bench_table table;
    json_t *results; // NULL: not wanted
    bool failed;
} row_measuring;

static const char *status_text(bench_status status) {
    switch (status) {
    case BENCH_DONE:
        break;
    case BENCH_SET_UP_FAILED:
        return "could not be set up";
    case BENCH_CHECK_FAILED:
        return "the two sides disagree about the result";
    case BENCH_ALL_DROPPED:
        return "every sample was taken while the machine was slower than usual";
    }
    return "done";
}

static void visit_measure(void *context, const bench_row *row) {
    row_measuring *measuring = context;
    const bench_result result = bench_measure(&measuring->session, row);
    bench_table_row(&measuring->table, row, &result);
    if (result.status != BENCH_DONE) {
        fprintf(measuring->command->err, "%s, %s, n = %lld: %s\n", row->name, row->variant, (long long)row->n,
                status_text(result.status));
        measuring->failed = true;
    } else if (row->mica->weigh == NULL && result.kept < measuring->session.kept_least) {
        fprintf(measuring->command->err, "%s, %s, n = %lld: only %d samples were taken at the machine's usual speed\n",
                row->name, row->variant, (long long)row->n, (int)result.kept);
    }
    if (measuring->results != NULL &&
        json_array_append_new(measuring->results, bench_result_to_json(row, &result)) != 0) {
        fprintf(measuring->command->err, "%s: out of memory for its result\n", row->name);
        measuring->failed = true;
    }
}

static bool write_json(const bench_command *command, const char *name, const char *path, const json_t *results) {
    if (json_dump_file(results, path, JSON_INDENT(2)) != 0) {
        fprintf(command->err, "%s: cannot write %s\n", name, path);
        return false;
    }
    return true;
}

static int measure_all(const bench_command *command, const char *name, const command_options *options,
                       bench_table table) {
    row_measuring measuring = {.command = command, .session = command->session_make(options->quick), .table = table};
    if (options->json_path != NULL) {
        measuring.results = json_array();
        // Found out now, an unwritable file costs nothing; found out at the end, it costs all results.
        if (measuring.results == NULL || !write_json(command, name, options->json_path, measuring.results)) {
            json_decref(measuring.results);
            return EXIT_FAILED;
        }
    }
    if (!bench_pin()) {
        fprintf(command->err, "%s: cannot stay on one core here; figures will vary more\n", name);
    }
    bench_table_head(&table);
    rows_visit(command, options, visit_measure, &measuring);
    if (measuring.results != NULL && !write_json(command, name, options->json_path, measuring.results)) {
        measuring.failed = true;
    }
    json_decref(measuring.results);
    return measuring.failed ? EXIT_FAILED : EXIT_DONE;
}

int bench_command_run(const bench_command *command, int argc, char **argv) {
    command_options options = {0};
    if (!options_parse(command, argc, argv, &options) || !patterns_all_select(command, argv[0], &options)) {
        return EXIT_USAGE;
    }
    if (options.help) {
        print_usage(command->out, argv[0]);
        return EXIT_DONE;
    }
    bench_table table = bench_table_make(command->out);
    rows_visit(command, &options, visit_fit, &table);
    if (options.list) {
        rows_visit(command, &options, visit_name, &table);
        return EXIT_DONE;
    }
    return measure_all(command, argv[0], &options, table);
}

int mica_bench_main(int argc, char **argv) {
    const bench_command command = {
        .families = bench_families,
        .family_count = bench_family_count,
        .out = stdout,
        .err = stderr,
        .session_make = bench_session_make,
    };
    return bench_command_run(&command, argc, argv);
}

// The command line: options, selection of rows, and what becomes of the results.
//
// Results go to standard output alone. A failed row does not stop the rows after it, and is left in the table and in
// the JSON without figures, so that its absence shows.
#include "command.h"

#include "about.h"
#include "bench.h"
#include "machine.h"
#include "once.h"
#include "report.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };
enum { SIZES_MOST = 16 };

static const int64_t size_most = 100000000;

typedef struct command_options {
    bool help;
    bool list;
    bool quick;
    bool is_main;
    bool about;
    bool countable;
    bool once;
    const char *json_path; // NULL: none asked for
    int64_t sizes[SIZES_MOST];
    int32_t size_count;    // 0: each row at its own
    char **patterns;       // those of argv that are no options
    int32_t pattern_count; // 0: all rows but those apart
} command_options;

static void print_usage(FILE *out, const char *name) {
    fprintf(out,
            "usage: %s [--list] [--quick] [--main] [--sizes N,...] [--json FILE] [ROW...]\n"
            "Measures Mica beside hand-written C that does the same work.\n"
            "  ROW          a row's name, or a prefix ending in '/'; all rows but curve/ when none is given\n"
            "  --main       only the variant of each row that the row is about\n"
            "  --list       name the rows and measure nothing\n"
            "  --quick      fewer samples\n"
            "  --sizes N,.. measure each variant at these sizes instead of its own\n"
            "  --json FILE  write the results to FILE too\n"
            "  --about      say on what and with what this was built, and measure nothing\n"
            "  --help       this text\n"
            "For tools that count instructions:\n"
            "  --countable  list what can be counted: row, variant, size, operations, sides; separated by tabs\n"
            "  --once SIDE ROW VARIANT\n"
            "               make the state of one side, mica or limit, at that size, run it once, and once more\n"
            "               within the function bench_once_counted\n",
            name);
}

static bool row_is_selected(const command_options *options, const bench_row *row) {
    bool selected = options->pattern_count == 0 && !bench_row_is_apart(row);
    for (int32_t i = 0; i < options->pattern_count && !selected; i++) {
        selected = bench_pattern_selects(options->patterns[i], row->name);
    }
    return selected && (!options->is_main || strcmp(row->variant, "main") == 0);
}

// Calls `visit` for a row at each size that is asked for, once a variant; at its own if none is.
static void sizes_visit(const command_options *options, const bench_family *family, int32_t index,
                        void (*visit)(void *context, const bench_row *row), void *context) {
    const bench_row *row = &family->rows[index];
    if (options->size_count == 0) {
        visit(context, row);
    } else if (bench_variant_is_first(family->rows, index)) {
        for (int32_t i = 0; i < options->size_count; i++) {
            const bench_row resized = bench_row_resized(row, options->sizes[i]);
            visit(context, &resized);
        }
    }
}

// Calls `visit` for every selected row and returns how many rows are selected.
static int32_t rows_visit(const bench_command *command, const command_options *options,
                          void (*visit)(void *context, const bench_row *row), void *context) {
    int32_t count = 0;
    for (int32_t i = 0; i < command->family_count; i++) {
        const bench_family *family = command->families[i];
        for (int32_t k = 0; k < family->count; k++) {
            if (row_is_selected(options, &family->rows[k])) {
                sizes_visit(options, family, k, visit, context);
                count++;
            }
        }
    }
    return count;
}

// Reads sizes separated by commas. Returns false if that is not what the text is.
static bool sizes_parse(const char *text, command_options *options) {
    options->size_count = 0;
    for (const char *at = text; options->size_count < SIZES_MOST; at++) {
        char *end = NULL;
        const long long size = *at >= '0' && *at <= '9' ? strtoll(at, &end, 10) : 0;
        if (size < 1 || size > size_most || (*end != ',' && *end != '\0')) {
            return false;
        }
        options->sizes[options->size_count++] = size;
        at = end; // the comma, if there is more
        if (*end == '\0') {
            return true;
        }
    }
    return false;
}

// What follows an option that needs something, or NULL, having said that it is missing.
static const char *option_value(const bench_command *command, int argc, char **argv, int *i, const char *what) {
    if (*i + 1 == argc) {
        fprintf(command->err, "%s: %s needs %s\n", argv[0], argv[*i], what);
        return NULL;
    }
    return argv[++*i];
}

// An option that stands alone. Returns false if the word is none.
static bool flag_parse(const char *word, command_options *options) {
    const struct {
        const char *word;
        bool *flag;
    } flags[] = {
        {"--help", &options->help},   {"--main", &options->is_main}, {"--list", &options->list},
        {"--quick", &options->quick}, {"--about", &options->about},  {"--countable", &options->countable},
        {"--once", &options->once},
    };
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        if (strcmp(word, flags[i].word) == 0) {
            *flags[i].flag = true;
            return true;
        }
    }
    return false;
}

// Moves the arguments that are no options to the front of argv. Returns false, having said why, on wrong usage.
static bool options_parse(const bench_command *command, int argc, char **argv, command_options *options) {
    options->patterns = argv + 1;
    for (int i = 1; i < argc; i++) {
        if (flag_parse(argv[i], options)) {
            continue;
        }
        if (strcmp(argv[i], "--json") == 0) {
            options->json_path = option_value(command, argc, argv, &i, "the name of a file");
            if (options->json_path == NULL) {
                return false;
            }
        } else if (strcmp(argv[i], "--sizes") == 0) {
            const char *sizes = option_value(command, argc, argv, &i, "sizes, separated by commas");
            if (sizes == NULL) {
                return false;
            }
            if (!sizes_parse(sizes, options)) {
                fprintf(command->err, "%s: '%s' is no list of at most %d sizes\n", argv[0], sizes, (int)SIZES_MOST);
                return false;
            }
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
        const command_options one = {
            .is_main = selected->is_main, .patterns = &selected->patterns[i], .pattern_count = 1};
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
    int32_t count;   // of rows so far
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
    measuring->count++;
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
    const time_t start = time(NULL);
    bench_about_print(command->out);
    fputc('\n', command->out);
    bench_table_head(&table);
    rows_visit(command, options, visit_measure, &measuring);
    fprintf(command->err, "%s: %d rows in %.0f s\n", name, (int)measuring.count, difftime(time(NULL), start));
    if (measuring.results != NULL && !write_json(command, name, options->json_path, measuring.results)) {
        measuring.failed = true;
    }
    json_decref(measuring.results);
    return measuring.failed ? EXIT_FAILED : EXIT_DONE;
}

// `words` are a side, a row and a variant.
static int do_once(const bench_command *command, const char *name, char **words, int32_t count) {
    bench_row row;
    const bool is_mica = count == 3 && strcmp(words[0], "mica") == 0;
    if (count != 3 || (!is_mica && strcmp(words[0], "limit") != 0)) {
        fprintf(command->err, "%s: --once needs a side (mica or limit), a row and a variant\n", name);
        return EXIT_USAGE;
    }
    if (!bench_once_find(command->families, command->family_count, words[1], words[2], &row) ||
        (!is_mica && row.limit == NULL)) {
        fprintf(command->err, "%s: '%s', '%s' of %s cannot be counted; --countable lists what can\n", name, words[1],
                words[2], words[0]);
        return EXIT_USAGE;
    }
    const bench_status status = bench_once_do(is_mica ? row.mica : row.limit, row.n);
    if (status != BENCH_DONE) {
        fprintf(command->err, "%s, %s, n = %lld: %s\n", row.name, row.variant, (long long)row.n, status_text(status));
        return EXIT_FAILED;
    }
    return EXIT_DONE;
}

int bench_command_run(const bench_command *command, int argc, char **argv) {
    command_options options = {0};
    if (!options_parse(command, argc, argv, &options)) {
        return EXIT_USAGE;
    }
    if (options.help) {
        print_usage(command->out, argv[0]);
        return EXIT_DONE;
    }
    if (options.about) {
        bench_about_print(command->out);
        return EXIT_DONE;
    }
    if (options.countable) {
        bench_once_list(command->families, command->family_count, command->out);
        return EXIT_DONE;
    }
    if (options.once) {
        return do_once(command, argv[0], options.patterns, options.pattern_count);
    }
    if (!patterns_all_select(command, argv[0], &options)) {
        return EXIT_USAGE;
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

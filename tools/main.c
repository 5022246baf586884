// The program `mica`: a command's name, then what belongs to it.
//
// Results go to standard output, everything else to standard error. The program ends with 0 when all was done, 1 when
// an input or a run failed or results could not be written, 2 on wrong usage.
#include "commands.h"
#include "say.h"

#include <mica/config.h>

#if MICA_WITH_BENCH
#include "bench/bench.h"
#endif

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static int print_help(int argc, char **argv);
static int print_version(int argc, char **argv);

#if MICA_WITH_BENCH
static int command_bench(int argc, char **argv) {
    static char name[] = "mica bench";
    argv[-1] = name; // what its messages begin with
    return mica_bench_main(argc + 1, argv - 1);
}
#endif

typedef struct command {
    const char *name;
    int (*run)(int argc, char **argv); // with what follows the name; argv[-1] is the name
    const char *usage;                 // NULL: not listed
} command;

static const command commands[] = {
    {"run", command_run,
     "run SCENE [--plugin LIB]... [--ticks N] [--hz N] [--threads N] [--out FILE.json] [--diagnose] "
     "[--check-access] [--stats] [--checksum] [--trace FILE] [--hardware] [--journal FILE | --synctest K | "
     "--check-threads]"},
    {"dump", command_dump, "dump FILE [--world | --memory] [--plugin LIB]..."},
    {"diff", command_diff, "diff FILE FILE [--plugin LIB]..."},
    {"plan", command_plan, "plan SCENE [--plugin LIB]... [--graph | --explain | --ambiguities]"},
    {"replay", command_replay, "replay FILE [--plugin LIB]... [--from TICK] [--to TICK]"},
#if MICA_WITH_BENCH
    {"bench", command_bench, "bench [--list] [--quick] [--main] [--sizes N,...] [--json FILE] [ROW...]"},
#endif
    {"--help", print_help, "--help"},
    {"-h", print_help, NULL},
    {"--version", print_version, "--version"},
};

enum { COMMAND_COUNT = sizeof(commands) / sizeof(commands[0]) };

static void print_usage(FILE *file) {
    (void)fputs("usage:\n", file);
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (commands[i].usage != NULL) {
            (void)fprintf(file, "  mica %s\n", commands[i].usage);
        }
    }
}

static bool expect_nothing(int argc, char **argv) {
    if (argc > 0) {
        say("%s: expected nothing after it, found '%s'", argv[-1], argv[0]);
    }
    return argc == 0;
}

static int print_help(int argc, char **argv) {
    if (!expect_nothing(argc, argv)) {
        return EXIT_USAGE;
    }
    print_usage(stdout);
    (void)fputs("\n"
                "run    loads a scene (glTF 2.0, or JSON of Mica) into a world and runs systems over it\n"
                "dump   prints the entities of a scene as JSON\n"
                "diff   says what is the first difference between two scenes, or two journals\n"
                "plan   prints in which order systems run, and which of them may run side by side\n"
                "replay runs the ticks of a journal again and says which is not as it was recorded\n"
#if MICA_WITH_BENCH
                "bench  measures Mica beside hand-written C that does the same work\n"
#endif
                "\n"
                "`mica run --help` and so on say more. Results go to standard output, all else to standard error.\n"
                "Exit codes: 0 done; 1 an input or a run failed; 2 wrong usage.\n",
                stdout);
    return EXIT_DONE;
}

static int print_version(int argc, char **argv) {
    if (!expect_nothing(argc, argv)) {
        return EXIT_USAGE;
    }
    (void)printf("mica %s (handles of %d bits, %d of them index)\n", MICA_VERSION_TEXT, MICA_ENTITY_BITS,
                 MICA_INDEX_BITS);
    return EXIT_DONE;
}

static int run_command(int argc, char **argv) {
    if (argc < 2) {
        say("expected a command");
        print_usage(stderr);
        return EXIT_USAGE;
    }
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(argv[1], commands[i].name) == 0) {
            return commands[i].run(argc - 2, argv + 2);
        }
    }
    say("unknown command '%s'", argv[1]);
    print_usage(stderr);
    return EXIT_USAGE;
}

// Results that were not written are a failure, whatever else was done.
static int close_output(int exit_code) {
    errno = 0;
    const bool had_failed = ferror(stdout) != 0;
    if (fclose(stdout) == 0 && !had_failed) {
        return exit_code;
    }
    say("standard output: could not be written%s%s", errno == 0 ? "" : ": ", errno == 0 ? "" : strerror(errno));
    return exit_code == EXIT_DONE ? EXIT_FAILED : exit_code;
}

int main(int argc, char **argv) {
    // A reader that went away is an error like any other.
    (void)signal(SIGPIPE, SIG_IGN);
    return close_output(run_command(argc, argv));
}

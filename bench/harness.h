// How a workload is measured: Mica beside hand-written C that does the same work, in turns, in one process.
#pragma once

#include <stdbool.h>
#include <stdint.h>

/// One of the two ways to do a workload.
typedef struct bench_side {
    /// Makes the state for a workload of size n, or returns NULL. Untimed, once a row.
    void *(*set_up)(int64_t n);
    /// Brings the state to where a run starts. Untimed, before every run. NULL: a run leaves it there.
    void (*prepare)(void *state);
    /// The work. Timed.
    void (*run)(void *state);
    /// A checksum of what the runs so far have done, on which both sides must agree. Untimed. May change the state as
    /// long as the next `prepare` or `run` does not notice.
    uint64_t (*check)(void *state);
    /// Frees the state.
    void (*tear_down)(void *state);
    /// For rows that no clock measures: the bytes that the state holds once it is made, or what else the row counts.
    /// Such sides have no `prepare`, `run` and `check`; nothing is timed, and there is one sample.
    uint64_t (*weigh)(void *state);
    /// Of the second side of a row: it is no limit but what the first side does besides. The row is about what is left
    /// when the time of this side is taken away, and has no limit.
    bool is_baseline;
    /// More than one thread works: who does what is chance, so instructions are not counted.
    bool has_threads;
} bench_side;

/// A line of the table: one workload, in one variant, at one size.
typedef struct bench_row {
    const char *name;
    const char *variant; ///< "main" is the variant that the row is about.
    int64_t n;
    const char *unit;   ///< Of what is shown: what is weighed; of times "ms/..." and "us/...", all else is nanoseconds.
    int64_t operations; ///< How many of the unit one run does.
    const bench_side *mica;
    const bench_side *limit; ///< NULL: there is none.
} bench_row;

/// A pair of measurements taken one right after the other, an operation each in the row's unit.
typedef struct bench_sample {
    double mica;
    double limit;        ///< Or what was taken away from the first figure; 0 if there is neither.
    int64_t calibration; ///< Time of the slowest calibration loop beside the pair, in nanoseconds.
} bench_sample;

typedef enum bench_status {
    BENCH_DONE,
    BENCH_SET_UP_FAILED,
    BENCH_CHECK_FAILED, ///< The two sides disagree about the result.
    BENCH_ALL_DROPPED,  ///< No sample was taken at the machine's usual speed.
} bench_status;

typedef struct bench_result {
    bench_status status;
    double mica;  ///< Median, an operation in the row's unit.
    double limit; ///< The same; 0 without a limit.
    double ratio; ///< Of the medians; 0 without a limit.
    /// Interquartile range of the ratios of the pairs; without a limit, of the samples divided by the median of what
    /// was timed.
    double spread;
    int32_t kept;
    int32_t dropped;
} bench_result;

/// How long to measure, and by which clock. The functions are given so that tests can bring their own.
typedef struct bench_session {
    int64_t (*clock)(void);
    int64_t (*calibrate)(void);
    int64_t (*wall_clock)(void); ///< Of rows with several threads,
    bool (*unpin)(void);         ///< which get all cores before they are set up,
    bool (*pin)(void);           ///< and one again afterwards.
    int64_t budget_nanoseconds;  ///< For one row; five times that while fewer than `kept_least` samples are kept.
    int64_t spare_nanoseconds;   ///< What all rows together may still take beyond their budgets.
    int32_t kept_wanted;         ///< A row ends with that many samples kept, within its budget or not.
    int32_t kept_least;
    int64_t best_calibration; ///< Of all rows so far; 0 at first.
} bench_session;

/// A session with the machine's clock; `quick` takes fewer samples.
bench_session bench_session_make(bool quick);

/// Measures one row.
bench_result bench_measure(bench_session *session, const bench_row *row);

/// Whether a calibration loop that took so long shows that the machine was slower than usual.
bool bench_was_disturbed(int64_t calibration, int64_t best_calibration);

/// The result of some samples: those that were disturbed are counted and left out. Reorders nothing.
bench_result bench_summarise(const bench_sample *samples, int32_t count, bool has_limit, int64_t best_calibration);

/// The value below which that part (0 to 1) of the values lies, interpolated between neighbours. Sorts the values, of
/// which there must be at least one.
double bench_quantile(double *values, int32_t count, double part);

/// The same row at another size, with as many operations more or fewer; a row of one operation keeps that.
bench_row bench_row_resized(const bench_row *row, int64_t n);

/// Whether there is a limit beside Mica.
bool bench_row_has_limit(const bench_row *row);

/// Whether a row has that name and variant.
bool bench_row_is(const bench_row *row, const char *name, const char *variant);

/// Whether none of the rows before the one at that index is the same variant of the same name.
bool bench_variant_is_first(const bench_row *rows, int32_t index);

/// Whether a row is measured only when it is named: one that draws a picture of the guide, and says nothing about Mica
/// that others do not.
bool bench_row_is_apart(const bench_row *row);

/// Whether a pattern of the command line selects a row of that name: the name itself, or a prefix that ends in '/'.
bool bench_pattern_selects(const char *pattern, const char *name);

// Sampling and its statistics.
//
// What makes a figure trustworthy here:
// - Both sides run in turns (A B A B), so that a drift of the machine meets both, and only ratios are quoted.
// - Both run equally often, from equal states, and their results are compared after the first and after the last run.
//   So neither can skip work, and the compiler cannot remove it.
// - A loop of fixed work runs before, between and after the two. When one of the three took more than a tenth longer
//   than the best ever seen, the pair is dropped and counted.
// - Medians and quartiles, never means: what is left of outliers does not move them.
#include "harness.h"

#include "machine.h"

#include <stdlib.h>
#include <string.h>

enum { SAMPLES_MOST = 256, PASSES_MOST = 1 << 24 };

// A sample shorter than that would measure the clock; short runs are repeated within one sample. With several threads,
// also what it takes to wake those that slept while the other side had its turn: a row is about frame after frame.
static const int64_t sample_least_nanoseconds = 1000000;
static const int64_t threads_sample_least_nanoseconds = 10000000;

bench_session bench_session_make(bool quick) {
    return (bench_session){
        .clock = bench_clock,
        .calibrate = bench_calibrate,
        .wall_clock = bench_wall_clock,
        .unpin = bench_unpin,
        .pin = bench_pin,
        .budget_nanoseconds = quick ? 500000000 : 2000000000,
        .spare_nanoseconds = 120000000000,
        .kept_wanted = quick ? 5 : 31,
        .kept_least = quick ? 3 : 9,
    };
}

static int compare_doubles(const void *left, const void *right) {
    const double a = *(const double *)left;
    const double b = *(const double *)right;
    return (a > b) - (a < b);
}

double bench_quantile(double *values, int32_t count, double part) {
    qsort(values, (size_t)count, sizeof *values, compare_doubles);
    const double position = part * (count - 1);
    const int32_t below = (int32_t)position;
    if (below >= count - 1) {
        return values[count - 1];
    }
    return values[below] + (position - below) * (values[below + 1] - values[below]);
}

bool bench_was_disturbed(int64_t calibration, int64_t best_calibration) {
    return (double)calibration > 1.10 * (double)best_calibration;
}

bench_result bench_summarise(const bench_sample *samples, int32_t count, bool has_limit, int64_t best_calibration) {
    double mica[SAMPLES_MOST];
    double limit[SAMPLES_MOST];
    double ratio[SAMPLES_MOST];
    bench_result result = {.status = BENCH_ALL_DROPPED};
    for (int32_t i = 0; i < count; i++) {
        if (bench_was_disturbed(samples[i].calibration, best_calibration)) {
            result.dropped++;
            continue;
        }
        mica[result.kept] = samples[i].mica;
        limit[result.kept] = samples[i].limit;
        ratio[result.kept] = has_limit ? samples[i].mica / samples[i].limit : samples[i].mica;
        result.kept++;
    }
    if (result.kept == 0) {
        return result;
    }
    result.status = BENCH_DONE;
    result.mica = bench_quantile(mica, result.kept, 0.5);
    result.spread = bench_quantile(ratio, result.kept, 0.75) - bench_quantile(ratio, result.kept, 0.25);
    if (has_limit) {
        result.limit = bench_quantile(limit, result.kept, 0.5);
        result.ratio = result.mica / result.limit;
    } else {
        result.spread /= result.mica + bench_quantile(limit, result.kept, 0.5);
    }
    return result;
}

bench_row bench_row_resized(const bench_row *row, int64_t n) {
    bench_row resized = *row;
    resized.n = n;
    if (row->n > 0 && row->operations > 1) {
        resized.operations = row->operations * n / row->n;
    }
    return resized;
}

bool bench_row_has_limit(const bench_row *row) {
    return row->limit != NULL && !row->limit->is_baseline;
}

bool bench_row_is(const bench_row *row, const char *name, const char *variant) {
    return strcmp(row->name, name) == 0 && strcmp(row->variant, variant) == 0;
}

bool bench_variant_is_first(const bench_row *rows, int32_t index) {
    for (int32_t i = 0; i < index; i++) {
        if (bench_row_is(&rows[i], rows[index].name, rows[index].variant)) {
            return false;
        }
    }
    return true;
}

bool bench_row_is_apart(const bench_row *row) {
    return bench_pattern_selects("curve/", row->name);
}

bool bench_pattern_selects(const char *pattern, const char *name) {
    const size_t length = strlen(pattern);
    if (length > 0 && pattern[length - 1] == '/') {
        return strncmp(pattern, name, length) == 0;
    }
    return strcmp(pattern, name) == 0;
}

// Runs a side so many times and returns the nanoseconds that the runs took.
static int64_t run_timed(const bench_session *session, const bench_side *side, void *state, int64_t passes) {
    if (side->prepare != NULL) {
        side->prepare(state);
    }
    const int64_t start = session->clock();
    for (int64_t i = 0; i < passes; i++) {
        side->run(state);
    }
    return session->clock() - start;
}

static int64_t calibrate(bench_session *session) {
    const int64_t taken = session->calibrate();
    if (session->best_calibration == 0 || taken < session->best_calibration) {
        session->best_calibration = taken;
    }
    return taken;
}

static int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

// The two states of a row while it is measured.
typedef struct row_pair {
    const bench_row *row;
    void *mica;
    void *limit;
    int64_t passes; // runs a sample
} row_pair;

// How many nanoseconds one of a unit has.
static double unit_nanoseconds(const char *unit) {
    if (strncmp(unit, "ms/", strlen("ms/")) == 0) {
        return 1e6;
    }
    return strncmp(unit, "us/", strlen("us/")) == 0 ? 1e3 : 1;
}

static bench_sample sample_take(bench_session *session, const row_pair *pair) {
    bench_sample sample = {.calibration = calibrate(session)};
    const double operations = (double)pair->row->operations * (double)pair->passes * unit_nanoseconds(pair->row->unit);
    sample.mica = (double)run_timed(session, pair->row->mica, pair->mica, pair->passes) / operations;
    sample.calibration = larger(sample.calibration, calibrate(session));
    if (pair->row->limit != NULL) {
        sample.limit = (double)run_timed(session, pair->row->limit, pair->limit, pair->passes) / operations;
        sample.calibration = larger(sample.calibration, calibrate(session));
        if (pair->row->limit->is_baseline) {
            sample.mica -= sample.limit;
        }
    }
    return sample;
}

// Warms both sides up and finds how many runs make a sample long enough.
static void warm_up(const bench_session *session, row_pair *pair) {
    const bench_side *mica = pair->row->mica;
    const bench_side *limit = pair->row->limit;
    const int64_t least = mica->has_threads ? threads_sample_least_nanoseconds : sample_least_nanoseconds;
    const bool repeatable = mica->prepare == NULL && (limit == NULL || limit->prepare == NULL);
    for (pair->passes = 1;; pair->passes *= 2) {
        int64_t shorter = run_timed(session, mica, pair->mica, pair->passes);
        if (limit != NULL) {
            const int64_t taken = run_timed(session, limit, pair->limit, pair->passes);
            shorter = taken < shorter ? taken : shorter;
        }
        if (!repeatable || shorter >= least || pair->passes >= PASSES_MOST) {
            return;
        }
    }
}

static bool sides_agree(const row_pair *pair) {
    const uint64_t checksum = pair->row->mica->check(pair->mica);
    return pair->row->limit == NULL || pair->row->limit->check(pair->limit) == checksum;
}

static int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

// Whether a row that has taken so long has taken long enough.
static bool is_spent(const bench_session *session, int64_t elapsed, int32_t kept) {
    const int64_t budget = session->budget_nanoseconds;
    const int64_t beyond = kept < session->kept_least ? smaller(4 * budget, session->spare_nanoseconds) : 0;
    return elapsed >= budget + beyond;
}

static bench_result measure_pair(bench_session *session, row_pair *pair) {
    bench_sample samples[SAMPLES_MOST];
    const bool has_limit = bench_row_has_limit(pair->row);
    const int64_t start = session->clock();
    int64_t elapsed = 0;
    bench_result result = {.status = BENCH_CHECK_FAILED};
    warm_up(session, pair);
    if (!sides_agree(pair)) {
        return result;
    }
    for (int32_t count = 0; count < SAMPLES_MOST;) {
        samples[count++] = sample_take(session, pair);
        result = bench_summarise(samples, count, has_limit, session->best_calibration);
        elapsed = session->clock() - start;
        if (result.kept >= session->kept_wanted || is_spent(session, elapsed, result.kept)) {
            break;
        }
    }
    session->spare_nanoseconds -= larger(elapsed - session->budget_nanoseconds, 0);
    if (!sides_agree(pair)) {
        result.status = BENCH_CHECK_FAILED;
    }
    return result;
}

// What the sides hold, which is the same every time.
static bench_result weigh_pair(const row_pair *pair) {
    const double operations = (double)pair->row->operations;
    const bench_side *limit = pair->row->limit;
    bench_result result = {.status = BENCH_DONE, .kept = 1};
    result.mica = (double)pair->row->mica->weigh(pair->mica) / operations;
    if (limit != NULL) {
        result.limit = (double)limit->weigh(pair->limit) / operations;
        result.ratio = result.mica / result.limit;
    }
    return result;
}

static bench_result measure_row(bench_session *session, const bench_row *row) {
    row_pair pair = {.row = row, .mica = row->mica->set_up(row->n)};
    if (row->limit != NULL) {
        pair.limit = row->limit->set_up(row->n);
    }
    bench_result result = {.status = BENCH_SET_UP_FAILED};
    if (pair.mica != NULL && (row->limit == NULL || pair.limit != NULL)) {
        result = row->mica->weigh != NULL ? weigh_pair(&pair) : measure_pair(session, &pair);
    }
    if (pair.limit != NULL) {
        row->limit->tear_down(pair.limit);
    }
    if (pair.mica != NULL) {
        row->mica->tear_down(pair.mica);
    }
    return result;
}

bench_result bench_measure(bench_session *session, const bench_row *row) {
    if (!row->mica->has_threads) {
        return measure_row(session, row);
    }
    int64_t (*const clock)(void) = session->clock;
    session->clock = session->wall_clock;
    session->unpin();
    const bench_result result = measure_row(session, row);
    session->pin();
    session->clock = clock;
    return result;
}

// Deciding whether loops are shared out; see cost.h.
#include "run/cost.h"

// What has to be saved by sharing, what a thread should have to do, and what a loop has to take to be noted.
#define SAVED_NANOSECONDS_LEAST 10000u
#define PART_NANOSECONDS_LEAST 10000u
#define NOTED_NANOSECONDS_LEAST 10000u
// So many ranges a thread, for what is left when the others are through; but none shorter than a microsecond.
#define RANGES_A_PART 32u
#define RANGE_NANOSECONDS_LEAST 1000u
// Loops that a check takes at least and at most, that a trial takes, and until what was decided is looked at again.
#define CHECK_LOOPS_LEAST 2u
#define CHECK_LOOPS_MOST MI_COST_SAMPLE_COUNT
#define TRIAL_LOOPS 3u
#define PATIENCE_FIRST 8u
#define PATIENCE_GROWTH 4u
#define PATIENCE_MOST 8192u

// Samples

static void add_sample(mi_cost_samples *samples, uint64_t row_count, uint64_t nanoseconds) {
    samples->picoseconds[samples->next] = nanoseconds * 1000 / row_count;
    samples->next = (samples->next + 1) % MI_COST_SAMPLE_COUNT;
    samples->count += samples->count < MI_COST_SAMPLE_COUNT;
}

// Of an even number the lower one in the middle; 0: there are none.
static uint64_t median_of(const mi_cost_samples *samples) {
    uint64_t sorted[MI_COST_SAMPLE_COUNT] = {0};
    for (uint32_t i = 0; i < samples->count; i++) {
        uint32_t place = i;
        for (; place > 0 && sorted[place - 1] > samples->picoseconds[i]; place--) {
            sorted[place] = sorted[place - 1];
        }
        sorted[place] = samples->picoseconds[i];
    }
    return samples->count == 0 ? 0 : sorted[(samples->count - 1) / 2];
}

// What a loop takes alone; 0: unknown.
static uint64_t nanoseconds_alone(const mi_cost *cost, uint64_t row_count) {
    return row_count * median_of(&cost->alone) / 1000;
}

// Deciding

static void check(mi_cost *cost) {
    cost->mode = MI_COST_CHECK;
    cost->alone = (mi_cost_samples){0};
}

static void try_out(mi_cost *cost) {
    cost->mode = MI_COST_TRIAL;
    cost->shared = (mi_cost_samples){0};
}

// Whether sharing saves a sixteenth, or, where it is what loops do, loses nothing to speak of: while another program
// has the other cores it gains nothing, and would be missed when they are back.
static bool saves_enough(const mi_cost *cost) {
    const uint64_t alone = median_of(&cost->alone);
    return median_of(&cost->shared) <= (cost->pays ? alone + alone / 32 : alone - alone / 16);
}

// Whether sharing is so much slower that there is no need to try it again soon.
static bool loses(const mi_cost *cost) {
    const uint64_t alone = median_of(&cost->alone);
    return median_of(&cost->shared) > alone + alone / 16;
}

// Whether no check could show that sharing does not pay.
static bool gains_clearly(const mi_cost *cost) {
    return median_of(&cost->alone) > median_of(&cost->shared) * 3 / 2;
}

static void decide(mi_cost *cost, uint64_t row_count) {
    const bool pays = saves_enough(cost);
    if (cost->pays && !pays && !cost->is_contradicted) {
        cost->is_contradicted = true;
        check(cost);
        return;
    }
    const bool is_sure = cost->patience > 0 && pays == cost->pays && (pays || loses(cost));
    if (!is_sure) {
        cost->patience = PATIENCE_FIRST;
    } else if (cost->patience < PATIENCE_MOST) {
        cost->patience *= PATIENCE_GROWTH;
    }
    cost->mode = pays ? MI_COST_SHARED : MI_COST_ALONE;
    cost->pays = pays;
    cost->is_contradicted = false;
    cost->loop_count = 0;
    cost->judged_nanoseconds = nanoseconds_alone(cost, row_count);
}

// Whether loops that run alone have become half as long again. Those that become shorter wait for their time: so one
// that goes up and down is tried about as often as one that stays as it is.
static bool has_grown(const mi_cost *cost, uint64_t row_count) {
    return nanoseconds_alone(cost, row_count) > cost->judged_nanoseconds + cost->judged_nanoseconds / 2;
}

// Whether what rows take alone is to be looked at again: sharing gains so little that it might lose, or more than there
// are threads, which more caches can explain, but not by half.
static bool is_in_doubt(const mi_cost *cost, uint64_t thread_count) {
    return !gains_clearly(cost) || median_of(&cost->alone) > median_of(&cost->shared) * thread_count * 3 / 2;
}

// The first loops that run alone find what they go through in other cores' caches, or nowhere. Where that matters all
// of a check's loops are needed for the median to be one that did not.
static bool has_checked(const mi_cost *cost) {
    return cost->alone.count >= CHECK_LOOPS_MOST ||
           (cost->alone.count >= CHECK_LOOPS_LEAST && (cost->shared.count == 0 || gains_clearly(cost)));
}

void mi_cost_note_alone(mi_cost *cost, uint64_t row_count, uint64_t nanoseconds) {
    if (row_count == 0 || nanoseconds < NOTED_NANOSECONDS_LEAST) {
        return;
    }
    add_sample(&cost->alone, row_count, nanoseconds);
    if (cost->mode == MI_COST_CHECK && has_checked(cost)) {
        try_out(cost);
    } else if (cost->mode == MI_COST_ALONE) {
        cost->loop_count++;
        if (cost->loop_count >= cost->patience || has_grown(cost, row_count)) {
            try_out(cost);
        }
    }
}

void mi_cost_note_shared(mi_cost *cost, uint64_t row_count, uint64_t thread_count, uint64_t nanoseconds) {
    add_sample(&cost->shared, row_count, nanoseconds);
    if (cost->mode == MI_COST_TRIAL && cost->shared.count >= TRIAL_LOOPS) {
        decide(cost, row_count);
    } else if (cost->mode == MI_COST_SHARED) {
        cost->loop_count++;
        if (cost->loop_count >= cost->patience &&
            (cost->patience == PATIENCE_FIRST || is_in_doubt(cost, thread_count))) {
            check(cost);
        }
    }
}

mi_cost_shares mi_cost_share(const mi_cost *cost, uint64_t row_count, uint64_t thread_count) {
    const uint64_t total = nanoseconds_alone(cost, row_count);
    if (cost->mode == MI_COST_CHECK || cost->mode == MI_COST_ALONE ||
        total - total / thread_count < SAVED_NANOSECONDS_LEAST) {
        return (mi_cost_shares){0};
    }
    const uint64_t useful = total / PART_NANOSECONDS_LEAST;
    const uint64_t count = useful < thread_count ? useful : thread_count;
    const uint64_t by_share = row_count / (count * RANGES_A_PART);
    const uint64_t by_time = RANGE_NANOSECONDS_LEAST * row_count / total;
    return (mi_cost_shares){.count = (uint32_t)count, .range_rows = by_share > by_time ? by_share : by_time};
}

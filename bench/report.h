// How results are shown: a table for people, JSON for programs.
#pragma once

#include "harness.h"

#include <jansson.h>
#include <stdio.h>

/// Widths of the columns that depend on the rows shown.
typedef struct bench_table {
    FILE *out;
    int name_width;
    int variant_width;
    int unit_width;
} bench_table;

/// A table wide enough for its headings.
bench_table bench_table_make(FILE *out);

/// Widens the columns to hold that row.
void bench_table_fit(bench_table *table, const bench_row *row);

/// Prints the line above the rows.
void bench_table_head(const bench_table *table);

/// Prints a row and what was measured; figures that do not exist are shown as "-".
void bench_table_row(const bench_table *table, const bench_row *row, const bench_result *result);

/// Prints what identifies a row, and no figures.
void bench_table_name(const bench_table *table, const bench_row *row);

/// What one row measured as a JSON object, or NULL when memory is lacking. Figures that do not exist are null.
json_t *bench_result_to_json(const bench_row *row, const bench_result *result);

// The table on standard output and the JSON objects.
//
// A row is printed as soon as it is measured, so the widths of the columns are found from all selected rows beforehand.
// A figure that does not exist is never shown as zero: it is "-" in the table and null in JSON.
#include "report.h"

#include <inttypes.h>
#include <string.h>

static int wider(int width, const char *text) {
    const int length = (int)strlen(text);
    return length > width ? length : width;
}

bench_table bench_table_make(FILE *out) {
    return (bench_table){.out = out,
                         .name_width = wider(0, "row"),
                         .variant_width = wider(0, "variant"),
                         .unit_width = wider(0, "unit")};
}

void bench_table_fit(bench_table *table, const bench_row *row) {
    table->name_width = wider(table->name_width, row->name);
    table->variant_width = wider(table->variant_width, row->variant);
    table->unit_width = wider(table->unit_width, row->unit);
}

void bench_table_head(const bench_table *table) {
    fprintf(table->out, "%-*s  %-*s  %9s  %-*s  %9s  %9s  %7s  %7s  %7s\n", table->name_width, "row",
            table->variant_width, "variant", "n", table->unit_width, "unit", "mica", "limit", "ratio", "spread",
            "dropped");
}

// Prints a figure right-aligned after the column before it.
static void print_figure(FILE *out, bool exists, int width, int digits, double value) {
    if (exists) {
        fprintf(out, "  %*.*f", width, digits, value);
    } else {
        fprintf(out, "  %*s", width, "-");
    }
}

void bench_table_row(const bench_table *table, const bench_row *row, const bench_result *result) {
    const bool measured = result->status == BENCH_DONE;
    const bool has_limit = measured && bench_row_has_limit(row);
    fprintf(table->out, "%-*s  %-*s  %9" PRId64 "  %-*s", table->name_width, row->name, table->variant_width,
            row->variant, row->n, table->unit_width, row->unit);
    print_figure(table->out, measured, 9, 3, result->mica);
    print_figure(table->out, has_limit, 9, 3, result->limit);
    print_figure(table->out, has_limit, 7, 2, result->ratio);
    print_figure(table->out, measured, 7, 2, result->spread);
    fprintf(table->out, "  %7" PRId32 "\n", result->dropped);
    fflush(table->out);
}

void bench_table_name(const bench_table *table, const bench_row *row) {
    fprintf(table->out, "%-*s  %-*s  %9" PRId64 "  %s\n", table->name_width, row->name, table->variant_width,
            row->variant, row->n, row->unit);
}

static json_t *figure_to_json(bool exists, double value) {
    return exists ? json_real(value) : json_null();
}

json_t *bench_result_to_json(const bench_row *row, const bench_result *result) {
    const bool measured = result->status == BENCH_DONE;
    const bool has_limit = measured && bench_row_has_limit(row);
    return json_pack("{s:s, s:s, s:I, s:s, s:o, s:o, s:o, s:o}", "row", row->name, "variant", row->variant, "n",
                     (json_int_t)row->n, "unit", row->unit, "mica", figure_to_json(measured, result->mica), "limit",
                     figure_to_json(has_limit, result->limit), "ratio", figure_to_json(has_limit, result->ratio),
                     "spread", figure_to_json(measured, result->spread));
}

// Statistics of a world as aligned text. Figures are aligned to the right, so that two runs are easily compared.
#include "statistics.h"

#include "memory_report.h"

#include <mica/hardware.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_WIDTH = 20 };

static int name_width(const mica_world *world, const mica_system *systems, int32_t count) {
    size_t width = NAME_WIDTH;
    for (int32_t i = 0; i < count; i++) {
        mica_system_stats stats;
        if (mica_system_statistics(world, systems[i], &stats) == MICA_OK && strlen(stats.name) > width) {
            width = strlen(stats.name);
        }
    }
    return (int)width;
}

static void print_systems(const mica_world *world, const mica_system *systems, int32_t count, FILE *file) {
    const int width = name_width(world, systems, count);
    const double ticks = (double)mica_world_tick(world);
    (void)fprintf(file, "\n%-*s  %-12s %10s %12s %10s %10s %10s\n", width, "system", "stage", "runs", "us/tick",
                  "commands", "skipped", "over");
    for (int32_t i = 0; i < count; i++) {
        mica_system_stats stats;
        if (mica_system_statistics(world, systems[i], &stats) == MICA_OK) {
            (void)fprintf(file, "%-*s  %-12s %10" PRIu64 " %12.3f %10" PRIu64 " %10" PRIu64 " %10" PRIu64 "\n", width,
                          stats.name, mica_stage_name(world, stats.stage), stats.run_count,
                          ticks > 0 ? stats.total_seconds * 1e6 / ticks : 0.0, stats.command_count,
                          stats.command_skipped_count, stats.over_budget_count);
        }
    }
}

// By run: systems differ in how often they run.
static void print_hardware(const mica_world *world, const mica_system *systems, int32_t count, FILE *file) {
    const int width = name_width(world, systems, count);
    (void)fprintf(file, "\n%-*s  %14s %14s %14s %14s\n", width, "system", "instr/run", "cycles/run", "cache miss/run",
                  "br. miss/run");
    for (int32_t i = 0; i < count; i++) {
        mica_system_stats stats;
        mica_hardware_counts counts;
        if (mica_system_statistics(world, systems[i], &stats) == MICA_OK && stats.run_count > 0 &&
            mica_hardware_statistics(world, systems[i], &counts) == MICA_OK) {
            const double runs = (double)stats.run_count;
            (void)fprintf(file, "%-*s  %14.1f %14.1f %14.1f %14.1f\n", width, stats.name,
                          (double)counts.instruction_count / runs, (double)counts.cycle_count / runs,
                          (double)counts.cache_miss_count / runs, (double)counts.branch_miss_count / runs);
        }
    }
}

bool statistics_print(mica_world *world, FILE *file) {
    const int32_t count = mica_world_systems(world, NULL, 0);
    mica_system *systems = count < 0 ? NULL : malloc(((size_t)count + 1) * sizeof(mica_system));
    if (systems == NULL) {
        return false;
    }
    (void)mica_world_systems(world, systems, count);
    const mica_world_stats stats = mica_world_statistics(world);
    report_count(file, "ticks", mica_world_tick(world));
    report_count(file, "entities", (uint64_t)stats.entity_count);
    report_count(file, "tables", (uint64_t)stats.table_count);
    report_count(file, "chunks", (uint64_t)stats.chunk_count);
    report_count(file, "pools", (uint64_t)stats.pool_count);
    const bool is_fine = memory_report_print(world, file);
    print_systems(world, systems, count, file);
    if (mica_hardware_is_counted(world)) {
        print_hardware(world, systems, count, file);
    }
    free(systems);
    return is_fine;
}

// Statistics of a world as aligned text. Figures are aligned to the right, so that two runs are easily compared.
#include "statistics.h"

#include <mica/pool.h>
#include <mica/system.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_WIDTH = 20, COUNT_WIDTH = 14 };

static void print_count(FILE *file, const char *name, uint64_t count) {
    (void)fprintf(file, "%-*s%*" PRIu64 "\n", NAME_WIDTH, name, COUNT_WIDTH, count);
}

static void print_memory(mica_world *world, FILE *file) {
    const mica_memory_usage usage = mica_world_memory(world);
    print_count(file, "bytes", usage.total);
    for (int32_t i = 0; i < MICA_MEMORY_PURPOSE_COUNT; i++) {
        if (usage.bytes[i] > 0) {
            char name[NAME_WIDTH + 1];
            (void)snprintf(name, sizeof(name), "  %s", mica_memory_purpose_name((mica_memory_purpose)i));
            print_count(file, name, usage.bytes[i]);
        }
    }
}

static int compare_names(const void *a, const void *b) {
    return strcmp((*(const mica_component_info *const *)a)->name, (*(const mica_component_info *const *)b)->name);
}

// One line a pool that holds memory, in order of name, so that the order of registration does not show.
static bool print_pools(const mica_world *world, FILE *file) {
    const mica_schema *schema = mica_world_schema(world);
    const int32_t type_count = mica_schema_count(schema);
    const mica_component_info **pools = malloc(((size_t)type_count + 1) * sizeof(mica_component_info *));
    if (pools == NULL) {
        return false;
    }
    size_t count = 0;
    size_t width = NAME_WIDTH;
    for (int32_t id = 1; id <= type_count; id++) {
        const mica_component_info *info = mica_schema_info(schema, (mica_component)id);
        if (info->storage == MICA_POOL && mica_pool_byte_size(world, info->id) > 0) {
            pools[count++] = info;
            width = strlen(info->name) > width ? strlen(info->name) : width;
        }
    }
    qsort(pools, count, sizeof(pools[0]), compare_names);
    if (count > 0) {
        (void)fprintf(file, "\n%-*s  %10s %10s %14s\n", (int)width, "pool", "entities", "tombstones", "bytes");
    }
    for (size_t i = 0; i < count; i++) {
        const mica_pool_view view = mica_pool_read(world, pools[i]->id);
        (void)fprintf(file, "%-*s  %10" PRId32 " %10" PRId32 " %14" PRIu64 "\n", (int)width, pools[i]->name,
                      view.live_count, view.count - view.live_count, mica_pool_byte_size(world, pools[i]->id));
    }
    free(pools);
    return true;
}

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
    (void)fprintf(file, "\n%-*s  %-12s %10s %12s %10s %10s\n", width, "system", "stage", "runs", "us/tick", "commands",
                  "skipped");
    for (int32_t i = 0; i < count; i++) {
        mica_system_stats stats;
        if (mica_system_statistics(world, systems[i], &stats) == MICA_OK) {
            (void)fprintf(file, "%-*s  %-12s %10" PRIu64 " %12.3f %10" PRIu64 " %10" PRIu64 "\n", width, stats.name,
                          mica_stage_name(world, stats.stage), stats.run_count,
                          ticks > 0 ? stats.total_seconds * 1e6 / ticks : 0.0, stats.command_count,
                          stats.command_skipped_count);
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
    print_count(file, "ticks", mica_world_tick(world));
    print_count(file, "entities", (uint64_t)stats.entity_count);
    print_count(file, "tables", (uint64_t)stats.table_count);
    print_count(file, "chunks", (uint64_t)stats.chunk_count);
    print_count(file, "pools", (uint64_t)stats.pool_count);
    print_memory(world, file);
    const bool is_fine = print_pools(world, file);
    print_systems(world, systems, count, file);
    free(systems);
    return is_fine;
}

// Memory of a world as aligned text: figures to the right, so that two runs are easily compared.
//
// Tables come in the order in which queries visit them, pools in the order of their names, so that the order in which
// types were registered does not show.
#include "memory_report.h"

#include <mica/capacity.h>
#include <mica/pool.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_WIDTH = 20, COUNT_WIDTH = 14 };

void report_count(FILE *file, const char *name, uint64_t count) {
    (void)fprintf(file, "%-*s%*" PRIu64 "\n", NAME_WIDTH, name, COUNT_WIDTH, count);
}

static void print_purposes(mica_world *world, FILE *file) {
    const mica_memory_usage usage = mica_world_memory(world);
    report_count(file, "bytes", usage.total);
    for (int32_t i = 0; i < MICA_MEMORY_PURPOSE_COUNT; i++) {
        if (usage.bytes[i] > 0) {
            char name[NAME_WIDTH + 1];
            (void)snprintf(name, sizeof(name), "  %s", mica_memory_purpose_name((mica_memory_purpose)i));
            report_count(file, name, usage.bytes[i]);
        }
    }
    report_count(file, "most bytes", usage.peak);
    const int32_t entity_count = mica_world_entity_count(world);
    if (entity_count > 0) {
        report_count(file, "bytes an entity", usage.total / (uint64_t)entity_count);
    }
}

static void print_used(FILE *file, const char *name, uint64_t used, uint64_t held) {
    const double share = held > 0 ? 100.0 * (double)used / (double)held : 100.0;
    (void)fprintf(file, "%-*s%*" PRIu64 " %*" PRIu64 " %6.1f %%\n", NAME_WIDTH, name, COUNT_WIDTH, used, COUNT_WIDTH,
                  held, share);
}

static void print_blocks(FILE *file, const char *name, const mica_block_stats *blocks) {
    if (blocks->bytes > 0) {
        print_used(file, name, blocks->used_bytes, blocks->bytes);
        (void)fprintf(file, "%-*s%*" PRIu32 "\n%-*s%*zu\n", NAME_WIDTH, "  blocks", COUNT_WIDTH, blocks->block_count,
                      NAME_WIDTH, "  largest free", COUNT_WIDTH, blocks->free_largest);
    }
}

static void print_fragmentation(const mica_world *world, FILE *file) {
    const mica_fragmentation found = mica_world_fragmentation(world);
    (void)fprintf(file, "\n%-*s%*s %*s\n", NAME_WIDTH, "filled", COUNT_WIDTH, "used", COUNT_WIDTH, "held");
    print_used(file, "slots", found.slot_count, found.slot_capacity);
    print_used(file, "rows", found.row_count, found.row_capacity);
    print_used(file, "chunk bytes", found.row_bytes, found.chunk_bytes);
    print_used(file, "elements", found.element_count, found.element_capacity);
    print_blocks(file, "blocks of chunks", &found.chunks);
    print_blocks(file, "blocks of pages", &found.pages);
    print_blocks(file, "fixed memory", &found.fixed);
}

typedef struct table_printer {
    const mica_schema *schema;
    FILE *file;
    bool has_head;
} table_printer;

static void print_table(const mica_table_stats *table, void *user) {
    table_printer *printer = user;
    FILE *file = printer->file;
    if (!printer->has_head) {
        (void)fprintf(file, "\n%10s %10s %8s %8s %12s %10s  %s\n", "rows", "capacity", "chunks", "row size",
                      "chunk bytes", "own bytes", "table");
        printer->has_head = true;
    }
    (void)fprintf(file, "%10" PRIu32 " %10" PRIu32 " %8" PRIu32 " %8" PRIu32 " %12zu %10zu  ", table->row_count,
                  table->row_capacity, table->chunk_count, table->row_byte_size, table->chunk_bytes,
                  table->table_bytes);
    for (int32_t i = 0; i < table->component_count; i++) {
        (void)fprintf(file, "%s%s", i > 0 ? ", " : "", mica_schema_info(printer->schema, table->components[i])->name);
    }
    (void)fputc('\n', file);
}

static int compare_names(const void *a, const void *b) {
    return strcmp((*(const mica_component_info *const *)a)->name, (*(const mica_component_info *const *)b)->name);
}

// One line a pool that holds memory.
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

bool memory_report_print(mica_world *world, FILE *file) {
    print_purposes(world, file);
    print_fragmentation(world, file);
    table_printer printer = {.schema = mica_world_schema(world), .file = file};
    const bool is_fine = mica_world_visit_tables(world, print_table, &printer) >= 0;
    return print_pools(world, file) && is_fine;
}

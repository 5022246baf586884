// Levels by two walks over the rows of linked entities in stored order: the first counts rows and runs of each level,
// the second puts them where they belong. So within a level rows stand as they lie in memory, and a pass reads poses
// and writes matrices nearly in sequence, whatever the order of creation was; only the matrices of parents are read
// from all over the level before.
//
// What the children of an entity are relative to is found by climbing to the nearest ancestor that knows it, and noted
// on the way back: each record is passed once. The way back is kept in the notes themselves. Notes stand in memory that
// is not cleared: a record's mark says that its note is there.
#include "scene/levels.h"

// What lists are made with is kept for the next time if they were made before within so many updates.
enum { CALM_MOST = 64 };

typedef struct building {
    mi_levels *levels;
    mi_store *store;
    mi_nodes *nodes;
    mica_component child_of;
    mica_component pose;
    uint32_t mark;
} building;

static bool is_known(const building *build, uint32_t index) {
    return mi_nodes_at(build->nodes, index)->mark == build->mark;
}

// False: the ancestors never end.
static bool find_note(const building *build, uint32_t index, mi_level_note *found) {
    uint32_t at = index;
    uint32_t below = 0;
    for (uint32_t steps = 0; at != 0 && !is_known(build, at); steps++) {
        if (steps > build->nodes->linked_count) {
            return false;
        }
        build->levels->notes.data[at].anchor = below;
        below = at;
        at = mi_nodes_at(build->nodes, at)->parent;
    }
    mi_level_note above = {0};
    if (at != 0) {
        above = build->levels->notes.data[at];
    }
    while (below != 0) {
        const uint32_t next = build->levels->notes.data[below].anchor;
        const uint32_t location = mi_slots_location(&build->store->slots, below);
        if (mi_table_has(mi_store_table_at(build->store, location), build->pose)) {
            above = (mi_level_note){.level = above.level + 1, .anchor = location};
        }
        build->levels->notes.data[below] = above;
        mi_nodes_at(build->nodes, below)->mark = build->mark;
        below = next;
    }
    *found = above;
    return true;
}

// The level of an entity itself, and what it is relative to; false: its record is corrupt.
static bool find_level(const building *build, mica_entity entity, mi_level_note *found) {
    const uint32_t index = mica_entity_index(entity);
    const mi_node *node = mi_nodes_find(build->nodes, index);
    *found = (mi_level_note){0};
    if (node == NULL || node->parent == 0) {
        return true;
    }
    const mi_node *above = mi_nodes_at(build->nodes, node->parent);
    if ((node->previous == 0) != (above->first_child == index) || (node->next == 0) != (above->last_child == index)) {
        return false;
    }
    return find_note(build, node->parent, found);
}

// The count of a level; NULL: out of memory.
static mi_level_count *open_count(building *build, uint32_t level) {
    if (level >= build->levels->counts.count) {
        if (!MI_RESERVE(build->store->heap, MICA_MEMORY_RELATIONS, &build->levels->counts, (size_t)level + 1)) {
            return NULL;
        }
        while (build->levels->counts.count <= level) {
            build->levels->counts.data[build->levels->counts.count++] = (mi_level_count){0};
        }
    }
    return &build->levels->counts.data[level];
}

static bool continues_run(const mi_level_count *count, uint32_t location) {
    return count->last != 0 && count->last + 1 == location && mi_row_of(location) != 0;
}

// The first walk, over one chunk of a table that has links.
static mica_result count_chunk(building *build, const mi_table *table, uint32_t chunk) {
    const uint32_t first = table->chunk_ids[chunk] << MI_ROW_BITS;
    const mica_entity *entities = (const mica_entity *)(const void *)mi_store_base(build->store, first);
    const bool has_pose = mi_table_has(table, build->pose);
    const uint32_t rows = mi_table_chunk_rows(table, chunk);
    for (uint32_t row = 0; row < rows; row++) {
        mi_level_note found;
        if (!find_level(build, entities[row], &found)) {
            return MICA_CYCLE;
        }
        if (!has_pose) {
            continue;
        }
        mi_level_count *count = open_count(build, found.level);
        if (count == NULL) {
            return MICA_OUT_OF_MEMORY;
        }
        count->runs += !continues_run(count, first | row);
        count->rows++;
        count->last = first | row;
    }
    return MICA_OK;
}

// The second walk, over one chunk of a table that has links and poses.
static void place_chunk(const building *build, const mi_table *table, uint32_t chunk) {
    const uint32_t first = table->chunk_ids[chunk] << MI_ROW_BITS;
    const mica_entity *entities = (const mica_entity *)(const void *)mi_store_base(build->store, first);
    const uint32_t rows = mi_table_chunk_rows(table, chunk);
    for (uint32_t row = 0; row < rows; row++) {
        mi_level_note found;
        const bool is_sound = find_level(build, entities[row], &found);
        MI_ASSERT(is_sound);
        (void)is_sound;
        mi_level_count *count = &build->levels->counts.data[found.level];
        if (continues_run(count, first | row)) {
            build->levels->runs.data[count->runs - 1].count++;
        } else {
            build->levels->runs.data[count->runs++] = (mi_level_run){.first = first | row, .count = 1};
        }
        build->levels->anchors.data[count->rows++] = found.anchor;
        count->last = first | row;
    }
}

static mica_result count_levels(building *build) {
    const mi_store *store = build->store;
    mica_result result = MICA_OK;
    for (uint32_t id = 0; id < store->tables.count; id++) {
        const mi_table *table = store->tables.data[id];
        const bool has_links = table != NULL && mi_table_has(table, build->child_of);
        for (uint32_t k = 0; has_links && result == MICA_OK && k << table->shift < table->row_count; k++) {
            result = count_chunk(build, table, k);
        }
    }
    return result;
}

static void place_levels(const building *build) {
    const mi_store *store = build->store;
    for (uint32_t id = 0; id < store->tables.count; id++) {
        const mi_table *table = store->tables.data[id];
        const bool has_both = table != NULL && mi_table_has(table, build->child_of) && mi_table_has(table, build->pose);
        for (uint32_t k = 0; has_both && k << table->shift < table->row_count; k++) {
            place_chunk(build, table, k);
        }
    }
}

// Turns the counts into where each level starts, and makes room.
static bool open_lists(building *build) {
    mi_levels *levels = build->levels;
    mi_heap *heap = build->store->heap;
    uint32_t rows = 0;
    uint32_t runs = 0;
    uint32_t cuts = 0;
    for (uint32_t i = 0; i < build->levels->counts.count; i++) {
        const mi_level_count count = build->levels->counts.data[i];
        build->levels->counts.data[i] = (mi_level_count){.rows = rows, .runs = runs};
        rows += count.rows;
        runs += count.runs;
        cuts += (count.rows + MI_LEVEL_CUT_ROWS - 1) / MI_LEVEL_CUT_ROWS;
    }
    if (levels->anchors.capacity / 2 > rows || levels->runs.capacity / 2 > runs) {
        MI_FREE(heap, MICA_MEMORY_RELATIONS, &levels->anchors);
        MI_FREE(heap, MICA_MEMORY_RELATIONS, &levels->runs);
        MI_FREE(heap, MICA_MEMORY_RELATIONS, &levels->cuts);
    }
    if (!MI_RESERVE(heap, MICA_MEMORY_RELATIONS, &levels->anchors, rows) ||
        !MI_RESERVE(heap, MICA_MEMORY_RELATIONS, &levels->runs, runs) ||
        !MI_RESERVE(heap, MICA_MEMORY_RELATIONS, &levels->cuts, cuts) ||
        !MI_RESERVE(heap, MICA_MEMORY_RELATIONS, &levels->cut_ends, build->levels->counts.count)) {
        return false;
    }
    levels->anchors.count = rows;
    levels->runs.count = runs;
    return true;
}

// Cuts the runs of each level, which are complete; the counts say where they end.
static void cut_levels(mi_levels *levels) {
    levels->cuts.count = 0;
    levels->cut_ends.count = 0;
    uint32_t run = 0;
    uint32_t first_row = 0;
    for (uint32_t level = 0; level < levels->counts.count; level++) {
        uint32_t skipped = 0;
        while (run < levels->counts.data[level].runs) {
            mi_level_cut cut = {.run = run, .skipped = skipped, .first_row = first_row};
            while (run < levels->counts.data[level].runs && cut.row_count < MI_LEVEL_CUT_ROWS) {
                const uint32_t left = levels->runs.data[run].count - skipped;
                const uint32_t room = MI_LEVEL_CUT_ROWS - cut.row_count;
                cut.row_count += left < room ? left : room;
                run += left > room ? 0 : 1;
                skipped = left > room ? skipped + room : 0;
            }
            levels->cuts.data[levels->cuts.count++] = cut;
            first_row += cut.row_count;
        }
        levels->cut_ends.data[levels->cut_ends.count++] = levels->cuts.count;
    }
}

// Notes which tables hold linked entities or the roots above them.
static bool list_tables(const building *build) {
    const mi_store *store = build->store;
    const uint32_t count = store->tables.count;
    if (!MI_RESERVE(store->heap, MICA_MEMORY_RELATIONS, &build->levels->is_involved, count)) {
        return false;
    }
    bool *is_involved = build->levels->is_involved.data;
    build->levels->is_involved.count = count;
    for (uint32_t id = 0; id < count; id++) {
        const mi_table *table = store->tables.data[id];
        is_involved[id] = table != NULL && mi_table_has(table, build->child_of);
    }
    const mi_node *head = mi_nodes_find(build->nodes, 0);
    uint32_t at = head == NULL ? 0 : head->first_child;
    for (uint32_t steps = 0; at != 0 && steps < build->nodes->parent_count; steps++) {
        is_involved[mi_store_table_at(store, mi_slots_location(&store->slots, at))->id] = true;
        at = mi_nodes_at(build->nodes, at)->next;
    }
    return true;
}

static uint64_t count_moves(const mi_levels *levels, const mi_store *store) {
    uint64_t moves = 0;
    for (uint32_t id = 0; id < levels->is_involved.count; id++) {
        moves += levels->is_involved.data[id] ? store->tables.data[id]->row_moves : 0;
    }
    return moves;
}

static bool is_current(const mi_levels *levels, const mi_store *store, const mi_nodes *nodes, mica_component pose) {
    return levels->is_made && levels->links_version == nodes->version && levels->pose == pose &&
           levels->tables_dropped == store->tables_dropped && levels->row_moves == count_moves(levels, store);
}

static mica_result build_lists(building *build) {
    const mica_result result = count_levels(build);
    if (result != MICA_OK) {
        return result;
    }
    if (!open_lists(build) || !list_tables(build)) {
        return MICA_OUT_OF_MEMORY;
    }
    if (build->levels->counts.count > 0) {
        place_levels(build);
    }
    cut_levels(build->levels);
    return MICA_OK;
}

mica_result mi_levels_update(mi_levels *levels, mi_store *store, mi_nodes *nodes, mica_component child_of,
                             mica_component pose) {
    if (is_current(levels, store, nodes, pose)) {
        if (levels->calm_count < CALM_MOST && ++levels->calm_count == CALM_MOST) {
            mi_levels_trim(levels, store->heap);
        }
        return MICA_OK;
    }
    const bool is_restless = levels->pose != 0 && levels->calm_count < CALM_MOST;
    levels->is_made = false;
    levels->calm_count = 0;
    levels->counts.count = 0;
    building build = {.levels = levels, .store = store, .nodes = nodes, .child_of = child_of, .pose = pose};
    if (!MI_RESERVE(store->heap, MICA_MEMORY_RELATIONS, &levels->notes,
                    (size_t)nodes->pages.count << MI_NODE_PAGE_BITS)) {
        return MICA_OUT_OF_MEMORY;
    }
    build.mark = mi_nodes_marks(nodes, 1);
    const mica_result result = build_lists(&build);
    if (result == MICA_OK) {
        levels->is_made = true;
        levels->links_version = nodes->version;
        levels->row_moves = count_moves(levels, store);
        levels->tables_dropped = store->tables_dropped;
        levels->pose = pose;
    }
    if (!is_restless) {
        mi_levels_trim(levels, store->heap);
    }
    return result;
}

void mi_levels_trim(mi_levels *levels, mi_heap *heap) {
    MI_FREE(heap, MICA_MEMORY_RELATIONS, &levels->notes);
    MI_FREE(heap, MICA_MEMORY_RELATIONS, &levels->counts);
}

void mi_levels_free(mi_levels *levels, mi_heap *heap) {
    mi_levels_trim(levels, heap);
    MI_FREE(heap, MICA_MEMORY_RELATIONS, &levels->runs);
    MI_FREE(heap, MICA_MEMORY_RELATIONS, &levels->anchors);
    MI_FREE(heap, MICA_MEMORY_RELATIONS, &levels->cuts);
    MI_FREE(heap, MICA_MEMORY_RELATIONS, &levels->cut_ends);
    MI_FREE(heap, MICA_MEMORY_RELATIONS, &levels->is_involved);
}

static const char *validate_row(const mi_store *store, const mi_nodes *nodes, uint32_t location, uint32_t anchor,
                                mica_component pose) {
    const mica_entity *entities = (const mica_entity *)(const void *)mi_store_base(store, location);
    const mi_node *node = mi_nodes_find(nodes, mica_entity_index(entities[mi_row_of(location)]));
    const uint32_t parent = node == NULL ? 0 : node->parent;
    const uint32_t above = mi_slots_location(&store->slots, parent);
    if (parent == 0) {
        return anchor == 0 ? NULL : "levels: a root is relative to another entity";
    }
    const bool is_direct = mi_table_has(mi_store_table_at(store, above), pose);
    return !is_direct || anchor == above ? NULL : "levels: an entity is not relative to its parent";
}

const char *mi_levels_validate(const mi_levels *levels, const mi_store *store, const mi_nodes *nodes) {
    const mica_component pose = levels->pose;
    const char *fault = NULL;
    uint32_t rows = 0;
    if (!is_current(levels, store, nodes, pose)) {
        return NULL;
    }
    for (uint32_t i = 0; fault == NULL && i < levels->runs.count; i++) {
        const mi_level_run run = levels->runs.data[i];
        const mi_chunk *chunk = &store->chunks[run.first >> MI_ROW_BITS];
        if (chunk->base == NULL || !mi_table_has(chunk->of.table, pose)) {
            return "levels: a run lies in no table with poses";
        }
        for (uint32_t k = 0; fault == NULL && k < run.count; k++) {
            fault = validate_row(store, nodes, run.first + k, levels->anchors.data[rows++], pose);
        }
    }
    uint32_t cut_rows = 0;
    for (uint32_t i = 0; i < levels->cuts.count; i++) {
        cut_rows += levels->cuts.data[i].row_count;
    }
    return fault == NULL && (rows != levels->anchors.count || rows != cut_rows)
               ? "levels: rows, anchors and cuts differ in number"
               : fault;
}

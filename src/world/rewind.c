// Versions across restores; see rewind.h.
#include "world/rewind.h"

bool mi_rewind_reserve(mica_world *world, const mi_table *table, uint32_t chunk_count) {
    (void)world;
    (void)table;
    (void)chunk_count;
    return true;
}

bool mi_rewind_reserve_pool(mica_world *world, const mi_pool *pool, uint32_t page_count) {
    (void)world;
    (void)pool;
    (void)page_count;
    return true;
}

void mi_rewind_begin(mica_world *world, uint64_t version) {
    world->store.version = version;
}

void mi_rewind_column(mica_world *world, const mi_table *table, uint32_t chunk_index, uint32_t column) {
    (void)world;
    (void)table;
    (void)chunk_index;
    (void)column;
}

void mi_rewind_page(mica_world *world, const mi_pool *pool, uint32_t page) {
    (void)world;
    (void)pool;
    (void)page;
}

void mi_rewind_end(mica_world *world) {
    for (uint32_t i = 0; i < world->extensions.count; i++) {
        const mi_extension *extension = &world->extensions.data[i];
        if (extension->rewound != NULL) {
            extension->rewound(world, extension->state);
        }
    }
}

// A walk in sorted order: what is drawn, from back to front. The order is kept from frame to frame, and a frame
// compares only what may have moved in it.
#include <mica/mica.h>

#include <stdio.h>

// Depths change one by one, so their pool has small pages: fewer are compared for each one that changes.
MICA_STRUCT_WITH(Depth, (.storage = MICA_POOL, .layout = MICA_PAGED, .page_size = 16), { float metres; });
MICA_STRUCT(Picture, { int32_t number; });

// The farthest first. Counts its calls.
static int farthest_first(const mica_element *a, const mica_element *b, void *user) {
    const Depth *left = a->value;
    const Depth *right = b->value;
    ++*(int *)user;
    return (left->metres < right->metres) - (left->metres > right->metres);
}

// Goes through everything that is drawn; false: something was in front of what came before it.
static bool draw(mica_order *order, int32_t *drawn) {
    float last = 1e9f;
    bool is_sorted = true;
    *drawn = 0;
    mica_each (order, it) {
        const Depth *depth = mica_read_of(it, Depth);
        for (int32_t i = 0; i < it.count; i++) {
            is_sorted &= depth[i].metres <= last;
            last = depth[i].metres;
        }
        *drawn += it.count;
    }
    return is_sorted;
}

int main(void) {
    mica_world *world = mica_world_create(NULL);
    mica_entity runner = MICA_NULL;
    for (int32_t i = 0; i < 10000; i++) {
        const float metres = (float)(i * 7919 % 10000);
        const mica_entity entity = mica_spawn(world, mica_value_of(Depth, {metres}), mica_value_of(Picture, {i}));
        runner = i == 5000 ? entity : runner;
    }
    int comparisons = 0;
    mica_query *pictures = mica_query_of(world, mica_read(Depth), mica_read(Picture));
    mica_order *order = mica_order_create(pictures, mica_register(world, Depth), farthest_first, &comparisons);

    int32_t drawn = 0;
    bool as_expected = draw(order, &drawn) && drawn == 10000;
    const int first_frame = comparisons;
    printf("the first frame sorts all %d pictures by %d comparisons\n", (int)drawn, first_frame);

    comparisons = 0;
    as_expected &= draw(order, &drawn) && comparisons == 0;
    printf("a frame like the one before: %d\n", comparisons);

    comparisons = 0;
    mica_get_write(world, runner, Depth)->metres += 2500.5f;
    as_expected &= draw(order, &drawn) && comparisons > 0 && comparisons < first_frame / 100;
    printf("one picture has moved: %d\n", comparisons);

    comparisons = 0;
    mica_destroy(world, runner);
    as_expected &= draw(order, &drawn) && drawn == 9999 && comparisons == 0;
    printf("one picture is gone: %d\n", comparisons);

    mica_order_destroy(order);
    mica_world_destroy(world);
    return as_expected ? 0 : 1;
}

// Cost by size: scenes of twice the nodes, in several shapes, cost twice the instructions, from the file to the end of
// the world.

#include "gltf_fixture.h"
#include "support/test_instructions.h"
#include "support/test_random.h"

#include <mica/gltf.h>
#include <mica/mica.h>

#include <unistd.h>

enum { SMALL_COUNT = 20000, FULL_COUNT = 500000 };

static const double GROWTH_LIMIT = 2.2;

// Some nodes hang one below the other, the others below the first of these.
typedef struct shape {
    const char *name;
    int32_t chain_parts; // of ten
    bool is_shuffled;    // the order of nodes in the file, and of children below their parent
} shape;

// The children of the node at place `place` in the hierarchy: places 0 to `chain_count` - 1 are the chain. `indices`
// says where in the file each place's node is.
static void write_children(FILE *file, const int32_t *indices, int32_t place, int32_t chain_count, int32_t node_count) {
    const char *before = ",\"children\":[";
    if (place + 1 < chain_count) {
        (void)fprintf(file, "%s%d", before, indices[place + 1]);
        before = ",";
    }
    for (int32_t i = chain_count > 0 ? chain_count : 1; place == 0 && i < node_count; i++) {
        (void)fprintf(file, "%s%d", before, indices[i]);
        before = ",";
    }
    (void)fprintf(file, "%s}", strcmp(before, ",") == 0 ? "]" : "");
}

// A file at `path`, which is a template of mkstemp.
static void write_scene(char *path, const shape *of, int32_t node_count) {
    const int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    FILE *file = fdopen(descriptor, "w");
    assert_non_null(file);
    int32_t *indices = malloc((size_t)node_count * sizeof *indices);
    int32_t *places = malloc((size_t)node_count * sizeof *places);
    assert_true(indices && places);
    test_random source = {.state = 7};
    for (int32_t i = 0; i < node_count; i++) {
        const int32_t other = of->is_shuffled ? (int32_t)test_random_below(&source, (uint32_t)i + 1) : i;
        indices[i] = indices[other];
        indices[other] = i;
    }
    for (int32_t i = 0; i < node_count; i++) {
        places[indices[i]] = i;
    }
    (void)fprintf(file, "{\"asset\":{\"version\":\"2.0\"},\"scene\":0,\"scenes\":[{\"nodes\":[%d]}],\"nodes\":[",
                  indices[0]);
    for (int32_t i = 0; i < node_count; i++) {
        (void)fprintf(file, "%s{\"name\":\"n%d\",\"translation\":[0,1,0]", i > 0 ? "," : "", i);
        write_children(file, indices, places[i], node_count / 10 * of->chain_parts, node_count);
    }
    (void)fprintf(file, "]}");
    assert_int_equal(fclose(file), 0);
    free(indices);
    free(places);
}

// The work that is measured. Returns the number of entities, or -1.
static int32_t load_and_tear_down(const char *path) {
    mica_world *world = mica_world_create(NULL);
    mica_gltf_scene scene;
    int32_t count = -1;
    if (world && mica_gltf_load(world, path, NULL, &scene) == MICA_OK) {
        count = mica_transform_resolve(world) == MICA_OK ? mica_world_entity_count(world) : -1;
        mica_gltf_scene_release(&scene);
    }
    mica_world_destroy(world);
    return count;
}

static void expect_linear_growth(const shape *of) {
    double instructions[2];
    for (int32_t i = 0; i < 2; i++) {
        char path[] = "/tmp/mica_growth_XXXXXX";
        write_scene(path, of, SMALL_COUNT << i);
        instructions[i] = test_count_instructions("load", path);
        (void)unlink(path);
    }
    if (instructions[1] > GROWTH_LIMIT * instructions[0]) {
        fail_msg("%s: %d nodes cost %.0f instructions, twice as many cost %.0f", of->name, SMALL_COUNT, instructions[0],
                 instructions[1]);
    }
}

static void a_chain_grows_linearly(void **state) {
    (void)state;
    expect_linear_growth(&(shape){"a chain", 10, false});
}

static void siblings_grow_linearly(void **state) {
    (void)state;
    expect_linear_growth(&(shape){"siblings", 0, false});
}

static void a_chain_and_siblings_in_any_order_grow_linearly(void **state) {
    (void)state;
    expect_linear_growth(&(shape){"a chain and siblings in shuffled order", 4, true});
}

static void half_a_million_nodes_are_loaded(void **state) {
    (void)state;
    char path[] = "/tmp/mica_growth_XXXXXX";
    write_scene(path, &(shape){"a chain of 200,000 and 300,000 siblings", 4, true}, FULL_COUNT);
    const int32_t count = load_and_tear_down(path);
    (void)unlink(path);
    assert_int_equal(count, FULL_COUNT);
}

int main(int argument_count, char **arguments) {
    if (argument_count > 2) { // "load", and the file
        return load_and_tear_down(arguments[2]) > 0 ? 0 : 1;
    }
    if (TEST_IS_SANITIZED) {
        return TEST_SKIPPED;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chain_grows_linearly),
        cmocka_unit_test(siblings_grow_linearly),
        cmocka_unit_test(a_chain_and_siblings_in_any_order_grow_linearly),
        cmocka_unit_test(half_a_million_nodes_are_loaded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

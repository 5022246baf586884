// Broken copies of real files: every truncation, and thousands of seeded changes of a byte. Each either gives a
// document that keeps its promises or an error with a message; the sanitizers and the time limit of the tests see to
// the rest.

#include "gltf_fixture.h"
#include "support/test_random.h"

#include <glob.h>

enum { SMALL_SIZE = 5 * 1024, FLIP_COUNT = 10000, MODEL_LIMIT = 200, LEAST_MODEL_COUNT = 30 };

typedef struct model {
    const char *path;
    unsigned char *bytes;
    size_t byte_size;
} model;

static glob_t found;
static model models[MODEL_LIMIT];
static int32_t model_count;

static int load_models(void **state) {
    (void)state;
    static const char *const patterns[] = {"*/*.gltf", "*/*.glb", "*/*/*.gltf"};
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        char pattern[512];
        (void)snprintf(pattern, sizeof pattern, "%s/glTF2/%s", MI_TEST_MODELS_DIR, patterns[i]);
        (void)glob(pattern, i > 0 ? GLOB_APPEND : 0, NULL, &found);
    }
    for (size_t i = 0; i < found.gl_pathc && model_count < MODEL_LIMIT; i++) {
        model *to = &models[model_count];
        to->path = found.gl_pathv[i];
        to->bytes = gltf_load_file(to->path, &to->byte_size);
        if (to->byte_size <= SMALL_SIZE) {
            model_count++;
        } else {
            free(to->bytes);
        }
    }
    return 0;
}

static int free_models(void **state) {
    (void)state;
    for (int32_t i = 0; i < model_count; i++) {
        free(models[i].bytes);
    }
    globfree(&found);
    return 0;
}

static void read_bytes(const unsigned char *bytes, size_t byte_size, const char *label) {
    static gltf_fixture fixture;
    gltf_read_bytes(&fixture, bytes, byte_size, label);
    gltf_release(&fixture);
}

static void the_models_are_there(void **state) {
    (void)state;
    if (model_count < LEAST_MODEL_COUNT) {
        fail_msg("%d small models in %s/glTF2, at least %d are expected; scripts/bootstrap.sh installs them",
                 model_count, MI_TEST_MODELS_DIR, LEAST_MODEL_COUNT);
    }
}

static void every_truncation_is_survived(void **state) {
    (void)state;
    for (int32_t i = 0; i < model_count; i++) {
        for (size_t byte_size = 0; byte_size < models[i].byte_size; byte_size++) {
            read_bytes(models[i].bytes, byte_size, models[i].path);
        }
    }
}

static void every_changed_byte_is_survived(void **state) {
    (void)state;
    for (int32_t i = 0; i < model_count; i++) {
        test_random source = {.state = (uint64_t)i};
        for (int32_t flip = 0; flip < FLIP_COUNT; flip++) {
            unsigned char *byte = &models[i].bytes[test_random_next(&source) % models[i].byte_size];
            unsigned char kept = *byte;
            *byte ^= (unsigned char)(1 + test_random_next(&source) % 255);
            read_bytes(models[i].bytes, models[i].byte_size, models[i].path);
            *byte = kept;
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_models_are_there),
        cmocka_unit_test(every_truncation_is_survived),
        cmocka_unit_test(every_changed_byte_is_survived),
    };
    return cmocka_run_group_tests(tests, load_models, free_models);
}

// Fuzzes the import of glTF scenes. An input is a file: JSON text, or a binary container.
//
// Whatever the bytes are: a load that fails says why and leaves the world empty; one that succeeds gives a valid world
// with one entity for each node shown, whose transforms resolve, and whose trees can be destroyed from their roots. All
// of the world's memory comes back.
#include "fuzz.h"

#include <mica/gltf.h>

#include <string.h>

static void take_message(void *user, mica_log_level level, const char *text) {
    (void)level;
    FUZZ_CHECK(text[0] != '\0', "an empty message");
    ++*(int32_t *)user;
}

static void check_scene(mica_world *world, const mica_gltf_scene *scene) {
    int32_t entity_count = 0;
    for (int32_t i = 0; i < scene->node_count; i++) {
        const mica_entity entity = scene->entities[i];
        if (mica_entity_is_null(entity)) {
            continue;
        }
        entity_count++;
        FUZZ_CHECK(mica_has(world, entity, mica_transform), "a node without a transform");
        float matrix[16];
        FUZZ_CHECK(mica_transform_world_of(world, entity, matrix) == MICA_OK, mica_last_error());
    }
    FUZZ_CHECK(entity_count == scene->entity_count, "");
    FUZZ_CHECK(entity_count == mica_world_entity_count(world), "");
    FUZZ_CHECK(scene->message[0] == '\0', scene->message);
}

// Destroys tree after tree: what is left at the end is what no root leads to.
static void destroy_trees(mica_world *world, const mica_gltf_scene *scene) {
    for (int32_t i = 0; i < scene->node_count; i++) {
        const mica_entity entity = scene->entities[i];
        if (mica_alive(world, entity) && mica_entity_is_null(mica_parent(world, entity))) {
            FUZZ_CHECK(mica_destroy_subtree(world, entity) == MICA_OK, mica_last_error());
        }
    }
    FUZZ_CHECK(mica_world_entity_count(world) == 0, "an entity that no root leads to");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t byte_size) {
    test_allocator allocator;
    test_allocator_init(&allocator);
    mica_world *world = mica_world_create(&(mica_world_def){.allocator = test_allocator_hooks(&allocator)});
    FUZZ_CHECK(world != NULL, mica_last_error());

    int32_t message_count = 0;
    const mica_gltf_options options = {.log = {.function = take_message, .user = &message_count}};
    mica_gltf_scene scene;
    const mica_result result = mica_gltf_load_memory(world, bytes, byte_size, "input", &options, &scene);
    if (result == MICA_OK) {
        check_scene(world, &scene);
        FUZZ_CHECK(mica_transform_resolve(world) == MICA_OK, mica_last_error());
        FUZZ_CHECK_WORLD(world);
        destroy_trees(world, &scene);
    } else {
        FUZZ_CHECK(scene.message[0] != '\0' && message_count > 0, "a failure that does not say why");
        FUZZ_CHECK(scene.entities == NULL && scene.node_count == 0 && scene.entity_count == 0, scene.message);
        FUZZ_CHECK(mica_world_entity_count(world) == 0, scene.message);
    }
    FUZZ_CHECK_WORLD(world);
    mica_gltf_scene_release(&scene);
    mica_world_destroy(world);
    FUZZ_CHECK_MEMORY(&allocator);
    return 0;
}

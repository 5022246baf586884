// Fuzzes scenes of Mica. An input is the text of a scene; the schema knows types with fields of every kind.
//
// Whatever the bytes are: a load that fails says why and leaves the world empty; one that succeeds gives a valid world,
// and that world saved, loaded into an empty one, strictly this time, and saved again gives the same bytes. All of the
// world's memory comes back.
#include "fuzz.h"
#include "save/scene_fixture.h"

#include <unistd.h>

MICA_STRUCT(scene_numbers, {
    bool on, flags[3];
    int8_t small;
    uint8_t bytes[2];
    int16_t shorts[2][2];
    uint16_t plain;
    int64_t large;
    uint64_t larger;
    double values[2];
    scene_health healths[2];
    char texts[2][4];
});

typedef struct checked_world {
    test_allocator allocator;
    mica_world *world;
} checked_world;

static void begin(checked_world *checked) {
    test_allocator_init(&checked->allocator);
    checked->world = mica_world_create(&(mica_world_def){.allocator = test_allocator_hooks(&checked->allocator)});
    FUZZ_CHECK(checked->world != NULL, mica_last_error());
    scene_register(checked->world);
    FUZZ_CHECK(mica_register(checked->world, scene_numbers) != 0, mica_last_error());
}

static void end(checked_world *checked) {
    FUZZ_CHECK_WORLD(checked->world);
    mica_world_destroy(checked->world);
    FUZZ_CHECK_MEMORY(&checked->allocator);
}

// The world as a scene, to be freed.
static char *save(mica_world *world, size_t *byte_size) {
    static char path[64];
    (void)snprintf(path, sizeof(path), "/tmp/mica-fuzz-scene-%ld.json", (long)getpid());
    char message[MICA_SAVE_MESSAGE_SIZE];
    FUZZ_CHECK(mica_scene_save(world, path, NULL, message) == MICA_OK, message);
    char *text = scene_read_file(path, byte_size);
    (void)remove(path);
    return text;
}

static void check_round_trip(mica_world *world) {
    size_t byte_size = 0;
    char *text = save(world, &byte_size);
    checked_world again;
    begin(&again);
    mica_saved_scene scene;
    const mica_save_options options = {.strict = true};
    FUZZ_CHECK(mica_scene_load_memory(again.world, text, byte_size, "saved", &options, &scene) == MICA_OK,
               scene.message);
    FUZZ_CHECK(mica_world_entity_count(again.world) == mica_world_entity_count(world), text);
    mica_saved_scene_release(&scene);
    size_t byte_size_again = 0;
    char *text_again = save(again.world, &byte_size_again);
    FUZZ_CHECK(byte_size == byte_size_again && memcmp(text, text_again, byte_size) == 0, text);
    free(text_again);
    free(text);
    end(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t byte_size) {
    checked_world checked;
    begin(&checked);
    mica_saved_scene scene;
    const mica_result result =
        mica_scene_load_memory(checked.world, (const char *)bytes, byte_size, "input", NULL, &scene);
    if (result == MICA_OK) {
        FUZZ_CHECK(scene.entity_count == mica_world_entity_count(checked.world), "");
        FUZZ_CHECK(mica_transform_resolve(checked.world) == MICA_OK, mica_last_error());
        check_round_trip(checked.world);
    } else {
        FUZZ_CHECK(scene.message[0] != '\0', "a failure that does not say why");
        FUZZ_CHECK(scene.entities == NULL && scene.entity_count == 0, scene.message);
        FUZZ_CHECK(mica_world_entity_count(checked.world) == 0, scene.message);
    }
    mica_saved_scene_release(&scene);
    end(&checked);
    return 0;
}

// What somebody else's program does with Mica's modules: it reads a scene with each.
#include <mica/gltf.h>
#include <mica/save.h>

#include <stdio.h>
#include <string.h>

static const char own[] = "{\"mica\": 1, \"entities\": [{\"id\": 0, \"name\": \"sun\", \"components\": {}}]}";
static const char foreign[] = "{\"asset\": {\"version\": \"2.0\"}, \"nodes\": [{\"name\": \"moon\"}]}";

int main(void) {
    mica_world *world = mica_world_create(NULL);
    mica_saved_scene saved = {0};
    mica_gltf_scene imported = {0};
    const mica_result first = mica_scene_load_memory(world, own, strlen(own), NULL, NULL, &saved);
    const mica_result second = mica_gltf_load_memory(world, foreign, strlen(foreign), NULL, NULL, &imported);
    const int32_t count = mica_world_entity_count(world);
    mica_saved_scene_release(&saved);
    mica_gltf_scene_release(&imported);
    mica_world_destroy(world);
    printf("%d bits, %d entities: %s, %s\n", MICA_ENTITY_BITS, (int)count, mica_result_text(first),
           mica_result_text(second));
    return first == MICA_OK && second == MICA_OK && count == 2 ? 0 : 1;
}

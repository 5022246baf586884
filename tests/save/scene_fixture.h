// What the tests of scenes share: types of every kind, a world whose messages are kept, scenes as texts.
#pragma once

#include <mica/mica.h>
#include <mica/save.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

MICA_ENUM(scene_colour, {SCENE_RED, SCENE_GREEN = 5, SCENE_BLUE});
MICA_STRUCT(scene_health, {
    int32_t points;
    float shield;
});
MICA_STRUCT(scene_target, {
    mica_entity who;
    mica_entity others[2];
});
MICA_STRUCT(scene_label, {
    scene_colour colour;
    char text[16];
});
MICA_STRUCT(scene_orbit, { double period; });
MICA_STRUCT_WITH(scene_cache, (.transient = true), { int32_t value; });
MICA_NAMED_WITH(scene_aim, scene_target, (.layout = MICA_LANES));
MICA_NAMED_WITH(scene_sign, scene_label, (.layout = MICA_LANES));
MICA_TAG(scene_frozen);
MICA_TAG(scene_player);
typedef struct scene_opaque {
    uint8_t bytes[5];
} scene_opaque;
MICA_COMPONENT(scene_opaque);

enum { SCENE_MESSAGE_LIMIT = 8 };

typedef struct scene_fixture {
    mica_world *world;
    mica_saved_scene scene;
    int32_t warning_count;
    int32_t error_count;
    char warnings[SCENE_MESSAGE_LIMIT][MICA_SAVE_MESSAGE_SIZE];
    char error[MICA_SAVE_MESSAGE_SIZE];
    char message[MICA_SAVE_MESSAGE_SIZE]; // of the latest save
} scene_fixture;

static inline void scene_take_message(void *user, mica_log_level level, const char *text) {
    scene_fixture *to = user;
    if (level == MICA_LOG_ERROR) {
        to->error_count++;
        (void)snprintf(to->error, sizeof(to->error), "%s", text);
        return;
    }
    assert_in_range(to->warning_count, 0, SCENE_MESSAGE_LIMIT - 1);
    (void)snprintf(to->warnings[to->warning_count++], MICA_SAVE_MESSAGE_SIZE, "%s", text);
}

static inline mica_save_options scene_options(scene_fixture *of, bool strict) {
    return (mica_save_options){.log = {.function = scene_take_message, .user = of}, .strict = strict};
}

static inline void scene_register(mica_world *world) {
    mica_type *const types[] = {mica_type_of(scene_colour), mica_type_of(scene_health), mica_type_of(scene_target),
                                mica_type_of(scene_aim),    mica_type_of(scene_sign),   mica_type_of(scene_label),
                                mica_type_of(scene_orbit),  mica_type_of(scene_cache),  mica_type_of(scene_frozen),
                                mica_type_of(scene_player), mica_type_of(scene_opaque)};
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        assert_int_not_equal(mica_world_register(world, types[i]), 0);
    }
}

static inline void scene_begin(scene_fixture *of) {
    *of = (scene_fixture){.world = mica_world_create(NULL)};
    assert_non_null(of->world);
    scene_register(of->world);
}

static inline void scene_end(scene_fixture *of) {
    mica_saved_scene_release(&of->scene);
    assert_int_equal(mica_world_validate(of->world), MICA_OK);
    mica_world_destroy(of->world);
}

// Loads from a block of exactly the size, so that a read past its end is seen.
static inline mica_result scene_load_bytes(scene_fixture *to, const char *text, size_t byte_size, bool strict) {
    const mica_save_options options = scene_options(to, strict);
    char *copy = malloc(byte_size == 0 ? 1 : byte_size);
    assert_non_null(copy);
    memcpy(copy, text, byte_size);
    mica_saved_scene_release(&to->scene);
    const mica_result result = mica_scene_load_memory(to->world, copy, byte_size, "t", &options, &to->scene);
    free(copy);
    assert_int_equal(to->scene.message[0] == '\0', result == MICA_OK);
    if (result != MICA_OK) {
        assert_null(to->scene.entities);
        assert_int_equal(to->scene.entity_count, 0);
    }
    return result;
}

static inline mica_result scene_load_text(scene_fixture *to, const char *text) {
    return scene_load_bytes(to, text, strlen(text), false);
}

// Loads a scene that is sound.
static inline void scene_load_sound(scene_fixture *to, const char *text) {
    const mica_result result = scene_load_text(to, text);
    assert_string_equal(to->scene.message, "");
    assert_int_equal(result, MICA_OK);
}

// A file of a test of this process.
static inline const char *scene_path(const char *name) {
    static char path[1024];
    (void)snprintf(path, sizeof(path), "%s/tests/%s", MI_TEST_BINARY_DIR, name);
    return path;
}

// The whole of a file, closed by zero, to be freed.
static inline char *scene_read_file(const char *path, size_t *byte_size) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    const long end = ftell(file);
    assert_true(end >= 0);
    rewind(file);
    char *bytes = calloc((size_t)end + 1, 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, (size_t)end, file), end);
    (void)fclose(file);
    if (byte_size != NULL) {
        *byte_size = (size_t)end;
    }
    return bytes;
}

// The world as a scene, to be freed.
static inline char *scene_save_text(scene_fixture *of, const char *file_name) {
    const mica_save_options options = scene_options(of, false);
    const char *path = scene_path(file_name);
    const mica_result result = mica_scene_save(of->world, path, &options, of->message);
    assert_string_equal(of->message, "");
    assert_int_equal(result, MICA_OK);
    char *text = scene_read_file(path, NULL);
    assert_int_equal(remove(path), 0);
    return text;
}

static inline void assert_contains(const char *text, const char *part) {
    if (strstr(text, part) == NULL) {
        fail_msg("'%s' does not contain '%s'", text, part);
    }
}

static inline void assert_same_entity(mica_entity found, mica_entity expected) {
    assert_true(mica_entity_equal(found, expected));
}

// A scene with something of everything.
#define SCENE_SAMPLE                                                                                             \
    "{\"mica\": 1, \"entities\": ["                                                                              \
    "{\"id\": 7, \"name\": \"first\", \"components\": {\"ChildOf\": {\"parent\": 3}, \"scene_health\": "         \
    "{\"points\": -4, \"shield\": 0.5}, \"scene_frozen\": {}, \"scene_target\": {\"who\": 9, \"others\": [7, "   \
    "null]}}},"                                                                                                  \
    "{\"id\": 3, \"name\": \"second\", \"components\": {\"Transform\": {\"position\": [1, 2, 3]}}},"             \
    "{\"id\": 9, \"components\": {\"ChildOf\": {\"parent\": 3}, \"scene_label\": {\"colour\": \"SCENE_GREEN\", " \
    "\"text\": \"caf\\u00e9\"}, \"scene_player\": {}, \"scene_orbit\": {\"period\": 1e-7}}},"                    \
    "{\"id\": 1, \"components\": {\"scene_opaque\": {\"bytes\": \"00ff10a50b\"}}},"                              \
    "{\"id\": 2}]}"

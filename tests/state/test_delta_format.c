// The bytes of a delta are those that docs/delta-format.md shows.
#include "state/state_dump.h"

#include <mica/mica.h>

#include <ctype.h>
#include <stdio.h>

MICA_STRUCT(Health, { int32_t now; });

enum { EXAMPLE_SIZE_MAX = 512 };

// The bytes at the beginning of a line: pairs of digits with single spaces between them.
static uint32_t read_line(const char *line, uint8_t *bytes) {
    uint32_t count = 0;
    while (isxdigit((unsigned char)line[0]) && isxdigit((unsigned char)line[1]) &&
           (line[2] == ' ' || line[2] == '\n' || line[2] == '\0')) {
        const char digits[3] = {line[0], line[1], '\0'};
        bytes[count++] = (uint8_t)strtoul(digits, NULL, 16);
        if (line[2] != ' ') {
            break;
        }
        line += 3;
    }
    return count;
}

// The example of the page: all indented lines that begin with bytes.
static uint32_t read_example(uint8_t *bytes) {
    FILE *file = fopen(MI_TEST_SOURCE_DIR "/docs/delta-format.md", "r");
    assert_non_null(file);
    char line[256];
    uint32_t count = 0;
    while (fgets(line, sizeof(line), file) != NULL) {
        if (strncmp(line, "    ", 4) == 0) {
            assert_true(count + 32 < EXAMPLE_SIZE_MAX);
            count += read_line(line + 4, bytes + count);
        }
    }
    assert_int_equal(fclose(file), 0);
    return count;
}

static void the_page_shows_what_is_written(void **state) {
    (void)state;
    if (MICA_ENTITY_BITS != 64) {
        skip(); // the page shows handles of 64 bits
    }
    mica_world *world = mica_world_create(NULL);
    const mica_component health = mica_register(world, Health);
    const mica_entity first = mica_spawn(world, mica_value_of(Health, {7}));
    mica_snapshot *base = mica_snapshot_take(world, NULL);
    assert_int_equal(mica_set(world, first, Health, {263}), MICA_OK); // 7 in the low byte, 1 in the next one
    mica_spawn(world, mica_value_of(Health, {9}));
    mica_snapshot *target = mica_snapshot_take(world, NULL);
    mica_delta *delta =
        mica_delta_make(base, target, &(mica_delta_options){.components = &health, .component_count = 1});
    assert_non_null(delta);
    size_t byte_size = 0;
    const uint8_t *bytes = mica_delta_bytes(delta, &byte_size);
    uint8_t expected[EXAMPLE_SIZE_MAX];
    const uint32_t expected_size = read_example(expected);
    if (expected_size != byte_size || memcmp(expected, bytes, byte_size) != 0) {
        for (size_t i = 0; i < byte_size; i++) {
            print_error("%02x%c", bytes[i], i % 16 == 15 || i + 1 == byte_size ? '\n' : ' ');
        }
    }
    assert_int_equal(expected_size, byte_size);
    assert_memory_equal(expected, bytes, byte_size);
    mica_delta_release(delta);
    mica_snapshot_release(base);
    mica_snapshot_release(target);
    mica_world_destroy(world);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_page_shows_what_is_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

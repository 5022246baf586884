// The binary container: which bytes of it are the JSON text, and what each wrong length or type gives.

#include "gltf_fixture.h"

#include <unistd.h>

static gltf_fixture fixture;

static const char json[] = "{\"asset\":{\"version\":\"2.0\"},\"nodes\":[{\"name\":\"n\"}]} ";

typedef struct container {
    unsigned char bytes[256];
    uint32_t byte_size;
} container;

static void put_number(container *to, uint32_t offset, uint32_t number) {
    for (uint32_t i = 0; i < 4; i++) {
        to->bytes[offset + i] = (unsigned char)(number >> 8 * i);
    }
}

static void add_chunk(container *to, uint32_t type, const void *content, uint32_t byte_size) {
    assert_true(to->byte_size + 8 + byte_size <= sizeof to->bytes);
    put_number(to, to->byte_size, byte_size);
    put_number(to, to->byte_size + 4, type);
    memcpy(to->bytes + to->byte_size + 8, content, byte_size);
    to->byte_size += 8 + byte_size;
    put_number(to, 8, to->byte_size);
}

enum { JSON_TYPE = 0x4E4F534A, BUFFER_TYPE = 0x004E4942, JSON_SIZE = sizeof json - 1 };

static container make_container(void) {
    container made = {.bytes = "glTF", .byte_size = 12};
    put_number(&made, 4, 2);
    add_chunk(&made, JSON_TYPE, json, JSON_SIZE);
    add_chunk(&made, BUFFER_TYPE, "12345678", 8);
    return made;
}

static void read_container(const container *from) {
    gltf_read_bytes(&fixture, from->bytes, from->byte_size, "t");
}

static void expect_failure(const container *from, mica_result code, const char *message) {
    read_container(from);
    assert_string_equal(fixture.report.text, message);
    assert_int_equal(fixture.result, code);
}

static void expect_one_node(const container *from) {
    read_container(from);
    assert_string_equal(fixture.report.text, "");
    assert_int_equal(fixture.document.node_count, 1);
    assert_string_equal(fixture.document.nodes[0].name, "n");
    gltf_release(&fixture);
}

static void the_first_chunk_is_read(void **state) {
    (void)state;
    container made = make_container();
    expect_one_node(&made);
    add_chunk(&made, 0x12345678, "ab", 2);
    expect_one_node(&made);
}

static void a_container_may_have_no_buffer(void **state) {
    (void)state;
    container made = {.bytes = "glTF", .byte_size = 12};
    put_number(&made, 4, 2);
    add_chunk(&made, JSON_TYPE, json, JSON_SIZE);
    expect_one_node(&made);
}

static void bytes_after_the_container_are_ignored(void **state) {
    (void)state;
    container made = make_container();
    made.byte_size += 5;
    expect_one_node(&made);
}

static void only_the_content_tells_what_a_file_is(void **state) {
    (void)state;
    container made = make_container();
    char path[] = "/tmp/mica_gltf_XXXXXX";
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    assert_int_equal(write(descriptor, made.bytes, made.byte_size), made.byte_size);
    gltf_prepare(&fixture, "t");
    fixture.result = mi_gltf_document_read_file(&fixture.document, path, &fixture.report);
    assert_string_equal(fixture.report.text, "");
    gltf_check_result(&fixture);
    assert_int_equal(fixture.document.node_count, 1);
    gltf_release(&fixture);
    assert_int_equal(ftruncate(descriptor, 0), 0);
    assert_int_equal(pwrite(descriptor, json, JSON_SIZE, 0), JSON_SIZE);
    fixture.result = mi_gltf_document_read_file(&fixture.document, path, &fixture.report);
    assert_int_equal(fixture.result, MICA_OK);
    assert_int_equal(fixture.document.node_count, 1);
    gltf_release(&fixture);
    (void)close(descriptor);
    (void)unlink(path);
}

static void pipes_are_refused(void **state) {
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], json, JSON_SIZE), JSON_SIZE);
    (void)close(ends[1]);
    char path[64];
    (void)snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
    gltf_prepare(&fixture, "t");
    fixture.result = mi_gltf_document_read_file(&fixture.document, path, &fixture.report);
    (void)close(ends[0]);
    assert_int_equal(fixture.result, MICA_IO);
    assert_string_equal(fixture.report.text, "t: cannot be sought (Illegal seek); a regular file is expected");
}

static void versions_of_the_container_are_checked(void **state) {
    (void)state;
    container made = make_container();
    put_number(&made, 4, 1);
    expect_failure(&made, MICA_UNSUPPORTED,
                   "t: byte 4: glTF 1.0 is not supported; a binary container of glTF 2.0 is expected");
    put_number(&made, 4, 0xFFFFFFFF);
    expect_failure(&made, MICA_UNSUPPORTED,
                   "t: byte 4: version 4294967295 of the binary container is not known; 2 is expected");
}

static void the_length_of_the_container_is_checked(void **state) {
    (void)state;
    container made = make_container();
    put_number(&made, 8, made.byte_size + 1);
    expect_failure(&made, MICA_FORMAT,
                   "t: byte 8: the container says that it has 88 bytes, but the file ends after 87");
    put_number(&made, 8, 19);
    expect_failure(&made, MICA_FORMAT, "t: byte 8: the container says that it has 19 bytes; at least 20 are expected");
    put_number(&made, 8, 0);
    expect_failure(&made, MICA_FORMAT, "t: byte 8: the container says that it has 0 bytes; at least 20 are expected");
    made.byte_size = 11;
    expect_failure(&made, MICA_FORMAT,
                   "t: byte 11: the file ends in the header of the binary container, which has 12 bytes");
}

static void lengths_of_chunks_are_checked(void **state) {
    (void)state;
    container made = make_container();
    put_number(&made, 12, 68);
    expect_failure(&made, MICA_FORMAT,
                   "t: byte 12: the chunk says that it has 68 bytes, but the container has 67 left");
    put_number(&made, 12, 0xFFFFFFFF);
    expect_failure(&made, MICA_FORMAT,
                   "t: byte 12: the chunk says that it has 4294967295 bytes, but the container has 67 left");
    put_number(&made, 12, 60);
    expect_failure(&made, MICA_FORMAT,
                   "t: byte 80: the header of a chunk of 8 bytes is expected, but the container ends at 87");
    made = make_container();
    put_number(&made, 20 + JSON_SIZE, 9);
    expect_failure(&made, MICA_FORMAT, "t: byte 71: the chunk says that it has 9 bytes, but the container has 8 left");
}

static void the_first_chunk_must_be_json(void **state) {
    (void)state;
    container made = make_container();
    put_number(&made, 16, BUFFER_TYPE);
    expect_failure(&made, MICA_FORMAT,
                   "t: byte 16: the type of the first chunk is 0x004E4942; JSON (0x4E4F534A) is expected");
}

static void the_text_ends_with_its_chunk(void **state) {
    (void)state;
    container made = make_container();
    put_number(&made, 12, 0);
    expect_failure(&made, MICA_FORMAT,
                   "t: byte 20: the chunk says that it has 1935745659 bytes, but the container has "
                   "59 left");
    made = make_container();
    made.bytes[20 + 2] = '"';
    expect_failure(&made, MICA_FORMAT,
                   "t: chunk at byte 12, line 1, column 7: JSON is expected: ':' expected near 'sset'");
    made = make_container();
    made.bytes[20 + JSON_SIZE - 1] = '\0';
    read_container(&made);
    assert_int_equal(fixture.result, MICA_FORMAT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_chunk_is_read),
        cmocka_unit_test(a_container_may_have_no_buffer),
        cmocka_unit_test(bytes_after_the_container_are_ignored),
        cmocka_unit_test(only_the_content_tells_what_a_file_is),
        cmocka_unit_test(pipes_are_refused),
        cmocka_unit_test(versions_of_the_container_are_checked),
        cmocka_unit_test(the_length_of_the_container_is_checked),
        cmocka_unit_test(lengths_of_chunks_are_checked),
        cmocka_unit_test(the_first_chunk_must_be_json),
        cmocka_unit_test(the_text_ends_with_its_chunk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

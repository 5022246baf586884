// What the tests of the glTF module share: files of the package assimp-testmodels, documents read from text, and what
// every document that was read must hold.
#pragma once

#include "../../modules/gltf/gltf_document.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct gltf_fixture {
    mi_gltf_document document;
    mi_gltf_report report;
    mica_result result;
    int32_t warning_count;
    char warnings[40][MI_MESSAGE_SIZE];
} gltf_fixture;

static void gltf_take_warning(void *user, const char *text) {
    gltf_fixture *to = user;
    assert_in_range(to->warning_count, 0, 39);
    (void)snprintf(to->warnings[to->warning_count++], MI_MESSAGE_SIZE, "%s", text);
}

static inline void gltf_prepare(gltf_fixture *to, const char *label) {
    to->document = (mi_gltf_document){0};
    to->result = MICA_OK;
    to->warning_count = 0;
    to->report = (mi_gltf_report){.label = label, .warning = gltf_take_warning, .user = to};
}

// The documents' promises: links that agree in both directions, an order with parents first, numbers in their ranges.
static inline void gltf_check_document(const mi_gltf_document *document) {
    int32_t shown_count = 0;
    int32_t child_total = 0;
    int32_t *place = calloc((size_t)document->node_count + 1, sizeof *place);
    assert_non_null(place);
    for (int32_t i = 0; i < document->node_count; i++) {
        assert_in_range(document->order[i], 0, document->node_count - 1);
        assert_int_equal(place[document->order[i]], 0);
        place[document->order[i]] = i + 1;
    }
    for (int32_t i = 0; i < document->node_count; i++) {
        const mi_gltf_node *node = &document->nodes[i];
        shown_count += node->shown;
        child_total += node->child_count;
        if (node->parent >= 0) {
            assert_true(node->parent < document->node_count);
            assert_true(place[node->parent] < place[i]);
            assert_int_equal(node->shown, document->nodes[node->parent].shown);
        }
        for (int32_t child = 0; child < node->child_count; child++) {
            assert_int_equal(document->nodes[document->children[node->first_child + child]].parent, i);
        }
        for (mi_gltf_kind kind = 0; kind < MI_GLTF_KIND_COUNT; kind++) {
            assert_true(node->references[kind] >= -1 && node->references[kind] < document->names[kind].count);
        }
        float length = 0;
        for (int32_t k = 0; k < 4; k++) {
            length += node->pose.rotation[k] * node->pose.rotation[k];
        }
        assert_true(fabsf(length - 1) < 1e-5F);
        for (int32_t k = 0; k < 3; k++) {
            assert_true(isfinite(node->pose.position[k]) && isfinite(node->pose.scale[k]));
        }
    }
    free(place);
    assert_int_equal(shown_count, document->shown_count);
    assert_true(child_total <= document->node_count);
}

static inline void gltf_check_result(const gltf_fixture *of) {
    if (of->result == MICA_OK) {
        gltf_check_document(&of->document);
        return;
    }
    assert_null(of->document.nodes);
    assert_int_equal(of->document.node_count, 0);
    assert_int_equal(of->report.code, of->result);
    assert_true(strlen(of->report.text) > strlen(of->report.label) + 2);
}

// Reads from a heap block of exactly the size, so that a read past its end is seen.
static inline void gltf_read_bytes(gltf_fixture *to, const void *bytes, size_t byte_size, const char *label) {
    gltf_prepare(to, label);
    void *copy = malloc(byte_size ? byte_size : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, byte_size);
    to->result = mi_gltf_document_read_memory(&to->document, copy, byte_size, &to->report);
    free(copy);
    gltf_check_result(to);
}

static inline void gltf_read_text(gltf_fixture *to, const char *text) {
    gltf_read_bytes(to, text, strlen(text), "t");
}

static inline void gltf_read_model(gltf_fixture *to, const char *name) {
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", MI_TEST_MODELS_DIR, name);
    gltf_prepare(to, name);
    to->result = mi_gltf_document_read_file(&to->document, path, &to->report);
    gltf_check_result(to);
}

static inline void gltf_release(gltf_fixture *of) {
    mi_gltf_document_release(&of->document);
}

// The whole of a file, to be freed.
static inline unsigned char *gltf_load_file(const char *path, size_t *byte_size) {
    FILE *file = fopen(path, "rb");
    if (!file) {
        fail_msg("%s is missing; scripts/bootstrap.sh installs what the tests need", path);
        return NULL;
    }
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    long end = ftell(file);
    assert_true(end >= 0);
    rewind(file);
    unsigned char *bytes = malloc((size_t)end + 1);
    assert_non_null(bytes);
    *byte_size = fread(bytes, 1, (size_t)end, file);
    assert_int_equal(*byte_size, end);
    (void)fclose(file);
    return bytes;
}

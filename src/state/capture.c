// What all parts of a capture share: images of columns, and the structs that hold them.
#include "state/capture.h"

#include <string.h>

bool mi_capture_fail(mi_capture *capture, mica_result result, const mi_type *type) {
    if (capture->result == MICA_OK) {
        capture->result = result;
        capture->type = type;
    }
    return false;
}

static mi_image *gather(mi_vault *vault, const mi_captured_column *column) {
    mi_image *image = mi_image_create(vault, column->type, column->count);
    if (image != NULL) {
        column->gather(column->gather_context, image->data);
    }
    return image;
}

mi_image *mi_capture_column(mi_capture *capture, const mi_captured_column *column, const mi_column_image *base) {
    if (base != NULL && base->image != NULL && mi_stamp_is_named(column->stamp) &&
        base->image->number == column->name && base->image->count >= column->count) {
        return mi_image_retain(base->image);
    }
    const uint64_t version = mi_stamp_version(column->stamp);
    capture->latest = version > capture->latest ? version : capture->latest;
    if (column->type != NULL && column->type->movable_only) {
        mi_capture_fail(capture, MICA_NO_COPY, column->type);
        return NULL;
    }
    mi_image *image = column->values == NULL
                          ? gather(capture->vault, column)
                          : mi_image_take(capture->vault, column->type, column->values, column->count, column->live);
    if (image == NULL) {
        mi_capture_fail(capture, MICA_OUT_OF_MEMORY, column->type);
    }
    return image;
}

mi_rows_image *mi_rows_image_create(mi_vault *vault, uint32_t component_count, uint32_t column_count,
                                    uint32_t chunk_count) {
    const size_t columns_size = column_count * sizeof(mi_type *);
    const size_t chunks_size = chunk_count * sizeof(mi_chunk_image *);
    const size_t byte_size =
        sizeof(mi_rows_image) + chunks_size + columns_size + component_count * sizeof(mica_component);
    mi_rows_image *rows = mi_vault_take(vault, byte_size);
    if (rows == NULL) {
        return NULL;
    }
    memset(rows, 0, byte_size);
    rows->vault = vault;
    rows->number = mi_next_number(&vault->schema->image_number);
    rows->reference_count = 1;
    rows->component_count = component_count;
    rows->column_count = column_count;
    rows->chunk_count = chunk_count;
    rows->columns = (const mi_type **)(void *)(rows->chunks + chunk_count);
    rows->components = (mica_component *)(void *)(rows->columns + column_count);
    return rows;
}

void mi_rows_image_release(mi_rows_image *rows) {
    if (rows == NULL || --rows->reference_count > 0) {
        return;
    }
    for (uint32_t k = 0; k < rows->chunk_count; k++) {
        mi_chunk_image_release(rows->vault, rows->chunks[k]);
    }
    mi_vault_give(rows->vault, rows);
}

mi_chunk_image *mi_chunk_image_create(mi_vault *vault, uint32_t column_count) {
    const size_t byte_size = sizeof(mi_chunk_image) + column_count * sizeof(mi_column_image);
    mi_chunk_image *chunk = mi_vault_take(vault, byte_size);
    if (chunk != NULL) {
        memset(chunk, 0, byte_size);
        chunk->reference_count = 1;
        chunk->column_count = column_count;
    }
    return chunk;
}

void mi_chunk_image_release(mi_vault *vault, mi_chunk_image *chunk) {
    if (chunk == NULL || --chunk->reference_count > 0) {
        return;
    }
    mi_image_release(chunk->handles.image);
    for (uint32_t i = 0; i < chunk->column_count; i++) {
        mi_image_release(chunk->columns[i].image);
    }
    mi_vault_give(vault, chunk);
}

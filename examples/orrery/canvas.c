// A canvas of light, and its PNG file.
#include "canvas.h"

#include <math.h>
#include <png.h>
#include <string.h>

void canvas_destruct(void *values, int32_t count, const mica_hook_context *context) {
    (void)context;
    for (int32_t i = 0; i < count; i++) {
        free(((Canvas *)values)[i].pixels);
    }
}

static size_t pixels_size(const Canvas *canvas) {
    return (size_t)canvas->width * (size_t)canvas->height * 3 * sizeof(float);
}

bool canvas_copy(void *to, const void *from, int32_t count, const mica_hook_context *context) {
    Canvas *copies = to;
    const Canvas *canvases = from;
    for (int32_t i = 0; i < count; i++) {
        copies[i] = canvases[i];
        if (canvases[i].pixels == NULL) {
            continue;
        }
        copies[i].pixels = malloc(pixels_size(&canvases[i]));
        if (copies[i].pixels == NULL) {
            canvas_destruct(copies, i, context);
            return false;
        }
        memcpy(copies[i].pixels, canvases[i].pixels, pixels_size(&canvases[i]));
    }
    return true;
}

// What checksums see of a canvas.
void canvas_tell(const void *value, const mica_sink *sink, const mica_hook_context *context) {
    (void)context;
    const Canvas *canvas = value;
    const int32_t size[] = {canvas->width, canvas->height};
    sink->put(sink->user, size, sizeof(size));
    sink->put(sink->user, &canvas->extent, sizeof(canvas->extent));
    if (canvas->pixels != NULL) {
        sink->put(sink->user, canvas->pixels, pixels_size(canvas));
    }
}

bool canvas_open(Canvas *canvas, int32_t width, int32_t height, double extent) {
    if (width < 1 || width > 16384 || height < 1 || height > 16384 || !(extent > 0)) {
        return false;
    }
    canvas->pixels = calloc((size_t)width * (size_t)height * 3, sizeof(float));
    canvas->width = width;
    canvas->height = height;
    canvas->extent = extent;
    return canvas->pixels != NULL;
}

// The pixels of a row or column that lie within `reach` of `centre`; none if that is no number.
static void clip(float centre, float reach, int32_t size, int32_t *first, int32_t *end) {
    *first = (int32_t)fminf(fmaxf(floorf(centre) - reach, 0), (float)size);
    *end = (int32_t)fminf(fmaxf(floorf(centre) + reach + 1, 0), (float)size);
}

void canvas_dot(Canvas *canvas, float x, float y, float radius, const float color[3]) {
    int32_t first_row = 0;
    int32_t end_row = 0;
    int32_t first_column = 0;
    int32_t end_column = 0;
    clip(x, ceilf(radius * 3), canvas->width, &first_column, &end_column);
    clip(y, ceilf(radius * 3), canvas->height, &first_row, &end_row);
    for (int32_t row = first_row; row < end_row; row++) {
        for (int32_t column = first_column; column < end_column; column++) {
            const float across = (float)column + 0.5f - x;
            const float down = (float)row + 0.5f - y;
            const float light = expf(-(across * across + down * down) / (radius * radius));
            float *pixel = &canvas->pixels[((size_t)row * (size_t)canvas->width + (size_t)column) * 3];
            for (int i = 0; i < 3; i++) {
                pixel[i] += light * color[i];
            }
        }
    }
}

void canvas_line(Canvas *canvas, float from_x, float from_y, float to_x, float to_y, const float color[3]) {
    const float length = hypotf(to_x - from_x, to_y - from_y);
    const int32_t steps = length <= 24 ? (int32_t)length + 1 : 1;
    const float share = 0.12f * (length <= 24 ? length / (float)steps : 1);
    const float dim[3] = {color[0] * share, color[1] * share, color[2] * share};
    for (int32_t i = 1; i <= steps; i++) {
        const float part = (float)i / (float)steps;
        canvas_dot(canvas, from_x + (to_x - from_x) * part, from_y + (to_y - from_y) * part, 1.0f, dim);
    }
}

// Light to a byte: bright things saturate softly, as on film.
static uint8_t develop(float light) {
    const float shown = 1 - expf(-light * 1.6f);
    return (uint8_t)lroundf(255 * powf(shown, 1 / 1.8f));
}

bool canvas_write(const Canvas *canvas, const char *path) {
    const size_t count = (size_t)canvas->width * (size_t)canvas->height * 3;
    uint8_t *bytes = malloc(count);
    if (bytes == NULL) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        bytes[i] = develop(canvas->pixels[i]);
    }
    png_image image;
    memset(&image, 0, sizeof(image));
    image.version = PNG_IMAGE_VERSION;
    image.width = (png_uint_32)canvas->width;
    image.height = (png_uint_32)canvas->height;
    image.format = PNG_FORMAT_RGB;
    const bool written = png_image_write_to_file(&image, path, 0, bytes, 0, NULL) != 0;
    free(bytes);
    return written;
}

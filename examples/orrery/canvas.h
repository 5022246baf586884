// A canvas of light: colours add up, and the file shows them as a camera would.
#pragma once

#include <mica/type.h>

#include <stdio.h>
#include <stdlib.h>

typedef struct Canvas {
    float *pixels; // width * height * red, green, blue; NULL: not opened
    int32_t width, height;
    double extent; // the distance at the edge
} Canvas;

// The memory of a canvas goes when its owner, a system's state, does. Snapshots copy it, so that what is drawn in ticks
// that are taken back is taken back too; files do without.
void canvas_destruct(void *values, int32_t count, const mica_hook_context *context);
bool canvas_copy(void *to, const void *from, int32_t count, const mica_hook_context *context);
void canvas_tell(const void *value, const mica_sink *sink, const mica_hook_context *context);
MICA_COMPONENT_WITH(Canvas, (.transient = true,
                             .hooks = {.destruct = canvas_destruct, .copy = canvas_copy, .write = canvas_tell}));

// Gives a canvas its pixels, black; false: no memory, or a size out of 1 to 16384.
bool canvas_open(Canvas *canvas, int32_t width, int32_t height, double extent);
// A glowing disc; `radius` in pixels.
void canvas_dot(Canvas *canvas, float x, float y, float radius, const float color[3]);
// A thin line; steps over 24 pixels are too coarse to be one, and leave a dot.
void canvas_line(Canvas *canvas, float from_x, float from_y, float to_x, float to_y, const float color[3]);
// Writes a PNG file; false if that failed, with no half file left.
bool canvas_write(const Canvas *canvas, const char *path);

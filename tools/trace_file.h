// A file of a world's trace, in Chrome's trace-event format: a JSON document that Perfetto opens.
#pragma once

#include <mica/jobs.h>
#include <mica/trace.h>

#include <stdint.h>
#include <stdio.h>

typedef struct trace_file {
    const char *path;
    FILE *file; // NULL: there is none
    mica_world *world;
    bool has_events;
    bool has_failed;                    // something could not be written
    bool has_threads[MICA_THREADS_MAX]; // which rows are named
    int64_t lost_count;
} trace_file;

// Begins to trace a world into a new file. False: it failed, which was said; to be closed in any case.
bool trace_file_open(trace_file *opened, mica_world *world, const char *path);
// Writes what was noted since the last call.
void trace_file_add(trace_file *opened);
// Completes the file. False: it could not be written, which was said. Does nothing if it was not opened.
bool trace_file_close(trace_file *opened);

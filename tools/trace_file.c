// Writing traces. Events are written as they are taken, tick by tick, so that memory does not grow with the run; each
// is an object of its own, written by Jansson.
//
// Times are microseconds, as the format has it. Each thread is a row of the one process; loops and what waits for them
// lie within the runs of their systems.
#include "trace_file.h"

#include "say.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

static const char *const kind_names[] = {[MICA_TRACE_TICK] = "tick",
                                         [MICA_TRACE_SYSTEM] = "system",
                                         [MICA_TRACE_LOOP] = "loop",
                                         [MICA_TRACE_BARRIER] = "barrier",
                                         [MICA_TRACE_WAIT] = "wait"};

// Takes the object over.
static void write_object(trace_file *opened, json_t *object) {
    if (object == NULL || fputs(opened->has_events ? ",\n" : "\n", opened->file) < 0 ||
        json_dumpf(object, opened->file, JSON_COMPACT | JSON_REAL_PRECISION(15)) != 0) {
        opened->has_failed = true;
    }
    opened->has_events = true;
    json_decref(object);
}

static void name_row(trace_file *opened, int32_t thread) {
    char name[48];
    (void)snprintf(name, sizeof(name), thread == 0 ? "thread %d (steps the world)" : "thread %d", thread);
    opened->has_threads[thread] = true;
    write_object(opened, json_pack("{s:s, s:s, s:i, s:i, s:{s:s}}", "ph", "M", "name", "thread_name", "pid", 1, "tid",
                                   thread, "args", "name", name));
}

static void write_event(const mica_trace_event *event, void *user) {
    trace_file *opened = user;
    const char *kind = kind_names[event->kind];
    if (!opened->has_threads[event->thread]) {
        name_row(opened, event->thread);
    }
    json_t *arguments = json_pack("{s:I}", "tick", (json_int_t)event->tick);
    if (event->kind == MICA_TRACE_LOOP) {
        json_object_set_new(arguments, "spans", json_integer((json_int_t)event->span_count));
        json_object_set_new(arguments, "entities", json_integer((json_int_t)event->entity_count));
    }
    if (event->kind == MICA_TRACE_SYSTEM && mica_hardware_is_counted(opened->world)) {
        const mica_hardware_counts *counts = &event->hardware;
        json_object_set_new(arguments, "instructions", json_integer((json_int_t)counts->instruction_count));
        json_object_set_new(arguments, "cycles", json_integer((json_int_t)counts->cycle_count));
        json_object_set_new(arguments, "cache misses", json_integer((json_int_t)counts->cache_miss_count));
        json_object_set_new(arguments, "branch misses", json_integer((json_int_t)counts->branch_miss_count));
    }
    const bool has_name = event->kind == MICA_TRACE_SYSTEM || event->kind == MICA_TRACE_LOOP;
    write_object(opened, json_pack("{s:s, s:s, s:s, s:i, s:i, s:f, s:f, s:o}", "ph", "X", "name",
                                   has_name && event->system != NULL ? event->system : kind, "cat", kind, "pid", 1,
                                   "tid", event->thread, "ts", (double)event->begin_nanoseconds / 1e3, "dur",
                                   (double)event->nanoseconds / 1e3, "args", arguments));
}

bool trace_file_open(trace_file *opened, mica_world *world, const char *path) {
    *opened = (trace_file){.path = path, .world = world, .file = fopen(path, "w")};
    if (opened->file == NULL) {
        say("%s: could not be created: %s", path, strerror(errno));
        return false;
    }
    if (mica_trace_begin(world, 0) != MICA_OK) {
        say("%s", mica_last_error());
        return false;
    }
    opened->has_failed = fputs("{\"displayTimeUnit\": \"ns\", \"traceEvents\": [", opened->file) < 0;
    return true;
}

void trace_file_add(trace_file *opened) {
    if (opened->file != NULL) {
        opened->lost_count += mica_trace_take(opened->world, write_event, opened);
    }
}

bool trace_file_close(trace_file *opened) {
    if (opened->file == NULL) {
        return true;
    }
    (void)mica_trace_end(opened->world);
    errno = 0;
    bool is_fine = fputs("\n]}\n", opened->file) >= 0 && !opened->has_failed;
    is_fine = fclose(opened->file) == 0 && is_fine;
    opened->file = NULL;
    if (!is_fine) {
        say("%s: could not be written%s%s", opened->path, errno == 0 ? "" : ": ", errno == 0 ? "" : strerror(errno));
    } else if (opened->lost_count > 0) {
        say("warning: %s: %lld events are missing: a tick had more than there is room for", opened->path,
            (long long)opened->lost_count);
    }
    return is_fine;
}

// Writing a world as a JSON scene.
//
// Entities are numbered first: roots in order of visit, each followed by its descendants in pre-order, so that siblings
// stand in their order, and a file that is loaded and saved again stays the same. A plain file is written beside its
// name and renamed; what is there and is no plain file (a device, a pipe, a link) is written to as it is.
#include "save_memory.h"
#include "scene_writer.h"

#include <mica/mica.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <sys/stat.h>

// The entities of a world by position.
typedef struct entity_list {
    mica_entity *entities;
    int32_t count;
} entity_list;

// Adds an entity and its descendants in pre-order.
static void add_tree(entity_list *list, const mica_world *world, mica_entity root) {
    mica_entity entity = root;
    list->entities[list->count++] = entity;
    for (;;) {
        mica_entity next = mica_first_child(world, entity);
        while (mica_entity_is_null(next) && !mica_entity_equal(entity, root)) {
            next = mica_next_sibling(world, entity);
            if (mica_entity_is_null(next)) {
                entity = mica_parent(world, entity);
            }
        }
        if (mica_entity_is_null(next)) {
            return;
        }
        entity = next;
        list->entities[list->count++] = entity;
    }
}

// False: out of memory.
static bool list_entities(entity_list *list, mica_world *world) {
    const int32_t count = mica_world_entity_count(world);
    list->entities = mi_save_allocate_array((size_t)count + 1, sizeof(mica_entity));
    mica_query *all = list->entities == NULL ? NULL : mica_query_find(world, NULL, 0);
    if (all == NULL) {
        return false;
    }
    mica_each (all, it) {
        for (int32_t i = 0; i < it.count; i++) {
            if (mica_entity_is_null(mica_parent(world, it.entities[i]))) {
                add_tree(list, world, it.entities[i]);
            }
        }
    }
    return list->count == count; // no walk was opened without memory
}

// A file that is written; `result` keeps what the system said first.
typedef struct output {
    FILE *file;
    int error;
} output;

static bool write_text(void *user, const char *text, size_t byte_size) {
    output *to = user;
    errno = 0;
    if (to->error == 0 && fwrite(text, 1, byte_size, to->file) != byte_size) {
        to->error = errno == 0 ? EIO : errno;
    }
    return to->error == 0;
}

static bool write_string(output *to, const char *text) {
    return write_text(to, text, strlen(text));
}

static mica_result write_name(mica_scene_writer *writer, mica_entity entity, output *to) {
    if (!mica_entity_has(writer->world, entity, writer->name_component)) {
        return MICA_OK;
    }
    return write_string(to, ", \"name\": ") ? mica_scene_writer_name(writer, entity, write_text, to) : MICA_IO;
}

static mica_result write_entity(mica_scene_writer *writer, mica_entity entity, int32_t position, output *to) {
    char start[48];
    (void)snprintf(start, sizeof(start), "%s\n    {\"id\": %d", position == 0 ? "" : ",", position);
    mica_result result = write_string(to, start) ? write_name(writer, entity, to) : MICA_IO;
    if (result == MICA_OK) {
        result = write_string(to, ", \"components\": ") ? MICA_OK : MICA_IO;
    }
    if (result == MICA_OK) {
        result = mica_scene_writer_components(writer, entity, write_text, to);
    }
    return result == MICA_OK && !write_string(to, "}") ? MICA_IO : result;
}

static mica_result write_document(mica_scene_writer *writer, const entity_list *list, output *to) {
    mica_result result = write_string(to, "{\"mica\": 1, \"entities\": [") ? MICA_OK : MICA_IO;
    for (int32_t i = 0; result == MICA_OK && i < list->count; i++) {
        result = write_entity(writer, list->entities[i], i, to);
    }
    if (result == MICA_OK && !write_string(to, "\n]}\n")) {
        result = MICA_IO;
    }
    return result;
}

// Writes the file at `path` anew.
static mica_result write_file(mica_scene_writer *writer, const entity_list *list, const char *path) {
    output to = {.file = fopen(path, "wb")};
    if (to.file == NULL) {
        return mi_save_refuse(&writer->report, MICA_IO, "could not be created: %s", strerror(errno));
    }
    mica_result result = write_document(writer, list, &to);
    errno = 0;
    if (fclose(to.file) != 0 && to.error == 0) {
        to.error = errno;
    }
    if (to.error != 0) {
        result = mi_save_refuse(&writer->report, MICA_IO, "could not be written: %s", strerror(to.error));
    }
    return result;
}

static bool is_replaced(const char *path) {
    struct stat found;
    return lstat(path, &found) != 0 || S_ISREG(found.st_mode);
}

static mica_result write_and_rename(mica_scene_writer *writer, const entity_list *list, const char *path) {
    static const char ending[] = ".tmp";
    const size_t path_size = strlen(path);
    char *aside = mi_save_allocate(path_size + sizeof(ending));
    if (aside == NULL) {
        return mi_save_refuse_memory(&writer->report);
    }
    memcpy(aside, path, path_size);
    memcpy(aside + path_size, ending, sizeof(ending));
    mica_result result = write_file(writer, list, aside);
    if (result == MICA_OK && rename(aside, path) != 0) {
        result = mi_save_refuse(&writer->report, MICA_IO, "could not be renamed from %s: %s", aside, strerror(errno));
    }
    if (result != MICA_OK) {
        (void)remove(aside);
    }
    mi_save_free(aside);
    return result;
}

static mica_result save(mica_world *world, const char *path, const mica_save_options *options, mi_save_report *report) {
    if (world == NULL || path == NULL) {
        return mi_save_refuse(report, MICA_INVALID, "needs a world and a path");
    }
    entity_list list = {0};
    mica_scene_writer *writer = NULL;
    mica_error_clear(); // what is set afterwards is why there is no writer
    if (list_entities(&list, world)) {
        writer = mica_scene_writer_create(world, list.entities, list.count, path, options);
    }
    mica_result result = MICA_OK;
    if (writer == NULL) {
        result = mica_last_result() == MICA_OK ? mi_save_refuse_memory(report)
                                               : mi_save_refuse(report, mica_last_result(), "%s", mica_last_error());
    } else {
        result = is_replaced(path) ? write_and_rename(writer, &list, path) : write_file(writer, &list, path);
        memcpy(report->text, writer->report.text, MICA_SAVE_MESSAGE_SIZE);
    }
    mica_scene_writer_destroy(writer);
    mi_save_free(list.entities);
    return result;
}

mica_result mica_scene_save(mica_world *world, const char *path, const mica_save_options *options, char *message) {
    mi_save_report report;
    mi_save_report_init(&report, path, options);
    const mica_result result = save(world, path, options, &report);
    if (message != NULL) {
        (void)snprintf(message, MICA_SAVE_MESSAGE_SIZE, "%s", result == MICA_OK ? "" : report.text);
    }
    return result;
}

/// \file save.h
/// Scenes as JSON: all entities of a world with their reflected components, written by name and read by name.
///
///     {"mica": 1, "entities": [{"id": 0, "name": "sun", "components": {"Transform": {"position": [0, 0, 0], ...}}}]}
///
/// Ids name entities within the file and stand for them in entity fields. Components and fields are found by their
/// names, so the order in which a program registers its types does not matter. docs/scene-format.md describes the
/// format.
#pragma once

#include <mica/entity.h>
#include <mica/result.h>
#include <mica/world.h>

/// Bytes of a message about a file, the closing zero included.
#define MICA_SAVE_MESSAGE_SIZE 512

MICA_BEGIN

/// How a scene is loaded or saved. Zero is the default everywhere.
typedef struct mica_save_options {
    /// Receives warnings: components and fields that the schema does not know and that are left out; values that cannot
    /// be written; each once a type. And why a call failed (level error). A zero handler drops both.
    mica_log_handler log;
    bool strict; ///< what would be a warning is a failure
} mica_save_options;

/// What was loaded.
typedef struct mica_saved_scene {
    mica_entity *entities; ///< by position in the file
    int32_t entity_count;
    char message[MICA_SAVE_MESSAGE_SIZE]; ///< why the load failed, with file, place and what was expected; "" otherwise
    void (*release)(void *memory);        ///< the module's own
} mica_saved_scene;

/// Loads a JSON scene into `world`. Types must be known to its schema; components of the library's own are. Values that
/// the file leaves out are as constructed. Siblings are linked in the order of the file.
///
/// On success `scene` is to be released. On failure it holds nothing but the message, and the world is as it was but
/// for types that have become known.
/// Refuses: `MICA_IO`, `MICA_FORMAT` (malformed; an id twice or unknown; a value of the wrong kind or out of range),
/// `MICA_UNSUPPORTED` (another version of the format), `MICA_CYCLE`, `MICA_UNKNOWN` (strict: an unknown component or
/// field), `MICA_INVALID` (no world, path or scene), `MICA_MISMATCH` (the schema knows another type by the name of one
/// of the library's own), `MICA_LOCKED`, `MICA_LIMIT`, `MICA_OUT_OF_MEMORY`. Structural (world.h). O(size of the file);
/// memory for it is taken from jansson's allocation functions.
MICA_API mica_result mica_scene_load(mica_world *world, const char *path, const mica_save_options *options,
                                     mica_saved_scene *scene);

/// The same from memory. `label` stands for the file's name in messages; NULL: "memory".
MICA_API mica_result mica_scene_load_memory(mica_world *world, const char *text, size_t byte_size, const char *label,
                                            const mica_save_options *options, mica_saved_scene *scene);

/// Frees what a scene holds and leaves it empty; the entities stay. An empty scene (zeroes) is allowed. O(1).
MICA_API void mica_saved_scene_release(mica_saved_scene *scene);

/// Writes all entities of `world` to a JSON scene: roots in order of visit, each followed by its descendants, children
/// in their order; ids are positions. Not written: transient types, and (with a warning) types that own something. A
/// plain file is written beside `path` and renamed, so that a failure leaves an old one as it was. `message` (may be
/// NULL) receives why the call failed, `MICA_SAVE_MESSAGE_SIZE` bytes. Refuses: `MICA_IO`, `MICA_INVALID`,
/// `MICA_UNKNOWN` (strict: a type that cannot be written), `MICA_STALE` (strict: an entity field that names nobody),
/// `MICA_MISMATCH` (the schema knows another type named "Name"), `MICA_OUT_OF_MEMORY`. Not structural. O(entities +
/// components).
MICA_API mica_result mica_scene_save(mica_world *world, const char *path, const mica_save_options *options,
                                     char *message);

/// Writes the components of single entities as scenes do, for programs with a document of their own.
typedef struct mica_scene_writer mica_scene_writer;

/// Receives a piece of text, not closed by zero; false stops the writing.
typedef bool (*mica_text_function)(void *user, const char *text, size_t byte_size);

/// Makes a writer for entities whose ids are their positions in `entities`, which may hold nulls; other entities are
/// written as null. The world must not change while the writer is used. `label` stands for the file's name in messages
/// and must stay as long as the writer. NULL: out of memory; no world, or no `entities` for their `count`; or the
/// schema knows another type named "Name" (`MICA_MISMATCH`, as the last error). O(slots of the world + types).
MICA_API mica_scene_writer *mica_scene_writer_create(mica_world *world, const mica_entity *entities, int32_t count,
                                                     const char *label, const mica_save_options *options);

/// The id by which the writer names an entity; -1 if it does not. O(1).
MICA_API int64_t mica_scene_writer_id(const mica_scene_writer *writer, mica_entity entity);

/// Writes the name of one entity as a JSON string; null if it has none, or (with a warning) one that is no UTF-8.
/// Refuses: `MICA_STALE`, `MICA_IO` (the function stopped it), `MICA_INVALID` (no writer or function; strict: no
/// UTF-8), `MICA_OUT_OF_MEMORY`. O(length).
MICA_API mica_result mica_scene_writer_name(mica_scene_writer *writer, mica_entity entity, mica_text_function function,
                                            void *user);

/// Writes the components of one entity as one JSON object, in order of name, without a line end. Refuses: `MICA_STALE`,
/// `MICA_IO` (the function stopped it), `MICA_INVALID` (no writer or function), `MICA_UNKNOWN` and `MICA_STALE` as
/// `mica_scene_save`, `MICA_OUT_OF_MEMORY`.
/// O(size of the values).
MICA_API mica_result mica_scene_writer_components(mica_scene_writer *writer, mica_entity entity,
                                                  mica_text_function function, void *user);

/// Why the writer failed last; "" if it did not. As good as the writer, until its next failure. O(1).
MICA_API const char *mica_scene_writer_message(const mica_scene_writer *writer);

/// Ends a writer. NULL is allowed. O(1).
MICA_API void mica_scene_writer_destroy(mica_scene_writer *writer);

MICA_END

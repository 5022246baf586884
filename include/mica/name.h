/// \file name.h
/// Names of entities, for people, files and tools. They need not be unique.
#pragma once

#include <mica/type.h>
#include <mica/world.h>

MICA_BEGIN
/// \cond internal
MICA_API void mica_name_destruct(void *values, int32_t count, const mica_hook_context *context);
MICA_API bool mica_name_copy(void *to, const void *from, int32_t count, const mica_hook_context *context);
MICA_API void mica_name_write(const void *value, const mica_sink *sink, const mica_hook_context *context);
MICA_API mica_result mica_name_read(void *to, const void *bytes, size_t byte_size, const mica_hook_context *context);
/// \endcond
MICA_END

/// A text of any length closed by zero, owned by the component; NULL is "". Set it by `mica_set_name` or by `mica_set`
/// with any text, which is copied. Named "Name" in files.
MICA_STRUCT_NAMED_WITH(mica_name, "Name",
                       (.storage = MICA_TABLE, .hooks = {.destruct = mica_name_destruct,
                                                         .copy = mica_name_copy,
                                                         .write = mica_name_write,
                                                         .read = mica_name_read}),
                       { const char *text; });

MICA_BEGIN

/// Names an entity with a copy of `text`, which may be a name of this world; NULL takes the name away. Structural
/// (world.h) unless it replaces a name. Refuses as `mica_entity_set` and, for NULL, `mica_entity_remove`;
/// `MICA_MISMATCH` (the schema knows another type named "Name"). O(length).
MICA_API mica_result mica_set_name(mica_world *world, mica_entity entity, const char *text);

/// The name of an entity; "" if it has none, or with `MICA_STALE`. Good until the name changes or the next structural
/// change. O(1).
MICA_API const char *mica_name_of(const mica_world *world, mica_entity entity);

MICA_END

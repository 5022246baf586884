// Names of entities: texts that their components own.
//
// Invariant: a name in a world is NULL, or a text of its own that was taken from the world's allocator with its length
// and the closing zero. The empty text is kept as NULL.
#include <mica/name.h>

#include <string.h>

void mica_name_destruct(void *values, int32_t count, const mica_hook_context *context) {
    mica_name *names = (mica_name *)values;
    for (int32_t i = 0; i < count; i++) {
        if (names[i].text != NULL) {
            context->allocator->release(context->allocator->user, (void *)(uintptr_t)names[i].text,
                                        strlen(names[i].text) + 1, 1);
        }
    }
}

bool mica_name_copy(void *to, const void *from, int32_t count, const mica_hook_context *context) {
    mica_name *copies = (mica_name *)to;
    const mica_name *names = (const mica_name *)from;
    for (int32_t i = 0; i < count; i++) {
        copies[i].text = NULL;
        if (names[i].text == NULL || names[i].text[0] == 0) {
            continue;
        }
        const size_t size = strlen(names[i].text) + 1;
        char *text = (char *)context->allocator->allocate(context->allocator->user, size, 1);
        if (text == NULL) {
            mica_name_destruct(copies, i, context);
            return false;
        }
        memcpy(text, names[i].text, size);
        copies[i].text = text;
    }
    return true;
}

void mica_name_write(const void *value, const mica_sink *sink, const mica_hook_context *context) {
    (void)context;
    const char *text = ((const mica_name *)value)->text;
    sink->put(sink->user, text == NULL ? "" : text, text == NULL ? 0 : strlen(text));
}

mica_result mica_name_read(void *to, const void *bytes, size_t byte_size, const mica_hook_context *context) {
    mica_name *name = (mica_name *)to;
    name->text = NULL;
    if (byte_size == 0) {
        return MICA_OK;
    }
    if (byte_size == SIZE_MAX || memchr(bytes, 0, byte_size) != NULL) {
        return MICA_FORMAT;
    }
    char *text = (char *)context->allocator->allocate(context->allocator->user, byte_size + 1, 1);
    if (text == NULL) {
        return MICA_OUT_OF_MEMORY;
    }
    memcpy(text, bytes, byte_size);
    text[byte_size] = 0;
    name->text = text;
    return MICA_OK;
}

mica_result mica_set_name(mica_world *world, mica_entity entity, const char *text) {
    const mica_component component = mica_world_component(world, mica_type_of(mica_name));
    if (component == 0) {
        return mica_last_result();
    }
    const mica_name name = {.text = text};
    return text == NULL ? mica_entity_remove(world, entity, component)
                        : mica_entity_set(world, entity, component, &name);
}

const char *mica_name_of(const mica_world *world, mica_entity entity) {
    // The schema is the one thing that may have to learn of the type.
    const mica_component component = mica_schema_register(mica_world_schema(world), mica_type_of(mica_name));
    const mica_name *name = component == 0 ? NULL : (const mica_name *)mica_entity_get(world, entity, component);
    return name == NULL || name->text == NULL ? "" : name->text;
}

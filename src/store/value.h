// Values of one type in raw memory: hooks where the type has them, bytes where it has none.
#pragma once

#include "store/schema.h"

#include <string.h>

// Whether mi_value_copy_small can copy values of this size.
static inline bool mi_value_is_small(uint32_t size) {
    return size <= 16 && size % 4 == 0;
}
// Copies one value of a common size, without a call. False: nothing was copied, the size is another.
static inline bool mi_value_copy_small(void *to, const void *from, uint32_t size) {
    switch (size) {
    case 4:
        memcpy(to, from, 4);
        return true;
    case 8:
        memcpy(to, from, 8);
        return true;
    case 12:
        memcpy(to, from, 12);
        return true;
    case 16:
        memcpy(to, from, 16);
        return true;
    default:
        return false;
    }
}
// Copies one value of a type without hooks; the common sizes without a call.
static inline void mi_value_copy_bytes(void *to, const void *from, uint32_t size) {
    if (!mi_value_copy_small(to, from, size)) {
        memcpy(to, from, size);
    }
}

// Makes values; false: the hook could not. Values without a hook are zeros.
static inline bool mi_value_construct(const mi_type *type, const mica_allocator *allocator, void *values,
                                      uint32_t count) {
    if (type->info.hooks.construct != NULL) {
        const mica_hook_context context = {allocator, type->info.hooks.user};
        return type->info.hooks.construct(values, (int32_t)count, &context);
    }
    memset(values, 0, (size_t)type->info.size * count);
    return true;
}

static inline void mi_value_destruct(const mi_type *type, const mica_allocator *allocator, void *values,
                                     uint32_t count) {
    if (type->info.hooks.destruct != NULL) {
        const mica_hook_context context = {allocator, type->info.hooks.user};
        type->info.hooks.destruct(values, (int32_t)count, &context);
    }
}

// `from` is raw memory afterwards.
static inline void mi_value_move(const mi_type *type, const mica_allocator *allocator, void *to, void *from,
                                 uint32_t count) {
    if (type->info.hooks.move != NULL) {
        const mica_hook_context context = {allocator, type->info.hooks.user};
        type->info.hooks.move(to, from, (int32_t)count, &context);
        return;
    }
    memcpy(to, from, (size_t)type->info.size * count);
}

// One value, the common sizes without a call.
static inline void mi_value_move_one(const mi_type *type, const mica_allocator *allocator, void *to, void *from) {
    if (type->info.hooks.move != NULL) {
        mi_value_move(type, allocator, to, from, 1);
    } else {
        mi_value_copy_bytes(to, from, type->info.size);
    }
}

// False: the hook could not. A move-only type must not come here.
static inline bool mi_value_copy(const mi_type *type, const mica_allocator *allocator, void *to, const void *from,
                                 uint32_t count) {
    if (type->info.hooks.copy != NULL) {
        const mica_hook_context context = {allocator, type->info.hooks.user};
        return type->info.hooks.copy(to, from, (int32_t)count, &context);
    }
    memcpy(to, from, (size_t)type->info.size * count);
    return true;
}

// Takes a caller's value into raw memory: a copy, or for move-only types the value itself.
static inline bool mi_value_take(const mi_type *type, const mica_allocator *allocator, void *to, const void *from,
                                 uint32_t count) {
    if (type->info.hooks.copy == NULL && type->info.hooks.destruct != NULL) {
        mi_value_move(type, allocator, to, (void *)(uintptr_t)from, count);
        return true;
    }
    return mi_value_copy(type, allocator, to, from, count);
}

// Makes one value in raw memory: constructed if `from` is NULL, otherwise taken from a caller's.
static inline bool mi_value_make(const mi_type *type, const mica_allocator *allocator, void *to, const void *from) {
    if (from == NULL) {
        return mi_value_construct(type, allocator, to, 1);
    }
    if (MICA_LIKELY(!type->has_copy && !type->has_destruct)) {
        mi_value_copy_bytes(to, from, type->info.size);
        return true;
    }
    return mi_value_take(type, allocator, to, from, 1);
}

// Growth of MI_ARRAY, for elements of any type.
//
// Invariants: data holds capacity elements, of which the first count are the array's; capacity is 0 exactly where data
// is NULL; an array that could not grow is as it was. Each MI_ARRAY is a type of its own, so its members are read and
// written as bytes of a layout that all of them share.
#include "base/array.h"

#include <string.h>

#include "base/assert.h"

enum { CAPACITY_LEAST = 8 };

typedef MI_ARRAY(void) any_array;

static any_array load(const void *array) {
    any_array members;
    memcpy(&members, array, sizeof(members));
    return members;
}

// Moves the elements to memory for `capacity` of them, which is not less than there are.
static bool resize(mi_heap *heap, mica_memory_purpose purpose, void *array, uint32_t capacity, size_t element_size,
                   size_t alignment) {
    any_array members = load(array);
    size_t byte_size;
    if (!mi_size_product(capacity, element_size, &byte_size)) {
        return false;
    }
    void *data = mi_heap_allocate(heap, purpose, byte_size, alignment);
    if (data == NULL) {
        return false;
    }
    if (members.data != NULL) {
        memcpy(data, members.data, members.count * element_size);
        mi_heap_release(heap, purpose, members.data, members.capacity * element_size, alignment);
    }
    members.data = data;
    members.capacity = capacity;
    memcpy(array, &members, sizeof(members));
    return true;
}

bool mi_array_reserve(mi_heap *heap, mica_memory_purpose purpose, void *array, size_t need, size_t element_size,
                      size_t alignment) {
    const any_array members = load(array);
    MI_ASSERT(members.count <= members.capacity);
    if (need <= members.capacity) {
        return true;
    }
    if (need > UINT32_MAX) {
        return false;
    }
    uint64_t capacity = (uint64_t)members.capacity + members.capacity / 2;
    capacity = capacity < need ? need : capacity;
    capacity = capacity < CAPACITY_LEAST ? CAPACITY_LEAST : capacity;
    capacity = capacity > UINT32_MAX ? UINT32_MAX : capacity;
    return resize(heap, purpose, array, (uint32_t)capacity, element_size, alignment);
}

void mi_array_shrink(mi_heap *heap, mica_memory_purpose purpose, void *array, size_t element_size, size_t alignment) {
    const any_array members = load(array);
    if (members.count == 0) {
        mi_array_free(heap, purpose, array, element_size, alignment);
    } else if (members.count < members.capacity) {
        (void)resize(heap, purpose, array, members.count, element_size, alignment);
    }
}

void mi_array_free(mi_heap *heap, mica_memory_purpose purpose, void *array, size_t element_size, size_t alignment) {
    const any_array members = load(array);
    mi_heap_release(heap, purpose, members.data, members.capacity * element_size, alignment);
    memcpy(array, &(any_array){.data = NULL}, sizeof(any_array));
}

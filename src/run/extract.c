// Extracts: three frames between the world's thread and a reader.
//
// Which frame is whose is decided by base/triple.h alone. The writer's frame is empty when a step begins: it is emptied
// when it has been published and another one took its place, or when the step failed. So systems only add to it, and
// asking for it does no more than to raise a flag, which several systems may do at once.
//
// Invariants: `number` of a frame is 0 until it is published for the first time; what the reader's frame and the one
// between hold was complete when it was published, and changes only once it is the writer's again. The reader allocates
// and frees nothing, and touches nothing of the world.
#include "run/extract.h"

#include <mica/type.h>

#include "base/triple.h"

static const mica_memory_purpose purpose = MICA_MEMORY_FRAMES;

// Items one behind the other; counts are of items.
typedef MI_ARRAY(uint8_t) frame_list;

struct mica_frame {
    mica_extract *extract;
    mica_frame_info info;
    frame_list lists[MICA_EXTRACT_LIST_MAX];
};

struct mica_extract {
    mi_triple triple;
    mica_world *world;
    char *name;
    int32_t list_count;
    mica_extract_list lists[MICA_EXTRACT_LIST_MAX];
    uint32_t is_asked_for; // a system has asked for the frame in this step
    uint64_t number;       // of the frame published last
    mica_frame frames[3];
};

// Making and ending

static void free_extract(mica_extract *extract) {
    mi_heap *heap = &extract->world->heap;
    for (int32_t i = 0; i < 3; i++) {
        for (int32_t k = 0; k < extract->list_count; k++) {
            const mica_extract_list *list = &extract->lists[k];
            mi_array_free(heap, purpose, &extract->frames[i].lists[k], list->item_byte_size, list->item_align);
        }
    }
    mi_heap_release_text(heap, purpose, extract->name);
    mi_heap_release(heap, purpose, extract, sizeof(*extract), _Alignof(mica_extract));
}

void mi_extracts_free(mi_systems *systems) {
    for (uint32_t i = 0; i < systems->extracts.count; i++) {
        free_extract(systems->extracts.data[i]);
    }
    MI_FREE(&systems->world->heap, MICA_MEMORY_FRAMES, &systems->extracts);
}

static mica_result take_lists(mica_extract *extract, const mica_extract_def *def, const char *call) {
    const mica_log_handler *log = &extract->world->log;
    while (extract->list_count < MICA_EXTRACT_LIST_MAX && def->lists[extract->list_count].item_byte_size > 0) {
        mica_extract_list list = def->lists[extract->list_count];
        list.item_align = list.item_align == 0 ? 1 : list.item_align;
        if ((list.item_align & (list.item_align - 1)) != 0 || list.item_align > MICA_ALIGN_MAX ||
            list.capacity > INT32_MAX) {
            return mi_fail(log, MICA_INVALID, call,
                           "list {} is to have items at multiples of {} and room for {}: one is no power of two up to "
                           "{}, or there are too many",
                           MI_INT(extract->list_count), MI_UINT(list.item_align), MI_UINT(list.capacity),
                           MI_UINT(MICA_ALIGN_MAX));
        }
        extract->lists[extract->list_count++] = list;
    }
    return extract->list_count > 0
               ? MICA_OK
               : mi_fail_plain(log, MICA_INVALID, call, "an extract needs a list, and items of some size");
}

static bool make_room(mica_extract *extract) {
    for (int32_t i = 0; i < 3; i++) {
        for (int32_t k = 0; k < extract->list_count; k++) {
            const mica_extract_list *list = &extract->lists[k];
            if (!mi_array_reserve(&extract->world->heap, purpose, &extract->frames[i].lists[k], list->capacity,
                                  list->item_byte_size, list->item_align)) {
                return false;
            }
        }
    }
    return true;
}

// Fills in what was zeroed. On failure, with the error set, it is to be freed.
static mica_result fill_extract(mica_extract *extract, mica_world *world, const mica_extract_def *def,
                                const char *call) {
    extract->world = world;
    extract->triple = mi_triple_make();
    for (int32_t i = 0; i < 3; i++) {
        extract->frames[i].extract = extract;
    }
    mica_result result = take_lists(extract, def, call);
    if (result == MICA_OK) {
        extract->name = mi_heap_copy_text(&world->heap, purpose, def->name != NULL ? def->name : "extract");
        result = extract->name != NULL && make_room(extract) ? MICA_OK : mi_fail_memory(&world->log, call, 0);
    }
    return result;
}

mica_extract *mica_extract_create(mica_world *world, const mica_extract_def *def) {
    mi_systems *systems = mi_systems_open(world, __func__);
    if (systems == NULL) {
        return NULL;
    }
    if (def == NULL) {
        mi_fail_plain(&world->log, MICA_INVALID, __func__, "an extract needs a definition with a list");
        return NULL;
    }
    if (systems->ticking) {
        mi_fail_plain(&world->log, MICA_LOCKED, __func__, "a tick runs");
        return NULL;
    }
    mi_heap *heap = &world->heap;
    mica_extract *extract = NULL;
    if (MI_RESERVE(heap, MICA_MEMORY_FRAMES, &systems->extracts, (size_t)systems->extracts.count + 1)) {
        extract = mi_heap_allocate_zeroed(heap, purpose, sizeof(*extract), _Alignof(mica_extract));
    }
    if (extract == NULL) {
        mi_fail_memory(&world->log, __func__, sizeof(*extract));
        return NULL;
    }
    if (fill_extract(extract, world, def, __func__) != MICA_OK) {
        free_extract(extract);
        return NULL;
    }
    systems->extracts.data[systems->extracts.count++] = extract;
    return extract;
}

void mica_extract_destroy(mica_extract *extract) {
    if (extract == NULL) {
        return;
    }
    mi_systems *systems = mi_systems_find(extract->world);
    if (systems->ticking) {
        mi_fail(&extract->world->log, MICA_LOCKED, __func__, "a tick runs, which may write to {}",
                MI_TEXT(extract->name));
        return;
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < systems->extracts.count; i++) {
        if (systems->extracts.data[i] != extract) {
            systems->extracts.data[kept++] = systems->extracts.data[i];
        }
    }
    systems->extracts.count = kept;
    free_extract(extract);
}

// Writing

mica_frame *mica_run_frame(mica_run *run, mica_extract *extract) {
    if (run == NULL || extract == NULL || extract->world != run->world) {
        mi_fail_plain(run == NULL ? NULL : &run->world->log, MICA_INVALID, __func__,
                      "needs the run that the system was called with, and an extract of its world");
        return NULL;
    }
    if (!mi_systems_find(run->world)->ticking) {
        mi_fail(&run->world->log, MICA_INVALID, __func__, "system \"{}\" is being stopped: no frame is published",
                MI_TEXT(run->system->order.name));
        return NULL;
    }
    mi_flag_raise(&extract->is_asked_for);
    return &extract->frames[extract->triple.written];
}

// Whether a list of a frame has items of this size. The reader's errors are for no log: its handler is the world's.
static bool has_list(const mica_frame *frame, int32_t list, uint32_t item_byte_size, const mica_log_handler *log,
                     const char *call) {
    if (frame == NULL) {
        mi_fail_plain(log, MICA_INVALID, call, "needs a frame");
        return false;
    }
    const mica_extract *extract = frame->extract;
    if (list < 0 || list >= extract->list_count) {
        mi_fail(log, MICA_INVALID, call, "{} has no list {}: it has {} of them, numbered from 0",
                MI_TEXT(extract->name), MI_INT(list), MI_INT(extract->list_count));
        return false;
    }
    if (item_byte_size != extract->lists[list].item_byte_size) {
        mi_fail(log, MICA_INVALID, call, "list {} of {} is of items of {} bytes, not {}", MI_INT(list),
                MI_TEXT(extract->name), MI_UINT(extract->lists[list].item_byte_size), MI_UINT(item_byte_size));
        return false;
    }
    return true;
}

void *mica_frame_add_items(mica_frame *frame, int32_t number, uint32_t item_byte_size, int32_t count) {
    const mica_log_handler *log = frame == NULL ? NULL : &frame->extract->world->log;
    if (!has_list(frame, number, item_byte_size, log, __func__)) {
        return NULL;
    }
    mica_extract *extract = frame->extract;
    frame_list *list = &frame->lists[number];
    if (count < 0) {
        mi_fail(log, MICA_INVALID, __func__, "{} items are to be added to list {} of {}", MI_INT(count), MI_INT(number),
                MI_TEXT(extract->name));
        return NULL;
    }
    const uint64_t need = (uint64_t)list->count + (uint32_t)count;
    if (need > INT32_MAX) {
        mi_fail(log, MICA_LIMIT, __func__, "list {} of {} would have {} items", MI_INT(number), MI_TEXT(extract->name),
                MI_UINT(need));
        return NULL;
    }
    // So that there is an address also where nothing is added.
    if (!mi_array_reserve(&extract->world->heap, purpose, list, need > 0 ? need : 1, item_byte_size,
                          extract->lists[number].item_align)) {
        mi_fail(log, MICA_OUT_OF_MEMORY, __func__, "no memory for {} items in list {} of {}", MI_UINT(need),
                MI_INT(number), MI_TEXT(extract->name));
        return NULL;
    }
    void *first = list->data + (size_t)list->count * item_byte_size;
    list->count = (uint32_t)need;
    return first;
}

static void empty(mica_frame *frame) {
    for (int32_t i = 0; i < frame->extract->list_count; i++) {
        frame->lists[i].count = 0;
    }
}

static void publish(const mi_systems *systems, mica_extract *extract, float delta_seconds) {
    extract->frames[extract->triple.written].info = (mica_frame_info){.number = ++extract->number,
                                                                      .tick = systems->tick,
                                                                      .delta_seconds = delta_seconds,
                                                                      .is_paused = systems->is_paused_step,
                                                                      .alpha = mi_clock_alpha_after(systems)};
    mi_triple_publish(&extract->triple);
}

void mi_extracts_end_step(mi_systems *systems, float delta_seconds, bool has_failed) {
    for (uint32_t i = 0; i < systems->extracts.count; i++) {
        mica_extract *extract = systems->extracts.data[i];
        if (extract->is_asked_for == 0) {
            continue;
        }
        extract->is_asked_for = 0;
        if (!has_failed) {
            publish(systems, extract, delta_seconds);
        }
        empty(&extract->frames[extract->triple.written]);
    }
}

// Reading

const mica_frame *mica_extract_latest(mica_extract *extract) {
    if (extract == NULL) {
        mi_fail_plain(NULL, MICA_INVALID, __func__, "needs an extract");
        return NULL;
    }
    (void)mi_triple_fetch(&extract->triple);
    const mica_frame *frame = &extract->frames[extract->triple.read];
    return frame->info.number > 0 ? frame : NULL;
}

mica_frame_info mica_frame_describe(const mica_frame *frame) {
    if (frame == NULL) {
        mi_fail_plain(NULL, MICA_INVALID, __func__, "needs a frame");
        return (mica_frame_info){0};
    }
    return frame->info;
}

const void *mica_frame_items(const mica_frame *frame, int32_t list, uint32_t item_byte_size, int32_t *count) {
    const bool is_there = has_list(frame, list, item_byte_size, NULL, __func__);
    const uint32_t item_count = is_there ? frame->lists[list].count : 0;
    if (count != NULL) {
        *count = (int32_t)item_count;
    }
    return item_count > 0 ? frame->lists[list].data : NULL;
}

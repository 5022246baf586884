/// \file extract.h
/// Extract: what a renderer or another reader needs of a world, handed to its own thread once a tick.
///
/// An extract has three *frames*. Systems fill one, usually in the stage `MICA_EXTRACT`: they copy what is drawn into
/// its lists. When the tick has completed, the frame is published as a whole; a tick that failed publishes nothing. The
/// reader, one thread at a time, asks for the latest frame and holds it until it asks again. Neither side waits for the
/// other, whatever their rates: frames that nobody asked for in time are passed over, and the one that the reader holds
/// is never written to.
///
/// A *list* is a growing array of items of one size. Its room stays from frame to frame, so that frames that are alike
/// allocate nothing.
///
/// An extract belongs to a world and ends with it. It is no part of the world's state: after a restore the reader has
/// the latest frame of before, until the next tick.
#pragma once

#include <mica/system.h>

MICA_BEGIN

/// Most lists of an extract.
#define MICA_EXTRACT_LIST_MAX 16

typedef struct mica_extract mica_extract;

/// What is published at once. Systems write to it, then the reader reads it, never both.
typedef struct mica_frame mica_frame;

/// A list of an extract's frames.
typedef struct mica_extract_list {
    uint32_t item_byte_size;
    uint32_t item_align; ///< a power of two up to `MICA_ALIGN_MAX`; 0: 1
    uint32_t capacity;   ///< items that each frame has room for at once
} mica_extract_list;

/// An extract. Zero is the default everywhere but for the lists, of which there is one at least.
typedef struct mica_extract_def {
    const char *name;                               ///< for messages; copied; NULL: "extract"
    mica_extract_list lists[MICA_EXTRACT_LIST_MAX]; ///< ends at the first of no size
} mica_extract_def;

#define MICA_EXTRACT_LIST_(T, CAPACITY) \
    { (uint32_t)sizeof(T), (uint32_t)MICA_ALIGNOF(T), (CAPACITY) }
#ifdef __cplusplus
#define MICA_EXTRACT_LIST(T, CAPACITY) (mica_extract_list MICA_EXTRACT_LIST_(T, CAPACITY))
#else
#define MICA_EXTRACT_LIST(T, CAPACITY) ((mica_extract_list)MICA_EXTRACT_LIST_(T, CAPACITY))
#endif

/// An entry of `mica_extract_def.lists`: items of type `T`, with room for so many at once.
#define mica_list_of(T, CAPACITY) MICA_EXTRACT_LIST(T, CAPACITY)

/// Makes an extract of a world, which ends it. NULL: `MICA_INVALID` (no world, no list, an alignment that is none),
/// `MICA_OUT_OF_MEMORY`; `MICA_LOCKED` inside a tick. The world's thread. O(what there is to be room for).
MICA_API mica_extract *mica_extract_create(mica_world *world, const mica_extract_def *def);

/// Ends an extract before its world; the reader has stopped by then. NULL is allowed. Inside a tick it stays
/// (`MICA_LOCKED`, as the last error). The world's thread. O(1).
MICA_API void mica_extract_destroy(mica_extract *extract);

// Writing, inside systems

/// The frame that is filled in this tick, empty at first. Whoever asks for it lets it be published when the tick has
/// completed, whether or not anything was added; if nobody does, the latest one stays. NULL: `MICA_INVALID` (an extract
/// of another world, or a stop function). O(1).
MICA_API mica_frame *mica_run_frame(mica_run *run, mica_extract *extract);

/// Adds `count` items to a list and returns the first of them, to be filled in; good until the next items are added to
/// the list. Systems that run side by side may add to different lists; those that add to the same one are put in order
/// by `before` or `after`, or by an access of theirs (system.h). NULL: `MICA_INVALID` (no such list, items of another
/// size, a negative count), `MICA_LIMIT` (2^31 items), `MICA_OUT_OF_MEMORY`; the list is as it was. O(1), amortised.
MICA_API void *mica_frame_add_items(mica_frame *frame, int32_t list, uint32_t item_byte_size, int32_t count);
/// As `mica_frame_add_items`, as a `T *`.
#define mica_frame_add(FRAME, LIST, T, COUNT) ((T *)mica_frame_add_items((FRAME), (LIST), (uint32_t)sizeof(T), (COUNT)))

// Reading: who asks for frames is one thread at a time, any one

/// The latest frame that was published, good for reading, also by several threads at once, until the next call; NULL:
/// there is none yet (no error), or `MICA_INVALID` (no extract). Does not wait. O(1).
MICA_API const mica_frame *mica_extract_latest(mica_extract *extract);

/// When a frame is of.
typedef struct mica_frame_info {
    uint64_t number;     ///< of the frame, from 1, one more with each that was published; never goes back
    uint64_t tick;       ///< ticks completed; goes back with a restore
    float delta_seconds; ///< length of the tick
    bool is_paused;      ///< of a step of the paused world
    /// How far the clock stood behind the tick, in ticks, as `mica_world_alpha` after `mica_world_advance`; one more
    /// for each tick that the call was still to run, so that frames that are soon passed over are told by 1 and above.
    double alpha;
} mica_frame_info;

/// When a frame is of; all zero for NULL (`MICA_INVALID`). O(1).
MICA_API mica_frame_info mica_frame_describe(const mica_frame *frame);

/// The items of a list and, if that is not NULL, their number. NULL: there are none (no error), or `MICA_INVALID` (no
/// frame, no such list, items of another size). O(1).
MICA_API const void *mica_frame_items(const mica_frame *frame, int32_t list, uint32_t item_byte_size, int32_t *count);
/// As `mica_frame_items`, as a `const T *`.
#define mica_frame_list(FRAME, LIST, T, COUNT) \
    ((const T *)mica_frame_items((FRAME), (LIST), (uint32_t)sizeof(T), (COUNT)))

MICA_END

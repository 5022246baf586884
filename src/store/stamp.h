// The stamp of a column or of a page of a pool: the version of the last write to it, and whether it still equals an
// image that a snapshot has of it.
//
// A column that has been copied into an image, or made from one, names the image and has its stamp's highest bit set.
// Whoever writes to it stamps it with a version, or takes over the stamp of a value that moves in, and so takes the bit
// away: sharing costs those who write nothing. The bit alone decides; versions never do, since a column may be written
// again under the version that it was copied under. Nobody but the functions here compares stamps.
//
// Threads of a parallel loop write to parts of the same column, and look at its stamp while they do (base/atomic.h).
#pragma once

#include "base/atomic.h"

#include <mica/config.h>

#define MI_STAMP_NAMED (UINT64_C(1) << 63)

static inline uint64_t mi_stamp_version(uint64_t stamp) {
    return stamp & ~MI_STAMP_NAMED;
}
static inline bool mi_stamp_is_named(uint64_t stamp) {
    return (stamp & MI_STAMP_NAMED) != 0;
}

// Something was written; stores only if the stamp differs, since stores are what costs.
static inline void mi_stamp_mark(uint64_t *stamp, uint64_t version) {
    if (mi_load_stamp(stamp) != version) {
        mi_store_stamp(stamp, version);
    }
}

// A value moved in that may have changed as lately as another stamp says. Where neither names anything a compare is
// all there is to do, or nearly.
static inline void mi_stamp_take_over(uint64_t *stamp, uint64_t other) {
    const uint64_t own = *stamp;
    if (MICA_UNLIKELY(mi_stamp_is_named(own | other))) {
        const uint64_t own_version = mi_stamp_version(own);
        const uint64_t other_version = mi_stamp_version(other);
        *stamp = own_version < other_version ? other_version : own_version;
    } else if (own < other) {
        *stamp = other;
    }
}

// Something may be written that shall not count as changed.
static inline void mi_stamp_unname(uint64_t *stamp) {
    if (mi_stamp_is_named(mi_load_stamp(stamp))) {
        mi_clear_stamp(stamp, MI_STAMP_NAMED);
    }
}

// Rings of snapshots: an array that is used in the round, ascending by number.
#include "state/snapshot.h"

#include "base/array.h"

#define CAPACITY_DEFAULT 64
#define CAPACITY_MAX (1 << 20)

typedef struct ring_entry {
    uint64_t number;
    mica_snapshot *snapshot;
} ring_entry;

struct mica_ring {
    mica_world *world;
    mica_ring_def def;
    uint32_t capacity;
    uint32_t first; // place of the oldest
    uint32_t count;
    ring_entry entries[];
};

static size_t ring_size(uint32_t capacity) {
    return sizeof(mica_ring) + capacity * sizeof(ring_entry);
}

mica_ring *mica_ring_create(mica_world *world, const mica_ring_def *def) {
    const mica_ring_def defaults = {0};
    def = def == NULL ? &defaults : def;
    if (world == NULL) {
        mi_fail_plain(NULL, MICA_INVALID, __func__, "needs a world");
        return NULL;
    }
    if (def->capacity < 0 || def->capacity > CAPACITY_MAX) {
        mi_fail(&world->log, MICA_INVALID, __func__, "a capacity of {} is not between 0 and {}", MI_INT(def->capacity),
                MI_INT(CAPACITY_MAX));
        return NULL;
    }
    const uint32_t capacity = def->capacity == 0 ? CAPACITY_DEFAULT : (uint32_t)def->capacity;
    mica_ring *ring =
        mi_heap_allocate_zeroed(&world->heap, MICA_MEMORY_STATE, ring_size(capacity), _Alignof(mica_ring));
    if (ring == NULL) {
        mi_fail_memory(&world->log, __func__, ring_size(capacity));
        return NULL;
    }
    ring->world = world;
    ring->def = *def;
    ring->capacity = capacity;
    return ring;
}

// The entry that is `place` behind the oldest.
static ring_entry *entry_at(const mica_ring *ring, uint32_t place) {
    return (ring_entry *)(uintptr_t)&ring->entries[(ring->first + place) % ring->capacity];
}

static void drop_oldest(mica_ring *ring) {
    mica_snapshot_release(entry_at(ring, 0)->snapshot);
    ring->first = (ring->first + 1) % ring->capacity;
    ring->count--;
}

void mica_ring_destroy(mica_ring *ring) {
    if (ring == NULL) {
        return;
    }
    while (ring->count > 0) {
        drop_oldest(ring);
    }
    mi_heap_release(&ring->world->heap, MICA_MEMORY_STATE, ring, ring_size(ring->capacity), _Alignof(mica_ring));
}

// The place of the first entry whose number is not lower; the count: there is none.
static uint32_t find_place(const mica_ring *ring, uint64_t number) {
    uint32_t first = 0;
    uint32_t end = ring->count;
    while (first < end) {
        const uint32_t middle = first + (end - first) / 2;
        if (entry_at(ring, middle)->number < number) {
            first = middle + 1;
        } else {
            end = middle;
        }
    }
    return first;
}

static mica_result check_ring(const mica_ring *ring, const char *call) {
    return ring != NULL ? MICA_OK : mi_fail_plain(NULL, MICA_INVALID, call, "needs a ring");
}

mica_result mica_ring_take(mica_ring *ring, uint64_t number) {
    if (check_ring(ring, __func__) != MICA_OK) {
        return MICA_INVALID;
    }
    mica_snapshot *taken = mi_snapshot_take(ring->world, ring->def.options.leave_transient, __func__);
    if (taken == NULL) {
        return mica_last_result();
    }
    const size_t limit = ring->def.byte_limit;
    const bool is_over = limit > 0 && mi_vault_byte_size(taken->vault) > limit;
    const size_t byte_size = is_over ? mi_snapshot_byte_size(taken, false) : 0;
    if (byte_size > limit) {
        mica_snapshot_release(taken);
        return mi_fail(&ring->world->log, MICA_LIMIT, __func__,
                       "a snapshot of {} takes {} bytes, and the ring may have {}", MI_TEXT(ring->world->name),
                       MI_UINT(byte_size), MI_UINT(limit));
    }
    const uint32_t kept = find_place(ring, number);
    while (ring->count > kept) {
        mica_snapshot_release(entry_at(ring, --ring->count)->snapshot);
    }
    if (ring->count == ring->capacity) {
        drop_oldest(ring);
    }
    *entry_at(ring, ring->count++) = (ring_entry){.number = number, .snapshot = taken};
    while (limit > 0 && ring->count > 1 && mi_vault_byte_size(taken->vault) > limit) {
        drop_oldest(ring);
    }
    return MICA_OK;
}

mica_snapshot *mica_ring_find(const mica_ring *ring, uint64_t number) {
    if (check_ring(ring, __func__) != MICA_OK) {
        return NULL;
    }
    const uint32_t place = find_place(ring, number);
    return place < ring->count && entry_at(ring, place)->number == number ? entry_at(ring, place)->snapshot : NULL;
}

mica_result mica_ring_restore(mica_ring *ring, uint64_t number, const mica_restore_options *options) {
    if (check_ring(ring, __func__) != MICA_OK) {
        return MICA_INVALID;
    }
    mica_snapshot *found = mica_ring_find(ring, number);
    if (found == NULL) {
        return mi_fail(&ring->world->log, MICA_ABSENT, __func__, "the ring of {} has no snapshot with number {}",
                       MI_TEXT(ring->world->name), MI_UINT(number));
    }
    return mica_snapshot_restore(found, ring->world, options);
}

mica_ring_stats mica_ring_statistics(const mica_ring *ring) {
    mica_ring_stats stats = {0};
    if (check_ring(ring, __func__) != MICA_OK || ring->count == 0) {
        return stats;
    }
    stats.count = (int32_t)ring->count;
    stats.first_number = entry_at(ring, 0)->number;
    stats.last_number = entry_at(ring, ring->count - 1)->number;
    stats.byte_size = mi_vault_byte_size(entry_at(ring, ring->count - 1)->snapshot->vault);
    return stats;
}

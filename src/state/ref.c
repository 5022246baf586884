// References that survive restores: a handle with the epoch in which it was seen.
#include "state/state.h"

// A world of which no snapshot was ever taken is in its first epoch.
static uint64_t present_epoch(const mica_world *world) {
    const mi_state *state = world == NULL ? NULL : mi_state_find(world);
    return state == NULL ? 1 : state->epoch_range.last;
}

static bool is_remembered(const mica_world *world, uint64_t epoch) {
    const mi_state *state = mi_state_find(world);
    if (state == NULL) {
        return epoch == 1;
    }
    return (epoch >= state->epoch_range.first && epoch <= state->epoch_range.last) ||
           mi_epochs_have(state->epochs, epoch);
}

mica_ref mica_ref_of(const mica_world *world, mica_entity entity) {
    uint32_t location = 0;
    if (mi_world_resolve(world, entity, &location, __func__) != MICA_OK) {
        return (mica_ref){.entity = MICA_NULL};
    }
    return (mica_ref){.entity = entity, .epoch = present_epoch(world)};
}

mica_entity mica_ref_entity(const mica_world *world, mica_ref ref) {
    uint32_t location = 0;
    if (mi_world_resolve(world, ref.entity, &location, __func__) != MICA_OK) {
        return MICA_NULL;
    }
    if (!is_remembered(world, ref.epoch)) {
        mi_fail(&world->log, MICA_STALE, __func__, "{} was taken in an epoch that a restore has discarded",
                MI_ENTITY(ref.entity));
        return MICA_NULL;
    }
    return ref.entity;
}

// Epochs; see epochs.h.
//
// A list that has become too long forgets its second range, not the first: what was seen before all restores that are
// remembered is the most of what programs hold on to.
#include "state/epochs.h"

#include <mica/snapshot.h>

#include <string.h>

mi_epochs *mi_epochs_retain(mi_epochs *epochs) {
    if (epochs != NULL) {
        epochs->reference_count++;
    }
    return epochs;
}

void mi_epochs_release(mi_epochs *epochs) {
    if (epochs != NULL && --epochs->reference_count == 0) {
        mi_vault *vault = epochs->vault;
        mi_vault_give(vault, epochs);
        mi_vault_release(vault);
    }
}

mi_epochs *mi_epochs_extend(mi_vault *vault, const mi_epochs *epochs, mi_epoch_range range) {
    const uint32_t old_count = epochs == NULL ? 0 : epochs->count;
    const bool forgets = old_count >= MICA_EPOCH_RANGE_MAX;
    const uint32_t count = forgets ? old_count : old_count + 1;
    mi_epochs *made = mi_vault_take(vault, sizeof(mi_epochs) + count * sizeof(mi_epoch_range));
    if (made == NULL) {
        return NULL;
    }
    *made = (mi_epochs){.vault = mi_vault_retain(vault), .reference_count = 1, .count = count};
    if (old_count > 0) {
        made->ranges[0] = epochs->ranges[0];
        const uint32_t skipped = forgets ? 1 : 0;
        memcpy(made->ranges + 1, epochs->ranges + 1 + skipped, (count - 2) * sizeof(mi_epoch_range));
    }
    made->ranges[count - 1] = range;
    return made;
}

bool mi_epochs_have(const mi_epochs *epochs, uint64_t epoch) {
    uint32_t first = 0;
    uint32_t end = epochs == NULL ? 0 : epochs->count;
    while (first < end) { // the first range that does not end before it
        const uint32_t middle = first + (end - first) / 2;
        if (epochs->ranges[middle].last < epoch) {
            first = middle + 1;
        } else {
            end = middle;
        }
    }
    return epochs != NULL && first < epochs->count && epochs->ranges[first].first <= epoch;
}

// Pools are not captured yet.
#include "state/capture.h"
#include "state/restore.h"

bool mi_pools_capture(mi_capture *capture, mica_snapshot *snapshot) {
    (void)capture;
    (void)snapshot;
    return true;
}
bool mi_pools_prepare(mi_restore *restore) {
    (void)restore;
    return true;
}
void mi_pools_commit(mi_restore *restore) {
    (void)restore;
}
void mi_pools_cancel(mi_restore *restore) {
    (void)restore;
}

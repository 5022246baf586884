// Telling of restores: those who have to know what a restore changes, and observers if that is asked for.
//
// The library's own listeners (indexes, subscriptions, trackers of changes) are always told, so that what they know is
// right afterwards and subscriptions list just what differs; programs' observers only on request. What goes is told
// while all is as it was, what comes when all is in place.
#pragma once

#include "state/restore.h"

// Finds out what there is to be told, if anybody listens; false: out of memory. It comes before everything else is
// prepared: observers may write values that are about to go, and that must not void what hooks have copied ahead.
bool mi_telling_prepare(mi_restore *restore);
void mi_telling_before(mi_restore *restore);
void mi_telling_after(mi_restore *restore);
void mi_telling_cancel(mi_restore *restore);

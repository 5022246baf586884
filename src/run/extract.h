// Extracts of a world, as its steps see them.
#pragma once

#include "run/system.h"

#include <mica/extract.h>

// A step has ended: frames that systems have asked for are published, or emptied if the step failed. No system runs.
void mi_extracts_end_step(mi_systems *systems, float delta_seconds, bool has_failed);

// Ends all extracts; the world is about to end.
void mi_extracts_free(mi_systems *systems);

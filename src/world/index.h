// Indexes of fields, as the rest of the world sees them.
#pragma once

#include "world/world.h"

// The world's last open walk has ended: what it may have written is looked at.
void mi_world_walk_ended(mica_world *world);

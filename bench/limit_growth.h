// What entities take in hand-written storage that does not know beforehand how many there will be.
#pragma once

#include "harness.h"

extern const bench_side limit_growth; ///< weigh n entities with a position and a velocity in arrays that double

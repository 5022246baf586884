// The table that `mica run --stats` prints.
#pragma once

#include <mica/world.h>

#include <stdbool.h>
#include <stdio.h>

// Prints counts, where memory is, and what each system did, in the order in which they run. False: out of memory.
bool statistics_print(mica_world *world, FILE *file);

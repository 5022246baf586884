// Where a world's memory is, as `mica run --stats` and `mica dump --memory` print it.
#pragma once

#include <mica/world.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

// Prints a count with its name to the left.
void report_count(FILE *file, const char *name, uint64_t count);

// Prints bytes by purpose and for an entity, how well what is held is used, and a line for each table and each pool.
// False: out of memory.
bool memory_report_print(mica_world *world, FILE *file);

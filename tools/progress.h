// A bar on a terminal that shows how far a run is.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct progress {
    FILE *file; // NULL: nobody watches
    int64_t total;
    int32_t shown; // percent; -1: nothing yet
} progress;

// A bar on standard error, if that is a terminal.
progress progress_start(int64_t total);

// Draws anew whenever another percent is done.
void progress_show(progress *bar, int64_t done);

// Takes the bar away.
void progress_end(progress *bar);

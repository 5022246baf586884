// Words that functions of a test leave behind, apart by blanks, to be compared in the order in which they came.
#pragma once

#include <stdio.h>
#include <string.h>

static char notes[4096];

static inline void note(const char *word) {
    const size_t length = strlen(notes);
    snprintf(notes + length, sizeof(notes) - length, "%s%s", length > 0 ? " " : "", word);
}

// What was noted since the last call.
static inline const char *take_notes(void) {
    static char taken[sizeof(notes)];
    memcpy(taken, notes, sizeof(notes));
    notes[0] = 0;
    return taken;
}

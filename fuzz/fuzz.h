// What a harness defines, and how it says that something does not hold.
#pragma once

#include <mica/mica.h>

#include "support/test_allocator.h"

#include <stdio.h>
#include <stdlib.h>

// Called with each input, in memory of exactly its size. Returns 0. (The name is libFuzzer's.)
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t byte_size);

// Ends the process where the condition does not hold, so that libFuzzer keeps the input. The text tells more; may be
// "".
#define FUZZ_CHECK(CONDITION, TEXT)                                                           \
    do {                                                                                      \
        if (!(CONDITION)) {                                                                   \
            (void)fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #CONDITION, (TEXT)); \
            abort();                                                                          \
        }                                                                                     \
    } while (0)

// Every invariant of the world holds.
#define FUZZ_CHECK_WORLD(WORLD) FUZZ_CHECK(mica_world_validate(WORLD) == MICA_OK, mica_last_error())

// All memory has come back as it was handed out.
#define FUZZ_CHECK_MEMORY(ALLOCATOR)                                          \
    do {                                                                      \
        FUZZ_CHECK((ALLOCATOR)->fault == NULL, (ALLOCATOR)->fault);           \
        FUZZ_CHECK((ALLOCATOR)->live_count == 0, "memory has not come back"); \
    } while (0)

// What systems of tests say. They may run on several threads, where an assertion would end the wrong one: they fail the
// tick, and who steps the world asserts that it did not.
#pragma once

#include <mica/system.h>

// Fails the tick with the last error unless what was to hold does.
static inline void must(mica_run *run, bool holds) {
    if (!holds) {
        mica_run_fail(run, mica_last_result(), mica_last_error());
    }
}

// To be called behind walks, which do nothing where there is no memory to open them: the error was cleared before.
static inline void must_have_walked(mica_run *run) {
    must(run, mica_last_result() != MICA_OUT_OF_MEMORY);
}

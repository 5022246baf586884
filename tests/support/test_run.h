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

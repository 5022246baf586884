// Definitions of systems that are kept.
#pragma once

#include <mica/system.h>

#include "base/heap.h"

// A copy, with its texts; NULL: out of memory. Sets no error.
mica_system_def *mi_definition_copy(mi_heap *heap, const mica_system_def *def);
void mi_definition_free(mi_heap *heap, mica_system_def *def);

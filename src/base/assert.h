// Checks of internal invariants: on in debug and sanitizer builds (MI_DEBUG), nothing elsewhere.
#pragma once

#if defined(MI_DEBUG) && MI_DEBUG
#include <assert.h>
#define MI_ASSERT(CONDITION) assert(CONDITION)
#else
#define MI_ASSERT(CONDITION) ((void)0)
#endif

// Checks of internal invariants: on in debug and sanitizer builds (MI_DEBUG), nothing elsewhere; analysers take them as
// said.
#pragma once

#include <stdbool.h>

#if defined(MI_DEBUG) && MI_DEBUG
#include <assert.h>
#define MI_ASSERT(CONDITION) assert(CONDITION)
#elif defined(__clang_analyzer__)
#define MI_ASSERT(CONDITION) ((CONDITION) ? (void)0 : __builtin_unreachable())
#else
#define MI_ASSERT(CONDITION) ((void)0)
#endif

#if defined(MI_DEBUG) && MI_DEBUG
#define MI_IS_DEBUG true
#else
#define MI_IS_DEBUG false
#endif

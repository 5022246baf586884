/// \file config.h
/// Version, export and language macros, and the width of handles. Every other header includes this one.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MICA_VERSION_MAJOR 0
#define MICA_VERSION_MINOR 1
#define MICA_VERSION_PATCH 0
#define MICA_VERSION_TEXT "0.1.0"
/// The version as one number that grows with every release: 1.2.3 is 10203.
#define MICA_VERSION (MICA_VERSION_MAJOR * 10000 + MICA_VERSION_MINOR * 100 + MICA_VERSION_PATCH)

// Whoever builds the library into one of their own may define it to keep the functions to themselves.
#ifndef MICA_API
#if defined(__GNUC__)
#define MICA_API __attribute__((visibility("default")))
#else
#define MICA_API
#endif
#endif

#if defined(__GNUC__)
#define MICA_UNUSED __attribute__((unused))
#define MICA_USED __attribute__((used))
#define MICA_LIKELY(X) __builtin_expect(!!(X), 1)
#define MICA_UNLIKELY(X) __builtin_expect(!!(X), 0)
/// For what is true, where the compiler does not see it.
#define MICA_ASSUME(X) ((X) ? (void)0 : __builtin_unreachable())
/// Lets the compiler know nothing of where the value of a variable comes from.
#define MICA_OPAQUE(X) __asm__("" : "+r"(X))
/// A static function of a header that is rarely called: out of the way of those who include it.
#define MICA_APART __attribute__((noinline, cold, unused)) static
#else
#define MICA_UNUSED
#define MICA_USED
#define MICA_LIKELY(X) (X)
#define MICA_UNLIKELY(X) (X)
#define MICA_ASSUME(X) ((void)0)
#define MICA_OPAQUE(X) ((void)(X))
#define MICA_APART static inline
#endif

#ifdef __cplusplus
#define MICA_BEGIN extern "C" {
#define MICA_END }
#define MICA_ALIGNOF(T) alignof(T)
#define MICA_ZERO = {}
#else
#define MICA_BEGIN
#define MICA_END
#define MICA_ALIGNOF(T) _Alignof(T)
#define MICA_ZERO
#endif

/// Width of a handle in bits: 64 (32 of index, 32 of generation) or 32 (`MICA_INDEX_BITS` of index, the rest
/// generation). A program and its library must agree; see `MICA_ABI_SYMBOL`.
#ifndef MICA_ENTITY_BITS
#define MICA_ENTITY_BITS 64
#endif

#if MICA_ENTITY_BITS == 64
#undef MICA_INDEX_BITS
#define MICA_INDEX_BITS 32
#elif MICA_ENTITY_BITS == 32
#ifndef MICA_INDEX_BITS
#define MICA_INDEX_BITS 22
#endif
#if MICA_INDEX_BITS < 20 || MICA_INDEX_BITS > 24
#error "MICA_INDEX_BITS must be 20 to 24"
#endif
#else
#error "MICA_ENTITY_BITS must be 64 or 32"
#endif

#define MICA_ABI_PASTE_(BITS, INDEX) mica_abi_handles_of_##BITS##_bits_with_index_of_##INDEX
#define MICA_ABI_PASTE(BITS, INDEX) MICA_ABI_PASTE_(BITS, INDEX)
/// A symbol that only a library built for the same handles exports. Every file that includes a Mica header refers to
/// it, so that a program or a plugin built for other handles fails to link or to load, and the message names what was
/// expected.
#define MICA_ABI_SYMBOL MICA_ABI_PASTE(MICA_ENTITY_BITS, MICA_INDEX_BITS)

MICA_BEGIN

/// Exists in a library built for these handles; see `MICA_ABI_SYMBOL`.
extern MICA_API const char MICA_ABI_SYMBOL;
static const char *const mica_abi_anchor MICA_USED = &MICA_ABI_SYMBOL;

/// The library's version, as `MICA_VERSION` was when it was built. O(1), any thread.
MICA_API int32_t mica_version(void);

MICA_END

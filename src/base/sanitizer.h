// What the address sanitizer is told. MI_ADDRESS_SANITIZER is 1 in builds that have it, else 0.
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#define MI_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MI_ADDRESS_SANITIZER 1
#endif
#endif
#ifndef MI_ADDRESS_SANITIZER
#define MI_ADDRESS_SANITIZER 0
#endif

// Bytes that nobody may touch until they are unpoisoned.
#if MI_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#define MI_POISON(MEMORY, BYTE_SIZE) ASAN_POISON_MEMORY_REGION((MEMORY), (BYTE_SIZE))
#define MI_UNPOISON(MEMORY, BYTE_SIZE) ASAN_UNPOISON_MEMORY_REGION((MEMORY), (BYTE_SIZE))
#else
#define MI_POISON(MEMORY, BYTE_SIZE) ((void)(MEMORY), (void)(BYTE_SIZE))
#define MI_UNPOISON(MEMORY, BYTE_SIZE) ((void)(MEMORY), (void)(BYTE_SIZE))
#endif

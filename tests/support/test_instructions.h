// Work counted in instructions, which do not depend on how busy the machine is.
//
// valgrind runs the calling program again, with arguments that tell its main function to do the work that is counted
// and nothing else. Sanitizers and valgrind do not go together: where TEST_IS_SANITIZED, tests that count are skipped.
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TEST_IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TEST_IS_SANITIZED 1
#endif
#endif
#ifndef TEST_IS_SANITIZED
#define TEST_IS_SANITIZED 0
#endif

// What a program exits with that cannot run where it is.
enum { TEST_SKIPPED = 77 };

// The instructions of this program when it is run with these arguments, each of which stands for itself in a shell's
// quotes. Fails the test if it does not exit with 0, or valgrind cannot be run.
double test_count_instructions(const char *first_argument, const char *second_argument);

// An allocator for tests: counts, fails on request, and checks what is given back.
//
//   test_allocator allocator;
//   test_allocator_init(&allocator);
//   const mica_allocator hooks = test_allocator_hooks(&allocator);
//   ... create with &hooks, use, destroy ...
//   test_allocator_finish(&allocator);     // fails the test if anything leaked or was given back wrongly
//
// A sweep over all failures of an operation:
//
//   for (uint64_t n = 1;; n++) {
//       test_allocator_fail_at(&allocator, n);             // the n-th allocation from now fails
//       const mica_result result = ...;
//       if (!test_allocator_fail_stop(&allocator)) break;  // it was never reached: the operation is through
//       assert_int_equal(result, MICA_OUT_OF_MEMORY);      // and check that nothing has changed
//   }
//
// Memory handed out is filled with 0xA5 and memory given back with 0xDD, so that nothing relies on zeros or on what is
// gone. Not thread-safe.
#pragma once

#include <mica/memory.h>

typedef struct test_block test_block;

typedef struct test_allocator {
    size_t live_bytes; // asked for and not given back
    size_t live_count;
    size_t peak_bytes;
    uint64_t call_count;         // allocations asked for, failed ones included
    uint64_t fail_count;         // allocations that failed on request
    uint64_t fail_from, fail_to; // numbers of the calls that fail; 0: none
    const char *fault;           // the first wrong thing given back, or NULL
    test_block *blocks;
} test_allocator;

void test_allocator_init(test_allocator *allocator);

// Hooks that refer to `allocator`, which has to outlive their users.
mica_allocator test_allocator_hooks(test_allocator *allocator);

// The n-th allocation from now fails, those after it work again. 1 is the next one.
void test_allocator_fail_at(test_allocator *allocator, uint64_t n);
// The n-th allocation from now and all after it fail.
void test_allocator_fail_from(test_allocator *allocator, uint64_t n);
// No allocation fails any more. True if one did since the last test_allocator_fail_at or test_allocator_fail_from.
bool test_allocator_fail_stop(test_allocator *allocator);

// Asserts that everything has come back, with the sizes and alignments it was asked with. Frees what has not.
void test_allocator_finish(test_allocator *allocator);

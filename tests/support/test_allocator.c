// A block stands in a list of its allocator and has its own record right in front of it: size, alignment, and a mark
// that tells a block from a stray address. The record is wiped when the block comes back, so that a second time is
// seen.
#include "support/test_allocator.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BLOCK_MARK UINT64_C(0x6d6963615f746573)

struct test_block {
    _Alignas(max_align_t) uint64_t mark;
    test_allocator *owner;
    void *base; // what malloc gave
    size_t byte_size, alignment;
    test_block *next, *previous;
};

static void note_fault(test_allocator *allocator, const char *fault) {
    if (allocator->fault == NULL) {
        allocator->fault = fault;
    }
}

static void *test_allocate(void *user, size_t byte_size, size_t alignment) {
    test_allocator *allocator = user;
    if (byte_size == 0 || alignment == 0 || (alignment & (alignment - 1)) != 0) {
        note_fault(allocator, "asked for a size of 0, or an alignment that is no power of two");
        return NULL;
    }
    const uint64_t call = ++allocator->call_count;
    if (allocator->fail_from != 0 && call >= allocator->fail_from && call <= allocator->fail_to) {
        allocator->fail_count++;
        return NULL;
    }
    // The record in front of the block has to be aligned too.
    const size_t record_alignment = alignment > _Alignof(test_block) ? alignment : _Alignof(test_block);
    const size_t spare = sizeof(test_block) + record_alignment;
    if (byte_size > SIZE_MAX - spare) {
        return NULL;
    }
    unsigned char *base = malloc(spare + byte_size);
    if (base == NULL) {
        return NULL;
    }
    // As near to the end of the memory as the alignment allows, so that a sanitizer sees what is written behind a
    // block.
    unsigned char *memory = base + spare;
    memory -= (uintptr_t)memory & (record_alignment - 1);
    test_block *block = (void *)(memory - sizeof(test_block));
    *block = (test_block){.mark = BLOCK_MARK,
                          .owner = allocator,
                          .base = base,
                          .byte_size = byte_size,
                          .alignment = alignment,
                          .next = allocator->blocks};
    if (block->next != NULL) {
        block->next->previous = block;
    }
    allocator->blocks = block;
    allocator->live_count++;
    allocator->live_bytes += byte_size;
    if (allocator->live_bytes > allocator->peak_bytes) {
        allocator->peak_bytes = allocator->live_bytes;
    }
    memset(memory, 0xA5, byte_size);
    return memory;
}

static void test_release(void *user, void *memory, size_t byte_size, size_t alignment) {
    test_allocator *allocator = user;
    if (memory == NULL) {
        note_fault(allocator, "gave back NULL");
        return;
    }
    test_block *block = (void *)((unsigned char *)memory - sizeof(test_block));
    if (block->mark != BLOCK_MARK || block->owner != allocator) {
        note_fault(allocator, "gave back what this allocator did not hand out, or twice");
        return;
    }
    if (block->byte_size != byte_size || block->alignment != alignment) {
        note_fault(allocator, "gave back with another size or alignment than was asked for");
    }
    if (block->next != NULL) {
        block->next->previous = block->previous;
    }
    if (block->previous != NULL) {
        block->previous->next = block->next;
    } else {
        allocator->blocks = block->next;
    }
    allocator->live_count--;
    allocator->live_bytes -= block->byte_size;
    block->mark = 0;
    memset(memory, 0xDD, block->byte_size);
    free(block->base);
}

void test_allocator_init(test_allocator *allocator) {
    memset(allocator, 0, sizeof(*allocator));
}

mica_allocator test_allocator_hooks(test_allocator *allocator) {
    return (mica_allocator){.allocate = test_allocate, .release = test_release, .user = allocator};
}

void test_allocator_fail_at(test_allocator *allocator, uint64_t n) {
    allocator->fail_count = 0;
    allocator->fail_from = allocator->call_count + n;
    allocator->fail_to = allocator->fail_from;
}

void test_allocator_fail_from(test_allocator *allocator, uint64_t n) {
    test_allocator_fail_at(allocator, n);
    allocator->fail_to = UINT64_MAX;
}

bool test_allocator_fail_stop(test_allocator *allocator) {
    const bool did_fail = allocator->fail_count != 0;
    allocator->fail_count = 0;
    allocator->fail_from = 0;
    allocator->fail_to = 0;
    return did_fail;
}

void test_allocator_finish(test_allocator *allocator) {
    const size_t live_bytes = allocator->live_bytes;
    const size_t live_count = allocator->live_count;
    const char *fault = allocator->fault;
    while (allocator->blocks != NULL) {
        test_block *block = allocator->blocks;
        allocator->blocks = block->next;
        free(block->base);
    }
    test_allocator_init(allocator);
    if (fault != NULL) {
        fail_msg("the allocator's user %s", fault);
    }
    if (live_count != 0) {
        fail_msg("%zu blocks of %zu bytes have not come back", live_count, live_bytes);
    }
}

// A type whose values keep book: whether each lives, and where. Any set of hooks can be given to it; values of types
// that are copied by bytes and end without a hook have nothing to keep book of: they carry entry 0, as do those that
// are made of zeros.
#pragma once

#include <mica/type.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { HAS_CONSTRUCT = 1, HAS_DESTRUCT = 2, HAS_MOVE = 4, HAS_COPY = 8, SUBSET_COUNT = 16 };
enum { ENTRY_MAX = 4096 };

typedef struct Booked {
    uint32_t entry; // of the book
    int32_t number;
} Booked;

typedef struct book_entry {
    bool is_live;
    const Booked *place;
} book_entry;

static struct {
    book_entry entries[ENTRY_MAX];
    uint32_t count; // entry 0 is none
    uint32_t live;
    int32_t fail_at; // which value from now a hook cannot make; 0: none
    const char *fault;
} book;

static void book_note(const char *fault) {
    book.fault = book.fault == NULL ? fault : book.fault;
}

static bool keeps_book(uint32_t subset) {
    return (subset & (HAS_DESTRUCT | HAS_COPY)) != 0;
}

static bool is_move_only(uint32_t subset) {
    return (subset & HAS_DESTRUCT) != 0 && (subset & HAS_COPY) == 0;
}

static Booked book_enter(uint32_t subset, const Booked *place, int32_t number) {
    if (!keeps_book(subset)) {
        return (Booked){0, number};
    }
    assert_true(book.count + 1 < ENTRY_MAX);
    book.entries[++book.count] = (book_entry){true, place};
    book.live++;
    return (Booked){book.count, number};
}

// The entry of a value that must live at its address, as far as anybody was told where that is.
static book_entry *book_find(uint32_t subset, const Booked *value) {
    if (value->entry == 0) {
        return NULL;
    }
    if (value->entry > book.count || !book.entries[value->entry].is_live) {
        book_note("a value is used that has ended or never was");
        return NULL;
    }
    book_entry *entry = &book.entries[value->entry];
    if ((subset & HAS_MOVE) != 0 && entry->place != value) {
        book_note("a value is used where it does not live");
    }
    return entry;
}

static void book_end(uint32_t subset, Booked *value) {
    book_entry *entry = book_find(subset, value);
    if (entry != NULL) {
        entry->is_live = false;
        book.live--;
    }
    *value = (Booked){UINT32_MAX, -99};
}

static uint32_t book_subset(const mica_hook_context *context) {
    return *(const uint32_t *)context->user;
}

static bool book_fails(void) {
    return book.fail_at > 0 && --book.fail_at == 0;
}

static bool book_construct(void *values, int32_t count, const mica_hook_context *context) {
    Booked *to = values;
    for (int32_t i = 0; i < count; i++) {
        if (book_fails()) {
            while (i-- > 0) {
                book_end(book_subset(context), &to[i]);
            }
            return false;
        }
        to[i] = book_enter(book_subset(context), &to[i], -1);
    }
    return true;
}

static void book_destruct(void *values, int32_t count, const mica_hook_context *context) {
    for (int32_t i = 0; i < count; i++) {
        book_end(book_subset(context), (Booked *)values + i);
    }
}

static void book_move(void *to, void *from, int32_t count, const mica_hook_context *context) {
    for (int32_t i = 0; i < count; i++) {
        Booked *source = (Booked *)from + i;
        Booked *target = (Booked *)to + i;
        book_entry *entry = book_find(book_subset(context), source);
        if (entry != NULL) {
            entry->place = target;
        }
        *target = *source;
        *source = (Booked){UINT32_MAX, -98};
    }
}

static bool book_copy(void *to, const void *from, int32_t count, const mica_hook_context *context) {
    const Booked *source = from;
    Booked *target = to;
    for (int32_t i = 0; i < count; i++) {
        if (book_fails()) {
            while (i-- > 0) {
                book_end(book_subset(context), &target[i]);
            }
            return false;
        }
        book_find(book_subset(context), &source[i]);
        target[i] = book_enter(book_subset(context), &target[i], source[i].number);
    }
    return true;
}

static inline void book_start(void) {
    book.count = 0;
    book.live = 0;
    book.fail_at = 0;
    book.fault = NULL;
}

// The hooks of a set; `subset` has to outlive their users.
static inline mica_hooks book_hooks(uint32_t *subset) {
    return (mica_hooks){.construct = (*subset & HAS_CONSTRUCT) != 0 ? book_construct : NULL,
                        .destruct = (*subset & HAS_DESTRUCT) != 0 ? book_destruct : NULL,
                        .move = (*subset & HAS_MOVE) != 0 ? book_move : NULL,
                        .copy = (*subset & HAS_COPY) != 0 ? book_copy : NULL,
                        .user = subset};
}

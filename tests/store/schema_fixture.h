// A schema whose memory is watched, and what tests of schemas say often.
#pragma once

#include "store/schema.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "support/test_allocator.h"

typedef struct fixture {
    test_allocator allocator;
    mica_schema *schema;
} fixture;

static inline int set_up(void **state) {
    static fixture f;
    test_allocator_init(&f.allocator);
    f.schema = mica_schema_create(&(mica_schema_def){.allocator = test_allocator_hooks(&f.allocator)});
    assert_non_null(f.schema);
    mica_error_clear();
    *state = &f;
    return 0;
}

static inline int tear_down(void **state) {
    fixture *f = *state;
    mica_schema_release(f->schema);
    test_allocator_finish(&f->allocator);
    return 0;
}

// A descriptor as another library would have it: other addresses, the same words.
static inline mica_type copy_of(const mica_type *type) {
    mica_type copy = *type;
    copy.cache = 0;
    return copy;
}

static inline mica_type data_type(const char *name, uint32_t size, uint32_t align) {
    return (mica_type){.name = name, .size = size, .align = align, .kind = MICA_KIND_STRUCT};
}

static inline void assert_refused(mica_schema *schema, mica_type *type, mica_result code, const char *text) {
    const int32_t before = mica_schema_count(schema);
    mica_error_clear();
    assert_int_equal(mica_schema_register(schema, type), 0);
    assert_int_equal(mica_last_result(), code);
    assert_non_null(strstr(mica_last_error(), text));
    assert_int_equal(mica_schema_count(schema), before);
}

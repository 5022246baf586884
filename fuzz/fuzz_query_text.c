// Fuzzes the texts of queries. An input is a text, up to its first zero; the world knows the names in `names`, half of
// them tags, half of the tags and of the others in pools.
//
// Whatever the bytes are: a text is refused with a byte inside it, as malformed, unknown, over the limit, or for what
// it asks, and then no query is made; or it is a query's, whose own text finds it again, as does the text with white
// space around it.
#include "fuzz.h"

#include <string.h>

MICA_STRUCT(Value, { int32_t number; });
MICA_TAG(Mark);

static const char *const names[] = {
    "A",  "B",       "Name", "Mark of its own", "a, b",     "[write] A", "!A", "?",     "\"",
    "\\", " blank ", "]",    "any 1",           "\xc3\xa9", "[a]",       ",",  "\"q\"", "tab\t"};

// The query of a text, borrowed; NULL: refused.
static mica_query *find(mica_world *world, const char *text) {
    mica_query *query = mica_query_create_text(world, text);
    mica_query_release(query);
    return query;
}

static void check_refusal(const mica_world *world, const char *text) {
    const mica_result result = mica_last_result();
    FUZZ_CHECK(result == MICA_FORMAT || result == MICA_UNKNOWN || result == MICA_INVALID || result == MICA_LIMIT,
               mica_last_error());
    const char *place = strstr(mica_last_error(), ": byte ");
    FUZZ_CHECK(place != NULL, mica_last_error());
    FUZZ_CHECK(strtoull(place + strlen(": byte "), NULL, 10) <= strlen(text), mica_last_error());
    FUZZ_CHECK(mica_world_statistics(world).query_count == 0, "a text that is refused made a query");
}

static void check_query(mica_world *world, mica_query *query, const char *text) {
    FUZZ_CHECK(mica_last_result() == MICA_OK, mica_last_error());
    FUZZ_CHECK(find(world, mica_query_text(query)) == query, mica_query_text(query));
    const size_t byte_size = strlen(text);
    char *wide = malloc(byte_size + 4);
    FUZZ_CHECK(wide != NULL, "");
    memcpy(wide, "\n ", 2);
    memcpy(wide + 2, text, byte_size);
    memcpy(wide + 2 + byte_size, "\t", 2);
    FUZZ_CHECK(find(world, wide) == query, wide);
    free(wide);
    FUZZ_CHECK(mica_world_statistics(world).query_count == 1, "one text made several queries");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t byte_size) {
    test_allocator allocator;
    test_allocator_init(&allocator);
    mica_world *world = mica_world_create(&(mica_world_def){.allocator = test_allocator_hooks(&allocator)});
    FUZZ_CHECK(world != NULL, "");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const mica_traits traits = {.storage = i / 2 % 2 == 0 ? MICA_TABLE : MICA_POOL};
        const mica_type *type = i % 2 == 0 ? mica_type_of(Value) : mica_type_of(Mark);
        FUZZ_CHECK(mica_schema_register_named(mica_world_schema(world), type, names[i], &traits) != 0,
                   mica_last_error());
    }
    char *text = malloc(byte_size + 1);
    FUZZ_CHECK(text != NULL, "");
    if (byte_size > 0) {
        memcpy(text, bytes, byte_size);
    }
    text[byte_size] = '\0';
    mica_error_clear();
    mica_query *query = find(world, text);
    if (query == NULL) {
        check_refusal(world, text);
    } else {
        check_query(world, query, text);
    }
    free(text);
    FUZZ_CHECK_WORLD(world);
    mica_world_destroy(world);
    FUZZ_CHECK_MEMORY(&allocator);
    return 0;
}

// Queries as texts: written for people, and read again for tools and scripts.
//
//     query  = nothing | term { "," term }
//     term   = "[disabled too]" | "[disabled only]" | "!" name | [ "[write]" ] "?" name | [ "[any N]" ] [ use ] name
//     use    = "[read]" | "[write]" | "[with]" | "[marked]" | "[changed]" | "[added]" | "[removed]"
//     name   = what stands up to the next comma | '"' anything, with \" and \\ for these two '"'
//
// White space may stand between all of these, and around the words in brackets; it belongs to a name only inside. What
// is written is the shortest of these texts, and reading it finds the same query. Reading goes over a text once, from
// left to right, ends at the first fault, and keeps nothing but the terms: no text makes it recurse or allocate.
#include "base/text.h"
#include "world/query.h"

#include <string.h>

#define SPACE " \t\n\v\f\r"
// What a name without quotes does not begin with, and what ends a word in brackets.
#define NAME_MARKS "[!?,\""
#define WORD_ENDS SPACE "[],"

static const char *const use_marks[] = {"", "", "[write] ", "[with] ", "!", "?", "[write] ?"};
static const char *const ask_marks[] = {"[changed] ", "[added] ", "[removed] "}; // by the bits of MI_ASKS_...
static const char *const disabled_marks[] = {"", "[disabled too]", "[disabled only]"};

// Whether one of `bytes` stands at `at`; the end of the text is none.
static bool is_one_of(const char *at, const char *bytes) {
    return *at != '\0' && strchr(bytes, *at) != NULL;
}

// Writing

static void add_name(mi_text_out *out, const char *name) {
    if (!is_one_of(name, NAME_MARKS SPACE) && strchr(name, ',') == NULL && !is_one_of(name + strlen(name) - 1, SPACE)) {
        mi_text_add(out, "%s", name);
        return;
    }
    mi_text_add(out, "\"");
    for (; *name != '\0'; name++) {
        mi_text_add(out, "%s%c", is_one_of(name, "\"\\") ? "\\" : "", *name);
    }
    mi_text_add(out, "\"");
}

static void add_term(mi_text_out *out, uint8_t any, const char *mark, const char *name) {
    mi_text_add(out, "%s", out->length == 0 ? "" : ", ");
    if (any > 0) {
        mi_text_add(out, "[any %d] ", any);
    }
    mi_text_add(out, "%s", mark);
    add_name(out, name);
}

size_t mi_query_write_text(const mica_query *query, char *text, size_t capacity) {
    mi_text_out out = mi_text_begin(text, capacity);
    for (uint32_t i = 0; i < query->term_count; i++) {
        const mi_term *term = &query->terms[query->by_name[i]];
        const char *name = mi_term_type(query, term)->info.name;
        // That something is there goes without saying if it has changed or was added.
        const bool is_said = term->use == MICA_USE_WITH && (term->asks & (MI_ASKS_CHANGED | MI_ASKS_ADDED)) != 0;
        if (term->use != MICA_USE_NONE && !is_said) {
            add_term(&out, term->any, term->is_marked ? "[marked] " : use_marks[term->use], name);
        }
        if (term->changed_any > 0) {
            add_term(&out, term->changed_any, ask_marks[0], name);
        }
        for (uint32_t k = 0; k < sizeof(ask_marks) / sizeof(*ask_marks); k++) {
            if ((term->asks >> k & 1) != 0) {
                add_term(&out, 0, ask_marks[k], name);
            }
        }
    }
    if (query->disabled != MI_DISABLED_LEFT_OUT) {
        mi_text_add(&out, "%s%s", query->term_count == 0 ? "" : ", ", disabled_marks[query->disabled]);
    }
    return out.length;
}

// Reading

static const char call_name[] = "mica_query_create_text";

typedef struct reader {
    const mica_world *world;
    const char *text;
    const char *at;               // what is not read yet
    char name[MICA_NAME_MAX + 2]; // of the current term; one byte over the limit is kept, so that it is not found
    mica_term terms[MICA_QUERY_TERM_MAX];
    size_t offsets[MICA_QUERY_TERM_MAX]; // of the terms in the text
    int32_t count;
} reader;

static size_t offset_of(const reader *r, const char *at) {
    return (size_t)(at - r->text);
}

static void skip_space(reader *r) {
    r->at += strspn(r->at, SPACE);
}

MI_COLD static mica_result fail_expected(const reader *r, const char *expected) {
    if (*r->at == '\0') {
        return mi_fail(&r->world->log, MICA_FORMAT, call_name, "byte {}: the text ends where {} is expected",
                       MI_UINT(offset_of(r, r->at)), MI_TEXT(expected));
    }
    char found[MI_EXCERPT_SIZE];
    mi_text_excerpt(r->at, 0, found);
    return mi_fail(&r->world->log, MICA_FORMAT, call_name, "byte {}: found '{}' where {} is expected",
                   MI_UINT(offset_of(r, r->at)), MI_TEXT(found), MI_TEXT(expected));
}

// Goes past one byte and the space behind it.
static bool take_byte(reader *r, char byte) {
    if (*r->at != byte) {
        return false;
    }
    r->at++;
    skip_space(r);
    return true;
}

// Goes past a word in brackets that stands here as a whole.
static bool take_word(reader *r, const char *word) {
    const size_t length = strlen(word);
    if (strncmp(r->at, word, length) != 0 || strchr(WORD_ENDS, r->at[length]) == NULL) {
        return false;
    }
    r->at += length;
    skip_space(r);
    return true;
}

static bool take_use(reader *r, mica_term *term) {
    static const struct {
        const char *word;
        uint8_t use;
    } uses[] = {{"read", MICA_USE_READ},           {"write", MICA_USE_WRITE},     {"with", MICA_USE_WITH},
                {"marked", MICA_USE_WRITE_MARKED}, {"changed", MICA_USE_CHANGED}, {"added", MICA_USE_ADDED},
                {"removed", MICA_USE_REMOVED}};
    for (uint32_t i = 0; i < sizeof(uses) / sizeof(*uses); i++) {
        if (take_word(r, uses[i].word)) {
            term->use = uses[i].use;
            return true;
        }
    }
    return false;
}

static bool take_clause(reader *r, mica_term *term) {
    const char digit = *r->at;
    if (digit < '1' || digit > '0' + MI_ANY_MAX || !take_word(r, (const char[]){digit, '\0'})) {
        return false;
    }
    term->any = (uint8_t)(digit - '0');
    return true;
}

static bool take_disabled(reader *r, mica_term *term) {
    if (take_word(r, "too")) {
        term->use = MICA_USE_DISABLED_TOO;
    } else if (take_word(r, "only")) {
        term->use = MICA_USE_DISABLED_ONLY;
    }
    return term->use != MICA_USE_NONE;
}

// One pair of brackets. Behind the number of a clause only a use is left to say.
static mica_result read_brackets(reader *r, mica_term *term) {
    take_byte(r, '[');
    const bool is_first = term->any == 0;
    if (is_first && take_word(r, "any")) {
        if (!take_clause(r, term)) {
            return fail_expected(r, "the number of a clause, 1 to 8,");
        }
    } else if (is_first && take_word(r, "disabled")) {
        if (!take_disabled(r, term)) {
            return fail_expected(r, "'too' or 'only'");
        }
    } else if (!take_use(r, term)) {
        return fail_expected(r, is_first ? "'read', 'write', 'with', 'marked', 'changed', 'added', 'removed', 'any' or "
                                           "'disabled'"
                                         : "'read', 'write', 'with', 'marked' or 'changed'");
    }
    return take_byte(r, ']') ? MICA_OK : fail_expected(r, "']'");
}

static void read_sign(reader *r, mica_term *term) {
    if (term->any > 0) {
        return;
    }
    if (term->use == MICA_USE_NONE && take_byte(r, '!')) {
        term->use = MICA_USE_WITHOUT;
    } else if (term->use == MICA_USE_NONE && take_byte(r, '?')) {
        term->use = MICA_USE_OPTIONAL_READ;
    } else if (term->use == MICA_USE_WRITE && take_byte(r, '?')) {
        term->use = MICA_USE_OPTIONAL_WRITE;
    }
}

static mica_result read_quoted_name(reader *r) {
    size_t length = 0;
    for (r->at++; *r->at != '"'; r->at++) {
        if (*r->at == '\\' && !is_one_of(++r->at, "\"\\")) {
            return fail_expected(r, "'\"' or '\\' behind a backslash");
        }
        if (*r->at == '\0') {
            return fail_expected(r, "a closing quote");
        }
        if (length <= MICA_NAME_MAX) {
            r->name[length++] = *r->at;
        }
    }
    r->name[length] = '\0';
    take_byte(r, '"');
    return MICA_OK;
}

static mica_result read_name(reader *r) {
    if (*r->at == '"') {
        return read_quoted_name(r);
    }
    if (*r->at == '\0' || is_one_of(r->at, NAME_MARKS)) {
        return fail_expected(r, "a component's name");
    }
    const size_t end = strcspn(r->at, ",");
    size_t length = end;
    while (is_one_of(r->at + length - 1, SPACE)) {
        length--;
    }
    length = length <= MICA_NAME_MAX ? length : MICA_NAME_MAX + 1;
    memcpy(r->name, r->at, length);
    r->name[length] = '\0';
    r->at += end;
    return MICA_OK;
}

// Reads the name and finds its component, which says what is meant where the text does not.
static mica_result read_component(reader *r, mica_term *term) {
    const size_t offset = offset_of(r, r->at);
    const mica_result result = read_name(r);
    if (result != MICA_OK) {
        return result;
    }
    term->component = mica_schema_find(r->world->schema, r->name);
    if (term->component == 0) {
        return mi_fail(&r->world->log, MICA_UNKNOWN, call_name, "byte {}: no component is named '{}'", MI_UINT(offset),
                       MI_TEXT(r->name));
    }
    if (term->use == MICA_USE_NONE) {
        const bool is_tag = mi_schema_type(r->world->schema, term->component)->info.size == 0;
        term->use = is_tag ? MICA_USE_WITH : MICA_USE_READ;
    }
    return MICA_OK;
}

static mica_result read_term(reader *r) {
    const size_t offset = offset_of(r, r->at);
    if (r->count == MICA_QUERY_TERM_MAX) {
        return mi_fail(&r->world->log, MICA_LIMIT, call_name, "byte {}: one more term; a query has {} at most",
                       MI_UINT(offset), MI_INT(MICA_QUERY_TERM_MAX));
    }
    mica_term term = {.use = MICA_USE_NONE};
    mica_result result = MICA_OK;
    while (result == MICA_OK && *r->at == '[' && term.use == MICA_USE_NONE) {
        result = read_brackets(r, &term);
    }
    if (result == MICA_OK && term.use != MICA_USE_DISABLED_TOO && term.use != MICA_USE_DISABLED_ONLY) {
        read_sign(r, &term);
        result = read_component(r, &term);
    }
    r->terms[r->count] = term;
    r->offsets[r->count++] = offset;
    return result;
}

static mica_result read_terms(reader *r) {
    skip_space(r);
    if (*r->at == '\0') {
        return MICA_OK;
    }
    do {
        const mica_result result = read_term(r);
        if (result != MICA_OK) {
            return result;
        }
    } while (take_byte(r, ','));
    return *r->at == '\0' ? MICA_OK : fail_expected(r, "a comma or the end");
}

mica_query *mica_query_create_text(mica_world *world, const char *text) {
    if (world == NULL || text == NULL) {
        mi_fail_plain(world == NULL ? NULL : &world->log, MICA_INVALID, call_name, "needs a world and a text");
        return NULL;
    }
    reader r;
    r.world = world;
    r.text = text;
    r.at = text;
    r.count = 0;
    if (read_terms(&r) != MICA_OK) {
        return NULL;
    }
    return mica_query_retain(mi_query_find(world, r.terms, r.offsets, r.count, call_name));
}

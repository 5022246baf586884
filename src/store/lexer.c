// Tokens of the text of a declaration.
//
// The texts come from the preprocessor, so there are no comments, directives or line splices; whatever else they hold
// is cut into tokens that cover all bytes but white space. Every call moves on by at least one byte or stands at the
// end, so a walk over a text takes no more steps than it has bytes. Bytes are looked at as ASCII, without the locale.
#include "store/lexer.h"

#include <string.h>

static bool is_space(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

// Bytes of UTF-8 beyond ASCII belong to words, as compilers have it.
static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || is_digit(c) || (unsigned char)c >= 0x80;
}

static uint32_t word_length(const char *text) {
    uint32_t length = 0;
    while (is_word(text[length])) {
        length++;
    }
    return length;
}

static uint32_t number_length(const char *text) {
    uint32_t length = 0;
    while (is_word(text[length]) || text[length] == '.') {
        length++;
    }
    return length;
}

// A character constant with its quotes; one that is not closed ends with the text.
static uint32_t character_length(const char *text) {
    uint32_t length = 1;
    while (text[length] != '\0' && text[length] != '\'') {
        length += text[length] == '\\' && text[length + 1] != '\0' ? 2 : 1;
    }
    return text[length] == '\'' ? length + 1 : length;
}

static bool is_sign_of_two(char first, char second) {
    switch (first) {
    case '<':
    case '>':
        return second == first || second == '=';
    case '=':
    case '!':
        return second == '=';
    case '&':
    case '|':
    case ':':
        return second == first;
    default:
        return false;
    }
}

static void read_token(mi_lexer *lexer, uint32_t offset) {
    while (is_space(lexer->text[offset])) {
        offset++;
    }
    const char *text = lexer->text + offset;
    mi_token token = {.kind = MI_TOKEN_END, .offset = offset};
    if (is_digit(text[0]) || (text[0] == '.' && is_digit(text[1]))) {
        token.kind = MI_TOKEN_NUMBER;
        token.length = number_length(text);
    } else if (is_word(text[0])) {
        token.kind = MI_TOKEN_WORD;
        token.length = word_length(text);
    } else if (text[0] == '\'') {
        token.kind = MI_TOKEN_CHARACTER;
        token.length = character_length(text);
    } else if (text[0] != '\0') {
        const bool two = is_sign_of_two(text[0], text[1]);
        token.kind = MI_TOKEN_SIGN;
        token.length = two ? 2 : 1;
        token.sign = two ? MI_SIGN_OF_TWO(text[0], text[1]) : MI_SIGN(text[0]);
    }
    lexer->token = token;
}

void mi_lexer_start(mi_lexer *lexer, const char *text) {
    lexer->text = text;
    read_token(lexer, 0);
}

void mi_lexer_next(mi_lexer *lexer) {
    read_token(lexer, lexer->token.offset + lexer->token.length);
}

bool mi_lexer_at_word(const mi_lexer *lexer, const char *word) {
    const mi_token *token = &lexer->token;
    return token->kind == MI_TOKEN_WORD && strncmp(lexer->text + token->offset, word, token->length) == 0 &&
           word[token->length] == '\0';
}

bool mi_lexer_fault(const mi_lexer *lexer, mi_text_fault *fault, const char *reason) {
    *fault = (mi_text_fault){.reason = reason, .offset = lexer->token.offset};
    return false;
}

// Words that <stdbool.h> and <stdalign.h> turn into C's own keywords are left as they are in C++.
static bool is_same_keyword(const mi_lexer *a, const mi_lexer *b) {
    static const char *const pairs[][2] = {{"bool", "_Bool"}, {"alignas", "_Alignas"}};
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        if ((mi_lexer_at_word(a, pairs[i][0]) && mi_lexer_at_word(b, pairs[i][1])) ||
            (mi_lexer_at_word(a, pairs[i][1]) && mi_lexer_at_word(b, pairs[i][0]))) {
            return true;
        }
    }
    return false;
}

static bool is_same_token(const mi_lexer *a, const mi_lexer *b) {
    return (a->token.kind == b->token.kind && a->token.length == b->token.length &&
            memcmp(a->text + a->token.offset, b->text + b->token.offset, a->token.length) == 0) ||
           is_same_keyword(a, b);
}

bool mi_texts_equal(const char *a, const char *b, uint32_t *offset, uint32_t *other_offset) {
    mi_lexer first;
    mi_lexer second;
    mi_lexer_start(&first, a);
    mi_lexer_start(&second, b);
    while (is_same_token(&first, &second)) {
        if (first.token.kind == MI_TOKEN_END) {
            return true;
        }
        mi_lexer_next(&first);
        mi_lexer_next(&second);
    }
    *offset = first.token.offset;
    *other_offset = second.token.offset;
    return false;
}

void mi_text_excerpt(const char *text, uint32_t offset, char excerpt[MI_EXCERPT_SIZE]) {
    static const char more[] = "...";
    uint32_t length = 0;
    for (const char *from = text + offset; *from != '\0'; from++) {
        if (length == MI_EXCERPT_SIZE - sizeof(more)) {
            // A character of UTF-8 is not cut in two.
            while (length > 0 && ((unsigned char)*from & 0xc0) == 0x80) {
                from--;
                length--;
            }
            memcpy(excerpt + length, more, sizeof(more));
            return;
        }
        excerpt[length++] = is_space(*from) ? ' ' : *from;
        if (offset > 0 && *from == ';' && length > 1) {
            break;
        }
    }
    excerpt[length] = '\0';
}

void mi_text_excerpt_at_difference(const char *text, uint32_t offset, char excerpt[MI_EXCERPT_SIZE]) {
    mi_text_excerpt(text, strlen(text) < MI_EXCERPT_SIZE ? 0 : offset, excerpt);
}

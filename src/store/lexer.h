// Tokens of the text of a declaration: words, numbers, character constants and signs of C, after preprocessing.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum mi_token_kind {
    MI_TOKEN_END,
    MI_TOKEN_WORD,
    MI_TOKEN_NUMBER,
    MI_TOKEN_CHARACTER, // with its quotes
    MI_TOKEN_SIGN       // one character, or an operator of two
} mi_token_kind;

// The code of a sign: its bytes as a number.
#define MI_SIGN(FIRST) ((uint32_t)(FIRST))
#define MI_SIGN_OF_TWO(FIRST, SECOND) ((uint32_t)(FIRST) | (uint32_t)(SECOND) << 8)

typedef struct mi_token {
    mi_token_kind kind;
    uint32_t sign;           // of MI_TOKEN_SIGN, otherwise 0
    uint32_t offset, length; // bytes in the text
} mi_token;

// `token` is the current one.
typedef struct mi_lexer {
    const char *text; // closed by zero
    mi_token token;
} mi_lexer;

// The longest text that is looked at, in bytes: offsets have 32 bits.
#define MI_TEXT_MAX ((size_t)UINT32_MAX / 2)

// What is wrong with a text, and where. `reason` NULL: nothing.
typedef struct mi_text_fault {
    const char *reason; // a literal
    uint32_t offset;    // bytes in the text
    uint32_t bytes;     // sizes that disagree: what the fields add up to; 0: the reason is another
} mi_text_fault;

// Bytes of an excerpt, closing zero included: as many as an error keeps of a text.
#define MI_EXCERPT_SIZE 96

// Starts at the first token. `text` has at most MI_TEXT_MAX bytes.
void mi_lexer_start(mi_lexer *lexer, const char *text);
void mi_lexer_next(mi_lexer *lexer);
bool mi_lexer_at_word(const mi_lexer *lexer, const char *word);
static inline bool mi_lexer_at_sign(const mi_lexer *lexer, uint32_t sign) {
    return lexer->token.sign == sign;
}
// Fills `fault` with the reason at the current token; returns false.
bool mi_lexer_fault(const mi_lexer *lexer, mi_text_fault *fault, const char *reason);

// Whether two texts have the same tokens; words that C and C++ spell differently (bool, _Bool) count as the same.
// Otherwise `offset` is where the first different token starts in `a`, and `other_offset` in `b`.
bool mi_texts_equal(const char *a, const char *b, uint32_t *offset, uint32_t *other_offset);

// What stands in a text at an offset, as one line: the whole text from 0 on, otherwise up to the end of the
// declaration; or as much as fits.
void mi_text_excerpt(const char *text, uint32_t offset, char excerpt[MI_EXCERPT_SIZE]);
// All of a text that differs from another at an offset, or if it is too long what stands at the difference.
void mi_text_excerpt_at_difference(const char *text, uint32_t offset, char excerpt[MI_EXCERPT_SIZE]);

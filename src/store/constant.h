// Constant expressions in the text of a declaration: sizes of arrays, values of enumerators, alignments.
#pragma once

#include "store/lexer.h"

// Finds the value of a name (`length` bytes); false: it has none.
typedef bool (*mi_constant_lookup)(const void *context, const char *name, uint32_t length, int64_t *value);

// Reads an expression of integer and character constants, names, parentheses and C's operators (casts, sizeof, comma
// and assignment excepted) from the current token on, as the compiler evaluates it; leaves the lexer at the first token
// that does not belong to it. False: `fault` says what and where, an overflow or a division by zero included. `lookup`
// NULL: names have no values. O(tokens), in constant space.
bool mi_constant_read(mi_lexer *lexer, mi_constant_lookup lookup, const void *context, int64_t *value,
                      mi_text_fault *fault);

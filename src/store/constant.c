// Constant expressions, evaluated while they are read: two stacks of fixed depth, one of operators that wait for their
// right side, one of values. An operator is applied as soon as one that binds no tighter follows it.
//
// Invariants: values have one of C's four types (int or its unsigned form, or the 64-bit ones), and `bits` always holds
// the value extended to 64 bits by its own signedness. Open parentheses and the first halves of conditionals lie on the
// operator stack with precedence 0, where reducing stops. Both sides of && || ?: are evaluated: the compiler has
// accepted the text, so what it never evaluates can at worst leave a type unreflected, with the reason said.
#include "store/constant.h"

enum { DEPTH_MOST = 64 };

typedef struct constant {
    uint64_t bits;
    bool is_unsigned;
    bool is_wide; // 64 bits, otherwise 32
} constant;

typedef enum operator_precedence {
    STOP,
    CONDITIONAL,
    LOGICAL_OR,
    LOGICAL_AND,
    BITWISE_OR,
    BITWISE_XOR,
    BITWISE_AND,
    EQUALITY,
    RELATION,
    SHIFT,
    SUM,
    PRODUCT,
    UNARY
} operator_precedence;

typedef struct pending_operator {
    uint32_t sign;
    operator_precedence precedence;
} pending_operator;

typedef struct expression {
    mi_lexer *lexer;
    mi_text_fault *fault;
    pending_operator operations[DEPTH_MOST];
    constant values[DEPTH_MOST];
    uint32_t operation_count;
    uint32_t value_count;
} expression;

static constant make_int(int64_t value) {
    return (constant){.bits = (uint64_t)value};
}

static int64_t as_signed(constant value) {
    return (int64_t)value.bits;
}

// The value cut to a type's width and extended again, as a conversion does.
static constant convert(constant value, bool is_unsigned, bool is_wide) {
    uint64_t bits = value.bits;
    if (!is_wide) {
        bits = is_unsigned ? (uint32_t)bits : (uint64_t)(int64_t)(int32_t)(uint32_t)bits;
    }
    return (constant){bits, is_unsigned, is_wide};
}

static bool fits_int(int64_t value) {
    return value >= INT32_MIN && value <= INT32_MAX;
}

// Operators

static bool fault_here(const expression *evaluation, const char *reason) {
    return mi_lexer_fault(evaluation->lexer, evaluation->fault, reason);
}

static bool finish_signed(const expression *evaluation, bool overflow, int64_t value, constant *result) {
    if (overflow || (!result->is_wide && !fits_int(value))) {
        return fault_here(evaluation, "a constant expression overflows before this place");
    }
    result->bits = (uint64_t)value;
    return true;
}

static bool apply_arithmetic(const expression *evaluation, uint32_t sign, constant a, constant b, constant *result) {
    const bool is_division = sign == MI_SIGN('/') || sign == MI_SIGN('%');
    if (is_division && b.bits == 0) {
        return fault_here(evaluation, "a constant expression divides by zero before this place");
    }
    if (result->is_unsigned) {
        const uint64_t bits = sign == MI_SIGN('+')   ? a.bits + b.bits
                              : sign == MI_SIGN('-') ? a.bits - b.bits
                              : sign == MI_SIGN('*') ? a.bits * b.bits
                              : sign == MI_SIGN('/') ? a.bits / b.bits
                                                     : a.bits % b.bits;
        *result = convert((constant){.bits = bits}, true, result->is_wide);
        return true;
    }
    const int64_t x = as_signed(a);
    const int64_t y = as_signed(b);
    int64_t value = 0;
    bool overflow = false;
    if (is_division) {
        overflow = x == INT64_MIN && y == -1;
        value = overflow ? 0 : sign == MI_SIGN('/') ? x / y : x % y;
    } else if (sign == MI_SIGN('*')) {
        overflow = __builtin_mul_overflow(x, y, &value);
    } else if (sign == MI_SIGN('+')) {
        overflow = __builtin_add_overflow(x, y, &value);
    } else {
        overflow = __builtin_sub_overflow(x, y, &value);
    }
    return finish_signed(evaluation, overflow, value, result);
}

// A shift has the type of its left side. Bits that leave a signed value to the left are lost, as compilers do it.
static bool apply_shift(const expression *evaluation, uint32_t sign, constant a, constant b, constant *result) {
    const uint64_t width = a.is_wide ? 64 : 32;
    if (b.bits >= width) {
        return fault_here(evaluation, "a constant expression shifts too far before this place");
    }
    uint64_t bits = a.bits << b.bits;
    if (sign == MI_SIGN_OF_TWO('>', '>')) {
        const uint64_t filled = !a.is_unsigned && as_signed(a) < 0 && b.bits > 0 ? ~UINT64_C(0) << (64 - b.bits) : 0;
        bits = a.bits >> b.bits | filled;
    }
    *result = convert((constant){.bits = bits}, a.is_unsigned, a.is_wide);
    return true;
}

static bool is_less(constant a, constant b, bool is_unsigned) {
    return is_unsigned ? a.bits < b.bits : as_signed(a) < as_signed(b);
}

static bool apply_comparison(uint32_t sign, constant a, constant b, bool is_unsigned) {
    switch (sign) {
    case MI_SIGN('<'):
        return is_less(a, b, is_unsigned);
    case MI_SIGN('>'):
        return is_less(b, a, is_unsigned);
    case MI_SIGN_OF_TWO('<', '='):
        return !is_less(b, a, is_unsigned);
    case MI_SIGN_OF_TWO('>', '='):
        return !is_less(a, b, is_unsigned);
    case MI_SIGN_OF_TWO('!', '='):
        return a.bits != b.bits;
    default:
        return a.bits == b.bits;
    }
}

static bool apply_binary(const expression *evaluation, pending_operator operation, constant a, constant b,
                         constant *result) {
    // The usual arithmetic conversions: the wider type wins; of two that are equally wide the unsigned one.
    const bool is_wide = a.is_wide || b.is_wide;
    const bool is_unsigned = (a.is_unsigned && a.is_wide == is_wide) || (b.is_unsigned && b.is_wide == is_wide);
    const constant x = convert(a, is_unsigned, is_wide);
    const constant y = convert(b, is_unsigned, is_wide);
    *result = (constant){.is_unsigned = is_unsigned, .is_wide = is_wide};
    switch (operation.precedence) {
    case LOGICAL_OR:
        *result = make_int(a.bits != 0 || b.bits != 0);
        return true;
    case LOGICAL_AND:
        *result = make_int(a.bits != 0 && b.bits != 0);
        return true;
    case BITWISE_OR:
        result->bits = x.bits | y.bits;
        return true;
    case BITWISE_XOR:
        result->bits = x.bits ^ y.bits;
        return true;
    case BITWISE_AND:
        result->bits = x.bits & y.bits;
        return true;
    case EQUALITY:
    case RELATION:
        *result = make_int(apply_comparison(operation.sign, x, y, is_unsigned));
        return true;
    case SHIFT:
        return apply_shift(evaluation, operation.sign, a, b, result);
    default:
        return apply_arithmetic(evaluation, operation.sign, x, y, result);
    }
}

static bool apply_unary(const expression *evaluation, uint32_t sign, constant a, constant *result) {
    switch (sign) {
    case MI_SIGN('!'):
        *result = make_int(a.bits == 0);
        return true;
    case MI_SIGN('~'):
        *result = convert((constant){.bits = ~a.bits}, a.is_unsigned, a.is_wide);
        return true;
    case MI_SIGN('-'):
        *result = (constant){.is_unsigned = a.is_unsigned, .is_wide = a.is_wide};
        return apply_arithmetic(evaluation, sign, (constant){0}, a, result);
    default:
        *result = a;
        return true;
    }
}

// `condition ? a : b`, of the type that both sides convert to.
static constant apply_conditional(constant condition, constant a, constant b) {
    const bool is_wide = a.is_wide || b.is_wide;
    const bool is_unsigned = (a.is_unsigned && a.is_wide == is_wide) || (b.is_unsigned && b.is_wide == is_wide);
    return convert(condition.bits != 0 ? a : b, is_unsigned, is_wide);
}

// The stacks

static bool push_value(expression *evaluation, constant value) {
    if (evaluation->value_count == DEPTH_MOST) {
        return fault_here(evaluation, "a constant expression is nested too deeply");
    }
    evaluation->values[evaluation->value_count++] = value;
    return true;
}

static bool push_operation(expression *evaluation, uint32_t sign, operator_precedence precedence) {
    if (evaluation->operation_count == DEPTH_MOST) {
        return fault_here(evaluation, "a constant expression is nested too deeply");
    }
    evaluation->operations[evaluation->operation_count++] = (pending_operator){sign, precedence};
    return true;
}

static bool apply_last(expression *evaluation) {
    const pending_operator operation = evaluation->operations[--evaluation->operation_count];
    constant *top = &evaluation->values[evaluation->value_count];
    if (operation.precedence == UNARY) {
        return apply_unary(evaluation, operation.sign, top[-1], &top[-1]);
    }
    if (operation.precedence == CONDITIONAL) {
        evaluation->value_count -= 2;
        top[-3] = apply_conditional(top[-3], top[-2], top[-1]);
        return true;
    }
    evaluation->value_count -= 1;
    const constant a = top[-2];
    return apply_binary(evaluation, operation, a, top[-1], &top[-2]);
}

// Applies operators from the top as long as they bind at least as tightly as `least` (more than STOP).
static bool reduce(expression *evaluation, operator_precedence least) {
    while (evaluation->operation_count > 0 &&
           evaluation->operations[evaluation->operation_count - 1].precedence >= least) {
        if (!apply_last(evaluation)) {
            return false;
        }
    }
    return true;
}

// Whether reducing stopped at this sign.
static bool is_stopped_at(const expression *evaluation, uint32_t sign) {
    return evaluation->operation_count > 0 && evaluation->operations[evaluation->operation_count - 1].sign == sign &&
           evaluation->operations[evaluation->operation_count - 1].precedence == STOP;
}

// Operands

static int digit_value(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : 99;
}

// Reads what may follow the digits: u, l or ll in either order and case. False: something else.
static bool read_suffix(const char *text, uint32_t length, bool *is_unsigned, int *long_count) {
    *is_unsigned = false;
    *long_count = 0;
    for (uint32_t i = 0; i < length; i++) {
        const bool is_u = text[i] == 'u' || text[i] == 'U';
        const bool is_l = text[i] == 'l' || text[i] == 'L';
        // The letters of ll stand together and are of one case.
        const bool together = *long_count == 0 || (*long_count == 1 && text[i - 1] == text[i]);
        if (is_u && !*is_unsigned) {
            *is_unsigned = true;
        } else if (is_l && together) {
            *long_count += 1;
        } else {
            return false;
        }
    }
    return true;
}

static bool read_number(const expression *evaluation, constant *value) {
    const mi_token *token = &evaluation->lexer->token;
    const char *text = evaluation->lexer->text + token->offset;
    const bool has_prefix = text[0] == '0' && token->length > 2;
    const bool is_hex = has_prefix && (text[1] == 'x' || text[1] == 'X');
    const bool is_binary = has_prefix && (text[1] == 'b' || text[1] == 'B');
    const int base = is_hex ? 16 : is_binary ? 2 : text[0] == '0' ? 8 : 10;
    uint64_t bits = 0;
    bool overflow = false;
    uint32_t i = is_hex || is_binary ? 2 : 0;
    const uint32_t start = i;
    for (; i < token->length && digit_value(text[i]) < base; i++) {
        overflow |= __builtin_mul_overflow(bits, (uint64_t)base, &bits);
        overflow |= __builtin_add_overflow(bits, (uint64_t)digit_value(text[i]), &bits);
    }
    bool is_unsigned;
    int long_count;
    if (i == start || !read_suffix(text + i, token->length - i, &is_unsigned, &long_count)) {
        return fault_here(evaluation, "this is no integer constant");
    }
    // The first of int, unsigned, long, unsigned long that can hold it; decimal ones are unsigned only by suffix.
    const bool is_wide = long_count == 2 || (long_count == 1 && sizeof(long) == 8) || bits > UINT32_MAX ||
                         (bits > INT32_MAX && base == 10 && !is_unsigned);
    const uint64_t signed_most = is_wide ? (uint64_t)INT64_MAX : INT32_MAX;
    if (overflow || (bits > signed_most && base == 10 && !is_unsigned)) {
        return fault_here(evaluation, "this integer constant is too large");
    }
    *value = (constant){bits, is_unsigned || bits > signed_most, is_wide};
    return true;
}

static bool read_character(const expression *evaluation, constant *value) {
    const mi_token *token = &evaluation->lexer->token;
    const char *text = evaluation->lexer->text + token->offset;
    if (token->length != 3 || text[1] == '\\' || (unsigned char)text[1] >= 0x80) {
        return fault_here(evaluation, "only plain character constants such as 'a' are understood");
    }
    *value = make_int(text[1]);
    return true;
}

static bool read_name(const expression *evaluation, mi_constant_lookup lookup, const void *context, constant *value) {
    const mi_token *token = &evaluation->lexer->token;
    int64_t number;
    if (lookup == NULL || !lookup(context, evaluation->lexer->text + token->offset, token->length, &number)) {
        return fault_here(evaluation, "the value of this name is not known");
    }
    const bool is_narrow = fits_int(number);
    const bool is_narrow_unsigned = !is_narrow && number >= 0 && number <= UINT32_MAX;
    *value = (constant){(uint64_t)number, is_narrow_unsigned, !is_narrow && !is_narrow_unsigned};
    return true;
}

// Reads a value, or what can stand in front of one. `is_value` says which.
static bool read_operand(expression *evaluation, mi_constant_lookup lookup, const void *context, bool *is_value) {
    constant value = {0};
    bool read;
    *is_value = true;
    switch (evaluation->lexer->token.kind) {
    case MI_TOKEN_NUMBER:
        read = read_number(evaluation, &value);
        break;
    case MI_TOKEN_CHARACTER:
        read = read_character(evaluation, &value);
        break;
    case MI_TOKEN_WORD:
        read = read_name(evaluation, lookup, context, &value);
        break;
    default:
        *is_value = false;
        switch (evaluation->lexer->token.sign) {
        case MI_SIGN('('):
            return push_operation(evaluation, MI_SIGN('('), STOP);
        case MI_SIGN('+'):
        case MI_SIGN('-'):
        case MI_SIGN('~'):
        case MI_SIGN('!'):
            return push_operation(evaluation, evaluation->lexer->token.sign, UNARY);
        default:
            return fault_here(evaluation, "a value is missing here");
        }
    }
    return read && push_value(evaluation, value);
}

static operator_precedence binary_precedence(uint32_t sign) {
    switch (sign) {
    case MI_SIGN('*'):
    case MI_SIGN('/'):
    case MI_SIGN('%'):
        return PRODUCT;
    case MI_SIGN('+'):
    case MI_SIGN('-'):
        return SUM;
    case MI_SIGN_OF_TWO('<', '<'):
    case MI_SIGN_OF_TWO('>', '>'):
        return SHIFT;
    case MI_SIGN('<'):
    case MI_SIGN('>'):
    case MI_SIGN_OF_TWO('<', '='):
    case MI_SIGN_OF_TWO('>', '='):
        return RELATION;
    case MI_SIGN_OF_TWO('=', '='):
    case MI_SIGN_OF_TWO('!', '='):
        return EQUALITY;
    case MI_SIGN('&'):
        return BITWISE_AND;
    case MI_SIGN('^'):
        return BITWISE_XOR;
    case MI_SIGN('|'):
        return BITWISE_OR;
    case MI_SIGN_OF_TWO('&', '&'):
        return LOGICAL_AND;
    case MI_SIGN_OF_TWO('|', '|'):
        return LOGICAL_OR;
    default:
        return STOP;
    }
}

// Whether a value must follow, may not, or the expression is over.
typedef enum expression_state { WANT_VALUE, HAVE_VALUE, OVER } expression_state;

static bool read_operator(expression *evaluation, expression_state *state) {
    const uint32_t sign = evaluation->lexer->token.sign;
    const operator_precedence precedence = binary_precedence(sign);
    *state = WANT_VALUE;
    if (precedence != STOP) {
        return reduce(evaluation, precedence) && push_operation(evaluation, sign, precedence);
    }
    if (sign == MI_SIGN('?')) {
        return reduce(evaluation, LOGICAL_OR) && push_operation(evaluation, sign, STOP);
    }
    if (!reduce(evaluation, CONDITIONAL)) {
        return false;
    }
    if (sign == MI_SIGN(':') && is_stopped_at(evaluation, MI_SIGN('?'))) {
        evaluation->operations[evaluation->operation_count - 1].precedence = CONDITIONAL;
        return true;
    }
    if (sign == MI_SIGN(')') && is_stopped_at(evaluation, MI_SIGN('('))) {
        evaluation->operation_count--;
        *state = HAVE_VALUE;
        return true;
    }
    *state = OVER;
    return evaluation->operation_count == 0 || fault_here(evaluation, "a constant expression is not finished here");
}

bool mi_constant_read(mi_lexer *lexer, mi_constant_lookup lookup, const void *context, int64_t *value,
                      mi_text_fault *fault) {
    expression evaluation = {.lexer = lexer, .fault = fault};
    expression_state state = WANT_VALUE;
    for (;;) {
        if (state == WANT_VALUE) {
            bool is_value;
            if (!read_operand(&evaluation, lookup, context, &is_value)) {
                return false;
            }
            state = is_value ? HAVE_VALUE : WANT_VALUE;
        } else if (!read_operator(&evaluation, &state)) {
            return false;
        }
        if (state == OVER) {
            break;
        }
        mi_lexer_next(lexer);
    }
    const constant result = evaluation.values[0];
    if (result.is_unsigned && result.bits > INT64_MAX) {
        return fault_here(&evaluation, "a constant expression is larger than 64 signed bits before this place");
    }
    *value = as_signed(result);
    return true;
}

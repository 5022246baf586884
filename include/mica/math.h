/// \file math.h
/// Sine, cosine and arc tangent whose results are the same everywhere.
///
/// C libraries differ in the last bits of these functions, and so does one library on different processors. What a
/// simulation computes by them differs with them. The functions here are made of what IEEE 754 defines to the last bit
/// (sums, differences, products and quotients of doubles, conversions) and of integers: one result, whatever the
/// compiler, the optimisation and the processor. This asks for the default rounding (to nearest) and for subnormal
/// numbers that are not flushed to zero. Of C's own functions these are just as exact and safe to use: `sqrt`, `fabs`,
/// `fmod`, `remainder`, `floor`, `ceil`, `trunc`, `round`, `copysign`, `ldexp`, `frexp` and their float forms; no
/// others.
///
/// Errors are in units in the last place of the exact result (ULP). Results that are no number are always the same
/// quiet NaN, whichever NaN was given. Signs of zero, infinities and limits are those of annex F of the C standard, but
/// for `errno` and the floating-point exceptions, which mean nothing here. All functions: O(1), any thread.
#pragma once

#include <mica/config.h>

/// What `mica_sincos` returns.
typedef struct mica_sine_cosine {
    double sine;
    double cosine;
} mica_sine_cosine;

/// What `mica_sincosf` returns.
typedef struct mica_sine_cosinef {
    float sine;
    float cosine;
} mica_sine_cosinef;

MICA_BEGIN

/// The sine of an angle in radians, for all of them: 1e300 is reduced as exactly as 1. Within 0.85 ULP. An infinite
/// angle gives NaN.
MICA_API double mica_sin(double angle);

/// The cosine of an angle in radians, as `mica_sin`. Within 0.85 ULP.
MICA_API double mica_cos(double angle);

/// Both at once, for less than the price of two: the same bits as `mica_sin` and `mica_cos` give.
MICA_API mica_sine_cosine mica_sincos(double angle);

/// The angle from the positive x axis to the point (x, y) in radians, from -pi to pi, with the sign of `y`. Within 0.75
/// ULP. On the axes and at infinity: the multiple of pi/4 that the limit is, zero by zero too.
MICA_API double mica_atan2(double y, double x);

/// The sine of an angle in radians. Computed in doubles and rounded once: within 0.501 ULP.
MICA_API float mica_sinf(float angle);

/// The cosine of an angle in radians. Within 0.501 ULP.
MICA_API float mica_cosf(float angle);

/// Both at once, with the bits of `mica_sinf` and `mica_cosf`.
MICA_API mica_sine_cosinef mica_sincosf(float angle);

/// The angle of the point (x, y), as `mica_atan2`. Within 0.501 ULP.
MICA_API float mica_atan2f(float y, float x);

MICA_END

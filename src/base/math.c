// Sine, cosine and arc tangent by IEEE 754 arithmetic alone.
//
// An angle is folded to at most pi/4 and a number of quarter turns: by three subtractions where that keeps enough bits
// (W. J. Cody, W. Waite: Software Manual for the Elementary Functions, 1980), otherwise by a product with the bits of
// 2/pi that matter, in integers (M. Payne, R. Hanek: Radian Reduction for Trigonometric Functions, SIGNUM 18, 1983).
// What is folded is kept as a sum of two doubles. Polynomials are minimax ones, made by the second algorithm of Remez
// with coefficients rounded one after another; they are evaluated so that the leading term is added last. The exact
// error of a product is T. J. Dekker's (Numerische Mathematik 18, 1971).
//
// Invariants: nothing here depends on anything but its arguments. No operation is fused or reordered: compilers are not
// allowed to where they keep to the standard, and those that are told otherwise are refused.
#include <mica/math.h>

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/assert.h"

#if defined(__FAST_MATH__)
#error "-ffast-math lets a compiler change results, which are promised to be the same everywhere"
#endif
#if FLT_EVAL_METHOD != 0
#error "doubles must be computed as doubles (on 32-bit x86: -msse2 -mfpmath=sse)"
#endif

static const double HALF_PI_HIGH = 0x1.921fb54442d18p+0;
static const double HALF_PI_LOW = 0x1.1a62633145c07p-54;
static const double TWO_BY_PI = 0x1.45f306dc9c883p-1;

// Angles

// An angle of `quadrant` quarter turns and high + low, which is at most pi/4 but for rounding.
typedef struct folded {
    double high;
    double low; // below half a unit in the last place of `high`
    uint32_t quadrant;
} folded;

// Below this, angles are folded by subtractions: their quarter turns are less than 2^20.
static const double NEAR_END = 0x1p20;

// pi/2 in parts: the first two of 33 bits, so that products with quarter turns are exact.
static const double HALF_PI_FIRST = 0x1.921fb544p+0;
static const double HALF_PI_SECOND = 0x1.0b4611a6p-34;
static const double HALF_PI_THIRD = 0x1.3198a2e037073p-69;
static const double HALF_PI_BUT_FIRST = 0x1.0b4611a626331p-34; // the second and third, rounded

// The bits of 2/pi behind the point, as many as the largest double needs, behind a word of zeros.
static const uint64_t TWO_BY_PI_BITS[20] = {
    0x0000000000000000, 0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561,
    0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484, 0xe99c7026b45f7e41,
    0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7,
    0x4f463f669e5fea2d, 0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab,
};

// Minimax polynomials in z = x * x, for x up to pi/4. (sin(x) - x) / x^3: relative error of sin(x) 2^-57.8.
static const double SINE_TERMS[6] = {
    -0x1.5555555555548p-3, 0x1.111111110f730p-7,   -0x1.a01a019be919ep-13,
    0x1.71de355519609p-19, -0x1.ae5e4b6971c8bp-26, 0x1.5d8b499ddb3adp-33,
};
// (cos(x) - 1 + x^2 / 2) / x^4: relative error of cos(x) 2^-63.8.
static const double COSINE_TERMS[6] = {
    0x1.555555555554bp-5,   -0x1.6c16c16c15015p-10, 0x1.a01a019c8eb5ap-16,
    -0x1.27e4f7f0f18cep-22, 0x1.1ee9db38103d3p-29,  -0x1.8fa626483b405p-37,
};
// The same with the errors that floats allow: 2^-37.4 and 2^-42.9.
static const double SINE_TERMS_FLOAT[4] = {-0x1.5555554c71cb2p-3, 0x1.1111086a5d4aap-7, -0x1.a00f7f259902ap-13,
                                           0x1.6cd1f1f34ed5ep-19};
static const double COSINE_TERMS_FLOAT[4] = {0x1.5555554ed9847p-5, -0x1.6c16b82a14906p-10, 0x1.a010decfee113p-16,
                                             -0x1.241e9c0c8f91ep-22};

// a * b - product, exactly, where `product` is a * b rounded. Nothing may be near the ends of a double's range.
static double product_error(double a, double b, double product) {
    const double splitter = 0x1p27 + 1;
    const double a_scaled = a * splitter;
    const double a_high = a_scaled - (a_scaled - a);
    const double a_low = a - a_high;
    const double b_scaled = b * splitter;
    const double b_high = b_scaled - (b_scaled - b);
    const double b_low = b - b_high;
    return ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low;
}

// The upper word of a * b; `a` is below 2^53.
static uint64_t multiply_high(uint64_t a, uint64_t b) {
    const uint64_t mask = UINT32_MAX;
    const uint64_t low = (a & mask) * (b & mask);
    const uint64_t first = (a & mask) * (b >> 32) + (low >> 32);
    const uint64_t second = (a >> 32) * (b & mask) + (first & mask);
    return (a >> 32) * (b >> 32) + (first >> 32) + (second >> 32);
}

// 64 bits of 2/pi from bit `first` of the table on.
static uint64_t bits_from(uint32_t first) {
    const uint64_t *word = &TWO_BY_PI_BITS[first / 64];
    const uint32_t shift = first % 64;
    return word[0] << shift | word[1] >> 1 >> (63 - shift);
}

// Folds any finite angle from 1/2 on.
static folded fold_far(double size) {
    uint64_t bits;
    memcpy(&bits, &size, sizeof(bits));
    const int32_t exponent = (int32_t)(bits >> 52) - 1075; // size is a whole number, below 2^53, times 2^exponent
    const uint64_t whole = (bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1) << 52;
    // size * 2/pi modulo 4, with 190 bits behind the point: the product of `whole` and those 192 bits of 2/pi that
    // begin with the one that counts 2 in it. What the bits behind those would add is below 2^-137; no double comes
    // nearer than 2^-62 to a whole number of quarter turns.
    const uint32_t first = (uint32_t)(exponent + 62);
    const uint64_t words[3] = {bits_from(first), bits_from(first + 64), bits_from(first + 128)};
    const uint64_t third = whole * words[2];
    const uint64_t second_part = whole * words[1];
    const uint64_t second = second_part + multiply_high(whole, words[2]);
    const uint64_t product = whole * words[0] + multiply_high(whole, words[1]) + (second < second_part);
    // The nearest whole number of quarter turns, and how far the angle is from there, as a number of 192 bits.
    uint64_t rest[3] = {product << 2 | second >> 62, second << 2 | third >> 62, third << 2};
    const bool below = rest[0] >> 63 != 0;
    const uint32_t quadrant = (uint32_t)(product >> 62) + below;
    for (int32_t i = 0; below && i < 3; i++) {
        rest[i] = ~rest[i];
    }
    MI_ASSERT(rest[0] != 0);
    const uint32_t shift = (uint32_t)__builtin_clzll(rest[0]); // 1 to 61
    const uint64_t upper = rest[0] << shift | rest[1] >> (64 - shift);
    const uint64_t lower = rest[1] << shift | rest[2] >> (64 - shift);
    const uint64_t scale_bits = (uint64_t)(1023 - 53 - shift) << 52;
    double scale;
    memcpy(&scale, &scale_bits, sizeof(scale));
    const double high = (double)(int64_t)(upper >> 11) * scale;
    const double low = (double)(int64_t)((upper & 0x7ff) << 52 | lower >> 12) * (scale * 0x1p-63);
    // From quarter turns to radians.
    const double radians = high * HALF_PI_HIGH;
    const double radians_low = product_error(high, HALF_PI_HIGH, radians) + (high * HALF_PI_LOW + low * HALF_PI_HIGH);
    const double sum = radians + radians_low;
    const double sum_low = (radians - sum) + radians_low;
    return (folded){below ? -sum : sum, below ? -sum_low : sum_low, quadrant};
}

// Folds a finite angle that is not negative.
static folded fold(double size) {
    if (size <= HALF_PI_HIGH / 2) {
        return (folded){size, 0, 0};
    }
    if (size < NEAR_END) {
        const int32_t turns = (int32_t)(size * TWO_BY_PI + 0.5);
        const double first = size - turns * HALF_PI_FIRST;
        const double second = turns * HALF_PI_SECOND; // below 2^-13
        const double sum = first - second;
        // Near a whole number of quarter turns too few bits are left.
        if (fabs(sum) >= 0x1p-10) {
            const double sum_low = ((first - sum) - second) - turns * HALF_PI_THIRD;
            const double high = sum + sum_low;
            return (folded){high, (sum - high) + sum_low, (uint32_t)turns};
        }
    }
    return fold_far(size);
}

// Folds a finite angle that is a float and not negative, to as many bits as a float's sine needs.
static folded fold_float(double size) {
    if (size < NEAR_END) {
        const int32_t turns = (int32_t)(size * TWO_BY_PI + 0.5);
        return (folded){(size - turns * HALF_PI_FIRST) - turns * HALF_PI_BUT_FIRST, 0, (uint32_t)turns};
    }
    return fold_far(size);
}

static double folded_sine(double high, double low) {
    const double *terms = SINE_TERMS;
    const double z = high * high;
    const double cube = z * high;
    const double rest = terms[1] + z * (terms[2] + z * terms[3]) + z * (z * z) * (terms[4] + z * terms[5]);
    return high - ((z * (0.5 * low - cube * rest) - low) - cube * terms[0]);
}

static double folded_cosine(double high, double low) {
    const double *terms = COSINE_TERMS;
    const double z = high * high;
    const double square = z * z;
    const double rest =
        z * (terms[0] + z * (terms[1] + z * terms[2])) + square * square * (terms[3] + z * (terms[4] + z * terms[5]));
    const double half = 0.5 * z;
    const double most = 1 - half;
    return most + (((1 - most) - half) + (z * rest - high * low));
}

static double folded_sine_float(double angle) {
    const double *terms = SINE_TERMS_FLOAT;
    const double z = angle * angle;
    return angle + angle * z * ((terms[0] + z * terms[1]) + z * z * (terms[2] + z * terms[3]));
}

static double folded_cosine_float(double angle) {
    const double *terms = COSINE_TERMS_FLOAT;
    const double z = angle * angle;
    return (1 - 0.5 * z) + z * z * ((terms[0] + z * terms[1]) + z * z * (terms[2] + z * terms[3]));
}

// The sine of an angle that is `more_turns` quarter turns ahead.
static double sine_ahead(folded angle, uint32_t more_turns) {
    const uint32_t quadrant = angle.quadrant + more_turns;
    const double value =
        (quadrant & 1) != 0 ? folded_cosine(angle.high, angle.low) : folded_sine(angle.high, angle.low);
    return (quadrant & 2) != 0 ? -value : value;
}

static double sine_ahead_float(folded angle, uint32_t more_turns) {
    const uint32_t quadrant = angle.quadrant + more_turns;
    const double value = (quadrant & 1) != 0 ? folded_cosine_float(angle.high) : folded_sine_float(angle.high);
    return (quadrant & 2) != 0 ? -value : value;
}

// What the sine and the cosine of a folded angle are when the quarter turns are counted in.
static mica_sine_cosine turn(double sine, double cosine, uint32_t quadrant) {
    const bool crossed = (quadrant & 1) != 0;
    const double first = crossed ? cosine : sine;
    const double second = crossed ? sine : cosine;
    return (mica_sine_cosine){(quadrant & 2) != 0 ? -first : first, ((quadrant + 1) & 2) != 0 ? -second : second};
}

// Below these the sine is the angle, to the last bit, and signs of zero are kept.
static const double TINY = 0x1p-27;
static const double TINY_FLOAT = 0x1p-12;

double mica_sin(double angle) {
    const double size = fabs(angle);
    if (size < TINY) {
        return angle;
    }
    if (!(size <= DBL_MAX)) {
        return (double)NAN;
    }
    const double sine = sine_ahead(fold(size), 0);
    return angle < 0 ? -sine : sine;
}

double mica_cos(double angle) {
    const double size = fabs(angle);
    return size <= DBL_MAX ? sine_ahead(fold(size), 1) : (double)NAN;
}

mica_sine_cosine mica_sincos(double angle) {
    const double size = fabs(angle);
    if (size < TINY) {
        return (mica_sine_cosine){angle, 1};
    }
    if (!(size <= DBL_MAX)) {
        return (mica_sine_cosine){(double)NAN, (double)NAN};
    }
    const folded rest = fold(size);
    mica_sine_cosine both = turn(folded_sine(rest.high, rest.low), folded_cosine(rest.high, rest.low), rest.quadrant);
    both.sine = angle < 0 ? -both.sine : both.sine;
    return both;
}

float mica_sinf(float angle) {
    const double size = fabs((double)angle);
    if (size < TINY_FLOAT) {
        return angle;
    }
    if (!(size <= DBL_MAX)) {
        return NAN;
    }
    const double sine = sine_ahead_float(fold_float(size), 0);
    return (float)(angle < 0 ? -sine : sine);
}

float mica_cosf(float angle) {
    const double size = fabs((double)angle);
    return size <= DBL_MAX ? (float)sine_ahead_float(fold_float(size), 1) : NAN;
}

mica_sine_cosinef mica_sincosf(float angle) {
    const double size = fabs((double)angle);
    if (size < TINY_FLOAT) {
        return (mica_sine_cosinef){angle, 1};
    }
    if (!(size <= DBL_MAX)) {
        return (mica_sine_cosinef){NAN, NAN};
    }
    const folded rest = fold_float(size);
    const mica_sine_cosine both = turn(folded_sine_float(rest.high), folded_cosine_float(rest.high), rest.quadrant);
    return (mica_sine_cosinef){(float)(angle < 0 ? -both.sine : both.sine), (float)both.cosine};
}

// Arc tangents

// A number as a sum; `low` is below half a unit in the last place of `high`, or near it.
typedef struct double_sum {
    double high;
    double low;
} double_sum;

// (atan(x) - x) / x^3 in z = x * x, for x up to 9/64: relative error of atan(x) 2^-64.2.
static const double ARC_TERMS[7] = {
    -0x1.5555555555552p-2, 0x1.9999999997842p-3, -0x1.249249210b75cp-3, 0x1.c71c6c1d3f5ebp-4,
    -0x1.745aa7ccc06a4p-4, 0x1.3a7ff09f5ad06p-4, -0x1.fd95a5d1a1dbbp-5,
};

// atan(k / 32) for k from 5 to 32.
#define FIRST_ARC 5
static const double_sum ARCS[28] = {
    {0x1.3d6eee8c6626cp-3, 0x1.61a3b0ce9281bp-57},  {0x1.7b97b4bce5b02p-3, 0x1.347b0b4f881cap-58},
    {0x1.b90d7529260a2p-3, 0x1.17b10d2e0e5abp-61},  {0x1.f5b75f92c80ddp-3, 0x1.8ab6e3cf7afbdp-57},
    {0x1.18bf5a30bf178p-2, 0x1.30ca4748b1bf9p-57},  {0x1.362773707ebccp-2, -0x1.963a544b672d8p-57},
    {0x1.530ad9951cd4ap-2, -0x1.2566480884082p-57}, {0x1.6f61941e4def1p-2, -0x1.c63aae6f6e918p-56},
    {0x1.8b24d394a1b25p-2, 0x1.b6d0ba3748fa8p-56},  {0x1.a64eec3cc23fdp-2, -0x1.24dec1b50b7ffp-56},
    {0x1.c0db4c94ec9f0p-2, -0x1.cc1ce70934c34p-56}, {0x1.dac670561bb4fp-2, 0x1.a2b7f222f65e2p-56},
    {0x1.f40dd0b541418p-2, -0x1.a3992dc382a23p-57}, {0x1.0657e94db30d0p-1, -0x1.d5b495f6349e6p-56},
    {0x1.1255d9bfbd2a9p-1, -0x1.2bdaee1c0ee35p-58}, {0x1.1e00babdefeb4p-1, -0x1.928df287a668fp-58},
    {0x1.2958e59308e31p-1, -0x1.09e73b0c6c087p-56}, {0x1.345f01cce37bbp-1, 0x1.1021137c71102p-55},
    {0x1.3f13fb89e96f4p-1, 0x1.ecf8b492644f0p-56},  {0x1.4978fa3269ee1p-1, 0x1.2419a87f2a458p-56},
    {0x1.538f57b89061fp-1, -0x1.1bb74abda520cp-55}, {0x1.5d58987169b18p-1, 0x1.0028e4bc5e7cap-57},
    {0x1.66d663923e087p-1, -0x1.6ea6febe8bbbap-56}, {0x1.700a7c5784634p-1, -0x1.8c34d25aadef6p-56},
    {0x1.78f6bbd5d315ep-1, 0x1.406a089803740p-55},  {0x1.819d0b7158a4dp-1, -0x1.bf76229d3b917p-56},
    {0x1.89ff5ff57f1f8p-1, -0x1.55b9a5e177a1bp-55}, {0x1.921fb54442d18p-1, 0x1.1a62633145c07p-55},
};

// Where a point lies, folded into the eighth next to the positive x axis.
typedef struct direction {
    double rise; // at most `run`, both finite, `run` not zero
    double run;
    bool steep; // nearer to the y axis
    bool left;  // x is negative, or minus zero
} direction;

// Neither coordinate is NaN.
static direction fold_point(double y, double x) {
    const double height = fabs(y);
    const double width = fabs(x);
    const bool steep = height > width;
    direction folded_point = {steep ? width : height, steep ? height : width, steep, signbit(x) != 0};
    if (folded_point.run > DBL_MAX) {
        folded_point.rise = folded_point.rise > DBL_MAX;
        folded_point.run = 1;
    } else if (folded_point.run == 0) {
        folded_point.run = 1;
    }
    return folded_point;
}

// The arc tangent of slope + rest, which is 0 to 1: near k / 32 it is that of k / 32 and of a small difference.
static double_sum arc_tangent(double slope, double rest) {
    double_sum base = {0, 0};
    double difference = slope;
    if (slope >= (FIRST_ARC - 0.5) / 32) {
        const int32_t k = (int32_t)(slope * 32 + 0.5);
        base = ARCS[k - FIRST_ARC];
        const double middle = k * 0x1p-5;
        difference = ((slope - middle) + rest) / (1 + slope * middle);
        rest = 0;
    }
    const double *terms = ARC_TERMS;
    const double z = difference * difference;
    const double square = z * z;
    const double polynomial = (terms[0] + z * terms[1]) + square * (terms[2] + z * terms[3]) +
                              square * square * (terms[4] + z * (terms[5] + z * terms[6]));
    const double high = base.high + difference;
    const double low = ((base.high - high) + difference) + (base.low + (rest + difference * z * polynomial));
    return (double_sum){high, low};
}

// What the arc of a folded point is taken from, or added to.
static double_sum axis_of(const direction *point) {
    const double_sum axes[4] = {
        {0, 0}, {HALF_PI_HIGH, HALF_PI_LOW}, {2 * HALF_PI_HIGH, 2 * HALF_PI_LOW}, {HALF_PI_HIGH, HALF_PI_LOW}};
    return axes[point->left * 2 + point->steep];
}

double mica_atan2(double y, double x) {
    if (isnan(y) || isnan(x)) {
        return (double)NAN;
    }
    const direction point = fold_point(y, x);
    const double_sum axis = axis_of(&point);
    double rise = point.rise;
    double run = point.run;
    if (rise < run * 0x1p-64) { // so flat that it is the slope, or nothing beside the axis
        return copysign(axis.high == 0 ? rise / run : axis.high, y);
    }
    if (run < 0x1p-500) {
        rise *= 0x1p600;
        run *= 0x1p600;
    } else if (run > 0x1p500) {
        rise *= 0x1p-600;
        run *= 0x1p-600;
    }
    const double slope = rise / run;
    const double product = slope * run;
    const double rest = ((rise - product) - product_error(slope, run, product)) / run;
    const double_sum arc = arc_tangent(slope, rest);
    const double sign = point.steep == point.left ? 1 : -1;
    const double high = axis.high + sign * arc.high;
    const double low = ((axis.high - high) + sign * arc.high) + (axis.low + sign * arc.low);
    return copysign(high + low, y);
}

float mica_atan2f(float y, float x) {
    if (isnan(y) || isnan(x)) {
        return NAN;
    }
    const direction point = fold_point((double)y, (double)x);
    const double_sum arc = arc_tangent(point.rise / point.run, 0);
    const double angle = arc.high + arc.low;
    const double sign = point.steep == point.left ? 1 : -1;
    return (float)copysign(axis_of(&point).high + sign * angle, (double)y);
}

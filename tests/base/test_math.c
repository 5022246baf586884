// Sine, cosine and arc tangent: their errors, against a table of values to 106 bits and, where long doubles have more
// bits than doubles, against the C library; and that their results are the same bits in every build.
#include <mica/math.h>

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "support/test_random.h"

// What math.h promises.
#define SINE_ULP 0.85
#define ARC_ULP 0.75
#define FLOAT_ULP 0.501

static const double PI = 0x1.921fb54442d18p+1;

static uint64_t bits_of(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static uint32_t bits_of_float(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static double double_of(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static float float_of(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static double uniform(test_random *random) {
    return (double)(test_random_next(random) >> 11) * 0x1p-53;
}

#define assert_same(A, B) assert_int_equal(bits_of(A), bits_of(B))
#define assert_same_float(A, B) assert_int_equal(bits_of_float(A), bits_of_float(B))

// One unit in the last place of numbers of this size, which is not 0, with so many bits.
static double unit_of(double value, int bit_count, int least_exponent) {
    int exponent;
    frexp(value, &exponent);
    return ldexp(1, (exponent > least_exponent ? exponent : least_exponent) - bit_count);
}

// Values that are known

// Exact values as sums of two doubles.
static const struct {
    double angle;
    double sine, sine_rest;
    double cosine, cosine_rest;
} known_angles[] = {
    // 6381956970095103 * 2^797 comes nearer to a multiple of pi/2 than any other double.
    {0x1.6ac5b262ca1ffp+849, 0x1p+0, -0x1.2b089ea1e692bp-123, -0x1.14ae72e6ba22fp-61, 0x1.73eef1477d90ep-118},
    {0x1.921fb54442d18p-1, 0x1.6a09e667f3bccp-1, 0x1.7a7fb8d4bd43fp-55, 0x1.6a09e667f3bcdp-1, -0x1.ec4c7696139d5p-56},
    {0x1.921fb54442d18p+0, 0x1p+0, -0x1.377ce858a5d48p-109, 0x1.1a62633145c07p-54, -0x1.f1976b7ed8fbcp-110},
    {0x1.921fb54442d18p+1, 0x1.1a62633145c07p-53, -0x1.f1976b7ed8fbdp-109, -0x1p+0, 0x1.377ce858a5d48p-107},
    {0x1.2d97c7f3321d2p+2, -0x1p+0, 0x1.5e6c8563ba8f1p-106, -0x1.a79394c9e8a0ap-53, -0x1.456737b06ea19p-107},
    {0x1.921fb54442d18p+2, -0x1.1a62633145c07p-52, 0x1.f1976b7ed8fbfp-108, 0x1p+0, -0x1.377ce858a5d48p-105},
    {0x1.1475cc9eedf01p+4, -0x1p+0, 0x1.8aab790a66904p-101, 0x1.3ddc5bce200bbp-50, 0x1.15860679cd4a0p-104},
    {0x1.16d0fc2ed4544p+9, -0x1p+0, 0x1.c303d709a7177p-91, -0x1.53cb37c6a9dcfp-45, 0x1.d8813e8446320p-100},
    // The last multiple of pi/2 that is folded by subtractions, and one that is not.
    {0x1.ffffc2f4c1f6ep+19, -0x1p+0, 0x1.52c865ce7c6b5p-74, -0x1.a07b4015a3b16p-37, -0x1.51694908ad1b0p-92},
    {0x1.7f7ec53a8d491p+20, -0x1.eacd7c60e9693p-34, -0x1.fd48ba6245e81p-88, 0x1p+0, -0x1.d67ba289b6955p-68},
    {0x1.921fb54442d18p+30, -0x1.1a62633145c03p-24, -0x1.32a18af731e0ap-78, 0x1.fffffffffffedp-1,
     -0x1.df3a16297517fp-55},
    {0x1.65286144ada42p+50, -0x1.e73716d61a202p-4, -0x1.85dee3d98ea7dp-60, 0x1.fc5d6fb4145a3p-1,
     -0x1.c71032b427525p-55},
    {0x1p+0, 0x1.aed548f090ceep-1, 0x1.06374f484e288p-59, 0x1.14a280fb5068cp-1, -0x1.b71edcc9344bcp-55},
    {0x1.fffffe0000000p+19, 0x1.1566584a3fd94p-2, -0x1.fb7fe1d6badfep-56, 0x1.ecdaf47bd0923p-1, 0x1.8808c49374829p-55},
    {0x1p+20, 0x1.526ccb2fc8656p-2, -0x1.312bfebafe1dfp-56, 0x1.e33ada92fe2aep-1, -0x1.420bfaf737b2dp-57},
    {1e22, -0x1.b453ab76bf397p-1, -0x1.f453790772648p-58, 0x1.0be2cef01c8f4p-1, -0x1.b2d1bc8018c4fp-55},
    {1e300, -0x1.a2c16b010e385p-1, -0x1.b900a1f54ecd2p-55, -0x1.2699022adc4c1p-1, 0x1.edd5594b5c574p-56},
    {0x1p+1000, -0x1.460b8ae1c886ep-3, -0x1.3647ed24e6b8dp-57, 0x1.f9785160c8815p-1, 0x1.78c8c8e960e93p-57},
    {DBL_MAX, 0x1.452fc98b34e97p-8, -0x1.27bb193d960dfp-62, -0x1.fffe62ecfab75p-1, -0x1.e038d934070f1p-56},
    {0x1p-26, 0x1p-26, -0x1.5555555555555p-81, 0x1.fffffffffffffp-1, 0x1.5555555555555p-109},
    {0x1p-27, 0x1p-27, -0x1.5555555555555p-84, 0x1p+0, -0x1p-55},
};

// Whether a result is off by less than so many ULP.
static bool is_near(double result, double exact, double exact_rest, double limit) {
    return fabs((result - exact) - exact_rest) <= limit * unit_of(exact, 53, -1021);
}

static void sines_and_cosines_of_known_angles_are_within_their_bounds(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof(known_angles) / sizeof(known_angles[0]); i++) {
        const double angle = known_angles[i].angle;
        assert_true(is_near(mica_sin(angle), known_angles[i].sine, known_angles[i].sine_rest, SINE_ULP));
        assert_true(is_near(mica_cos(angle), known_angles[i].cosine, known_angles[i].cosine_rest, SINE_ULP));
    }
}

static const struct {
    double y, x;
    double angle, angle_rest;
} known_points[] = {
    {1, 1, 0x1.921fb54442d18p-1, 0x1.1a62633145c07p-55},
    {1, -1, 0x1.2d97c7f3321d2p+1, 0x1.a79394c9e8a0ap-54},
    {-1, -1, -0x1.2d97c7f3321d2p+1, -0x1.a79394c9e8a0ap-54},
    {3, 4, 0x1.4978fa3269ee1p-1, 0x1.2419a87f2a458p-56},
    {1, 3, 0x1.4978fa3269ee1p-2, 0x1.2419a87f2a458p-57},
    {-2, 0.5, -0x1.5368c951e9cfdp+0, 0x1.96f47948a99f1p-54},
    {1e-300, 1e-310, 0x1.921fb543d4de0p+0, 0x1.408aa58e62bd1p-54},
    {1e300, -1e308, 0x1.921fb52ec942ap+1, 0x1.1c7ea96c64fa9p-54},
    {0x1p-1074, 0x1p-1074, 0x1.921fb54442d18p-1, 0x1.1a62633145c07p-55},
    {0x1p-1074, 1, 0x1p-1074, 0},
    {1, 0x1p-1074, 0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54},
    {1e-5, 1, 0x1.4f8b588e06854p-17, -0x1.1497211c788bep-71},
    {-1e-20, -1, -0x1.921fb54442d18p+1, -0x1.1a5c7c09029bep-53},
    // To both sides of where the table of arcs begins.
    {0.1406, 1, 0x1.1e12d54d6c365p-3, 0x1.ca919cdf72151p-57},
    {0.1407, 1, 0x1.1e463eb5ef5c4p-3, 0x1.65478944523a2p-57},
    {1, 0.999999999, 0x1.921fb5488e548p-1, -0x1.c69ea22d59b0ep-56},
    {1.5e308, 1.7e308, 0x1.722a598d15d3ap-1, -0x1.00e36c70361aep-56},
};

static void angles_of_known_points_are_within_their_bounds(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof(known_points) / sizeof(known_points[0]); i++) {
        const double angle = mica_atan2(known_points[i].y, known_points[i].x);
        assert_true(is_near(angle, known_points[i].angle, known_points[i].angle_rest, ARC_ULP));
    }
}

// Values that the C library knows better

#if LDBL_MANT_DIG >= 64

// The error of a result in ULP of a double or a float.
static double error_of(double result, long double exact, int bit_count, int least_exponent) {
    if (exact == 0) {
        return result == 0 ? 0 : DBL_MAX;
    }
    return (double)(fabsl((long double)result - exact)) / unit_of((double)exact, bit_count, least_exponent);
}

static void check_angle(double angle) {
    const double sine_error = error_of(mica_sin(angle), sinl((long double)angle), 53, -1021);
    const double cosine_error = error_of(mica_cos(angle), cosl((long double)angle), 53, -1021);
    if (sine_error > SINE_ULP || cosine_error > SINE_ULP) {
        fail_msg("the sine of %a is off by %f ULP, its cosine by %f", angle, sine_error, cosine_error);
    }
}

static void check_point(double y, double x) {
    const double error = error_of(mica_atan2(y, x), atan2l((long double)y, (long double)x), 53, -1021);
    if (error > ARC_ULP) {
        fail_msg("the angle of y = %a, x = %a is off by %f ULP", y, x, error);
    }
}

static void check_floats(float y, float x) {
    const double errors[3] = {error_of((double)mica_sinf(y), sinl((long double)y), 24, -125),
                              error_of((double)mica_cosf(y), cosl((long double)y), 24, -125),
                              error_of((double)mica_atan2f(y, x), atan2l((long double)y, (long double)x), 24, -125)};
    for (int i = 0; i < 3; i++) {
        if (errors[i] > FLOAT_ULP) {
            fail_msg("function %d of %a, %a is off by %f ULP", i, (double)y, (double)x, errors[i]);
        }
    }
}

static void dense_angles_are_within_their_bounds(void **state) {
    (void)state;
    for (int i = 0; i < 40000; i++) {
        check_angle(i * (PI / 160000)); // up to pi/4
        check_angle(i * (PI / 4001));
    }
}

static void random_angles_are_within_their_bounds(void **state) {
    (void)state;
    test_random random = {1};
    for (int i = 0; i < 40000; i++) {
        check_angle(uniform(&random) * 0x1p21);
        check_angle(double_of(test_random_next(&random) % bits_of(INFINITY)));
        check_angle(-ldexp(1 + uniform(&random), 20 + (int)test_random_below(&random, 1003)));
    }
}

static void angles_beside_quarter_turns_are_within_their_bounds(void **state) {
    (void)state;
    test_random random = {2};
    for (int i = 0; i < 20000; i++) {
        const double angle = (double)(test_random_next(&random) >> (44 + i % 16)) * (PI / 2);
        check_angle(angle);
        check_angle(nextafter(angle, 0));
        check_angle(nextafter(angle, DBL_MAX));
    }
}

static void random_points_are_within_their_bounds(void **state) {
    (void)state;
    test_random random = {3};
    for (int i = 0; i < 30000; i++) {
        const double first = 2 * uniform(&random) - 1;
        const double second = 2 * uniform(&random) - 1;
        const double near_axis = ldexp(second, -(int)test_random_below(&random, 80));
        check_point(first, second);
        check_point(near_axis, first);
        check_point(first, near_axis);
        // Of any size, the other one at most a few orders of magnitude away: subnormal and huge ones among them.
        const double any = double_of(test_random_next(&random) % bits_of(INFINITY));
        const double other = any * ldexp(1.5 + first / 4, (int)test_random_below(&random, 12) - 6);
        if (other < INFINITY) {
            check_point(any, -other);
        }
    }
}

static void floats_are_all_but_correctly_rounded(void **state) {
    (void)state;
    test_random random = {4};
    for (uint32_t bits = 0; bits < bits_of_float(INFINITY); bits += 32749) {
        check_floats(float_of(bits), float_of(test_random_below(&random, bits_of_float(INFINITY))));
        const float angle = (float)(uniform(&random) * 7);
        check_floats(angle, (float)(2 * uniform(&random) - 1));
    }
}

#endif

// Ends of the range

static void zeros_keep_their_signs(void **state) {
    (void)state;
    assert_same(mica_sin(0.0), 0.0);
    assert_same(mica_sin(-0.0), -0.0);
    assert_same(mica_cos(-0.0), 1.0);
    assert_same_float(mica_sinf(-0.0f), -0.0f);
    assert_same_float(mica_cosf(-0.0f), 1.0f);
    assert_same(mica_sincos(-0.0).sine, -0.0);
    assert_same_float(mica_sincosf(-0.0f).sine, -0.0f);
}

static void the_sine_of_what_is_tiny_is_itself(void **state) {
    (void)state;
    static const double tiny[] = {0x1p-1074, 0x1.8p-1060, DBL_MIN, -0x1.fffffffffffffp-28};
    for (size_t i = 0; i < sizeof(tiny) / sizeof(tiny[0]); i++) {
        assert_same(mica_sin(tiny[i]), tiny[i]);
        assert_same(mica_sincos(tiny[i]).sine, tiny[i]);
        assert_same(mica_cos(tiny[i]), 1.0);
        assert_same(mica_sincos(tiny[i]).cosine, 1.0);
    }
    assert_same_float(mica_sinf(0x1p-149f), 0x1p-149f);
    assert_same_float(mica_sinf(-0x1.fffffep-13f), -0x1.fffffep-13f);
}

static void what_is_no_number_gives_one_and_the_same_nan(void **state) {
    (void)state;
    const double inputs[] = {INFINITY, -INFINITY, (double)NAN, -(double)NAN, double_of(UINT64_C(0x7ff0000000000001))};
    const uint64_t quiet = UINT64_C(0x7ff8000000000000);
    const uint32_t quiet_float = 0x7fc00000;
    for (size_t i = 0; i < sizeof(inputs) / sizeof(inputs[0]); i++) {
        const double input = inputs[i];
        assert_int_equal(bits_of(mica_sin(input)), quiet);
        assert_int_equal(bits_of(mica_cos(input)), quiet);
        assert_int_equal(bits_of(mica_sincos(input).sine), quiet);
        assert_int_equal(bits_of(mica_sincos(input).cosine), quiet);
        assert_int_equal(bits_of_float(mica_sinf((float)input)), quiet_float);
        assert_int_equal(bits_of_float(mica_cosf((float)input)), quiet_float);
        assert_int_equal(bits_of_float(mica_sincosf((float)input).sine), quiet_float);
        assert_int_equal(bits_of_float(mica_sincosf((float)input).cosine), quiet_float);
        if (isnan(input)) {
            assert_int_equal(bits_of(mica_atan2(input, 1)), quiet);
            assert_int_equal(bits_of(mica_atan2(INFINITY, input)), quiet);
            assert_int_equal(bits_of_float(mica_atan2f((float)input, 1)), quiet_float);
            assert_int_equal(bits_of_float(mica_atan2f(0, (float)input)), quiet_float);
        }
    }
}

static void points_on_axes_and_at_infinity_have_the_angles_of_annex_f(void **state) {
    (void)state;
    static const struct {
        double y, x, angle;
    } cases[] = {
        {0, 1, 0},
        {0, 0, 0},
        {0, -0.0, PI},
        {0, -1, PI},
        {1, 0, PI / 2},
        {1, -0.0, PI / 2},
        {1, INFINITY, 0},
        {1, -INFINITY, PI},
        {0, -INFINITY, PI},
        {INFINITY, 1, PI / 2},
        {INFINITY, -1e30, PI / 2},
        {INFINITY, INFINITY, PI / 4},
        {INFINITY, -INFINITY, 0x1.2d97c7f3321d2p+1},
        {1, -0x1p-1074, PI / 2},
        {0x1p-1074, 0, PI / 2},
        {0x1p-1074, DBL_MAX, 0},
        {0x1p-1074, -DBL_MAX, PI},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_same(mica_atan2(cases[i].y, cases[i].x), cases[i].angle);
        assert_same(mica_atan2(-cases[i].y, cases[i].x), -cases[i].angle);
    }
    for (size_t i = 0; i < 13; i++) { // those behind are no floats
        assert_same_float(mica_atan2f((float)cases[i].y, (float)cases[i].x), (float)cases[i].angle);
        assert_same_float(mica_atan2f(-(float)cases[i].y, (float)cases[i].x), -(float)cases[i].angle);
    }
}

// What belongs together

static void sine_is_odd_and_cosine_is_even(void **state) {
    (void)state;
    test_random random = {5};
    for (int i = 0; i < 20000; i++) {
        const double angle = double_of(test_random_next(&random) % bits_of(INFINITY));
        const float small = (float)(uniform(&random) * 100);
        assert_same(mica_sin(-angle), -mica_sin(angle));
        assert_same(mica_cos(-angle), mica_cos(angle));
        assert_same_float(mica_sinf(-small), -mica_sinf(small));
        assert_same_float(mica_cosf(-small), mica_cosf(small));
    }
}

static void both_at_once_are_the_same_bits_as_each(void **state) {
    (void)state;
    test_random random = {6};
    for (int i = 0; i < 20000; i++) {
        const uint64_t bits = test_random_next(&random);
        const double angles[2] = {double_of(bits), (2 * uniform(&random) - 1) * 100};
        for (int k = 0; k < 2; k++) {
            const mica_sine_cosine both = mica_sincos(angles[k]);
            assert_same(both.sine, mica_sin(angles[k]));
            assert_same(both.cosine, mica_cos(angles[k]));
            const float angle = k == 0 ? float_of((uint32_t)bits) : (float)angles[k];
            const mica_sine_cosinef both_floats = mica_sincosf(angle);
            assert_same_float(both_floats.sine, mica_sinf(angle));
            assert_same_float(both_floats.cosine, mica_cosf(angle));
        }
    }
}

// The same everywhere

static uint64_t mix(uint64_t digest, uint64_t bits) {
    digest = (digest ^ bits) * UINT64_C(0x9e3779b97f4a7c15);
    return digest ^ digest >> 32;
}

// The results for arguments of every kind: two of any bits, and two of everyday size.
static void mix_results(uint64_t digests[6], test_random *random) {
    const uint64_t first = test_random_next(random);
    const uint64_t second = test_random_next(random);
    const double third = (2 * uniform(random) - 1) * 1000;
    const double arguments[4] = {double_of(first), double_of(second), third, 2 * uniform(random) - 1};
    const float floats[4] = {float_of((uint32_t)first), float_of((uint32_t)second), (float)arguments[2],
                             (float)arguments[3]};
    for (int i = 0; i < 4; i++) {
        digests[0] = mix(digests[0], bits_of(mica_sin(arguments[i])));
        digests[1] = mix(digests[1], bits_of(mica_cos(arguments[i])));
        digests[2] = mix(digests[2], bits_of(mica_atan2(arguments[i], arguments[i ^ 1])));
        digests[3] = mix(digests[3], bits_of_float(mica_sinf(floats[i])));
        digests[4] = mix(digests[4], bits_of_float(mica_cosf(floats[i])));
        digests[5] = mix(digests[5], bits_of_float(mica_atan2f(floats[i], floats[i ^ 1])));
    }
}

// The constants are what gcc and clang, debug and release gave when the functions were made. A change of one is a
// change of what programs compute, and of what their recorded runs are compared with.
static void results_are_the_same_bits_in_every_build(void **state) {
    (void)state;
    static const uint64_t expected[6] = {
        UINT64_C(0xf6e2b3c314fb478d), UINT64_C(0xcbb17e2dae63d568), UINT64_C(0x857d8c6eec42f6cc),
        UINT64_C(0xa9a7ec991555937e), UINT64_C(0x06d506b7b31efe82), UINT64_C(0x4ba361aa8813897b),
    };
    uint64_t digests[6] = {0};
    test_random random = {7};
    for (int i = 0; i < 50000; i++) {
        mix_results(digests, &random);
    }
    for (int i = 0; i < 6; i++) {
        if (digests[i] != expected[i]) {
            fail_msg("function %d gives 0x%016llx", i, (unsigned long long)digests[i]);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sines_and_cosines_of_known_angles_are_within_their_bounds),
        cmocka_unit_test(angles_of_known_points_are_within_their_bounds),
#if LDBL_MANT_DIG >= 64
        cmocka_unit_test(dense_angles_are_within_their_bounds),
        cmocka_unit_test(random_angles_are_within_their_bounds),
        cmocka_unit_test(angles_beside_quarter_turns_are_within_their_bounds),
        cmocka_unit_test(random_points_are_within_their_bounds),
        cmocka_unit_test(floats_are_all_but_correctly_rounded),
#endif
        cmocka_unit_test(zeros_keep_their_signs),
        cmocka_unit_test(the_sine_of_what_is_tiny_is_itself),
        cmocka_unit_test(what_is_no_number_gives_one_and_the_same_nan),
        cmocka_unit_test(points_on_axes_and_at_infinity_have_the_angles_of_annex_f),
        cmocka_unit_test(sine_is_odd_and_cosine_is_even),
        cmocka_unit_test(both_at_once_are_the_same_bits_as_each),
        cmocka_unit_test(results_are_the_same_bits_in_every_build),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

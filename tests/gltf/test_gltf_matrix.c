// Matrices taken apart: what was composed comes back, mirrored, singular and sheared ones included.

#include "../../modules/gltf/gltf_matrix.h"
#include "support/test_random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

static test_random source;

static double random_between(double low, double high) {
    return low + (high - low) * ((double)(test_random_next(&source) >> 11) / 9007199254740992.0);
}

static void random_rotation(double rotation[4]) {
    double length = 0;
    for (int32_t i = 0; i < 4; i++) {
        rotation[i] = random_between(-1, 1);
        length += rotation[i] * rotation[i];
    }
    for (int32_t i = 0; i < 4; i++) {
        rotation[i] /= sqrt(length);
    }
}

// Rotates each axis by the product q v q*, and not by the formula of the code under test.
static void compose(const mi_gltf_pose *pose, double matrix[16]) {
    const double *q = pose->rotation;
    memset(matrix, 0, 16 * sizeof *matrix);
    for (int32_t axis = 0; axis < 3; axis++) {
        double v[3] = {axis == 0, axis == 1, axis == 2};
        double t[3];
        for (int32_t i = 0; i < 3; i++) {
            int32_t j = (i + 1) % 3;
            int32_t k = (i + 2) % 3;
            t[i] = 2 * (q[j] * v[k] - q[k] * v[j]);
        }
        for (int32_t i = 0; i < 3; i++) {
            int32_t j = (i + 1) % 3;
            int32_t k = (i + 2) % 3;
            matrix[axis * 4 + i] = pose->scale[axis] * (v[i] + q[3] * t[i] + q[j] * t[k] - q[k] * t[j]);
        }
    }
    memcpy(matrix + 12, pose->translation, sizeof pose->translation);
    matrix[15] = 1;
}

static double squared_distance(const double a[16], const double b[16]) {
    double sum = 0;
    for (int32_t i = 0; i < 12; i++) {
        sum += (a[i] - b[i]) * (a[i] - b[i]);
    }
    return sum;
}

static void expect_same_matrix(const double matrix[16], const mi_gltf_pose *pose, double tolerance) {
    double composed[16];
    double largest = 0;
    compose(pose, composed);
    for (int32_t i = 0; i < 16; i++) {
        largest = fmax(largest, fabs(matrix[i]));
    }
    for (int32_t i = 0; i < 16; i++) {
        assert_true(fabs(composed[i] - matrix[i]) <= tolerance * largest);
    }
}

static void composed_poses_come_back(void **state) {
    (void)state;
    source.state = 1;
    for (int32_t round = 0; round < 20000; round++) {
        mi_gltf_pose made;
        mi_gltf_pose found;
        double matrix[16];
        random_rotation(made.rotation);
        for (int32_t i = 0; i < 3; i++) {
            made.translation[i] = random_between(-100, 100);
            made.scale[i] = pow(10, random_between(-4, 4));
        }
        compose(&made, matrix);
        assert_true(mi_gltf_pose_from_matrix(matrix, &found));
        double sign = made.rotation[3] < 0 ? -1 : 1;
        assert_true(found.rotation[3] >= 0);
        for (int32_t i = 0; i < 4; i++) {
            assert_true(fabs(found.rotation[i] - sign * made.rotation[i]) < 1e-12);
        }
        for (int32_t i = 0; i < 3; i++) {
            assert_true(fabs(found.scale[i] / made.scale[i] - 1) < 1e-11);
        }
        assert_memory_equal(found.translation, made.translation, sizeof made.translation);
    }
}

static void mirrored_matrices_have_one_negative_scale(void **state) {
    (void)state;
    source.state = 2;
    for (int32_t round = 0; round < 20000; round++) {
        mi_gltf_pose made = {{0}, {0}, {0}};
        mi_gltf_pose found;
        double matrix[16];
        random_rotation(made.rotation);
        for (int32_t i = 0; i < 3; i++) {
            made.scale[i] = random_between(0.1, 10);
        }
        made.scale[round % 3] *= -1;
        if (round & 1) {
            made.scale[(round + 1) % 3] *= -1;
            made.scale[(round + 2) % 3] *= -1;
        }
        compose(&made, matrix);
        assert_true(mi_gltf_pose_from_matrix(matrix, &found));
        assert_true(found.scale[0] < 0 && found.scale[1] > 0 && found.scale[2] > 0);
        expect_same_matrix(matrix, &found, 1e-12);
    }
}

static void vanishing_scales_keep_a_rotation(void **state) {
    (void)state;
    source.state = 3;
    for (int32_t round = 0; round < 8000; round++) {
        mi_gltf_pose made = {{0}, {0}, {0}};
        mi_gltf_pose found;
        double matrix[16];
        random_rotation(made.rotation);
        for (int32_t i = 0; i < 3; i++) {
            made.scale[i] = (round >> i & 1) ? random_between(-2, 2) : 0;
        }
        compose(&made, matrix);
        assert_true(mi_gltf_pose_from_matrix(matrix, &found));
        double length = 0;
        for (int32_t i = 0; i < 4; i++) {
            length += found.rotation[i] * found.rotation[i];
        }
        assert_true(fabs(length - 1) < 1e-12);
        expect_same_matrix(matrix, &found, 1e-12);
    }
}

static void zero_has_no_rotation(void **state) {
    (void)state;
    mi_gltf_pose found;
    assert_true(mi_gltf_pose_from_matrix((double[16]){[12] = 1, [13] = 2, [14] = 3, [15] = 1}, &found));
    const mi_gltf_pose expected = {{1, 2, 3}, {0, 0, 0, 1}, {0, 0, 0}};
    assert_memory_equal(&found, &expected, sizeof expected);
}

static void magnitudes_do_not_matter(void **state) {
    (void)state;
    static const double magnitudes[] = {1e-300, 1e-38, 1, 3e38, 1e300};
    for (int32_t i = 0; i < 5; i++) {
        double matrix[16] = {[15] = 1};
        mi_gltf_pose found;
        matrix[1] = matrix[6] = matrix[8] = magnitudes[i];
        assert_true(mi_gltf_pose_from_matrix(matrix, &found));
        for (int32_t k = 0; k < 3; k++) {
            assert_true(fabs(found.scale[k] / magnitudes[i] - 1) < 1e-12);
            assert_true(fabs(found.rotation[k] - 0.5) < 1e-12);
        }
    }
}

// No pose in the neighbourhood of the one found is nearer to the sheared matrix.
static void sheared_matrices_give_the_nearest_pose(void **state) {
    (void)state;
    source.state = 4;
    for (int32_t round = 0; round < 2000; round++) {
        mi_gltf_pose made = {{0}, {0}, {0}};
        mi_gltf_pose found;
        double matrix[16];
        double composed[16];
        random_rotation(made.rotation);
        for (int32_t i = 0; i < 3; i++) {
            made.scale[i] = random_between(1, 3);
        }
        compose(&made, matrix);
        for (int32_t i = 0; i < 3; i++) {
            matrix[4 + i] += matrix[i] * random_between(0.05, 0.4);
        }
        assert_false(mi_gltf_pose_from_matrix(matrix, &found));
        compose(&found, composed);
        double distance = squared_distance(matrix, composed);
        for (int32_t attempt = 0; attempt < 50; attempt++) {
            mi_gltf_pose other = found;
            double length = 0;
            for (int32_t i = 0; i < 4; i++) {
                other.rotation[i] += random_between(-1e-2, 1e-2);
                length += other.rotation[i] * other.rotation[i];
            }
            for (int32_t i = 0; i < 4; i++) {
                other.rotation[i] /= sqrt(length);
            }
            for (int32_t i = 0; i < 3; i++) {
                other.scale[i] += random_between(-1e-2, 1e-2);
            }
            compose(&other, composed);
            assert_true(squared_distance(matrix, composed) > distance - 1e-7);
        }
    }
}

static void slight_shear_is_rounding(void **state) {
    (void)state;
    mi_gltf_pose found;
    double matrix[16] = {1, 0, 0, 0, 1e-6, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
    assert_true(mi_gltf_pose_from_matrix(matrix, &found));
    matrix[4] = 1e-3;
    assert_false(mi_gltf_pose_from_matrix(matrix, &found));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(composed_poses_come_back),         cmocka_unit_test(mirrored_matrices_have_one_negative_scale),
        cmocka_unit_test(vanishing_scales_keep_a_rotation), cmocka_unit_test(zero_has_no_rotation),
        cmocka_unit_test(magnitudes_do_not_matter),         cmocka_unit_test(sheared_matrices_give_the_nearest_pose),
        cmocka_unit_test(slight_shear_is_rounding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

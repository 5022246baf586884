// A matrix M (its left upper 3x3 part) taken apart into a rotation R and a diagonal scale S with M = R S.
//
// The rotation comes from Horn's method: the quaternion that fits three directions best is the eigenvector of the
// largest eigenvalue of a symmetric 4x4 matrix. Unlike dividing the columns by their lengths it always gives a
// rotation, for columns of length zero and for dependent ones too, and where the choice is free it takes the identity's
// side. For given R the best scale is the dot product of the columns; for given S the best rotation is Horn's for the
// columns weighted with S. Alternating between the two never increases the sum of squared differences, and so comes to
// the nearest pose if M has shear.

#include "gltf_matrix.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

typedef struct columns {
    double column[3][3]; // [which][row]
} columns;

enum { SWEEP_LIMIT = 32, ALTERNATION_LIMIT = 64 };

// A column whose part outside the pose's is larger than this, by its own length, counts as sheared. Files carry
// matrices with six digits and products of such.
static const double SHEAR_TOLERANCE = 1e-5;

static double dot(const double a[3], const double b[3]) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

// One Jacobi rotation that makes symmetric[p][q] zero.
static void rotate_plane(double symmetric[4][4], double vectors[4][4], int32_t p, int32_t q) {
    double off_diagonal = symmetric[p][q];
    double theta = (symmetric[q][q] - symmetric[p][p]) / (2.0 * off_diagonal);
    double t = (theta >= 0 ? 1.0 : -1.0) / (fabs(theta) + sqrt(theta * theta + 1.0));
    double c = 1.0 / sqrt(t * t + 1.0);
    double s = t * c;
    for (int32_t i = 0; i < 4; i++) {
        double ip = symmetric[i][p];
        double iq = symmetric[i][q];
        symmetric[i][p] = c * ip - s * iq;
        symmetric[i][q] = s * ip + c * iq;
    }
    for (int32_t i = 0; i < 4; i++) {
        double pi = symmetric[p][i];
        double qi = symmetric[q][i];
        symmetric[p][i] = c * pi - s * qi;
        symmetric[q][i] = s * pi + c * qi;
        double vp = vectors[i][p];
        double vq = vectors[i][q];
        vectors[i][p] = c * vp - s * vq;
        vectors[i][q] = s * vp + c * vq;
    }
}

// The unit eigenvector of the largest eigenvalue; the last axis if several are equally large.
static void largest_eigenvector(double symmetric[4][4], double vector[4]) {
    double vectors[4][4] = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}};
    for (int32_t sweep = 0; sweep < SWEEP_LIMIT; sweep++) {
        double rest = 0;
        double diagonal = 0;
        for (int32_t p = 0; p < 4; p++) {
            diagonal += fabs(symmetric[p][p]);
            for (int32_t q = p + 1; q < 4; q++) {
                rest += fabs(symmetric[p][q]);
            }
        }
        if (rest <= diagonal * 1e-18) {
            break;
        }
        for (int32_t p = 0; p < 4; p++) {
            for (int32_t q = p + 1; q < 4; q++) {
                if (symmetric[p][q] != 0) {
                    rotate_plane(symmetric, vectors, p, q);
                }
            }
        }
    }
    int32_t best = 3;
    for (int32_t i = 2; i >= 0; i--) {
        if (symmetric[i][i] > symmetric[best][best]) {
            best = i;
        }
    }
    double length = 0;
    for (int32_t i = 0; i < 4; i++) {
        length += vectors[i][best] * vectors[i][best];
    }
    length = sqrt(length);
    double sign = vectors[3][best] < 0 ? -1.0 : 1.0;
    for (int32_t i = 0; i < 4; i++) {
        vector[i] = sign * vectors[i][best] / length;
    }
}

// The rotation whose columns are nearest to those given, in the sum of their dot products.
static void fit_rotation(const columns *of, double rotation[4]) {
    const double(*m)[3] = of->column;
    double symmetric[4][4] = {
        {m[0][0] - m[1][1] - m[2][2], m[1][0] + m[0][1], m[2][0] + m[0][2], m[1][2] - m[2][1]},
        {m[1][0] + m[0][1], m[1][1] - m[0][0] - m[2][2], m[2][1] + m[1][2], m[2][0] - m[0][2]},
        {m[2][0] + m[0][2], m[2][1] + m[1][2], m[2][2] - m[0][0] - m[1][1], m[0][1] - m[1][0]},
        {m[1][2] - m[2][1], m[2][0] - m[0][2], m[0][1] - m[1][0], m[0][0] + m[1][1] + m[2][2]},
    };
    largest_eigenvector(symmetric, rotation);
}

static columns rotation_columns(const double q[4]) {
    double x = q[0];
    double y = q[1];
    double z = q[2];
    double w = q[3];
    return (columns){{
        {1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)},
        {2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x)},
        {2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)},
    }};
}

// Sets the best scale for the rotation. The larger the sum of its squares, the nearer is the pose.
static double fit_scale(const columns *of, const double rotation[4], double scale[3]) {
    columns axes = rotation_columns(rotation);
    double sum = 0;
    for (int32_t i = 0; i < 3; i++) {
        scale[i] = dot(axes.column[i], of->column[i]);
        sum += scale[i] * scale[i];
    }
    return sum;
}

static bool is_sheared(const columns *of, const double rotation[4], const double scale[3]) {
    columns axes = rotation_columns(rotation);
    for (int32_t i = 0; i < 3; i++) {
        double rest[3];
        for (int32_t row = 0; row < 3; row++) {
            rest[row] = of->column[i][row] - axes.column[i][row] * scale[i];
        }
        if (sqrt(dot(rest, rest)) > SHEAR_TOLERANCE * sqrt(dot(of->column[i], of->column[i]))) {
            return true;
        }
    }
    return false;
}

// The directions of the columns, the first one turned round if they are a mirrored frame.
static columns directions(const columns *of) {
    columns unit = {{{0}}};
    for (int32_t i = 0; i < 3; i++) {
        double length = sqrt(dot(of->column[i], of->column[i]));
        for (int32_t row = 0; row < 3 && length > 0; row++) {
            unit.column[i][row] = of->column[i][row] / length;
        }
    }
    const double *a = unit.column[0];
    const double *b = unit.column[1];
    const double cross[3] = {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
    if (dot(cross, unit.column[2]) < 0) {
        for (int32_t row = 0; row < 3; row++) {
            unit.column[0][row] = -unit.column[0][row];
        }
    }
    return unit;
}

static void approach_nearest(const columns *of, double rotation[4], double scale[3]) {
    double nearness = fit_scale(of, rotation, scale);
    for (int32_t step = 0; step < ALTERNATION_LIMIT; step++) {
        columns weighted = *of;
        for (int32_t i = 0; i < 3; i++) {
            for (int32_t row = 0; row < 3; row++) {
                weighted.column[i][row] *= scale[i];
            }
        }
        fit_rotation(&weighted, rotation);
        double nearer = fit_scale(of, rotation, scale);
        if (nearer - nearness <= 1e-14 * nearer) {
            return;
        }
        nearness = nearer;
    }
}

bool mi_gltf_pose_from_matrix(const double matrix[16], mi_gltf_pose *pose) {
    *pose = (mi_gltf_pose){.rotation = {0, 0, 0, 1}};
    memcpy(pose->translation, matrix + 12, sizeof pose->translation);
    double largest = 0;
    for (int32_t i = 0; i < 3; i++) {
        for (int32_t row = 0; row < 3; row++) {
            largest = fmax(largest, fabs(matrix[i * 4 + row]));
        }
    }
    if (largest == 0) {
        return true;
    }
    // In units of the largest element no square overflows, nor vanishes that matters.
    columns scaled;
    for (int32_t i = 0; i < 3; i++) {
        for (int32_t row = 0; row < 3; row++) {
            scaled.column[i][row] = matrix[i * 4 + row] / largest;
        }
    }
    columns unit = directions(&scaled);
    fit_rotation(&unit, pose->rotation);
    (void)fit_scale(&scaled, pose->rotation, pose->scale);
    bool exact = !is_sheared(&scaled, pose->rotation, pose->scale);
    if (!exact) {
        approach_nearest(&scaled, pose->rotation, pose->scale);
    }
    for (int32_t i = 0; i < 3; i++) {
        pose->scale[i] *= largest;
    }
    return exact;
}

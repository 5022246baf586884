// A matrix M (its left upper 3x3 part) taken apart into a rotation R and a diagonal scale S with M = R S.
//
// The rotation comes from Horn's method: the quaternion that fits three directions best is the eigenvector of the
// largest eigenvalue of a symmetric 4x4 matrix. Unlike dividing the columns by their lengths it always gives a
// rotation, for columns of length zero and for dependent ones too, and where the choice is free it takes the identity's
// side. For given R the best scale is the dot product of the columns; for given S the best rotation is Horn's for the
// columns weighted with S. Alternating between the two never increases the sum of squared differences, and so comes to
// the nearest pose if M has shear. Everything is done in units of M's largest element, in double precision, with
// additions, multiplications, divisions and square roots alone, which give the same bits everywhere.
#include "scene/pose.h"

#include <math.h>

#include "base/error.h"

enum { SWEEP_LIMIT = 32, ALTERNATION_LIMIT = 64 };

// A pose counts as exact if no element of its matrix is further off than this, in units of the largest.
static const double EXACT_TOLERANCE = 1e-4;
// What the rounding of a float quaternion and a float scale leaves of a similarity.
static const double SIMILARITY_TOLERANCE = 1e-6;

typedef struct columns {
    double column[3][3]; // [which][row]
} columns;

static double dot(const double a[3], const double b[3]) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static columns rotation_columns(const double q[4]) {
    const double x = q[0];
    const double y = q[1];
    const double z = q[2];
    const double w = q[3];
    return (columns){{
        {1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)},
        {2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x)},
        {2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)},
    }};
}

mi_matrix mi_matrix_identity(void) {
    return (mi_matrix){{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}};
}

mi_matrix mi_matrix_of_pose(const mica_transform *pose) {
    const double rotation[4] = {pose->rotation[0], pose->rotation[1], pose->rotation[2], pose->rotation[3]};
    const columns axes = rotation_columns(rotation);
    mi_matrix matrix = mi_matrix_identity();
    for (int32_t i = 0; i < 3; i++) {
        for (int32_t row = 0; row < 3; row++) {
            matrix.m[i * 4 + row] = axes.column[i][row] * pose->scale[i];
        }
        matrix.m[12 + i] = pose->position[i];
    }
    return matrix;
}

mi_matrix mi_matrix_product(const mi_matrix *a, const mi_matrix *b) {
    mi_matrix product = mi_matrix_identity();
    for (int32_t i = 0; i < 4; i++) {
        for (int32_t row = 0; row < 3; row++) {
            double sum = a->m[row] * b->m[i * 4] + a->m[4 + row] * b->m[i * 4 + 1] + a->m[8 + row] * b->m[i * 4 + 2];
            product.m[i * 4 + row] = i == 3 ? sum + a->m[12 + row] : sum;
        }
    }
    return product;
}

bool mi_matrix_inverse(const mi_matrix *of, mi_matrix *inverse) {
    const double *m = of->m;
    const double cofactors[3][3] = {
        {m[5] * m[10] - m[6] * m[9], m[6] * m[8] - m[4] * m[10], m[4] * m[9] - m[5] * m[8]},
        {m[2] * m[9] - m[1] * m[10], m[0] * m[10] - m[2] * m[8], m[1] * m[8] - m[0] * m[9]},
        {m[1] * m[6] - m[2] * m[5], m[2] * m[4] - m[0] * m[6], m[0] * m[5] - m[1] * m[4]},
    };
    const double determinant = m[0] * cofactors[0][0] + m[1] * cofactors[0][1] + m[2] * cofactors[0][2];
    *inverse = mi_matrix_identity();
    bool finite = determinant != 0;
    for (int32_t i = 0; i < 3; i++) {
        for (int32_t row = 0; row < 3; row++) {
            inverse->m[i * 4 + row] = cofactors[row][i] / determinant;
            finite = finite && isfinite(inverse->m[i * 4 + row]);
        }
    }
    for (int32_t row = 0; row < 3; row++) {
        inverse->m[12 + row] = -(inverse->m[row] * m[12] + inverse->m[4 + row] * m[13] + inverse->m[8 + row] * m[14]);
        finite = finite && isfinite(inverse->m[12 + row]);
    }
    return finite;
}

// One Jacobi rotation that makes symmetric[p][q] zero.
static void rotate_plane(double symmetric[4][4], double vectors[4][4], int32_t p, int32_t q) {
    const double theta = (symmetric[q][q] - symmetric[p][p]) / (2.0 * symmetric[p][q]);
    const double t = (theta >= 0 ? 1.0 : -1.0) / (fabs(theta) + sqrt(theta * theta + 1.0));
    const double c = 1.0 / sqrt(t * t + 1.0);
    const double s = t * c;
    for (int32_t i = 0; i < 4; i++) {
        const double ip = symmetric[i][p];
        const double iq = symmetric[i][q];
        symmetric[i][p] = c * ip - s * iq;
        symmetric[i][q] = s * ip + c * iq;
    }
    for (int32_t i = 0; i < 4; i++) {
        const double pi = symmetric[p][i];
        const double qi = symmetric[q][i];
        symmetric[p][i] = c * pi - s * qi;
        symmetric[q][i] = s * pi + c * qi;
        const double vp = vectors[i][p];
        const double vq = vectors[i][q];
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
    length = vectors[3][best] < 0 ? -sqrt(length) : sqrt(length);
    for (int32_t i = 0; i < 4; i++) {
        vector[i] = vectors[i][best] / length;
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

// Sets the best scale for the rotation. The larger the sum of its squares, the nearer is the pose.
static double fit_scale(const columns *of, const double rotation[4], double scale[3]) {
    const columns axes = rotation_columns(rotation);
    double sum = 0;
    for (int32_t i = 0; i < 3; i++) {
        scale[i] = dot(axes.column[i], of->column[i]);
        sum += scale[i] * scale[i];
    }
    return sum;
}

// How far the pose's matrix is off at most.
static double largest_difference(const columns *of, const double rotation[4], const double scale[3]) {
    const columns axes = rotation_columns(rotation);
    double largest = 0;
    for (int32_t i = 0; i < 3; i++) {
        for (int32_t row = 0; row < 3; row++) {
            largest = fmax(largest, fabs(of->column[i][row] - axes.column[i][row] * scale[i]));
        }
    }
    return largest;
}

// The directions of the columns, the first one turned round if they are a mirrored frame.
static columns directions(const columns *of) {
    columns unit = {{{0}}};
    for (int32_t i = 0; i < 3; i++) {
        const double length = sqrt(dot(of->column[i], of->column[i]));
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
        const double nearer = fit_scale(of, rotation, scale);
        if (nearer - nearness <= 1e-14 * nearer) {
            return;
        }
        nearness = nearer;
    }
}

// The largest element of the left upper 3x3 part; not finite if one of the first twelve that count is not.
static double largest_element(const mi_matrix *of) {
    double largest = 0;
    for (int32_t i = 0; i < 4; i++) {
        for (int32_t row = 0; row < 3; row++) {
            const double element = of->m[i * 4 + row];
            if (!isfinite(element)) {
                return element;
            }
            largest = i < 3 ? fmax(largest, fabs(element)) : largest;
        }
    }
    return largest;
}

static bool pose_from_matrix(const mi_matrix *of, mica_transform *pose) {
    *pose = (mica_transform)MICA_TRANSFORM_IDENTITY;
    const double largest = largest_element(of);
    if (!isfinite(largest)) {
        return false;
    }
    double rotation[4] = {0, 0, 0, 1};
    double scale[3] = {0, 0, 0};
    bool exact = true;
    if (largest > 0) {
        columns scaled;
        for (int32_t i = 0; i < 3; i++) {
            for (int32_t row = 0; row < 3; row++) {
                scaled.column[i][row] = of->m[i * 4 + row] / largest;
            }
        }
        const columns unit = directions(&scaled);
        fit_rotation(&unit, rotation);
        (void)fit_scale(&scaled, rotation, scale);
        exact = largest_difference(&scaled, rotation, scale) <= EXACT_TOLERANCE;
        if (!exact) {
            approach_nearest(&scaled, rotation, scale);
        }
    }
    for (int32_t i = 0; i < 3; i++) {
        pose->position[i] = (float)of->m[12 + i];
        pose->scale[i] = (float)(scale[i] * largest);
    }
    for (int32_t i = 0; i < 4; i++) {
        pose->rotation[i] = (float)rotation[i];
    }
    return exact;
}

bool mica_transform_from_matrix(const float matrix[16], mica_transform *transform) {
    if (matrix == NULL || transform == NULL) {
        mi_fail_plain(NULL, MICA_INVALID, __func__, "needs a matrix and a place for its transform");
        return false;
    }
    mi_matrix of;
    for (int32_t i = 0; i < 16; i++) {
        of.m[i] = matrix[i];
    }
    const bool exact = pose_from_matrix(&of, transform);
    // A last row other than 0, 0, 0, 1 projects, which no pose says. Compared so that what is no number is refused.
    const bool affine = fabsf(matrix[3]) <= EXACT_TOLERANCE && fabsf(matrix[7]) <= EXACT_TOLERANCE &&
                        fabsf(matrix[11]) <= EXACT_TOLERANCE && fabsf(matrix[15] - 1) <= EXACT_TOLERANCE;
    return exact && affine;
}

mi_rebase mi_rebase_make(const mi_matrix *by) {
    mi_rebase rebase = {.by = *by};
    rebase.is_identity = true;
    for (int32_t i = 0; i < 16; i++) {
        rebase.is_identity = rebase.is_identity && by->m[i] == (i % 5 == 0 ? 1 : 0);
    }
    const double *x = &by->m[0];
    const double *y = &by->m[4];
    const double *z = &by->m[8];
    const double square = dot(x, x);
    const double tolerance = square * SIMILARITY_TOLERANCE;
    rebase.is_similarity = square > 0 && isfinite(square) && fabs(dot(y, y) - square) <= tolerance &&
                           fabs(dot(z, z) - square) <= tolerance && fabs(dot(x, y)) <= tolerance &&
                           fabs(dot(y, z)) <= tolerance && fabs(dot(z, x)) <= tolerance;
    if (rebase.is_similarity) {
        const double cross[3] = {x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0]};
        rebase.scale = dot(cross, z) < 0 ? -sqrt(square) : sqrt(square);
        columns unit;
        for (int32_t i = 0; i < 3; i++) {
            for (int32_t row = 0; row < 3; row++) {
                unit.column[i][row] = by->m[i * 4 + row] / rebase.scale;
            }
        }
        fit_rotation(&unit, rebase.rotation);
    }
    return rebase;
}

bool mi_rebase_apply(const mi_rebase *rebase, mica_transform *pose) {
    if (rebase->is_identity) {
        return true;
    }
    if (!rebase->is_similarity) {
        const mi_matrix local = mi_matrix_of_pose(pose);
        const mi_matrix moved = mi_matrix_product(&rebase->by, &local);
        return pose_from_matrix(&moved, pose);
    }
    const double *m = rebase->by.m;
    const double p[3] = {pose->position[0], pose->position[1], pose->position[2]};
    const double *a = rebase->rotation;
    const double b[4] = {pose->rotation[0], pose->rotation[1], pose->rotation[2], pose->rotation[3]};
    // Sums alone: of sums and differences side by side gcc 12 makes fused ones where the machine has them, which round
    // otherwise, although it is told not to.
    const double n[3] = {-a[0], -a[1], -a[2]};
    const double product[4] = {
        a[3] * b[0] + a[0] * b[3] + a[1] * b[2] + n[2] * b[1],
        a[3] * b[1] + n[0] * b[2] + a[1] * b[3] + a[2] * b[0],
        a[3] * b[2] + a[0] * b[1] + n[1] * b[0] + a[2] * b[3],
        a[3] * b[3] + n[0] * b[0] + n[1] * b[1] + n[2] * b[2],
    };
    for (int32_t i = 0; i < 3; i++) {
        pose->position[i] = (float)(m[i] * p[0] + m[4 + i] * p[1] + m[8 + i] * p[2] + m[12 + i]);
        pose->scale[i] = (float)(rebase->scale * pose->scale[i]);
    }
    for (int32_t i = 0; i < 4; i++) {
        pose->rotation[i] = (float)product[i];
    }
    return true;
}

// Affine matrices in double precision (column-major, as mica_world_transform), and poses taken out of them. For what is
// computed once and kept: poses that must stay where they are under another parent.
#pragma once

#include <mica/transform.h>

typedef struct mi_matrix {
    double m[16];
} mi_matrix;

mi_matrix mi_matrix_identity(void);
mi_matrix mi_matrix_of_pose(const mica_transform *pose);
mi_matrix mi_matrix_product(const mi_matrix *a, const mi_matrix *b);
// False: the matrix flattens space, or is not finite.
bool mi_matrix_inverse(const mi_matrix *of, mi_matrix *inverse);

// What a pose is multiplied with from the left when its parent becomes another one.
typedef struct mi_rebase {
    mi_matrix by;
    bool is_identity;
    bool is_similarity; // a rotation, a scale that is the same in all directions, and a translation: then poses are
                        // changed without taking a matrix apart, and keep the signs of their scales
    double rotation[4];
    double scale;
} mi_rebase;

mi_rebase mi_rebase_make(const mi_matrix *by);
// Changes a pose. False: what comes out shears, and the nearest pose was taken.
bool mi_rebase_apply(const mi_rebase *rebase, mica_transform *pose);

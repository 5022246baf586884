// Translation, rotation and scale of a 4x4 matrix.
#pragma once

#include <stdbool.h>

typedef struct mi_gltf_pose {
    double translation[3];
    double rotation[4]; // A unit quaternion x, y, z, w with w >= 0.
    double scale[3];    // The first is negative if the matrix mirrors.
} mi_gltf_pose;

// Takes apart a finite, column-major matrix whose last row is 0, 0, 0, 1. Returns whether the pose says all that the
// matrix does. If it has shear, the pose is the nearest one: its matrix has the least sum of squared differences that
// can be reached from the rotation of the columns' directions. O(1).
bool mi_gltf_pose_from_matrix(const double matrix[16], mi_gltf_pose *pose);

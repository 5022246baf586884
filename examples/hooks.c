// Components that own memory: a type with hooks is destructed with its entity and copied with its clone. A type with a
// destruct hook and no copy hook is move-only: setting it takes the value out of the caller's hands.
#include <mica/mica.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Path {
    float *points; // 2 * count numbers
    int32_t count;
} Path;

static int paths_alive; // to show that each path that was made is freed once

static float *points_make(const float *from, int32_t count) {
    float *points = malloc((size_t)count * 2 * sizeof(float));
    if (points != NULL) {
        memcpy(points, from, (size_t)count * 2 * sizeof(float));
        paths_alive++;
    }
    return points;
}

static void points_free(float *points) {
    paths_alive -= points != NULL;
    free(points);
}

// Hooks work on `count` values that follow each other. A new value is zeros where there is no construct hook, so a path
// without points must be a good path.
static void path_destruct(void *values, int32_t count, const mica_hook_context *context) {
    (void)context;
    Path *path = values;
    for (int32_t i = 0; i < count; i++) {
        points_free(path[i].points);
    }
}

static bool path_copy(void *to, const void *from, int32_t count, const mica_hook_context *context) {
    const Path *source = from;
    Path *path = to;
    for (int32_t i = 0; i < count; i++) {
        path[i] = source[i];
        path[i].points = source[i].count > 0 ? points_make(source[i].points, source[i].count) : NULL;
        if (source[i].count > 0 && path[i].points == NULL) {
            path_destruct(to, i, context); // nothing may be left behind
            return false;
        }
    }
    return true;
}

MICA_COMPONENT_WITH(Path, (.hooks = {.destruct = path_destruct, .copy = path_copy}));

// Owned by one entity at a time: no copy hook. Zero, which a new value is, is no socket.
typedef struct Socket {
    int32_t number;
} Socket;

static int32_t sockets_opened;
static int32_t sockets_closed;

static Socket socket_open(void) {
    return (Socket){++sockets_opened};
}

static void socket_destruct(void *values, int32_t count, const mica_hook_context *context) {
    (void)context;
    const Socket *socket = values;
    for (int32_t i = 0; i < count; i++) {
        sockets_closed += socket[i].number != 0;
    }
}

MICA_COMPONENT_WITH(Socket, (.hooks = {.destruct = socket_destruct}));

static bool show_copies(mica_world *world) {
    const float corners[] = {0, 0, 10, 0, 10, 10};
    Path square = {points_make(corners, 3), 3};
    const mica_entity guard = mica_create(world);
    mica_set_from(world, guard, Path, &square); // copied: `square` stays ours
    points_free(square.points);

    const mica_entity twin = mica_clone(world, guard);
    printf("two guards, %d paths\n", paths_alive);
    const bool are_two = paths_alive == 2;
    mica_destroy(world, guard);
    const Path *path = mica_get(world, twin, Path);
    printf("the twin still has %d points; %d path is left\n", (int)path->count, paths_alive);
    return are_two && path->count == 3 && path->points[4] == 10 && paths_alive == 1;
}

static bool show_moves(mica_world *world) {
    Socket socket = socket_open();
    const mica_entity client = mica_create(world);
    mica_set_from(world, client, Socket, &socket); // moved: the world will close it, and `socket` is no more ours
    const mica_entity refused = mica_clone(world, client);
    printf("cloning the client: %s\n", mica_last_error());
    return mica_entity_is_null(refused) && mica_last_result() == MICA_NO_COPY;
}

int main(void) {
    mica_world *world = mica_world_create(NULL);
    const bool copies_are_right = show_copies(world);
    const bool moves_are_right = show_moves(world);
    mica_world_destroy(world);
    const int32_t sockets_left = sockets_opened - sockets_closed;
    printf("the world is gone: %d paths and %d sockets are left\n", paths_alive, (int)sockets_left);
    return copies_are_right && moves_are_right && paths_alive == 0 && sockets_left == 0 ? 0 : 1;
}

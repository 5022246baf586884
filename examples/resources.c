// Resources: one value of a type for a whole world, by value or by pointer.
#include <mica/mica.h>

#include <stdio.h>

MICA_STRUCT(Score, { int32_t points; });

// Something of the program's own that systems need to reach; the world does not own it.
typedef struct Console {
    int lines;
} Console;
MICA_COMPONENT(Console);

static void count(mica_run *run) {
    mica_world *world = mica_run_world(run);
    Score *score = mica_resource_write(world, Score); // setting and writing resources is no structural change
    Console *console = mica_resource_write(world, Console);
    score->points += 10;
    console->lines++;
    printf("tick %d: %d points\n", (int)mica_run_tick(run), (int)score->points);
}

int main(void) {
    Console console = {0};
    mica_world *world = mica_world_create(NULL);
    mica_set_resource(world, Score, {5});
    mica_set_resource_pointer(world, Console, &console);
    const Score *score = mica_resource(world, Score); // the address stays until the resource is removed
    mica_system_add(world, &(mica_system_def){.name = "count", .run = count});
    for (int i = 0; i < 3; i++) {
        mica_world_step(world, 1.0f / 60);
    }
    const bool as_expected = score->points == 35 && score == mica_resource(world, Score) && console.lines == 3;

    mica_remove_resource(world, Score);
    printf("after removal there is %s score\n", mica_resource(world, Score) == NULL ? "no" : "a");
    const Score *anew = mica_ensure_resource(world, Score); // constructed if there was none
    const bool is_zero = anew != NULL && anew->points == 0;
    mica_world_destroy(world); // leaves `console` alone
    return as_expected && is_zero ? 0 : 1;
}

// Structural changes during a walk. Rows do not move while a walk is open: the world's verbs are refused, and what the
// walk wants changed is recorded. What was recorded is applied when the walk ends.
#include <mica/mica.h>

#include <stdio.h>

MICA_STRUCT(Cell, { int32_t generation; });
MICA_STRUCT(Parent, { mica_entity who; });
MICA_TAG(Old);

int main(void) {
    mica_world *world = mica_world_create(NULL);
    for (int i = 0; i < 3; i++) {
        mica_spawn(world, mica_value_of(Cell, {0}));
    }
    mica_query *cells = mica_query_of(world, mica_write(Cell), mica_without(Old));
    bool was_refused = false;

    // Each cell divides: it is marked as old, and two new cells that remember it take its place.
    mica_each (cells, it) {
        Cell *cell = mica_write_of(it, Cell);
        mica_commands *commands = mica_iter_commands(it);
        for (int32_t i = 0; i < it.count; i++) {
            const mica_entity parent = it.entities[i];
            if (i == 0) {
                was_refused = mica_add(world, parent, Old) == MICA_LOCKED;
                printf("%s\n", mica_last_error());
            }
            mica_add(commands, parent, Old);
            for (int n = 0; n < 2; n++) {
                // A placeholder until the commands are applied, good in the same buffer.
                const mica_entity child = mica_spawn(commands, mica_value_of(Cell, {cell[i].generation + 1}));
                mica_set(commands, child, Parent, {parent});
            }
        }
        printf("during the walk: %d entities\n", (int)mica_world_entity_count(world));
    }
    printf("after the walk: %d entities, %d of them new\n", (int)mica_world_entity_count(world),
           (int)mica_query_count(cells));

    // Each new cell names a living, old one.
    int32_t right = 0;
    mica_each_row (mica_query_of(world, mica_read(Parent), mica_read(Cell)), it) {
        right += mica_has(world, mica_row_read(it, Parent)->who, Old) && mica_row_read(it, Cell)->generation == 1;
    }
    const bool as_expected = was_refused && right == 6 && mica_query_count(cells) == 6;
    mica_world_destroy(world);
    return as_expected ? 0 : 1;
}

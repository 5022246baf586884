// Queries from texts, as a tool or a script has them: what to ask for is an argument, and what comes back is printed.
//
//   example_query_text "Position, !Frozen" "[any 1] Position, [any 1] Health"
#include <mica/mica.h>

#include <stdio.h>

MICA_STRUCT(Position, { float x, y; });
MICA_STRUCT_WITH(Health, (.storage = MICA_POOL), { int32_t points; });
MICA_TAG(Frozen);

static void populate(mica_world *world) {
    mica_spawn(world, mica_value_of(Position, {1, 2}), mica_value_of(Health, {10}));
    mica_spawn(world, mica_value_of(Position, {3, 4}), mica_tag(Frozen));
    mica_spawn(world, mica_value_of(Health, {20}));
}

// How many entities match; -1: the text was refused.
static int print_matches(mica_world *world, const char *text) {
    mica_query *query = mica_query_create_text(world, text);
    if (query == NULL) {
        printf("%s\n", mica_last_error()); // says at which byte, what stands there, and what is expected
        return -1;
    }
    const int count = mica_query_count(query);
    printf("%d match (%s):", count, mica_query_text(query)); // the text in canonical order finds the same query
    mica_each (query, it) {
        for (int32_t i = 0; i < it.count; i++) {
            printf(" %u", (unsigned)mica_entity_index(it.entities[i]));
        }
    }
    printf("\n");
    mica_query_release(query);
    return count;
}

// Values are found by id: a tool knows no C type of theirs.
static int32_t sum_points(mica_world *world) {
    const mica_component health = mica_schema_find(mica_world_schema(world), "Health");
    mica_query *query = mica_query_create_text(world, "[write] Health");
    int32_t sum = 0;
    mica_each (query, it) {
        int32_t *points = mica_iter_write_id(&it, health);
        for (int32_t i = 0; i < it.count; i++) {
            sum += points[i];
            points[i] = 0;
        }
    }
    mica_query_release(query);
    return sum;
}

int main(int argument_count, char **arguments) {
    mica_world *world = mica_world_create(NULL);
    populate(world);
    for (int i = 1; i < argument_count; i++) {
        print_matches(world, arguments[i]);
    }
    const bool counts_are_right = print_matches(world, "Position, !Frozen") == 1 &&
                                  print_matches(world, "[any 1] Position, [any 1] Health") == 3 &&
                                  print_matches(world, "Frozen") == 1 && print_matches(world, "") == 3;
    const bool is_refused = print_matches(world, "Position, [wrote] Health") == -1 &&
                            mica_last_result() == MICA_FORMAT && print_matches(world, "Positon") == -1 &&
                            mica_last_result() == MICA_UNKNOWN;
    const int32_t sum = sum_points(world);
    const int32_t sum_again = sum_points(world);
    mica_world_destroy(world);
    return counts_are_right && is_refused && sum == 30 && sum_again == 0 ? 0 : 1;
}

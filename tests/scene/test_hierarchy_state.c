// Links as a part of a world's state: the order of children and of roots comes back, and records that are no forest are
// refused.
#include "scene/hierarchy.h"
#include "state/snapshot.h"
#include "world/part_fixture.h"

#include <stdlib.h>

MICA_STRUCT_WITH(Ballast, (.storage = MICA_TABLE), { int32_t grams; });

typedef struct fixture {
    test_allocator allocator;
    mica_world *world;
    mica_entity entities[12];
} fixture;

static fixture *begin(fixture *f) {
    test_allocator_init(&f->allocator);
    f->world = mica_world_create(&(mica_world_def){.allocator = test_allocator_hooks(&f->allocator)});
    assert_non_null(f->world);
    for (size_t i = 0; i < sizeof(f->entities) / sizeof(*f->entities); i++) {
        f->entities[i] = mica_entity_create(f->world);
        assert_false(mica_entity_is_null(f->entities[i]));
    }
    return f;
}

static void end(fixture *f) {
    if (mica_world_validate(f->world) != MICA_OK) {
        fail_msg("%s", mica_last_error());
    }
    mica_world_destroy(f->world);
    test_allocator_finish(&f->allocator);
}

static void link_to(fixture *f, uint32_t child, uint32_t parent) {
    assert_int_equal(mica_set_parent(f->world, f->entities[child], f->entities[parent]), MICA_OK);
}

// Brings a child behind its siblings.
static void link_again(fixture *f, uint32_t child) {
    const mica_entity parent = mica_parent(f->world, f->entities[child]);
    assert_int_equal(mica_set_parent(f->world, f->entities[child], MICA_NULL), MICA_OK);
    assert_int_equal(mica_set_parent(f->world, f->entities[child], parent), MICA_OK);
}

// 0: 1 (3: 5, 4), 2; 6: 7, 8.
static void link_family(fixture *f) {
    link_to(f, 1, 0);
    link_to(f, 2, 0);
    link_to(f, 3, 1);
    link_to(f, 4, 1);
    link_to(f, 5, 3);
    link_to(f, 7, 6);
    link_to(f, 8, 6);
}

static void the_order_of_children_and_roots_comes_back(void **state) {
    (void)state;
    fixture f;
    part_record kept;
    link_family(begin(&f));
    part_begin_saved(&kept, f.world, &mi_hierarchy_part);
    link_again(&f, 1);
    link_again(&f, 3);
    link_again(&f, 7);
    link_again(&f, 2);
    link_again(&f, 8);
    assert_false(part_is_as_saved(&kept, f.world, &mi_hierarchy_part));
    assert_int_equal(part_restore(&kept, f.world, &mi_hierarchy_part), MICA_OK);
    assert_true(part_is_as_saved(&kept, f.world, &mi_hierarchy_part));
    assert_true(mica_entity_equal(mica_first_child(f.world, f.entities[0]), f.entities[1]));
    assert_true(mica_entity_equal(mica_next_sibling(f.world, f.entities[1]), f.entities[2]));
    assert_true(mica_entity_equal(mica_first_child(f.world, f.entities[1]), f.entities[3]));
    assert_true(mica_entity_equal(mica_last_child(f.world, f.entities[1]), f.entities[4]));
    assert_true(mica_entity_equal(mica_first_child(f.world, f.entities[6]), f.entities[7]));
    const mi_hierarchy *hierarchy = mi_hierarchy_find(f.world);
    const mi_node *roots = mi_nodes_at(&hierarchy->nodes, 0);
    assert_int_equal(roots->first_child, mica_entity_index(f.entities[0]));
    assert_int_equal(roots->last_child, mica_entity_index(f.entities[6]));
    part_end(&kept);
    end(&f);
}

static void worlds_without_links_write_nothing(void **state) {
    (void)state;
    fixture f;
    part_record kept;
    begin(&f);
    part_begin_saved(&kept, f.world, &mi_hierarchy_part);
    assert_int_equal(kept.record.bytes.count, 0);
    link_to(&f, 1, 0);
    assert_int_equal(mica_set_parent(f.world, f.entities[1], MICA_NULL), MICA_OK);
    assert_true(part_is_as_saved(&kept, f.world, &mi_hierarchy_part));
    part_end(&kept);
    end(&f);
}

static void the_stamp_moves_with_links_and_with_restores_alone(void **state) {
    (void)state;
    fixture f;
    part_record kept;
    begin(&f);
    link_family(&f);
    uint64_t stamp = mi_hierarchy_part.stamp(f.world);
    part_begin_saved(&kept, f.world, &mi_hierarchy_part);
    mica_set(f.world, f.entities[1], Health, {3});
    assert_int_equal(mi_hierarchy_part.stamp(f.world), stamp);
    link_again(&f, 1);
    assert_true(mi_hierarchy_part.stamp(f.world) > stamp);
    stamp = mi_hierarchy_part.stamp(f.world);
    assert_int_equal(part_restore(&kept, f.world, &mi_hierarchy_part), MICA_OK);
    assert_true(mi_hierarchy_part.stamp(f.world) > stamp);
    part_end(&kept);
    end(&f);
}

static void children_that_were_left_without_memory_count(void **state) {
    (void)state;
    fixture f;
    part_record kept;
    part_record after;
    begin(&f);
    link_to(&f, 1, 0);
    mica_set(f.world, f.entities[1], Ballast, {3}); // no table without ChildOf is there yet
    part_begin_saved(&kept, f.world, &mi_hierarchy_part);
    test_allocator_fail_from(&f.allocator, 1);
    mica_entity_destroy(f.world, f.entities[0]);
    test_allocator_fail_stop(&f.allocator);
    const uint64_t stamp = mi_hierarchy_part.stamp(f.world);
    assert_int_equal(mi_hierarchy_find(f.world)->orphan_count, 1);
    part_begin_saved(&after, f.world, &mi_hierarchy_part);
    assert_int_equal(after.record.bytes.count, 8);
    assert_int_equal(part_restore(&after, f.world, &mi_hierarchy_part), MICA_OK);
    assert_int_equal(mi_hierarchy_find(f.world)->orphan_count, 1);
    assert_int_equal(mica_entity_destroy(f.world, f.entities[1]), MICA_OK);
    assert_int_equal(mi_hierarchy_find(f.world)->orphan_count, 0);
    assert_true(mi_hierarchy_part.stamp(f.world) > stamp + 1); // one more than the restore's
    part_end(&after);
    part_end(&kept);
    end(&f);
}

static void an_allocation_that_fails_changes_nothing(void **state) {
    (void)state;
    fixture f;
    part_record kept;
    part_record now;
    link_family(begin(&f));
    part_begin_saved(&kept, f.world, &mi_hierarchy_part);
    uint64_t n = 1;
    for (mica_result result = MICA_OUT_OF_MEMORY; result != MICA_OK; n++) {
        part_begin(&now);
        test_allocator_fail_at(&now.allocator, n);
        result = part_save(&now, f.world, &mi_hierarchy_part);
        assert_int_equal(result, test_allocator_fail_stop(&now.allocator) ? MICA_OUT_OF_MEMORY : MICA_OK);
        part_end(&now);
    }
    assert_true(n > 2);

    fixture other;
    begin(&other);
    part_begin_saved(&now, other.world, &mi_hierarchy_part);
    n = 1;
    for (bool is_through = false; !is_through; n++) {
        mi_reader reader = mi_reader_of(other.world->schema, &kept.record);
        void *prepared = NULL;
        test_allocator_fail_at(&other.allocator, n);
        const mica_result result = mi_hierarchy_part.prepare(other.world, &reader, &prepared);
        is_through = !test_allocator_fail_stop(&other.allocator);
        assert_int_equal(result, is_through ? MICA_OK : MICA_OUT_OF_MEMORY);
        assert_true(part_is_as_saved(&now, other.world, &mi_hierarchy_part));
        if (is_through) {
            mi_hierarchy_part.cancel(other.world, prepared);
        }
        assert_true(part_is_as_saved(&now, other.world, &mi_hierarchy_part));
    }
    assert_true(n > 4);
    part_end(&now);
    part_end(&kept);
    end(&other);
    end(&f);
}

// Hostile records

static void refuse(fixture *f, const uint32_t *numbers, size_t count, const char *expected) {
    part_record record;
    part_record before;
    const char *fault = NULL;
    part_begin(&record);
    part_begin_saved(&before, f->world, &mi_hierarchy_part);
    part_write(&record, numbers, count);
    assert_int_equal(part_restore_some(&record, record.record.bytes.count, f->world, &mi_hierarchy_part, &fault),
                     MICA_FORMAT);
    assert_string_equal(fault, expected);
    assert_true(part_is_as_saved(&before, f->world, &mi_hierarchy_part));
    part_end(&before);
    part_end(&record);
}
#define REFUSE(FIXTURE, FAULT, ...) \
    refuse(FIXTURE, (const uint32_t[]){__VA_ARGS__}, sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t), FAULT)

static void records_that_are_no_forest_are_refused(void **state) {
    (void)state;
    fixture f;
    link_family(begin(&f));
    const uint32_t a = mica_entity_index(f.entities[0]);
    const uint32_t b = mica_entity_index(f.entities[1]);
    const uint32_t c = mica_entity_index(f.entities[2]);
    const uint32_t d = mica_entity_index(f.entities[3]);
    assert_true(a < b && b < c && c < d);
    REFUSE(&f, "an entity is the child of two, or twice", 0, 2, 0, 1, a, a, 2, b, b);
    REFUSE(&f, "an entity is the child of two, or twice", 0, 3, 0, 1, a, a, 2, b, c, b, 1, c);
    REFUSE(&f, "an entity is the child of two, or twice", 0, 2, 0, 1, a, a, 1, a);
    REFUSE(&f, "children are not reached from any root", 0, 4, 0, 1, a, a, 1, b, c, 1, d, d, 1, c);
    REFUSE(&f, "children are not reached from any root", 0, 3, 0, 1, a, a, 1, b, c, 1, d);
    REFUSE(&f, "children are not reached from any root", 0, 3, 0, 1, a, a, 1, b, c, 1, c);
    REFUSE(&f, "a root without children is among those that have some", 0, 2, 0, 2, a, c, a, 1, b);
    REFUSE(&f, "a root without children is among those that have some", 0, 1, 0, 1, a);
    REFUSE(&f, "lists of children are empty or not in order", 0, 3, 0, 2, b, a, b, 1, d, a, 1, c);
    REFUSE(&f, "lists of children are empty or not in order", 0, 3, 0, 1, a, a, 1, b, a, 1, c);
    REFUSE(&f, "lists of children are empty or not in order", 0, 2, 0, 1, a, a, 0, 0, 0);
    REFUSE(&f, "lists of children are empty or not in order", 0, 1, a, 1, b);
    REFUSE(&f, "a link names a slot that there is not", 0, 2, 0, 1, a, a, 1, 0);
    REFUSE(&f, "a link names a slot that there is not", 0, 2, 0, 1, a, a, 1, 0x7fffffff);
    REFUSE(&f, "there is more than was expected", 0, 2, 0, 1, a, a, 1, b, 0);
    REFUSE(&f, "there is more to come than there are bytes", 0, UINT32_MAX, 0, 1, a);
    REFUSE(&f, "it ends too early", 0);
    end(&f);
}

static void every_cut_and_every_flipped_bit_is_refused_or_a_forest(void **state) {
    (void)state;
    fixture f;
    part_record kept;
    const char *fault = NULL;
    uint32_t refused_count = 0;
    link_family(begin(&f));
    part_begin_saved(&kept, f.world, &mi_hierarchy_part);
    const mi_hierarchy *hierarchy = mi_hierarchy_find(f.world);
    for (size_t cut = 1; cut < kept.record.bytes.count; cut++) {
        assert_int_equal(part_restore_some(&kept, cut, f.world, &mi_hierarchy_part, &fault), MICA_FORMAT);
        assert_non_null(fault);
        assert_true(part_is_as_saved(&kept, f.world, &mi_hierarchy_part));
    }
    for (size_t bit = 0; bit < (size_t)kept.record.bytes.count * 8; bit++) {
        uint8_t *byte = &kept.record.bytes.data[bit / 8];
        *byte = (uint8_t)(*byte ^ 1u << bit % 8);
        const mica_result result = part_restore(&kept, f.world, &mi_hierarchy_part);
        assert_true(result == MICA_OK || result == MICA_FORMAT);
        refused_count += result != MICA_OK;
        assert_null(mi_nodes_validate(&hierarchy->nodes));
        *byte = (uint8_t)(*byte ^ 1u << bit % 8);
    }
    assert_true(refused_count > kept.record.bytes.count * 8 / 2);
    assert_int_equal(part_restore(&kept, f.world, &mi_hierarchy_part), MICA_OK);
    part_end(&kept);
    end(&f);
}

// Whole snapshots

enum { KNOWN_MOST = 4096 };

// A world that is played by random operations, and what whoever plays it keeps.
typedef struct play {
    mica_world *world;
    test_random random;
    mica_entity known[KNOWN_MOST];
    uint32_t known_count;
} play;

static mica_entity pick(play *p) {
    return p->known_count == 0 ? MICA_NULL : p->known[test_random_below(&p->random, p->known_count)];
}

static void forget_the_dead(play *p) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < p->known_count; i++) {
        if (mica_entity_alive(p->world, p->known[i])) {
            p->known[count++] = p->known[i];
        }
    }
    p->known_count = count;
}

static void play_once(play *p) {
    mica_world *world = p->world;
    const mica_entity one = pick(p);
    switch (test_random_below(&p->random, p->known_count < 40 ? 4 : 10)) {
    case 0:
    case 1:
    case 2:
    case 3:
        p->known[p->known_count] = mica_entity_create(world);
        assert_false(mica_entity_is_null(p->known[p->known_count]));
        mica_set(world, p->known[p->known_count], Health, {(int32_t)p->known_count});
        p->known_count++;
        break;
    case 4:
    case 5:
    case 6:
        if (mica_set_parent(world, one, pick(p)) != MICA_OK) {
            assert_int_equal(mica_last_result(), MICA_CYCLE);
        }
        break;
    case 7:
        assert_int_equal(mica_set_parent(world, one, MICA_NULL), MICA_OK);
        break;
    case 8:
        assert_int_equal(mica_entity_destroy(world, one), MICA_OK);
        break;
    default:
        if (mica_child_count(world, one) < 4) {
            assert_int_equal(mica_entity_destroy_subtree(world, one), MICA_OK);
        }
    }
    forget_the_dead(p);
}

static uint64_t mix(uint64_t digest, uint64_t number) {
    digest = (digest ^ number) * UINT64_C(0x9e3779b97f4a7c15);
    return digest ^ digest >> 29;
}

// Of handles and links, and the order of children.
static uint64_t digest_of(const play *p) {
    uint64_t digest = p->known_count;
    for (uint32_t i = 0; i < p->known_count; i++) {
        digest = mix(digest, p->known[i].bits);
        digest = mix(digest, mica_parent(p->world, p->known[i]).bits);
        for (mica_entity child = mica_first_child(p->world, p->known[i]); !mica_entity_is_null(child);
             child = mica_next_sibling(p->world, child)) {
            digest = mix(digest, child.bits);
        }
    }
    return digest;
}

static void the_next_thousand_operations_do_the_same_as_the_first_time(void **state) {
    (void)state;
    enum { ROUNDS = 4, OPERATIONS = 1000 };
    static uint64_t digests[OPERATIONS];
    static play saved;
    static play now;
    static play elsewhere;
    now = (play){.world = mica_world_create(NULL), .random = {.state = 7}};
    mica_schema *schema = mica_world_schema(now.world);
    elsewhere.world = mica_world_create(&(mica_world_def){.schema = schema});
    assert_non_null(now.world);
    assert_non_null(elsewhere.world);
    for (int32_t round = 0; round < ROUNDS; round++) {
        for (int32_t i = 0; i < 200 * round; i++) { // in the first round nobody was ever linked
            play_once(&now);
        }
        mica_snapshot *snapshot = mica_snapshot_take(now.world, NULL);
        assert_non_null(snapshot);
        saved = now;
        for (int32_t i = 0; i < OPERATIONS; i++) {
            play_once(&now);
            digests[i] = digest_of(&now);
        }
        assert_int_equal(mica_snapshot_restore(snapshot, now.world, NULL), MICA_OK);
        assert_int_equal(mica_snapshot_restore(snapshot, elsewhere.world, NULL), MICA_OK);
        assert_valid(now.world);
        assert_valid(elsewhere.world);
        mica_world *other = elsewhere.world;
        elsewhere = saved;
        elsewhere.world = other;
        now = saved;
        for (int32_t i = 0; i < OPERATIONS; i++) {
            play_once(&now);
            play_once(&elsewhere);
            assert_int_equal(digest_of(&now), digests[i]);
            assert_int_equal(digest_of(&elsewhere), digests[i]);
        }
        assert_valid(now.world);
        assert_valid(elsewhere.world);
        mica_snapshot_release(snapshot);
    }
    mica_world_destroy(elsewhere.world);
    mica_world_destroy(now.world);
}

static void matrices_after_a_restore_are_those_of_the_restored_links(void **state) {
    (void)state;
    enum { COUNT = 8 };
    mica_world *world = mica_world_create(NULL);
    mica_entity entities[COUNT];
    float expected[COUNT][16];
    for (int32_t i = 0; i < COUNT; i++) {
        entities[i] = mica_entity_create(world);
        mica_transform pose = MICA_TRANSFORM_IDENTITY;
        pose.position[0] = (float)(1 << i);
        assert_int_equal(
            mica_entity_set(world, entities[i], mica_world_component(world, mica_type_of(mica_transform)), &pose),
            MICA_OK);
        mica_add(world, entities[i], mica_world_transform);
    }
    for (int32_t i = 1; i < COUNT; i++) {
        assert_int_equal(mica_set_parent(world, entities[i], entities[i / 2]), MICA_OK);
    }
    assert_int_equal(mica_transform_resolve(world), MICA_OK);
    for (int32_t i = 0; i < COUNT; i++) {
        memcpy(expected[i], mica_get(world, entities[i], mica_world_transform)->m, sizeof(expected[i]));
    }
    mica_snapshot *snapshot = mica_snapshot_take(world, NULL);
    assert_non_null(snapshot);
    for (int32_t round = 0; round < 3; round++) {
        assert_int_equal(mica_set_parent(world, entities[4], MICA_NULL), MICA_OK);
        assert_int_equal(mica_set_parent(world, entities[2], entities[7 - round % 2]), MICA_OK);
        assert_int_equal(mica_entity_destroy(world, entities[3]), MICA_OK);
        assert_int_equal(mica_transform_resolve(world), MICA_OK);
        assert_int_equal(mica_snapshot_restore(snapshot, world, NULL), MICA_OK);
        for (int32_t i = 0; i < COUNT; i++) { // what is not computed shows
            memset(mica_get_write(world, entities[i], mica_world_transform)->m, 0, sizeof(expected[i]));
        }
        assert_int_equal(mica_transform_resolve(world), MICA_OK);
        for (int32_t i = 0; i < COUNT; i++) {
            assert_memory_equal(mica_get(world, entities[i], mica_world_transform)->m, expected[i],
                                sizeof(expected[i]));
        }
        assert_valid(world);
    }
    mica_snapshot_release(snapshot);
    mica_world_destroy(world);
}

static void a_restore_that_lacks_memory_leaves_links_alone(void **state) {
    (void)state;
    fixture f;
    fixture other;
    part_record before;
    link_family(begin(&f));
    mica_schema *schema = mica_world_schema(f.world);
    test_allocator_init(&other.allocator);
    other.world =
        mica_world_create(&(mica_world_def){.allocator = test_allocator_hooks(&other.allocator), .schema = schema});
    assert_non_null(other.world);
    mica_snapshot *snapshot = mica_snapshot_take(f.world, NULL);
    assert_non_null(snapshot);
    part_begin_saved(&before, other.world, &mi_hierarchy_part);
    uint64_t n = 1;
    for (mica_result result = MICA_OUT_OF_MEMORY; result != MICA_OK; n++) {
        test_allocator_fail_at(&other.allocator, n);
        result = mica_snapshot_restore(snapshot, other.world, NULL);
        assert_int_equal(result, test_allocator_fail_stop(&other.allocator) ? MICA_OUT_OF_MEMORY : MICA_OK);
        assert_valid(other.world);
        assert_true(result == MICA_OK || part_is_as_saved(&before, other.world, &mi_hierarchy_part));
    }
    assert_true(n > 5);
    assert_entity_equal(mica_parent(other.world, f.entities[5]), f.entities[3]);
    part_end(&before);
    mica_snapshot_release(snapshot);
    mica_world_destroy(other.world);
    test_allocator_finish(&other.allocator);
    end(&f);
}

// The record of links in a snapshot that is to count as put together from bytes.
static mi_record *record_in(mica_snapshot *snapshot) {
    snapshot->is_made = true;
    for (uint32_t i = 0; i < snapshot->part_count; i++) {
        if (snapshot->parts[i]->part == &mi_hierarchy_part) {
            return &snapshot->parts[i]->record;
        }
    }
    fail_msg("there is no record of links");
    return NULL;
}

static void a_record_that_goes_with_other_rows_is_refused(void **state) {
    (void)state;
    fixture f;
    uint32_t taken_count = 0;
    link_family(begin(&f));
    mica_snapshot *snapshot = mica_snapshot_take(f.world, NULL);
    assert_non_null(snapshot);
    mi_record *record = record_in(snapshot);
    link_again(&f, 1);
    for (size_t bit = 0; bit < (size_t)record->bytes.count * 8; bit++) {
        uint8_t *byte = &record->bytes.data[bit / 8];
        *byte = (uint8_t)(*byte ^ 1u << bit % 8);
        const mica_result result = mica_snapshot_restore(snapshot, f.world, NULL);
        assert_true(result == MICA_OK || result == MICA_FORMAT);
        taken_count += result == MICA_OK;
        assert_valid(f.world);
        *byte = (uint8_t)(*byte ^ 1u << bit % 8);
    }
    assert_int_equal(taken_count, 0); // a bit alone changes more than the order of children
    const uint32_t byte_count = record->bytes.count;
    record->bytes.count = 0;
    assert_int_equal(mica_snapshot_restore(snapshot, f.world, NULL), MICA_FORMAT);
    assert_said("hierarchy");
    record->bytes.count = byte_count;
    assert_int_equal(mica_snapshot_restore(snapshot, f.world, NULL), MICA_OK);
    mica_snapshot_release(snapshot);
    end(&f);
}

static mica_child_of *value_in(mica_snapshot *snapshot, mica_world *world, mica_entity entity) {
    const mica_component child_of = mica_world_component(world, mica_type_of(mica_child_of));
    for (uint32_t i = 0; i < snapshot->table_count; i++) {
        const mi_rows_image *rows = snapshot->tables[i];
        for (uint32_t column = 0; column < rows->column_count; column++) {
            const mi_chunk_image *chunk = rows->chunks[0];
            for (uint32_t row = 0; rows->columns[column]->info.id == child_of && row < chunk->row_count; row++) {
                if (mica_entity_equal(mi_image_handles(chunk->handles.image)[row], entity)) {
                    return (mica_child_of *)(void *)chunk->columns[column].image->data + row;
                }
            }
        }
    }
    fail_msg("there is no such row");
    return NULL;
}

static void rows_that_name_other_parents_than_the_record_are_refused(void **state) {
    (void)state;
    fixture f;
    link_family(begin(&f));
    const mica_entity dead = f.entities[11];
    assert_int_equal(mica_entity_destroy(f.world, dead), MICA_OK);
    mica_snapshot *snapshot = mica_snapshot_take(f.world, NULL);
    assert_non_null(snapshot);
    record_in(snapshot);
    mica_child_of *value = value_in(snapshot, f.world, f.entities[5]);
    const mica_child_of right = *value;
    const mica_entity wrong[] = {
        dead, f.entities[4], f.entities[5], MICA_NULL,
        mica_entity_make(mica_entity_index(right.parent), mica_entity_generation(right.parent) + 1)};
    link_again(&f, 2);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        value->parent = wrong[i];
        assert_int_equal(mica_snapshot_restore(snapshot, f.world, NULL), MICA_FORMAT);
        assert_valid(f.world);
        assert_entity_equal(mica_parent(f.world, f.entities[5]), right.parent);
    }
    *value = right;
    assert_int_equal(mica_snapshot_restore(snapshot, f.world, NULL), MICA_OK);
    mica_snapshot_release(snapshot);
    end(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_order_of_children_and_roots_comes_back),
        cmocka_unit_test(worlds_without_links_write_nothing),
        cmocka_unit_test(the_stamp_moves_with_links_and_with_restores_alone),
        cmocka_unit_test(children_that_were_left_without_memory_count),
        cmocka_unit_test(an_allocation_that_fails_changes_nothing),
        cmocka_unit_test(records_that_are_no_forest_are_refused),
        cmocka_unit_test(every_cut_and_every_flipped_bit_is_refused_or_a_forest),
        cmocka_unit_test(the_next_thousand_operations_do_the_same_as_the_first_time),
        cmocka_unit_test(matrices_after_a_restore_are_those_of_the_restored_links),
        cmocka_unit_test(a_restore_that_lacks_memory_leaves_links_alone),
        cmocka_unit_test(a_record_that_goes_with_other_rows_is_refused),
        cmocka_unit_test(rows_that_name_other_parents_than_the_record_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

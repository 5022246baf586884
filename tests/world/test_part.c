// Records of parts: what is written is read again, bytes do not depend on what does not count, and nothing that comes
// from outside is trusted.
#include "world/ledger.h"
#include "world/part_world.h"

#include <math.h>

MICA_STRUCT(Padded, {
    uint8_t small;
    double large;
    char text[6];
});
MICA_TAG(Bell);

typedef struct fixture {
    test_allocator allocator;
    mi_heap heap;
    mica_world *world;
    mi_record record;
    mi_writer writer;
} fixture;

static int set_up(void **state) {
    static fixture f;
    ledger_start();
    test_heap_begin(&f.allocator, &f.heap);
    f.world = mica_world_create(&(mica_world_def){.allocator = test_allocator_hooks(&f.allocator)});
    assert_non_null(f.world);
    f.record = part_record(&f.heap);
    f.writer = (mi_writer){.schema = f.world->schema, .record = &f.record};
    *state = &f;
    return 0;
}

static int tear_down(void **state) {
    fixture *f = *state;
    mi_record_free(&f->record);
    mica_world_destroy(f->world);
    ledger_finish();
    test_allocator_finish(&f->allocator);
    return 0;
}

static mi_reader reader_of(const fixture *f) {
    return mi_reader_of(f->world->schema, &f->record);
}

static const mi_type *type_of(const fixture *f, mica_component component) {
    return mi_schema_type(f->world->schema, component);
}

static void what_is_written_is_read_in_order(void **state) {
    fixture *f = *state;
    const mica_component padded = mica_register(f->world, Padded);
    const mica_entity entity = mica_entity_make(77, 5);
    mi_write_u8(&f->writer, 200);
    mi_write_u32(&f->writer, 0xdeadbeef);
    mi_write_u64(&f->writer, UINT64_C(0x0123456789abcdef));
    mi_write_double(&f->writer, -0.0);
    mi_write_entity(&f->writer, entity);
    mi_write_text(&f->writer, "a text");
    mi_write_text(&f->writer, NULL);
    mi_write_component(&f->writer, padded);
    mi_write_value(&f->writer, type_of(f, padded), &(Padded){.small = 3, .large = 4.5, .text = "five"});
    assert_int_equal(f->writer.result, MICA_OK);
    mi_reader reader = reader_of(f);
    assert_int_equal(mi_read_u8(&reader), 200);
    assert_int_equal(mi_read_u32(&reader), 0xdeadbeef);
    assert_true(mi_read_u64(&reader) == UINT64_C(0x0123456789abcdef));
    assert_true(signbit(mi_read_double(&reader)));
    assert_true(mica_entity_equal(mi_read_entity(&reader), entity));
    uint32_t length;
    assert_memory_equal(mi_read_text(&reader, &length), "a text", 6);
    assert_int_equal(length, 6);
    mi_read_text(&reader, &length);
    assert_int_equal(length, 0);
    assert_int_equal(mi_read_component(&reader), padded);
    Padded value;
    assert_true(mi_read_value(&reader, type_of(f, padded), &f->world->store.values, &value));
    assert_int_equal(value.small, 3);
    assert_true(value.large == 4.5);
    assert_string_equal(value.text, "five");
    assert_true(mi_reader_end(&reader));
}

static void numbers_are_written_with_their_lowest_byte_first(void **state) {
    fixture *f = *state;
    const uint8_t expected[] = {4, 3, 2, 1, 8, 0, 0, 0, 0, 0, 0, 0};
    mi_write_u32(&f->writer, 0x01020304);
    mi_write_u64(&f->writer, 8);
    assert_int_equal(f->record.bytes.count, sizeof(expected));
    assert_memory_equal(f->record.bytes.data, expected, sizeof(expected));
}

static void bytes_of_values_that_do_not_count_are_zeros(void **state) {
    fixture *f = *state;
    const mica_component padded = mica_register(f->world, Padded);
    Padded values[2];
    for (int32_t i = 0; i < 2; i++) {
        memset(&values[i], i == 0 ? 0x11 : 0xee, sizeof(Padded));
        values[i].small = 1;
        values[i].large = 2;
        memcpy(values[i].text, "yes", 4);
        mi_write_value(&f->writer, type_of(f, padded), &values[i]);
    }
    assert_memory_equal(f->record.bytes.data, f->record.bytes.data + sizeof(Padded), sizeof(Padded));
    assert_int_equal(f->record.bytes.data[offsetof(Padded, small) + 1], 0);
    assert_int_equal(f->record.bytes.data[offsetof(Padded, text) + 4], 0);
}

static void values_of_tags_take_no_bytes(void **state) {
    fixture *f = *state;
    const mi_type *type = type_of(f, mica_register(f->world, Bell));
    mi_write_value(&f->writer, type, NULL);
    assert_int_equal(f->record.bytes.count, 0);
    mi_reader reader = reader_of(f);
    assert_true(mi_read_value(&reader, type, &f->world->store.values, NULL));
    assert_true(mi_reader_end(&reader));
}

static void values_with_hooks_are_copied_each_way(void **state) {
    fixture *f = *state;
    const mi_type *type = type_of(f, mica_register(f->world, Owned));
    Owned value;
    owned_hold(&value, 7, f->world);
    mi_write_value(&f->writer, type, &value);
    *value.number = 8;
    assert_int_equal(f->record.values.count, 1);
    for (int32_t i = 0; i < 2; i++) { // any number of times
        mi_reader reader = reader_of(f);
        Owned read;
        assert_true(mi_read_value(&reader, type, &f->world->store.values, &read));
        assert_true(mi_reader_end(&reader));
        assert_int_equal(*read.number, 7);
        owned_drop(&read, f->world);
    }
    owned_drop(&value, f->world);
    mi_record_free(&f->record);
    assert_int_equal(ledger_live_count(), 0);
}

static void a_value_that_can_only_move_is_named(void **state) {
    fixture *f = *state;
    const mi_type *type = type_of(f, mica_register(f->world, Sole));
    Sole value;
    owned_hold(&value.owned, 7, f->world);
    mi_write_value(&f->writer, type, &value);
    assert_int_equal(f->writer.result, MICA_NO_COPY);
    assert_ptr_equal(f->writer.type, type);
    mi_write_u64(&f->writer, 1); // is lost
    assert_int_equal(f->record.bytes.count, 0);
    owned_drop(&value.owned, f->world);
}

static void a_value_with_hooks_of_another_type_is_not_taken(void **state) {
    fixture *f = *state;
    const mi_type *owned = type_of(f, mica_register(f->world, Owned));
    const mi_type *sole = type_of(f, mica_register(f->world, Sole));
    Owned value;
    owned_hold(&value, 7, f->world);
    mi_write_value(&f->writer, owned, &value);
    owned_drop(&value, f->world);
    mi_reader reader = reader_of(f);
    Sole read;
    assert_false(mi_read_value(&reader, sole, &f->world->store.values, &read));
    assert_int_equal(reader.result, MICA_FORMAT);
    assert_non_null(reader.fault);
    mi_reader second = reader_of(f);
    Owned fine;
    assert_true(mi_read_value(&second, owned, &f->world->store.values, &fine));
    owned_drop(&fine, f->world);
    assert_false(mi_read_value(&second, owned, &f->world->store.values, &fine)); // there is no second one
    assert_int_equal(second.result, MICA_FORMAT);
}

static void reading_past_the_end_gives_zeros(void **state) {
    fixture *f = *state;
    mi_write_u32(&f->writer, 0xffffffff);
    mi_reader reader = reader_of(f);
    assert_int_equal(mi_read_u8(&reader), 0xff);
    assert_int_equal(mi_read_u64(&reader), 0);
    assert_int_equal(reader.result, MICA_FORMAT);
    assert_string_equal(reader.fault, "it ends too early");
    assert_int_equal(mi_read_u8(&reader), 0); // also what would have been there
    assert_false(mi_reader_end(&reader));
}

static void what_is_left_over_is_a_fault(void **state) {
    fixture *f = *state;
    mi_write_u32(&f->writer, 1);
    mi_reader reader = reader_of(f);
    mi_read_u8(&reader);
    assert_false(mi_reader_end(&reader));
    assert_int_equal(reader.result, MICA_FORMAT);
}

static void a_count_that_the_bytes_cannot_hold_is_a_fault(void **state) {
    fixture *f = *state;
    mi_write_u32(&f->writer, 3);
    mi_write_u64(&f->writer, 0);
    mi_reader three_bytes = reader_of(f);
    assert_int_equal(mi_read_count(&three_bytes, 2), 3);
    mi_reader four_bytes = reader_of(f);
    assert_int_equal(mi_read_count(&four_bytes, 3), 0);
    assert_int_equal(four_bytes.result, MICA_FORMAT);
}

static void a_text_with_a_zero_inside_is_a_fault(void **state) {
    fixture *f = *state;
    mi_write_u32(&f->writer, 3);
    mi_write_bytes(&f->writer, "a\0b", 3);
    mi_reader reader = reader_of(f);
    uint32_t length = 9;
    assert_string_equal(mi_read_text(&reader, &length), "");
    assert_int_equal(length, 0);
    assert_int_equal(reader.result, MICA_FORMAT);
}

static void a_component_that_is_not_known_is_named(void **state) {
    fixture *f = *state;
    mi_write_text(&f->writer, "Stranger");
    mi_reader reader = reader_of(f);
    assert_int_equal(mi_read_component(&reader), 0);
    assert_int_equal(reader.result, MICA_UNKNOWN);
    assert_string_equal(reader.name, "Stranger");
}

static void a_component_without_a_name_is_a_fault(void **state) {
    fixture *f = *state;
    mi_write_text(&f->writer, "");
    mi_reader reader = reader_of(f);
    assert_int_equal(mi_read_component(&reader), 0);
    assert_int_equal(reader.result, MICA_FORMAT);
}

static void a_handle_that_is_too_wide_is_a_fault(void **state) {
    fixture *f = *state;
    mi_write_u64(&f->writer, UINT64_MAX);
    mi_reader reader = reader_of(f);
    mi_read_entity(&reader);
    assert_int_equal(reader.result, sizeof(mica_entity) < sizeof(uint64_t) ? MICA_FORMAT : MICA_OK);
}

static void writing_stands_every_lack_of_memory(void **state) {
    fixture *f = *state;
    const mi_type *padded = type_of(f, mica_register(f->world, Padded));
    const mi_type *owned = type_of(f, mica_register(f->world, Owned));
    Owned value;
    owned_hold(&value, 7, f->world);
    for (uint64_t n = 1;; n++) {
        mi_record record = part_record(&f->heap);
        mi_writer writer = {.schema = f->world->schema, .record = &record};
        test_allocator_fail_at(&f->allocator, n);
        for (int32_t i = 0; i < 100; i++) {
            mi_write_value(&writer, padded, &(Padded){.small = 1});
            mi_write_value(&writer, owned, &value);
        }
        const bool has_failed = test_allocator_fail_stop(&f->allocator);
        mi_record_free(&record);
        assert_int_equal(writer.result, has_failed ? MICA_OUT_OF_MEMORY : MICA_OK);
        assert_int_equal(ledger_live_count(), 1);
        if (!has_failed) {
            break;
        }
    }
    owned_drop(&value, f->world);
}

static void the_parts_of_a_world_have_names_of_their_own(void **state) {
    (void)state;
    for (uint32_t i = 0; i < mi_world_part_count; i++) {
        for (uint32_t k = 0; k < i; k++) {
            assert_string_not_equal(mi_world_parts[i]->name, mi_world_parts[k]->name);
        }
    }
}

// A world in which nothing has happened is as one whose parts are brought into their initial state, and both are saved
// alike.
static void a_new_world_is_saved_as_a_world_in_its_initial_state(void **state) {
    fixture *f = *state;
    for (uint32_t i = 0; i < mi_world_part_count; i++) {
        mi_record record = part_record(&f->heap);
        assert_int_equal(part_save(f->world, mi_world_parts[i], &record), MICA_OK);
        assert_int_equal(part_load(f->world, mi_world_parts[i], NULL), MICA_OK);
        assert_true(part_is(f->world, mi_world_parts[i], &record));
        assert_int_equal(part_load(f->world, mi_world_parts[i], &record), MICA_OK);
        assert_true(part_is(f->world, mi_world_parts[i], &record));
        mi_record_free(&record);
    }
}

int main(void) {
#define CASE(NAME) cmocka_unit_test_setup_teardown(NAME, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(what_is_written_is_read_in_order),
        CASE(numbers_are_written_with_their_lowest_byte_first),
        CASE(bytes_of_values_that_do_not_count_are_zeros),
        CASE(values_of_tags_take_no_bytes),
        CASE(values_with_hooks_are_copied_each_way),
        CASE(a_value_that_can_only_move_is_named),
        CASE(a_value_with_hooks_of_another_type_is_not_taken),
        CASE(reading_past_the_end_gives_zeros),
        CASE(what_is_left_over_is_a_fault),
        CASE(a_count_that_the_bytes_cannot_hold_is_a_fault),
        CASE(a_text_with_a_zero_inside_is_a_fault),
        CASE(a_component_that_is_not_known_is_named),
        CASE(a_component_without_a_name_is_a_fault),
        CASE(a_handle_that_is_too_wide_is_a_fault),
        CASE(writing_stands_every_lack_of_memory),
        CASE(the_parts_of_a_world_have_names_of_their_own),
        CASE(a_new_world_is_saved_as_a_world_in_its_initial_state),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// Random numbers: the published numbers of the algorithms, evenness, and that nothing ever draws otherwise than it did.
#include <mica/random.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define CELL_MAX 64

// A generator whose next number is `bits`.
static mica_random about_to_draw(uint64_t bits) {
    const uint64_t by_nine = bits * UINT64_C(0x8e38e38e38e38e39); // divided by 9
    const uint64_t turned = by_nine >> 7 | by_nine << 57;
    mica_random random = mica_random_seeded(1);
    random.words[1] = turned * UINT64_C(0xcccccccccccccccd); // divided by 5
    return random;
}

static void assert_equal_states(const mica_random *one, const mica_random *other) {
    assert_memory_equal(one->words, other->words, sizeof(one->words));
}

// Pearson's sum for cells that are to be equally full.
static double unevenness(const uint32_t *counts, uint32_t cell_count) {
    double total = 0;
    double sum = 0;
    for (uint32_t i = 0; i < cell_count; i++) {
        total += counts[i];
    }
    const double expected = total / cell_count;
    for (uint32_t i = 0; i < cell_count; i++) {
        sum += (counts[i] - expected) * (counts[i] - expected) / expected;
    }
    return sum;
}

// The value that Pearson's sum exceeds once in ten thousand times (E. B. Wilson, M. M. Hilferty, 1931).
static double limit_of(uint32_t cell_count) {
    const double freedom = cell_count - 1;
    const double root = 1 - 2 / (9 * freedom) + 3.719 * sqrt(2 / (9 * freedom));
    return freedom * root * root * root;
}

// The algorithms

static void numbers_are_those_of_the_published_algorithm(void **state) {
    (void)state;
    static const uint64_t expected[] = {
        UINT64_C(11520),
        UINT64_C(0),
        UINT64_C(1509978240),
        UINT64_C(1215971899390074240),
        UINT64_C(1216172134540287360),
        UINT64_C(607988272756665600),
        UINT64_C(16172922978634559625),
        UINT64_C(8476171486693032832),
        UINT64_C(10595114339597558777),
        UINT64_C(2904607092377533576),
    };
    mica_random random = {{1, 2, 3, 4}};
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        assert_true(mica_random_next(&random) == expected[i]);
    }
}

static void seeds_are_spread_by_the_published_algorithm(void **state) {
    (void)state;
    const mica_random seeded = mica_random_seeded(1234567);
    assert_true(seeded.words[0] == UINT64_C(6457827717110365317));
    assert_true(seeded.words[1] == UINT64_C(3203168211198807973));
    assert_true(seeded.words[2] == UINT64_C(9817491932198370423));
    assert_true(seeded.words[3] == UINT64_C(4593380528125082431));
    mica_random random = mica_random_seeded(42);
    assert_true(mica_random_next(&random) == UINT64_C(1546998764402558742));
    assert_true(mica_random_next(&random) == UINT64_C(6990951692964543102));
}

// What the 2^128-th power of the step's matrix gives.
static void jumps_are_2_to_the_128_numbers_long(void **state) {
    (void)state;
    mica_random random = {{1, 2, 3, 4}};
    mica_random_jump(&random);
    assert_true(mica_random_next(&random) == UINT64_C(13534147089533256664));
    assert_true(mica_random_next(&random) == UINT64_C(7126240192422241655));
    assert_true(mica_random_next(&random) == UINT64_C(3805973808039778091));
}

static void jumping_and_drawing_may_be_exchanged(void **state) {
    (void)state;
    mica_random first = mica_random_seeded(5);
    mica_random second = first;
    mica_random_jump(&first);
    mica_random_next(&first);
    mica_random_next(&second);
    mica_random_jump(&second);
    assert_equal_states(&first, &second);
}

static void a_generator_of_zeros_is_one_of_the_default_seed(void **state) {
    (void)state;
    mica_random seeded = mica_random_seeded(MICA_RANDOM_SEED);
    mica_random zeros = {{0}};
    const mica_random split_of_zeros = mica_random_split(&zeros, 3);
    const mica_random split_of_seeded = mica_random_split(&seeded, 3);
    assert_equal_states(&split_of_zeros, &split_of_seeded);
    mica_random jumped_zeros = zeros;
    mica_random jumped_seeded = seeded;
    mica_random_jump(&jumped_zeros);
    mica_random_jump(&jumped_seeded);
    assert_equal_states(&jumped_zeros, &jumped_seeded);
    assert_true(mica_random_next(&zeros) == mica_random_next(&seeded));
    assert_equal_states(&zeros, &seeded);
}

// Parts

static void parts_depend_on_state_and_number_alone(void **state) {
    (void)state;
    const mica_random whole = mica_random_seeded(6);
    const mica_random later = mica_random_split(&whole, 8);
    const mica_random one = mica_random_split(&whole, 7);
    const mica_random same = mica_random_split(&whole, 7);
    const mica_random unchanged = mica_random_seeded(6);
    assert_equal_states(&one, &same);
    assert_equal_states(&whole, &unchanged);
    const mica_random other = mica_random_seeded(9);
    const mica_random of_other = mica_random_split(&other, 7);
    for (int i = 0; i < 4; i++) {
        assert_true(one.words[i] != later.words[i]);
        assert_true(one.words[i] != of_other.words[i]);
    }
}

static void names_are_numbers_by_their_published_hash(void **state) {
    (void)state;
    static const struct {
        const char *name;
        uint64_t number;
    } cases[] = {
        {NULL, UINT64_C(0xcbf29ce484222325)},
        {"", UINT64_C(0xcbf29ce484222325)},
        {"a", UINT64_C(0xaf63dc4c8601ec8c)},
        {"foobar", UINT64_C(0x85944171f73967e8)},
    };
    const mica_random whole = mica_random_seeded(10);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const mica_random named = mica_random_split_named(&whole, cases[i].name);
        const mica_random numbered = mica_random_split(&whole, cases[i].number);
        assert_equal_states(&named, &numbered);
    }
}

// Of independent bits half are equal: 64,000 bits differ from that by 127 or so.
static void parts_agree_in_half_of_their_bits(void **state) {
    (void)state;
    const mica_random whole = mica_random_seeded(11);
    for (uint64_t number = 0; number < 16; number++) {
        mica_random parts[3] = {whole, mica_random_split(&whole, number), mica_random_split(&whole, number + 1)};
        uint32_t with_whole = 0;
        uint32_t with_neighbour = 0;
        for (int i = 0; i < 1000; i++) {
            const uint64_t bits = mica_random_next(&parts[1]);
            with_whole += (uint32_t)__builtin_popcountll(bits ^ mica_random_next(&parts[0]));
            with_neighbour += (uint32_t)__builtin_popcountll(bits ^ mica_random_next(&parts[2]));
        }
        assert_in_range(with_whole, 32000 - 600, 32000 + 600);
        assert_in_range(with_neighbour, 32000 - 600, 32000 + 600);
    }
}

// Whole numbers

static void numbers_below_a_count_are_even(void **state) {
    (void)state;
    mica_random random = mica_random_seeded(12);
    for (uint32_t count = 2; count <= CELL_MAX; count++) {
        uint32_t counts[CELL_MAX] = {0};
        for (uint32_t i = 0; i < 100 * count; i++) {
            const uint32_t number = mica_random_below(&random, count);
            assert_true(number < count);
            counts[number]++;
        }
        assert_true(unevenness(counts, count) < limit_of(count));
    }
    assert_int_equal(mica_random_below(&random, 1), 0);
}

// 2^32 bit patterns on 3 * 2^30 numbers: without drawing again every third number would come twice as often.
static void numbers_below_a_count_that_does_not_divide_the_bits_are_even(void **state) {
    (void)state;
    mica_random random = mica_random_seeded(13);
    uint32_t counts[3] = {0};
    for (int i = 0; i < 30000; i++) {
        counts[mica_random_below(&random, UINT32_C(3) << 30) % 3]++;
    }
    assert_true(unevenness(counts, 3) < limit_of(3));
}

// Of 2^32 patterns one is too many for 3 numbers, and none for 4.
static void exactly_the_bits_that_do_not_divide_are_drawn_again(void **state) {
    (void)state;
    const mica_random zero_next = about_to_draw(UINT32_MAX); // the upper half, which counts, is 0
    mica_random drawn_once = zero_next;
    mica_random_next(&drawn_once);
    mica_random below_four = zero_next;
    assert_int_equal(mica_random_below(&below_four, 4), 0);
    assert_equal_states(&below_four, &drawn_once);
    mica_random below_three = zero_next;
    mica_random_below(&below_three, 3);
    mica_random drawn_twice = drawn_once;
    mica_random_next(&drawn_twice);
    assert_equal_states(&below_three, &drawn_twice);
    // The pattern behind it counts.
    const mica_random one_next = about_to_draw(UINT64_C(1) << 32);
    mica_random below_three_of_one = one_next;
    assert_int_equal(mica_random_below(&below_three_of_one, 3), 0);
    mica_random drawn_one = one_next;
    mica_random_next(&drawn_one);
    assert_equal_states(&below_three_of_one, &drawn_one);
}

static void ranges_include_both_ends_and_are_even(void **state) {
    (void)state;
    mica_random random = mica_random_seeded(14);
    uint32_t counts[11] = {0};
    for (int i = 0; i < 5500; i++) {
        const int64_t number = mica_random_range(&random, -5, 5);
        assert_true(number >= -5 && number <= 5);
        counts[number + 5]++;
    }
    assert_true(unevenness(counts, 11) < limit_of(11));
    assert_true(mica_random_range(&random, 7, 7) == 7);
    assert_true(mica_random_range(&random, INT64_MIN, INT64_MIN) == INT64_MIN);
}

static void ranges_wider_than_32_bits_are_even(void **state) {
    (void)state;
    mica_random random = mica_random_seeded(15);
    uint32_t counts[6] = {0};
    const int64_t sixth = INT64_C(1) << 40;
    for (int i = 0; i < 6000; i++) {
        const int64_t number = mica_random_range(&random, -2 * sixth, 4 * sixth - 1);
        assert_true(number >= -2 * sixth && number < 4 * sixth);
        counts[(number + 2 * sixth) / sixth]++;
    }
    assert_true(unevenness(counts, 6) < limit_of(6));
    // 2^32 numbers: the first range that is not drawn as a number below a count.
    mica_random upper = about_to_draw(UINT64_MAX);
    assert_true(mica_random_range(&upper, 0, UINT32_MAX) == UINT32_MAX);
    mica_random below_it = about_to_draw(UINT64_MAX);
    assert_true(mica_random_range(&below_it, 0, UINT32_MAX - 1) == UINT32_MAX - 1);
}

static void the_widest_range_takes_the_bits_as_they_are(void **state) {
    (void)state;
    mica_random lowest = about_to_draw(0);
    mica_random highest = about_to_draw(UINT64_MAX);
    assert_true(mica_random_range(&lowest, INT64_MIN, INT64_MAX) == INT64_MIN);
    assert_true(mica_random_range(&highest, INT64_MIN, INT64_MAX) == INT64_MAX);
}

// Parts of one

static void fractions_reach_neither_one_nor_anything_below_zero(void **state) {
    (void)state;
    mica_random random = about_to_draw(UINT64_MAX);
    assert_true(mica_random_unit(&random) == 1 - 0x1p-53);
    random = about_to_draw(UINT64_MAX);
    assert_true(mica_random_unitf(&random) == 1 - 0x1p-24f);
    random = about_to_draw(UINT64_C(1) << 11);
    assert_true(mica_random_unit(&random) == 0x1p-53);
    random = about_to_draw(UINT64_C(1) << 40);
    assert_true(mica_random_unitf(&random) == 0x1p-24f);
    random = about_to_draw(0);
    assert_true(mica_random_unit(&random) == 0);
    random = about_to_draw(0);
    assert_true(mica_random_unitf(&random) == 0);
}

static void fractions_are_even(void **state) {
    (void)state;
    mica_random random = mica_random_seeded(16);
    uint32_t counts[2][CELL_MAX] = {{0}};
    for (int i = 0; i < 12800; i++) {
        counts[0][(int)(mica_random_unit(&random) * CELL_MAX)]++;
        counts[1][(int)(mica_random_unitf(&random) * CELL_MAX)]++;
    }
    assert_true(unevenness(counts[0], CELL_MAX) < limit_of(CELL_MAX));
    assert_true(unevenness(counts[1], CELL_MAX) < limit_of(CELL_MAX));
}

static void chances_come_true_as_often_as_they_say(void **state) {
    (void)state;
    mica_random random = mica_random_seeded(17);
    uint32_t true_count = 0;
    for (int i = 0; i < 40000; i++) {
        true_count += mica_random_chance(&random, 0.25);
        assert_false(mica_random_chance(&random, 0));
        assert_false(mica_random_chance(&random, -INFINITY));
        assert_true(mica_random_chance(&random, 1));
        assert_true(mica_random_chance(&random, INFINITY));
    }
    assert_in_range(true_count, 10000 - 270, 10000 + 270); // three standard deviations
}

static void chances_draw_once_whatever_they_are(void **state) {
    (void)state;
    static const double probabilities[] = {-1, 0, 0.5, 1, 2};
    for (size_t i = 0; i < sizeof(probabilities) / sizeof(probabilities[0]); i++) {
        mica_random asked = mica_random_seeded(18);
        mica_random drawn = asked;
        mica_random_chance(&asked, probabilities[i]);
        mica_random_next(&drawn);
        assert_equal_states(&asked, &drawn);
    }
}

// Order

static void every_order_of_four_is_as_likely(void **state) {
    (void)state;
    mica_random random = mica_random_seeded(19);
    uint32_t counts[256] = {0};
    for (int i = 0; i < 4800; i++) {
        uint8_t items[4] = {0, 1, 2, 3};
        assert_int_equal(mica_random_shuffle(&random, items, 4, 1), MICA_OK);
        counts[items[0] | items[1] << 2 | items[2] << 4 | items[3] << 6]++;
    }
    uint32_t orders[24];
    uint32_t order_count = 0;
    for (int i = 0; i < 256; i++) {
        if (counts[i] > 0) {
            assert_true(order_count < 24);
            orders[order_count++] = counts[i];
        }
    }
    assert_int_equal(order_count, 24);
    assert_true(unevenness(orders, 24) < limit_of(24));
}

static void large_items_are_moved_whole(void **state) {
    (void)state;
    typedef struct item {
        uint8_t bytes[150];
    } item;
    item items[20];
    for (int i = 0; i < 20; i++) {
        memset(&items[i], i, sizeof(item));
    }
    mica_random random = mica_random_seeded(20);
    assert_int_equal(mica_random_shuffle(&random, items, 20, sizeof(item)), MICA_OK);
    uint32_t seen = 0;
    uint32_t moved_count = 0;
    for (int i = 0; i < 20; i++) {
        for (size_t k = 1; k < sizeof(item); k++) {
            assert_int_equal(items[i].bytes[k], items[i].bytes[0]);
        }
        seen |= UINT32_C(1) << items[i].bytes[0];
        moved_count += items[i].bytes[0] != i;
    }
    assert_int_equal(seen, (1 << 20) - 1);
    assert_true(moved_count > 10);
}

static void nothing_and_one_item_draw_nothing(void **state) {
    (void)state;
    mica_random random = mica_random_seeded(21);
    const mica_random before = random;
    uint8_t item = 7;
    assert_int_equal(mica_random_shuffle(&random, NULL, 0, 4), MICA_OK);
    assert_int_equal(mica_random_shuffle(&random, &item, 1, 1), MICA_OK);
    assert_equal_states(&random, &before);
    assert_int_equal(item, 7);
}

// The rest

static void what_cannot_be_drawn_is_refused_and_draws_nothing(void **state) {
    (void)state;
    mica_random random = mica_random_seeded(22);
    const mica_random before = random;
    mica_error_clear();
    assert_int_equal(mica_random_below(&random, 0), 0);
    assert_int_equal(mica_last_result(), MICA_INVALID);
    mica_error_clear();
    assert_true(mica_random_range(&random, 5, 4) == 5);
    assert_int_equal(mica_last_result(), MICA_INVALID);
    assert_non_null(strstr(mica_last_error(), "from 5 to 4"));
    mica_error_clear();
    assert_false(mica_random_chance(&random, (double)NAN));
    assert_int_equal(mica_last_result(), MICA_INVALID);
    uint8_t items[2] = {1, 2};
    assert_int_equal(mica_random_shuffle(&random, NULL, 2, 1), MICA_INVALID);
    assert_int_equal(mica_random_shuffle(&random, items, 2, 0), MICA_INVALID);
    assert_int_equal(items[0], 1);
    assert_equal_states(&random, &before);
}

static void no_generator_is_refused(void **state) {
    (void)state;
    const mica_random zeros = {{0}};
    uint8_t items[2] = {1, 2};
    mica_error_clear();
    assert_true(mica_random_next(NULL) == 0);
    assert_int_equal(mica_last_result(), MICA_INVALID);
    assert_non_null(strstr(mica_last_error(), "mica_random_next"));
    assert_int_equal(mica_random_below(NULL, 5), 0);
    assert_true(mica_random_range(NULL, 1, 5) == 0);
    assert_true(mica_random_unit(NULL) == 0);
    assert_true(mica_random_unitf(NULL) == 0);
    assert_false(mica_random_chance(NULL, 1));
    assert_int_equal(mica_random_shuffle(NULL, items, 2, 1), MICA_INVALID);
    const mica_random split = mica_random_split(NULL, 1);
    assert_equal_states(&split, &zeros);
    mica_error_clear();
    mica_random_jump(NULL);
    assert_int_equal(mica_last_result(), MICA_INVALID);
}

// A change here is a change of what programs draw, and of what their recorded runs are compared with.
static void nothing_ever_draws_otherwise(void **state) {
    (void)state;
    mica_random random = mica_random_seeded(23);
    uint64_t digest = 0;
    for (uint32_t i = 1; i <= 2000; i++) {
        mica_random part = mica_random_split(&random, i);
        const double unit = mica_random_unit(&part);
        const float unitf = mica_random_unitf(&part);
        uint16_t items[5] = {0, 1, 2, 3, 4};
        mica_random_shuffle(&part, items, 5, sizeof(items[0]));
        const int64_t ranged = mica_random_range(&part, -(INT64_C(1) << i % 63), i);
        const uint64_t order =
            (uint64_t)items[0] << 48 | (uint64_t)items[1] << 32 | (uint64_t)items[2] << 16 | items[3];
        const uint64_t drawn[6] = {mica_random_below(&random, i * 1000003),
                                   (uint64_t)ranged,
                                   (uint64_t)(unit * 0x1p53),
                                   (uint64_t)((double)unitf * 0x1p24),
                                   order,
                                   (uint64_t)mica_random_chance(&part, 0.5)};
        for (int k = 0; k < 6; k++) {
            digest = (digest ^ drawn[k]) * UINT64_C(0x9e3779b97f4a7c15);
            digest ^= digest >> 32;
        }
    }
    if (digest != UINT64_C(0x9c931a7151c88341)) {
        fail_msg("they give 0x%016llx", (unsigned long long)digest);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_those_of_the_published_algorithm),
        cmocka_unit_test(seeds_are_spread_by_the_published_algorithm),
        cmocka_unit_test(jumps_are_2_to_the_128_numbers_long),
        cmocka_unit_test(jumping_and_drawing_may_be_exchanged),
        cmocka_unit_test(a_generator_of_zeros_is_one_of_the_default_seed),
        cmocka_unit_test(parts_depend_on_state_and_number_alone),
        cmocka_unit_test(names_are_numbers_by_their_published_hash),
        cmocka_unit_test(parts_agree_in_half_of_their_bits),
        cmocka_unit_test(numbers_below_a_count_are_even),
        cmocka_unit_test(numbers_below_a_count_that_does_not_divide_the_bits_are_even),
        cmocka_unit_test(exactly_the_bits_that_do_not_divide_are_drawn_again),
        cmocka_unit_test(ranges_include_both_ends_and_are_even),
        cmocka_unit_test(ranges_wider_than_32_bits_are_even),
        cmocka_unit_test(the_widest_range_takes_the_bits_as_they_are),
        cmocka_unit_test(fractions_reach_neither_one_nor_anything_below_zero),
        cmocka_unit_test(fractions_are_even),
        cmocka_unit_test(chances_come_true_as_often_as_they_say),
        cmocka_unit_test(chances_draw_once_whatever_they_are),
        cmocka_unit_test(every_order_of_four_is_as_likely),
        cmocka_unit_test(large_items_are_moved_whole),
        cmocka_unit_test(nothing_and_one_item_draw_nothing),
        cmocka_unit_test(what_cannot_be_drawn_is_refused_and_draws_nothing),
        cmocka_unit_test(no_generator_is_refused),
        cmocka_unit_test(nothing_ever_draws_otherwise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

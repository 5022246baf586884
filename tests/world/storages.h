// Runs cases with their component types in tables, in pools, and some in each: what is no relation may live anywhere,
// and a case that does not speak of rows or positions must not notice.
#pragma once

#include <mica/type.h>

typedef enum storage_mix { ALL_IN_TABLES, ALL_IN_POOLS, EVEN_IN_POOLS, ODD_IN_POOLS, MIX_COUNT } storage_mix;

static const char *const storage_mix_names[MIX_COUNT] = {"all in tables", "all in pools", "even ones in pools",
                                                         "odd ones in pools"};

static bool is_in_pool(storage_mix mix, uint32_t number) {
    return mix == ALL_IN_POOLS || (mix == EVEN_IN_POOLS && number % 2 == 0) || (mix == ODD_IN_POOLS && number % 2 != 0);
}

// Says where type number `number` of a test lives from the next schema on. Of those with data in pools, one of three is
// stable, one is paged and one is as its size says.
static void place_type(mica_type *type, storage_mix mix, uint32_t number) {
    const bool in_pool = is_in_pool(mix, number);
    const bool has_values = in_pool && type->kind != MICA_KIND_TAG;
    type->traits.storage = in_pool ? MICA_POOL : MICA_TABLE;
    type->traits.stable = has_values && number % 3 == 0;
    type->traits.page_size = has_values && number % 3 != 2 ? 4 : 0;
}

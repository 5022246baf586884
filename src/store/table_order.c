// The canonical order of tables: by the sorted lists of their components' names, see decisions/0005.
//
// Comparing lists of names table by table would cost more than all else that a first walk over thousands of tables
// does. So each table gets a *key*: components are numbered in the order of their names, and a set of them becomes a
// number whose order is that of the lists. With K components, think of all sets as a tree in which a set stands below
// the one without its last component; visited from the root, each set before those below it and those in order of the
// component that they add, the place of a set in that order is
//
//   its count of components + the sum of 2 ^ (K - 1 - c) over the components c before its last that it does not have
//
// Keys are sorted by radix, each in one word with the number of its table. They are exact for as many components as the
// word has bits left; of more, the last bit stands for all others, and tables that this leaves in doubt are compared by
// names. New tables are merged into those in order already, whose order never changes.
#include "store/store.h"

#include "base/bitset.h"
#include "base/sort.h"

#include <string.h>

enum { WORD_BITS = 64, DIGIT_BITS = 8, DIGIT_COUNT = 1 << DIGIT_BITS, MERGED_PART = 8 };
// In `by_byte`: where the count of components stands.
#define COUNT_SHIFT 56u
#define KEY_BITS_MOST COUNT_SHIFT

// What keys are made from, and what sorting needs. `count` tables are sorted, from `first` on in `ordered`.
typedef struct sorting {
    mi_store *store;
    uint32_t first;
    uint32_t count;
    uint32_t number_bits;
    uint32_t key_bits;
    uint32_t named_count; // components that the tables have
    uint32_t id_count;    // ids from here on are in no table
    bool is_exact;        // each component has a bit of its own
    uint64_t *bits;       // by component id: its bit, the higher the earlier its name comes
    uint32_t *ids;        // room for two times as many
    uint64_t *items;      // key << number_bits | number of the table, from `first` on
    uint64_t *spare;      // as many
} sorting;

int mi_table_compare(const mi_store *store, const mi_table *a, const mi_table *b) {
    const uint32_t shared = a->component_count < b->component_count ? a->component_count : b->component_count;
    for (uint32_t i = 0; i < shared; i++) {
        if (a->by_name[i] != b->by_name[i]) {
            return mi_type_compare_names(mi_schema_type(store->schema, a->by_name[i]),
                                         mi_schema_type(store->schema, b->by_name[i]));
        }
    }
    return (a->component_count > b->component_count) - (a->component_count < b->component_count);
}

static int compare_numbers(const void *context, uint32_t a, uint32_t b) {
    const mi_store *store = context;
    return mi_table_compare(store, store->tables.data[a], store->tables.data[b]);
}

static int compare_components(const void *context, uint32_t a, uint32_t b) {
    const mi_store *store = context;
    return mi_type_compare_names(mi_schema_type(store->schema, (mica_component)a),
                                 mi_schema_type(store->schema, (mica_component)b));
}

static uint32_t bits_for(uint32_t count) {
    uint32_t bits = 1;
    while (bits < 32 && count >> bits != 0) {
        bits++;
    }
    return bits;
}

// Finds the components of the tables and gives them their bits.
static void number_components(sorting *s) {
    const mi_store *store = s->store;
    uint64_t all = 0;
    memset(s->bits, 0, s->id_count * sizeof(uint64_t));
    for (uint32_t i = s->first; i < s->first + s->count; i++) {
        all |= store->ordered_words.data[i];
        for (uint32_t k = 0; s->id_count > WORD_BITS && k < store->ordered.data[i]->component_count; k++) {
            s->bits[store->ordered.data[i]->components[k]] = 1;
        }
    }
    for (uint32_t id = 0; id < s->id_count; id++) {
        if (id < WORD_BITS ? (all >> id & 1) != 0 : s->bits[id] != 0) {
            s->ids[s->named_count++] = id;
        }
    }
    mi_sort(s->ids, s->ids + s->named_count, s->named_count, compare_components, store);
    s->number_bits = bits_for(s->count - 1);
    s->key_bits = WORD_BITS - s->number_bits < KEY_BITS_MOST ? WORD_BITS - s->number_bits : KEY_BITS_MOST;
    s->is_exact = s->named_count <= s->key_bits;
    s->key_bits = s->is_exact ? s->named_count : s->key_bits;
    for (uint32_t i = 0; i < s->named_count; i++) {
        s->bits[s->ids[i]] = UINT64_C(1) << (i < s->key_bits ? s->key_bits - 1 - i : 0);
    }
}

static uint64_t key_of(const sorting *s, uint64_t set, uint64_t count) {
    const uint64_t last = set & (~set + 1);
    const uint64_t skipped = ~set & ((UINT64_C(1) << s->key_bits) - 1) & ~(last | (last - 1));
    return skipped + count;
}

// Makes the keys of tables whose components are all in one word: a look-up a byte of it.
static void make_keys_by_byte(const sorting *s) {
    uint64_t by_byte[WORD_BITS / 8][1 << 8];
    const uint32_t byte_count = (s->id_count + 7) / 8;
    for (uint32_t i = 0; i < byte_count; i++) {
        by_byte[i][0] = 0;
        for (uint32_t value = 1; value < 1 << 8; value++) {
            const uint32_t id = i * 8 + (uint32_t)__builtin_ctz(value);
            const uint64_t bit = id < s->id_count ? s->bits[id] : 0;
            by_byte[i][value] = by_byte[i][value & (value - 1)] + bit + (UINT64_C(1) << COUNT_SHIFT);
        }
    }
    for (uint32_t i = 0; i < s->count; i++) {
        const uint64_t word = s->store->ordered_words.data[s->first + i];
        uint64_t sum = 0;
        for (uint32_t k = 0; k < byte_count; k++) {
            sum += by_byte[k][word >> (8 * k) & UINT8_MAX];
        }
        const uint64_t set = sum & ((UINT64_C(1) << COUNT_SHIFT) - 1);
        s->items[i] = key_of(s, set, sum >> COUNT_SHIFT) << s->number_bits | i;
    }
}

static void make_keys(const sorting *s) {
    if (s->is_exact && s->id_count <= WORD_BITS) {
        make_keys_by_byte(s);
        return;
    }
    for (uint32_t i = 0; i < s->count; i++) {
        const mi_table *table = s->store->ordered.data[s->first + i];
        uint64_t set = 0;
        for (uint32_t k = 0; k < table->component_count; k++) {
            set |= s->bits[table->components[k]];
        }
        s->items[i] = key_of(s, set, (uint64_t)__builtin_popcountll(set)) << s->number_bits | i;
    }
}

static void sort_items(sorting *s) {
    for (uint32_t shift = s->number_bits; shift < s->number_bits + s->key_bits; shift += DIGIT_BITS) {
        uint32_t starts[DIGIT_COUNT] = {0};
        for (uint32_t i = 0; i < s->count; i++) {
            starts[s->items[i] >> shift & (DIGIT_COUNT - 1)]++;
        }
        uint32_t start = 0;
        for (uint32_t digit = 0; digit < DIGIT_COUNT; digit++) {
            const uint32_t size = starts[digit];
            starts[digit] = start;
            start += size;
        }
        for (uint32_t i = 0; i < s->count; i++) {
            s->spare[starts[s->items[i] >> shift & (DIGIT_COUNT - 1)]++] = s->items[i];
        }
        uint64_t *sorted = s->spare;
        s->spare = s->items;
        s->items = sorted;
    }
}

static uint32_t number_of(const sorting *s, uint32_t i) {
    return (uint32_t)(s->items[i] & ((UINT64_C(1) << s->number_bits) - 1));
}

// Puts the tables behind `first` in the order of the items.
static void arrange(sorting *s) {
    mi_table **tables = s->store->ordered.data + s->first;
    uint64_t *words = s->store->ordered_words.data + s->first;
    for (uint32_t i = 0; i < s->count; i++) {
        s->spare[i] = (uint64_t)(uintptr_t)tables[number_of(s, i)];
    }
    for (uint32_t i = 0; i < s->count; i++) {
        tables[i] = (mi_table *)(uintptr_t)s->spare[i];
    }
    for (uint32_t i = 0; i < s->count; i++) {
        s->spare[i] = words[number_of(s, i)];
    }
    memcpy(words, s->spare, s->count * sizeof(uint64_t));
}

// Puts tables in order whose keys are equal.
static void settle_by_names(const sorting *s) {
    mi_store *store = s->store;
    uint32_t *ids = (uint32_t *)(void *)s->items; // the order has been made use of
    for (uint32_t i = 0; i < s->count; i++) {
        ids[i] = store->ordered.data[s->first + i]->id;
    }
    mi_sort(ids, ids + s->count, s->count, compare_numbers, store);
    for (uint32_t i = 0; i < s->count; i++) {
        store->ordered.data[s->first + i] = store->tables.data[ids[i]];
        store->ordered_words.data[s->first + i] = store->tables.data[ids[i]]->bits[0];
    }
}

// Merges tables in order into those in front of `first`, which are in order, from the back.
static void merge(const sorting *s) {
    mi_store *store = s->store;
    mi_table **tables = store->ordered.data;
    uint64_t *words = store->ordered_words.data;
    for (uint32_t i = 0; i < s->count; i++) {
        s->items[i] = (uint64_t)(uintptr_t)tables[s->first + i];
        s->spare[i] = words[s->first + i];
    }
    uint32_t end = s->first; // those from here on stand where they belong
    for (uint32_t left = s->count; left > 0; left--) {
        mi_table *next = (mi_table *)(uintptr_t)s->items[left - 1];
        uint32_t low = 0;
        uint32_t high = end;
        while (low < high) {
            const uint32_t middle = low + (high - low) / 2;
            if (mi_table_compare(store, tables[middle], next) < 0) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        memmove(tables + low + left, tables + low, (end - low) * sizeof(*tables));
        memmove(words + low + left, words + low, (end - low) * sizeof(*words));
        tables[low + left - 1] = next;
        words[low + left - 1] = s->spare[left - 1];
        end = low;
    }
}

bool mi_store_order(mi_store *store) {
    const uint32_t count = store->ordered.count;
    const uint32_t new_count = count - store->sorted_count;
    if (new_count == 0) {
        return true;
    }
    // Many are sorted together with the rest, few are merged in.
    sorting s = {.store = store, .id_count = store->component_bound};
    s.first = new_count > store->sorted_count / MERGED_PART ? 0 : store->sorted_count;
    s.count = count - s.first;
    const size_t byte_size = ((size_t)2 * s.id_count + (size_t)2 * s.count) * sizeof(uint64_t);
    uint64_t *memory = mi_heap_allocate(store->heap, MICA_MEMORY_TABLES, byte_size, _Alignof(uint64_t));
    if (memory == NULL) {
        store->failure = MICA_OUT_OF_MEMORY;
        return false;
    }
    s.bits = memory;
    s.ids = (uint32_t *)(void *)(s.bits + s.id_count);
    s.items = s.bits + (size_t)2 * s.id_count;
    s.spare = s.items + s.count;
    number_components(&s);
    make_keys(&s);
    sort_items(&s);
    arrange(&s);
    if (!s.is_exact) {
        settle_by_names(&s);
    }
    if (s.first > 0) {
        merge(&s);
    }
    mi_heap_release(store->heap, MICA_MEMORY_TABLES, memory, byte_size, _Alignof(uint64_t));
    store->sorted_count = count;
    return true;
}

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
// Keys are sorted by radix. They are exact for up to 64 components; of more, all from the 64th on count as one, and
// tables that this leaves in doubt are compared by names. New tables are merged into those in order already, whose
// order never changes.
#include "store/store.h"

#include "base/bitset.h"
#include "base/sort.h"

#include <string.h>

enum { KEY_BITS = 64, DIGIT_BITS = 8, DIGIT_COUNT = 1 << DIGIT_BITS, MERGED_PART = 8 };

typedef struct entry {
    uint64_t key;
    uint64_t word; // of `ordered_words`
    mi_table *table;
} entry;

// What keys are made from.
typedef struct numbering {
    uint64_t *bits;       // by component id: its bit, the higher the earlier its name comes; 0: no table has it
    uint32_t id_count;    // ids from here on are in no table
    uint32_t named_count; // components that tables have
} numbering;

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

// Finds the components of the tables from `first` on, and numbers them. `ids` has room for two times as many as there
// are ids.
static void number_components(mi_store *store, uint32_t first, numbering *numbers, uint32_t *ids) {
    uint64_t all = 0;
    for (uint32_t i = first; i < store->ordered.count; i++) {
        all |= store->ordered_words.data[i];
        for (uint32_t k = 0; numbers->id_count > KEY_BITS && k < store->ordered.data[i]->component_count; k++) {
            numbers->bits[store->ordered.data[i]->components[k]] = 1;
        }
    }
    for (uint32_t id = 0; id < numbers->id_count; id++) {
        if (id < KEY_BITS ? (all >> id & 1) != 0 : numbers->bits[id] != 0) {
            ids[numbers->named_count++] = id;
        }
    }
    mi_sort(ids, ids + numbers->named_count, numbers->named_count, compare_components, store);
    const uint32_t bit_count = numbers->named_count < KEY_BITS ? numbers->named_count : KEY_BITS;
    for (uint32_t i = 0; i < numbers->named_count; i++) {
        numbers->bits[ids[i]] = UINT64_C(1) << (i < bit_count ? bit_count - 1 - i : 0);
    }
}

static uint64_t key_of(const numbering *numbers, const mi_table *table, uint64_t word) {
    uint64_t set = 0;
    if (numbers->id_count <= KEY_BITS) {
        for (uint64_t rest = word; rest != 0; rest &= rest - 1) {
            set |= numbers->bits[__builtin_ctzll(rest)];
        }
    } else {
        for (uint32_t i = 0; i < table->component_count; i++) {
            set |= numbers->bits[table->components[i]];
        }
    }
    const uint64_t last = set & (~set + 1);
    const uint32_t bit_count = numbers->named_count < KEY_BITS ? numbers->named_count : KEY_BITS;
    const uint64_t skipped = ~set & (UINT64_MAX >> (KEY_BITS - bit_count)) & ~(last | (last - 1));
    return skipped + (uint64_t)__builtin_popcountll(set);
}

// Sorts entries by key, with room for as many at `spare`; returns where they are then.
static entry *sort_by_key(entry *entries, entry *spare, uint32_t count, uint32_t bit_count) {
    for (uint32_t shift = 0; shift < bit_count; shift += DIGIT_BITS) {
        uint32_t starts[DIGIT_COUNT] = {0};
        for (uint32_t i = 0; i < count; i++) {
            starts[entries[i].key >> shift & (DIGIT_COUNT - 1)]++;
        }
        uint32_t start = 0;
        for (uint32_t digit = 0; digit < DIGIT_COUNT; digit++) {
            const uint32_t size = starts[digit];
            starts[digit] = start;
            start += size;
        }
        for (uint32_t i = 0; i < count; i++) {
            spare[starts[entries[i].key >> shift & (DIGIT_COUNT - 1)]++] = entries[i];
        }
        entry *sorted = spare;
        spare = entries;
        entries = sorted;
    }
    return entries;
}

// Puts tables whose keys are equal in order. `ids` has room for two times as many as there are tables to sort.
static void settle_by_names(const mi_store *store, entry *entries, uint32_t count, uint32_t *ids) {
    for (uint32_t i = 0; i < count; i++) {
        ids[i] = entries[i].table->id;
    }
    mi_sort(ids, ids + count, count, compare_numbers, store);
    for (uint32_t i = 0; i < count; i++) {
        entries[i].table = store->tables.data[ids[i]];
        entries[i].word = entries[i].table->bits[0];
    }
}

// Merges entries in order into the tables in front of `first`, which are in order, from the back.
static void merge(mi_store *store, uint32_t first, const entry *entries, uint32_t count) {
    mi_table **tables = store->ordered.data;
    uint64_t *words = store->ordered_words.data;
    uint32_t end = first; // those from here on stand where they belong
    for (uint32_t left = count; left > 0; left--) {
        const entry *next = &entries[left - 1];
        uint32_t low = 0;
        uint32_t high = end;
        while (low < high) {
            const uint32_t middle = low + (high - low) / 2;
            if (mi_table_compare(store, tables[middle], next->table) < 0) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        memmove(tables + low + left, tables + low, (end - low) * sizeof(*tables));
        memmove(words + low + left, words + low, (end - low) * sizeof(*words));
        tables[low + left - 1] = next->table;
        words[low + left - 1] = next->word;
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
    const uint32_t first = new_count > store->sorted_count / MERGED_PART ? 0 : store->sorted_count;
    const uint32_t sort_count = count - first;
    numbering numbers = {.id_count = store->component_bound};
    const size_t id_room = (size_t)2 * (sort_count > numbers.id_count ? sort_count : numbers.id_count);
    const size_t entries_at = numbers.id_count * sizeof(uint64_t);
    const size_t ids_at = entries_at + (size_t)2 * sort_count * sizeof(entry);
    const size_t byte_size = ids_at + id_room * sizeof(uint32_t);
    uint8_t *memory = mi_heap_allocate(store->heap, MICA_MEMORY_TABLES, byte_size, _Alignof(entry));
    if (memory == NULL) {
        store->failure = MICA_OUT_OF_MEMORY;
        return false;
    }
    numbers.bits = (uint64_t *)(void *)memory;
    memset(numbers.bits, 0, numbers.id_count * sizeof(uint64_t));
    uint32_t *ids = (uint32_t *)(void *)(memory + ids_at);
    number_components(store, first, &numbers, ids);
    entry *entries = (entry *)(void *)(memory + entries_at);
    for (uint32_t i = 0; i < sort_count; i++) {
        const uint64_t word = store->ordered_words.data[first + i];
        mi_table *table = store->ordered.data[first + i];
        entries[i] = (entry){.key = key_of(&numbers, table, word), .word = word, .table = table};
    }
    const uint32_t bit_count = numbers.named_count < KEY_BITS ? numbers.named_count : KEY_BITS;
    entries = sort_by_key(entries, entries + sort_count, sort_count, bit_count);
    if (numbers.named_count > KEY_BITS) {
        settle_by_names(store, entries, sort_count, ids);
    }
    merge(store, first, entries, sort_count);
    mi_heap_release(store->heap, MICA_MEMORY_TABLES, memory, byte_size, _Alignof(entry));
    store->sorted_count = count;
    return true;
}

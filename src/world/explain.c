// Queries in words: what a query asks for, which tables it matches, and why an entity matches or not.
//
// Terms and tables stand in canonical order, so that the order of registration does not show.
#include "base/text.h"
#include "world/query.h"

static const char *const use_marks[] = {"", "", "[write] ", "[with] ", "!", "?", "[write] ?"};
static const char *const use_words[] = {"", "read", "write", "with", "without", "optional read", "optional write"};

static const char *component_name(const mica_query *query, mica_component component) {
    return mi_schema_type(query->world->schema, component)->info.name;
}

size_t mi_query_write_text(const mica_query *query, char *text, size_t capacity) {
    mi_text_out out = mi_text_begin(text, capacity);
    for (uint32_t i = 0; i < query->term_count; i++) {
        const mi_term *term = &query->terms[query->by_name[i]];
        mi_text_add(&out, "%s", i == 0 ? "" : ", ");
        if (term->any > 0) {
            mi_text_add(&out, "[any %d] ", term->any);
        }
        mi_text_add(&out, "%s%s", use_marks[term->use], component_name(query, term->component));
    }
    return out.length;
}

// Whether one of the term's any-of clause is there.
static bool clause_holds(const mica_query *query, const mi_term *term, const mi_table *table) {
    return mi_bits_meet(table->bits, table->bit_words, query->any_of + (term->any - 1) * query->word_count,
                        query->word_count);
}

static const char *verdict(const mica_query *query, const mi_term *term, const mi_table *table) {
    const bool has = mi_table_has(table, term->component);
    if (term->use == MICA_USE_OPTIONAL_READ || term->use == MICA_USE_OPTIONAL_WRITE) {
        return has ? "is there" : "is not there, which is allowed";
    }
    if (has != (term->use == MICA_USE_WITHOUT)) {
        return "holds";
    }
    if (term->any > 0) {
        return clause_holds(query, term, table) ? "is not there, another of its clause is"
                                                : "fails: none of its clause is there";
    }
    return has ? "fails: it is there" : "fails: it is not there";
}

static void explain_entity(const mica_query *query, mica_entity entity, mi_text_out *out) {
    const mi_store *store = &query->world->store;
    uint32_t location = 0;
    if (!mi_slots_resolve(&store->slots, entity, &location)) {
        mi_text_add(out, "does not match: the entity is not alive\n");
        return;
    }
    const mi_table *table = mi_store_table_at(store, location);
    mi_text_add(out, "%s (%s)\n", mi_query_matches(query, table) ? "matches" : "does not match", query->text);
    for (uint32_t i = 0; i < query->term_count; i++) {
        const mi_term *term = &query->terms[query->by_name[i]];
        mi_text_add(out, "  %s %s: %s\n", use_words[term->use], component_name(query, term->component),
                    verdict(query, term, table));
    }
}

static void explain_query(const mica_query *query, mi_text_out *out) {
    mi_text_add(out, "query (%s), %u table%s%s\n", query->text, query->tables.count,
                query->tables.count == 1 ? "" : "s",
                query->requires_nothing ? " and the entities without components" : "");
    for (uint32_t i = 0; i < query->tables.count; i++) {
        const mi_table *table = query->tables.data[i];
        mi_text_add(out, "  %u row%s:", table->row_count, table->row_count == 1 ? "" : "s");
        for (uint32_t k = 0; k < table->component_count; k++) {
            mi_text_add(out, "%s%s", k == 0 ? " " : ", ", component_name(query, table->by_name[k]));
        }
        mi_text_add(out, "\n");
    }
}

size_t mica_query_explain(mica_query *query, mica_entity entity, char *text, size_t capacity) {
    mi_text_out out = mi_text_begin(text, capacity);
    if (mi_query_check(query, "mica_query_explain") != MICA_OK) {
        return 0;
    }
    if (mica_entity_is_null(entity)) {
        explain_query(query, &out);
    } else {
        explain_entity(query, entity, &out);
    }
    return out.length;
}

// Observers of the fuzzer of worlds. A book is kept by two observers, one for what comes and one for what goes: of a
// component, of entities as a whole, or of a query. Whoever comes is not here yet, whoever goes was here or came before
// the book was begun, and what one is told of is there while it is told. Between operations those who are here have the
// component, live, or match; a book that has heard of everybody counts as many as the world does; and when the world
// has ended nobody is left.
#include "fuzz_world.h"

// Inside a callback structure is locked, as in a walk.
void react(fuzz *f, mica_commands *commands) {
    f->is_reacted = true;
    f->depth++;
    f->walk_count++;
    run_inside(f, commands);
    f->walk_count--;
    f->depth--;
}

// What is told

static bool is_whole(const fuzz_book *book) {
    return book->component == COMPONENT_COUNT && book->query == NULL;
}

// Whether an entity belongs into a book. A query that has to look at new tables needs memory.
static bool belongs(const fuzz *f, const fuzz_book *book, mica_entity entity) {
    if (book->query != NULL) {
        return may_refuse(f) || mica_query_contains(book->query, entity);
    }
    return is_whole(book) ? mica_entity_alive(f->world, entity)
                          : mica_entity_has(f->world, entity, f->ids[book->component]);
}

static void write_down(fuzz_book *book, mica_entity entity, bool is_coming) {
    const uint32_t index = mica_entity_index(entity);
    if (index >= BOOK_SLOT_COUNT) {
        book->is_complete = false;
        return;
    }
    const bool is_here = mica_entity_equal(book->here[index], entity);
    const bool is_free = mica_entity_is_null(book->here[index]);
    FUZZ_CHECK(!is_coming || is_free || book->is_loose, "somebody came twice, or two to one slot");
    FUZZ_CHECK(is_coming || is_here || !book->is_complete, "somebody left who never came");
    book->here_count += is_coming ? is_free : -is_here;
    if (is_coming || is_here) {
        book->here[index] = is_coming ? entity : MICA_NULL;
    }
}

// What is told of is what can be read; of what lies in lanes that is a copy.
static void check_signal_value(const fuzz *f, const fuzz_book *book, const mica_signal *signal) {
    if (signal->component == 0 || is_tag(book->component)) {
        return;
    }
    if (is_laned(book->component)) {
        any_value own;
        FUZZ_CHECK(mica_entity_load(f->world, signal->entity, signal->component, &own) &&
                       memcmp(&own, signal->value, component_types[book->component]->size) == 0,
                   "another value than the one that can be read");
        check_value(book->component, signal->value);
    } else {
        FUZZ_CHECK(signal->value == mica_entity_get(f->world, signal->entity, signal->component),
                   "another value than the one that can be read");
    }
}

static void hear(const mica_signal *signal) {
    fuzz_book *book = signal->user;
    fuzz *f = book->f;
    FUZZ_CHECK(signal->world == f->world && signal->commands != NULL, "");
    if (signal->kind == MICA_RESOURCE_SET || signal->kind == MICA_RESOURCE_REMOVED) {
        FUZZ_CHECK(signal->value != NULL && signal->value == mica_resource_get(f->world, signal->component), "");
    } else {
        FUZZ_CHECK(belongs(f, book, signal->entity), "told of what is not there");
        check_signal_value(f, book, signal);
        write_down(book, signal->entity,
                   signal->kind == MICA_ADDED || signal->kind == MICA_CREATED || signal->kind == MICA_ENTERED);
    }
    if (book->acts) {
        react(f, signal->commands);
    }
}

// Connecting

static void disconnect(fuzz *f, mica_observer observer) {
    if (observer.id != 0) {
        FUZZ_CHECK(mica_observer_disconnect(f->world, observer) == MICA_OK, mica_last_error());
        FUZZ_CHECK(mica_observer_disconnect(f->world, observer) == MICA_UNKNOWN, "");
    }
}

// Whether asking for what exists tells of everybody: queries leave out who was killed, and whose component is disabled.
static bool hears_everybody(const fuzz *f, const fuzz_book *book) {
    const mica_term everybody = {.use = MICA_USE_DISABLED_TOO};
    const bool is_toggle = book->component < COMPONENT_COUNT && component_types[book->component]->traits.toggle;
    return book->query != NULL || (!is_toggle && mica_query_count(mica_query_find(f->world, &everybody, 1)) ==
                                                     mica_world_entity_count(f->world));
}

static void connect(fuzz *f, fuzz_book *book, mica_signal_kind comes, mica_signal_kind goes, bool existing) {
    const mica_component component = book->component < COMPONENT_COUNT ? f->ids[book->component] : 0;
    mica_observer_def def = {.on = goes, .component = component, .of = book->query, .call = hear, .user = book};
    const bool is_alone = f->depth == 0;
    const bool hears_all = is_alone && !may_refuse(f) &&
                           (mica_world_entity_count(f->world) == 0 || (existing && hears_everybody(f, book)));
    book->f = f;
    book->is_loose = existing && !is_alone;
    book->goes = mica_observer_connect(f->world, &def);
    if (book->goes.id == 0) {
        check(f, mica_last_result());
        *book = (fuzz_book){0};
        return;
    }
    def.on = comes;
    def.existing = existing;
    book->comes = mica_observer_connect(f->world, &def);
    if (book->comes.id == 0) {
        check(f, mica_last_result());
        disconnect(f, book->goes);
        *book = (fuzz_book){0};
        return;
    }
    book->is_complete = hears_all && !(book->acts && existing) && comes != MICA_RESOURCE_SET; // who is there
}

// Ends a book, or begins one. One that is being connected is left alone.
void do_observe(fuzz *f) {
    fuzz_book *book = &f->books[pick(f, BOOK_COUNT)];
    const uint32_t subject = pick(f, 8);
    const uint32_t component = pick_component(f);
    const uint32_t options = pick(f, 4);
    if (book->comes.id != 0) {
        disconnect(f, book->comes);
        disconnect(f, book->goes);
        *book = (fuzz_book){0};
    }
    if (book->goes.id != 0) {
        return;
    }
    book->component = COMPONENT_COUNT;
    book->acts = (options & 1) != 0;
    const bool existing = (options & 2) != 0;
    switch (subject) {
    case 7:
        book->component = component;
        connect(f, book, MICA_RESOURCE_SET, MICA_RESOURCE_REMOVED, existing);
        break;
    case 6:
    case 5:
        book->query = f->queries[component % QUERY_COUNT].query;
        if (book->query != NULL) {
            connect(f, book, MICA_ENTERED, MICA_LEFT, existing);
        }
        break;
    case 4:
        connect(f, book, MICA_CREATED, MICA_DESTROYED, existing);
        break;
    default:
        book->component = component;
        connect(f, book, MICA_ADDED, MICA_REMOVED, existing);
    }
    if (book->comes.id != 0) {
        mica_observer_stats stats;
        FUZZ_CHECK(mica_observer_statistics(f->world, book->comes, &stats) == MICA_OK, mica_last_error());
    }
}

// Checks

// How many there must be; -1 where the world does not say.
static int32_t count_in_world(const fuzz *f, const fuzz_book *book) {
    if (book->query != NULL) {
        return may_refuse(f) ? -1 : mica_query_count(book->query);
    }
    if (is_whole(book)) {
        return mica_world_entity_count(f->world);
    }
    const mica_component id = f->ids[book->component];
    return mica_schema_info(mica_world_schema(f->world), id)->storage == MICA_POOL ? mica_pool_count(f->world, id) : -1;
}

void check_books(const fuzz *f) {
    for (uint32_t i = 0; i < BOOK_COUNT; i++) {
        const fuzz_book *book = &f->books[i];
        if (book->comes.id == 0 || book->is_loose) {
            continue;
        }
        int32_t left_count = book->here_count;
        for (uint32_t j = 0; j < BOOK_SLOT_COUNT && left_count > 0; j++) {
            if (!mica_entity_is_null(book->here[j])) {
                FUZZ_CHECK(belongs(f, book, book->here[j]), "somebody went unheard");
                left_count--;
            }
        }
        FUZZ_CHECK(left_count == 0, "");
        const int32_t count = book->is_complete ? count_in_world(f, book) : -1;
        FUZZ_CHECK(count < 0 || count == book->here_count, "somebody came unheard");
    }
}

void check_books_ended(const fuzz *f) {
    for (uint32_t i = 0; i < BOOK_COUNT; i++) {
        FUZZ_CHECK(f->books[i].here_count == 0 || f->books[i].is_loose, "somebody ended with the world unheard");
    }
}

// A world in which observers write down what they are told, as text: "created a, added a.Health, set a.Health=5".
//
// An entity is called by the letter of its slot, with its generation behind it if the slot was used before: the second
// one of slot 1 is "a1". Queries are called as the test says. Whoever is told anything also checks what always holds
// inside an observer: the entity lives, the value is the one that can be read, and structure is locked.
#pragma once

#include "ledger.h"
#include "storages.h"
#include "support/test_allocator.h"
#include "support/test_said.h"

#include <mica/mica.h>

#include <stdio.h>
#include <string.h>

MICA_STRUCT(Health, { int32_t now; });
MICA_STRUCT_WITH(Speed, (.toggle = true), { int32_t now; });
MICA_TAG_WITH(Frozen, (.toggle = true));
MICA_STRUCT_WITH(Armour, (.required = {mica_type_of(Frozen), mica_type_of(Health)}), { int32_t now; });

// Those that may live anywhere. In pools, Health and Frozen are stable (as far as a tag can be), Owned and Armour
// paged, Speed is packed.
enum { PLACED_COUNT = 5 };
static mica_type *const placed_types[PLACED_COUNT] = {mica_type_of(Health), mica_type_of(Owned), mica_type_of(Speed),
                                                      mica_type_of(Frozen), mica_type_of(Armour)};

enum { TOLD_MAX = 16384, LISTENER_MAX = 64 };

typedef struct fixture fixture;

// What a listener does besides writing down; NULL: nothing.
typedef void (*listener_function)(fixture *f, const mica_signal *signal);

typedef struct listener {
    fixture *f;
    const char *label; // of a query or of one among many; NULL: as the signal says
    mica_query *query; // of ENTERED and LEFT
    listener_function then;
    mica_observer observer;
} listener;

struct fixture {
    test_allocator allocator;
    mica_world *world;
    mica_commands *commands;
    mica_component health, speed, frozen, armour, owned;
    listener listeners[LISTENER_MAX];
    uint32_t listener_count;
    uint32_t call_count;
    bool is_quiet;            // nothing is written down
    bool is_over;             // nothing is done either: the test is through
    mica_entity held;         // for the functions of listeners
    char logged[1024];        // the last line of the world's log
    uint32_t error_log_count; // lines of errors
    char told[TOLD_MAX];
};

static void take_log(void *user, mica_log_level level, const char *text) {
    fixture *f = user;
    snprintf(f->logged, sizeof(f->logged), "%s", text);
    f->error_log_count += level == MICA_LOG_ERROR;
}

static void begin_limited(fixture *f, int32_t reaction_limit) {
    memset(f, 0, sizeof(*f));
    ledger_start();
    test_allocator_init(&f->allocator);
    f->world = mica_world_create(&(mica_world_def){
        .allocator = test_allocator_hooks(&f->allocator), .log = {take_log, f}, .reaction_limit = reaction_limit});
    assert_non_null(f->world);
    f->commands = mica_commands_create(f->world);
    assert_non_null(f->commands);
    f->health = mica_register(f->world, Health);
    f->speed = mica_register(f->world, Speed);
    f->frozen = mica_register(f->world, Frozen);
    f->armour = mica_register(f->world, Armour);
    f->owned = mica_register(f->world, Owned);
    mica_error_clear();
}

static MICA_UNUSED int set_up(void **state) {
    static fixture f;
    begin_limited(&f, 0);
    *state = &f;
    return 0;
}

// Ends the world alone: the text stays.
static void end_world(fixture *f) {
    assert_string_equal(mica_world_validate(f->world) == MICA_OK ? "" : mica_last_error(), "");
    mica_commands_destroy(f->commands);
    mica_world_destroy(f->world);
    f->world = NULL;
    ledger_finish();
    test_allocator_finish(&f->allocator);
}

static MICA_UNUSED int tear_down(void **state) {
    fixture *f = *state;
    if (f->world != NULL) {
        f->is_over = true;
        end_world(f);
    }
    return 0;
}

#define CASE(NAME) cmocka_unit_test_setup_teardown(NAME, set_up, tear_down)

// Runs the cases with the types in all storages.
static MICA_UNUSED int run_in_all_storages(const struct CMUnitTest *tests, size_t count) {
    int failed_count = 0;
    for (storage_mix mix = ALL_IN_TABLES; mix < MIX_COUNT; mix++) {
        for (uint32_t i = 0; i < PLACED_COUNT; i++) {
            place_type(placed_types[i], mix, i);
        }
        failed_count += _cmocka_run_group_tests(storage_mix_names[mix], tests, count, NULL, NULL);
    }
    return failed_count;
}

// What was told

static void tell(fixture *f, const char *text) {
    const size_t length = strlen(f->told);
    assert_true(length + strlen(text) + 3 < TOLD_MAX);
    snprintf(f->told + length, TOLD_MAX - length, "%s%s", length == 0 ? "" : ", ", text);
}

typedef struct entity_text {
    char text[16];
} entity_text;

static entity_text name_entity(mica_entity entity) {
    entity_text name = {"nobody"};
    if (!mica_entity_is_null(entity)) {
        const uint32_t generation = mica_entity_generation(entity);
        const char letter = (char)('a' + (int)(mica_entity_index(entity) - 1) % 26);
        if (generation == 0) {
            snprintf(name.text, sizeof(name.text), "%c", letter);
        } else {
            snprintf(name.text, sizeof(name.text), "%c%u", letter, generation);
        }
    }
    return name;
}

static void print_value(const fixture *f, mica_component component, const void *value, char *text, size_t capacity) {
    if (value == NULL) {
        text[0] = '\0';
    } else if (component == f->owned) {
        assert_ptr_equal(((const Owned *)value)->self, value);
        snprintf(text, capacity, "=%d", *((const Owned *)value)->number);
    } else if (component == mica_world_register(f->world, mica_type_of(mica_child_of))) {
        snprintf(text, capacity, "=%s", name_entity(((const mica_child_of *)value)->parent).text);
    } else {
        snprintf(text, capacity, "=%d", *(const int32_t *)value);
    }
}

static const char *const signal_words[] = {"added",   "set",  "removed",      "created",         "destroyed",
                                           "entered", "left", "resource set", "resource removed"};

// What holds inside every observer.
static void check_signal(const listener *on, const mica_signal *signal) {
    mica_world *world = on->f->world;
    assert_ptr_equal(signal->world, world);
    assert_non_null(signal->commands);
    if (on->observer.id != 0) { // else it is being connected, and told of what is there already
        assert_int_equal(signal->observer.id, on->observer.id);
    }
    const bool is_resource = signal->kind == MICA_RESOURCE_SET || signal->kind == MICA_RESOURCE_REMOVED;
    if (is_resource) {
        assert_true(mica_entity_is_null(signal->entity));
        assert_non_null(signal->value);
        assert_ptr_equal(mica_resource_get(world, signal->component), signal->value);
        return;
    }
    assert_true(mica_entity_alive(world, signal->entity));
    if (signal->component != 0) {
        assert_true(mica_entity_has(world, signal->entity, signal->component));
        if (mica_schema_info(mica_world_schema(world), signal->component)->size > 0) {
            assert_non_null(signal->value);
            assert_ptr_equal(mica_entity_get(world, signal->entity, signal->component), signal->value);
        } else {
            assert_null(signal->value);
        }
    } else {
        assert_null(signal->value);
    }
    if (on->query != NULL) {
        assert_true(mica_query_contains(on->query, signal->entity));
    }
    assert_true(mica_entity_is_null(mica_create(world)));
    assert_int_equal(mica_last_result(), MICA_LOCKED);
}

static void write_down(const mica_signal *signal) {
    const listener *on = signal->user;
    fixture *f = on->f;
    if (f->is_over) {
        return;
    }
    f->call_count++;
    if (!f->is_quiet) {
        check_signal(on, signal);
        char value[40] = "";
        char line[128];
        const bool says_value = signal->kind != MICA_ADDED;
        print_value(f, signal->component, says_value ? signal->value : NULL, value, sizeof(value));
        const char *component =
            signal->component == 0 ? "" : mica_schema_info(mica_world_schema(f->world), signal->component)->name;
        if (signal->kind == MICA_RESOURCE_SET || signal->kind == MICA_RESOURCE_REMOVED) {
            snprintf(line, sizeof(line), "%s%s%s %s%s", on->label == NULL ? "" : on->label,
                     on->label == NULL ? "" : " ", signal_words[signal->kind], component, value);
        } else if (on->query != NULL) {
            snprintf(line, sizeof(line), "%s %s.%s", signal_words[signal->kind], name_entity(signal->entity).text,
                     on->label);
        } else {
            snprintf(line, sizeof(line), "%s%s%s %s%s%s%s", on->label == NULL ? "" : on->label,
                     on->label == NULL ? "" : " ", signal_words[signal->kind], name_entity(signal->entity).text,
                     signal->component == 0 ? "" : ".", component, value);
        }
        tell(f, line);
    }
    if (on->then != NULL) {
        on->then(f, signal);
    }
}

// Takes what was told so far away.
static MICA_UNUSED void forget(fixture *f) {
    f->told[0] = '\0';
}

#define assert_told(F, TEXT)                    \
    do {                                        \
        assert_string_equal((F)->told, (TEXT)); \
        forget(F);                              \
    } while (0)

// Connecting

static listener *connect_def(fixture *f, const char *label, mica_observer_def def, listener_function then) {
    assert_true(f->listener_count < LISTENER_MAX);
    listener *on = &f->listeners[f->listener_count++];
    *on = (listener){.f = f, .label = label, .then = then};
    def.call = write_down;
    def.user = on;
    if (def.on == MICA_ENTERED || def.on == MICA_LEFT) {
        int32_t count = 0;
        while (count < MICA_TERM_MAX && (def.query[count].type != NULL || def.query[count].use != 0)) {
            count++;
        }
        on->query = def.of != NULL ? def.of : mica_query_find(f->world, def.query, count);
        assert_non_null(on->query);
    }
    on->observer = mica_observer_connect(f->world, &def);
    assert_int_not_equal(on->observer.id, 0);
    return on;
}

static MICA_UNUSED listener *listen(fixture *f, mica_signal_kind kind, mica_type *type) {
    return connect_def(f, NULL, (mica_observer_def){.on = kind, .type = type}, NULL);
}

// As listen, and `then` is called every time.
static MICA_UNUSED listener *listen_then(fixture *f, mica_signal_kind kind, mica_type *type, listener_function then) {
    return connect_def(f, NULL, (mica_observer_def){.on = kind, .type = type}, then);
}

// Listens to all that happens to entities and their components. Connected in an order that is none of those in which
// anything is told.
static MICA_UNUSED void listen_to_all(fixture *f) {
    mica_type *types[] = {mica_type_of(Speed), mica_type_of(mica_child_of), mica_type_of(Armour),
                          mica_type_of(Owned), mica_type_of(Frozen),        mica_type_of(Health)};
    const mica_signal_kind kinds[] = {MICA_SET, MICA_REMOVED, MICA_ADDED};
    for (uint32_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        for (uint32_t k = types[i] == mica_type_of(Frozen) ? 1 : 0; k < 3; k++) {
            listen(f, kinds[k], types[i]);
        }
    }
    listen(f, MICA_DESTROYED, NULL);
    listen(f, MICA_CREATED, NULL);
}

// Listens to who comes to match a query, and ceases to.
#define listen_to_query(F, LABEL, ...)                                                                    \
    do {                                                                                                  \
        connect_def((F), (LABEL), (mica_observer_def){.on = MICA_LEFT, .query = {__VA_ARGS__}}, NULL);    \
        connect_def((F), (LABEL), (mica_observer_def){.on = MICA_ENTERED, .query = {__VA_ARGS__}}, NULL); \
    } while (0)

// Gives an entity a value of Owned.
static MICA_UNUSED mica_result set_owned(const fixture *f, mica_entity entity, int32_t number) {
    Owned value;
    owned_hold(&value, number, f->world);
    const mica_result result = mica_set_from(f->world, entity, Owned, &value);
    owned_drop(&value, f->world);
    return result;
}

static MICA_UNUSED void apply(const fixture *f) {
    assert_int_equal(mica_commands_apply(f->commands), MICA_OK);
}

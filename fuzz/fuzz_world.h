// What the files of the fuzzer of worlds share: its state, how inputs are read, and what is checked everywhere.
#pragma once

#include "fuzz.h"
#include "world_kinds.h"

enum {
    HANDLE_COUNT = 64,
    PLACEHOLDER_COUNT = 16,
    QUERY_COUNT = 4,
    ORDER_COUNT = 2,
    GROUP_COUNT = 3,
    BATCH_MAX = 8,
    ENTITY_LIMIT = 4000,
    DEPTH_LIMIT = 4,
    WRITTEN_COUNT = 256,
    PLACED_COUNT = 32,
    BOOK_COUNT = 4,
    BOOK_SLOT_COUNT = 8192,
    FOLLOWER_COUNT = 4,
    FOLLOWED_MAX = 4096,
    SUBSCRIPTION_COUNT = 2,
    READER_COUNT = 3,
    HANDLER_COUNT = 4,
    SPAWNER_COUNT = 4
};

// A query with its terms, for the naive answer.
typedef struct fuzz_query {
    mica_query *query;
    mica_term terms[BATCH_MAX];
    int32_t term_count;
} fuzz_query;

typedef struct fuzz_order {
    mica_order *order;
    mica_query *query; // retained
    uint32_t key;      // a component's number; COMPONENT_COUNT: entities alone
} fuzz_order;

typedef struct fuzz_group {
    mica_group *group;
    mica_group_def def;
} fuzz_group;

// A number that was written last to a component of an entity.
typedef struct fuzz_written {
    mica_entity entity; // null: nothing is known
    uint32_t component;
    int32_t number;
} fuzz_written;

// Where the value of an entity in a stable pool stood when it was given this serial number.
typedef struct fuzz_placed {
    mica_entity entity;
    const Fixed *address;
    int32_t serial;
} fuzz_placed;

// What two observers have heard: who came, and has not gone since.
typedef struct fuzz_book {
    struct fuzz *f;
    mica_observer comes, goes; // 0: there is none
    uint32_t component;        // COMPONENT_COUNT: entities as a whole, or a query
    mica_query *query;         // as good as the observers
    bool acts;                 // goes on with the input inside
    bool is_complete;          // has heard of everybody who is there
    // Asked who was there while others were still being told: it may hear of somebody twice, and not of all who go.
    bool is_loose;
    int32_t here_count;
    mica_entity here[BOOK_SLOT_COUNT]; // by index
} fuzz_book;

// A query for changes, and what it must find by all that was heard since it was last walked.
typedef struct fuzz_follower {
    struct fuzz *f;
    mica_query *query; // retained; NULL: none
    uint32_t component;
    mica_use use; // changed, added or removed
    mica_observer observers[2];
    uint64_t version;    // outside systems
    mica_system system;  // 0: outside systems
    uint64_t fail_count; // count_failures when it was last walked
    bool is_lost;        // it has heard more than there is room for
    int32_t count;
    mica_entity entities[FOLLOWED_MAX];
} fuzz_follower;

// Whom a subscription has told of.
typedef struct fuzz_subscription {
    mica_subscription *subscription; // NULL: none
    bool is_complete;                // it was there before all entities, and about everything
    int32_t known_count;
    mica_entity known[BOOK_SLOT_COUNT]; // by index
} fuzz_subscription;

typedef struct fuzz_reader {
    mica_event_reader *reader; // NULL: none
    mica_component component;
    uint64_t sent_count; // of the type before it was made
    uint64_t seen_count;
    int32_t last; // number of the event that was seen last
} fuzz_reader;

typedef struct fuzz_handler {
    struct fuzz *f;
    mica_event_handler handler; // 0: none
    bool acts;                  // goes on with the input inside
    int32_t last;
} fuzz_handler;

typedef struct fuzz_spawner {
    mica_spawner spawner;
    uint32_t components[BATCH_MAX];
    int32_t count; // 0: none yet
    bool is_made;  // it was not refused
} fuzz_spawner;

typedef struct fuzz {
    const uint8_t *bytes;
    size_t byte_size;
    size_t at;
    watched_world watched;
    mica_world *world;
    mica_component ids[COMPONENT_COUNT];
    mica_entity handles[HANDLE_COUNT]; // living and dead ones; null where none has been yet
    uint32_t handle_count;             // ever kept
    mica_entity placeholders[PLACEHOLDER_COUNT];
    uint32_t placeholder_count;
    mica_commands *commands;
    fuzz_query queries[QUERY_COUNT];
    fuzz_order orders[ORDER_COUNT];
    fuzz_group groups[GROUP_COUNT];
    fuzz_written written[WRITTEN_COUNT];
    fuzz_placed placed[PLACED_COUNT];
    uint32_t placed_count; // ever
    int32_t stamp;         // the number written last through a span
    int32_t serial;
    Health held; // a resource held by pointer
    bool is_recording;
    int32_t walk_count;
    int32_t depth; // walks, systems, observers and hooks that are open
    // An observer or a handler has changed something in the operation under way: what it does by itself is not known.
    bool is_reacted;
    fuzz_book books[BOOK_COUNT];
    fuzz_follower followers[FOLLOWER_COUNT];
    fuzz_subscription subscriptions[SUBSCRIPTION_COUNT];
    fuzz_reader readers[READER_COUNT];
    fuzz_handler handlers[HANDLER_COUNT];
    int32_t event_number; // of the event or message that was sent last
    fuzz_spawner spawners[SPAWNER_COUNT];
    void *fixed_memory;    // of the world, if that was given some
    uint64_t call_count;   // of the allocator when a world of fixed capacity was ready
    bool is_fixed;         // the world is of fixed capacity
    bool is_budgeted;      // it has a budget
    uint64_t failed_count; // allocations that failed and are not counted any more, and operations under a limit of
                           // either kind
} fuzz;

// Choices

static inline uint8_t take(fuzz *f) {
    return f->at < f->byte_size ? f->bytes[f->at++] : 0;
}

static inline uint32_t pick(fuzz *f, uint32_t limit) {
    return (uint32_t)(uint8_t)(take(f) - '0') % limit;
}

// A component's number: 'P' to 'W' are the ones in lanes.
static inline uint32_t pick_component(fuzz *f) {
    const uint32_t number = pick(f, 256);
    const bool is_in_lanes = number >= LANED && number < LANED + 8;
    return is_in_lanes ? LANED + number % (COMPONENT_COUNT - LANED) : number % LANED;
}

static inline mica_entity pick_target(fuzz *f) {
    const uint8_t number = (uint8_t)(take(f) - '0');
    return number < 128 ? f->handles[number % HANDLE_COUNT] : f->placeholders[number % PLACEHOLDER_COUNT];
}

static inline void keep(fuzz *f, mica_entity entity) {
    if (!mica_entity_is_null(entity)) {
        f->handles[f->handle_count++ % HANDLE_COUNT] = entity;
    }
}

// Whether memory may be refused now.
static inline bool may_refuse(const fuzz *f) {
    return f->watched.allocator.fail_from != 0 || f->is_fixed || f->is_budgeted;
}

// Differs from what it was if memory may have been refused meanwhile.
static inline uint64_t count_failures(const fuzz *f) {
    return f->watched.allocator.fail_count + f->failed_count;
}

// Of a value of a component, which the types of those that take after others do not say; 0: a tag.
static inline size_t size_of(const fuzz *f, uint32_t component) {
    return mica_schema_info(mica_world_schema(f->world), f->ids[component])->size;
}

// Checks

// What every result must be, whatever was done. Returns it.
mica_result check(fuzz *f, mica_result result);

// As check, for a verb that makes `made_count` entities if it succeeds, and nothing otherwise.
void check_made(fuzz *f, mica_result result, int32_t count_before, int32_t made_count);

// What came along with a component that was added.
void check_required(const fuzz *f, mica_entity entity, uint32_t component, bool is_added);

static inline mica_result result_of(mica_entity entity) {
    return mica_entity_is_null(entity) ? mica_last_result() : MICA_OK;
}

static inline bool is_full(const fuzz *f) {
    return mica_world_entity_count(f->world) >= ENTITY_LIMIT;
}

// Reads the number that an entity has of a numbered component; false: it does not have the component.
bool read_number(const fuzz *f, mica_entity entity, uint32_t component, int32_t *number);

// One operation, as the bytes say.
void run_operation(fuzz *f);

// A few operations inside a walk or a system; `commands` is where to record.
void run_inside(fuzz *f, mica_commands *commands);

// Queries, orders and walks (world_walks.c)

// A value of a component; NULL for a tag. Consumes input.
const void *make_value(fuzz *f, uint32_t component, any_value *value);
// Makes up to BATCH_MAX - 1 terms; returns how many.
int32_t make_terms(fuzz *f, mica_term *terms);
void walk(fuzz *f, mica_iter it);
void do_query(fuzz *f);
void do_query_text(fuzz *f);
void do_ask(fuzz *f);
void do_walk(fuzz *f);
void do_walk_two(fuzz *f);
void do_order(fuzz *f);
void do_order_walk(fuzz *f);
// The queries list what a naive look at every entity finds. Not where memory may be refused, since a query needs some.
void check_queries(fuzz *f);

// Pools, groups and visibility (world_pools.c)

void do_pool(fuzz *f);
void do_group(fuzz *f);
void do_visibility(fuzz *f);
// Pools and groups hold what verbs say of single entities, in the places that they name.
void check_pools(fuzz *f);

// Verbs on many entities and lanes (world_many.c)

void do_many(fuzz *f);
void do_lanes(fuzz *f);
// One of the verbs on many, recorded.
void record_many(fuzz *f, mica_commands *commands, uint32_t verb);
// Of what entities there are and have; the same before and after what must not change them.
uint64_t digest(const fuzz *f, const mica_entity *entities, int32_t count);

// Spawners, room and limits of memory (world_room.c)

void do_spawner(fuzz *f);
void do_room(fuzz *f);
// Makes the world that the head of the input asks for; false: a world of fixed capacity has no place for what is
// needed.
bool begin_world(fuzz *f);
// Memory comes no more from budgets.
void lift_budget(fuzz *f);

// Observers (world_observers.c)

void do_observe(fuzz *f);
// Books agree with the world.
void check_books(const fuzz *f);
// Nobody is left when a world has ended.
void check_books_ended(const fuzz *f);
// An observer or a handler goes on with the input.
void react(fuzz *f, mica_commands *commands);

// Changes, indexes and subscriptions (world_changes.c)

void do_follow(fuzz *f);
void do_versions(fuzz *f);
void do_mark(fuzz *f);
void do_index(fuzz *f);
void do_subscription(fuzz *f);
// Before the world ends.
void release_changes(fuzz *f);
// A value may have been written through an address.
void note_written(fuzz *f, mica_entity entity, uint32_t component);

// Events, the inbox, timers and diagnoses (world_events.c)

void do_event(fuzz *f);
void do_inbox(fuzz *f);
void do_diagnose(fuzz *f);
void check_readers(fuzz *f);

// Numbers that were written must be read until they are written again or their component goes.

// `component` is a number; of one without a number nothing is kept.
void remember_written(fuzz *f, mica_entity entity, uint32_t component, int32_t number);
void forget_written(fuzz *f, mica_entity entity, uint32_t component);
// For what may change any value.
void forget_all_written(fuzz *f);
void check_written(fuzz *f);

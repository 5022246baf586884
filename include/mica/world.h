/// \file world.h
/// Worlds, and the verbs on their entities and components.
///
/// Each verb exists twice: as a function that takes component ids (`mica_entity_…`; what other languages bind to), and
/// as a typed macro that takes a C type (`mica_set(world, entity, Position, {1, 2, 3})`). The macros of structural
/// verbs take a `mica_commands *` as well and then record (commands.h). A world belongs to one thread at a time.
///
/// Structural verbs (create, spawn, clone, destroy, add, set of what is not there, remove, clear) move rows of tables
/// and elements of pools. They are refused with `MICA_LOCKED` while a walk over the world is open or a system that
/// declared its access runs, and they invalidate pointers to component values of the world, other than those in stable
/// pools. What is said of costs counts a component in a pool as O(1), whatever else the entity has. All verbs refuse
/// stale, null and placeholder handles with `MICA_STALE` and unknown component ids with `MICA_UNKNOWN`.
#pragma once

#include <mica/entity.h>
#include <mica/jobs.h>
#include <mica/memory.h>
#include <mica/random.h>
#include <mica/result.h>
#include <mica/schema.h>
#include <mica/type.h>

MICA_BEGIN

typedef struct mica_world mica_world;
typedef struct mica_commands mica_commands;

/// Most entries of each list of a `mica_room`.
#define MICA_ROOM_MAX 16

/// Room for entities with exactly these components and those that they bring along. Each entry is a type, or an id in
/// the list of ids beside it; a list ends at the first entry that is neither.
typedef struct mica_room {
    mica_type *types[MICA_ROOM_MAX];
    mica_component components[MICA_ROOM_MAX]; ///< in place of types, for components known by id
    uint32_t count;                           ///< entities in all; 0: nothing is kept for them any more
} mica_room;

/// What a world is for (worlds.h); nothing of the library hangs on it.
typedef int32_t mica_world_kind;
enum {
    MICA_WORLD_GAME = 0,
    MICA_WORLD_EDITOR,
    MICA_WORLD_SIMULATION, ///< without anybody who looks on: a server's match, training, tests
    MICA_WORLD_OWN         ///< the first kind of the program's own
};

/// On which side of a network a world is (worlds.h).
typedef enum mica_net_mode {
    MICA_NET_NONE = 0,
    MICA_NET_CLIENT,
    MICA_NET_SERVER,       ///< without a player of its own
    MICA_NET_LISTEN_SERVER ///< with one
} mica_net_mode;

/// Whether calls of systems are checked against the access that the systems have declared (system.h).
typedef enum mica_validation {
    MICA_VALIDATE_DEFAULT = 0, ///< on in debug builds of the library, off in others
    MICA_VALIDATE_OFF,
    /// What a system that is not exclusive, or its condition, touches by a call without having declared it is refused
    /// with `MICA_NO_ACCESS`, and fails the tick: the error names system, component, entity (where there is one) and
    /// call. The same on any number of threads.
    MICA_VALIDATE_ACCESS,
    /// As `MICA_VALIDATE_ACCESS`, and what such a system touches through a pointer as well, of values in tables, pools
    /// and resources: those that it has not declared, and to write those that it has declared to read. The operating
    /// system protects them while the system runs. The touch goes through, and when the system has ended the tick fails
    /// with `MICA_NO_ACCESS`; the error names system, component and entity, and says whether it was read or written. Of
    /// several touches of one run the first is told.
    ///
    /// For worlds that are small enough for it. Systems run one at a time: `thread_count` and `jobs` are not looked at.
    /// A column of a chunk takes 8 KiB at least; before and after each run of a system the operating system is called
    /// for each column that is protected. Of those there can be some 30,000 at a time (Linux), beyond which ticks fail
    /// with `MICA_LIMIT`; so do structural verbs for entities of more than some 500 components with data. Rows, results
    /// and checksums are those of any other world.
    ///
    /// Not seen are touches by other threads, for which the program gets the signal; what the operating system reads or
    /// writes for a system, whose call fails with `EFAULT`; resources held by pointer; copies that walks hand out.
    /// While a system runs, the process's handler of `SIGSEGV` and `SIGBUS` is the library's, which leaves to the one
    /// that it found there whatever is not its own.
    MICA_VALIDATE_PAGES
} mica_validation;

/// How a world is made. Zero is the default everywhere.
typedef struct mica_world_def {
    const char *name;         ///< for messages; copied; NULL: "world"
    mica_schema *schema;      ///< shared with other worlds; NULL: one of its own
    mica_allocator allocator; ///< zero: the default allocator
    mica_log_handler log;
    uint64_t seed;                ///< of its random numbers and its systems'; 0: `MICA_RANDOM_SEED` (random.h)
    uint32_t entity_capacity;     ///< entities to make room for at once
    double fixed_delta_seconds;   ///< length of a tick of `mica_world_advance`; 0: 1/60
    int32_t advance_tick_limit;   ///< most ticks of one `mica_world_advance`; 0: 8
    int32_t reaction_limit;       ///< longest chain of observers that cause each other's calls (observer.h); 0: 32
    uint32_t inbox_message_limit; ///< messages that wait in the inbox (inbox.h); 0: `MICA_INBOX_MESSAGES_DEFAULT`
    uint32_t inbox_byte_limit;    ///< bytes of their values together; 0: `MICA_INBOX_BYTES_DEFAULT`
    mica_memory_budget budget;    ///< bytes that the world may hold, its schema left out (capacity.h)
    size_t fixed_byte_size;       ///< 0: memory is taken as needed; otherwise so many bytes once (capacity.h)
    void *fixed_memory;           ///< the caller's, that the world of fixed capacity lies in; NULL: the allocator's
    const mica_room *rooms;       ///< what to make room for at once (capacity.h); may be NULL if there are none
    int32_t room_count;
    int32_t
        thread_count; ///< that run systems, the one that steps the world included; 0: 1; `MICA_THREADS_ALL`: one a core
    mica_jobs *jobs;  ///< the pool that they come from, shared with others (jobs.h), in place of `thread_count`
    mica_validation validate; ///< whether systems are held to what they have declared
    bool always_parallel;     ///< also where it takes longer than one thread would: for tests
    mica_world_kind kind;     ///< what it is for (worlds.h)
    mica_net_mode net_mode;   ///< until `mica_world_set_net_mode`
} mica_world_def;

/// Makes an empty world; NULL: `MICA_OUT_OF_MEMORY`, `MICA_INVALID` (half an allocator, a length that is negative or
/// outside the range of a float, a negative limit, a net mode or validation that there is not, memory without a size, a
/// budget for the schema), `MICA_UNSUPPORTED` (`MICA_VALIDATE_PAGES` where the system's pages are larger than 4 KiB),
/// or as `mica_world_make_room` and `mica_jobs_create`. `def` may be NULL. O(1), and what the room and threads cost.
MICA_API mica_world *mica_world_create(const mica_world_def *def);

/// Ends a world with all that is in it. Values are destructed, systems' stop functions run first. NULL is allowed;
/// walks that are open end with it. Inside one of its systems, and of the callbacks of `mica_entity_patch` and
/// `mica_entity_spawn_fill`, the world stays (`MICA_LOCKED`, as the last error). O(entities whose types have a destruct
/// hook, tables, systems).
MICA_API void mica_world_destroy(mica_world *world);

/// The world's schema; no reference is taken. O(1).
MICA_API mica_schema *mica_world_schema(const mica_world *world);

/// The name given at creation. O(1).
MICA_API const char *mica_world_name(const mica_world *world);

/// How many entities are alive. O(1).
MICA_API int32_t mica_world_entity_count(const mica_world *world);

/// Destroys all entities; their handles become stale. Resources, systems, queries and tables stay. Refuses:
/// `MICA_LOCKED`. O(tables + pools); O(slots) while one of them is in its last generation; a destruct hook a value, and
/// what observers are told besides.
MICA_API mica_result mica_world_clear(mica_world *world);

/// Makes room for `count` entities in all, so that creating them allocates no slots, and keeps it until a later call
/// says less. Room for their components is made by `mica_world_make_room` (capacity.h). Refuses: `MICA_OUT_OF_MEMORY`,
/// `MICA_LIMIT`, `MICA_LOCKED` (in a system that may run beside others). O(count).
MICA_API mica_result mica_world_reserve(mica_world *world, uint32_t count);

/// Frees what is not used: empty tables, spare chunks, room in chunks and lists, room that pools hold beyond their
/// elements, queries that nobody holds (pointers to those are invalid afterwards), what the others remember of walks,
/// pages that no event is in, room in indexes and subscriptions, blocks of memory that all of this leaves empty. Room
/// that was made to be kept (`mica_world_reserve`, capacity.h) stays, but for that of pools. Rows and values of packed
/// pools move. Refuses: `MICA_LOCKED`. O(tables + chunks + pools + queries), O(rows) of tables with one chunk, O(slots)
/// if there is room for more, O(elements) of packed pools that shrink, O(entities) of indexes and subscriptions.
MICA_API mica_result mica_world_trim(mica_world *world);

/// The version of the world's next change; grows with every step, with `mica_world_advance_version`, and when an order
/// (order.h) sorts outside systems and walks, when a snapshot is taken of what was just written, and when a state is
/// restored: it never goes back. So it is no part of the state: a system that keeps it in a component is another one in
/// a re-run. O(1), O(restores that are told apart) once there was one.
MICA_API uint64_t mica_world_version(const mica_world *world);

/// Bytes that the world and, if it has one of its own, its schema hold. O(1).
MICA_API mica_memory_usage mica_world_memory(const mica_world *world);

/// Counts of a world, for statistics.
typedef struct mica_world_stats {
    int32_t entity_count;
    int32_t entity_empty_count;  ///< alive without components
    uint32_t slot_count;         ///< slots ever used, the retired ones included
    uint32_t slot_retired_count; ///< slots whose generations are used up
    uint64_t handle_left_count;  ///< handles that can still be issued
    int32_t table_count;
    int32_t table_empty_count;
    int32_t chunk_count;
    int32_t pool_count;       ///< pools made: of components that a verb or a query has named
    uint64_t element_count;   ///< elements of all pools
    uint64_t tombstone_count; ///< of stable pools
    int32_t query_count;
    uint64_t command_skipped_count; ///< commands skipped since the world was made; a restore brings it back
    int32_t observer_count;
    uint64_t reaction_dropped_count; ///< times that what observers had recorded was dropped; likewise
} mica_world_stats;

/// Counts of a world. O(tables + pools); O(slots) besides if there are both pools and entities without a row.
MICA_API mica_world_stats mica_world_statistics(const mica_world *world);

/// Checks every invariant of the world, and that no placeholder of a command buffer (commands.h) stands in a
/// component, resource or queued event whose fields are known. `MICA_OK`, or `MICA_INVALID` with the first fault in the
/// last error, which names the field of a placeholder; `MICA_LOCKED` (in a system that may run beside others);
/// `MICA_OUT_OF_MEMORY`. For tests and debugging. O(everything).
MICA_API mica_result mica_world_validate(mica_world *world);

/// The world's own generator of random numbers, for whoever has the world to themselves: the program between ticks,
/// exclusive systems, start and stop functions, observers of what commands do. It begins as `mica_random_seeded` of the
/// definition's seed, is part of the world's state, and as good as the world; values may be assigned to it. A walk that
/// locks structure does not matter. NULL: `MICA_LOCKED` while a system that declared its access runs, and in observers
/// of what it sets, because what systems side by side drew from one generator would depend on who comes first (each has
/// its own, `mica_run_random`); `MICA_INVALID` (no world). O(1).
MICA_API mica_random *mica_world_random(mica_world *world);

/// The id of `type` in the world's schema, registered if it is new; 0 as `mica_schema_register`. Parallel systems and
/// loaders need types registered early. O(1) once known.
MICA_API mica_component mica_world_register(mica_world *world, mica_type *type);

/// \cond internal: what inline functions see of a world. Not for programs: it changes from version to version.
#define MICA_HEAD_ROW_BITS 12
#define MICA_HEAD_COLUMN_ALIGN 64
#define MICA_HEAD_SPARSE_SHIFT 12
#define MICA_SPAWN_PLAN_SHIFT 5
#define MICA_SPAWN_PLAN_COUNT (1 << MICA_SPAWN_PLAN_SHIFT)
#define MICA_SPAWN_VALUE_MAX 8
struct mi_callback;
// What `mica_head.peek_key` is while descriptors shall not match.
#define MICA_HEAD_NO_KEY 0x80000000u
// Of a location or position that is none; so is everything above.
#define MICA_HEAD_NOWHERE 0x80000000u
// Where a table's offsets by component begin, in bytes from the table's address: `offset_count`, but one at least.
#define MICA_HEAD_OFFSETS_AT 160
struct mica_head_table {
    uint32_t hidden_lists[12];
    uint8_t *tail_base; // of the chunk in which rows came or went last
    uint32_t tail_first;
    uint32_t tail_location;
    uint32_t room;
    uint32_t row_mask;
    uint32_t hidden_sizes[18];
    uint32_t row_count;
    uint32_t hidden_flags[2];
    uint32_t offset_count;
};
// Where spawning exactly these components, in this order, leads: a table without hooks, and pools without hooks, that
// have just them.
struct mica_spawn_plan {
    uint64_t words[MICA_SPAWN_VALUE_MAX]; // as the descriptors' `cache`; 0 from `count` on
    uint32_t sizes[MICA_SPAWN_VALUE_MAX]; // bytes of a value, 0: a tag
    uint64_t shape;                       // mica_spawn_shape of the sizes; 0: only the library spawns by it
    struct mica_head_table *table;
    uint32_t tables_dropped; // of the store when it was made: another number voids it
    uint32_t count;          // 0: none
};
struct mica_front {
    uint32_t walk_count;                // open walks
    bool running_locks;                 // the running system declared its access: structure is locked
    bool is_wide;                       // somebody waits for a query, or observes all components
    bool is_watched;                    // somebody observes anything but resources
    bool watches_writes;                // somebody wants to know of values written through addresses
    const struct mi_callback *callback; // the innermost that runs, NULL: none
    uint32_t spawn_last;                // number of the plan by which was spawned last
    struct mica_spawn_plan spawn_plans[MICA_SPAWN_PLAN_COUNT]; // by hash of their words
};
struct mica_head_chunk {
    uint8_t *base;
    const struct mica_head_table *table;
};
// In front of each column of a chunk.
struct mica_head_column {
    uint64_t stamp;
    uint64_t rest;
};
struct mica_head_pool {
    const uint64_t *const *sparse;
    uint32_t sparse_count;
    uint32_t page_shift;
    const uint8_t *const *pages;
    const uint8_t *values; // all in one piece; NULL: look into `pages`
};
struct mica_head {
    uint64_t key;                         // the schema's serial number << 32
    uint64_t peek_key;                    // the same, or `MICA_HEAD_NO_KEY` while the library alone knows where to look
    uint64_t version;                     // stamp of the next change
    const struct mica_head_chunk *chunks; // number 0 is where entities without a row are
    const struct mica_head_pool *const *pools;
    uint32_t pool_count;
    uint32_t pool_capacity;
    uint64_t *slots;
    uint32_t slot_count; // those from here on name nobody
    uint32_t slot_capacity;
    uint32_t slot_used;
    uint32_t slot_free;
    uint32_t slot_alive;
    uint32_t slot_retired;
    uint32_t slot_last_count;
    uint64_t slot_issued;
    uint32_t tables_dropped;
};
static inline struct mica_front *mica_front_of(mica_world *world) {
    return (struct mica_front *)(void *)world;
}
static inline struct mica_head *mica_head_of_mutable(mica_world *world) {
    return (struct mica_head *)(void *)(mica_front_of(world) + 1);
}
static inline void mica_column_stamp(void *column, uint64_t version) {
    struct mica_head_column *head = (struct mica_head_column *)column - 1;
#if defined(__GNUC__)                                                 // threads of a loop may be at the same column
    if (__atomic_load_n(&head->stamp, __ATOMIC_RELAXED) != version) { // stores are what costs
        __atomic_store_n(&head->stamp, version, __ATOMIC_RELAXED);
    }
#else
    head->stamp = version;
#endif
}
static inline const struct mica_head *mica_head_of(const mica_world *world) {
    return (const struct mica_head *)(const void *)((const struct mica_front *)(const void *)world + 1);
}
/// \endcond

/// \cond internal: what a descriptor's cache says to a key: the id, with `MICA_HEAD_POOL_BIT` if the type lives in a
/// pool, or `MICA_HEAD_LANES_BIT` if it lies in lanes; it has higher bits if the key does not match.
static inline uint64_t mica_type_known(const mica_type *type, uint64_t key) {
#if defined(__GNUC__)
    return MICA_LIKELY(type != NULL) ? __atomic_load_n(&type->cache, __ATOMIC_RELAXED) ^ key : UINT64_MAX;
#else
    (void)type;
    (void)key;
    return UINT64_MAX;
#endif
}
// Whether a descriptor was last used with the world's schema, and then what is known of it.
static inline bool mica_world_knows(const mica_world *world, const mica_type *type, uint32_t *known) {
    const uint64_t cached = MICA_LIKELY(world != NULL) ? mica_type_known(type, mica_head_of(world)->key) : UINT64_MAX;
    *known = (uint32_t)cached;
    return MICA_LIKELY(cached <= UINT32_MAX);
}
/// \endcond

/// As `mica_world_register`, without a call for a descriptor that was last used with this schema. O(1).
static inline mica_component mica_world_component(mica_world *world, mica_type *type) {
    uint32_t known = 0;
    return mica_world_knows(world, type, &known) ? (mica_component)known : mica_world_register(world, type);
}

// Entities

/// Makes an entity without components. Null on failure: `MICA_LOCKED`, `MICA_LIMIT`, `MICA_OUT_OF_MEMORY`. O(1).
MICA_API mica_entity mica_entity_create(mica_world *world);

/// Makes entities with exactly these handles, for loaders: slots that are free, with generations that they have not
/// issued yet. All or none. Refuses: `MICA_EXISTS` (alive, or named twice), `MICA_STALE` (null, a placeholder, or a
/// generation that its slot has issued before; the message names the index in the array), `MICA_LIMIT`, `MICA_LOCKED`,
/// `MICA_OUT_OF_MEMORY`. O(count + highest index + free slots).
MICA_API mica_result mica_entity_create_at(mica_world *world, const mica_entity *entities, int32_t count);

/// Whether the handle names a living entity. Never fails. O(1).
MICA_API bool mica_entity_alive(const mica_world *world, mica_entity entity);

/// Destroys an entity. What relations do with it is theirs to say (hierarchy.h: its children move up). Refuses:
/// `MICA_STALE`, `MICA_LOCKED`. O(its components), however many pools there are (a bit each is looked at).
MICA_API mica_result mica_entity_destroy(mica_world *world, mica_entity entity);

/// Destroys many: all, or none if one of them is stale (the message says which index); one that is named twice is
/// destroyed once. O(count * components).
MICA_API mica_result mica_entity_destroy_many(mica_world *world, const mica_entity *entities, int32_t count);

/// Copies an entity with all its values (copy hooks where there are some) to a new one; a clone of a child is a child
/// of the same parent; what visibility.h disables on the source is disabled on the clone. Null on failure:
/// `MICA_NO_COPY` (names the type), `MICA_STALE`, `MICA_LOCKED`, `MICA_LIMIT`, `MICA_OUT_OF_MEMORY`. O(components).
MICA_API mica_entity mica_entity_clone(mica_world *world, mica_entity source);

// Spawning

/// A component and its value, for spawning. Either `type` or `component` is set. `value` NULL: constructed. For a tag
/// it must be NULL.
typedef struct mica_value {
    mica_type *type;
    const void *value;
    mica_component component;
    uint32_t byte_size MICA_ZERO; ///< of a value that may be copied elsewhere by its bytes before it is used, as
                                  ///< `mica_value_of` makes it; 0: it is taken from where it is. Refused if it is not
                                  ///< the type's
} mica_value;

/// Makes an entity with `count` components. Required components come along. Values of types with a copy hook are
/// copied, values of move-only types are moved from. A value may lie in the world itself, but not in the component of a
/// relation that the same call links. Null on failure: `MICA_EXISTS` (a component named twice),
/// `MICA_NO_VALUE`, `MICA_UNKNOWN`, `MICA_LOCKED`, `MICA_LIMIT`, `MICA_OUT_OF_MEMORY`, or as `mica_schema_register`.
/// O(count).
MICA_API mica_entity mica_entity_spawn(mica_world *world, const mica_value *values, int32_t count);

/// A component and `count` values that follow each other, for spawning many. `values` NULL: constructed. Otherwise as
/// `mica_value`.
typedef mica_value mica_column;

/// Makes `count` entities that all have the components of `columns`. Their handles go to `entities` if that is not
/// NULL. All or none. Values are copied as in `mica_entity_spawn`; move-only types are moved out of the columns on
/// success alone. Refuses as `mica_entity_spawn`. O(count * columns).
MICA_API mica_result mica_entity_spawn_many(mica_world *world, const mica_column *columns, int32_t column_count,
                                            int32_t count, mica_entity *entities);

/// A run of new entities to be filled in; it ends where one of the columns does.
typedef struct mica_spawn_span {
    int32_t first; ///< number of the first entity among all that are made
    int32_t count;
    const mica_entity *entities;
    void *const *columns; ///< in the order of the components asked for, constructed; NULL for tags
} mica_spawn_span;

/// Fills in a span of new entities; must not call the world.
typedef void (*mica_spawn_function)(void *user, const mica_spawn_span *span);

/// Makes `count` entities with these components, constructed, and hands them to `fill` span by span. All or none.
/// Refuses as `mica_entity_spawn`. O(count * components).
MICA_API mica_result mica_entity_spawn_fill(mica_world *world, const mica_component *components,
                                            int32_t component_count, int32_t count, mica_spawn_function fill,
                                            void *user);

// Components by id

/// Adds a component, constructed (`value` NULL) or with a value. Required components come along. Refuses:
/// `MICA_EXISTS`, `MICA_NO_VALUE` (a value for a tag), `MICA_STALE`, `MICA_UNKNOWN`, `MICA_LOCKED`, `MICA_LIMIT`,
/// `MICA_OUT_OF_MEMORY`. O(components of the entity in tables), O(1) for a component of a pool that brings none of a
/// table along.
MICA_API mica_result mica_entity_add(mica_world *world, mica_entity entity, mica_component component,
                                     const void *value);

/// Adds a component with a value, or replaces the value. Replacing is no structural change and is allowed while
/// structure is locked. Refuses as `mica_entity_add`, `MICA_EXISTS` excepted; `MICA_INVALID` (no value). As
/// `mica_entity_add` if added, O(1) if replaced.
MICA_API mica_result mica_entity_set(mica_world *world, mica_entity entity, mica_component component,
                                     const void *value);

/// Removes a component; nothing happens if it is not there. Refuses: `MICA_STALE`, `MICA_UNKNOWN`, `MICA_LOCKED`,
/// `MICA_OUT_OF_MEMORY`. O(components in tables), O(1) for a component of a pool.
MICA_API mica_result mica_entity_remove(mica_world *world, mica_entity entity, mica_component component);

// Many entities at once: as the verbs on one, one after the other, and faster, since memory that lies far apart is
// asked for ahead. All or none: what cannot be done for one is done for nobody, and the message says which index it is.
// Those who observe hear of each entity as they would of the single verb; what they record is applied when all are
// changed. Relations are refused with `MICA_NO_ACCESS`: their own verbs link many (hierarchy.h). O(count) times the
// single verb; room for all of it is made first.

/// Adds a component to many entities, with a value each (`values` is an array of `count`), or constructed (`values`
/// NULL). Values of types with a copy hook are copied, values of move-only types are moved from, on success alone; the
/// latter must not lie in the world. Refuses as `mica_entity_add`, `MICA_EXISTS` also if one is named twice;
/// `MICA_INVALID` (no array, a negative count).
MICA_API mica_result mica_entity_add_many(mica_world *world, const mica_entity *entities, int32_t count,
                                          mica_component component, const void *values);

/// Sets a component of many entities, whether they have it yet or not; of one that is named twice the last value stays.
/// Allowed while structure is locked if all of them have it. Values as in `mica_entity_add_many`. Refuses as
/// `mica_entity_set`; `MICA_INVALID` (no array of entities or values, a negative count).
MICA_API mica_result mica_entity_set_many(mica_world *world, const mica_entity *entities, int32_t count,
                                          mica_component component, const void *values);

/// Removes a component from those of many entities that have it. Refuses as `mica_entity_remove`; `MICA_INVALID` (no
/// array, a negative count).
MICA_API mica_result mica_entity_remove_many(mica_world *world, const mica_entity *entities, int32_t count,
                                             mica_component component);

/// Copies the values of a component of many entities to `values`, an array of `count`, and returns how many have one.
/// The place of an entity that does not, or is not alive any more, is zeroed; that is no error, since who keeps handles
/// of others finds some of them gone. `found`, an array of `count` if it is not NULL, says of each whether it has one.
/// -1: `MICA_INVALID` (no array, a negative count), `MICA_UNKNOWN`, `MICA_NO_VALUE` (a tag), `MICA_NO_COPY` (the type
/// has a destruct, move or copy hook, so that its bytes are not its value). Much faster than `mica_entity_get` in turn
/// for handles in any order. O(count).
MICA_API int32_t mica_entity_gather(const mica_world *world, const mica_entity *entities, int32_t count,
                                    mica_component component, void *values, bool *found);

/// The other way: writes `values`, an array of `count`, to those of the entities that have the component, and returns
/// how many do; of one that is named twice the last value stays. Counts as writing through `mica_entity_get_write`: it
/// is no structural change, marks the component as changed, and observers of `MICA_SET` do not hear of it
/// (`mica_entity_set_many` tells them). `found` and refusals as in `mica_entity_gather`; `MICA_NO_ACCESS` (a relation).
/// O(count).
MICA_API int32_t mica_entity_scatter(mica_world *world, const mica_entity *entities, int32_t count,
                                     mica_component component, const void *values, bool *found);

/// Whether the entity is alive and has the component. Never fails. O(1).
MICA_API bool mica_entity_has(const mica_world *world, mica_entity entity, mica_component component);

/// Whether the entity is alive and has all of `count` components. Never fails. O(count).
MICA_API bool mica_entity_has_all(const mica_world *world, mica_entity entity, const mica_component *components,
                                  int32_t count);

/// Whether the entity is alive and has one of `count` components or more. Never fails. O(count).
MICA_API bool mica_entity_has_any(const mica_world *world, mica_entity entity, const mica_component *components,
                                  int32_t count);

/// The component's value for reading, valid until the next structural change, in a stable pool (pool.h) until it is
/// removed or the pool is compacted; NULL if the entity does not have it (no error), or on failure: `MICA_STALE`,
/// `MICA_UNKNOWN`, `MICA_NO_VALUE` (a tag). O(1).
MICA_API const void *mica_entity_get(const mica_world *world, mica_entity entity, mica_component component);

/// \cond internal: where the entity's row stands, chunk << MICA_HEAD_ROW_BITS | row; from MICA_HEAD_NOWHERE on: it is
/// not alive.
static inline uint64_t mica_entity_location(const struct mica_head *head, mica_entity entity) {
    const uint32_t index = mica_entity_index(entity);
    // Another generation leaves a high bit; so does a free slot.
    return MICA_LIKELY(index < head->slot_count) ? head->slots[index] ^ (uint64_t)mica_entity_generation(entity) << 32
                                                 : UINT64_MAX;
}
// The position of an entity in a pool; from MICA_HEAD_NOWHERE on: it is not in it.
static inline uint64_t mica_entity_position(const struct mica_head_pool *pool, mica_entity entity) {
    const uint32_t index = mica_entity_index(entity);
    const uint32_t page = index >> MICA_HEAD_SPARSE_SHIFT;
    if (MICA_UNLIKELY(page >= pool->sparse_count || pool->sparse[page] == NULL)) {
        return UINT64_MAX;
    }
    return pool->sparse[page][index & ((1u << MICA_HEAD_SPARSE_SHIFT) - 1)] ^ (uint64_t)mica_entity_generation(entity)
                                                                                  << 32;
}
// The pool of what is known of a descriptor; NULL: there is none yet, or the type does not live in a pool.
static inline const struct mica_head_pool *mica_head_pool_of(const struct mica_head *head, uint64_t known) {
    const uint64_t component = known - MICA_HEAD_POOL_BIT;
    return MICA_LIKELY(component < head->pool_count) ? head->pools[component] : NULL;
}
static inline const uint16_t *mica_head_offsets_of(const struct mica_head_table *table) {
    return (const uint16_t *)(const void *)((const uint8_t *)table + MICA_HEAD_OFFSETS_AT);
}
// Whether the entity has a component that lives in tables. No branch depends on the answer.
static inline bool mica_entity_has_in_row(const struct mica_head *head, mica_entity entity, uint64_t component) {
    const uint64_t location = mica_entity_location(head, entity);
    if (MICA_UNLIKELY(location >= MICA_HEAD_NOWHERE)) {
        return false;
    }
    const struct mica_head_table *table = head->chunks[location >> MICA_HEAD_ROW_BITS].table;
    // Negative: the table has an offset for the component. Else that of number 0 is asked, which is none.
    uint64_t distance = component - table->offset_count;
    MICA_OPAQUE(distance); // what is seen to be a comparison becomes a branch
    return mica_head_offsets_of(table)[component & (0 - (distance >> 63))] != 0;
}
// The value, of `byte_size` bytes, of what is known of a descriptor by `mica_head.peek_key`, if the entity has it; NULL
// otherwise and in doubt. What lies in lanes has no address: with its bit `known` is over all ids.
static inline const void *mica_entity_peek(const struct mica_head *head, mica_entity entity, uint64_t known,
                                           size_t byte_size) {
    const uint8_t *value = NULL;
    if (known < MICA_HEAD_POOL_BIT) {
        const uint64_t location = mica_entity_location(head, entity);
        if (MICA_UNLIKELY(location >= MICA_HEAD_NOWHERE)) {
            return NULL;
        }
        const struct mica_head_chunk *chunk = &head->chunks[location >> MICA_HEAD_ROW_BITS];
        const uint16_t *offsets = mica_head_offsets_of(chunk->table);
        if (MICA_UNLIKELY(known >= chunk->table->offset_count || offsets[known] == 0)) {
            return NULL;
        }
        value = chunk->base + (size_t)offsets[known] * MICA_HEAD_COLUMN_ALIGN +
                (size_t)(location & ((1u << MICA_HEAD_ROW_BITS) - 1)) * byte_size;
    } else {
        const struct mica_head_pool *pool = mica_head_pool_of(head, known);
        const uint64_t position = MICA_LIKELY(pool != NULL) ? mica_entity_position(pool, entity) : UINT64_MAX;
        if (MICA_UNLIKELY(position >= MICA_HEAD_NOWHERE)) {
            return NULL;
        }
        value = MICA_LIKELY(pool->values != NULL) ? pool->values + (size_t)position * byte_size
                                                  : pool->pages[position >> pool->page_shift] +
                                                        (size_t)(position & ((1u << pool->page_shift) - 1)) * byte_size;
    }
    MICA_ASSUME(value != NULL);
    return value;
}
/// \endcond

/// As `mica_entity_get`, for writing: marks the component as changed. Relation values are refused with
/// `MICA_NO_ACCESS`. O(1).
MICA_API void *mica_entity_get_write(mica_world *world, mica_entity entity, mica_component component);

/// Calls `change` on the component's value, then counts as a set. Structure is locked meanwhile. Refuses:
/// `MICA_ABSENT`, `MICA_INVALID` (no function), and as `mica_entity_get_write`. O(1).
MICA_API mica_result mica_entity_patch(mica_world *world, mica_entity entity, mica_component component,
                                       void (*change)(void *value, void *user), void *user);

/// Writes up to `capacity` ids of the entity's components, in ascending order, to `components` (may be NULL if
/// `capacity` is 0) and returns how many the entity has; -1: `MICA_STALE`, `MICA_INVALID` (no array). O(components),
/// and O(components) more for each that lives in a pool.
MICA_API int32_t mica_entity_components(const mica_world *world, mica_entity entity, mica_component *components,
                                        int32_t capacity);

MICA_END

// The component types of the fuzzer of worlds: one of each kind that a storage tells apart. Operations name them by
// their number.
#pragma once

#include "world/world_fixture.h"

// In pools: packed, in small pages, stable, with hooks, move-only, with hooks that fail, a tag.
MICA_STRUCT_WITH(Speed, (.storage = MICA_POOL), { int32_t now; });
MICA_STRUCT_WITH(Paged, (.storage = MICA_POOL, .layout = MICA_PAGED, .page_size = 4), {
    int32_t now;
    mica_entity who;
});
MICA_STRUCT_WITH(Fixed, (.storage = MICA_POOL, .stable = true, .page_size = 8), {
    int32_t now;
    int32_t serial;
});
MICA_NAMED_WITH(Kept, Owned, (.storage = MICA_POOL));
MICA_TAG_WITH(Lit, (.storage = MICA_POOL));
MICA_STRUCT_WITH(Loose, (.storage = MICA_POOL, .always_dirty = true), { int32_t now; });
MICA_STRUCT_WITH(Bulk, (.storage = MICA_POOL, .page_size = 2), {
    int32_t now;
    int32_t pad[74];
});

// Values that know their address; `world_kinds.c` has their hooks.
typedef struct Placed {
    const struct Placed *self;
    int32_t number;
} Placed;

bool placed_construct(void *values, int32_t count, const mica_hook_context *context);
void placed_destruct(void *values, int32_t count, const mica_hook_context *context);
void placed_move(void *to, void *from, int32_t count, const mica_hook_context *context);
bool placed_copy(void *to, const void *from, int32_t count, const mica_hook_context *context);

typedef struct placed_book {
    uint32_t left; // calls of `placed_construct` and `placed_copy` until one fails; 0: none does
    bool go_on;    // all after that one fail as well
    uint32_t failed_count;
    int64_t live_count; // values that can be copied, made and not ended
} placed_book;
extern placed_book placed;

typedef Placed Sole;
MICA_COMPONENT_WITH(Sole, (.storage = MICA_POOL,
                           .hooks = {.construct = placed_construct, .destruct = placed_destruct, .move = placed_move}));
typedef Placed Fickle;
MICA_COMPONENT_WITH(Fickle, (.storage = MICA_POOL, .stable = true, .page_size = 2,
                             .hooks = {.construct = placed_construct,
                                       .destruct = placed_destruct,
                                       .move = placed_move,
                                       .copy = placed_copy,
                                       .user = &placed}));
MICA_NAMED_WITH(FickleRow, Fickle, (.storage = MICA_TABLE));

// Those that can be disabled, in both storages.
MICA_STRUCT_WITH(Shield, (.storage = MICA_TABLE, .toggle = true), { int32_t now; });
MICA_STRUCT_WITH(Glow, (.storage = MICA_POOL, .toggle = true), { int32_t now; });
MICA_TAG_WITH(Hostile, (.storage = MICA_TABLE, .toggle = true));
MICA_TAG_WITH(Noisy, (.storage = MICA_POOL, .toggle = true));

// Those that bring others along, from one storage to the other and back.
MICA_STRUCT_WITH(Plate,
                 (.storage = MICA_TABLE, .required = {mica_type_of(Speed), mica_type_of(Lit), mica_type_of(Shield)}),
                 { int32_t now; });
MICA_STRUCT_WITH(Engine,
                 (.storage = MICA_POOL, .required = {mica_type_of(Plate), mica_type_of(Noisy), mica_type_of(Kept)}),
                 { int32_t now; });

// Those whose changes are known row by row, and which are found by their values.
MICA_STRUCT_WITH(Noted,
                 (.storage = MICA_TABLE, .track_rows = true, .indexes = {{"now", MICA_ORDERED}, {"who", MICA_HASH}}), {
                     int32_t now;
                     mica_entity who;
                 });
MICA_STRUCT_WITH(Listed,
                 (.storage = MICA_POOL, .track_rows = true, .indexes = {{"now", MICA_HASH}, {"level", MICA_ORDERED}}), {
                     int32_t now;
                     int32_t level;
                 });

// Those whose fields lie apart. `number_value` says what the fields beside `now` and `who` hold.
MICA_STRUCT_WITH(Spread, (.storage = MICA_TABLE, .layout = MICA_LANES), {
    int32_t now;
    float half;
    mica_entity who;
    int32_t turned;
    int16_t low[2];
});
MICA_STRUCT_WITH(Strewn, (.storage = MICA_TABLE, .layout = MICA_LANES, .track_rows = true, .toggle = true), {
    int32_t now;
    int32_t turned;
});

// Numbers of components; the order is part of the inputs' format. Those in lanes have digits of their own.
enum {
    HEALTH,
    POSITION,
    WIDE,
    TARGET,
    FROZEN,
    MARKED,
    ARMOUR,
    OWNED,
    CHILD_OF,
    TRANSFORM,
    WORLD_TRANSFORM,
    NAME,
    SPEED,
    PAGED,
    FIXED,
    KEPT,
    SOLE,
    FICKLE,
    FICKLE_ROW,
    LIT,
    SHIELD,
    GLOW,
    HOSTILE,
    NOISY,
    PLATE,
    ENGINE,
    LOOSE,
    BULK,
    NOTED,
    LISTED,
    TIMER,
    LIFETIME,
    LANED,
    SPREAD = LANED,
    STREWN,
    COMPONENT_COUNT
};

typedef union any_value {
    Health health;
    Position position;
    Wide wide;
    Target target;
    Armour armour;
    Owned owned;
    mica_child_of child_of;
    mica_transform transform;
    mica_name name;
    mica_world_transform world_transform;
    Paged paged;
    Fixed fixed;
    Placed placed;
    Bulk bulk;
    Noted noted;
    Listed listed;
    mica_timer timer;
    mica_lifetime lifetime;
    Spread spread;
    Strewn strewn;
} any_value;

extern mica_type *const component_types[COMPONENT_COUNT];

bool is_tag(uint32_t component);

// Whether values lie in lanes, and so have no address.
static inline bool is_laned(uint32_t component) {
    return component >= LANED && component < COMPONENT_COUNT;
}

// Whether values are plain and begin with an `int32_t`.
bool is_numbered(uint32_t component);

// Gives a value of a numbered component its number, and what goes with it.
void number_value(uint32_t component, void *value, int32_t number);

// What goes with a number is still with it.
void check_value(uint32_t component, const void *value);

static inline int32_t number_of(const void *value) {
    return *(const int32_t *)value;
}

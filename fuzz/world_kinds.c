// The types' table, and hooks that notice values which are moved without them, ended twice or forgotten.
#include "world_kinds.h"

#include "fuzz.h"

placed_book placed;

mica_type *const component_types[COMPONENT_COUNT] = {
    [HEALTH] = mica_type_of(Health),
    [POSITION] = mica_type_of(Position),
    [WIDE] = mica_type_of(Wide),
    [TARGET] = mica_type_of(Target),
    [FROZEN] = mica_type_of(Frozen),
    [MARKED] = mica_type_of(Marked),
    [ARMOUR] = mica_type_of(Armour),
    [OWNED] = mica_type_of(Owned),
    [CHILD_OF] = mica_type_of(mica_child_of),
    [TRANSFORM] = mica_type_of(mica_transform),
    [WORLD_TRANSFORM] = mica_type_of(mica_world_transform),
    [NAME] = mica_type_of(mica_name),
    [SPEED] = mica_type_of(Speed),
    [PAGED] = mica_type_of(Paged),
    [FIXED] = mica_type_of(Fixed),
    [KEPT] = mica_type_of(Kept),
    [SOLE] = mica_type_of(Sole),
    [FICKLE] = mica_type_of(Fickle),
    [FICKLE_ROW] = mica_type_of(FickleRow),
    [LIT] = mica_type_of(Lit),
    [SHIELD] = mica_type_of(Shield),
    [GLOW] = mica_type_of(Glow),
    [HOSTILE] = mica_type_of(Hostile),
    [NOISY] = mica_type_of(Noisy),
    [PLATE] = mica_type_of(Plate),
    [ENGINE] = mica_type_of(Engine),
    [LOOSE] = mica_type_of(Loose),
    [BULK] = mica_type_of(Bulk),
    [NOTED] = mica_type_of(Noted),
    [LISTED] = mica_type_of(Listed),
    [TIMER] = mica_type_of(mica_timer),
    [LIFETIME] = mica_type_of(mica_lifetime),
    [SPREAD] = mica_type_of(Spread),
    [STREWN] = mica_type_of(Strewn),
};

bool is_tag(uint32_t component) {
    return component_types[component]->kind == MICA_KIND_TAG;
}

bool is_numbered(uint32_t component) {
    switch (component) {
    case HEALTH:
    case WIDE:
    case ARMOUR:
    case SPEED:
    case PAGED:
    case FIXED:
    case SHIELD:
    case GLOW:
    case PLATE:
    case ENGINE:
    case LOOSE:
    case BULK:
    case NOTED:
    case LISTED:
    case SPREAD:
    case STREWN:
        return true;
    default:
        return false;
    }
}

void number_value(uint32_t component, void *value, int32_t number) {
    if (component == SPREAD) {
        Spread *spread = value;
        spread->now = number;
        spread->half = (float)number / 2;
        spread->turned = -number;
        spread->low[0] = (int16_t)(number % 128);
        spread->low[1] = (int16_t)(number % 64);
    } else if (component == STREWN) {
        *(Strewn *)value = (Strewn){.now = number, .turned = -number};
    } else {
        memcpy(value, &number, sizeof(number));
    }
}

void check_value(uint32_t component, const void *value) {
    any_value right;
    if (is_laned(component)) {
        memcpy(&right, value, component_types[component]->size);
        number_value(component, &right, number_of(value));
        FUZZ_CHECK(memcmp(&right, value, component_types[component]->size) == 0, "lanes of different values");
    }
}

static bool fails_now(void) {
    if (placed.left == 0 || --placed.left > 0) {
        return false;
    }
    placed.left = placed.go_on ? 1 : 0;
    placed.failed_count++;
    return true;
}

bool placed_construct(void *values, int32_t count, const mica_hook_context *context) {
    Placed *made = values;
    if (fails_now()) {
        return false;
    }
    for (int32_t i = 0; i < count; i++) {
        made[i] = (Placed){.self = &made[i]};
    }
    placed.live_count += context->user == &placed ? count : 0;
    return true;
}

// Move-only values, which have no `user`, are made by callers as well, and not counted.
void placed_destruct(void *values, int32_t count, const mica_hook_context *context) {
    Placed *ended = values;
    for (int32_t i = 0; i < count; i++) {
        FUZZ_CHECK(ended[i].self == &ended[i], "a value is ended that does not live here");
        ended[i].self = NULL;
    }
    placed.live_count -= context->user == &placed ? count : 0;
}

void placed_move(void *to, void *from, int32_t count, const mica_hook_context *context) {
    (void)context;
    Placed *target = to;
    Placed *source = from;
    for (int32_t i = 0; i < count; i++) {
        FUZZ_CHECK(source[i].self == &source[i], "a value is moved that does not live here");
        target[i] = (Placed){.self = &target[i], .number = source[i].number};
        source[i].self = NULL;
    }
}

// What callers pass need not know its address.
bool placed_copy(void *to, const void *from, int32_t count, const mica_hook_context *context) {
    Placed *target = to;
    const Placed *source = from;
    if (fails_now()) {
        return false;
    }
    for (int32_t i = 0; i < count; i++) {
        target[i] = (Placed){.self = &target[i], .number = source[i].number};
    }
    placed.live_count += context->user == &placed ? count : 0;
    return true;
}

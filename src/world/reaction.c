// Reactions: applying what observers have recorded.
//
// Observers record into `recorded`. When the operation that told them has ended, the two buffers change places and
// what was recorded is applied as a whole; what this causes is the next round. So reactions come first in, first out,
// and a round that is under way is never recorded into. A cause is noted for each call that has recorded something;
// which one a command belongs to follows from its number, so that the chain that led to a call can be told.
//
// Invariants: `causes` is empty outside operations; those from `round_cause` on belong to the round that is applied,
// those from `next_cause` on to the one that is recorded, ascending by `first` in both.
#include "world/command_buffer.h"
#include "world/commands.h"
#include "world/notice.h"

#include <mica/system.h>

#include <stdio.h>

#define REACTION_LIMIT_DEFAULT 32u
// Links of a chain that an error names.
#define CHAIN_LINK_MAX 5u

static const char *const kind_texts[MI_SIGNAL_KIND_COUNT] = {
    [MICA_ADDED] = "added",
    [MICA_SET] = "set",
    [MICA_REMOVED] = "removed",
    [MICA_CREATED] = "created",
    [MICA_DESTROYED] = "destroyed",
    [MICA_ENTERED] = "entered",
    [MICA_LEFT] = "left",
    [MICA_RESOURCE_SET] = "resource set",
    [MICA_RESOURCE_REMOVED] = "resource removed",
    [MI_SIGNAL_MARKED] = "marked",
};

mica_commands *mi_signal_commands_apart(mica_world *world) {
    mica_commands *outer = mi_callback_commands(world);
    if (outer != NULL) {
        return outer; // all that one call causes goes where that records
    }
    mica_run *run = mi_world_run(world);
    if (run != NULL && (world->front.running_locks || world->front.walk_count > 0)) {
        return mica_run_commands(run);
    }
    return world->front.walk_count > 0 ? world->walk_commands : world->signals.recorded;
}

static uint32_t reaction_limit(const mica_world *world) {
    return world->def.reaction_limit > 0 ? (uint32_t)world->def.reaction_limit : REACTION_LIMIT_DEFAULT;
}

// The cause that the command that is being applied belongs to, as mi_cause.parent says it.
static uint32_t present_cause(const mi_signals *signals) {
    if (!signals->is_reacting) {
        return 0;
    }
    uint32_t low = signals->round_cause;
    uint32_t high = signals->next_cause;
    while (low < high) { // the last one that begins at or before the command
        const uint32_t middle = low + (high - low) / 2;
        if (signals->causes.data[middle].first <= signals->applied->at) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low > signals->round_cause ? low : 0;
}

void mi_note_cause(mica_world *world, const mi_observer *observer, const mica_signal *signal, uint32_t first) {
    mi_signals *signals = &world->signals;
    if (signal->commands != signals->recorded) {
        return; // a system's or a walk's, which is applied with that
    }
    signals->has_rest = true;
    // Without memory the chain is told without this link.
    if (MI_RESERVE(&world->heap, MICA_MEMORY_OBSERVERS, &signals->causes, signals->causes.count + 1u)) {
        const mi_cause cause = {.parent = present_cause(signals),
                                .first = first,
                                .observer_id = observer->id,
                                .kind = (uint8_t)signal->kind,
                                .component = signal->component};
        uint32_t place = signals->causes.count++;
        // An observer that another one has called by a value that it set is through before that one.
        for (; place > signals->next_cause && signals->causes.data[place - 1].first > first; place--) {
            signals->causes.data[place] = signals->causes.data[place - 1];
        }
        signals->causes.data[place] = cause;
    }
}

// Chains

typedef struct chain_link {
    const char *observer;
    const char *kind;
    const char *component;
} chain_link;

static const char *observer_name(const mi_signals *signals, uint32_t id) {
    for (uint32_t i = 0; i < signals->observers.count; i++) {
        if (signals->observers.data[i]->id == id) {
            return signals->observers.data[i]->name == NULL ? "the library" : signals->observers.data[i]->name;
        }
    }
    return "an observer that is gone";
}

static chain_link link_of(const mica_world *world, uint32_t observer_id, uint32_t kind, mica_component component) {
    return (chain_link){.observer = observer_name(&world->signals, observer_id),
                        .kind = kind_texts[kind],
                        .component = component == 0 ? "" : mi_schema_type(world->schema, component)->info.name};
}

// Writes the chain of observers that are being called within each other, and of the causes before that, latest last.
static void write_chain(const mica_world *world, uint32_t cause, char *text, size_t capacity) {
    const mi_signals *signals = &world->signals;
    chain_link links[CHAIN_LINK_MAX]; // the latest first
    uint32_t count = 0;
    for (const mi_callback *at = world->front.callback; at != NULL && count < CHAIN_LINK_MAX; at = at->outer) {
        if (at->observer != NULL) {
            links[count++] = link_of(world, at->observer->id, at->observer->kind, at->observer->component);
        }
    }
    while (cause != 0 && count < CHAIN_LINK_MAX) {
        const mi_cause *at = &signals->causes.data[cause - 1];
        links[count++] = link_of(world, at->observer_id, at->kind, at->component);
        cause = at->parent;
    }
    int length = snprintf(text, capacity, "%s", count == CHAIN_LINK_MAX ? "..., " : "");
    while (count-- > 0 && length >= 0 && (size_t)length < capacity) {
        const chain_link *link = &links[count];
        length += snprintf(text + length, capacity - (size_t)length, "\"%s\" (%s%s%s)%s", link->observer, link->kind,
                           link->component[0] == '\0' ? "" : " ", link->component, count > 0 ? ", " : "");
    }
}

// Refuses with the chain that led here; its text may be longer than one argument of an error.
static mica_result fail_chain(const mica_world *world, uint32_t cause, const char *call) {
    char text[280];
    char pieces[3][96];
    write_chain(world, cause, text, sizeof(text));
    for (uint32_t i = 0; i < 3; i++) {
        const size_t length = strlen(text);
        const size_t begin = i * (sizeof(pieces[i]) - 1);
        snprintf(pieces[i], sizeof(pieces[i]), "%s", begin < length ? text + begin : "");
    }
    return mi_fail(&world->log, MICA_LIMIT, call, "observers of {} cause each other's calls more than {} deep: {}{}{}",
                   MI_TEXT(world->name), MI_UINT(reaction_limit(world)), MI_TEXT(pieces[0]), MI_TEXT(pieces[1]),
                   MI_TEXT(pieces[2]));
}

mica_result mi_tell_check_depth(const mica_world *world, mica_signal_kind kind, mica_component component,
                                const char *call) {
    const mi_signals *signals = &world->signals;
    if (MICA_UNLIKELY(world->is_shared) && mi_bit_get(signals->bits[kind], signals->word_count, component)) {
        return mi_fail(&world->log, MICA_NO_ACCESS, call,
                       "system \"{}\" runs beside others, and has not declared that it writes {}, which is observed",
                       MI_TEXT(mi_world_system(world)), MI_TEXT(mi_schema_type(world->schema, component)->info.name));
    }
    if (MICA_LIKELY(world->front.callback == NULL) ||
        !mi_bit_get(signals->bits[kind], signals->word_count, component)) {
        return MICA_OK;
    }
    uint32_t depth = 0;
    for (const mi_callback *callback = world->front.callback; callback != NULL; callback = callback->outer) {
        depth += callback->observer != NULL;
    }
    return depth < reaction_limit(world) ? MICA_OK : fail_chain(world, present_cause(signals), call);
}

// Rounds

// Drops what is recorded, which the call that caused it has nothing to do with any more.
static void drop_recorded(mi_signals *signals) {
    mica_commands_clear(signals->recorded);
    signals->dropped_count++;
}

static void react(mica_world *world, const char *call) {
    mi_signals *signals = &world->signals;
    const uint32_t limit = reaction_limit(world);
    for (uint32_t length = 1; mica_commands_count(signals->recorded) > 0; length++) {
        if (length == limit) { // of the chain so far: the next call would be one too many
            fail_chain(world, signals->causes.count, call);
            drop_recorded(signals);
            return;
        }
        mica_commands *commands = signals->applied;
        const mica_commands recorded = *signals->recorded; // which stays where it is: observers are given its address
        *signals->recorded = *commands;
        *commands = recorded;
        signals->round_cause = signals->next_cause;
        signals->next_cause = signals->causes.count;
        if (mi_commands_apply(commands, call) != MICA_OK) {
            // The error is set: memory or handles have run out, and what waits for them would wait for ever.
            mica_commands_clear(commands);
            drop_recorded(signals);
            return;
        }
    }
}

void mi_world_react(mica_world *world, const char *call) {
    mi_signals *signals = &world->signals;
    if (signals->is_reacting || mi_world_is_locked(world)) {
        return; // whoever applies, or unlocks, comes back here
    }
    signals->is_reacting = true;
    react(world, call);
    signals->is_reacting = false;
    signals->has_rest = false;
    mi_signals_drop_idle(world);
    signals->causes.count = 0;
    signals->round_cause = 0;
    signals->next_cause = 0;
}

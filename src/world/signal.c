// Channels and broadcasts, and who is connected to what.
//
// Invariants: a channel lists the library's own observers first, then those of programs by id (own ones that are
// connected during a broadcast of it come to the front when that ends); a bit of `bits` is set exactly while the
// channel of that kind and component lists somebody; `listed` has room for every component that is watched; an observer
// that is disconnected during a broadcast stays listed, not connected, until the channel's last broadcast ends.
#include "world/notice.h"

#include "base/os.h"
#include "world/command_buffer.h"
#include "world/commands.h"
#include "world/guard.h"
#include "world/query.h"

#include <string.h>

// Of the calls of an observer the time of the first ones is taken, and then of one in so many.
#define SAMPLE_FIRST 16u
#define SAMPLE_INTERVAL 1024u

// Broadcasts

// Its call_count-th call is the one to be measured.
MI_APART static void call_measured(mi_observer *observer, const mica_signal *signal) {
    const uint64_t call_count = mi_observer_calls(observer);
    observer->next_sample = call_count + (call_count < SAMPLE_FIRST ? 0 : SAMPLE_INTERVAL);
    observer->until_sample = observer->next_sample + 1 - call_count;
    const uint64_t before = mi_os_nanoseconds();
    const uint64_t begin = mi_os_nanoseconds();
    observer->call(signal);
    const uint64_t spent = mi_os_nanoseconds() - begin;
    const uint64_t asking = begin - before; // in `spent` as well, and more than what most observers take
    observer->sampled_nanoseconds += spent > asking ? spent - asking : 0;
    observer->sampled_count++;
}

static inline void count_and_call(mi_observer *observer, const mica_signal *signal) {
    if (MICA_LIKELY(--observer->until_sample != 0)) {
        observer->call(signal);
    } else {
        call_measured(observer, signal);
    }
}

// What messages call the function that calls observers back.
static const char observer_call[] = "an observer";

// Whether a broadcast of a channel is under way.
static bool is_busy(const mica_world *world, const mi_channel *channel) {
    const mi_callback *callback = world->front.callback;
    while (callback != NULL && callback->channel != channel) {
        callback = callback->outer;
    }
    return callback != NULL;
}

static mi_observer *only_of(const mi_channel *channel) {
    return channel->observers.count == 1 && channel->gone_count == 0 ? channel->observers.data[0] : NULL;
}

// Brings what is known of a channel at a glance up to date.
static void note_only(mica_world *world, uint32_t kind, mica_component component, mi_channel *channel) {
    channel->only = only_of(channel);
    if (kind == MICA_ADDED || kind == MICA_SET) {
        mi_watch *watch = world->signals.watches.data[component];
        const bool is_set_told = watch->channels[MICA_SET].observers.count > 0;
        watch->alone = is_set_told ? NULL : watch->channels[MICA_ADDED].only;
    }
}

static void sweep(mica_world *world, mi_channel *channel) {
    if (channel->observers.count == 0) {
        return;
    }
    mi_observer **observers = channel->observers.data;
    const uint32_t kind = observers[0]->kind;
    const mica_component component = observers[0]->component;
    uint32_t own_count = 0;
    uint32_t kept_count = 0;
    for (uint32_t i = 0; i < channel->observers.count; i++) {
        mi_observer *observer = observers[i];
        if (observer->is_connected) {
            uint32_t place = kept_count++;
            if (observer->is_own) {
                memmove(&observers[own_count + 1], &observers[own_count], (place - own_count) * sizeof(mi_observer *));
                place = own_count++;
            }
            observers[place] = observer;
        } else {
            mi_heap_release_text(&world->heap, MICA_MEMORY_OBSERVERS, observer->name);
            mi_heap_release(&world->heap, MICA_MEMORY_OBSERVERS, observer, sizeof(*observer), _Alignof(mi_observer));
        }
    }
    channel->observers.count = kept_count;
    channel->gone_count = 0;
    channel->is_unsettled = false;
    note_only(world, kind, component, channel);
}

// Calls an observer, and notes what it has recorded.
static inline void call_observer(mica_world *world, mi_observer *observer, const mica_signal *signal) {
    const mica_commands *commands = signal->commands;
    const uint32_t recorded_count = commands->commands.count;
    count_and_call(observer, signal);
    if (MICA_UNLIKELY(commands->commands.count != recorded_count)) {
        mi_note_cause(world, observer, signal, recorded_count);
    }
}

// Calls an observer in a world with a guard, from where others are called at once.
static void call_unguarded(const mica_signal *signal) {
    mica_world *world = signal->world;
    mi_guard_lift(world);
    world->front.callback->observer->unguarded(signal);
    mi_guard_settle(world);
}

// After a broadcast: those who were disconnected meanwhile go, if no other one of the channel is under way.
static inline void end_broadcast(mica_world *world, mi_channel *channel) {
    if (MICA_UNLIKELY(channel->is_unsettled) && !is_busy(world, channel)) {
        sweep(world, channel);
    }
}

void mi_tell(mica_world *world, mi_channel *channel, mica_signal *signal) {
    mi_callback callback = {
        .call = observer_call, .channel = channel, .commands = signal->commands, .outer = world->front.callback};
    world->front.callback = &callback;
    const uint32_t count = channel->observers.count;
    for (uint32_t i = 0; i < count; i++) {
        mi_observer *observer = channel->observers.data[i];
        if (observer->is_connected) {
            callback.observer = observer;
            signal->user = observer->user;
            signal->observer.id = observer->id;
            call_observer(world, observer, signal);
        }
    }
    world->front.callback = callback.outer;
    end_broadcast(world, channel);
}

void mi_tell_written(mica_world *world, mica_component component, const mica_entity *entities, uint32_t count) {
    const mi_signals *signals = &world->signals;
    for (uint32_t number = 0; number < 2; number++) { // those of all components, those of this one
        const uint32_t place = number == 0 ? 0 : component;
        mi_watch *watch = place < signals->watches.count ? signals->watches.data[place] : NULL;
        for (uint32_t i = 0; watch != NULL && i < watch->written.count; i++) {
            watch->written.data[i].call(world, component, entities, count, watch->written.data[i].user);
        }
    }
}

void mi_tell_of(mica_world *world, mi_channel *channel, uint32_t kind, mica_entity entity, mica_component component,
                const void *value) {
    mica_signal signal = {.world = world,
                          .commands = mi_signal_commands(world),
                          .entity = entity,
                          .value = value,
                          .component = component,
                          .kind = (mica_signal_kind)kind};
    mi_tell(world, channel, &signal);
}

// Calls an observer who has all that it needs ready but for the entity and the value, while no callback runs and
// nothing waits to be applied. True: it has recorded something, or has connected or disconnected somebody.
static inline bool call_ready(mi_observer *observer, mica_entity entity, const void *value) {
    MI_ASSERT(observer->signal.world->front.callback == NULL && !observer->signal.world->signals.has_rest &&
              observer->signal.commands->commands.count == 0);
    observer->signal.entity = entity;
    observer->signal.value = value;
    observer->signal.world->front.callback = &observer->callback;
    count_and_call(observer, &observer->signal);
    mica_world *world = observer->signal.world; // found again instead of being kept meanwhile
    world->front.callback = NULL;
    return MICA_UNLIKELY(world->signals.recorded->commands.count > 0 || world->signals.has_rest);
}

// What has to be done after call_ready has said so.
MI_APART static void end_ready(mica_world *world, mi_channel *channel, mi_observer *observer) {
    if (world->signals.recorded->commands.count > 0) {
        mi_note_cause(world, observer, &observer->signal, 0);
    }
    end_broadcast(world, channel);
}

// As mi_tell_of for a component's channel, while no callback runs.
static inline void tell_quickly(mica_world *world, mi_channel *channel, uint32_t kind, mica_entity entity,
                                mica_component component, const void *value) {
    mi_observer *only = channel->only;
    if (MICA_UNLIKELY(only == NULL || world->signals.has_rest)) {
        if (channel->observers.count > 0) {
            mi_tell_of(world, channel, kind, entity, component, value);
        }
    } else if (call_ready(only, entity, value)) {
        end_ready(world, channel, only);
    }
}

// Where a value stands; NULL: a tag's, or one in lanes.
static inline const void *value_of(const mica_world *world, mica_entity entity, mica_component component) {
    const mi_store *store = &world->store;
    const mi_pool *pool = mi_store_find_pool(store, component);
    if (pool != NULL) {
        return pool->size == 0 ? NULL : mi_pool_value(pool, mi_pool_find(pool, entity));
    }
    const uint32_t location = mi_slots_location(&store->slots, mica_entity_index(entity));
    const mi_table *table = mi_store_table_at(store, location);
    return table->offset_of[component] == MI_OFFSET_TAG
               ? NULL
               : mi_store_value(store, table, location, component, table->last_byte_of[component] + 1u);
}

// Whether a component without such a place, which the entity has, may lie in lanes.
static inline bool may_lie_in_lanes(const mica_world *world, mica_entity entity, mica_component component) {
    const mi_store *store = &world->store;
    const mi_table *table = mi_store_table_at(store, mi_slots_location(&store->slots, mica_entity_index(entity)));
    return MICA_UNLIKELY(table->has_lanes) && mi_table_has(table, component);
}

// Tells of a component that may lie in lanes by a copy of its value.
MI_APART static void tell_apart(mica_world *world, mi_channel *channel, uint32_t kind, mica_entity entity,
                                mica_component component) {
    mi_lanes_copy copy;
    if (mi_world_open_copy(world, entity, component, &copy)) {
        mi_tell_of(world, channel, kind, entity, component, copy.value.bytes);
        mi_world_close_copy(world, &copy);
    } else {
        mi_tell_of(world, channel, kind, entity, component, NULL);
    }
}

void mi_tell_component(mica_world *world, uint32_t kind, mica_entity entity, mica_component component,
                       mica_component watched) {
    mi_channel *channel = &world->signals.watches.data[watched]->channels[kind];
    const void *value = value_of(world, entity, component);
    if (value == NULL && may_lie_in_lanes(world, entity, component)) {
        tell_apart(world, channel, kind, entity, component);
    } else {
        mi_tell_of(world, channel, kind, entity, component, value);
    }
}

mica_result mi_tell_put(mica_world *world, mi_watch *watch, mica_entity entity, mica_component component,
                        const void *value, bool is_given, const char *call) {
    tell_quickly(world, &watch->channels[MICA_ADDED], MICA_ADDED, entity, component, value);
    if (is_given) {
        tell_quickly(world, &watch->channels[MICA_SET], MICA_SET, entity, component, value);
    }
    mi_world_finish(world, call);
    return MICA_OK;
}

// The rest of mi_tell_alone. Whoever was connected meanwhile hears that the value was set.
MI_APART static mica_result end_alone(mi_observer *alone) {
    mica_world *world = alone->signal.world;
    const mica_component component = alone->component;
    const mica_entity entity = alone->signal.entity;
    const void *value = alone->signal.value;
    const bool is_given = alone->is_given;
    const char *verb = alone->verb;
    mi_channel *channels = world->signals.watches.data[component]->channels;
    end_ready(world, &channels[MICA_ADDED], alone);
    if (is_given) {
        tell_quickly(world, &channels[MICA_SET], MICA_SET, entity, component, value);
    }
    mi_world_finish(world, verb);
    return MICA_OK;
}

// All that is needed after the call is found from the observer, so that it alone is kept meanwhile.
mica_result mi_tell_alone(mi_observer *alone, mica_entity entity, const void *value, bool is_given, const char *call) {
    alone->is_given = is_given;
    alone->verb = call;
    return MICA_LIKELY(!call_ready(alone, entity, value)) ? MICA_OK : end_alone(alone);
}

void mi_tell_take(mica_world *world, mica_entity entity, mica_component component) {
    mi_channel *channel = &world->signals.watches.data[component]->channels[MICA_REMOVED];
    if (channel->observers.count == 0) {
        return;
    }
    const void *value = value_of(world, entity, component);
    if (value == NULL && may_lie_in_lanes(world, entity, component)) {
        tell_apart(world, channel, MICA_REMOVED, entity, component);
    } else {
        tell_quickly(world, channel, MICA_REMOVED, entity, component, value);
    }
}

void mi_tell_take_element(mica_world *world, mica_entity entity, mica_component component, const void *value) {
    tell_quickly(world, &world->signals.watches.data[component]->channels[MICA_REMOVED], MICA_REMOVED, entity,
                 component, value);
}

// Who is connected

static bool reserve_sets(mica_world *world, uint32_t component) {
    mi_signals *signals = &world->signals;
    const uint32_t word_count = mi_bit_words(component + 1u);
    if (word_count <= signals->word_count) {
        return true;
    }
    const uint32_t set_count = MI_SIGNAL_KIND_COUNT + 1;
    uint64_t *sets = mi_heap_allocate_zeroed(&world->heap, MICA_MEMORY_OBSERVERS,
                                             (size_t)set_count * word_count * sizeof(uint64_t), sizeof(uint64_t));
    if (sets == NULL) {
        return false;
    }
    uint64_t *old = signals->bits[0];
    for (uint32_t i = 0; i < set_count; i++) {
        if (signals->word_count > 0) {
            memcpy(sets + (size_t)i * word_count, old + (size_t)i * signals->word_count,
                   signals->word_count * sizeof(uint64_t));
        }
        *(i < MI_SIGNAL_KIND_COUNT ? &signals->bits[i] : &signals->heard_bits) = sets + (size_t)i * word_count;
    }
    mi_heap_release(&world->heap, MICA_MEMORY_OBSERVERS, old,
                    (size_t)set_count * signals->word_count * sizeof(uint64_t), sizeof(uint64_t));
    signals->word_count = word_count;
    return true;
}

// The watch of a component, made if need be; NULL: out of memory.
static mi_watch *open_watch(mica_world *world, uint32_t component) {
    mi_signals *signals = &world->signals;
    const uint32_t count = signals->watches.count;
    if (!reserve_sets(world, component) ||
        !MI_RESERVE(&world->heap, MICA_MEMORY_OBSERVERS, &signals->watches, component + 1u)) {
        return NULL;
    }
    if (component >= count) {
        memset(signals->watches.data + count, 0, (component + 1u - count) * sizeof(mi_watch *));
        signals->watches.count = component + 1u;
    }
    if (!MI_RESERVE(&world->heap, MICA_MEMORY_OBSERVERS, &signals->listed, signals->watches.count)) {
        return NULL;
    }
    mi_watch **watch = &signals->watches.data[component];
    if (*watch == NULL) {
        *watch = mi_heap_allocate_zeroed(&world->heap, MICA_MEMORY_OBSERVERS, sizeof(mi_watch), _Alignof(mi_watch));
    }
    return *watch;
}

bool mi_signal_open_buffers(mica_world *world) {
    mi_signals *signals = &world->signals;
    mica_commands **buffers[] = {&signals->recorded, &signals->applied, &world->walk_commands};
    for (uint32_t i = 0; i < sizeof(buffers) / sizeof(buffers[0]); i++) {
        if (*buffers[i] == NULL) {
            *buffers[i] = mi_commands_create(world, true);
        }
        if (*buffers[i] == NULL) {
            return false;
        }
    }
    return true;
}

// NULL: out of memory.
static mi_channel *open_channel(mica_world *world, uint32_t kind, mica_component component, mi_query_watch *query) {
    if (query != NULL) {
        const mica_query *about = query->query;
        const uint32_t highest = about->term_count == 0 ? 0 : about->terms[about->term_count - 1].component;
        if (!reserve_sets(world, highest)) {
            return NULL;
        }
        return kind == MICA_ENTERED ? &query->entered : &query->left;
    }
    mi_watch *watch = open_watch(world, component);
    return watch == NULL ? NULL : &watch->channels[kind];
}

// Through a channel of its own, while the one that it is listed in counts as busy: so it stays where it is, whatever it
// does.
void mi_tell_one(mica_world *world, uint32_t id, mica_entity entity) {
    mi_observer *observer = mi_signal_find(&world->signals, id);
    if (observer == NULL) {
        return; // it has disconnected itself
    }
    mi_lanes_copy copy;
    bool is_copy = false;
    mica_signal signal = {.world = world,
                          .commands = mi_signal_commands(world),
                          .entity = entity,
                          .component = observer->component,
                          .kind = (mica_signal_kind)observer->kind};
    if (observer->kind == MICA_RESOURCE_SET) {
        signal.value = mica_resource_get(world, observer->component);
    } else if (observer->component != 0) {
        signal.value = value_of(world, entity, observer->component);
        is_copy = signal.value == NULL && may_lie_in_lanes(world, entity, observer->component) &&
                  mi_world_open_copy(world, entity, observer->component, &copy);
        signal.value = is_copy ? copy.value.bytes : signal.value;
    }
    if (observer->kind == MICA_RESOURCE_SET && signal.value == NULL) {
        return;
    }
    mi_channel *channel = open_channel(world, observer->kind, observer->component, observer->query);
    mi_channel alone = {.observers = {.data = &observer, .count = 1}};
    const mi_callback callback = {
        .call = observer_call, .channel = channel, .commands = signal.commands, .outer = world->front.callback};
    world->front.callback = &callback;
    mi_tell(world, &alone, &signal);
    world->front.callback = callback.outer;
    if (is_copy) {
        mi_world_close_copy(world, &copy);
    }
    end_broadcast(world, channel);
}

// Whoever is still listed may be in a broadcast, or is connected.
static bool is_idle(const mi_query_watch *watch) {
    return watch->entered.observers.count + watch->left.observers.count == 0;
}

static void note_heard(mi_signals *signals) {
    for (uint32_t k = 0; k < signals->word_count; k++) {
        signals->heard_bits[k] =
            signals->bits[MICA_ADDED][k] | signals->bits[MICA_SET][k] | signals->bits[MICA_REMOVED][k];
    }
    for (uint32_t i = 0; i < signals->queries.count; i++) {
        const mi_query_watch *watch = signals->queries.data[i];
        for (uint32_t k = 0; !is_idle(watch) && k < watch->query->term_count; k++) {
            mi_bit_set(signals->heard_bits, watch->query->terms[k].component);
        }
    }
}

// Brings what is known of all channels at a glance up to date.
static void note_kinds(mica_world *world) {
    mi_signals *signals = &world->signals;
    signals->kinds = signals->queries.count > 0 ? 1u << MICA_ENTERED | 1u << MICA_LEFT : 0;
    signals->watches_all = false;
    for (uint32_t i = 0; i < MI_SIGNAL_KIND_COUNT; i++) {
        bool is_told = false;
        for (uint32_t k = 0; k < signals->word_count; k++) {
            is_told |= signals->bits[i][k] != 0;
        }
        signals->kinds |= (uint32_t)is_told << i;
        signals->watches_all |= i <= MICA_REMOVED && mi_bit_get(signals->bits[i], signals->word_count, 0);
    }
    world->front.is_watched = (signals->kinds & ~(1u << MICA_RESOURCE_SET | 1u << MICA_RESOURCE_REMOVED)) != 0;
    world->front.is_wide = signals->queries.count > 0 || signals->watches_all;
    note_heard(signals);
}

// The same of one channel.
static void note_channel(mica_world *world, uint32_t kind, mica_component component, const mi_channel *channel) {
    mi_signals *signals = &world->signals;
    if (kind != MICA_ENTERED && kind != MICA_LEFT) {
        if (channel->observers.count > channel->gone_count) {
            mi_bit_set(signals->bits[kind], component);
        } else {
            mi_bit_clear(signals->bits[kind], component);
        }
    }
    note_kinds(world);
}

// Puts an observer behind the others of its rank; room is there.
static void list_observer(mi_channel *channel, mi_observer *observer) {
    uint32_t place = channel->observers.count++;
    while (observer->is_own && place > 0 && !channel->observers.data[place - 1]->is_own) {
        channel->observers.data[place] = channel->observers.data[place - 1];
        place--;
    }
    channel->observers.data[place] = observer;
}

mi_observer *mi_signal_find(const mi_signals *signals, uint32_t id) {
    uint32_t low = 0;
    uint32_t high = signals->observers.count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (signals->observers.data[middle]->id < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    mi_observer *found = low < signals->observers.count ? signals->observers.data[low] : NULL;
    return found != NULL && found->id == id ? found : NULL;
}

mi_observer *mi_signal_connect(mica_world *world, const mi_observer *given) {
    mi_signals *signals = &world->signals;
    mi_heap *heap = &world->heap;
    mi_channel *channel =
        mi_signal_open_buffers(world) ? open_channel(world, given->kind, given->component, given->query) : NULL;
    if (channel == NULL ||
        !MI_RESERVE(heap, MICA_MEMORY_OBSERVERS, &signals->observers, signals->observers.count + 1u) ||
        !MI_RESERVE(heap, MICA_MEMORY_OBSERVERS, &channel->observers, channel->observers.count + 1u)) {
        return NULL;
    }
    mi_observer *observer = mi_heap_allocate(heap, MICA_MEMORY_OBSERVERS, sizeof(mi_observer), _Alignof(mi_observer));
    if (observer == NULL) {
        return NULL;
    }
    *observer = *given;
    observer->id = ++signals->last_id;
    observer->is_connected = true;
    observer->until_sample = 1;
    if (world->guard != NULL) {
        observer->unguarded = given->call;
        observer->call = call_unguarded;
    }
    observer->signal = (mica_signal){.world = world,
                                     .commands = signals->recorded,
                                     .user = given->user,
                                     .component = given->component,
                                     .kind = (mica_signal_kind)given->kind,
                                     .observer = {observer->id}};
    observer->callback =
        (mi_callback){.call = observer_call, .observer = observer, .channel = channel, .commands = signals->recorded};
    signals->observers.data[signals->observers.count++] = observer;
    if (observer->is_own && is_busy(world, channel)) {
        // It must not push others to where a broadcast has been already.
        channel->observers.data[channel->observers.count++] = observer;
        channel->is_unsettled = true;
    } else {
        list_observer(channel, observer);
    }
    note_only(world, observer->kind, observer->component, channel);
    note_channel(world, observer->kind, observer->component, channel);
    signals->has_rest |= world->front.callback != NULL;
    return observer;
}

void mi_observer_disconnect(mica_world *world, mi_observer *observer) {
    mi_signals *signals = &world->signals;
    uint32_t place = 0;
    while (signals->observers.data[place] != observer) {
        place++;
    }
    signals->observers.count--;
    memmove(&signals->observers.data[place], &signals->observers.data[place + 1],
            (signals->observers.count - place) * sizeof(mi_observer *));
    mi_channel *channel = open_channel(world, observer->kind, observer->component, observer->query);
    const uint32_t kind = observer->kind;
    const mica_component component = observer->component;
    observer->is_connected = false;
    channel->gone_count++;
    channel->is_unsettled = true;
    note_only(world, kind, component, channel);
    signals->has_rest |= world->front.callback != NULL;
    if (!is_busy(world, channel)) {
        sweep(world, channel);
    }
    note_channel(world, kind, component, channel);
}

mi_observer *mi_observer_connect(mica_world *world, uint32_t kind, mica_component component,
                                 mica_observer_function call, void *user) {
    const mi_observer given = {
        .kind = (uint8_t)kind, .is_own = true, .component = component, .call = call, .user = user};
    return mi_signal_connect(world, &given);
}

static void note_writes(mica_world *world) {
    mi_signals *signals = &world->signals;
    world->front.watches_writes = false;
    signals->written_column = NULL; // who has just come was not told
    for (uint32_t i = 0; i < signals->watches.count; i++) {
        world->front.watches_writes |= signals->watches.data[i] != NULL && signals->watches.data[i]->written.count > 0;
    }
}

bool mi_written_connect(mica_world *world, mica_component component, mi_written_function call, void *user) {
    mi_watch *watch = open_watch(world, component);
    if (watch == NULL || !MI_RESERVE(&world->heap, MICA_MEMORY_OBSERVERS, &watch->written, watch->written.count + 1u)) {
        return false;
    }
    watch->written.data[watch->written.count++] = (mi_writer_watch){call, user};
    note_writes(world);
    return true;
}

void mi_written_disconnect(mica_world *world, mica_component component, mi_written_function call, void *user) {
    mi_watch *watch = world->signals.watches.data[component];
    uint32_t place = 0;
    while (watch->written.data[place].call != call || watch->written.data[place].user != user) {
        place++;
    }
    watch->written.count--;
    memmove(&watch->written.data[place], &watch->written.data[place + 1],
            (watch->written.count - place) * sizeof(mi_writer_watch));
    note_writes(world);
}

// A broadcast passes over who is not connected: so telling costs nothing for this.
void mi_signals_mute(mica_world *world, bool is_mute) {
    mi_signals *signals = &world->signals;
    for (uint32_t i = 0; i < signals->observers.count; i++) {
        signals->observers.data[i]->is_connected = signals->observers.data[i]->is_own || !is_mute;
    }
}

static void free_channel(mica_world *world, mi_channel *channel) {
    for (uint32_t i = 0; i < channel->observers.count; i++) {
        channel->observers.data[i]->is_connected = false;
    }
    sweep(world, channel);
    MI_FREE(&world->heap, MICA_MEMORY_OBSERVERS, &channel->observers);
}

static void free_query_watch(mica_world *world, mi_query_watch *watch) {
    free_channel(world, &watch->entered);
    free_channel(world, &watch->left);
    mi_heap_release(&world->heap, MICA_MEMORY_OBSERVERS, watch, sizeof(*watch), _Alignof(mi_query_watch));
}

void mi_signals_drop_idle(mica_world *world) {
    mi_signals *signals = &world->signals;
    if (world->front.callback != NULL) {
        signals->has_rest = true;
        return;
    }
    uint32_t kept_count = 0;
    for (uint32_t i = 0; i < signals->queries.count; i++) {
        mi_query_watch *watch = signals->queries.data[i];
        if (is_idle(watch)) {
            mica_query_release(watch->query);
            free_query_watch(world, watch);
        } else {
            signals->queries.data[kept_count++] = watch;
        }
    }
    if (kept_count < signals->queries.count) {
        signals->queries.count = kept_count;
        note_kinds(world);
    }
}

void mi_world_free_signals(mica_world *world) {
    mi_signals *signals = &world->signals;
    mi_heap *heap = &world->heap;
    for (uint32_t i = 0; i < signals->watches.count; i++) {
        mi_watch *watch = signals->watches.data[i];
        for (uint32_t k = 0; watch != NULL && k < MI_SIGNAL_KIND_COUNT; k++) {
            free_channel(world, &watch->channels[k]);
        }
        if (watch != NULL) {
            MI_FREE(heap, MICA_MEMORY_OBSERVERS, &watch->written);
            mi_heap_release(heap, MICA_MEMORY_OBSERVERS, watch, sizeof(*watch), _Alignof(mi_watch));
        }
    }
    for (uint32_t i = 0; i < signals->queries.count; i++) {
        free_query_watch(world, signals->queries.data[i]);
    }
    mi_heap_release(heap, MICA_MEMORY_OBSERVERS, signals->bits[0],
                    (size_t)(MI_SIGNAL_KIND_COUNT + 1) * signals->word_count * sizeof(uint64_t), sizeof(uint64_t));
    MI_FREE(heap, MICA_MEMORY_OBSERVERS, &signals->watches);
    MI_FREE(heap, MICA_MEMORY_OBSERVERS, &signals->queries);
    MI_FREE(heap, MICA_MEMORY_OBSERVERS, &signals->observers);
    MI_FREE(heap, MICA_MEMORY_OBSERVERS, &signals->listed);
    MI_FREE(heap, MICA_MEMORY_OBSERVERS, &signals->causes);
    mi_commands_destroy(signals->recorded);
    mi_commands_destroy(signals->applied);
    *signals = (mi_signals){.last_id = 0};
}

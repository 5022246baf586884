// Subscriptions: lists of entities that something happened to, written when it happens.
//
// A list is an array in the order of first changes; `taken` entries in front have been handed out. An index by entity
// finds the entry of an entity that is listed already. A position there may be outdated, so it counts only if the entry
// is the entity's: nothing has to be cleared when entries go, and an entity whose slot is used again does not find the
// entry of the one before.
//
// The entry of an entity that has ended is found no more either: if a restore brings it back, it is another one to who
// listens, and may end again without being heard of.
//
// An entity that is made and destroyed again while it is listed leaves an entry for the null entity. When the array is
// full, what is not needed is closed up first if it is a half or more, so that a list that is never collected is as
// long as the entities in it, and the cost of a change stays O(1).
//
// Without memory for a change the list is emptied and `is_lost` set: nothing is listed until that has been told.
#include <mica/subscription.h>

#include "store/stamps.h"
#include "world/world.h"

enum { OBSERVER_MAX = 3 * MICA_SUBSCRIPTION_MAX + 3 };

struct mica_subscription {
    mica_world *world;
    mica_subscription *next; // of its world
    MI_ARRAY(mica_change) listed;
    uint32_t taken;
    uint32_t void_count;      // entries of the null entity behind those taken
    mi_stamps positions;      // in `listed`, by entity
    bool is_lost;             // changes were lost
    uint32_t component_count; // 0: all
    uint32_t written_count;   // of `components`: connected to what is written
    mica_component components[MICA_SUBSCRIPTION_MAX];
    uint32_t observer_count;
    mi_observer *observers[OBSERVER_MAX];
    bool hears_all_written;
};

// The subscriptions of a world.
typedef struct subscriptions {
    mica_subscription *first; // the one made last
} subscriptions;

static const char extension_key;

// The list

static void forget(mica_subscription *subscription) {
    subscription->listed.count = 0;
    subscription->taken = 0;
    subscription->void_count = 0;
}

static mica_change *find(const mica_subscription *subscription, mica_entity entity) {
    const uint64_t position = mi_stamps_of(&subscription->positions, mica_entity_index(entity));
    if (position < subscription->taken || position >= subscription->listed.count ||
        !mica_entity_equal(subscription->listed.data[position].entity, entity)) {
        return NULL;
    }
    mica_change *listed = &subscription->listed.data[position];
    return (listed->flags & MICA_CHANGE_DESTROYED) == 0 ? listed : NULL;
}

// Takes entries that were handed out, and those of nobody, out of the array.
static void close_up(mica_subscription *subscription) {
    uint32_t kept = 0;
    for (uint32_t i = subscription->taken; i < subscription->listed.count; i++) {
        const mica_change change = subscription->listed.data[i];
        if (!mica_entity_is_null(change.entity)) {
            // An entity whose slot was used again is not found any more, and will not change any more.
            const uint32_t index = mica_entity_index(change.entity);
            if (mi_stamps_of(&subscription->positions, index) == i) {
                mi_stamps_put(&subscription->positions, &subscription->world->heap, index, kept); // its page is there
            }
            subscription->listed.data[kept++] = change;
        }
    }
    subscription->listed.count = kept;
    subscription->taken = 0;
    subscription->void_count = 0;
}

static bool reserve_entry(mica_subscription *subscription) {
    const uint32_t count = subscription->listed.count;
    if (count < subscription->listed.capacity) {
        return true;
    }
    if (count > 0 && subscription->taken + subscription->void_count >= count - count / 2) {
        close_up(subscription);
        return true;
    }
    return MI_RESERVE(&subscription->world->heap, MICA_MEMORY_OBSERVERS, &subscription->listed, (size_t)count + 1);
}

static void list(mica_subscription *subscription, mica_entity entity, uint32_t flags) {
    if (subscription->is_lost) {
        return;
    }
    mica_change *listed = find(subscription, entity);
    if (listed != NULL) {
        listed->flags |= flags;
        return;
    }
    if (!reserve_entry(subscription) || !mi_stamps_put(&subscription->positions, &subscription->world->heap,
                                                       mica_entity_index(entity), subscription->listed.count)) {
        forget(subscription);
        subscription->is_lost = true;
        return;
    }
    subscription->listed.data[subscription->listed.count++] = (mica_change){.entity = entity, .flags = flags};
}

static void list_end(mica_subscription *subscription, mica_entity entity) {
    mica_change *listed = find(subscription, entity);
    if (listed == NULL || (listed->flags & MICA_CHANGE_CREATED) == 0) {
        list(subscription, entity, MICA_CHANGE_DESTROYED);
        return;
    }
    *listed = (mica_change){.entity = MICA_NULL};
    subscription->void_count++;
}

// Listening

static bool is_about(const mica_subscription *subscription, const mica_signal *signal) {
    if (subscription->component_count == 0) {
        return true;
    }
    if (signal->component == 0) {
        return mica_entity_has_any(subscription->world, signal->entity, subscription->components,
                                   (int32_t)subscription->component_count);
    }
    for (uint32_t i = 0; i < subscription->component_count; i++) {
        if (subscription->components[i] == signal->component) {
            return true;
        }
    }
    return false;
}

static void hear(const mica_signal *signal) {
    static const uint32_t flags[MI_SIGNAL_KIND_COUNT] = {[MICA_ADDED] = MICA_CHANGE_ADDED,
                                                         [MICA_SET] = MICA_CHANGE_VALUE,
                                                         [MICA_REMOVED] = MICA_CHANGE_REMOVED,
                                                         [MICA_CREATED] = MICA_CHANGE_CREATED,
                                                         [MICA_DESTROYED] = 0,
                                                         [MI_SIGNAL_MARKED] = MICA_CHANGE_VISIBILITY};
    mica_subscription *subscription = signal->user;
    if (!is_about(subscription, signal)) {
        return;
    }
    if (signal->kind == MICA_DESTROYED) {
        list_end(subscription, signal->entity);
    } else {
        list(subscription, signal->entity, flags[signal->kind]);
    }
}

static void hear_written(mica_world *world, mica_component component, const mica_entity *entities, uint32_t count,
                         void *user) {
    (void)world;
    (void)component;
    for (uint32_t i = 0; i < count; i++) {
        list(user, entities[i], MICA_CHANGE_VALUE);
    }
}

static bool connect(mica_subscription *subscription, uint32_t kind, mica_component component) {
    mi_observer *observer = mi_observer_connect(subscription->world, kind, component, hear, subscription);
    if (observer == NULL) {
        return false;
    }
    subscription->observers[subscription->observer_count++] = observer;
    return true;
}

static bool connect_component(mica_subscription *subscription, mica_component component) {
    return connect(subscription, MICA_ADDED, component) && connect(subscription, MICA_SET, component) &&
           connect(subscription, MICA_REMOVED, component) &&
           mi_written_connect(subscription->world, component, hear_written, subscription);
}

static bool connect_all(mica_subscription *subscription) {
    if (!connect(subscription, MICA_CREATED, 0) || !connect(subscription, MICA_DESTROYED, 0) ||
        !connect(subscription, MI_SIGNAL_MARKED, 0)) {
        return false;
    }
    if (subscription->component_count == 0) {
        subscription->hears_all_written = connect_component(subscription, 0);
        return subscription->hears_all_written;
    }
    while (subscription->written_count < subscription->component_count) {
        if (!connect_component(subscription, subscription->components[subscription->written_count])) {
            return false;
        }
        subscription->written_count++;
    }
    return true;
}

static void disconnect_all(mica_subscription *subscription) {
    mica_world *world = subscription->world;
    while (subscription->observer_count > 0) {
        mi_observer_disconnect(world, subscription->observers[--subscription->observer_count]);
    }
    if (subscription->hears_all_written) {
        mi_written_disconnect(world, 0, hear_written, subscription);
        subscription->hears_all_written = false;
    }
    while (subscription->written_count > 0) {
        mi_written_disconnect(world, subscription->components[--subscription->written_count], hear_written,
                              subscription);
    }
}

// Beginning and ending

static void free_subscription(mica_subscription *subscription) {
    disconnect_all(subscription);
    mi_heap *heap = &subscription->world->heap;
    mi_stamps_free(&subscription->positions, heap);
    MI_FREE(heap, MICA_MEMORY_OBSERVERS, &subscription->listed);
    mi_heap_release(heap, MICA_MEMORY_OBSERVERS, subscription, sizeof(*subscription), _Alignof(mica_subscription));
}

// That everything goes is not listed; observers may still collect what is.
static void stop_subscriptions(mica_world *world, void *state) {
    (void)world;
    const subscriptions *all = state;
    for (mica_subscription *subscription = all->first; subscription != NULL; subscription = subscription->next) {
        disconnect_all(subscription);
    }
}

static void free_subscriptions(mica_world *world, void *state) {
    subscriptions *all = state;
    while (all->first != NULL) {
        mica_subscription *subscription = all->first;
        all->first = subscription->next;
        free_subscription(subscription);
    }
    mi_heap_release(&world->heap, MICA_MEMORY_OBSERVERS, all, sizeof(*all), _Alignof(subscriptions));
}

// Entities that are listed have their places noted in pages: these go together with the list.
static void trim_subscriptions(mica_world *world, void *state) {
    const subscriptions *all = state;
    for (mica_subscription *subscription = all->first; subscription != NULL; subscription = subscription->next) {
        close_up(subscription);
        if (subscription->listed.count == 0) {
            MI_FREE(&world->heap, MICA_MEMORY_OBSERVERS, &subscription->listed);
            mi_stamps_free(&subscription->positions, &world->heap);
        }
    }
}

static const char *validate_subscriptions(const mica_world *world, const void *state) {
    (void)world;
    for (const mica_subscription *subscription = ((const subscriptions *)state)->first; subscription != NULL;
         subscription = subscription->next) {
        uint32_t void_count = 0;
        if (subscription->taken > subscription->listed.count) {
            return "subscriptions: more was handed out than listed";
        }
        for (uint32_t i = subscription->taken; i < subscription->listed.count; i++) {
            const mica_entity entity = subscription->listed.data[i].entity;
            const bool has_ended = (subscription->listed.data[i].flags & MICA_CHANGE_DESTROYED) != 0;
            void_count += mica_entity_is_null(entity);
            if (mica_entity_alive(subscription->world, entity) && !has_ended &&
                find(subscription, entity) != &subscription->listed.data[i]) {
                return "subscriptions: a living entity is listed and not found";
            }
        }
        if (void_count != subscription->void_count) {
            return "subscriptions: entries of nobody are counted wrongly";
        }
    }
    return NULL;
}

// The world's subscriptions; NULL: out of memory.
static subscriptions *open_subscriptions(mica_world *world) {
    subscriptions *all = mi_world_extension(world, &extension_key);
    if (all != NULL) {
        return all;
    }
    all = mi_heap_allocate_zeroed(&world->heap, MICA_MEMORY_OBSERVERS, sizeof(*all), _Alignof(subscriptions));
    const mi_extension extension = {.key = &extension_key,
                                    .state = all,
                                    .stop = stop_subscriptions,
                                    .destroy = free_subscriptions,
                                    .validate = validate_subscriptions,
                                    .trim = trim_subscriptions};
    if (all != NULL && !mi_world_add_extension(world, &extension)) {
        free_subscriptions(world, all);
        return NULL;
    }
    return all;
}

static mica_result add_component(mica_subscription *subscription, mica_type *descriptor, mica_component id,
                                 const char *call) {
    mica_world *world = subscription->world;
    if (descriptor != NULL && id != 0) {
        return mi_fail(&world->log, MICA_INVALID, call, "an entry names {} and the id {}: one of them is enough",
                       MI_TEXT(descriptor->name), MI_UINT(id));
    }
    const mica_component component = descriptor == NULL ? id : mica_schema_register(world->schema, descriptor);
    const mi_type *type = component == 0 ? NULL : mi_world_type(world, component, call);
    if (type == NULL) {
        return mica_last_result();
    }
    for (uint32_t i = 0; i < subscription->component_count; i++) {
        if (subscription->components[i] == component) {
            return mi_fail(&world->log, MICA_INVALID, call, "{} is named twice", MI_TEXT(type->info.name));
        }
    }
    subscription->components[subscription->component_count++] = component;
    return MICA_OK;
}

static mica_result read_def(mica_subscription *subscription, const mica_subscription_def *def, const char *call) {
    mica_result result = MICA_OK;
    for (int32_t i = 0; def != NULL && i < MICA_SUBSCRIPTION_MAX && result == MICA_OK &&
                        (def->components[i] != NULL || def->component_ids[i] != 0);
         i++) {
        result = add_component(subscription, def->components[i], def->component_ids[i], call);
    }
    return result;
}

mica_subscription *mica_subscribe(mica_world *world, const mica_subscription_def *def) {
    static const char call[] = "mica_subscribe";
    if (world == NULL) {
        mi_fail_plain(NULL, MICA_INVALID, call, "needs a world");
        return NULL;
    }
    if (mi_world_check_making(world, "a subscription", call) != MICA_OK) {
        return NULL;
    }
    subscriptions *all = open_subscriptions(world);
    mica_subscription *subscription = all == NULL
                                          ? NULL
                                          : mi_heap_allocate_zeroed(&world->heap, MICA_MEMORY_OBSERVERS,
                                                                    sizeof(*subscription), _Alignof(mica_subscription));
    if (subscription == NULL) {
        mi_fail_memory(&world->log, call, sizeof(*subscription));
        return NULL;
    }
    subscription->world = world;
    if (read_def(subscription, def, call) != MICA_OK) {
        free_subscription(subscription);
        return NULL;
    }
    if (!connect_all(subscription)) {
        free_subscription(subscription);
        mi_fail_memory(&world->log, call, 0);
        return NULL;
    }
    subscription->next = all->first;
    all->first = subscription;
    return subscription;
}

void mica_subscription_destroy(mica_subscription *subscription) {
    if (subscription == NULL || mi_world_check_making(subscription->world, "a subscription", __func__) != MICA_OK) {
        return;
    }
    subscriptions *all = mi_world_extension(subscription->world, &extension_key);
    mica_subscription **place = &all->first;
    while (*place != subscription) {
        place = &(*place)->next;
    }
    *place = subscription->next;
    free_subscription(subscription);
}

// Collecting

int32_t mica_subscription_count(const mica_subscription *subscription) {
    if (subscription == NULL) {
        return 0;
    }
    return subscription->is_lost
               ? -1
               : (int32_t)(subscription->listed.count - subscription->taken - subscription->void_count);
}

int32_t mica_subscription_collect(mica_subscription *subscription, mica_change *changes, int32_t capacity) {
    static const char call[] = "mica_subscription_collect";
    if (subscription == NULL) {
        mi_fail_plain(NULL, MICA_INVALID, call, "needs a subscription");
        return -1;
    }
    const mica_log_handler *log = &subscription->world->log;
    if (capacity < 0 || (changes == NULL && capacity > 0)) {
        mi_fail_plain(log, MICA_INVALID, call, "needs an array, and a capacity that is not negative");
        return -1;
    }
    if (subscription->is_lost) {
        subscription->is_lost = false;
        mi_fail_plain(log, MICA_OUT_OF_MEMORY, call,
                      "there was no memory to list changes: look at everything once, then go on collecting");
        return -1;
    }
    int32_t count = 0;
    while (subscription->taken < subscription->listed.count) {
        const mica_change change = subscription->listed.data[subscription->taken];
        if (mica_entity_is_null(change.entity)) {
            subscription->void_count--;
        } else if (count < capacity) {
            changes[count++] = change;
        } else {
            return count;
        }
        subscription->taken++;
    }
    forget(subscription);
    return count;
}

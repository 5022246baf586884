// Which parts the state of every world has.
//
// In this order they are written, and put in place: events before the readers that systems, further up, have of them.
#include "world/event.h"
#include "world/inbox.h"

const mi_part *const mi_world_parts[] = {&mi_resources_part, &mi_heavy_resources_part, &mi_events_part,
                                         &mi_inbox_part,     &mi_counters_part,        &mi_random_part};
const uint32_t mi_world_part_count = sizeof(mi_world_parts) / sizeof(mi_world_parts[0]);

/// \file mica.h
/// All of the core.
#pragma once

#include <mica/capacity.h>
#include <mica/catalog.h>
#include <mica/commands.h>
#include <mica/config.h>
#include <mica/delta.h>
#include <mica/diagnose.h>
#include <mica/entity.h>
#include <mica/event.h>
#include <mica/hierarchy.h>
#include <mica/inbox.h>
#include <mica/index.h>
#include <mica/lane.h>
#include <mica/math.h>
#include <mica/memory.h>
#include <mica/name.h>
#include <mica/observer.h>
#include <mica/order.h>
#include <mica/plugin.h>
#include <mica/pool.h>
#include <mica/query.h>
#include <mica/random.h>
#include <mica/resource.h>
#include <mica/result.h>
#include <mica/schema.h>
#include <mica/slot_map.h>
#include <mica/spawner.h>
#include <mica/subscription.h>
#include <mica/system.h>
#include <mica/timer.h>
#include <mica/transform.h>
#include <mica/type.h>
#include <mica/verbs.h>
#include <mica/visibility.h>
#include <mica/world.h>

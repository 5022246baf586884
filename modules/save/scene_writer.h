// What writes entities of a scene, one after the other.
#pragma once

#include "json_value.h"

struct mica_scene_writer {
    mica_world *world;
    const mica_schema *schema;
    mi_save_report report;
    uint32_t *position_of; // position + 1 by index of the slot; 0: none
    uint32_t slot_count;
    uint32_t *rank;             // by component id: place in the order of names
    uint8_t *state;             // by component id: what is known of the type
    mica_component *components; // of the entity being written
    int32_t component_capacity;
    mica_component name_component;
};

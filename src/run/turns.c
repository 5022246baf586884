// Turns: which of the enabled systems run in a step.
//
// All is decided at the start of a step from what it finds there, so that it does not hang on what runs when: gates
// from the resources as they are, ticks from their number, intervals from time that was counted. It is counted at the
// end of steps that did not fail, and only while the system is enabled and its gates are open. A turn by interval comes
// in the step whose end is nearest to the moment at which it is due, so that lengths that are not exact in binary cost
// no step; what it took too little of leaves a negative rest. At most one turn a step: what is due beyond that is
// dropped. Conditions are asked later, right before the system would run.
#include "run/turns.h"

#include <math.h>
#include <string.h>

#include "run/system.h"

// Making

mica_result mi_turn_check_rate(const mica_world *world, const mica_system_def *def, const char *call) {
    if (def->every < 0 || def->offset < 0 || (def->offset > 0 && def->offset >= def->every)) {
        return mi_fail(&world->log, MICA_INVALID, call, "system \"{}\" is to run every {} ticks from tick {} on",
                       MI_TEXT(def->name), MI_INT(def->every), MI_INT(def->offset));
    }
    if (!isfinite(def->interval_seconds) || def->interval_seconds < 0) {
        return mi_fail(&world->log, MICA_INVALID, call, "the interval of system \"{}\" is negative or not finite",
                       MI_TEXT(def->name));
    }
    if (def->every > 1 && def->interval_seconds > 0) {
        return mi_fail(&world->log, MICA_INVALID, call, "system \"{}\" has a rate in ticks and one in seconds",
                       MI_TEXT(def->name));
    }
    return MICA_OK;
}

// The value as it stands in memory, in the width of the enumeration.
static void put_bytes(mi_gate *gate) {
    const int8_t one = (int8_t)gate->value;
    const int16_t two = (int16_t)gate->value;
    const int32_t four = (int32_t)gate->value;
    const void *const forms[] = {[1] = &one, [2] = &two, [4] = &four, [8] = &gate->value};
    memcpy(gate->bytes, forms[gate->byte_size], gate->byte_size);
}

static mica_result make_gate(mi_gate *gate, mica_world *world, const mica_system_def *def, const mica_gate *given,
                             const char *call) {
    const mica_component component = given->type != NULL ? mica_world_register(world, given->type) : given->component;
    const mi_type *type = component != 0 ? mi_world_type(world, component, call) : NULL;
    if (type == NULL) {
        return mica_last_result();
    }
    if (type->info.kind != MICA_KIND_ENUM) {
        return mi_fail(&world->log, MICA_INVALID, call, "system \"{}\" is bound to {}, which is no enumeration",
                       MI_TEXT(def->name), MI_TEXT(type->info.name));
    }
    if ((uint32_t)given->use < MICA_GATE_WHILE || (uint32_t)given->use > MICA_GATE_EXIT) {
        return mi_fail(&world->log, MICA_INVALID, call, "system \"{}\" is bound to {} in a way that there is not",
                       MI_TEXT(def->name), MI_TEXT(type->info.name));
    }
    *gate = (mi_gate){
        .component = component, .use = (mica_gate_use)given->use, .value = given->value, .byte_size = type->info.size};
    put_bytes(gate);
    return MICA_OK;
}

mica_result mi_turn_make(mi_turn *turn, mica_world *world, const mica_system_def *def, const char *call) {
    mica_result result = MICA_OK;
    for (uint32_t i = 0; result == MICA_OK && i < MICA_SYSTEM_GATE_MAX && def->gates[i].use != MICA_GATE_NONE; i++) {
        result = make_gate(&turn->gates[turn->gate_count++], world, def, &def->gates[i], call);
    }
    turn->every = (uint32_t)def->every;
    turn->offset = (uint32_t)def->offset;
    turn->interval_seconds = def->interval_seconds;
    return result;
}

void mi_gate_add_text(mi_text_out *out, const mica_schema *schema, const mi_gate *gate) {
    static const struct {
        const char *before, *behind; // the name of the state
    } words[] = {[MICA_GATE_WHILE] = {"while", "is"},
                 [MICA_GATE_ENTER] = {"when", "becomes"},
                 [MICA_GATE_EXIT] = {"when", "is no longer"}};
    mi_text_add(out, "%s %s %s ", words[gate->use].before, mi_schema_type(schema, gate->component)->info.name,
                words[gate->use].behind);
    int32_t count = 0;
    const mica_enumerator *enumerators = mica_schema_enumerators(schema, gate->component, &count);
    for (int32_t i = 0; i < count; i++) {
        if (enumerators[i].value == gate->value) {
            mi_text_add(out, "%s", enumerators[i].name);
            return;
        }
    }
    mi_text_add(out, "%lld", (long long)gate->value);
}

// Steps

// Whether the state of the program is what the gate names. A resource that is not there is nothing.
static bool has_value(const mica_world *world, const mi_gate *gate) {
    const void *value = mica_resource_get(world, gate->component);
    return value != NULL && memcmp(value, gate->bytes, gate->byte_size) == 0;
}

static uint8_t find_open(const mica_world *world, const mi_turn *turn) {
    uint8_t open = 0;
    for (uint32_t i = 0; i < turn->gate_count; i++) {
        open |= (uint8_t)(has_value(world, &turn->gates[i]) << i);
    }
    return open;
}

static bool lets_through(const mi_turn *turn, uint32_t gate) {
    const bool was_open = (turn->was_open >> gate & 1) != 0;
    const bool is_open = (turn->is_open >> gate & 1) != 0;
    switch (turn->gates[gate].use) {
    case MICA_GATE_ENTER:
        return is_open && !was_open;
    case MICA_GATE_EXIT:
        return !is_open && was_open;
    default:
        return is_open;
    }
}

static uint8_t all_gates(const mi_turn *turn) {
    return (uint8_t)((1u << turn->gate_count) - 1);
}

// Looks at the states of the program.
static void look_at_gates(const mica_world *world, mi_turn *turn) {
    turn->is_open = find_open(world, turn);
    turn->let_by = 0;
    for (uint32_t i = 0; i < turn->gate_count; i++) {
        turn->let_by |= (uint8_t)(lets_through(turn, i) << i);
    }
}

const mi_gate *mi_turn_closed_gate(const mi_turn *turn) {
    for (uint32_t i = 0; i < turn->gate_count; i++) {
        if ((turn->let_by >> i & 1) == 0) {
            return &turn->gates[i];
        }
    }
    return NULL;
}

// Whether the system runs in some stage of the step.
static bool takes_part(const mi_systems *systems, const mi_system *system) {
    bool goes_on = !systems->is_paused_step || system->runs_while_paused;
    for (uint32_t i = 0; i < system->order.place_count && !goes_on; i++) {
        goes_on = systems->stages_while_paused.data[system->order.places[i].stage];
    }
    return goes_on;
}

static bool is_due(const mi_systems *systems, const mi_turn *turn, double delta_seconds) {
    if (turn->interval_seconds > 0) {
        return turn->due_seconds + delta_seconds + delta_seconds / 2 >= turn->interval_seconds;
    }
    const uint64_t step = systems->is_paused_step ? systems->paused_step_count : systems->tick;
    return turn->every <= 1 || step % turn->every == turn->offset;
}

void mi_turns_begin(mi_systems *systems, float delta_seconds) {
    systems->version_before = systems->world->store.version;
    for (uint32_t i = 0; systems->has_turns && i < systems->all.count; i++) {
        mi_system *system = systems->all.data[i];
        mi_turn *turn = &system->turn;
        if (!system->has_turns) {
            continue;
        }
        turn->counts = takes_part(systems, system);
        look_at_gates(systems->world, turn);
        system->is_here = turn->let_by == all_gates(turn) && is_due(systems, turn, (double)delta_seconds);
    }
}

static void count_time(mi_turn *turn, double delta_seconds, bool has_turn, bool has_run) {
    turn->due_seconds += turn->interval_seconds > 0 ? delta_seconds : 0;
    turn->passed_seconds = has_run ? 0 : turn->passed_seconds + delta_seconds;
    if (turn->interval_seconds > 0 && has_turn) {
        turn->due_seconds -= turn->interval_seconds;
        turn->due_seconds = turn->due_seconds < turn->interval_seconds ? turn->due_seconds : 0;
    }
}

void mi_turns_end(mi_systems *systems, float delta_seconds) {
    for (uint32_t i = 0; systems->has_turns && i < systems->all.count; i++) {
        mi_system *system = systems->all.data[i];
        mi_turn *turn = &system->turn;
        if (!system->has_turns || !turn->counts) { // one that was added meanwhile does not either
            continue;
        }
        if (mi_turn_is_rated(turn) && system->enabled && turn->let_by == all_gates(turn)) {
            count_time(turn, (double)delta_seconds, system->is_here, system->since > systems->version_before);
        }
        turn->was_open = turn->is_open;
        turn->counts = false;
    }
    systems->paused_step_count += systems->is_paused_step;
}

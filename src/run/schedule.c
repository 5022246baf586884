// What the schedule is, in words: the plan, what keeps systems apart, the plan as a graph, and what is ambiguous.
//
// Everything is named in an order that does not hang on ids: systems by their places in the plan or by addition,
// components by name. Texts are written straight into the caller's array, so that but for what is ambiguous nothing has
// to be allocated.
#include <mica/schedule.h>

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "run/system.h"

// The systems whose plan is to be told; NULL: there is none, with the error set for `call` if that is for want of
// memory.
static mi_systems *find_planned(mica_world *world, const char *call) {
    mi_systems *systems = mi_systems_find(world);
    if (systems == NULL || (!systems->ticking && mi_systems_prepare(systems, call) != MICA_OK)) {
        return NULL;
    }
    return systems;
}

static const mi_plan_step *step_at(const mi_systems *systems, uint32_t index) {
    return &systems->plan.steps.data[index];
}

static bool begins_stage(const mi_systems *systems, uint32_t index) {
    return index == 0 || step_at(systems, index - 1)->stage != step_at(systems, index)->stage;
}

static bool is_enabled(const mi_systems *systems, const mi_plan_system *planned) {
    const mi_system *system = mi_system_of(planned);
    return systems->ticking ? system->enabled : system->enabled_next;
}

static const char *name_of(const mi_systems *systems, mica_component component) {
    return mi_schema_type(systems->world->schema, component)->info.name;
}

// Of the components at which two systems conflict the first by name behind `name` (NULL: of all); NULL: none.
static const char *next_conflict(const mi_systems *systems, const mi_plan_system *a, const mi_plan_system *b,
                                 const char *name) {
    const char *next = NULL;
    for (uint32_t component = mi_access_conflict(&a->access, &b->access, 0); component != 0;
         component = mi_access_conflict(&a->access, &b->access, component + 1)) {
        const char *other = name_of(systems, (mica_component)component);
        if ((name == NULL || strcmp(other, name) > 0) && (next == NULL || strcmp(other, next) < 0)) {
            next = other;
        }
    }
    return next;
}

static bool conflict(const mi_plan_system *a, const mi_plan_system *b) {
    return mi_access_conflict(&a->access, &b->access, 0) != 0;
}

// Whether the plan's order is kept between two systems of a batch.
static bool are_tied(const mi_plan_system *a, const mi_plan_system *b) {
    return (a->main_thread && b->main_thread) || conflict(a, b);
}

// What ties them.
static void add_ties(mi_text_out *out, const mi_systems *systems, const mi_plan_system *a, const mi_plan_system *b) {
    const char *separator = "";
    for (const char *name = next_conflict(systems, a, b, NULL); name != NULL;
         name = next_conflict(systems, a, b, name)) {
        mi_text_add(out, "%s%s", separator, name);
        separator = ", ";
    }
    if (a->main_thread && b->main_thread) {
        mi_text_add(out, "%smain thread", separator);
    }
}

// The plan

// Remarks on one line: in parentheses, with commas between them.
typedef struct remarks {
    mi_text_out *out;
    bool is_open;
} remarks;

static void remark(remarks *to, const char *text) {
    mi_text_add(to->out, "%s%s", to->is_open ? ", " : " (", text);
    to->is_open = true;
}

static void remark_turn(remarks *to, const mi_systems *systems, const mi_system *system) {
    const mi_turn *turn = &system->turn;
    char text[64] = "";
    if (turn->interval_seconds > 0) {
        snprintf(text, sizeof(text), "every %g s", turn->interval_seconds);
    } else if (turn->every > 1) {
        snprintf(text, sizeof(text), turn->offset > 0 ? "every %u ticks from %u" : "every %u ticks", turn->every,
                 turn->offset);
    }
    if (text[0] != 0) {
        remark(to, text);
    }
    for (uint32_t i = 0; i < turn->gate_count; i++) {
        remark(to, "");
        mi_gate_add_text(to->out, systems->world->schema, &turn->gates[i]);
    }
    if (system->condition != NULL) {
        remark(to, "on condition");
    }
}

static void add_system(mi_text_out *out, const mi_systems *systems, const mi_plan_step *step) {
    remarks to = {.out = out};
    mi_text_add(out, "  %s", step->system->name);
    if (!is_enabled(systems, step->system)) {
        remark(&to, "disabled");
    }
    if (step->system->exclusive) {
        remark(&to, "exclusive");
    } else if (step->system->main_thread) {
        remark(&to, "main thread");
    }
    remark_turn(&to, systems, mi_system_of(step->system));
    for (uint32_t i = 0; i < step->wait_count; i++) {
        if (i == 0) {
            remark(&to, "waits for ");
        }
        const uint32_t earlier = systems->plan.waits.data[step->first_wait + i];
        mi_text_add(out, "%s%s", i == 0 ? "" : ", ", step_at(systems, earlier)->system->name);
    }
    mi_text_add(out, to.is_open ? ")\n" : "\n");
}

size_t mica_world_plan(mica_world *world, char *text, size_t capacity) {
    mi_text_out out = mi_text_begin(text, capacity);
    const mi_systems *systems = find_planned(world, __func__);
    for (uint32_t i = 0; systems != NULL && i < systems->plan.steps.count; i++) {
        const mi_plan_step *step = step_at(systems, i);
        if (begins_stage(systems, i)) {
            mi_text_add(&out, "stage %s\n", systems->stages.data[step->stage]);
        }
        if (step->system == NULL) {
            mi_text_add(&out, "  barrier\n");
        } else {
            add_system(&out, systems, step);
        }
    }
    return out.length;
}

// What keeps systems apart

// The first step after the barrier before step `index`.
static uint32_t segment_first(const mi_systems *systems, uint32_t index) {
    while (index > 0 && step_at(systems, index - 1)->system != NULL) {
        index--;
    }
    return index;
}

static bool lists_name(const char *const *names, const char *name) {
    for (uint32_t i = 0; i < MICA_SYSTEM_ORDER_MAX && names[i] != NULL; i++) {
        if (strcmp(names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static void explain_barrier(mi_text_out *out, const mi_systems *systems, uint32_t index) {
    mi_text_add(out, "  barrier: ");
    if (index + 1 == systems->plan.steps.count || begins_stage(systems, index + 1)) {
        mi_text_add(out, "the stage ends\n");
        return;
    }
    // The next system has to run after one that was planned since the barrier before: it is that order that asks.
    const mi_plan_system *later = step_at(systems, index + 1)->system;
    for (uint32_t i = index; i > 0 && step_at(systems, i - 1)->system != NULL; i--) {
        const mi_plan_system *earlier = step_at(systems, i - 1)->system;
        if (lists_name(earlier->before, later->name) || lists_name(later->after, earlier->name)) {
            mi_text_add(out, "%s comes after %s\n", later->name, earlier->name);
            return;
        }
    }
}

static void explain_system(mi_text_out *out, const mi_systems *systems, uint32_t index) {
    const mi_plan_system *planned = step_at(systems, index)->system;
    const mi_system *system = mi_system_of(planned);
    mi_text_add(out, "  %s: ", planned->name);
    if (planned->exclusive) {
        const bool is_declared = system->query != NULL || system->query_count > 0 || planned->access.entries.count > 0;
        mi_text_add(out, is_declared ? "is exclusive\n" : "is exclusive, for it has neither a query nor access\n");
        return;
    }
    mi_text_add(out, planned->main_thread ? "belongs to the main thread, conflicts with" : "conflicts with");
    const char *separator = " ";
    for (uint32_t i = segment_first(systems, index);
         i < systems->plan.steps.count && step_at(systems, i)->system != NULL; i++) {
        const mi_plan_system *other = step_at(systems, i)->system;
        if (i != index && !other->exclusive && are_tied(planned, other)) {
            mi_text_add(out, "%s%s (", separator, other->name);
            add_ties(out, systems, planned, other);
            mi_text_add(out, ")");
            separator = ", ";
        }
    }
    mi_text_add(out, separator[0] == ' ' ? " nobody\n" : "\n");
}

size_t mica_world_plan_explain(mica_world *world, char *text, size_t capacity) {
    mi_text_out out = mi_text_begin(text, capacity);
    const mi_systems *systems = find_planned(world, __func__);
    for (uint32_t i = 0; systems != NULL && i < systems->plan.steps.count; i++) {
        if (begins_stage(systems, i)) {
            mi_text_add(&out, "stage %s\n", systems->stages.data[step_at(systems, i)->stage]);
        }
        if (step_at(systems, i)->system == NULL) {
            explain_barrier(&out, systems, i);
        } else {
            explain_system(&out, systems, i);
        }
    }
    return out.length;
}

// The plan as a graph

// A text in double quotes.
static void add_quoted(mi_text_out *out, const char *text) {
    mi_text_add(out, "\"");
    for (; *text != 0; text++) {
        mi_text_add(out, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
    }
    mi_text_add(out, "\"");
}

static void add_node(mi_text_out *out, const mi_systems *systems, uint32_t index) {
    const mi_plan_system *system = step_at(systems, index)->system;
    if (system == NULL) {
        mi_text_add(out,
                    "        s%u [label=\"\", tooltip=\"barrier\", style=filled, fillcolor=black, fixedsize=true, "
                    "width=0.06, height=0.6];\n",
                    index);
        return;
    }
    const bool enabled = is_enabled(systems, system);
    mi_text_add(out, "        s%u [label=", index);
    add_quoted(out, system->name);
    if (system->exclusive) {
        mi_text_add(out, ", peripheries=2");
    }
    if (system->main_thread || !enabled) {
        mi_text_add(out, ", style=\"%s%s%s\"", enabled ? "" : "dashed", system->main_thread && !enabled ? "," : "",
                    system->main_thread ? "bold" : "");
    }
    mi_text_add(out, "];\n");
}

static void add_stages(mi_text_out *out, const mi_systems *systems) {
    for (uint32_t i = 0; i < systems->plan.steps.count; i++) {
        if (begins_stage(systems, i)) {
            mi_text_add(out, "%s    subgraph cluster_%d {\n        label=", i == 0 ? "" : "    }\n",
                        (int)step_at(systems, i)->stage);
            add_quoted(out, systems->stages.data[step_at(systems, i)->stage]);
            mi_text_add(out, ";\n");
        }
        add_node(out, systems, i);
    }
    mi_text_add(out, "    }\n");
}

// Barriers and exclusive systems: what comes before them has ended, what comes after has not begun.
static bool stands_alone(const mi_systems *systems, uint32_t index) {
    const mi_plan_system *system = step_at(systems, index)->system;
    return system == NULL || system->exclusive;
}

// All that lead to a barrier or exclusive system: those of the batch before it for which nobody waits, or else the one
// that stands alone before it.
static void add_arrows_to(mi_text_out *out, const mi_systems *systems, uint32_t index) {
    for (uint32_t i = index; i > 0 && !stands_alone(systems, i - 1); i--) {
        if (step_at(systems, i - 1)->waiter_count == 0) {
            mi_text_add(out, "    s%u -> s%u;\n", i - 1, index);
        }
    }
    if (index > 0 && stands_alone(systems, index - 1)) {
        mi_text_add(out, "    s%u -> s%u;\n", index - 1, index);
    }
}

static void add_arrows(mi_text_out *out, const mi_systems *systems) {
    uint32_t alone = UINT32_MAX; // the last step that stands alone
    for (uint32_t i = 0; i < systems->plan.steps.count; i++) {
        const mi_plan_step *step = step_at(systems, i);
        if (stands_alone(systems, i)) {
            add_arrows_to(out, systems, i);
            alone = i;
            continue;
        }
        if (step->wait_count == 0 && alone != UINT32_MAX) {
            mi_text_add(out, "    s%u -> s%u;\n", alone, i);
        }
        for (uint32_t k = 0; k < step->wait_count; k++) {
            const uint32_t earlier = systems->plan.waits.data[step->first_wait + k];
            mi_text_add(out, "    s%u -> s%u [label=\"", earlier, i);
            add_ties(out, systems, step_at(systems, earlier)->system, step->system);
            mi_text_add(out, "\"];\n");
        }
    }
}

size_t mica_world_plan_graph(mica_world *world, char *text, size_t capacity) {
    mi_text_out out = mi_text_begin(text, capacity);
    const mi_systems *systems = find_planned(world, __func__);
    if (systems == NULL || systems->plan.steps.count == 0) {
        return 0;
    }
    mi_text_add(&out, "digraph plan {\n    rankdir=LR;\n    node [shape=box];\n");
    add_stages(&out, systems);
    add_arrows(&out, systems);
    mi_text_add(&out, "}\n");
    return out.length;
}

// What is ambiguous

// Which systems of a stage come before which by the constraints alone.
typedef struct reach {
    mi_plan plan;             // the nodes of the stage, and the edges between them
    MI_ARRAY(uint64_t) words; // a set of nodes for each node: those that come after it
    MI_ARRAY(uint32_t) found; // nodes whose edges are still to be gone along
    uint32_t word_count;      // of a set
} reach;

static bool comes_before(const reach *known, uint32_t a, uint32_t b) {
    return mi_bit_get(known->words.data + (size_t)a * known->word_count, known->word_count, b);
}

static void go_along(reach *known, uint32_t node) {
    const mi_plan *plan = &known->plan;
    uint64_t *after = known->words.data + (size_t)node * known->word_count;
    known->found.data[0] = node;
    known->found.count = 1;
    while (known->found.count > 0) {
        const uint32_t earlier = known->found.data[--known->found.count];
        for (uint32_t i = plan->nodes.data[earlier].first_edge; i != UINT32_MAX; i = plan->edges.data[i].next) {
            const uint32_t later = plan->edges.data[i].later;
            if (!mi_bit_get(after, known->word_count, later)) {
                mi_bit_set(after, later);
                known->found.data[known->found.count++] = later;
            }
        }
    }
}

static bool find_reach(reach *known, mi_systems *systems, mica_stage stage) {
    mi_heap *heap = &systems->world->heap;
    if (!mi_plan_add_stage(&known->plan, heap, stage, systems->described.data, systems->described.count)) {
        return false;
    }
    const uint32_t count = known->plan.nodes.count;
    if (count == 0) {
        return true;
    }
    known->word_count = mi_bit_words(count);
    // Each node is found once at most, beside the one that the search begins with.
    if (!MI_RESERVE(heap, MICA_MEMORY_SYSTEMS, &known->words, (size_t)count * known->word_count) ||
        !MI_RESERVE(heap, MICA_MEMORY_SYSTEMS, &known->found, (size_t)count + 1)) {
        return false;
    }
    memset(known->words.data, 0, (size_t)count * known->word_count * sizeof(*known->words.data));
    for (uint32_t i = 0; i < count; i++) {
        go_along(known, i);
    }
    return true;
}

static bool is_ambiguous(const reach *known, uint32_t a, uint32_t b) {
    const mi_plan_node *node_a = &known->plan.nodes.data[a];
    const mi_plan_node *node_b = &known->plan.nodes.data[b];
    const bool apart = node_a->system->exclusive || node_b->system->exclusive;
    return node_a->priority == node_b->priority && (apart || conflict(node_a->system, node_b->system)) &&
           !comes_before(known, a, b) && !comes_before(known, b, a);
}

static void add_pair(mi_text_out *out, const mi_systems *systems, const mi_plan_system *a, const mi_plan_system *b) {
    mi_text_add(out, "  %s, %s: ", a->name, b->name);
    if (a->exclusive && b->exclusive) {
        mi_text_add(out, "both are exclusive");
    } else if (a->exclusive || b->exclusive) {
        mi_text_add(out, "%s is exclusive", a->exclusive ? a->name : b->name);
    } else {
        add_ties(out, systems, a, b);
    }
    mi_text_add(out, "\n");
}

static void add_ambiguities(mi_text_out *out, const mi_systems *systems, const reach *known, mica_stage stage) {
    bool has_some = false;
    for (uint32_t a = 0; a < known->plan.nodes.count; a++) {
        for (uint32_t b = a + 1; b < known->plan.nodes.count; b++) {
            if (!is_ambiguous(known, a, b)) {
                continue;
            }
            if (!has_some) {
                mi_text_add(out, "stage %s\n", systems->stages.data[stage]);
            }
            has_some = true;
            add_pair(out, systems, known->plan.nodes.data[a].system, known->plan.nodes.data[b].system);
        }
    }
}

size_t mica_world_ambiguities(mica_world *world, char *text, size_t capacity) {
    mi_text_out out = mi_text_begin(text, capacity);
    mi_systems *systems = mi_systems_find(world);
    if (systems == NULL) {
        return 0;
    }
    mi_heap *heap = &world->heap;
    reach known = {0};
    bool complete = mi_systems_describe(systems) &&
                    mi_plan_add_names(&known.plan, heap, systems->described.data, systems->described.count);
    for (uint32_t i = 0; complete && i < systems->stage_order.count; i++) {
        const mica_stage stage = systems->stage_order.data[i];
        complete = find_reach(&known, systems, stage);
        if (complete) {
            add_ambiguities(&out, systems, &known, stage);
        }
    }
    mi_plan_free(&known.plan, heap);
    MI_FREE(heap, MICA_MEMORY_SYSTEMS, &known.words);
    MI_FREE(heap, MICA_MEMORY_SYSTEMS, &known.found);
    if (!complete) {
        mi_fail_plain(&world->log, MICA_OUT_OF_MEMORY, __func__, "out of memory for looking at the order of systems");
        out = mi_text_begin(text, capacity);
    }
    return out.length;
}

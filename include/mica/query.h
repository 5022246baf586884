/// \file query.h
/// Queries: which entities, and what is read and written of them; walks over what matches.
///
/// A query is compiled once, kept by its world, and found again by its terms. It is reference-counted:
/// `mica_query_create` takes a reference; `mica_query_of` borrows, good until the next `mica_world_trim`. Tables that
/// come to be later are matched by themselves.
///
/// A query names components in tables and in pools alike. What is smallest drives a walk: of the pools that the query
/// requires the one that holds the fewest entities (of equal ones the first by name), unless it requires components in
/// tables as well and the tables that match have no more rows than that. A walk goes through a pool in the pool's
/// order; through tables in the canonical order of their components' names, rows in stored order, and then, where no
/// component in tables is required, through the entities without any, by index. A query that requires nothing but one
/// of several components in pools (an any-of clause) goes through these pools one after the other, by name. One that
/// requires and excludes just the components of a group (pool.h) goes through the group's members alone, unless one of
/// its components is disabled on somebody.
///
/// Spans are long where the rows follow each other in all storages that are read or written. Where they do not, up to
/// 256 entities at a time are handed out all the same, those with the same optional components together: columns whose
/// values lie apart are then *copies*, made when the span begins. What is written to a copy is brought back, value by
/// value where it changed, when the walk goes on or ends, or earlier: if a verb asks for the value, if the pool's
/// arrays are asked for, and if another walk begins or goes on. A column of copies does not show what others write to
/// the same values while the span lasts, and addresses in it are not those of the values. While a span holds copies for
/// writing, verbs on their component cost a search among its handles. Values are never copied for types with a move
/// hook or the trait `always_dirty` and for values over 256 bytes: spans end where these do not follow each other.
///
/// **Changes.** Terms ask for what has changed, was added or was removed *since* a version. In a system that is the
/// version of its last run (`mica_run_since`), for all queries that it asks; its own writes of that run do not count,
/// those of everybody else before and after it do, each once, and a system that does not run for a while misses
/// nothing. In its first run, and outside systems, it is 0: everything counts. Programs outside systems ask since a
/// version of theirs: `mica_query_begin_since`, with versions drawn by `mica_world_advance_version` (system.h).
///
/// - *Changed* says "may have changed": a verb, a span or an address for writing marks the column or the page that the
///   value stands in, and a value that is moved to another table takes the mark of its column with it, to all values
///   there. So a chunk or page of a pool is reported as a whole; what has changed is always reported. With the trait
///   `track_rows` it is exact: the entities whose values were set, patched or added, or stood in a span that was asked
///   for to be written; from the first query on that asks (changes before that are known by the column). For want of
///   memory it may report more. With `always_dirty` all values count at all times. What was added has changed as well;
///   being disabled or enabled, and moves between tables, are no changes.
/// - *Added* is exact, from the first query on that asks: who had the component before counts for version 0 alone. Who
///   lost it and got it back counts.
/// - *Removed* walks a log that is kept from the first query on that asks: every entity that lost the component since,
///   once, in the order of removal, whether or not it has it again. If the query says nothing else, those that were
///   destroyed as well, and spans hold entities alone; otherwise the living ones of which the rest is true. The log
///   keeps what a system with such a query has not seen yet; if there is no such system, that of the last
///   `MICA_REMOVED_ROUNDS` rounds, a round being a tick or a `mica_world_advance_version`. To ask since an older
///   version is refused with `MICA_LIMIT`; since 0: all that is kept. A removal that there was no memory to note is
///   reported: who asks since before it is refused with `MICA_OUT_OF_MEMORY`.
///
/// **Restores.** A restored state (snapshot.h) brings back what systems' terms look at along with everything else: in
/// the ticks that follow they report what they did the first time. Whoever asks since a version of his own has seen the
/// ticks that are gone as well, and is told of what is no longer as he saw it. *Changed* reports the columns and pages
/// that a restore has exchanged, with `track_rows` the entities whose values differ in a byte; what has since been
/// moved into a chunk with others, and all of a pool of which something was exchanged and then something came, went or
/// moved, counts as exchanged. *Added* and *removed* report what restores have brought and taken, and what happened in
/// the ticks that are gone. Versions tell 256 restores apart: what was seen between older ones may all have changed.
///
/// A walk passes chunks by in which nothing has changed, and pages of the pool that drives it, at a look each. Orders
/// and observers do not take queries that ask for changes.
#pragma once

#include <mica/world.h>

MICA_BEGIN

typedef struct mica_query mica_query;
typedef struct mica_run mica_run;
typedef struct mica_order mica_order;

/// How a term uses its component.
typedef enum mica_use {
    MICA_USE_NONE,           ///< no term: ends a list
    MICA_USE_READ,           ///< must be there, is read
    MICA_USE_WRITE,          ///< must be there, is written (and may be read)
    MICA_USE_WITH,           ///< must be there, is not looked at
    MICA_USE_WITHOUT,        ///< must not be there
    MICA_USE_OPTIONAL_READ,  ///< is read where it is there
    MICA_USE_OPTIONAL_WRITE, ///< is written where it is there
    MICA_USE_DISABLED_TOO,   ///< names no component: disabled entities match as well (visibility.h)
    MICA_USE_DISABLED_ONLY,  ///< names no component: only disabled entities match
    MICA_USE_CHANGED,        ///< must be there and have changed; may stand beside a use that requires the component
    MICA_USE_ADDED,          ///< must be there and have been added; as `MICA_USE_CHANGED`
    MICA_USE_REMOVED,        ///< was removed; may stand beside any use of the component, one a query
    MICA_USE_WRITE_MARKED    ///< as `MICA_USE_WRITE`, but what is written counts as changed by `mica_mark` alone
} mica_use;

/// For how many rounds removals are kept that no system asks for.
#define MICA_REMOVED_ROUNDS 256

/// One component and how it is used. Either `type` or `component` is set.
typedef struct mica_term {
    mica_type *type;
    mica_component component;
    uint8_t use; ///< a `mica_use`
    /// 0, or the number 1 to 8 of an any-of clause: of the terms with the same number (read, write, with or changed) at
    /// least one must be true: its component there and, of changed, changed. A changed term of a clause may stand
    /// beside any use of its component but without.
    uint8_t any;
} mica_term;

/// Most terms of a system's query.
#define MICA_TERM_MAX 16
/// Most terms of any query.
#define MICA_QUERY_TERM_MAX 64

/// The query of these terms, in any order, with a reference for the caller; up to `MICA_QUERY_TERM_MAX`. NULL:
/// `MICA_INVALID` (a component twice, a read or write of a tag, a tag that changes, something that must have changed
/// and need not be there, removals of two components, a bad any-of number; the message names the term),
/// `MICA_UNKNOWN`, `MICA_LIMIT`, `MICA_OUT_OF_MEMORY`, or as `mica_schema_register`. No terms: all living entities.
/// O(terms) if the world has it, otherwise O(tables).
MICA_API mica_query *mica_query_create(mica_world *world, const mica_term *terms, int32_t term_count);

/// As `mica_query_create`, without a reference: good until the next `mica_world_trim`.
MICA_API mica_query *mica_query_find(mica_world *world, const mica_term *terms, int32_t term_count);

/// The query of a text, for tools and scripts: the terms in any order, with commas between them, in the words of
/// `mica_query_text`. With a reference for the caller.
///
/// - `Name` or `[read] Name` is read; a tag that is plainly named must be there. `[write] Name`, `[with] Name`, `!Name`
///   (without), `?Name` (optional), `[write] ?Name`; `[any 1] Name`, `[any 1] [write] Name` and `[any 1] [with] Name`
///   with the number of an any-of clause; `[changed] Name`, `[any 1] [changed] Name`, `[added] Name`, `[removed] Name`;
///   `[marked] Name` (written, marked by hand), in a clause as well; `[disabled too]`, `[disabled only]`. Nothing at
///   all: all living entities.
/// - A name is that of a component that the schema knows. White space around it is not part of it, nor is other white
///   space between parts of the text. A name that holds a comma, that begins with `[`, `!`, `?` or `"`, or that begins
///   or ends with white space stands in double quotes; in these a backslash stands before `"` and `\`.
///
/// NULL: `MICA_FORMAT` (the message says at which byte of the text, from 0 on, what stands there, and what is
/// expected), `MICA_UNKNOWN` (a name, and its byte), `MICA_LIMIT`, or as `mica_query_create` (with the byte at which
/// the term begins). O(length of the text), and as `mica_query_create`.
MICA_API mica_query *mica_query_create_text(mica_world *world, const char *text);

/// Takes a further reference and returns `query`. O(1).
MICA_API mica_query *mica_query_retain(mica_query *query);

/// Gives a reference back; the query stays with its world until that is trimmed. NULL is allowed. O(1).
MICA_API void mica_query_release(mica_query *query);

/// The query in words, in the order of the components' names, such as "!Frozen, ?Health, [write] Position, Velocity";
/// `mica_query_create_text` finds the same query from it. Belongs to the query; empty for NULL. O(1).
MICA_API const char *mica_query_text(const mica_query *query);

/// How many entities match; 0 on failure: as `mica_query_begin`. O(matching tables) if it names components in tables
/// alone and nobody is disabled or killed, otherwise O(what a walk visits).
MICA_API int32_t mica_query_count(mica_query *query);

/// An upper bound of `mica_query_count`, for reserving; 0 on failure: as `mica_query_begin`. O(matching tables +
/// terms).
MICA_API int32_t mica_query_size_hint(mica_query *query);

/// The first entity in order of visit; null if none matches (no error), or on failure: as `mica_query_begin`. O(what a
/// walk visits up to there).
MICA_API mica_entity mica_query_first(mica_query *query);

/// Whether the entity is alive and matches; of a query for removals alone, whether it is among them. Fails, and says
/// no, only where a system asks for changes that it has not declared to read and access is checked (`MICA_NO_ACCESS`).
/// O(terms), O(removals since) for those of entities that are not alive.
MICA_API bool mica_query_contains(mica_query *query, mica_entity entity);

/// Writes up to `capacity` matching entities in the order of what drives and returns how many match; `entities` may be
/// NULL if `capacity` is 0. 0 on failure: as `mica_query_begin`. O(what a walk visits).
MICA_API int32_t mica_query_entities(mica_query *query, mica_entity *entities, int32_t capacity);

/// Why `entity` matches or not, a line a term, closed by zero, cut to `capacity` bytes; returns the length without the
/// cut, 0 on failure: as `mica_query_begin`. With a null entity: what the query is, what drives a walk, how many
/// elements its pools have, and, where tables have a say, which match.
/// O(terms), O(matching tables).
MICA_API size_t mica_query_explain(mica_query *query, mica_entity entity, char *text, size_t capacity);

// Walks

/// A walk and its current span. `count` rows follow each other in every column. Read the first four members; the rest
/// is private.
typedef struct mica_iter {
    int32_t count;               ///< rows of the span
    int32_t row;                 ///< current row of a walk by rows
    const mica_entity *entities; ///< `count` handles
    bool open;
    uint32_t ready_count;  // of `access`; not 0: the span is a chunk, and columns are found in it without a call
    const uint8_t *access; // by component id
    const uint16_t *offsets;
    uint32_t offset_count;
    uint8_t *base;
    uint64_t key; // mica_head's
    const struct mica_front *world;
    const uint64_t *version; // what is written is stamped with
    mica_query *query;
    mica_run *run;
    struct mi_walk *walk; // NULL: spans are whole chunks of tables
    uint32_t table_index;
    uint32_t chunk_index;
    uint32_t epoch; // another one than the world's: a system left the walk open, and it was closed with the system
} mica_iter;

/// Opens a walk. Structure is locked until it ends. `open` is false on failure (`MICA_OUT_OF_MEMORY`, `MICA_INVALID`:
/// no query; for removals as well `MICA_LIMIT` and `MICA_OUT_OF_MEMORY`, see above). In a system, or in an observer of
/// what a system does or records, a walk that has no memory to open fails the tick as `mica_run_fail` does, so that
/// nobody need look at `open` for that; so do all functions here that say "as `mica_query_begin`", and
/// `mica_query_find`. O(terms), O(matching tables) if it requires components in both storages; O(tables) if some came
/// to be or went since the query was last used. The world's thread.
MICA_API mica_iter mica_query_begin(mica_query *query);

/// As `mica_query_begin`, with changes counted since `version`, 0: all, whoever asks; in a system, since
/// `mica_run_since`: as `mica_query_begin`. Queries that ask for no changes are walked as always.
MICA_API mica_iter mica_query_begin_since(mica_query *query, uint64_t version);

/// Opens a walk over the query of the running system (its first). As `mica_query_begin`; `MICA_INVALID` as well if the
/// system is not running or has none.
MICA_API mica_iter mica_run_begin(mica_run *run);

/// Opens a walk in sorted order, see order.h. `open` is false on failure: as `mica_query_begin`, or `MICA_LOCKED`
/// (called by a compare function). O(tables and chunks that match, pages of the key's pool) if nothing has changed;
/// otherwise O(entities that match), and comparisons for those only whose keys may have changed. The world's thread.
MICA_API mica_iter mica_order_begin(mica_order *order);

/// Goes to the next span; false at the end, with the walk still open. Over tables alone, with nobody disabled or
/// killed: O(1) a span, O(1) a matching table without rows. Otherwise O(entities that are looked at), each once a walk,
/// and the copies.
MICA_API bool mica_iter_next(mica_iter *iter);

/// Ends a walk: when the last one of a world ends, commands recorded through `mica_iter_commands` outside systems are
/// applied. A walk that has ended already is left alone. O(1), and the commands.
MICA_API void mica_iter_end(mica_iter *iter);

/// The span's column for reading; NULL if the span does not have it (optional and any-of terms) or, with an error, if
/// the query does not read it (`MICA_NO_ACCESS`). Good until the walk goes on. O(1).
MICA_API const void *mica_iter_read(const mica_iter *iter, mica_type *type);

/// As `mica_iter_read`, for writing: the query must declare it. Marks the span's column as changed, of copies what they
/// stand for, unless the query says that it marks rows itself. O(1), O(rows of the span) for copies and if its rows are
/// tracked.
MICA_API void *mica_iter_write(const mica_iter *iter, mica_type *type);

/// \cond internal: in mica_iter.access
#define MICA_HEAD_READ_READY 8   // required, in tables, with data: every span has the column, and it may be read
#define MICA_HEAD_WRITE_READY 16 // the same, and written with all of it marked
// The offset of a column that an access is ready for, in units of MICA_HEAD_COLUMN_ALIGN; 0: a call has to find it.
static inline uint32_t mica_iter_offset(const mica_iter *iter, mica_type *type, uint8_t access) {
    const uint64_t known = mica_type_known(type, iter->key);
    return MICA_LIKELY(known < iter->ready_count && (iter->access[known] & access) != 0) ? iter->offsets[known] : 0;
}
/// \endcond

/// As `mica_iter_read`, without a call where the span is a chunk of a table that has to have the component. O(1).
static inline const void *mica_iter_column(const mica_iter *iter, mica_type *type) {
    const uint32_t offset = mica_iter_offset(iter, type, MICA_HEAD_READ_READY);
    return MICA_LIKELY(offset != 0) ? iter->base + (size_t)offset * MICA_HEAD_COLUMN_ALIGN : mica_iter_read(iter, type);
}

/// As `mica_iter_write`, as `mica_iter_column`.
static inline void *mica_iter_column_write(const mica_iter *iter, mica_type *type) {
    const uint32_t offset = mica_iter_offset(iter, type, MICA_HEAD_WRITE_READY);
    if (MICA_UNLIKELY(offset == 0 || iter->world->watches_writes)) {
        return mica_iter_write(iter, type);
    }
    uint8_t *column = iter->base + (size_t)offset * MICA_HEAD_COLUMN_ALIGN;
    mica_column_stamp(column, *iter->version);
    return column;
}

/// As `mica_iter_read`, by id.
MICA_API const void *mica_iter_read_id(const mica_iter *iter, mica_component component);

/// As `mica_iter_write`, by id.
MICA_API void *mica_iter_write_id(const mica_iter *iter, mica_component component);

/// Marks the value of row `row` of the span as changed: for components that the query writes with `mica_write_marked`
/// (after `mica_write`, all are marked already). Refuses: `MICA_INVALID` (no such row, no open walk), `MICA_NO_ACCESS`
/// (the query does not write it), `MICA_ABSENT` (the span does not have it). O(1).
MICA_API mica_result mica_iter_mark(const mica_iter *iter, mica_type *type, int32_t row);

/// As `mica_iter_mark`, by id.
MICA_API mica_result mica_iter_mark_id(const mica_iter *iter, mica_component component, int32_t row);

/// Where to record structural changes during a walk: inside a system the system's buffer; outside, one that is applied
/// when the world's last open walk ends, and the callback that the walk is in. NULL: `MICA_OUT_OF_MEMORY`. O(1).
MICA_API mica_commands *mica_iter_commands_of(mica_iter *iter);

/// Goes to the next row; false at the end. For walks by rows. O(1).
static inline bool mica_iter_next_row(mica_iter *iter) {
    if (++iter->row < iter->count) {
        return true;
    }
    iter->row = 0;
    do {
        if (!mica_iter_next(iter)) {
            return false;
        }
    } while (iter->count == 0);
    return true;
}

MICA_END

#define MICA_TERM_(T, USE, ANY) \
    { mica_type_of(T), 0, (USE), (ANY) }
#ifdef __cplusplus
#define MICA_TERM(T, USE, ANY) (mica_term MICA_TERM_(T, USE, ANY))
#define MICA_TERM_PLAIN_(USE) (mica_term{nullptr, 0, (USE), 0})
#else
#define MICA_TERM(T, USE, ANY) ((mica_term)MICA_TERM_(T, USE, ANY))
#define MICA_TERM_PLAIN_(USE) ((mica_term){NULL, 0, (USE), 0})
#endif

/// A term: the component must be there, and is read.
#define mica_read(T) MICA_TERM(T, MICA_USE_READ, 0)
/// A term: the component must be there, and is written; it may be read, too.
#define mica_write(T) MICA_TERM(T, MICA_USE_WRITE, 0)
/// A term: the component or tag must be there, and is not looked at.
#define mica_with(T) MICA_TERM(T, MICA_USE_WITH, 0)
/// A term: the component or tag must not be there.
#define mica_without(T) MICA_TERM(T, MICA_USE_WITHOUT, 0)
/// A term: the component is read where it is there.
#define mica_read_optional(T) MICA_TERM(T, MICA_USE_OPTIONAL_READ, 0)
/// A term: the component is written where it is there.
#define mica_write_optional(T) MICA_TERM(T, MICA_USE_OPTIONAL_WRITE, 0)
/// A term: the component is written as with `mica_write`, but counts as changed only where `mica_mark` says so.
#define mica_write_marked(T) MICA_TERM(T, MICA_USE_WRITE_MARKED, 0)
/// A term: the component must be there and may have changed. May stand beside a term that reads or writes it.
#define mica_changed(T) MICA_TERM(T, MICA_USE_CHANGED, 0)
/// A term: the component or tag must be there and has been added. May stand beside a term that reads or writes it.
#define mica_added(T) MICA_TERM(T, MICA_USE_ADDED, 0)
/// A term: the component or tag was removed. Says nothing about whether it is there now: `mica_without(T)` may.
#define mica_removed(T) MICA_TERM(T, MICA_USE_REMOVED, 0)
/// A term: disabled entities match as well.
#define mica_disabled_too() MICA_TERM_PLAIN_(MICA_USE_DISABLED_TOO)
/// A term: only disabled entities match.
#define mica_disabled_only() MICA_TERM_PLAIN_(MICA_USE_DISABLED_ONLY)
/// A term of the any-of clause `NUMBER` (1 to 8): at least one component of the clause must be there. Read where it is
/// there.
#define mica_any_read(NUMBER, T) MICA_TERM(T, MICA_USE_READ, NUMBER)
/// As `mica_any_read`, and written where it is there.
#define mica_any_write(NUMBER, T) MICA_TERM(T, MICA_USE_WRITE, NUMBER)
/// As `mica_any_read`, and not looked at; for tags as well.
#define mica_any_with(NUMBER, T) MICA_TERM(T, MICA_USE_WITH, NUMBER)
/// A term of the any-of clause `NUMBER`: at least one of the clause must be true, for this one that the component is
/// there and may have changed. May stand beside any other use of the component but `mica_without`.
#define mica_any_changed(NUMBER, T) MICA_TERM(T, MICA_USE_CHANGED, NUMBER)

#if defined(__GNUC__)
#define MICA_CLEAN_UP_ __attribute__((cleanup(mica_iter_end)))
#else
#define MICA_CLEAN_UP_
#endif

/// Walks over spans: `mica_each(query, it) { ... it.count, it.entities, mica_write_of(it, Position) ... }`. `Q` is a
/// query, an order or, in a system, the `mica_run *`. `break`, `continue` and (with gcc and clang) `return` end the
/// walk properly.
#define mica_each(Q, IT)                                                           \
    for (mica_iter IT MICA_CLEAN_UP_ = mica_begin(Q); IT.open; mica_iter_end(&IT)) \
        while (mica_iter_next(&IT))

/// Walks over rows: `mica_each_row(query, it) { ... mica_row_entity(it), mica_row_write(it, Position) ... }`. For
/// convenience; spans are faster.
#define mica_each_row(Q, IT)                                                       \
    for (mica_iter IT MICA_CLEAN_UP_ = mica_begin(Q); IT.open; mica_iter_end(&IT)) \
        while (mica_iter_next_row(&IT))

/// As `mica_each` over a query, with changes counted since `VERSION`; see `mica_query_begin_since`.
#define mica_each_since(Q, VERSION, IT)                                                                     \
    for (mica_iter IT MICA_CLEAN_UP_ = mica_query_begin_since((Q), (VERSION)); IT.open; mica_iter_end(&IT)) \
        while (mica_iter_next(&IT))

/// Marks a row of the span as changed: `mica_mark(it, Position, i)`; see `mica_iter_mark`.
#define mica_mark(IT, T, ROW) mica_iter_mark(&(IT), mica_type_of(T), (ROW))

/// The span's column for writing: a `T *` to `it.count` values; NULL as `mica_iter_write`. Marks the column as changed.
#define mica_write_of(IT, T) ((T *)mica_iter_column_write(&(IT), mica_type_of(T)))
/// The span's column for reading: a `const T *` to `it.count` values; NULL as `mica_iter_read`.
#define mica_read_of(IT, T) ((const T *)mica_iter_column(&(IT), mica_type_of(T)))

/// The entity of the current row, in a walk by rows.
#define mica_row_entity(IT) ((IT).entities[(IT).row])
/// The current row's value for writing: a `T *`; NULL as `mica_write_of`.
#define mica_row_write(IT, T) ((T *)mica_row_of(mica_iter_column_write(&(IT), mica_type_of(T)), sizeof(T), (IT).row))
/// The current row's value for reading: a `const T *`; NULL as `mica_read_of`.
#define mica_row_read(IT, T) \
    ((const T *)mica_row_of((void *)(uintptr_t)mica_iter_column(&(IT), mica_type_of(T)), sizeof(T), (IT).row))

/// \cond internal
static inline void *mica_row_of(void *column, size_t size, int32_t row) {
    return column == NULL ? NULL : (void *)((uint8_t *)column + size * (size_t)row);
}
/// \endcond

/// The command buffer of a walk; see `mica_iter_commands_of`.
#define mica_iter_commands(IT) mica_iter_commands_of(&(IT))

#ifdef __cplusplus
#include <initializer_list>
inline mica_iter mica_begin(mica_query *query) {
    return mica_query_begin(query);
}
inline mica_iter mica_begin(mica_run *run) {
    return mica_run_begin(run);
}
inline mica_iter mica_begin(mica_order *order) {
    return mica_order_begin(order);
}
inline mica_query *mica_query_find_list(mica_world *world, std::initializer_list<mica_term> terms) {
    return mica_query_find(world, terms.begin(), static_cast<int32_t>(terms.size()));
}
#define mica_query_of(WORLD, ...) mica_query_find_list((WORLD), {__VA_ARGS__})
#else
#define mica_begin(Q) \
    _Generic((Q), mica_query * : mica_query_begin, mica_run * : mica_run_begin, mica_order * : mica_order_begin)(Q)
/// The world's query of these terms, borrowed: good until the next `mica_world_trim`; see `mica_query_find`.
#define mica_query_of(WORLD, ...)                              \
    mica_query_find((WORLD), (const mica_term[]){__VA_ARGS__}, \
                    (int32_t)(sizeof((mica_term[]){__VA_ARGS__}) / sizeof(mica_term)))
#endif

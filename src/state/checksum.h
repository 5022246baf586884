// What checksums and comparisons share.
#pragma once

#include <mica/checksum.h>

#include "state/view.h"
#include "store/ranges.h"
#include "world/inbox.h"

// MICA_OK, or why the options (NULL: none) of a call cannot be had, with the error set.
mica_result mi_checksum_check_options(const mica_schema *schema, const mica_checksum_options *options,
                                      const mica_log_handler *log, const char *call);

// Whether a part counts.
static inline bool mi_checksum_has_part(const mica_checksum_options *options, const mi_part *part) {
    return (options->exact || !part->is_inner) && !(options->leave_messages && part == &mi_inbox_part);
}

// The digest of what the write hook of a type tells of a value.
uint64_t mi_checksum_of_written(const mi_type *type, const void *value);

// Whether values of a type cannot be summed or compared: they own something of which nothing is known.
static inline bool mi_checksum_refuses(const mi_type *type, const mi_ranges *ranges) {
    return ranges == &mi_ranges_unknown && mi_type_has_hooks(type) && type->info.hooks.write == NULL;
}
// Says that a type is refused: MICA_UNREFLECTED, or MICA_NO_COPY. Returns the code.
mica_result mi_checksum_fail_type(const mica_log_handler *log, mica_result code, const mi_type *type, const char *call);

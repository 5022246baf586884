// What checksums and comparisons share.
#pragma once

#include <mica/checksum.h>

#include "state/view.h"

// MICA_OK, or why the options (NULL: none) of a call cannot be had, with the error set.
mica_result mi_checksum_check_options(const mica_schema *schema, const mica_checksum_options *options,
                                      const mica_log_handler *log, const char *call);

// The digest of what the write hook of a type tells of a value.
uint64_t mi_checksum_of_written(const mi_type *type, const void *value);

// Two journals: the first tick after which their states differ.
#pragma once

#include "arguments.h"

// Whether a file begins as a journal does.
bool journal_is_at(const char *path);

// Prints the first difference between the journals at the two paths; nothing if there is none. The exit code.
int journal_diff(const arguments *values);

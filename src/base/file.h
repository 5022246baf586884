// Files of the operating system: like os.h, the one layer over it for what it is about.
//
// Functions that can fail return 0 or the system's number of what went wrong, for mi_file_error_text.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct mi_file {
    int descriptor; // -1: not open
} mi_file;

#define MI_FILE_NONE ((mi_file){.descriptor = -1})

typedef enum mi_file_mode {
    MI_FILE_READ,   // of what is there
    MI_FILE_UPDATE, // reading and writing of what is there
    MI_FILE_REPLACE // writing anew, whatever was there
} mi_file_mode;

// `file` is MI_FILE_NONE on failure. Folders are refused.
int mi_file_open(mi_file *file, const char *path, mi_file_mode mode);
// Closes a file that is open; one that is not is left alone.
int mi_file_close(mi_file *file);

int mi_file_size(const mi_file *file, uint64_t *byte_size);
// `read_size` is less than `byte_size` where the file ends.
int mi_file_read(const mi_file *file, uint64_t offset, void *bytes, size_t byte_size, size_t *read_size);
// All of the bytes, or a failure that may have written some of them.
int mi_file_write(const mi_file *file, uint64_t offset, const void *bytes, size_t byte_size);
int mi_file_truncate(const mi_file *file, uint64_t byte_size);
// Waits until what was written is on the disk.
int mi_file_sync(const mi_file *file);
// Waits until the name of the file is on the disk, too.
int mi_file_sync_name(const char *path);

// Gives a file another name, in place of whatever had it.
int mi_file_rename(const char *from, const char *to);
int mi_file_remove(const char *path);

// What a number means, in words.
void mi_file_error_text(int error, char *text, size_t capacity);

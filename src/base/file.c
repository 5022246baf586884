// Files: POSIX calls that go on where a signal or a short count has interrupted them.
//
// Nothing is buffered: when mi_file_write returns, the system has the bytes, and a process that is killed right after
// it loses none of them. Offsets are given with every call, so that a file has no place of its own to lose.

// The strict C dialect shows none of POSIX.
#define _DEFAULT_SOURCE

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// More than this in one call is refused by some systems.
#define CALL_SIZE_MAX ((size_t)1 << 30)

int mi_file_open(mi_file *file, const char *path, mi_file_mode mode) {
    static const int flags[] = {
        [MI_FILE_READ] = O_RDONLY,
        [MI_FILE_UPDATE] = O_RDWR,
        [MI_FILE_REPLACE] = O_WRONLY | O_CREAT | O_TRUNC,
    };
    *file = MI_FILE_NONE;
    int descriptor = -1;
    do {
        descriptor = open(path, flags[mode] | O_CLOEXEC, 0666);
    } while (descriptor < 0 && errno == EINTR);
    if (descriptor < 0) {
        return errno;
    }
    struct stat status;
    int error = fstat(descriptor, &status) == 0 ? 0 : errno;
    if (error == 0 && S_ISDIR(status.st_mode)) {
        error = EISDIR;
    }
    if (error != 0) {
        (void)close(descriptor);
        return error;
    }
    file->descriptor = descriptor;
    return 0;
}

int mi_file_close(mi_file *file) {
    const int descriptor = file->descriptor;
    *file = MI_FILE_NONE;
    // An interrupted close has closed all the same.
    return descriptor < 0 || close(descriptor) == 0 || errno == EINTR ? 0 : errno;
}

int mi_file_size(const mi_file *file, uint64_t *byte_size) {
    struct stat status;
    if (fstat(file->descriptor, &status) != 0) {
        return errno;
    }
    *byte_size = (uint64_t)status.st_size;
    return 0;
}

int mi_file_read(const mi_file *file, uint64_t offset, void *bytes, size_t byte_size, size_t *read_size) {
    *read_size = 0;
    while (*read_size < byte_size) {
        const size_t rest = byte_size - *read_size;
        const ssize_t count = pread(file->descriptor, (char *)bytes + *read_size,
                                    rest < CALL_SIZE_MAX ? rest : CALL_SIZE_MAX, (off_t)(offset + *read_size));
        if (count == 0) {
            break;
        }
        if (count < 0 && errno != EINTR) {
            return errno;
        }
        *read_size += count > 0 ? (size_t)count : 0;
    }
    return 0;
}

int mi_file_write(const mi_file *file, uint64_t offset, const void *bytes, size_t byte_size) {
    size_t done = 0;
    while (done < byte_size) {
        const size_t rest = byte_size - done;
        const ssize_t count = pwrite(file->descriptor, (const char *)bytes + done,
                                     rest < CALL_SIZE_MAX ? rest : CALL_SIZE_MAX, (off_t)(offset + done));
        if (count < 0 && errno != EINTR) {
            return errno;
        }
        if (count == 0) {
            return ENOSPC;
        }
        done += count > 0 ? (size_t)count : 0;
    }
    return 0;
}

int mi_file_truncate(const mi_file *file, uint64_t byte_size) {
    int result = 0;
    do {
        result = ftruncate(file->descriptor, (off_t)byte_size);
    } while (result != 0 && errno == EINTR);
    return result == 0 ? 0 : errno;
}

int mi_file_sync(const mi_file *file) {
    int result = 0;
    do {
        result = fsync(file->descriptor);
    } while (result != 0 && errno == EINTR);
    return result == 0 ? 0 : errno;
}

int mi_file_sync_name(const char *path) {
    char folder[4096] = ".";
    const char *slash = strrchr(path, '/');
    if (slash != NULL) {
        const size_t length = slash == path ? 1 : (size_t)(slash - path);
        if (length >= sizeof(folder)) {
            return ENAMETOOLONG;
        }
        memcpy(folder, path, length);
        folder[length] = '\0';
    }
    const int descriptor = open(folder, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) {
        return errno;
    }
    const mi_file file = {.descriptor = descriptor};
    const int error = mi_file_sync(&file);
    (void)close(descriptor);
    return error == EINVAL ? 0 : error; // a file system whose folders cannot be waited for
}

int mi_file_rename(const char *from, const char *to) {
    return rename(from, to) == 0 ? 0 : errno;
}

int mi_file_remove(const char *path) {
    return unlink(path) == 0 ? 0 : errno;
}

void mi_file_error_text(int error, char *text, size_t capacity) {
    // Texts of numbers that the system knows are constants. strerror_r has two shapes, by what the compiler is told.
    (void)snprintf(text, capacity, "%s", strerror(error));
}

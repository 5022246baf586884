// Where the JSON text of a glTF file is.
//
// A file is a binary container if it begins with the four bytes "glTF", whatever its name; otherwise it is text. Of a
// container the header and the first two chunks are checked: the JSON text, which comes first, and the buffer, of which
// only the length is looked at. Chunks after these are somebody else's and may be anything. Lengths in the file are
// never trusted: nothing is allocated from them and each is compared with what is left of the file. A file larger than
// the container says is read: tools append to files, and what was declared is all there.

#include "gltf_source.h"

#include <errno.h>
#include <string.h>

enum {
    HEADER_SIZE = 12, // magic, version, length of the file
    CHUNK_HEADER_SIZE = 8,
    CHUNK_JSON = 0x4E4F534A
};

mica_result mi_gltf_source_open(mi_gltf_source *source, const char *path, mi_gltf_report *report) {
    *source = (mi_gltf_source){0};
    FILE *file = fopen(path, "rb");
    if (!file) {
        return mi_gltf_refuse(report, MICA_IO, "cannot be opened: %s", strerror(errno));
    }
    // A directory can be opened and has a length; only reading tells. A pipe can be read but not sought.
    errno = 0;
    int first = fgetc(file);
    if (first == EOF && ferror(file)) {
        (void)mi_gltf_refuse(report, MICA_IO, "cannot be read: %s", strerror(errno));
        (void)fclose(file);
        return MICA_IO;
    }
    long byte_size = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    if (byte_size < 0) {
        (void)mi_gltf_refuse(report, MICA_IO, "cannot be sought (%s); a regular file is expected", strerror(errno));
        (void)fclose(file);
        return MICA_IO;
    }
    source->file = file;
    source->byte_size = (uint64_t)byte_size;
    return MICA_OK;
}

void mi_gltf_source_open_memory(mi_gltf_source *source, const void *bytes, size_t byte_size) {
    *source = (mi_gltf_source){.bytes = bytes, .byte_size = byte_size};
}

void mi_gltf_source_close(mi_gltf_source *source) {
    if (source->file) {
        (void)fclose(source->file);
    }
    *source = (mi_gltf_source){0};
}

// Reads bytes that the length of the file says are there.
static mica_result read_at(mi_gltf_source *source, uint64_t offset, unsigned char *bytes, size_t byte_size,
                           mi_gltf_report *report) {
    if (!source->file) {
        memcpy(bytes, source->bytes + offset, byte_size);
        return MICA_OK;
    }
    errno = 0;
    if (fseek(source->file, (long)offset, SEEK_SET) != 0 || fread(bytes, 1, byte_size, source->file) != byte_size) {
        return mi_gltf_refuse(report, MICA_IO, "byte %llu: cannot be read: %s", (unsigned long long)offset,
                              errno ? strerror(errno) : "the file became shorter");
    }
    return MICA_OK;
}

static uint32_t little_endian(const unsigned char bytes[4]) {
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static mica_result check_header(const unsigned char header[HEADER_SIZE], uint64_t byte_size, mi_gltf_report *report) {
    uint32_t version = little_endian(header + 4);
    uint32_t length = little_endian(header + 8);
    if (version == 1) {
        return mi_gltf_refuse(report, MICA_UNSUPPORTED,
                              "byte 4: glTF 1.0 is not supported; a binary container of glTF 2.0 is expected");
    }
    if (version != 2) {
        return mi_gltf_refuse(report, MICA_UNSUPPORTED,
                              "byte 4: version %lu of the binary container is not known; 2 is expected",
                              (unsigned long)version);
    }
    if (length > byte_size) {
        return mi_gltf_refuse(report, MICA_FORMAT,
                              "byte 8: the container says that it has %lu bytes, but the file ends after %llu",
                              (unsigned long)length, (unsigned long long)byte_size);
    }
    if (length < HEADER_SIZE + CHUNK_HEADER_SIZE) {
        return mi_gltf_refuse(report, MICA_FORMAT,
                              "byte 8: the container says that it has %lu bytes; at least %d are expected",
                              (unsigned long)length, HEADER_SIZE + CHUNK_HEADER_SIZE);
    }
    return MICA_OK;
}

// Checks that the chunk at `offset` ends inside the container; *length becomes the bytes of its content.
static mica_result read_chunk_header(mi_gltf_source *source, uint64_t offset, uint64_t container_size, uint32_t *length,
                                     uint32_t *type, mi_gltf_report *report) {
    unsigned char header[CHUNK_HEADER_SIZE] = {0};
    if (container_size - offset < CHUNK_HEADER_SIZE) {
        return mi_gltf_refuse(
            report, MICA_FORMAT,
            "byte %llu: the header of a chunk of %d bytes is expected, but the container ends at %llu",
            (unsigned long long)offset, CHUNK_HEADER_SIZE, (unsigned long long)container_size);
    }
    mica_result result = read_at(source, offset, header, sizeof header, report);
    if (result != MICA_OK) {
        return result;
    }
    *length = little_endian(header);
    *type = little_endian(header + 4);
    uint64_t left = container_size - offset - CHUNK_HEADER_SIZE;
    if (*length > left) {
        return mi_gltf_refuse(report, MICA_FORMAT,
                              "byte %llu: the chunk says that it has %lu bytes, but the container has %llu left",
                              (unsigned long long)offset, (unsigned long)*length, (unsigned long long)left);
    }
    return MICA_OK;
}

static mica_result find_json_chunk(mi_gltf_source *source, mi_gltf_report *report) {
    unsigned char header[HEADER_SIZE] = {0};
    if (source->byte_size < HEADER_SIZE) {
        return mi_gltf_refuse(report, MICA_FORMAT,
                              "byte %llu: the file ends in the header of the binary container, which has %d bytes",
                              (unsigned long long)source->byte_size, HEADER_SIZE);
    }
    mica_result result = read_at(source, 0, header, sizeof header, report);
    if (result != MICA_OK) {
        return result;
    }
    result = check_header(header, source->byte_size, report);
    if (result != MICA_OK) {
        return result;
    }
    uint64_t container_size = little_endian(header + 8);
    uint32_t length = 0;
    uint32_t type = 0;
    result = read_chunk_header(source, HEADER_SIZE, container_size, &length, &type, report);
    if (result != MICA_OK) {
        return result;
    }
    if (type != CHUNK_JSON) {
        return mi_gltf_refuse(report, MICA_FORMAT,
                              "byte %d: the type of the first chunk is 0x%08lX; JSON (0x%08X) is expected",
                              HEADER_SIZE + 4, (unsigned long)type, CHUNK_JSON);
    }
    source->json_begin = HEADER_SIZE + CHUNK_HEADER_SIZE;
    source->json_end = source->json_begin + length;
    if (source->json_end < container_size) {
        result = read_chunk_header(source, source->json_end, container_size, &length, &type, report);
    }
    return result;
}

mica_result mi_gltf_source_find_json(mi_gltf_source *source, mi_gltf_report *report) {
    static const unsigned char byte_order_mark[3] = {0xEF, 0xBB, 0xBF};
    unsigned char start[4] = {0};
    if (source->byte_size == 0) {
        return mi_gltf_refuse(report, MICA_FORMAT, "byte 0: the file is empty; glTF 2.0 is expected");
    }
    size_t start_size = source->byte_size < sizeof start ? (size_t)source->byte_size : sizeof start;
    mica_result result = read_at(source, 0, start, start_size, report);
    if (result != MICA_OK) {
        return result;
    }
    if (memcmp(start, "glTF", sizeof start) == 0) {
        result = find_json_chunk(source, report);
    } else {
        source->json_begin = memcmp(start, byte_order_mark, sizeof byte_order_mark) == 0 ? sizeof byte_order_mark : 0;
        source->json_end = source->byte_size;
    }
    if (result == MICA_OK && source->file && fseek(source->file, (long)source->json_begin, SEEK_SET) != 0) {
        return mi_gltf_refuse(report, MICA_IO, "byte %llu: cannot be read: %s", (unsigned long long)source->json_begin,
                              strerror(errno));
    }
    return result;
}

size_t mi_gltf_source_read_json(void *buffer, size_t byte_size, void *source_ptr) {
    mi_gltf_source *source = source_ptr;
    uint64_t left = source->json_end - source->json_begin;
    size_t wanted = left < byte_size ? (size_t)left : byte_size;
    if (!source->file) {
        memcpy(buffer, source->bytes + source->json_begin, wanted);
        source->json_begin += wanted;
        return wanted;
    }
    errno = 0;
    size_t got = fread(buffer, 1, wanted, source->file);
    if (got < wanted && !source->read_error) {
        source->read_error = ferror(source->file) && errno ? errno : -1;
    }
    source->json_begin += got;
    return got;
}

// Feeds a harness the files named on the command line, one after the other, without libFuzzer: seeds and inputs that
// once broke something are tests like any other. The name of the file comes first on the error stream when it breaks
// something.
#include "fuzz.h"

static bool feed(const char *path) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        perror(path);
        return false;
    }
    (void)fprintf(stderr, "%s\n", path);
    uint8_t *bytes = NULL;
    long end = -1;
    if (fseek(file, 0, SEEK_END) == 0) {
        end = ftell(file);
        rewind(file);
    }
    bool is_fed = end >= 0;
    if (is_fed) {
        bytes = malloc(end == 0 ? 1 : (size_t)end);
        is_fed = bytes != NULL && fread(bytes, 1, (size_t)end, file) == (size_t)end;
    }
    (void)fclose(file);
    if (is_fed) {
        is_fed = LLVMFuzzerTestOneInput(bytes, (size_t)end) == 0;
    } else {
        (void)fprintf(stderr, "%s: cannot be read\n", path);
    }
    free(bytes);
    return is_fed;
}

int main(int argument_count, char **arguments) {
    if (argument_count < 2) {
        (void)fprintf(stderr, "usage: %s FILE...\n", arguments[0]);
        return 2;
    }
    int failed_count = 0;
    for (int i = 1; i < argument_count; i++) {
        failed_count += !feed(arguments[i]);
    }
    return failed_count == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

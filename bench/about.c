// Everything is found out by the program that measures, so that no figure can be shown with the flags of another build.
//
// The flags are given by the build (CMakeLists.txt). What a machine does not tell is left out.
#include "about.h"

#include "machine.h"

#include <mica/config.h>

#include <string.h>

static void print_machine(FILE *out) {
    bench_machine machine = bench_machine_read();
    fprintf(out, "machine: %s, %d processors", machine.processor, (int)machine.processor_count);
    for (int32_t i = 0; i < machine.cache_count; i++) {
        fprintf(out, ", L%s", machine.caches[i]);
    }
    fprintf(out, "\nsystem: %s\n", machine.system);
}

void bench_about_print(FILE *out) {
    print_machine(out);
    fprintf(out, "compiler: %s\n", MICA_BENCH_COMPILER);
    fprintf(out, "library: %s, shared\n", MICA_BENCH_LIBRARY_FLAGS);
    fprintf(out, "benchmarks: %s\n", MICA_BENCH_FLAGS);
    fprintf(out, "handles: %d bits\n", MICA_ENTITY_BITS);
}

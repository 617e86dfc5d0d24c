/* Shared by the fuzz targets. A target is one file with one function, LLVMFuzzerTestOneInput: linked with libFuzzer
 * it is a fuzzer (dev/fuzz), linked with replay.c a test that runs over its corpus. */
#ifndef KARMA_FUZZ_H
#define KARMA_FUZZ_H

#include <stddef.h>
#include <stdint.h>

#include "karma/karma.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* Ends the process with the message if the condition does not hold, also in builds without assertions. */
#define FUZZ_CHECK(condition, what)                                                                                    \
    do {                                                                                                               \
        if (!(condition)) fuzz_fail(what);                                                                             \
    } while (0)
_Noreturn void fuzz_fail(const char *what);

/* The bytes as a file that can be opened by its path, without a disk. fuzz_file_close ends it. */
typedef struct fuzz_file {
    int descriptor;
    char path[32];
} fuzz_file;
fuzz_file fuzz_file_open(const uint8_t *bytes, size_t size);
void fuzz_file_close(fuzz_file *file);

/* Bytes taken off the front of an input, one decision after another; 0 where none are left. */
typedef struct fuzz_source {
    const uint8_t *next;
    size_t left;
} fuzz_source;
unsigned fuzz_byte(fuzz_source *source);

#endif

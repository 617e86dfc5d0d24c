#define _GNU_SOURCE /* memfd_create */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

void fuzz_fail(const char *what) {
    (void)fprintf(stderr, "fuzz: %s\n", what);
    abort();
}

fuzz_file fuzz_file_open(const uint8_t *bytes, size_t size) {
    fuzz_file file = {.descriptor = memfd_create("fuzz", 0)};
    FUZZ_CHECK(file.descriptor >= 0, "no file in memory");
    for (size_t done = 0; done < size;) {
        ssize_t n = write(file.descriptor, bytes + done, size - done);
        FUZZ_CHECK(n > 0, "cannot write to a file in memory");
        done += (size_t)n;
    }
    (void)snprintf(file.path, sizeof file.path, "/proc/self/fd/%d", file.descriptor);
    return file;
}

void fuzz_file_close(fuzz_file *file) {
    (void)close(file->descriptor);
}

unsigned fuzz_byte(fuzz_source *source) {
    if (source->left == 0) return 0;
    source->left--;
    return *source->next++;
}

/* Runs a fuzz target over the files of directories, and prints TAP: one test per directory. A target that finds
 * something ends the process, and the test has failed. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

enum { MOST_PATH = 4096 };

static int run_file(const char *path) {
    FILE *file = fopen(path, "rb");
    uint8_t *bytes = NULL;
    size_t size = 0, room = 0, n;
    if (!file) return 0;
    do {
        room = room ? 2 * room : 65536;
        uint8_t *larger = realloc(bytes, room);
        FUZZ_CHECK(larger != NULL, "out of memory");
        bytes = larger;
        n = fread(bytes + size, 1, room - size, file);
        size += n;
    } while (size == room);
    (void)fclose(file);
    /* a block of its exact size, so that a sanitizer sees a read behind the end */
    uint8_t *exact = malloc(size ? size : 1);
    FUZZ_CHECK(exact != NULL, "out of memory");
    memcpy(exact, bytes, size);
    free(bytes);
    (void)LLVMFuzzerTestOneInput(exact, size);
    free(exact);
    return 1;
}

static size_t run_directory(const char *path) {
    DIR *directory = opendir(path);
    size_t count = 0;
    if (!directory) return 0;
    for (const struct dirent *entry; (entry = readdir(directory));) {
        char name[MOST_PATH];
        if (entry->d_name[0] == '.') continue;
        (void)snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        (void)fprintf(stderr, "# %s\n", name);
        count += (size_t)run_file(name);
    }
    (void)closedir(directory);
    return count;
}

int main(int argc, char **argv) {
    (void)printf("1..%d\n", argc - 1);
    for (int i = 1; i < argc; i++) {
        size_t count = run_directory(argv[i]);
        (void)printf("%s %d - %zu inputs\n", count ? "ok" : "not ok", i, count);
        (void)fflush(stdout);
    }
    return 0;
}

#include "tempfile.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

static void demand(int holds, const char *what) {
    if (holds) return;
    perror(what);
    abort();
}

static void create_directory(temp_file *out, const char *ending) {
    const char *base = getenv("TMPDIR");
    int n = snprintf(out->directory, sizeof out->directory, "%s/karma-test-XXXXXX", base ? base : "/tmp");
    demand(n > 0 && (size_t)n < sizeof out->directory && mkdtemp(out->directory), "mkdtemp");
    n = snprintf(out->path, sizeof out->path, "%s/table%s", out->directory, ending);
    demand(n > 0 && (size_t)n < sizeof out->path, "temporary path");
}

void temp_create(temp_file *out, const char *ending, const void *bytes, size_t length) {
    create_directory(out, ending);
    FILE *stream = fopen(out->path, "wb");
    demand(stream && fwrite(bytes, 1, length, stream) == length && fclose(stream) == 0, out->path);
}

void temp_create_gzip(temp_file *out, const char *ending, const void *bytes, size_t length) {
    create_directory(out, ending);
    gzFile stream = gzopen(out->path, "wb");
    demand(stream && gzwrite(stream, bytes, (unsigned)length) == (int)length && gzclose(stream) == Z_OK, out->path);
}

void temp_remove(const temp_file *file) {
    (void)unlink(file->path);
    (void)rmdir(file->directory);
}

/* Files for tests. Each has its own directory, so that a test can choose the ending of its name. */
#ifndef KARMA_TEST_TEMPFILE_H
#define KARMA_TEST_TEMPFILE_H

#include <stddef.h>

typedef struct temp_file {
    char directory[256];
    char path[320];
} temp_file;

/* All functions end the test if the system refuses. */
void temp_create(temp_file *out, const char *ending, const void *bytes, size_t length);
/* The same, compressed by gzip. */
void temp_create_gzip(temp_file *out, const char *ending, const void *bytes, size_t length);
void temp_remove(const temp_file *file);

#endif

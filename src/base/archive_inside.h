/* Shared by the files of the archive. */
#ifndef KARMA_I_ARCHIVE_INSIDE_H
#define KARMA_I_ARCHIVE_INSIDE_H

#include <jansson.h>

#include "base/archive.h"

enum { KARMA_I_ARCHIVE_DEPTH = 8, KARMA_I_ARCHIVE_PATH = 128, KARMA_I_CHECKSUM_DIGITS = 8 };
#define KARMA_I_CHECKSUM_KEY "\"checksum\":\""

typedef enum karma_i_dtype {
    KARMA_I_DTYPE_F64,
    KARMA_I_DTYPE_F32,
    KARMA_I_DTYPE_U64,
    KARMA_I_DTYPE_U32,
    KARMA_I_DTYPE_U16,
    KARMA_I_DTYPE_U8,
    KARMA_I_N_DTYPES
} karma_i_dtype;

/* An array that is to be written. */
typedef struct karma_i_archived {
    char name[KARMA_I_ARCHIVE_PATH];
    karma_i_dtype dtype;
    karma_i_shape shape;
    const void *data;  /* borrowed */
    size_t number;     /* in the order of the description */
    size_t begin, end; /* in the data section */
} karma_i_archived;

struct karma_i_archive {
    const char *name;
    const char *noun; /* what messages call the file: "model" */
    karma_error *err;
    int is_reading;
    int is_mapped;                     /* the bytes belong to the caller, and are all there */
    json_t *document;                  /* all fields that are not arrays */
    json_t *at[KARMA_I_ARCHIVE_DEPTH]; /* the objects that were entered; borrowed from the document */
    size_t depth;
    char path[KARMA_I_ARCHIVE_PATH]; /* of the object, with a point at its end: "encodings.0." */
    /* writing */
    karma_i_archived *arrays;
    size_t n_arrays, array_capacity;
    void **kept;
    size_t n_kept, kept_capacity;
    /* both: the header's text, which a writer owns and a reader has in its bytes */
    char *header;
    size_t header_length;
    /* reading */
    json_t *json; /* the header */
    unsigned char *bytes;
    size_t size;
};

extern const char *const karma_i_dtype_names[KARMA_I_N_DTYPES];
extern const size_t karma_i_dtype_sizes[KARMA_I_N_DTYPES];

void karma_i_store_length(unsigned char bytes[8], uint64_t length);

/* Adds an array to those that are to be written. */
karma_status karma_i_archive_add(karma_i_archive *archive, const char *name, karma_i_dtype dtype, karma_i_shape shape,
                                 const void *data);
/* A new array of what the file has under this name. */
karma_status karma_i_archive_take(void **out, karma_i_archive *archive, const char *name, karma_i_dtype dtype,
                                  karma_i_shape shape);

/* `values` is the address of a pointer: writing adds the array that it points to, reading an archive that is mapped
 * lets it point to what the file has. */
karma_status karma_i_archive_lend(karma_i_archive *archive, const char *name, karma_i_dtype dtype, size_t n,
                                  void *values);

#endif

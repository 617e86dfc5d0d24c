/* What a model file holds, described once for both directions. A module that has something to keep has one function
 * that names its fields:
 *
 *     karma_status karma_i_thing_archive(karma_i_archive *archive, karma_i_thing *thing) {
 *         KARMA_TRY(karma_i_archive_number(archive, "radius", &thing->radius, 0.0, 1e300));
 *         return karma_i_archive_f64(archive, "shift", &thing->shift, karma_i_vector_shape(thing->n), 1e300);
 *     }
 *
 * Writing takes the fields from the object, which it does not change; reading checks them and fills them in. Both check
 * ranges, so that what was saved can be loaded. An object that is read starts out zeroed and is freed by its owner also
 * when reading fails.
 *
 * An archive is a file in the safetensors format:
 *
 *     8 bytes    n, little endian
 *     n bytes    a JSON object: the type, shape and data_offsets of every array; texts under "__metadata__"
 *     the rest   the arrays, one after the other
 *
 * All fields that are not arrays are in one JSON document, the metadata text "karma". The names of an object's arrays
 * start with its place in the document: "encodings.0.shift". The metadata text "checksum" is the CRC-32 of all bytes
 * with its own eight digits taken as '0', so that any altered byte is found. docs/model-format.md lists all fields. */
#ifndef KARMA_I_ARCHIVE_H
#define KARMA_I_ARCHIVE_H

#include "karma/base.h"

enum { KARMA_I_ARCHIVE_FORMAT = 2 };

typedef struct karma_i_archive karma_i_archive;

/* ---- fields ---- */

int karma_i_archive_is_reading(const karma_i_archive *archive);

/* Fails with a sentence that names the file: KARMA_ERR_FORMAT when reading, KARMA_ERR_DATA when writing. */
karma_status karma_i_archive_fail(const karma_i_archive *archive, const char *format, ...) KARMA_PRINTF(2, 3);
karma_status karma_i_archive_fail_memory(const karma_i_archive *archive);

karma_status karma_i_archive_flag(karma_i_archive *archive, const char *name, int *value);
/* least <= value <= most */
karma_status karma_i_archive_size(karma_i_archive *archive, const char *name, size_t *value, size_t least, size_t most);
karma_status karma_i_archive_number(karma_i_archive *archive, const char *name, double *value, double least,
                                    double most);
/* An enumeration, stored as words[*value]. NULL among the words: an invalid value. */
karma_status karma_i_archive_word(karma_i_archive *archive, const char *name, int *value, const char *const *words,
                                  size_t n_words);
/* Texts that are read are new and belong to the caller, even if reading a later one fails. */
karma_status karma_i_archive_text(karma_i_archive *archive, const char *name, char **value);
karma_status karma_i_archive_texts(karma_i_archive *archive, const char *name, char ***values, size_t *n);
/* Numbers that are reported and not computed with, and may be missing: those that are not finite are null in the file,
 * and read as NaN. */
karma_status karma_i_archive_measure(karma_i_archive *archive, const char *name, double *value);
karma_status karma_i_archive_measures(karma_i_archive *archive, const char *name, double **values, size_t *n);

/* ---- arrays ---- */

typedef struct karma_i_shape {
    int n_dims;
    size_t extent[2];
} karma_i_shape;
static inline karma_i_shape karma_i_vector_shape(size_t n) {
    return (karma_i_shape){1, {n, 1}};
}
static inline karma_i_shape karma_i_matrix_shape(size_t rows, size_t columns) {
    return (karma_i_shape){2, {rows, columns}};
}

/* Reading: *n is the number of elements, or rows, of the array in the file. */
karma_status karma_i_archive_length(karma_i_archive *archive, const char *name, size_t *n);

/* Writing borrows the array until the archive is freed. Reading frees what *values was and makes it a new array,
 * aligned for the arithmetic; the shape in the file must be this one. Numbers must be within ± limit. */
karma_status karma_i_archive_f64(karma_i_archive *archive, const char *name, double **values, karma_i_shape shape,
                                 double limit);
karma_status karma_i_archive_f32(karma_i_archive *archive, const char *name, float **values, karma_i_shape shape,
                                 double limit);
karma_status karma_i_archive_sizes(karma_i_archive *archive, const char *name, size_t **values, karma_i_shape shape);
karma_status karma_i_archive_u64(karma_i_archive *archive, const char *name, uint64_t **values, karma_i_shape shape);
karma_status karma_i_archive_u32(karma_i_archive *archive, const char *name, uint32_t **values, karma_i_shape shape);
karma_status karma_i_archive_u16(karma_i_archive *archive, const char *name, uint16_t **values, karma_i_shape shape);
karma_status karma_i_archive_u8(karma_i_archive *archive, const char *name, uint8_t **values, karma_i_shape shape);

/* Arrays that are not copied: those that are read are parts of the mapped file, and any bytes may be in them. */
karma_status karma_i_archive_lent_sizes(karma_i_archive *archive, const char *name, size_t **values, size_t n);
karma_status karma_i_archive_lent_u32(karma_i_archive *archive, const char *name, uint32_t **values, size_t n);
karma_status karma_i_archive_lent_f64(karma_i_archive *archive, const char *name, double **values, size_t n);

/* Hands over an array that was made only for writing: it is freed with the archive. */
karma_status karma_i_archive_keep(karma_i_archive *archive, void *memory);
/* The same of several, after they were archived with this status: all are handed over, and the first failure counts. */
karma_status karma_i_archive_keep_all(karma_i_archive *archive, void *const *arrays, size_t count, karma_status st);

/* ---- objects ---- */

/* The fields that follow are those of the object `name`, until karma_i_archive_leave. After a failure it is not called.
 */
karma_status karma_i_archive_enter(karma_i_archive *archive, const char *name);
/* The same for a list of *n objects, which is counted when reading; karma_i_archive_item then enters one of them. */
karma_status karma_i_archive_enter_list(karma_i_archive *archive, const char *name, size_t *n);
karma_status karma_i_archive_item(karma_i_archive *archive, size_t index);
void karma_i_archive_leave(karma_i_archive *archive);
/* A list of *n structs of `size` bytes, each described by `one`. `items` is the address of a pointer to them; reading
 * allocates as many as the file has, zeroed. */
typedef karma_status (*karma_i_archive_item_fn)(karma_i_archive *archive, void *item);
karma_status karma_i_archive_list(karma_i_archive *archive, const char *name, void *items, size_t *n, size_t size,
                                  karma_i_archive_item_fn one);
/* Reading: *is_there is set to whether there is a field or an object of this name. Writing: the caller sets it. */
void karma_i_archive_find(const karma_i_archive *archive, const char *name, int *is_there);

/* ---- files ---- */

void karma_i_archive_free(karma_i_archive *archive);

/* Writing: new, the fields, then emit, which passes the bytes to `put` one part after the other. `name`: its name in
 * messages; it is borrowed, and so is err. */
typedef void (*karma_i_put_fn)(void *context, const void *bytes, size_t n);
karma_status karma_i_archive_new(karma_i_archive **out, const char *name, karma_error *err);
/* Closes the description; *size is the number of bytes that emit will write. */
karma_status karma_i_archive_close(karma_i_archive *archive, size_t *size);
void karma_i_archive_emit(const karma_i_archive *archive, karma_i_put_fn put, void *context);
/* All of a closed one into a file, which is whole or not there. */
karma_status karma_i_archive_save(const karma_i_archive *archive, const char *path, karma_error *err);
/* What messages call it, if it is not a model. */
void karma_i_archive_call(karma_i_archive *archive, const char *noun);

/* Reading: `get` fills in up to n bytes and returns how many; 0 at the end. At most one byte more than the header
 * announces is requested, and the size of the header is limited, so that endless input is refused. Nothing is used
 * before the checksum is verified. */
typedef size_t (*karma_i_get_fn)(void *context, void *bytes, size_t n);
karma_status karma_i_archive_open(karma_i_archive **out, const char *name, karma_i_get_fn get, void *context,
                                  karma_error *err);
/* The same for `size` bytes that are in memory, which must outlive the archive and what it has lent. */
karma_status karma_i_archive_open_mapped(karma_i_archive **out, const char *name, const char *noun, void *bytes,
                                         size_t size, karma_error *err);

/* Continues the CRC-32 `crc` by these bytes; start with 0. */
uint32_t karma_i_checksum(uint32_t crc, const void *data, size_t length);

#endif

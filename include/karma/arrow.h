/* Tables from Arrow arrays, without a copy of Arrow's library: the C data interface is a fixed layout of structs
 * (https://arrow.apache.org/docs/format/CDataInterface.html). */
#ifndef KARMA_ARROW_H
#define KARMA_ARROW_H

#include "karma/base.h"
#include "karma/data.h"
#include "karma/options.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE           2
#define ARROW_FLAG_MAP_KEYS_SORTED    4

struct ArrowSchema {
    const char *format;
    const char *name;
    const char *metadata;
    int64_t flags;
    int64_t n_children;
    struct ArrowSchema **children;
    struct ArrowSchema *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};

struct ArrowArray {
    int64_t length;
    int64_t null_count;
    int64_t offset;
    int64_t n_buffers;
    int64_t n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};
#endif

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};
#endif

/* A table of the columns of a struct array (a record batch). NULL and NaN are missing; a row that is NULL as a whole
 * has no cells. Numbers and booleans are numbers, dates and times are numbers in their own unit, texts and dictionaries
 * of texts are categories. Of the options (NULL: none) target, id, ignore, category, numeric and row_weight name
 * columns, as when a file is read; the others have no effect. Copies all it needs; schema and array stay the caller's
 * to release. Errors: KARMA_ERR_DATA for a column of another type, an infinite number or a name that occurs twice, with
 * the column's name in the message, and for arrays that contradict their schema; KARMA_ERR_OPTION for options that name
 * an unknown column; KARMA_ERR_MEMORY. Cost: one pass over the cells. Threads: one at a time per array. */
KARMA_API karma_status karma_table_from_arrow(karma_table **out, const struct ArrowSchema *schema,
                                              const struct ArrowArray *array, const karma_read_options *options,
                                              karma_error *err);
/* The same for all batches of a stream, in one table. The stream stays the caller's to release. Errors: those
 * above, and KARMA_ERR_IO with the stream's own message. Cost: that above, per chunk. Threads: one at a time per
 * stream. */
KARMA_API karma_status karma_table_from_arrow_stream(karma_table **out, struct ArrowArrayStream *stream,
                                                     const karma_read_options *options, karma_error *err);

#ifdef __cplusplus
}
#endif
#endif

/* A column: its name, its kind and, for categories, its levels. */
#ifndef KARMA_I_COLUMN_H
#define KARMA_I_COLUMN_H

#include "base/archive.h"
#include "karma/data.h"

/* A column's name, kind and, for categories, its levels in ascending byte order. */
typedef struct karma_i_column {
    char *name;
    karma_column_kind kind;
    char **levels;
    size_t n_levels;
    double low, high; /* of a model's numbers: the range of the training cells; NaN: not known. Unused in tables */
} karma_i_column;

/* A text with its length; it need not end with a NUL. */
typedef struct karma_i_text {
    const char *text;
    size_t length;
} karma_i_text;

/* Copies `name` and takes ownership of `levels`, even if it fails. */
karma_status karma_i_column_init(karma_i_column *column, const char *name, karma_column_kind kind, char **levels,
                                 size_t n_levels, karma_error *err);
void karma_i_column_clear(karma_i_column *column);
karma_status karma_i_column_copy(karma_i_column *out, const karma_i_column *column, karma_error *err);
/* Columns of a model file: names, kinds and levels. */
karma_status karma_i_columns_archive(karma_i_archive *archive, const char *name, karma_i_column **columns, size_t *n);
/* Index of a level, or n_levels if there is none. Cost: log of the number of levels. */
size_t karma_i_column_find_level(const karma_i_column *column, const char *text, size_t length);
/* The distinct texts among texts[0..n), sorted, *n_out of them; NULL and empty ones are left out. NULL: out of memory.
 */
char **karma_i_distinct_texts(const char *const *texts, size_t n, size_t *n_out);
/* Attributes are matched by name: fails with KARMA_ERR_DATA where two are equal. */
karma_status karma_i_check_names(const char *const *names, size_t n, karma_error *err);
/* Sorts texts in ascending byte order. */
void karma_i_sort_texts(char **texts, size_t n);
/* Frees n texts and the array of them; NULL is allowed. */
void karma_i_free_texts(char **texts, size_t n);

#endif

/* Tables with missing values: attributes, observed cells, labels and row names, and how tables are made. */
#ifndef KARMA_DATA_H
#define KARMA_DATA_H

#include "karma/base.h"
#include "karma/options.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum karma_column_kind { KARMA_COLUMN_NUMBER, KARMA_COLUMN_CATEGORY } karma_column_kind;

/* The rows of a data set as the user knows them: for each row the observed cells and nothing else, so that a missing
 * cell takes no memory and the size of a table of ratings is proportional to their number. */
typedef struct karma_table karma_table;

/* Reads a whole file (or standard input for "-") into a new table. Column types are inferred from all rows
 * unless the options force them. Cost: two passes over the text, which is held in memory. Errors: KARMA_ERR_IO if the
 * file cannot be read, KARMA_ERR_FORMAT with the line for malformed text, KARMA_ERR_OPTION for options that contradict
 * each other or the file, KARMA_ERR_MEMORY. Threads: safe. */
KARMA_API karma_status karma_table_read(karma_table **out, const char *path, const karma_read_options *options,
                                        const karma_hooks *hooks, karma_error *err);

/* The same, but columns take the types that columns of the same names have in `like`, and its targets, if the file has
 * them, are the targets unless the options name others. Errors: those of karma_table_read. Cost: that of
 * karma_table_read. Threads: safe; inputs are only read. */
KARMA_API karma_status karma_table_read_like(karma_table **out, const char *path, const karma_table *like,
                                             const karma_read_options *options, const karma_hooks *hooks,
                                             karma_error *err);

/* Types of the numbers in a caller's arrays. */
#define KARMA_NUMBER_TYPE_LIST(X)                                                                                      \
    X(KARMA_FLOAT64, double)                                                                                           \
    X(KARMA_FLOAT32, float)                                                                                            \
    X(KARMA_INT8, int8_t)                                                                                              \
    X(KARMA_UINT8, uint8_t)                                                                                            \
    X(KARMA_INT16, int16_t)                                                                                            \
    X(KARMA_UINT16, uint16_t)                                                                                          \
    X(KARMA_INT32, int32_t)                                                                                            \
    X(KARMA_UINT32, uint32_t)                                                                                          \
    X(KARMA_INT64, int64_t)                                                                                            \
    X(KARMA_UINT64, uint64_t)
#define KARMA_ENUM_ITEM(constant, c_type) constant,
typedef enum karma_number_type { KARMA_NUMBER_TYPE_LIST(KARMA_ENUM_ITEM) } karma_number_type;
#undef KARMA_ENUM_ITEM

/* A table of numbers from a row-major array; NaN is missing. `names` may be NULL: columns are then c1, c2, ..., and a
 * model takes only a matrix with as many columns as it was learned from. Copies everything. Errors: KARMA_ERR_DATA
 * for an infinite value and for two equal names. Cost: one pass over the array. Threads: safe; inputs are only read. */
KARMA_API karma_status karma_table_from_array(karma_table **out, const double *cells, size_t n_rows, size_t n_columns,
                                              const char *const *names, karma_error *err);
/* The same from an array of any type and layout: the cell of row i and column j lies i * row_stride + j * column_stride
 * bytes from `cells`. Strides may be negative or 0. Errors: those of karma_table_from_array, and KARMA_ERR_OPTION for a
 * type that is not in the list. Cost: that of
 * karma_table_from_array. Threads: safe; inputs are only read. */
KARMA_API karma_status karma_table_from_strided(karma_table **out, const void *cells, karma_number_type type,
                                                size_t n_rows, size_t n_columns, ptrdiff_t row_stride,
                                                ptrdiff_t column_stride, const char *const *names, karma_error *err);

/* A table of numbers from compressed sparse rows: the cells of row i are those from row_start[i] to before
 * row_start[i + 1], columns[k] is the column of a cell, ascending within a row, and values[k] its value; NaN is
 * missing. `absent` says what a cell that is not listed means: KARMA_ABSENT_ZERO or KARMA_ABSENT_MISSING. `names` as
 * above. Errors: KARMA_ERR_OPTION for another `absent`, KARMA_ERR_DATA for a column that is out of range or out
 * of order and for an infinite value; the message names the row. Cost: one pass over the listed cells, or over all
 * cells if absent ones are zeros. Threads: safe; inputs are only read. */
KARMA_API karma_status karma_table_from_csr(karma_table **out, const double *values, const int64_t *columns,
                                            const int64_t *row_start, size_t n_rows, size_t n_columns,
                                            karma_absent absent, const char *const *names, karma_error *err);

/* A table built column by column, from numbers and categories. Columns are copied as they are added;
 * karma_columns_finish makes the table. Errors: KARMA_ERR_MEMORY. Cost: constant. Threads: one at a time may work on
 * one object. */
typedef struct karma_columns karma_columns;
KARMA_API karma_status karma_columns_new(karma_columns **out, size_t n_rows, karma_error *err);
KARMA_API void karma_columns_free(karma_columns *columns);
/* Numbers, one per row, `stride` bytes apart. NaN is missing, and so is a row whose byte in `missing` is not 0 (NULL:
 * none). Errors: KARMA_ERR_DATA for an infinite value, KARMA_ERR_OPTION for a type that is not in the list,
 * KARMA_ERR_MEMORY. Cost: one pass over the rows. Threads: one at a time per object. */
KARMA_API karma_status karma_columns_add_numbers(karma_columns *columns, const char *name, const void *values,
                                                 karma_number_type type, ptrdiff_t stride, const unsigned char *missing,
                                                 karma_error *err);
/* Categories: codes[row] is the index of a level, or negative for a missing cell; codes lie `stride` bytes apart.
 * Levels that no row has are dropped. The empty text is missing. Errors: KARMA_ERR_DATA for a code that is not below
 * n_levels, KARMA_ERR_MEMORY. Cost: one pass over the rows. Threads: one at a time per object. */
KARMA_API karma_status karma_columns_add_categories(karma_columns *columns, const char *name, const int32_t *codes,
                                                    ptrdiff_t stride, const char *const *levels, size_t n_levels,
                                                    karma_error *err);
/* Categories by their texts, one per row; NULL and the empty text are missing. Errors: KARMA_ERR_MEMORY. Cost: one pass
 * over the rows and a sort of the distinct texts. Threads: one at a time per object. */
KARMA_API karma_status karma_columns_add_texts(karma_columns *columns, const char *name, const char *const *texts,
                                               karma_error *err);
/* Texts that identify the rows; they are not learned from. NULL is the empty text. Errors: KARMA_ERR_MEMORY. Cost: one
 * pass over the rows. Threads: one at a time per object. */
KARMA_API karma_status karma_columns_add_ids(karma_columns *columns, const char *name, const char *const *texts,
                                             karma_error *err);
/* Makes the table; targets and weights are then given to it by the functions below. Always frees `columns`.
 * Errors: KARMA_ERR_DATA where two columns have the same name. Cost: one pass over the cells. Threads: one at a time
 * per object. */
KARMA_API karma_status karma_columns_finish(karma_table **out, karma_columns *columns, karma_error *err);

/* Makes a category an ordered one: its cells become numbers, 1 for levels[0], and is learned as a number.
 * Errors: KARMA_ERR_DATA if there is no category of this name, if an observed level is not among `levels`, or if there
 * are fewer than two levels or one occurs twice; the table is then unchanged. KARMA_ERR_MEMORY. Cost: one pass over the
 * cells. Threads: one at a time per object. */
KARMA_API karma_status karma_table_order_category(karma_table *table, const char *name, const char *const *levels,
                                                  size_t n_levels, karma_error *err);

/* Adds a target to a table, or replaces the values of the target that has this name: numbers (NaN: missing) or
 * class names (NULL: missing), one per row. Errors: KARMA_ERR_DATA for an infinite number, KARMA_ERR_MEMORY. Cost: one
 * pass over the rows. Threads: one at a time per object. */
KARMA_API karma_status karma_table_add_target_numbers(karma_table *table, const char *name, const double *values,
                                                      karma_error *err);
KARMA_API karma_status karma_table_add_target_classes(karma_table *table, const char *name, const char *const *classes,
                                                      karma_error *err);
/* Gives the rows weights, one each: 0 or from 1e-100 to 1e100, not all 0. Errors: KARMA_ERR_DATA for other weights,
 * KARMA_ERR_MEMORY. Cost: one pass over the rows. Threads: one at a time per object. */
KARMA_API karma_status karma_table_set_row_weights(karma_table *table, const double *weights, karma_error *err);

/* Gives the rows kernel values that were computed elsewhere: values[row * n_columns + column], finite. To learn from
 * them there is one column per row, in the same order; to predict, one per training row. Errors: KARMA_ERR_DATA for a
 * value that is not finite, KARMA_ERR_MEMORY. Cost: one pass over the values, which are copied. Threads: one at a time
 * per object. */
KARMA_API karma_status karma_table_set_gram(karma_table *table, const float *values, size_t n_columns,
                                            karma_error *err);
/* Number of columns of these values; 0: there are none. */
KARMA_API size_t karma_table_n_gram_columns(const karma_table *table);

/* A new table of the rows rows[0..count), in that order; a row may be named twice. Errors: KARMA_ERR_DATA for a row
 * that is out of range, KARMA_ERR_MEMORY. Cost: the observed cells of the selected rows. Threads: safe; inputs are only
 * read. */
KARMA_API karma_status karma_table_select(karma_table **out, const karma_table *table, const size_t *rows, size_t count,
                                          karma_error *err);
KARMA_API void karma_table_free(karma_table *table);

/* Sizes. */
KARMA_API size_t karma_table_n_rows(const karma_table *table);
KARMA_API size_t karma_table_n_attributes(const karma_table *table);
KARMA_API size_t karma_table_n_observed(const karma_table *table); /* cells in all rows together */

/* Attributes. What is returned belongs to the table. */
KARMA_API const char *karma_table_attribute_name(const karma_table *table, size_t attribute);
KARMA_API karma_column_kind karma_table_attribute_kind(const karma_table *table, size_t attribute);
/* Levels of a category in byte order, or of an ordered one, whose cells are the numbers 1, 2, ..., in its order; 0 for
 * other numbers. */
KARMA_API size_t karma_table_n_levels(const karma_table *table, size_t attribute);
KARMA_API const char *karma_table_level(const karma_table *table, size_t attribute, size_t level);

/* One cell: true and *value (a number, or the index of a level) if it is observed. Cost: log of the row's
 * observed cells. */
KARMA_API int karma_table_cell(const karma_table *table, size_t row, size_t attribute, double *value);

/* Targets: the columns with the labels, in the order in which they were named. */
KARMA_API size_t karma_table_n_targets(const karma_table *table);
KARMA_API const char *karma_table_target_name(const karma_table *table, size_t target);
KARMA_API karma_column_kind karma_table_target_kind(const karma_table *table, size_t target);
/* Classes; for a column of numbers, their spellings in the file, if there are not too many. */
KARMA_API size_t karma_table_n_classes(const karma_table *table, size_t target);
KARMA_API const char *karma_table_class(const karma_table *table, size_t target, size_t index);
/* One label: true and *value (a number, or the index of a class) unless it is missing or there is no such target. */
KARMA_API int karma_table_target(const karma_table *table, size_t target, size_t row, double *value);

/* The weight of a row. */
KARMA_API double karma_table_row_weight(const karma_table *table, size_t row); /* 1 where no weights were given */
/* The column that the weights were read from; "row_weight" if they did not come from a file, NULL if there are none. */
KARMA_API const char *karma_table_weight_name(const karma_table *table);

/* Identifying columns, copied through to predictions. */
KARMA_API size_t karma_table_n_ids(const karma_table *table);
KARMA_API const char *karma_table_id_name(const karma_table *table, size_t id);
KARMA_API const char *karma_table_id(const karma_table *table, size_t id, size_t row);

/* Checks the invariants: cells of a row in ascending order of attributes, finite, level indices in range, weights
 * finite and not negative. Errors: KARMA_ERR_DATA with the row of the first violation. Cost: one pass over the observed
 * cells. Threads: safe; inputs are only read. */
KARMA_API karma_status karma_table_validate(const karma_table *table, karma_error *err);

/* Rows of a hidden low-rank subspace with missing cells: attributes x1, x2, ... and the label `target`. If
 * `complete` is not NULL it receives the same rows with all cells. Errors: KARMA_ERR_OPTION for options out of range,
 * KARMA_ERR_MEMORY. Cost: rows times dimension times rank. Threads: safe. */
KARMA_API karma_status karma_table_synthesise(karma_table **out, karma_table **complete,
                                              const karma_synth_options *options, karma_error *err);

/* Writes a table as CSV: ids, attributes, targets, row weights; missing cells are empty. Errors: KARMA_ERR_IO if
 * writing fails. Cost: one pass over the cells. Threads: safe; inputs are only read. */
KARMA_API karma_status karma_table_write_csv(const karma_table *table, FILE *stream, karma_error *err);

/* Writes one CSV field, quoted if necessary. */
KARMA_API void karma_csv_write_field(FILE *stream, const char *text);

/* A summary of a table: the count of observed cells of each attribute and the most common patterns of missing
 * cells.
 */
typedef struct karma_pattern {
    size_t n_rows;    /* rows with exactly this set of observed attributes */
    size_t n_missing; /* attributes missing in it */
    size_t example;   /* the first such row */
} karma_pattern;

/* Observed cells of an attribute; for numbers also their range and mean (NaN when there are none). */
typedef struct karma_column_summary {
    size_t n_observed;
    double low, high, mean;
} karma_column_summary;

/* summaries[0..n_attributes). Cost: two passes over the observed cells. */
KARMA_API void karma_table_summarise(const karma_table *table, karma_column_summary *summaries);

/* Likely problems of a table, found before learning from it. */
typedef enum karma_finding_kind {
    KARMA_FINDING_EMPTY,    /* a column without observed cells */
    KARMA_FINDING_CONSTANT, /* a column with one value */
    KARMA_FINDING_ID,       /* a column that is different in almost every row */
    KARMA_FINDING_TEXT,     /* a column of long texts, most of them different */
    KARMA_FINDING_COPY,     /* a column with the cells of column `other` */
    KARMA_FINDING_LEAK,     /* a column that determines the label of the first target in a share `value` of the rows */
    KARMA_FINDING_TELLING_HOLES, /* missing rates that differ between labels by `value` */
    KARMA_FINDING_SINGLE_CLASS,  /* a target, number `column`, with `value` classes of one row */
    KARMA_FINDING_UNITS,     /* a column of categories that are numbers with units, "12 kg": the same, or that of level
                                `other` differs from that of level 0 */
    KARMA_FINDING_PART_COPY, /* a column with the cells of column `other` wherever both are observed: `value` rows */
    KARMA_FINDING_SPELLINGS, /* a column in which levels `other` and `value` differ only in upper and lower case or in
                                blanks at their ends, or are two words for yes or for no */
    KARMA_FINDING_CLASS_SPELLINGS, /* the same for the classes of a target, number `column` */
    KARMA_FINDING_NUMBERS,         /* a column of categories most of which are numbers, a share of `value` */
    KARMA_FINDING_TOTAL,           /* the last row looks like a total */
    KARMA_FINDING_NO_LABEL,        /* a target, number `column`, without a label in `value` rows */
    KARMA_FINDING_CODE,  /* a column of numbers with `value`, 99 for example, in `other` rows, far from all other values
                          */
    KARMA_FINDING_DATES, /* a column of categories that look like dates, but not in a supported form; or of numbers such
                            as `value`, 20231231 */
    KARMA_FINDING_HEADER,     /* the first row has texts where all other rows have numbers, in `value` columns; or, if
                                 `other` is not 0, `value` rows repeat the names of the columns, the first is row `other`
                                 from 1 */
    KARMA_FINDING_ONE_CLASS,  /* a target, number `column`, with the same class in all rows */
    KARMA_FINDING_DURATIONS,  /* a column of categories that are durations: 30:05:20 */
    KARMA_FINDING_EMPTY_ROWS, /* `value` rows without a cell and without a label */
    KARMA_FINDING_CLASS_NUMBERS, /* a target, number `column`, with `value` classes most of which have the form of
                                    numbers, as that of level `other` */
    KARMA_FINDING_MARK,          /* a column of categories one of which, level `other`, is a mark such as - or . */
    KARMA_FINDING_STEPS,         /* a column of categories that are ranges or places in an order: 46-55, 3rd */
    KARMA_FINDING_PAIRS,         /* a column of categories that are two or three numbers: 120/80, 12 (30%) */
    KARMA_FINDING_CLASS_MARK,    /* a target, number `column`, one of whose classes, `other`, is a mark such as - */
    KARMA_FINDING_LABEL_CODE,    /* a target, number `column`, of numbers with such a code in `other` rows:
                                    KARMA_FINDING_CODE */
    KARMA_FINDING_NAMES          /* the names of the columns look like a row: `value` of them are also values of their
                                    columns, as that of attribute or target `column` (a target if `other` is 1) */
} karma_finding_kind;

typedef struct karma_finding {
    karma_finding_kind kind;
    size_t column, other; /* attributes, unless the kind is about targets */
    double value;
} karma_finding;

typedef struct karma_review {
    karma_finding *findings;
    size_t n_findings;
} karma_review;

/* Reviews a table of up to 2e8 cells; a larger one has no findings. Errors: KARMA_ERR_MEMORY only. Cost: a sort
 * of every column, and up to 256 cells of every pair of up to 4000 columns. Free with karma_review_clear. Threads:
 * safe; inputs are only read. */
KARMA_API karma_status karma_table_review(karma_review *out, const karma_table *table, karma_error *err);
KARMA_API void karma_review_clear(karma_review *review);
/* The finding as a sentence without its full stop. Returns the length that snprintf would. */
KARMA_API int karma_finding_text(char *text, size_t size, const karma_finding *finding, const karma_table *table);

/* n_observed[0..n_attributes) */
KARMA_API void karma_table_count_observed(const karma_table *table, size_t *n_observed);
/* Fills at most `max_patterns`, the most common first (ties: first seen first), and sets *n_distinct to the number of
 * all patterns. Errors: KARMA_ERR_MEMORY. Cost: a sort of the rows by their patterns. Threads: safe; inputs are only
 * read. */
KARMA_API karma_status karma_table_patterns(const karma_table *table, karma_pattern *patterns, size_t max_patterns,
                                            size_t *n_distinct, karma_error *err);

#ifdef __cplusplus
}
#endif
#endif

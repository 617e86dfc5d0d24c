/* The inside of a table, and the builder that readers fill it through. */
#ifndef KARMA_I_TABLE_H
#define KARMA_I_TABLE_H

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

/* A cell of a file whose text is of no use where the model has numbers or dates: the table has no value there. */
typedef struct karma_i_text_cell {
    size_t row, attribute;
} karma_i_text_cell;

/* A column to be learned: what it is and its value in every row. */
typedef struct karma_i_target {
    karma_i_column column;
    double *value; /* NaN: missing */
} karma_i_target;

/* Compressed rows: the cells of row i are those from row_start[i] to row_start[i + 1]. Invariants: attributes
 * ascend within a row; values are finite; a category's value is the index of one of its levels; weights are finite
 * and not negative. */
struct karma_table {
    size_t n_rows, n_attributes;
    karma_i_column *attributes;
    size_t *row_start;    /* n_rows + 1 */
    uint32_t *cell_owner; /* the attribute of each observed cell */
    double *cell_value;
    size_t n_targets;
    karma_i_target *targets;
    double *row_weight; /* NULL: all 1 */
    char *weight_name;  /* of the weights' column; NULL where there are none */
    /* a precomputed kernel: row i's values against the training rows, and which of them row i is */
    float *gram; /* row-major, n_gram_columns per row; NULL: none */
    size_t n_gram_columns;
    size_t *gram_column; /* n_rows; meaningful for training rows */
    int is_matrix;       /* columns have places but no names that mean something: they are matched by their number */
    karma_i_text_cell *text_cells; /* in the order of rows; those of rows that were selected from a table are lost */
    size_t n_text_cells;
    karma_read_options *reading; /* how its file was read (reading.h); NULL: it came from memory */
    size_t n_ids;
    char **id_names;
    char **ids; /* row-major, n_rows * n_ids */
};

/* The observed cells of one row, borrowed. */
typedef struct karma_i_row_cells {
    size_t count;
    const uint32_t *attribute;
    const double *value;
} karma_i_row_cells;

static inline karma_i_row_cells karma_i_table_cells(const karma_table *table, size_t row) {
    size_t first = table->row_start[row];
    return (karma_i_row_cells){table->row_start[row + 1] - first, table->cell_owner + first, table->cell_value + first};
}

/* A builder owns the table it makes until karma_i_builder_finish hands it over. Order of calls: columns, then
 * rows: for each row its cells in ascending order of attributes, then karma_i_builder_end_row. All functions
 * fail with KARMA_ERR_MEMORY only. */
typedef struct karma_i_builder {
    karma_table *table;
    size_t n_cells, cell_capacity, owner_capacity, row_capacity, weight_capacity, id_capacity;
    size_t attribute_capacity, text_capacity;
    size_t target_capacity; /* rows that every target has room for */
} karma_i_builder;

karma_status karma_i_builder_init(karma_i_builder *builder, karma_error *err);
void karma_i_builder_clear(karma_i_builder *builder);
/* Columns. `name` is copied. Levels, if any, are moved: the builder frees them, also when it fails. They must
 * be in ascending byte order without repeats. */
karma_status karma_i_builder_add_attribute(karma_i_builder *builder, const char *name, karma_column_kind kind,
                                           char **levels, size_t n_levels, karma_error *err);
/* Columns of numbers with the names that were given, or c1, c2, ... (NULL). Fails with KARMA_ERR_DATA for equal names.
 */
karma_status karma_i_builder_name_columns(karma_i_builder *builder, size_t n_columns, const char *const *names,
                                          karma_error *err);
karma_status karma_i_builder_add_target(karma_i_builder *builder, const char *name, karma_column_kind kind,
                                        char **levels, size_t n_levels, karma_error *err);
/* Rows have weights, which come from a column of this name. */
karma_status karma_i_builder_set_weighted(karma_i_builder *builder, const char *name, karma_error *err);
karma_status karma_i_builder_add_id(karma_i_builder *builder, const char *name, karma_error *err);
/* Copies of all attributes and targets of a table; rows have weights if those of the table have. */
karma_status karma_i_builder_copy_columns(karma_i_builder *builder, const karma_table *table, karma_error *err);
/* What is not learned from: the names of the ids and, if they are wanted, targets and weights. */
karma_status karma_i_builder_copy_roles(karma_i_builder *builder, const karma_table *table, int with_labels,
                                        karma_error *err);
/* Rows. */
karma_status karma_i_builder_add_cell(karma_i_builder *builder, size_t attribute, double value, karma_error *err);
/* Instead of a cell: its text is not what the attribute holds. */
karma_status karma_i_builder_add_text_cell(karma_i_builder *builder, size_t row, size_t attribute, karma_error *err);
/* The cells of a row of `table`, whose attributes are the builder's first ones. */
karma_status karma_i_builder_copy_cells(karma_i_builder *builder, const karma_table *table, size_t row,
                                        karma_error *err);
/* `targets` are n_targets values (NaN: missing), `ids` n_ids texts with their lengths; both may be NULL where there
 * are none. `weight` is looked at only if rows have weights. */
typedef struct karma_i_text {
    const char *text;
    size_t length;
} karma_i_text;
karma_status karma_i_builder_end_row(karma_i_builder *builder, const double *targets, double weight,
                                     const karma_i_text *ids, karma_error *err);
/* The same with the targets, the weight and the ids of a row of `table`, as far as the builder has them: all targets of
 * the table or none. */
karma_status karma_i_builder_end_row_like(karma_i_builder *builder, const karma_table *table, size_t row,
                                          karma_error *err);
/* Rows made apart from the table, whose targets come later. */
typedef struct karma_i_part {
    size_t n_rows, n_cells;
    const size_t *row_end; /* cells up to the end of each row */
    const uint32_t *owner;
    const double *value;
    const double *weights; /* if rows have weights */
    const char *id_bytes;  /* the ids of all rows without anything between them */
    const size_t *id_end;  /* n_ids per row: where each ends */
} karma_i_part;
/* So many more rows and cells, to be filled by karma_i_builder_place: any thread may place any part, at the row and the
 * cell where it belongs. False: out of memory. */
karma_status karma_i_builder_extend(karma_i_builder *builder, size_t n_rows, size_t n_cells, karma_error *err);
int karma_i_builder_place(karma_i_builder *builder, size_t first_row, size_t first_cell, const karma_i_part *part);
/* When all rows are there: n_targets labels per row. */
karma_status karma_i_builder_set_labels(karma_i_builder *builder, const double *labels, karma_error *err);
/* Gives back memory that growing has left over. */
void karma_i_builder_trim(karma_i_builder *builder);
void karma_i_builder_finish(karma_table **out, karma_i_builder *builder);

/* Remembers how the table was read. */
karma_status karma_i_table_set_reading(karma_table *table, const karma_read_options *options, karma_error *err);

/* The kernel values of the rows that were selected into `out`, if the table has any. */
karma_status karma_i_table_select_gram(karma_table *out, const karma_table *table, const size_t *rows,
                                       karma_error *err);

void karma_i_column_clear(karma_i_column *column);
karma_status karma_i_column_copy(karma_i_column *out, const karma_i_column *column, karma_error *err);
/* Columns of a model file: names, kinds and levels. */
karma_status karma_i_columns_archive(karma_i_archive *archive, const char *name, karma_i_column **columns, size_t *n);
/* Index of a level, or n_levels if it is none. Cost: log of the number of levels. */
size_t karma_i_column_find_level(const karma_i_column *column, const char *text, size_t length);
/* Finite and at least 0: fit to be the weight of a row. */
int karma_i_is_weight(double value);
/* The distinct texts among texts[0..n), sorted, *n_out of them; NULL and empty ones are left out. NULL: out of memory.
 */
char **karma_i_distinct_texts(const char *const *texts, size_t n, size_t *n_out);
/* Attributes are matched by name: fails with KARMA_ERR_DATA where two are equal. */
karma_status karma_i_check_names(const char *const *names, size_t n, karma_error *err);
/* Sorts texts in ascending byte order. */
void karma_i_sort_texts(char **texts, size_t n);

#endif

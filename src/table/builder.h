/* The builder: every table is made through it. */
#ifndef KARMA_I_BUILDER_H
#define KARMA_I_BUILDER_H

#include "table/table.h"

/* A builder owns the table it makes until karma_i_builder_finish hands it over. Order of calls: columns, then
 * rows: for each row its cells in ascending order of attributes, then karma_i_builder_end_row. They fail with
 * KARMA_ERR_MEMORY only, those of a stored table also with KARMA_ERR_IO. */
typedef struct karma_i_builder {
    karma_table *table;
    size_t n_cells, cell_capacity, owner_capacity, row_capacity, weight_capacity, id_capacity;
    size_t attribute_capacity, text_capacity;
    size_t target_capacity; /* rows that every target has room for */
} karma_i_builder;

karma_status karma_i_builder_init(karma_i_builder *builder, karma_error *err);
void karma_i_builder_clear(karma_i_builder *builder);
/* Before the first row: cells are kept in files of this directory. */
karma_status karma_i_builder_store(karma_i_builder *builder, const char *folder, karma_error *err);
/* Columns. `name` is copied. Levels, if any, are moved: the builder frees them, even if it fails. They must
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
/* Copies of all attributes and targets of a table; rows have weights if those of the table do. */
karma_status karma_i_builder_copy_columns(karma_i_builder *builder, const karma_table *table, karma_error *err);
/* The names of the ids and, with `with_labels`, targets and weights. */
karma_status karma_i_builder_copy_roles(karma_i_builder *builder, const karma_table *table, int with_labels,
                                        karma_error *err);
/* Rows. */
/* Room for so many of them, and so many cells in all. */
karma_status karma_i_builder_reserve(karma_i_builder *builder, size_t n_rows, size_t n_cells, karma_error *err);
karma_status karma_i_builder_add_cell(karma_i_builder *builder, size_t attribute, double value, karma_error *err);
/* Instead of a cell, where its text cannot be read as a value of the attribute. */
karma_status karma_i_builder_add_text_cell(karma_i_builder *builder, size_t row, size_t attribute, karma_error *err);
/* The cells of a row of `table`, whose attributes come first in the builder. */
karma_status karma_i_builder_copy_cells(karma_i_builder *builder, const karma_table *table, size_t row,
                                        karma_error *err);
/* `targets` are n_targets values (NaN: missing), `ids` n_ids texts with their lengths; both may be NULL if there are
 * none. `weight` is used only if rows have weights. */
karma_status karma_i_builder_end_row(karma_i_builder *builder, const double *targets, double weight,
                                     const karma_i_text *ids, karma_error *err);
/* The same with the targets, the weight and the ids of a row of `table`, as far as the builder has them: all targets of
 * the table or none. */
karma_status karma_i_builder_end_row_like(karma_i_builder *builder, const karma_table *table, size_t row,
                                          karma_error *err);
/* Rows that were parsed outside the table; their targets come later. */
typedef struct karma_i_row_block {
    size_t n_rows, n_cells;
    const size_t *row_end; /* cells up to the end of each row */
    const uint32_t *owner;
    const double *value;
    const double *weights; /* if rows have weights */
    const char *id_bytes;  /* the ids of all rows, one after the other */
    const size_t *id_end;  /* n_ids per row: where each ends */
} karma_i_row_block;
/* Adds n_rows rows and n_cells cells, to be filled by karma_i_builder_place: any thread may place any block, at its
 * first row and first cell. Placing returns false if memory runs out. */
karma_status karma_i_builder_extend(karma_i_builder *builder, size_t n_rows, size_t n_cells, karma_error *err);
int karma_i_builder_place(karma_i_builder *builder, size_t first_row, size_t first_cell,
                          const karma_i_row_block *block);
/* After all rows: n_targets labels per row. */
karma_status karma_i_builder_set_labels(karma_i_builder *builder, const double *labels, karma_error *err);
/* Frees unused capacity. */
void karma_i_builder_trim(karma_i_builder *builder);
void karma_i_builder_finish(karma_table **out, karma_i_builder *builder);

#endif

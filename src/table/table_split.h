/* Tables whose rows are split over processes: table->split. Columns, with all their levels, are the same everywhere. */
#ifndef KARMA_I_TABLE_SPLIT_H
#define KARMA_I_TABLE_SPLIT_H

#include "table/table.h"

/* How the rows are split; of a table that is not, all rows are here. */
static inline karma_i_partition karma_i_table_split(const karma_table *table) {
    return table->split.ranks ? table->split : karma_i_partition_whole(table->n_rows);
}
/* The rows of all processes. */
static inline size_t karma_i_table_n_all(const karma_table *table) {
    return karma_i_table_split(table).n_rows;
}
static inline const karma_ranks *karma_i_table_ranks(const karma_table *table) {
    return table->split.ranks ? table->split.ranks : &karma_i_one_rank;
}

/* Fails for a table that is split: what learns from a part of the rows as if they were all would be wrong. */
karma_status karma_i_table_check_whole(const karma_table *table, karma_error *err);

/* A new table with the rows of `table`, which are this process's part of all rows in the order of the ranks, moved so
 * that every process has whole granules (base/partition.h). Ids are left out. */
karma_status karma_i_table_balance(karma_table **out, const karma_table *table, const karma_ranks *ranks,
                                   karma_error *err);
/* A new table of some of this process's rows; if the table is split, the new one is, too, in whole granules. */
karma_status karma_i_table_select(karma_table **out, const karma_table *table, const size_t *rows, size_t n,
                                  karma_error *err);
/* A new table, the same everywhere, of rows that are anywhere: index[0..count) counts through all processes. */
karma_status karma_i_table_gather(karma_table **out, const karma_table *table, const size_t *index, size_t count,
                                  karma_error *err);
/* A new table, the same everywhere, of all rows with their labels and weights, but no cells; and how many cells each of
 * them has, a new array. */
karma_status karma_i_table_gather_labels(karma_table **out, size_t **n_cells, const karma_table *table,
                                         karma_error *err);

#endif

/* The part of a recipe that gives every row its leaf in each tree of a forest: from ranks and codes with missing cells
 * to one code per tree, always observed. Σκ of two such rows is the number of trees in which they share a leaf. */
#ifndef KARMA_I_LEAVES_H
#define KARMA_I_LEAVES_H

#include "forest/forest_learn.h"
#include "table/rows.h"
#include "table/table.h"

/* From encoded training rows of ranks and codes, whose columns these are, and their labels. */
karma_status karma_i_leaves_learn(karma_i_forest **out, const karma_i_rows *rows, const karma_i_column *columns,
                                  const karma_i_forest_labels *labels, const karma_i_forest_options *options,
                                  const karma_hooks *hooks, karma_error *err);

/* New rows: their leaves. The same for any number of threads. */
karma_status karma_i_leaves_apply(karma_i_rows **out, const karma_i_forest *forest, const karma_i_rows *rows,
                                  int threads, karma_error *err);
karma_status karma_i_leaves_new_rows(karma_i_rows **out, const karma_i_forest *forest, size_t capacity,
                                     karma_error *err);
/* Whether rows have leaves of these trees; some may have none. */
int karma_i_leaves_fit(const karma_i_rows *rows, const karma_i_forest *forest);

/* The forest in a model file, of columns with ranks or codes; reading makes a new one. */
karma_status karma_i_leaves_archive(karma_i_archive *archive, karma_i_forest **forest, const karma_i_column *columns,
                                    size_t n_columns);

#endif

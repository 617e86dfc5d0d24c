/* Tries candidates on a sample of the rows, and learns the best ones from all rows. */
#ifndef KARMA_I_SEARCH_ROWS_H
#define KARMA_I_SEARCH_ROWS_H

#include "karma/search.h"

/* `rows` all have a label; the sample has at most `most` of them. Rows may be split over processes only if
 * there are more: then every process gets the sample and tries the same candidates. */
karma_status karma_i_search_rows(karma_model **out, const karma_table *rows, size_t most, const karma_fit_options *fit,
                                 const karma_search_options *options, const karma_hooks *hooks, karma_error *err);

#endif

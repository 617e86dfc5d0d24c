/* How much memory a search takes, and how many rows it can therefore use. */
#ifndef KARMA_I_ESTIMATE_H
#define KARMA_I_ESTIMATE_H

#include "karma/options.h"

/* Rows that candidates are tried on: as many as the effort looks at, fewer if their kernel matrices would not fit
 * --memory. */
size_t karma_i_sample_rows(const karma_fit_options *fit, int effort);

#endif

/* The memory that a search takes, and the number of rows that it can therefore use. */
#ifndef KARMA_I_ESTIMATE_H
#define KARMA_I_ESTIMATE_H

#include "karma/options.h"

/* The number of rows for trying candidates: that of the effort, or fewer if the kernel matrices would not fit
 * --memory. */
size_t karma_i_sample_rows(const karma_fit_options *fit, int effort);

#endif

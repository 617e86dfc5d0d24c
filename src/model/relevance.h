/* How much each attribute matters for the labels: the weights of κ_j in the kernel `relevance`. */
#ifndef KARMA_I_RELEVANCE_H
#define KARMA_I_RELEVANCE_H

#include "table/rows.h"

/* The number of rows that are worth using: the cost is its square times the attributes. */
size_t karma_i_relevance_rows(size_t n_attributes);

/* weights[j] in [0, 1], the largest 1, from encoded rows with features, ranks or codes. targets and label_weights are
 * rows × n_outputs; where a label weight is 0 the target is not looked at. The same for any number of threads. */
karma_status karma_i_relevance_learn(double *weights, const karma_i_rows *rows, const double *targets,
                                     const double *label_weights, size_t n_outputs, int threads, karma_error *err);

#endif

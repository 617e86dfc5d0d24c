/* From a planned kernel and training rows to a kernel. */
#ifndef KARMA_I_KERNEL_BUILD_H
#define KARMA_I_KERNEL_BUILD_H

#include "base/archive.h"
#include "base/partition.h"
#include "kernel/plan.h"

/* The facts that a factor learns from the training rows; model files store them. */
typedef struct karma_i_factor_facts {
    double scale;           /* ν */
    double spread;          /* s of its outer map */
    size_t largest_overlap; /* the most attributes that a training row observes */
} karma_i_factor_facts;

/* A kernel with facts learned from these rows. */
karma_status karma_i_kernel_learn(karma_i_kernel *kernel, const karma_i_plan_kernel *plan, const karma_i_rows *rows,
                                  int threads, karma_error *err);
/* Rows among which distances are averaged, evenly spread over n_rows: index[0..*count). */
enum { KARMA_I_DISTANCE_ROWS = 512 };
size_t karma_i_distance_rows(size_t index[KARMA_I_DISTANCE_ROWS], size_t n_rows);
/* The same for rows that are split over processes; `sample` are copies of the rows of karma_i_distance_rows. Both NULL:
 * all rows are here. */
karma_status karma_i_kernel_learn_split(karma_i_kernel *kernel, const karma_i_plan_kernel *plan,
                                        const karma_i_rows *rows, const karma_i_partition *split,
                                        const karma_i_rows *sample, int threads, karma_error *err);
/* The same with facts that are known, one per factor. */
karma_status karma_i_kernel_restore(karma_i_kernel *kernel, const karma_i_plan_kernel *plan,
                                    const karma_i_factor_facts *facts, karma_error *err);
karma_i_factor_facts karma_i_factor_known(const karma_i_factor *factor);

/* The facts of a factor in a model file. `rows`: the support rows in the factor's encoding, which the facts must fit.
 */
karma_status karma_i_facts_archive(karma_i_archive *archive, karma_i_factor_facts *facts,
                                   const karma_i_plan_factor *plan, const karma_i_rows *rows);

/* The most attributes that one of these rows observes. */
size_t karma_i_largest_overlap(const karma_i_rows *rows);

#endif

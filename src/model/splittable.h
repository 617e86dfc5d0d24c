/* What can be learned from rows that are split over processes. */
#ifndef KARMA_I_SPLITTABLE_H
#define KARMA_I_SPLITTABLE_H

#include "kernel/plan.h"
#include "table/table.h"

/* Fails for a solver or a kernel that needs all rows in one process, if `rows` are split. */
karma_status karma_i_check_splittable(const karma_i_plan *plan, const karma_fit_options *options,
                                      const karma_table *rows, karma_error *err);

#endif

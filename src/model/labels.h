/* From a label column to the input of solvers: the task, the classes, one target per row and output. */
#ifndef KARMA_I_LABELS_H
#define KARMA_I_LABELS_H

#include "karma/options.h"
#include "table/table.h"

typedef struct karma_i_labels {
    karma_task task;
    size_t n_classes;     /* 0 for regression */
    char **classes;       /* original spelling; numbers in ascending order, else in byte order */
    size_t *class_count;  /* in the training rows */
    double shift, factor; /* of a regression: the solver sees (y - shift) * factor */
} karma_i_labels;

/* Rows without a label are passed over; at least one has one. */
karma_status karma_i_labels_learn(karma_i_labels *out, const karma_i_target *target, const karma_i_partition *split,
                                  const karma_fit_options *options, const karma_hooks *hooks, karma_error *err);
karma_status karma_i_labels_copy(karma_i_labels *out, const karma_i_labels *labels, karma_error *err);
void karma_i_labels_clear(karma_i_labels *labels);

/* Of a target in a model file; reading fills in zeroed ones. */
karma_status karma_i_labels_archive(karma_i_archive *archive, karma_i_labels *labels);

/* Counts the classes again, in these rows. */
karma_status karma_i_labels_count(karma_i_labels *labels, const karma_i_target *target, const karma_i_partition *split,
                                  karma_error *err);

/* The class of each row's label: by its text or, where both are numbers, by its value. n_classes: missing or
 * unknown. */
karma_status karma_i_labels_classes(size_t *out, const karma_i_labels *labels, const karma_i_target *target,
                                    size_t n_rows, karma_error *err);

#endif

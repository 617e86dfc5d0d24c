/* What the solver is given, output by output: from a table's labels and a model's heads. */
#ifndef KARMA_I_OUTPUTS_H
#define KARMA_I_OUTPUTS_H

#include "model/model.h"

typedef struct karma_i_outputs {
    double *targets, *weights; /* row-major, one a row and output */
    karma_i_loss *losses;      /* one an output */
} karma_i_outputs;

/* Of all rows of `table`, which has the model's targets. To be cleared also when it fails. */
karma_status karma_i_outputs_fill(karma_i_outputs *out, const karma_model *model, const karma_table *table,
                                  karma_error *err);
void karma_i_outputs_clear(karma_i_outputs *outputs);

#endif

/* Every question that can be asked of a model, for the targets that load or learn one. */
#ifndef KARMA_FUZZ_ASK_H
#define KARMA_FUZZ_ASK_H

#include "fuzz.h"

/* Explains, completes, judges and measures the rows with this model. Answers are finite where the headers say so,
 * and refusals have a message. */
void fuzz_ask(const karma_model *model, const karma_table *table);

#endif

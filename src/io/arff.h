/* ARFF, the format of Weka's data sets: a header of typed attributes, then rows. */
#ifndef KARMA_I_ARFF_H
#define KARMA_I_ARFF_H

#include "io/reader.h"

karma_status karma_i_arff_read(karma_table **out, const karma_i_read_request *request, karma_error *err);

/* Whether a text begins like an ARFF file, whatever its name: with comments, then @relation or @attribute. */
int karma_i_looks_like_arff(const karma_i_source *source);

#endif

/* LIBSVM and svmlight text to table: lines of "label index:value ... # comment". */
#ifndef KARMA_I_LIBSVM_H
#define KARMA_I_LIBSVM_H

#include "io/reader.h"

karma_status karma_i_libsvm_read(karma_table **out, const karma_i_read_request *request, karma_error *err);

#endif

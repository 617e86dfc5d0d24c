/* Delimited text to table. */
#ifndef KARMA_I_CSV_H
#define KARMA_I_CSV_H

#include "io/reader.h"

karma_status karma_i_csv_read(karma_table **out, const karma_i_read_request *request, karma_error *err);

#endif

/* Matrices of kernel values as `karma gram` writes them: plain numbers, one CSV line per row, no header. */
#ifndef KARMA_I_GRAM_FILE_H
#define KARMA_I_GRAM_FILE_H

#include "karma/data.h"

/* Gives the table the matrix in the file, which must have the same number of rows. */
karma_status karma_i_gram_read(karma_table *table, const char *path, karma_error *err);
/* A table without columns for the rows of the matrix in the file. */
karma_status karma_i_gram_read_only(karma_table **out, const char *path, karma_error *err);

#endif

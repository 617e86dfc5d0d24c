/* Splits a file of delimited text among several processes, and merges their surveys. */
#ifndef KARMA_I_CSV_PART_H
#define KARMA_I_CSV_PART_H

#include "io/csv_file.h"

/* Before any row is read, restricts the rows to those of this process: whole records, about the same number
 * of bytes for each process. Every process finds how its bytes split into records for each state that the
 * text before may end in (in quotes or not); after an exchange each knows where its first record starts. */
karma_status karma_i_csv_take_part(karma_i_csv_file *file, karma_error *err);

/* After a pass over the rows: merges the surveys of all processes, makes codes of texts common to all, and
 * sets file->n_all_rows and the largest weight for all. */
karma_status karma_i_csv_share(karma_i_csv_file *file, karma_error *err);

#endif

/* A part of a file of delimited text for each of several processes, and what they find out together. */
#ifndef KARMA_I_CSV_PART_H
#define KARMA_I_CSV_PART_H

#include "io/csv_file.h"

/* Leaves of the rows, of which none has been read, those of this process: whole records, about as many bytes for each.
 * Every process finds out how the records of its bytes would be cut for each state that the text before may leave (in
 * quotes or not), and when all have told each other, each knows where its first record starts. */
karma_status karma_i_csv_take_part(karma_i_csv_file *file, karma_error *err);

/* After a pass over the rows: the surveys become those of all processes, codes of texts become theirs, and
 * file->n_all_rows and the largest weight too. */
karma_status karma_i_csv_share(karma_i_csv_file *file, karma_error *err);

#endif

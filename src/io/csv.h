/* Delimited text to table. */
#ifndef KARMA_I_CSV_H
#define KARMA_I_CSV_H

#include "io/reader.h"

karma_status karma_i_csv_read(karma_table **out, const karma_i_read_request *request, karma_error *err);

/* The same table by table as the text arrives: one for each window. An expectation gives the kinds of
 * columns. The decimal mark and the order of dates apply from the place where the file shows them. */
typedef struct karma_i_csv_stream karma_i_csv_stream;
/* The request must outlive the stream. */
karma_status karma_i_csv_stream_open(karma_i_csv_stream **out, const karma_i_read_request *request, karma_error *err);
/* *out is NULL after the last row, when the notices on all columns have been given. */
karma_status karma_i_csv_stream_next(karma_table **out, karma_i_csv_stream *stream, karma_error *err);
void karma_i_csv_stream_free(karma_i_csv_stream *stream);

#endif

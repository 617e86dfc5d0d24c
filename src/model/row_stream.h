/* The columns and types that a model expects of new rows. */
#ifndef KARMA_I_ROW_STREAM_H
#define KARMA_I_ROW_STREAM_H

#include "io/first_rows.h"
#include "io/reader.h"
#include "model/model.h"

typedef struct karma_i_model_stream {
    const char **names; /* of the targets; owned */
    karma_i_expectation expectation;
    karma_i_table_stream *tables; /* owned; NULL: not open */
} karma_i_model_stream;

/* Fills all but the tables. The model must outlive it. Fails with KARMA_ERR_MEMORY only. */
karma_status karma_i_model_expect(karma_i_model_stream *out, const karma_model *model, karma_error *err);
void karma_i_model_stream_clear(karma_i_model_stream *stream);

/* Rows of a text that has been opened, from its start, and is the stream's from now on, also when this fails. The model
 * and the hooks must outlive the stream. */
karma_status karma_i_row_stream_of_text(karma_row_stream **out, const karma_model *model, karma_i_first_rows *text,
                                        const karma_read_options *options, const karma_hooks *hooks, karma_error *err);

#endif

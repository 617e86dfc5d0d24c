/* Outputs other than files: the text is kept in a temporary file and handed over at the commit.
 */
#ifndef KARMA_I_OUTPUT_SINK_H
#define KARMA_I_OUTPUT_SINK_H

#include "karma/base.h"

typedef struct karma_i_output_sink {
    /* Takes the text from its current position to its end. All or nothing. */
    karma_status (*deliver)(void *self, FILE *text, karma_error *err);
    void (*free)(void *self);
    void *self;
} karma_i_output_sink;

/* A new output that the sink takes; it frees the sink, also if this fails. */
karma_status karma_i_output_open_sink(karma_output **out, const char *name, karma_i_output_sink sink, karma_error *err);

#endif

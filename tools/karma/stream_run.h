/* karma online without --regret: learning from a stream. */
#ifndef KARMA_STREAM_RUN_H
#define KARMA_STREAM_RUN_H

#include "tool.h"

int run_stream(tool *t);
/* train --solver online --continue MODEL: the rows of a table are the next of the stream. */
int continue_training(tool *t);

/* Whether the option is on the command line. */
int was_given(const tool *t, const char *name);

#endif

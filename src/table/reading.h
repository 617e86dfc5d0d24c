/* How a table was read from its file. A model remembers this, so that new files are read in the same way. */
#ifndef KARMA_I_READING_H
#define KARMA_I_READING_H

#include "base/archive.h"
#include "karma/options.h"

/* The names of the read options that a model remembers; NULL ends the list. All others concern one file only. */
extern const char *const karma_i_reading_names[];

/* A copy of the remembered options, the others at their defaults. Cleared by karma_options_clear. */
karma_status karma_i_reading_copy(karma_read_options *out, const karma_read_options *options, karma_error *err);

/* The same in memory of its own, freed by karma_i_reading_free. */
karma_status karma_i_reading_new(karma_read_options **out, const karma_read_options *options, karma_error *err);

/* `out` becomes `given` (NULL: the defaults) with what is remembered in place of what was not given: lists that are
 * empty and values at their defaults. Where both are set and differ, the given one is taken, with a notice. To
 * be cleared by karma_options_clear. */
karma_status karma_i_reading_merge(karma_read_options *out, const karma_read_options *given,
                                   const karma_read_options *remembered, const karma_hooks *hooks, karma_error *err);

/* The object "reading" of a model file; *reading is NULL where the table came from memory. What is read is new. */
karma_status karma_i_reading_archive(karma_i_archive *archive, karma_read_options **reading);
void karma_i_reading_free(karma_read_options *reading);

#endif

/* Options that were given and change nothing: the user is told, since they were meant to do something. */
#ifndef KARMA_I_IDLE_OPTIONS_H
#define KARMA_I_IDLE_OPTIONS_H

#include "model/model.h"

/* A notice for each option of a model, learned without a search, that differs from its default and has no effect on
 * its kernel, its losses or its solver. */
void karma_i_notice_idle_options(const karma_model *model, const karma_hooks *hooks);

#endif

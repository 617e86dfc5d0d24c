/* A committee of fewer kernels that gives nearly the same scores. */
#ifndef KARMA_I_SHORTEN_H
#define KARMA_I_SHORTEN_H

#include "search/choose.h"

/* Removes kernels, then single machines, from a choice while the scores of the left-out rows hardly change. With
 * the scores f before and g after, a the best scale for the targets y, and means over the left-out rows:
 *
 *   a² mean (f - g)² <= share · min(mean (a f - y)², mean (a f)²)
 *
 * Squared errors grow by about that share if the change has nothing to do with the errors, and what is explained
 * shrinks by no larger share. Each time, the kernel
 * that changes the scores least is removed, and the other weights take its place. They sum to 1. */
karma_status karma_i_choice_shorten(karma_i_choice *choice, const karma_i_race *race, double share, karma_error *err);

#endif

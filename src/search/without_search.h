/* Learning with options as they are given, without a search. */
#ifndef KARMA_I_WITHOUT_SEARCH_H
#define KARMA_I_WITHOUT_SEARCH_H

#include "karma/search.h"

/* A notice for each option that only a search would use. `is_judged`: the goal is what the result is judged by. */
void karma_i_notice_idle_search(const karma_search_options *options, int is_judged, const karma_hooks *hooks);

#endif

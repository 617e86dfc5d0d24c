/* A description of a search, for reports and model files. */
#ifndef KARMA_I_ACCOUNT_H
#define KARMA_I_ACCOUNT_H

#include "karma/search.h"
#include "search/choose.h"
#include "search/goal.h"

typedef struct karma_i_search_facts {
    const karma_i_race *race;
    const karma_i_choice *choice;
    const karma_i_plan *plan; /* the choice as it is learned */
    const karma_i_judge *judge;
    karma_rule rule;
    size_t most_machines;
    size_t n_rows;  /* of the table; the race may use a sample */
    double seconds; /* spent on trying candidates */
    karma_search_end end;
} karma_i_search_facts;

/* Caller frees with karma_i_search_info_free. */
karma_status karma_i_account(karma_search_info **out, const karma_i_search_facts *facts, karma_error *err);

#endif

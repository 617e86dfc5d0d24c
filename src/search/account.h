/* What a search did, for people to read and for model files. */
#ifndef KARMA_I_ACCOUNT_H
#define KARMA_I_ACCOUNT_H

#include "search/choose.h"
#include "search/goal.h"

typedef struct karma_i_search_facts {
    const karma_i_race *race;
    const karma_i_choice *choice;
    const karma_i_judge *judge;
    karma_rule rule;
    size_t most_machines;
    size_t n_rows;    /* of the table; the race may be on a sample */
    double seconds;   /* spent on trying */
    int is_cut_short; /* by time or by the user */
} karma_i_search_facts;

/* A JSON text. Caller frees. */
karma_status karma_i_account(char **out, const karma_i_search_facts *facts, karma_error *err);

#endif

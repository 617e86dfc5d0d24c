/* What --kernel says: the kernels of one machine or of several, whose scores are averaged.
 *
 *     committee = member { "|" member }
 *     member    = formula [ "@" machine { "," machine } ]
 *     machine   = number [ ":" weight ]
 *
 * A machine has the member's kernel and a multiple of the options' C, "@ 1" where nothing is said; machines with one
 * kernel are as cheap to ask as one. Its weight in the average is 1 where nothing is said.
 *
 * All members see the same encodings of the rows. */
#ifndef KARMA_I_COMMITTEE_H
#define KARMA_I_COMMITTEE_H

#include "kernel/formula.h"

/* More members than anyone can tell apart. */
enum { KARMA_I_MOST_MEMBERS = 64, KARMA_I_MOST_C = 16 };

/* The machines of one kernel: ascending multiples of the options' C, and weights in the average. */
typedef struct karma_i_C_path {
    size_t n;
    double factors[KARMA_I_MOST_C], weights[KARMA_I_MOST_C];
} karma_i_C_path;

typedef struct karma_i_committee {
    size_t n;
    karma_i_formula *formulas; /* their factors' encodings are numbered by the kinds below */
    karma_i_C_path *paths;     /* the weights of all machines sum to 1 */
    size_t n_kinds;            /* of all members together */
    karma_kernel_kind kinds[KARMA_N_KERNELS];
} karma_i_committee;

karma_status karma_i_committee_parse(karma_i_committee *out, const karma_fit_options *options, karma_error *err);
void karma_i_committee_clear(karma_i_committee *committee);

#endif

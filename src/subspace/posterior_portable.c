/* For any machine: the smallest vector registers hold two numbers, and most processors have sixteen. */
#define LANES         2
#define MOST_WIDTH    12
#define EACH_WIDTH(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12)
#include "subspace/posterior_body.h"

const karma_i_posterior_path karma_i_posterior_portable = {"portable", estimate, estimate_runs, accumulate};

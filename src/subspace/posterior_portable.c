/* For any machine; three times eight numbers are twelve of the smallest vector registers. */
#define MOST_WIDTH    3
#define EACH_WIDTH(X) X(1) X(2) X(3)
#include "subspace/posterior_body.h"

const karma_i_posterior_path karma_i_posterior_portable = {"portable", estimate, estimate_runs, accumulate};

/* AVX2: six times eight numbers are twelve of its sixteen registers. */
#define MOST_WIDTH    6
#define EACH_WIDTH(X) X(1) X(2) X(3) X(4) X(5) X(6)
#include "subspace/posterior_body.h"

const karma_i_posterior_path karma_i_posterior_avx2 = {"avx2", estimate, estimate_runs, accumulate};

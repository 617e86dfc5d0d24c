/* AVX-512: a register holds eight numbers. */
#define LANES         8
#define MOST_WIDTH    12
#define EACH_WIDTH(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12)
#include "subspace/posterior_body.h"

const karma_i_posterior_path karma_i_posterior_avx512 = {"avx512", estimate, estimate_runs, accumulate};

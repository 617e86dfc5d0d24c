/* The paths that were compiled in. */
#ifndef KARMA_I_POSTERIOR_LIST_H
#define KARMA_I_POSTERIOR_LIST_H

#include "subspace/posterior.h"

extern const karma_i_posterior_path karma_i_posterior_portable;
#ifdef KARMA_X86_PATHS
extern const karma_i_posterior_path karma_i_posterior_avx2, karma_i_posterior_avx512;
#endif

#endif

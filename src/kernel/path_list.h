/* The paths that were compiled in. */
#ifndef KARMA_I_PATH_LIST_H
#define KARMA_I_PATH_LIST_H

#include "kernel/path.h"

extern const karma_i_path karma_i_path_portable;
#ifdef KARMA_X86_PATHS
extern const karma_i_path karma_i_path_avx2, karma_i_path_avx512;
#endif

#endif

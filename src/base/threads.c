#include "base/threads.h"

#include <omp.h>

int karma_i_threads(int64_t wanted) {
    return wanted > 0 ? (int)wanted : omp_get_num_procs();
}

/* How many threads to use. */
#ifndef KARMA_I_THREADS_H
#define KARMA_I_THREADS_H

#include <stdint.h>

/* The number of threads to use for a requested number; 0 means one per processor. One in a process that was forked from
 * a process that had used several: results do not depend on the number. */
int karma_i_threads(int64_t wanted);

#endif

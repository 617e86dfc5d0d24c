/* The harness of test_alloc and test_alloc_calls. Makes allocations fail, one after the other: each call must then
 * return a clean error, leave its inputs unchanged and free all that it allocated. The linker replaces malloc and
 * related functions by those here.
 *
 * Every allocation with a different chain of calls is made to fail. A loop repeats the same chain thousands of times;
 * then the first, second and last of these allocations fail. The first fails twice: alone, and with all allocations
 * after it. */
#ifndef KARMA_TEST_FAILING_HEAP_H
#define KARMA_TEST_FAILING_HEAP_H

#include "karma/karma.h"

/* Makes one call, checks its outputs whether it succeeds or fails, and returns its status. */
typedef karma_status (*operation)(void *context);

/* Call it before all tests. */
void failing_heap_begin(void);
/* Runs it once without a failure, then once for each allocation that fails. */
void check_every_allocation(operation run, void *context, const char *what);
/* From here to the end of the operation nothing fails. */
void failing_heap_pause(void);
/* The status of a failure: out of memory, unless a library in between reports another error. `untouched` is what the
 * call would have given back. */
karma_status judge(karma_status st, const karma_error *err, const void *untouched);

#endif

/* The harness of test_alloc and test_alloc_calls. Allocations made to fail in turn: each call then ends with a clean
 * error, changes nothing that it was given, and gives back all it took. The linker puts the functions here in place of
 * malloc and its kin.
 *
 * Which allocations: every one that is reached by a chain of calls of its own. Loops make the same chain thousands of
 * times; it fails the first time, alone and with all allocations after it, the second time, when something was done
 * before it, and the last time. */
#ifndef KARMA_TEST_FAILING_HEAP_H
#define KARMA_TEST_FAILING_HEAP_H

#include "karma/karma.h"

/* Makes one call and checks what must hold of its outputs in either case; gives back what it got. */
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

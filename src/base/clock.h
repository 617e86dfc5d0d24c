/* Time for deadlines and reports. Results never depend on it. */
#ifndef KARMA_I_CLOCK_H
#define KARMA_I_CLOCK_H

/* Seconds since some fixed moment, on a clock that never jumps. */
double karma_i_now(void);

#endif

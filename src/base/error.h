/* Reporting failures and notices. */
#ifndef KARMA_I_ERROR_H
#define KARMA_I_ERROR_H

#include "karma/base.h"

/* Fills *err, if it is not NULL. */
void karma_i_describe_failure(karma_error *err, karma_status status, const char *format, ...) KARMA_PRINTF(3, 4);

/* Fills *err and gives `status`, so that a failure is one return statement: karma_i_fail(err, status, format, ...).
 * A macro, so that checkers that see one file at a time know what is returned. */
#define karma_i_fail(err, status, ...) (karma_i_describe_failure(err, status, __VA_ARGS__), (status))

/* KARMA_ERR_MEMORY with the customary message. */
static inline karma_status karma_i_fail_memory(karma_error *err) {
    return karma_i_fail(err, KARMA_ERR_MEMORY, "out of memory");
}

/* Sends one formatted sentence to the notice hook, if there is one. */
void karma_i_notice(const karma_hooks *hooks, const char *format, ...) KARMA_PRINTF(2, 3);

/* Takes passwords out of the URIs in a text of at most size - 1 bytes; one of just as many counts as cut off there.
 * Messages and notices have gone through it. */
void karma_i_hide_passwords(char *text, size_t size);

/* Writes up to three of the names for such a sentence: "'a', 'b', 'c' and 4 more". */
void karma_i_list_names(char *text, size_t size, const char *const *names, size_t n);

/* True when the progress hook asks to stop. */
int karma_i_progress(const karma_hooks *hooks, const char *stage, size_t done, size_t total);
/* For work whose partial results are useful. Hooks of our own give KARMA_I_ENOUGH when the time is over: then it
 * ends with what it has. For karma_i_progress that is 0, and other work goes on. */
enum { KARMA_I_ENOUGH = 1 << 14 };
int karma_i_progress_or_enough(const karma_hooks *hooks, const char *stage, size_t done, size_t total);

/* Forwards a failure. Only while the function owns nothing. */
#define KARMA_TRY(call)                                                                                                \
    do {                                                                                                               \
        karma_status try_status_ = (call);                                                                             \
        if (try_status_ != KARMA_OK) return try_status_;                                                               \
    } while (0)

#endif

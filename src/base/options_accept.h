/* How the library's functions take options. */
#ifndef KARMA_I_OPTIONS_ACCEPT_H
#define KARMA_I_OPTIONS_ACCEPT_H

#include "karma/options.h"

/* `to` becomes a struct of this library's size with the options of `from`, and the defaults of those that `from` is too
 * old to have; NULL: all defaults. Texts and lists still belong to `from`. */
karma_status karma_i_options_borrow(const karma_option_table *table, void *to, const void *from, karma_error *err);
/* The same, and every bound is checked: how a public function takes its options. */
karma_status karma_i_options_accept(const karma_option_table *table, void *to, const void *from, karma_error *err);

/* Whether the option has the value that karma_options_init gives it; texts and lists: whether it is empty. */
int karma_i_option_is_default(const karma_option *option, const void *options);

/* Adds a copy of a text to a list. */
karma_status karma_i_names_add(karma_names *names, const char *text, karma_error *err);

#endif

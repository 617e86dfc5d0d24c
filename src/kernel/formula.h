/* What a user writes for a kernel, "rank + 0.5 * linear(gamma=1, outer=rbf)", taken apart:
 *
 *     sum     = product { "+" product }
 *     product = [number "*"] factor { "*" factor }
 *     factor  = name [ "(" setting { "," setting } ")" ]       name: a word of KARMA_KERNEL_LIST
 *     setting = option "=" value                               of the options that describe a factor
 *
 * A factor's settings are those of the options unless it has its own. */
#ifndef KARMA_I_FORMULA_H
#define KARMA_I_FORMULA_H

#include "kernel/kernel.h"

/* A factor before anything was learned. */
typedef struct karma_i_factor_plan {
    karma_kernel_kind kind;
    size_t encoding; /* index of its kind among the formula's */
    size_t gamma;
    double scale; /* or KARMA_SCALE_MEAN */
    double bias;
    karma_i_map map; /* its spread is not known yet */
} karma_i_factor_plan;

typedef struct karma_i_formula {
    size_t n_terms, n_factors;
    karma_i_term *terms;
    karma_i_factor_plan *factors;
    size_t n_kinds; /* the kinds that occur, in the order of their first factors: one encoding of the rows each */
    karma_kernel_kind kinds[KARMA_N_KERNELS];
} karma_i_formula;

/* `options` have the settings that the text does not give. "union" is short for linear + mu*subspace(bias=0). */
karma_status karma_i_formula_parse(karma_i_formula *out, const char *text, const karma_fit_options *options,
                                   karma_error *err);
void karma_i_formula_clear(karma_i_formula *formula);

/* Numbers the encodings of a formula's factors by a list of kinds that several formulas share; kinds that are not in it
 * are added. It has room for KARMA_N_KERNELS. */
void karma_i_formula_number(karma_i_formula *formula, karma_kernel_kind *kinds, size_t *n_kinds);

/* The word for a kind: "rank". */
const char *karma_i_kernel_kind_name(karma_kernel_kind kind);

#endif

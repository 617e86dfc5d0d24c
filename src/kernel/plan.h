/* A plan describes what is to be learned: the members of a committee, each a kernel with values of C and weights,
 * before anything is learned from rows. Users write plans as text (the option "kernel"), and model files keep that
 * text:
 *
 *     plan    = member { "|" member }
 *     member  = kernel [ "@" machine { "," machine } ]
 *     machine = number [ ":" weight ]                            a multiple of the options' C
 *     kernel  = product { "+" product }
 *     product = [number "*"] factor { "*" factor }
 *     factor  = name [ "(" setting { "," setting } ")" ]         name: that of a kind (kernel_kind.h)
 *     setting = option "=" value
 *
 * The kernel "union" is short for linear + mu*subspace(bias=0). A member without machines has one, with the options' C.
 * The scores of all machines are averaged, by weights that are 1 if none are given. Machines of one kernel cost little
 * more than one of them. All members share the encodings of the rows. */
#ifndef KARMA_I_PLAN_H
#define KARMA_I_PLAN_H

#include "kernel/kernel.h"
#include "kernel/kernel_kind.h"

enum { KARMA_I_MOST_MEMBERS = 64, KARMA_I_MOST_FACTORS = 32, KARMA_I_MOST_C = 16 };

typedef struct karma_i_plan_factor {
    karma_kernel_kind kind;
    unsigned own;    /* bits of karma_i_setting: settings of its own; the other values are those of the options */
    size_t encoding; /* of the rows: the index of its kind in a list of kinds */
    size_t gamma;
    double scale; /* or KARMA_SCALE_MEAN */
    double bias;
    karma_i_map map; /* its spread is not known yet */
} karma_i_plan_factor;

typedef struct karma_i_plan_kernel {
    size_t n_terms, n_factors;
    karma_i_term *terms;          /* room for KARMA_I_MOST_FACTORS */
    karma_i_plan_factor *factors; /* likewise */
    int is_union;                 /* it was written as the word "union", and is printed as that */
} karma_i_plan_kernel;

/* The machines of one kernel: ascending multiples of the options' C, and weights. */
typedef struct karma_i_C_grid {
    size_t n;
    double factors[KARMA_I_MOST_C], weights[KARMA_I_MOST_C];
} karma_i_C_grid;

typedef struct karma_i_plan_member {
    karma_i_plan_kernel kernel;
    karma_i_C_grid machines;
} karma_i_plan_member;

typedef struct karma_i_plan {
    size_t n_members;
    karma_i_plan_member *members; /* room for KARMA_I_MOST_MEMBERS; their factors' encodings are numbered by these: */
    size_t n_kinds;
    karma_kernel_kind kinds[KARMA_N_KERNELS];
} karma_i_plan;

/* --- text ---------------------------------------------------------------------------------------------- */

/* `options` have the settings that the text does not give. NULL stands for the default, "linear". */
karma_status karma_i_plan_parse(karma_i_plan *out, const char *text, const karma_fit_options *options,
                                karma_error *err);
/* Text from which karma_i_plan_parse makes an equal plan, with the same options. Caller frees. */
karma_status karma_i_plan_print(char **out, const karma_i_plan *plan, karma_error *err);
/* The text of one kernel. Returns its length, and writes as much as snprintf would. */
size_t karma_i_plan_kernel_print(char *text, size_t size, const karma_i_plan_kernel *kernel);
/* The same in memory that the caller frees; NULL if there is none. */
char *karma_i_plan_kernel_text(const karma_i_plan_kernel *kernel);

/* The options that describe factors, in the order in which they are printed. */
typedef struct karma_i_setting_name {
    karma_i_setting setting;
    const char *name;
} karma_i_setting_name;
enum { KARMA_I_N_SETTINGS = 9 };
extern const karma_i_setting_name karma_i_setting_names[KARMA_I_N_SETTINGS];

/* --- making plans -------------------------------------------------------------------------------------- */

/* All start from {0}; clear the result even if they fail. */

karma_status karma_i_plan_kernel_add_term(karma_i_plan_kernel *kernel, double weight, karma_error *err);
/* One more factor of the last term, with the settings in `settings`; `own` are the bits of those that are its own.
 * Which kind of subspace it is depends on the settings alone. */
karma_status karma_i_plan_kernel_add_factor(karma_i_plan_kernel *kernel, karma_kernel_kind kind,
                                            const karma_fit_options *settings, unsigned own, karma_error *err);
karma_status karma_i_plan_kernel_copy(karma_i_plan_kernel *out, const karma_i_plan_kernel *kernel, karma_error *err);
void karma_i_plan_kernel_clear(karma_i_plan_kernel *kernel);

/* Copies kernel and machines. */
karma_status karma_i_plan_add_member(karma_i_plan *plan, const karma_i_plan_kernel *kernel,
                                     const karma_i_C_grid *machines, karma_error *err);
karma_status karma_i_plan_copy(karma_i_plan *out, const karma_i_plan *plan, karma_error *err);
void karma_i_plan_clear(karma_i_plan *plan);

/* Numbers the encodings of a kernel's factors by a list of kinds that several kernels share. Kinds that are not in it
 * are added; it has room for KARMA_N_KERNELS. */
void karma_i_plan_kernel_number(karma_i_plan_kernel *kernel, karma_kernel_kind *kinds, size_t *n_kinds);
/* Multiplies the values of C of all machines. */
void karma_i_plan_multiply_C(karma_i_plan *plan, double factor);

/* --- questions ----------------------------------------------------------------------------------------- */

/* Equal in all that their text contains: encodings do not count. */
int karma_i_plan_kernel_equal(const karma_i_plan_kernel *a, const karma_i_plan_kernel *b);
int karma_i_plan_equal(const karma_i_plan *a, const karma_i_plan *b);

/* Whether a factor has this trait; for has_kind: is of this kind; for has_subspace: of any kind of subspace. */
int karma_i_plan_kernel_has_kind(const karma_i_plan_kernel *kernel, karma_kernel_kind kind);
int karma_i_plan_kernel_has_subspace(const karma_i_plan_kernel *kernel);
int karma_i_plan_kernel_is_ranked(const karma_i_plan_kernel *kernel);
int karma_i_plan_kernel_has_trees(const karma_i_plan_kernel *kernel);
int karma_i_plan_kernel_is_slow(const karma_i_plan_kernel *kernel);
/* Whether a factor has a γ above 1, or an outer map, of its own. */
int karma_i_plan_kernel_sets_gamma(const karma_i_plan_kernel *kernel);
int karma_i_plan_kernel_sets_outer(const karma_i_plan_kernel *kernel);
/* Whether it is the name of a kind and nothing else: one factor, of weight 1, that has no settings of its own. */
int karma_i_plan_kernel_is_word(const karma_i_plan_kernel *kernel);
/* Whether it is 0-imputation: the linear kernel with γ = 1, and the options' bias. */
int karma_i_plan_kernel_is_zero_imputation(const karma_i_plan_kernel *kernel);

int karma_i_plan_is_precomputed(const karma_i_plan *plan);
size_t karma_i_plan_n_machines(const karma_i_plan *plan);
/* A machine's part in the average is its weight divided by this. */
double karma_i_plan_total_weight(const karma_i_plan *plan);

#endif

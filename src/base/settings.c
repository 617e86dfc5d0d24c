/* The option tables: the only place that names a setting, its default and its bounds. */
#include <math.h>
#include <stdint.h>

#include "karma/options.h"

#define WORD(constant, text) {text, constant},
#define END_OF_WORDS                                                                                                   \
    { NULL, 0 }
static const karma_option_word task_words[] = {KARMA_TASK_LIST(WORD) END_OF_WORDS};
static const karma_option_word outer_words[] = {KARMA_OUTER_LIST(WORD) END_OF_WORDS};
static const karma_option_word encoding_words[] = {KARMA_ENCODING_LIST(WORD) END_OF_WORDS};
static const karma_option_word rank_form_words[] = {KARMA_RANK_FORM_LIST(WORD) END_OF_WORDS};
static const karma_option_word loss_words[] = {KARMA_LOSS_LIST(WORD) END_OF_WORDS};
static const karma_option_word calibration_words[] = {KARMA_CALIBRATION_LIST(WORD) END_OF_WORDS};
static const karma_option_word certainty_words[] = {KARMA_CERTAINTY_LIST(WORD) END_OF_WORDS};
static const karma_option_word noise_words[] = {KARMA_NOISE_LIST(WORD) END_OF_WORDS};
static const karma_option_word space_words[] = {KARMA_SPACE_LIST(WORD) END_OF_WORDS};
static const karma_option_word coverage_by_words[] = {KARMA_COVERAGE_BY_LIST(WORD) END_OF_WORDS};
static const karma_option_word solver_words[] = {KARMA_SOLVER_LIST(WORD) END_OF_WORDS};
static const karma_option_word schedule_words[] = {KARMA_SCHEDULE_LIST(WORD) END_OF_WORDS};
static const karma_option_word format_words[] = {KARMA_FORMAT_LIST(WORD) END_OF_WORDS};
static const karma_option_word absent_words[] = {KARMA_ABSENT_LIST(WORD) END_OF_WORDS};
static const karma_option_word decimal_words[] = {KARMA_DECIMAL_LIST(WORD) END_OF_WORDS};
static const karma_option_word date_order_words[] = {KARMA_DATE_ORDER_LIST(WORD) END_OF_WORDS};
static const karma_option_word mechanism_words[] = {KARMA_MECHANISM_LIST(WORD) END_OF_WORDS};
static const karma_option_word order_words[] = {KARMA_ORDER_LIST(WORD) END_OF_WORDS};
static const karma_option_word effort_words[] = {KARMA_EFFORT_LIST(WORD) END_OF_WORDS};
static const karma_option_word goal_words[] = {KARMA_GOAL_LIST(WORD) END_OF_WORDS};
static const karma_option_word rule_words[] = {KARMA_RULE_LIST(WORD) END_OF_WORDS};
static const karma_option_word unlimited_words[] = {{"unlimited", 0}, END_OF_WORDS};
static const karma_option_word scale_words[] = {{"mean", KARMA_SCALE_MEAN}, {"paper", KARMA_SCALE_PAPER}, END_OF_WORDS};
static const karma_option_word auto_words[] = {{"auto", KARMA_AUTO}, END_OF_WORDS};
static const karma_option_word synth_task_words[] = {
    {"classify", KARMA_TASK_CLASSIFY}, {"regress", KARMA_TASK_REGRESS}, END_OF_WORDS};
static const karma_option_word delimiter_words[] = {
    {"auto", 0}, {"comma", ','}, {"semicolon", ';'}, {"tab", '\t'}, {"pipe", '|'}, {"space", ' '},       {",", ','},
    {";", ';'},  {"\\t", '\t'},  {"\t", '\t'},       {"|", '|'},    {" ", ' '},    {"::", KARMA_COLONS}, END_OF_WORDS};
static const karma_option_word like_words[] = {{"unsaid", KARMA_LIKE_UNSET}, END_OF_WORDS}; /* as in model files */

#define FIELD(type, member) offsetof(type, member)
#define INTEGER(type, member, name, initial, min, max, help)                                                           \
    { name, KARMA_OPTION_INTEGER, FIELD(type, member), initial, min, max, NULL, NULL, help, NULL }
#define REAL(type, member, name, initial, min, max, words, help)                                                       \
    { name, KARMA_OPTION_REAL, FIELD(type, member), initial, min, max, words, NULL, help, NULL }
#define CHOICE(type, member, name, initial, words, help)                                                               \
    { name, KARMA_OPTION_CHOICE, FIELD(type, member), initial, 0, 0, words, NULL, help, NULL }
#define SWITCH(type, member, name, initial, help)                                                                      \
    { name, KARMA_OPTION_SWITCH, FIELD(type, member), initial, 0, 1, NULL, NULL, help, NULL }
#define TEXT(type, member, name, placeholder, help)                                                                    \
    { name, KARMA_OPTION_TEXT, FIELD(type, member), 0, 0, 0, NULL, placeholder, help, NULL }
#define NAMES(type, member, name, placeholder, help)                                                                   \
    { name, KARMA_OPTION_NAMES, FIELD(type, member), 0, 0, 0, NULL, placeholder, help, NULL }
#define TABLE(records, type)                                                                                           \
    { records, sizeof(records) / sizeof((records)[0]), sizeof(type) }

#define R karma_read_options
static const karma_option read_records[] = {
    NAMES(R, target, "target", "COL", "column that holds the label; A,B,C for several"),
    TEXT(R, row_weight, "row-weight", "COL", "column with the weight of each row: numbers of at least 0"),
    NAMES(R, numeric, "numeric", "COL", "read this column as numbers; anything else in it is an error"),
    NAMES(R, category, "category", "COL", "read this column as categories, even if it looks like numbers"),
    NAMES(R, ordered, "ordered", "COL=A<B<C", "a category with an order: learned as numbers 1, 2, 3, linear or ranked"),
    NAMES(R, ignore, "ignore", "COL", "leave this column out; A,B,C for several"),
    NAMES(R, id, "id", "COL", "identifies rows: not learned from, copied to the predictions; A,B for several"),
    NAMES(R, missing, "missing", "TOKEN",
          "another spelling of a missing value, besides empty, NA, N/A, NaN, null, #N/A, <NA>, ? and None; in numeric "
          "columns also - . missing unknown none"),
    TEXT(R, gram, "gram", "FILE",
         "kernel values computed elsewhere, as karma gram writes them: each row against every training row"),
    TEXT(R, query, "query", "SQL",
         "read the rows of this SELECT; DATA is then sqlite:FILE or postgres://... without a table"),
    CHOICE(R, format, "format", KARMA_FORMAT_AUTO, format_words,
           "file format; auto looks at the file name and never chooses ratings"),
    {"delimiter", KARMA_OPTION_CHOICE, FIELD(R, delimiter), 0, 0, 0, delimiter_words,
     "auto|comma|semicolon|tab|pipe|space|::", "field separator of a CSV file", NULL},
    SWITCH(R, header, "header", 1, "the first record names the columns; off: they are called c1, c2, ..."),
    {"absent", KARMA_OPTION_CHOICE, FIELD(R, absent), KARMA_ABSENT_UNSET, 0, 0, absent_words, "zero|missing",
     "what an index that a LIBSVM line leaves out means; required for such files", NULL},
    CHOICE(R, decimal, "decimal", KARMA_DECIMAL_AUTO, decimal_words,
           "decimal mark of numbers; auto detects it in the first rows of the file"),
    SWITCH(R, dates, "dates", 1, "columns of dates become numbers: year, month, weekday, hour, days since 1970-01-01"),
    CHOICE(R, date_order, "date-order", KARMA_DATE_ORDER_AUTO, date_order_words,
           "whether the day or the month comes first in 3/1/2024; auto decides from all cells of the column"),
    SWITCH(R, strict, "strict", 0, "with a model: a text in a column of numbers is an error, not a missing value"),
    TEXT(R, users, "users", "FILE", "rating data: a CSV file of users, whose columns may be the label or attributes"),
    TEXT(R, item, "item", "ID",
         "rating data: the label is whether a user likes this item; the item is then not an attribute"),
    {"like", KARMA_OPTION_REAL, FIELD(R, like), KARMA_LIKE_UNSET, -1e15, 1e15, like_words, "THRESHOLD",
     "rating data: the lowest rating that counts as liking the item; required with option 'item'", NULL},
    INTEGER(R, threads, "threads", 0, 0, 4096, "number of threads; 0: one per processor"),
    SWITCH(
        R, cache, "cache", 0,
        "keep the table in DATA.karma-cache, so that it is not read again while DATA is the same; it is then used from "
        "the disk and may be larger than the memory"),
};
#undef R

#define F karma_fit_options
static const karma_option fit_records[] = {
    CHOICE(F, task, "task", KARMA_TASK_AUTO, task_words, "what to learn; auto decides from the values of the label"),
    {"kernel", KARMA_OPTION_TEXT, FIELD(F, kernel), 0, 0, 0, NULL, "FORMULA",
     "what two observed numbers contribute: linear their product, rank 1 - 2|F(a) - F(b)|, F their distribution; "
     "subspace: the product of the rows' completions in a hidden subspace; union: linear + mu*subspace; relevance: "
     "ranks, each column weighted by its importance for the label; boost, forest: the share of decision trees, boosted "
     "or grown on random samples, in which the rows share a leaf; or a formula such as rank + 0.5*linear(gamma=1)",
     "linear"},
    NAMES(F, linear, "linear", "COL", "use the values of this column, whatever option 'kernel' is"),
    NAMES(F, rank, "rank", "COL", "use the ranks of this column, whatever option 'kernel' is"),
    CHOICE(
        F, encoding, "encoding", KARMA_ENCODING_PLAIN, encoding_words,
        "how linear numbers are encoded; polar: as u and 1 - u, the position in the training range, without centring"),
    CHOICE(F, rank_form, "rank-form", KARMA_RANK_FORM_PLAIN, rank_form_words,
           "form of the rank kernel; centred subtracts the mean over the training cells, so that a missing cell counts "
           "as average"),
    INTEGER(F, gamma, "gamma", 2, 1, 1024, "longest index sequence of the embedding; 1 is 0-imputation"),
    REAL(F, scale, "scale", KARMA_SCALE_MEAN, 1e-3, 1e9, scale_words,
         "number of shared columns that gets weight 1 for every sequence length; mean: the mean number of observed "
         "columns of the training rows"),
    REAL(F, bias, "bias", 1, 0, 1e6, NULL, "value of an attribute that is always observed; 0: none"),
    CHOICE(F, outer, "outer", KARMA_OUTER_IDENTITY, outer_words,
           "map applied to the kernel: cosine k/sqrt(kk'), poly (offset + k/s)^degree, rbf exp(-(D/width)^2), laplace "
           "exp(-D/width), D the distance over the rows' mean distance, series: a power series of k/s"),
    INTEGER(F, degree, "degree", 2, 1, 64, "degree of option 'outer=poly'"),
    REAL(F, offset, "offset", 1, 0, 1e6, NULL, "offset of option 'outer=poly'"),
    REAL(F, width, "width", 1, 1e-6, 1e6, NULL, "width of option 'outer=rbf' and laplace"),
    TEXT(F, series, "series", "A0,A1,...", "coefficients of option 'outer=series', none of them negative"),
    REAL(F, mu, "mu", 1, 0, 1e6, NULL, "weight of the subspace in option 'kernel=union'"),
    {"subspace-rank", KARMA_OPTION_INTEGER, FIELD(F, subspace_rank), KARMA_AUTO, 0, 1000, auto_words, NULL,
     "dimension of the hidden subspace; auto: the one that predicts held-out cells best", NULL},
    CHOICE(
        F, subspace_noise, "subspace-noise", KARMA_NOISE_AUTO, noise_words,
        "noise about the hidden subspace: equal in all columns (principal components) or one size per column (factor "
        "analysis), better for filling in missing values; auto: equal, except for reports on the low-rank "
        "assumption"),
    CHOICE(F, space, "space", KARMA_SPACE_VALUES, space_words,
           "what the hidden subspace is estimated on: values, or normal scores of their ranks (a Gaussian copula), for "
           "columns that are far from normally distributed or have outliers"),
    {"refine", KARMA_OPTION_INTEGER, FIELD(F, refine), 0, 0, 100000, NULL, "STEPS",
     "gradient steps that fit the hidden subspace to the labels; kept only if held-out rows are predicted better",
     NULL},
    {"trees", KARMA_OPTION_INTEGER, FIELD(F, trees), KARMA_AUTO, 1, 10000, auto_words, NULL,
     "number of trees of option 'kernel=boost' and option 'kernel=forest'; auto: 200, but for boost above 2,000 rows "
     "as many as improve predictions on a held-out tenth of the rows, at most 300",
     NULL},
    {"leaves", KARMA_OPTION_INTEGER, FIELD(F, leaves), KARMA_AUTO, 2, 65534, auto_words, NULL,
     "largest number of leaves of a tree; auto: 16 for boost, 31 above 2,000 rows, 512 for forest", NULL},
    SWITCH(F, standardise, "standardise", 1, "centre and scale observed cells, and the target of a regression"),
    SWITCH(F, unit_ball, "unit-ball", 0, "shrink rows to norm at most 1, as the paper's theorems assume"),
    CHOICE(F, loss, "loss", KARMA_LOSS_AUTO, loss_words,
           "auto: hinge to classify, huber to regress, pinball if option 'quantile' is given"),
    REAL(F, tube, "tube", 0.1, 0, 1e6, NULL, "half width of the epsilon-insensitive loss"),
    REAL(F, huber, "huber", 1.345, 1e-9, 1e6, NULL, "residual at which the huber loss turns linear"),
    {"quantile", KARMA_OPTION_TEXT, FIELD(F, quantile), 0, 0, 0, NULL, "Q,...",
     "quantiles to learn with the pinball loss: one, or several such as 0.1,0.9; with several, the median is learned "
     "too",
     "0.5"},
    TEXT(F, class_weight, "class-weight", "balanced|A=2,B=1",
         "weight of the rows of each class; balanced: all classes have the same total weight"),
    CHOICE(F, probabilities, "probabilities", KARMA_CALIBRATE_AUTO, calibration_words,
           "calibrate probabilities on cross-validated scores; auto: sigmoid if a search has such scores and every "
           "class has at least 5 rows, or if option 'sets' needs them, with one "
           "slope for all classes unless cross-validation shows that more is needed"),
    CHOICE(F, certainty, "certainty", KARMA_CERTAINTY_AUTO, certainty_words,
           "keep cross-validated errors in the model, for intervals, sets and abstention; auto: if a search or other "
           "options have computed them"),
    {"intervals", KARMA_OPTION_REAL, FIELD(F, intervals), KARMA_AUTO, 0.01, 0.9999, auto_words, "LEVEL",
     "for numbers: predict an interval that contains the label of this share of new rows; auto: if quantiles are "
     "learned, the share between the first and the last",
     NULL},
    {"sets", KARMA_OPTION_REAL, FIELD(F, sets), KARMA_AUTO, 0.01, 0.9999, auto_words, "LEVEL",
     "for classes: predict a set of classes that contains the label of this share of new rows", NULL},
    CHOICE(F, coverage_by, "coverage-by", KARMA_COVERAGE_BY_ALL, coverage_by_words,
           "rows for which intervals and sets reach their level: all rows together, or also each quarter of the rows "
           "by number of missing cells"),
    INTEGER(F, folds, "folds", 5, 2, 1000, "number of folds of the cross-validation"),
    CHOICE(F, solver, "solver", KARMA_SOLVER_AUTO, solver_words,
           "batch: the exact minimum, with a certificate; primal: the same, faster, for kernels with few dimensions; "
           "nystrom: the best model built from some of the rows (option 'landmarks'), for large tables; online: the "
           "paper's Algorithm 1; auto: primal if possible, otherwise batch up to 10000 rows and nystrom above"),
    REAL(F, C, "C", KARMA_AUTO, 1e-12, 1e15, auto_words,
         "weight of the loss against the norm; auto: rows / mean of k(x,x)"),
    CHOICE(F, schedule, "schedule", KARMA_SCHEDULE_PEGASOS, schedule_words,
           "step sizes of the online solver: pegasos C/t with rho = 1/C, regret 1/(rho t)"),
    REAL(F, rho, "rho", KARMA_AUTO, 1e-12, 1e15, auto_words,
         "shrinkage of the regret schedule; auto: L X sqrt(Gamma) / sqrt(B T)"),
    REAL(F, B, "B", 1, 1e-12, 1e15, NULL, "bound on the squared norm that rho = auto assumes"),
    REAL(F, tolerance, "tolerance", 1e-3, 1e-12, 1, NULL, "relative duality gap at which all solvers but online stop"),
    {"landmarks", KARMA_OPTION_INTEGER, FIELD(F, landmarks), KARMA_AUTO, 1, 100000, auto_words, NULL,
     "number of rows from which option 'solver=nystrom' builds the model; auto: 10 times the square root of the number "
     "of rows, between 500 and 2000, or fewer if their kernel values do not fit in memory",
     NULL},
    REAL(F, memory, "memory", KARMA_AUTO, 1e-6, 1e9, auto_words,
         "gigabytes for learning, in addition to the table and its rows; auto: a quarter of the machine's memory"),
    {"passes", KARMA_OPTION_INTEGER, FIELD(F, passes), KARMA_AUTO, 1, 100000, auto_words, NULL,
     "passes over the rows; for batch, kernel rows used per row; auto: 10 for online, at most 1000 (more for few rows) "
     "for batch, 2000 for primal and nystrom",
     NULL},
    SWITCH(F, shuffle, "shuffle", 1, "visit the rows in a random order in every pass"),
    SWITCH(F, average, "average", 1, "keep the mean of all iterates instead of the last one"),
    INTEGER(F, seed, "seed", 0, 0, 9007199254740992.0, "seed of the random numbers"),
    INTEGER(F, threads, "threads", 0, 0, 4096, "number of threads; 0: one per processor"),
};
#undef F

#define H karma_search_options
static const karma_option search_records[] = {
    CHOICE(H, effort, "effort", KARMA_EFFORT_AUTO, effort_words,
           "how hard to search for the best model; off: no search, the options as given; auto: normal, or off if an "
           "option of the kernel or the solver is given"),
    {"time", KARMA_OPTION_REAL, FIELD(H, time), 0, 0.05, 1e9, unlimited_words, "SECONDS",
     "time limit for choosing and learning the model", NULL},
    CHOICE(H, goal, "goal", KARMA_GOAL_AUTO, goal_words,
           "metric by which the model is chosen; auto: accuracy for classes, R2 for numbers, pinball for quantiles"),
    CHOICE(H, rule, "choose", KARMA_RULE_COMMITTEE, rule_words,
           "how the best candidates are combined: committee averages those within noise of the best, best and one-se "
           "take a single one, stack learns weights"),
};
#undef H

#define E karma_explain_options
static const karma_option explain_records[] = {
    {"samples", KARMA_OPTION_INTEGER, FIELD(E, samples), KARMA_AUTO, 4, 1000000, auto_words, NULL,
     "orders of a row's columns to sample if its contributions cannot be exact; auto: 100, fewer for rows of more than "
     "200 columns, at least 10",
     NULL},
    INTEGER(E, repeats, "repeats", 5, 2, 100000, "permutations per column; the importance is the mean over them"),
    INTEGER(E, seed, "seed", 0, 0, 9007199254740992.0, "seed of the random numbers"),
    INTEGER(E, threads, "threads", 0, 0, 4096, "number of threads; 0: one per processor"),
};
#undef E

#define P karma_compare_options
static const karma_option compare_records[] = {
    NAMES(P, methods, "methods", "A,B,...", "only these methods; otherwise all of them"),
    INTEGER(P, folds, "folds", 5, 2, 1000, "number of folds that the methods are scored on"),
    INTEGER(P, rounds, "rounds", 1, 1, 1000, "how often the cross-validation is repeated, each time with other folds"),
    INTEGER(P, inner, "inner", 5, 2, 1000, "number of inner folds, on which the strength of each method is chosen"),
    {"time", KARMA_OPTION_REAL, FIELD(P, time), 0, 0.05, 1e9, unlimited_words, "SECONDS",
     "time limit of one method for all folds together; a method that takes longer counts as failed", NULL},
};
#undef P

#define S karma_synth_options
static const karma_option synth_records[] = {
    INTEGER(S, rows, "rows", 1000, 1, 100000000, "number of rows"),
    INTEGER(S, dim, "dim", 20, 1, 1000000, "number of attributes"),
    INTEGER(S, rank, "rank", 3, 1, 100000, "dimension of the hidden subspace"),
    REAL(S, noise, "noise", 0, 0, 1e6, NULL, "standard deviation of noise added to every cell"),
    REAL(S, missing, "missing", 0.3, 0, 0.999, NULL, "share of cells that are hidden"),
    CHOICE(S, mechanism, "mechanism", KARMA_MECHANISM_MCAR, mechanism_words,
           "how cells are hidden: at random (mcar), by other cells (mar), by the cell itself (mnar), or whole blocks "
           "of columns"),
    CHOICE(S, task, "task", KARMA_TASK_CLASSIFY, synth_task_words, "kind of label"),
    INTEGER(S, classes, "classes", 2, 2, 10000, "number of classes"),
    INTEGER(S, seed, "seed", 0, 0, 9007199254740992.0, "seed of the random numbers"),
};
#undef S

#define T karma_theory_options
static const karma_option theory_records[] = {
    REAL(T, lambda, "lambda", 0.5, 1e-9, 1, NULL, "smallest positive eigenvalue of Q_oo (regularity)"),
    REAL(T, epsilon, "epsilon", 0.1, 1e-300, 1e9, NULL, "allowed excess loss"),
    REAL(T, lipschitz, "lipschitz", 1, 1e-300, 1e9, NULL, "Lipschitz constant L of the loss"),
    INTEGER(T, dim, "dim", 10, 1, 1000000000, "number of attributes d"),
    REAL(T, delta, "delta", 0.05, 1e-300, 1 - 1e-9, NULL, "allowed probability of failure"),
    INTEGER(T, rounds, "rounds", 1000, 1, 9007199254740992.0, "rounds T of the regret bound"),
    REAL(T, magnitude, "magnitude", 1, 1e-300, 1e9, NULL, "bound X on the absolute value of a cell"),
    REAL(T, B, "B", KARMA_AUTO, 1e-300, 1e300, auto_words,
         "bound B on |v|^2 of the predictors compared with; auto: gamma, enough for all of |w| <= 1"),
};
#undef T

#define G karma_regret_options
static const karma_option regret_records[] = {
    INTEGER(G, dim, "dim", 5, 1, 200, "number of attributes d"),
    INTEGER(G, rank, "rank", 2, 1, 200, "dimension of the hidden subspace, at most d"),
    REAL(G, lambda, "lambda", 0.3, 1e-6, 1, NULL,
         "cells are hidden only where the smallest positive eigenvalue of Q_oo stays at least this (regularity)"),
    {"gamma", KARMA_OPTION_INTEGER, FIELD(G, gamma), KARMA_AUTO, 1, 1024, auto_words, NULL,
     "longest index sequence of the embedding; auto: ln(T)/lambda, rounded up", NULL},
    INTEGER(G, rounds, "rounds", 1000, 1, 100000, "rounds T, one row each"),
    CHOICE(G, order, "order", KARMA_ORDER_RANDOM, order_words,
           "order of the rows; adversarial: of the next 256 rows always the one with the largest loss"),
    REAL(G, label_noise, "label-noise", 0, 0, 0.5, NULL, "probability that a label is flipped"),
    INTEGER(G, seed, "seed", 0, 0, 9007199254740992.0, "seed of the random numbers"),
    INTEGER(G, threads, "threads", 0, 0, 4096, "number of threads; 0: one per processor"),
};
#undef G

#define O karma_online_options
static const karma_option online_records[] = {
    INTEGER(O, budget, "budget", 1000, 1, 10000,
            "rows of the stream that the model is built of, at most; memory and time per row grow with its square"),
    {"warm-up", KARMA_OPTION_INTEGER, FIELD(O, warm_up), 1000, 2, 1000000, NULL, "ROWS",
     "first rows of the stream, from which the kinds of columns, the kernel and the classes are learned; they are "
     "predicted and learned when all of them are there",
     NULL},
};
#undef O

static const karma_option_table read_table = TABLE(read_records, karma_read_options);
static const karma_option_table fit_table = TABLE(fit_records, karma_fit_options);
static const karma_option_table search_table = TABLE(search_records, karma_search_options);
static const karma_option_table explain_table = TABLE(explain_records, karma_explain_options);
static const karma_option_table compare_table = TABLE(compare_records, karma_compare_options);
static const karma_option_table synth_table = TABLE(synth_records, karma_synth_options);
static const karma_option_table theory_table = TABLE(theory_records, karma_theory_options);
static const karma_option_table regret_table = TABLE(regret_records, karma_regret_options);
static const karma_option_table online_table = TABLE(online_records, karma_online_options);

const karma_option_table *karma_online_option_table(void) {
    return &online_table;
}
const karma_option_table *karma_read_option_table(void) {
    return &read_table;
}
const karma_option_table *karma_fit_option_table(void) {
    return &fit_table;
}
const karma_option_table *karma_search_option_table(void) {
    return &search_table;
}
const karma_option_table *karma_explain_option_table(void) {
    return &explain_table;
}
const karma_option_table *karma_compare_option_table(void) {
    return &compare_table;
}
const karma_option_table *karma_synth_option_table(void) {
    return &synth_table;
}
const karma_option_table *karma_theory_option_table(void) {
    return &theory_table;
}
const karma_option_table *karma_regret_option_table(void) {
    return &regret_table;
}

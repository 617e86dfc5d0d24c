/* Options: the settings, their bounds and their defaults. One table of records per struct drives the defaults, the
 * checks, the command line, the help, the manual and the header of a model file. */
#ifndef KARMA_OPTIONS_H
#define KARMA_OPTIONS_H

#include "karma/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Each list gives the constants of an enum and the words a user writes for them; a new choice is one line. */
#define KARMA_TASK_LIST(X)                                                                                             \
    X(KARMA_TASK_AUTO, "auto")                                                                                         \
    X(KARMA_TASK_CLASSIFY, "classify")                                                                                 \
    X(KARMA_TASK_REGRESS, "regress")

#define KARMA_OUTER_LIST(X)                                                                                            \
    X(KARMA_OUTER_IDENTITY, "identity")                                                                                \
    X(KARMA_OUTER_COSINE, "cosine")                                                                                    \
    X(KARMA_OUTER_POLY, "poly")                                                                                        \
    X(KARMA_OUTER_RBF, "rbf")                                                                                          \
    X(KARMA_OUTER_LAPLACE, "laplace")                                                                                  \
    X(KARMA_OUTER_SERIES, "series")

#define KARMA_ENCODING_LIST(X)                                                                                         \
    X(KARMA_ENCODING_PLAIN, "plain")                                                                                   \
    X(KARMA_ENCODING_POLAR, "polar")

#define KARMA_RANK_FORM_LIST(X)                                                                                        \
    X(KARMA_RANK_FORM_PLAIN, "plain")                                                                                  \
    X(KARMA_RANK_FORM_CENTRED, "centred")

#define KARMA_LOSS_LIST(X)                                                                                             \
    X(KARMA_LOSS_AUTO, "auto")                                                                                         \
    X(KARMA_LOSS_HINGE, "hinge")                                                                                       \
    X(KARMA_LOSS_SQUARED_HINGE, "squared-hinge")                                                                       \
    X(KARMA_LOSS_LOGISTIC, "logistic")                                                                                 \
    X(KARMA_LOSS_EPSILON_INSENSITIVE, "epsilon-insensitive")                                                           \
    X(KARMA_LOSS_ABSOLUTE, "absolute")                                                                                 \
    X(KARMA_LOSS_HUBER, "huber")                                                                                       \
    X(KARMA_LOSS_PINBALL, "pinball")                                                                                   \
    X(KARMA_LOSS_SQUARED, "squared")

#define KARMA_SOLVER_LIST(X)                                                                                           \
    X(KARMA_SOLVER_AUTO, "auto")                                                                                       \
    X(KARMA_SOLVER_BATCH, "batch")                                                                                     \
    X(KARMA_SOLVER_ONLINE, "online")                                                                                   \
    X(KARMA_SOLVER_PRIMAL, "primal")                                                                                   \
    X(KARMA_SOLVER_NYSTROM, "nystrom")

#define KARMA_SCHEDULE_LIST(X)                                                                                         \
    X(KARMA_SCHEDULE_PEGASOS, "pegasos")                                                                               \
    X(KARMA_SCHEDULE_REGRET, "regret")

#define KARMA_FORMAT_LIST(X)                                                                                           \
    X(KARMA_FORMAT_AUTO, "auto")                                                                                       \
    X(KARMA_FORMAT_CSV, "csv")                                                                                         \
    X(KARMA_FORMAT_ARFF, "arff")                                                                                       \
    X(KARMA_FORMAT_LIBSVM, "libsvm")                                                                                   \
    X(KARMA_FORMAT_RATINGS, "ratings")

/* The words of options are in model files, so they never change. */
#define KARMA_ABSENT_LIST(X)                                                                                           \
    X(KARMA_ABSENT_UNSET, "unsaid")                                                                                    \
    X(KARMA_ABSENT_ZERO, "zero")                                                                                       \
    X(KARMA_ABSENT_MISSING, "missing")

#define KARMA_DECIMAL_LIST(X)                                                                                          \
    X(KARMA_DECIMAL_AUTO, "auto")                                                                                      \
    X(KARMA_DECIMAL_POINT, ".")                                                                                        \
    X(KARMA_DECIMAL_COMMA, ",")

#define KARMA_DATE_ORDER_LIST(X)                                                                                       \
    X(KARMA_DATE_ORDER_AUTO, "auto")                                                                                   \
    X(KARMA_DATE_ORDER_DAY, "day")                                                                                     \
    X(KARMA_DATE_ORDER_MONTH, "month")

#define KARMA_MECHANISM_LIST(X)                                                                                        \
    X(KARMA_MECHANISM_MCAR, "mcar")                                                                                    \
    X(KARMA_MECHANISM_MAR, "mar")                                                                                      \
    X(KARMA_MECHANISM_MNAR, "mnar")                                                                                    \
    X(KARMA_MECHANISM_BLOCK, "block")

#define KARMA_CALIBRATION_LIST(X)                                                                                      \
    X(KARMA_CALIBRATE_OFF, "off")                                                                                      \
    X(KARMA_CALIBRATE_SIGMOID, "sigmoid")                                                                              \
    X(KARMA_CALIBRATE_ISOTONIC, "isotonic")                                                                            \
    X(KARMA_CALIBRATE_AUTO, "auto")

/* Whether rows that were left out are kept for intervals, sets and abstention. */
#define KARMA_CERTAINTY_LIST(X)                                                                                        \
    X(KARMA_CERTAINTY_AUTO, "auto")                                                                                    \
    X(KARMA_CERTAINTY_ON, "on")                                                                                        \
    X(KARMA_CERTAINTY_OFF, "off")

/* The variance around a subspace: one for all columns, or one per column. */
#define KARMA_NOISE_LIST(X)                                                                                            \
    X(KARMA_NOISE_AUTO, "auto")                                                                                        \
    X(KARMA_NOISE_EQUAL, "equal")                                                                                      \
    X(KARMA_NOISE_COLUMN, "column")
/* What a subspace is estimated on. */
#define KARMA_SPACE_LIST(X)                                                                                            \
    X(KARMA_SPACE_VALUES, "values")                                                                                    \
    X(KARMA_SPACE_RANKS, "ranks")

/* The rows for which intervals and sets reach their level: all together, or each group by missing cells. */
#define KARMA_COVERAGE_BY_LIST(X)                                                                                      \
    X(KARMA_COVERAGE_BY_ALL, "all")                                                                                    \
    X(KARMA_COVERAGE_BY_MISSING, "missing")

#define KARMA_ORDER_LIST(X)                                                                                            \
    X(KARMA_ORDER_RANDOM, "random")                                                                                    \
    X(KARMA_ORDER_ADVERSARIAL, "adversarial")

/* The effort of a search for a model. */
#define KARMA_EFFORT_LIST(X)                                                                                           \
    X(KARMA_EFFORT_AUTO, "auto")                                                                                       \
    X(KARMA_EFFORT_OFF, "off")                                                                                         \
    X(KARMA_EFFORT_QUICK, "quick")                                                                                     \
    X(KARMA_EFFORT_NORMAL, "normal")                                                                                   \
    X(KARMA_EFFORT_THOROUGH, "thorough")

/* What a model is chosen by. */
#define KARMA_GOAL_LIST(X)                                                                                             \
    X(KARMA_GOAL_AUTO, "auto")                                                                                         \
    X(KARMA_GOAL_ACCURACY, "accuracy")                                                                                 \
    X(KARMA_GOAL_BALANCED_ACCURACY, "balanced-accuracy")                                                               \
    X(KARMA_GOAL_AUC, "auc")                                                                                           \
    X(KARMA_GOAL_LOG_LOSS, "log-loss")                                                                                 \
    X(KARMA_GOAL_F1, "f1")                                                                                             \
    X(KARMA_GOAL_MAE, "mae")                                                                                           \
    X(KARMA_GOAL_RMSE, "rmse")                                                                                         \
    X(KARMA_GOAL_R2, "r2")                                                                                             \
    X(KARMA_GOAL_PINBALL, "pinball")

/* How the best candidates are combined. */
#define KARMA_RULE_LIST(X)                                                                                             \
    X(KARMA_RULE_COMMITTEE, "committee")                                                                               \
    X(KARMA_RULE_BEST, "best")                                                                                         \
    X(KARMA_RULE_ONE_SE, "one-se")                                                                                     \
    X(KARMA_RULE_STACK, "stack")

#define KARMA_ENUM_ITEM(constant, word) constant,
typedef enum karma_task { KARMA_TASK_LIST(KARMA_ENUM_ITEM) KARMA_N_TASKS } karma_task;
typedef enum karma_outer { KARMA_OUTER_LIST(KARMA_ENUM_ITEM) KARMA_N_OUTERS } karma_outer;
typedef enum karma_encoding { KARMA_ENCODING_LIST(KARMA_ENUM_ITEM) KARMA_N_ENCODINGS } karma_encoding;
typedef enum karma_rank_form { KARMA_RANK_FORM_LIST(KARMA_ENUM_ITEM) KARMA_N_RANK_FORMS } karma_rank_form;
typedef enum karma_loss_kind { KARMA_LOSS_LIST(KARMA_ENUM_ITEM) KARMA_N_LOSSES } karma_loss_kind;
typedef enum karma_solver_kind { KARMA_SOLVER_LIST(KARMA_ENUM_ITEM) KARMA_N_SOLVERS } karma_solver_kind;
typedef enum karma_schedule { KARMA_SCHEDULE_LIST(KARMA_ENUM_ITEM) KARMA_N_SCHEDULES } karma_schedule;
typedef enum karma_format { KARMA_FORMAT_LIST(KARMA_ENUM_ITEM) KARMA_N_FORMATS } karma_format;
typedef enum karma_absent { KARMA_ABSENT_LIST(KARMA_ENUM_ITEM) KARMA_N_ABSENTS } karma_absent;
typedef enum karma_decimal { KARMA_DECIMAL_LIST(KARMA_ENUM_ITEM) KARMA_N_DECIMALS } karma_decimal;
typedef enum karma_date_order { KARMA_DATE_ORDER_LIST(KARMA_ENUM_ITEM) KARMA_N_DATE_ORDERS } karma_date_order;
typedef enum karma_mechanism { KARMA_MECHANISM_LIST(KARMA_ENUM_ITEM) KARMA_N_MECHANISMS } karma_mechanism;
typedef enum karma_calibration { KARMA_CALIBRATION_LIST(KARMA_ENUM_ITEM) KARMA_N_CALIBRATIONS } karma_calibration;
typedef enum karma_certainty { KARMA_CERTAINTY_LIST(KARMA_ENUM_ITEM) KARMA_N_CERTAINTIES } karma_certainty;
typedef enum karma_noise { KARMA_NOISE_LIST(KARMA_ENUM_ITEM) KARMA_N_NOISES } karma_noise;
typedef enum karma_space { KARMA_SPACE_LIST(KARMA_ENUM_ITEM) KARMA_N_SPACES } karma_space;
typedef enum karma_coverage_by { KARMA_COVERAGE_BY_LIST(KARMA_ENUM_ITEM) KARMA_N_COVERAGE_BYS } karma_coverage_by;
typedef enum karma_order { KARMA_ORDER_LIST(KARMA_ENUM_ITEM) KARMA_N_ORDERS } karma_order;
typedef enum karma_effort { KARMA_EFFORT_LIST(KARMA_ENUM_ITEM) KARMA_N_EFFORTS } karma_effort;
typedef enum karma_goal { KARMA_GOAL_LIST(KARMA_ENUM_ITEM) KARMA_N_GOALS } karma_goal;
typedef enum karma_rule { KARMA_RULE_LIST(KARMA_ENUM_ITEM) KARMA_N_RULES } karma_rule;
#undef KARMA_ENUM_ITEM

/* A list of texts, owned by the options struct that holds it. */
typedef struct karma_names {
    char **items;
    size_t count;
} karma_names;

#define KARMA_COLONS     0x3a3a   /* the delimiter "::", as in MovieLens: the bytes of its two characters */
#define KARMA_LIKE_UNSET (-1e308) /* beyond every threshold */

/* How a file becomes a table. */
typedef struct karma_read_options {
    size_t struct_size;                        /* set by karma_options_init */
    int format;                                /* karma_format */
    int delimiter;                             /* a character, or KARMA_COLONS; 0: guessed */
    int header;                                /* the first record names the columns; otherwise they are c1, c2, ... */
    int absent;                                /* karma_absent; required for LIBSVM files, and only there */
    karma_names missing;                       /* more texts that mean "missing" */
    karma_names numeric, category, ignore, id; /* columns by name */
    karma_names target;                        /* columns that hold labels: each item a name, or names with commas */
    karma_names ordered;                       /* categories with an order: "COL=low<medium<high" */
    char *gram;                                /* file with kernel values of the rows; NULL: none */
    char *query;      /* a database: the statement whose rows are the table; NULL: the URI names a table */
    char *row_weight; /* column with the weights of the rows; NULL: all weigh 1 */
    char *users;      /* rating data: the file of users; NULL: none */
    char *item;       /* rating data: the item whose liking is the label; NULL: none */
    double like;      /* the lowest rating that counts as liking it, or KARMA_LIKE_UNSET */
    int decimal;      /* karma_decimal: the mark before the fraction of a number */
    int dates;        /* columns of dates become numbers: year, month, weekday, hour, days */
    int date_order;   /* karma_date_order: of 3/1/2024 */
    int strict;       /* texts in a model's columns of numbers are errors, not missing values */
    int64_t threads;  /* of reading; 0: one per processor */
    int cache;        /* a table that is learned from is kept beside its file, and mapped instead of loaded */
} karma_read_options;

/* eta_t of Algorithm 1 for round t = 1, 2, ... */
typedef double (*karma_step_fn)(void *payload, size_t t);

/* A value that the library chooses; the comments of the options that take it say how. */
#define KARMA_AUTO        (-1.0)
#define KARMA_SCALE_MEAN  (-1.0) /* nu is the mean number of observed attributes of the training rows */
#define KARMA_SCALE_PAPER 1.0

/* How a model is learned. Symbols as in the paper and docs/mathematics.md. */
typedef struct karma_fit_options {
    size_t struct_size; /* set by karma_options_init */
    int task;           /* karma_task */
    char *kernel;       /* a formula, docs/mathematics.md; NULL: "linear" */
    int rank_form; /* karma_rank_form: of the rank kernel, whether the mean over the training cells is subtracted */
    karma_names linear; /* columns of numbers that are linear, whatever the kernel; */
    karma_names rank;   /* columns that are ranked */
    int encoding;       /* karma_encoding: of linear numbers; polar: u and 1 - u, u in [0, 1], without centring */
    int64_t gamma;      /* longest index sequence of the embedding; 1 is 0-imputation */
    double scale;       /* nu in w(c) = sum over l < gamma of (c/nu)^l, or KARMA_SCALE_MEAN */
    double bias;        /* value of an attribute that is always observed; 0: none */
    int outer;          /* karma_outer: a map of the kernel's values */
    int64_t degree;     /* of the outer map poly, (offset + k/s)^degree */
    double offset;
    double width;          /* of the outer maps rbf and laplace, in units of the rows' mean distance */
    char *series;          /* of the outer map series: a_0,a_1,... of sum over p of a_p (k/s)^p */
    double mu;             /* weight of the subspace in the kernel "union" */
    int64_t subspace_rank; /* or KARMA_AUTO: chosen by held-out cells */
    int64_t refine;        /* gradient steps that improve the subspace on the task; 0: none */
    int subspace_noise;    /* karma_noise: about the subspace; auto: equal in kernels, by column in karma_lowrank_new */
    int standardise;       /* centre and scale observed cells, and the target of a regression */
    int unit_ball;         /* shrink rows so that |P_o x| <= 1, as the paper assumes */
    int loss;              /* karma_loss_kind */
    double tube;           /* half width of the epsilon-insensitive loss */
    double huber;          /* where the Huber loss turns linear */
    char *quantile;        /* of the pinball loss: "0.5" or several, "0.1,0.5,0.9"; NULL: 0.5 */
    char *class_weight;    /* "balanced" or "A=2,B=1": weights of the rows of each class; NULL: 1 */
    int probabilities;     /* karma_calibration: how scores become probabilities, from out-of-fold scores; auto: sigmoid
                              where a search or option 'sets' has such scores, else off */
    int64_t folds;         /* of these scores */
    int solver;            /* karma_solver_kind */
    double C;              /* weight of the loss in |v|^2/2 + (C/m) sum of losses, or KARMA_AUTO */
    int schedule;          /* karma_schedule: pegasos eta_t = C/t, rho = 1/C; regret eta_t = 1/(rho t) */
    double rho;            /* shrinkage of the regret schedule, or KARMA_AUTO: L X sqrt(Gamma)/sqrt(B T) */
    double B;              /* bound on |v|^2 assumed by that choice of rho */
    double tolerance;      /* relative duality gap at which all solvers but online stop */
    double memory;         /* gigabytes for learning, or KARMA_AUTO: a quarter of the machine's */
    int64_t passes; /* over the rows, or KARMA_AUTO: 10 online, at most 1000 (more for few rows) in batch; online T =
                       passes * rows */
    int shuffle;    /* visit rows in a seeded random order in every pass */
    int average;    /* keep the mean of all iterates instead of the last one */
    int64_t seed;
    int64_t threads;    /* 0: as many as there are processors */
    karma_step_fn step; /* if not NULL replaces the schedule's eta_t; not reachable by name */
    void *step_payload;
    int64_t landmarks; /* rows that the nystrom solver builds the machine from, or KARMA_AUTO */
    int64_t trees;     /* of the kernels "boost" and "forest", or KARMA_AUTO */
    int64_t leaves;    /* of each of these trees, at most, or KARMA_AUTO */
    int certainty;     /* karma_certainty: whether rows that were left out are kept (karma/certainty.h) */
    double intervals;  /* level of the intervals of numbers, or KARMA_AUTO */
    double sets;       /* level of the sets of classes, or KARMA_AUTO */
    int coverage_by;   /* karma_coverage_by: for which rows these levels are reached */
    int space;         /* karma_space: what the subspace is estimated on, values or normal scores of their ranks */
} karma_fit_options;

/* How a model is chosen (karma/search.h). */
typedef struct karma_search_options {
    size_t struct_size; /* set by karma_options_init */
    int effort;         /* karma_effort; auto: normal */
    double time;        /* time limit in seconds; 0: no limit */
    int goal;           /* karma_goal; auto: accuracy, R2, or pinball for quantiles */
    int rule;           /* karma_rule */
    karma_names fixed;  /* names of fit options that are kept as they are; all others may be chosen. Not on the command
                           line: there it is what was given */
} karma_search_options;

/* Explanations (karma/explain.h). */
typedef struct karma_explain_options {
    size_t struct_size; /* set by karma_options_init */
    int64_t samples; /* orders of a row's columns, where Shapley values are sampled; rounded to even. KARMA_AUTO: 100,
                      * fewer for more than 200 columns, at least 10 */
    int64_t repeats; /* permutations of a column; an importance is their mean */
    int64_t seed;
    int64_t threads; /* 0: one per processor */
} karma_explain_options;

/* Methods side by side (karma/compare.h). */
typedef struct karma_compare_options {
    size_t struct_size;  /* set by karma_options_init */
    karma_names methods; /* each item a name, or names with commas; none: all methods */
    int64_t folds;       /* folds that methods are scored on */
    int64_t rounds;      /* number of repetitions, each with other folds */
    int64_t inner;       /* folds of the training rows, on which strengths are chosen */
    double time;         /* time limit of one method in seconds; 0: no limit */
} karma_compare_options;

/* Low-rank rows with missing cells: x = U z + noise. */
typedef struct karma_synth_options {
    size_t struct_size; /* set by karma_options_init */
    int64_t rows, dim, rank;
    double noise;   /* standard deviation of what is added to every cell */
    double missing; /* share of cells that are hidden */
    int mechanism;  /* karma_mechanism */
    int task;       /* karma_task, not auto */
    int64_t classes;
    int64_t seed;
} karma_synth_options;

/* Arguments of the paper's quantities. */
typedef struct karma_theory_options {
    size_t struct_size; /* set by karma_options_init */
    double lambda, epsilon, lipschitz, delta;
    int64_t dim;
    int64_t rounds;   /* T of the regret bound */
    double magnitude; /* X, bound on the cells */
    double B;
} karma_theory_options;

/* A sequence for Algorithm 1 (karma/regret.h). */
typedef struct karma_regret_options {
    size_t struct_size; /* set by karma_options_init */
    int64_t dim, rank;  /* of the space and of the hidden subspace; rank <= dim */
    double lambda;      /* every row is lambda-regular */
    int64_t gamma;      /* of the embedding, or KARMA_AUTO: ln(T)/lambda, rounded up */
    int64_t rounds;     /* T */
    int order;          /* karma_order */
    double label_noise;
    int64_t seed;
    int64_t threads; /* 0: as many as there are processors */
} karma_regret_options;

/* Learning from a stream (karma/stream.h). */
typedef struct karma_online_options {
    size_t struct_size; /* set by karma_options_init */
    int64_t budget;     /* rows of the stream that the model is built of, at most */
    int64_t warm_up;    /* first rows, from which columns, kernel and classes are learned */
} karma_online_options;

typedef enum karma_option_kind {
    KARMA_OPTION_INTEGER, /* int64_t */
    KARMA_OPTION_REAL,    /* double; `words` may name special values */
    KARMA_OPTION_CHOICE,  /* int; one of `words` */
    KARMA_OPTION_SWITCH,  /* int; on or off */
    KARMA_OPTION_TEXT,    /* char *, owned by the struct */
    KARMA_OPTION_NAMES    /* karma_names; may be given several times */
} karma_option_kind;

typedef struct karma_option_word {
    const char *word; /* NULL ends a list */
    double value;
} karma_option_word;

typedef struct karma_option {
    const char *name; /* the flag is --name */
    karma_option_kind kind;
    size_t offset;
    double initial, min, max;
    const karma_option_word *words;
    const char *placeholder; /* placeholder of the value in the help; NULL: derived from the kind */
    const char *help;
    const char *initial_text; /* what NULL stands for in a text */
} karma_option;

typedef struct karma_option_table {
    const karma_option *options;
    size_t count;
    size_t struct_size;
} karma_option_table;

/* The table of each options struct. Constant, any thread. */
KARMA_API const karma_option_table *karma_read_option_table(void);
KARMA_API const karma_option_table *karma_fit_option_table(void);
KARMA_API const karma_option_table *karma_search_option_table(void);
KARMA_API const karma_option_table *karma_explain_option_table(void);
KARMA_API const karma_option_table *karma_compare_option_table(void);
KARMA_API const karma_option_table *karma_synth_option_table(void);
KARMA_API const karma_option_table *karma_theory_option_table(void);
KARMA_API const karma_option_table *karma_regret_option_table(void);
KARMA_API const karma_option_table *karma_online_option_table(void);

/* Every options struct begins with its own size, so that a program compiled against an older header works with a newer
 * library: options that the program does not know have their defaults. Always fill a struct by karma_options_init
 * first; functions that take options refuse one that was not filled, and take NULL for the defaults. A struct from a
 * newer header, larger than the library's, is refused too (docs/abi.md).
 *
 * `options` is the struct that the table belongs to. All of these functions may be called from any thread, on different
 * structs at the same time. */

/* Fills in the defaults; members that no record names become 0. Previous contents are ignored. */
#define karma_options_init(table, options) karma_options_init_size((table), (options), sizeof *(options))
/* The same for a struct of `size` bytes. */
KARMA_API void karma_options_init_size(const karma_option_table *table, void *options, size_t size);
/* Fills `to` with a copy of `from`, or with the defaults if that is NULL; the copy owns its texts and lists, and what
 * was in `to` is ignored. As two versions may have made them, the structs may differ in size: options that only `to`
 * has get their defaults, options that only `from` has are left out. */
#define karma_options_copy(table, to, from, err) karma_options_copy_size((table), (to), sizeof *(to), (from), (err))
/* The same into a struct of `size` bytes. Errors: KARMA_ERR_OPTION for a struct that was not initialised or for a size
 * that the library does not know, KARMA_ERR_MEMORY. Cost: the length of its texts. Threads: safe; inputs are only
 * read. */
KARMA_API karma_status karma_options_copy_size(const karma_option_table *table, void *to, size_t size, const void *from,
                                               karma_error *err);
/* Frees texts and lists; NULL is allowed. The struct can then be filled by karma_options_init again. */
KARMA_API void karma_options_clear(const karma_option_table *table, void *options);
KARMA_API const karma_option *karma_option_find(const karma_option_table *table, const char *name);
/* Reads `text` into the option; a list gets one more item. Errors: KARMA_ERR_OPTION with a message that lists what is
 * allowed, or if the struct is too old to have this option. Cost: constant. Threads: one at a time per struct.
 */
KARMA_API karma_status karma_option_set(const karma_option *option, void *options, const char *text, karma_error *err);
/* Checks the struct's size and every bound (NaN is out of every bound). Errors: KARMA_ERR_OPTION, naming the option and
 * its range. Cost: one pass over the options. Threads: safe; inputs are only read. */
KARMA_API karma_status karma_options_check(const karma_option_table *table, const void *options, karma_error *err);
/* The value as text that karma_option_set reads back, or the default if the struct is too old to have the option;
 * lists are joined by commas. Returns the length that snprintf would. */
KARMA_API int karma_option_text(const karma_option *option, const void *options, char *text, size_t size);
/* The allowed values, for help and messages: "hinge|logistic", "NUMBER|mean", "on|off". */
KARMA_API int karma_option_values(const karma_option *option, char *text, size_t size);
/* The default, as text; empty if there is none. */
KARMA_API int karma_option_initial(const karma_option *option, char *text, size_t size);

#ifdef __cplusplus
}
#endif
#endif

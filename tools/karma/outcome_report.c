/* The summary of a search: how good the model is, compared with a constant prediction and 0-imputation. */
#include <math.h>
#include <string.h>

#include "tool.h"

/* A difference counts from this many standard errors on. */
static const double CLEAR = 2.0;

/* "0.8123 +- 0.0150", or without an error where there is one fold only. */
static const char *with_error(char text[64], double value, double error) {
    if (fabs(value) < 0.00005) value = 0.0; /* and not a sign */
    if (isfinite(error))
        (void)snprintf(text, 64, "%.*f +- %.*f", score_decimals(value), value, score_decimals(value), error);
    else
        (void)snprintf(text, 64, "%.*f", score_decimals(value), value);
    return text;
}

void print_score_line(const char *name, double score, double error, const char *remark) {
    char text[64];
    print_field(name, 14);
    printf(" %-18s%s%s\n", with_error(text, score, error), *remark ? "  " : "", remark);
}

/* The classes by their number of rows, the most common first. */
static void print_class_counts(const karma_model *model, size_t target) {
    enum { MOST = 6 };
    size_t K = karma_model_n_classes(model, target), last = SIZE_MAX, last_class = 0;
    for (size_t shown = 0; shown < K && shown < MOST; shown++) {
        size_t best = K, n = 0;
        for (size_t k = 0; k < K; k++) { /* the next in order of counts, then of classes */
            size_t count = karma_model_class_count(model, target, k);
            int is_after = shown == 0 || count < last || (count == last && k > last_class);
            if (is_after && (best == K || count > n)) best = k, n = count;
        }
        if (shown) fputs(", ", stdout);
        print_class_count(karma_model_class(model, target, best), n);
        last = n;
        last_class = best;
    }
    puts(K > MOST ? ", ..." : "");
}

void print_target_line(const karma_model *model, size_t target) {
    size_t K = karma_model_n_classes(model, target), Q = karma_model_n_quantiles(model, target);
    fputs("  ", stdout);
    print_field("target", 14);
    printf(" %s, ", karma_model_target_name(model, target));
    if (K) {
        printf("%zu classes%s: ", K, karma_model_has_probabilities(model, target) ? " with probabilities" : "");
        print_class_counts(model, target);
    } else
        printf(Q > 1 ? "%zu quantiles of a number\n" : "a number\n", Q);
}

static const char *constant_words(const karma_model *model, size_t target, karma_goal goal) {
    if (goal == KARMA_GOAL_LOG_LOSS) return "always the shares of the classes";
    if (goal == KARMA_GOAL_AUC) return "the same score for all rows";
    if (karma_model_task(model, target) == KARMA_TASK_CLASSIFY) return "always the most common class";
    return karma_model_n_quantiles(model, target) ? "always the same quantiles" : "always the mean";
}

/* The mean difference between the choice and 0-imputation on the same folds, positive where the choice is better. */
static void compare_with_zero(double *difference, double *error, const karma_search_info *info) {
    double n = (double)info->n_values, sum = 0.0, squares = 0.0;
    double sign = karma_goal_is_loss(info->goal) ? -1.0 : 1.0;
    for (size_t f = 0; f < info->n_values; f++) sum += sign * (info->values[f] - info->zero_values[f]) / n;
    for (size_t f = 0; f < info->n_values; f++)
        squares += pow(sign * (info->values[f] - info->zero_values[f]) - sum, 2);
    *difference = sum;
    *error = n > 1.0 ? sqrt(squares / (n - 1.0) / fmin(n, (double)info->n_folds)) : NAN;
}

/* Whether an ingredient of kernels, or a group of them, clearly helped. */
static int helped(const karma_search_info *info, const char *ingredient) {
    double sign = karma_goal_is_loss(info->goal) ? -1.0 : 1.0;
    for (size_t i = 0; i < info->n_gains; i++) {
        const karma_search_gain *g = &info->gains[i];
        if (strcmp(g->ingredient, ingredient) == 0 && sign * g->gain > CLEAR * g->error && g->gain != 0.0) return 1;
    }
    return 0;
}

/* Scores of a constant prediction have no error of their own. The check tells more where there is one: classes of few
 * rows can be missing from the sample. */
static int beats_constant(const karma_search_info *info) {
    double sign = karma_goal_is_loss(info->goal) ? -1.0 : 1.0, score = info->score, error = info->error;
    if (info->n_checked) {
        score = info->check_score;
        error = info->check_error;
    }
    double margin = sign * (score - info->constant_score);
    return isfinite(error) ? margin > CLEAR * error : margin > 0.0;
}

/* " (by 0.0123 +- 0.0100)", or "difference" where it may be negative; for several targets the mean difference is not
 * meaningful. */
static void print_difference(const karma_search_info *info, double difference, double error) {
    char text[64];
    if (info->n_targets < 2)
        printf(" (%s %s)", difference > 0.0 ? "by" : "difference", with_error(text, difference, error));
}

/* Ranks, outer maps and trees are "nonlinear kernels", gamma > 1 and subspaces the treatment of missing values. */
static const char *what_mattered(const karma_search_info *info, int is_better, int is_complete) {
    int holes = helped(info, "missing") || helped(info, "gamma") || helped(info, "subspace");
    int kernels = helped(info, "nonlinear") || helped(info, "rank") || helped(info, "outer");
    if (!is_better)
        return is_complete ? "no cell is missing, and nonlinear kernels did not matter here"
                           : "neither the treatment of missing values nor nonlinear kernels mattered here";
    if (is_complete) return "nonlinear kernels mattered (ranks, outer maps, trees); no cell is missing";
    if (holes && kernels)
        return "both the treatment of missing values (gamma > 1, subspace) and nonlinear kernels (ranks, outer maps, "
               "trees) mattered";
    if (holes) return "the treatment of missing values mattered (gamma > 1, subspace), but nonlinear kernels did not";
    if (kernels)
        return "nonlinear kernels mattered (ranks, outer maps, trees), but the treatment of missing values did not";
    return "nonlinear kernels (ranks, outer maps, trees) alone would be about as good, and so would the treatment of "
           "missing values (gamma > 1, subspace) alone";
}

static void print_verdict(const karma_search_info *info, double missing) {
    double difference, error;
    if (!beats_constant(info)) {
        puts("  Not clearly better than a constant prediction: these columns do not predict the target, or there are "
             "too few rows.");
        return;
    }
    if (info->n_checked) { /* the comparison with 0-imputation on the sample need not hold for all rows */
        printf("  Rely on the check: the other scores are those of models learned from about %zu rows.\n",
               info->n_rows_tried - info->n_rows_tried / info->n_folds);
        return;
    }
    if (!info->has_zero_imputation) return;
    compare_with_zero(&difference, &error, info);
    if (!isfinite(error)) {
        puts("  With one fold it cannot be compared with 0-imputation.");
        return;
    }
    int is_better = difference > CLEAR * error;
    fputs(is_better        ? "  Better than 0-imputation"
          : difference > 0 ? "  Not clearly better than 0-imputation"
                           : "  Not better than 0-imputation",
          stdout);
    print_difference(info, difference, error);
    printf(": %s.\n", what_mattered(info, is_better, missing == 0.0));
}

/* Where kernels were chosen on a sample: the choice, learned from the other rows, on that sample. */
static void print_check(const karma_search_info *info) {
    char remark[120];
    if (info->n_checked == 0) return;
    (void)snprintf(remark, sizeof remark, "on %zu rows, by a model learned from %zu others", info->n_checked,
                   info->n_check_learned);
    fputs("  ", stdout);
    print_score_line("check", info->check_score, info->check_error, remark);
}

static void print_one_target(const karma_model *model, const karma_search_info *info) {
    print_target_line(model, 0);
    fputs("  ", stdout);
    print_score_line(karma_goal_name(info->goal), info->score, info->error,
                     karma_goal_is_loss(info->goal)
                         ? "cross-validated, less is better; optimistic: the same folds chose it (see cv)"
                         : "cross-validated; optimistic: the same folds chose it (see cv)");
    fputs("  ", stdout);
    print_score_line("baseline", info->constant_score, NAN, constant_words(model, 0, info->goal));
    print_check(info);
    if (!info->has_zero_imputation) return;
    fputs("  ", stdout);
    print_score_line("0-imputation", info->zero_score, info->zero_error, "a linear model, missing values as 0");
}

/* Scores of different targets are not averaged in text output: accuracy and R2 have no common scale. */
static void print_each_target(const karma_model *model, const karma_search_info *info) {
    for (size_t t = 0; t < info->n_targets; t++) {
        const karma_search_target *own = &info->targets[t];
        char constant[200], zero[64], base[64];
        print_target_line(model, t);
        (void)snprintf(constant, sizeof constant, "baseline %s%s%s%s", with_error(base, own->constant_score, NAN),
                       info->has_zero_imputation ? ", 0-imputation " : "",
                       info->has_zero_imputation ? with_error(zero, own->zero_score, own->zero_error) : "",
                       karma_goal_is_loss(own->goal) ? ", less is better" : "");
        fputs("  ", stdout);
        print_score_line(karma_goal_name(own->goal), own->score, own->error, constant);
    }
    puts("  Cross-validated; optimistic: the same folds chose it (see cv).");
}

static void print_cut(const karma_search_info *info) {
    size_t n_folds = info->n_folds * info->n_repeats;
    const char *cause = info->end == KARMA_SEARCH_INTERRUPTED ? "an interrupt" : "the time limit";
    if (info->end == KARMA_SEARCH_COMPLETE) return;
    if (info->n_values < n_folds)
        printf("  Cut short by %s after %zu of %zu folds: more time may give a better model.\n", cause, info->n_values,
               n_folds);
    else
        printf("  Cut short by %s: some kernels were not tried on all folds. More time may give a better model.\n",
               cause);
}

void print_outcome(const karma_model *model, double missing) {
    const karma_search_info *info = karma_model_search_info(model);
    if (info->n_targets > 1)
        print_each_target(model, info);
    else
        print_one_target(model, info);
    print_cut(info);
    print_verdict(info, missing);
}

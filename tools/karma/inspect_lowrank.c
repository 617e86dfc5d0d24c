/* karma inspect --lowrank: whether a table satisfies the low-rank assumption of the paper, and what follows from
 * that. */
#include <math.h>
#include <stdlib.h>

#include "tool.h"

enum { MOST_CRITICAL = 10, LARGEST_GAMMA = 1024 };

typedef struct lowrank_view {
    const karma_table *table;
    const karma_lowrank *report;
    int norms_known;
    karma_norm_check norms;
    double epsilon;
    size_t n_critical; /* attributes that some row depends on, the most important first */
    size_t critical[MOST_CRITICAL];
} lowrank_view;

static const char *const quartile_names[KARMA_N_QUARTILES] = {"min", "q1", "median", "q3", "max"};

static const char *verdict_name(karma_lowrank_verdict verdict) {
    static const char *const names[] = {"no", "partly", "holds", "unknown"};
    return names[verdict];
}

/* The attributes with the largest counts, in that order, of equals the first; those with none are left out. */
static void rank_critical(lowrank_view *v) {
    const size_t *count = v->report->n_critical;
    v->n_critical = 0;
    for (size_t j = 0; j < v->report->n_attributes; j++) {
        size_t place = v->n_critical;
        if (count[j] == 0) continue;
        while (place > 0 && count[v->critical[place - 1]] < count[j]) place--;
        if (place == MOST_CRITICAL) continue;
        if (v->n_critical < MOST_CRITICAL) v->n_critical++;
        for (size_t k = v->n_critical - 1; k > place; k--) v->critical[k] = v->critical[k - 1];
        v->critical[place] = j;
    }
}

static double share_of_rows(const lowrank_view *v, size_t n) {
    return v->report->n_rows ? (double)n / (double)v->report->n_rows : 0.0;
}

static double gamma_of(const lowrank_view *v, int quartile) {
    double lambda = v->report->quartile[quartile];
    return lambda > 0.0 ? karma_theory_gamma(lambda, v->epsilon, 1.0) : NAN;
}

static double log10_big_gamma_of(const lowrank_view *v, int quartile) {
    double gamma = gamma_of(v, quartile);
    return isfinite(gamma) ? karma_theory_log_big_gamma(v->report->n_attributes, gamma) / log(10.0) : NAN;
}

/* --- for people ---------------------------------------------------------------------------------------- */

static void print_subspace(const lowrank_view *v) {
    const karma_lowrank *r = v->report;
    printf("  rank %zu%s\n", r->rank,
           r->n_trials ? ", the smallest that predicts hidden cells as well as the best" : ", as given");
    if (r->n_trials) printf("\n  %6s %10s   mean log density of hidden cells\n", "rank", "score");
    for (size_t k = 0; k < r->n_trials; k++)
        printf("  %6zu %10.4f%s\n", r->trials[k].rank, r->trials[k].score,
               r->trials[k].rank == r->rank ? "   chosen" : "");
    printf("\n  spectrum (standard deviations):");
    for (size_t k = 0; k < r->n_directions; k++) printf(" %.4g", r->spectrum[k]);
    printf("%s; noise %.4g\n", r->n_directions ? "" : " none", r->noise);
}

static void print_verdict(const lowrank_view *v) {
    static const char *const sentences[] = {
        "The low-rank assumption does not hold here: completions predict hidden cells hardly better than the\n"
        "  columns' means. Neither --kernel subspace nor a large gamma has much to gain.",
        "The low-rank assumption holds in part: completions predict hidden cells better than the columns' means,\n"
        "  but not well. --kernel union can use what there is.",
        "The low-rank assumption holds: completions predict hidden cells well. --kernel union, or subspace if many\n"
        "  cells are missing, should learn more from fewer rows.",
        "Within groups of columns that are observed together, completions predict hidden cells. But most missing\n"
        "  cells cannot be predicted: their columns are never observed together with those that their rows have.",
    };
    char text[16];
    printf("\n  %s of the variance of hidden cells is explained by the subspace (holds from %.0f%%, partly from "
           "%.0f%%).\n",
           percent(text, fmax(v->report->explained, 0.0)), 100.0 * KARMA_LOWRANK_HOLDS_FROM,
           100.0 * KARMA_LOWRANK_PARTLY_FROM);
    printf("  %s\n", sentences[v->report->verdict]);
}

static void print_linkage(const lowrank_view *v) {
    const karma_lowrank *r = v->report;
    char share[16];
    if (r->n_pairs)
        printf("\n  %zu of %zu pairs of columns are observed together in some row.\n", r->n_pairs_together, r->n_pairs);
    if (r->n_groups < 2) return;
    printf("  The rows link the columns into %zu groups; how columns of different groups are related is not known.\n",
           r->n_groups);
    for (size_t g = 0, shown = 0; g < r->n_groups && g < MOST_CRITICAL; g++, shown = 0) {
        printf("    group %zu:", g + 1);
        for (size_t j = 0; j < r->n_attributes; j++)
            if (r->group[j] == g && shown++ < 6)
                printf("%s %s", shown > 1 ? "," : "", karma_table_attribute_name(v->table, j));
        printf(shown > 6 ? ", ... (%zu columns)\n" : "\n", shown);
    }
    printf("  %zu of %zu missing cells (%s) cannot be determined: their rows observe no column of their group.\n",
           r->n_undetermined, r->n_missing,
           percent(share, r->n_missing ? (double)r->n_undetermined / (double)r->n_missing : 0.0));
}

static void print_gamma_advice(const lowrank_view *v) {
    double median = gamma_of(v, 2);
    if (median <= LARGEST_GAMMA)
        printf(
            "  For half of the rows gamma = %.0f brings the class within epsilon of the best linear function of the\n"
            "  complete rows; rows with a smaller lambda gain less from the same gamma.\n",
            median);
    else
        printf("  Half of the rows would need a gamma above %d, the largest allowed: gamma alone will not reach\n"
               "  epsilon here, and the subspace kernels are better.\n",
               LARGEST_GAMMA);
}

static void print_regularity(const lowrank_view *v) {
    const karma_lowrank *r = v->report;
    char share[16];
    if (r->n_directions == 0 || r->n_blind == r->n_rows) return;
    printf(
        "\n  %zu of %zu rows (%s) are reconstructible: their observed cells determine their place in the subspace.\n",
        r->n_reconstructible, r->n_rows, percent(share, share_of_rows(v, r->n_reconstructible)));
    if (r->n_blind) printf("  %zu rows say nothing about the subspace and are left out below.\n", r->n_blind);
    printf("\n  %-8s %10s %14s %14s   for epsilon %g\n", "rows", "lambda", "gamma", "log10 Gamma", v->epsilon);
    for (int q = 0; q < KARMA_N_QUARTILES; q++)
        printf("  %-8s %10.4g %14.6g %14.6g\n", quartile_names[q], r->quartile[q], gamma_of(v, q),
               log10_big_gamma_of(v, q));
    print_gamma_advice(v);
}

static void print_critical(const lowrank_view *v) {
    if (v->n_critical == 0) return;
    printf("\n  Columns that rows depend on: without them, rows are not reconstructible.\n");
    for (size_t k = 0; k < v->n_critical; k++) {
        fputs("  ", stdout);
        print_field(karma_table_attribute_name(v->table, v->critical[k]), 24);
        printf(" %zu rows\n", v->report->n_critical[v->critical[k]]);
    }
}

static void print_lowrank(const lowrank_view *v, const char *path) {
    char share[16];
    printf("%s: %zu rows, %zu columns, check of the low-rank assumption\n", path_text(path), v->report->n_rows,
           v->report->n_attributes);
    print_subspace(v);
    print_verdict(v);
    print_linkage(v);
    print_regularity(v);
    print_critical(v);
    if (v->norms_known)
        printf("\n  %s of the rows have a norm above 1, and the paper's bounds assume at most 1%s.\n",
               percent(share, share_of_rows(v, v->norms.n_above_one)),
               v->norms.n_above_one ? " (--unit-ball on shrinks them)" : "");
}

/* --- for programs -------------------------------------------------------------------------------------- */

static json_t *regularity_json(const lowrank_view *v) {
    json_t *object = json_object();
    int known = v->report->n_blind < v->report->n_rows;
    for (int q = 0; q < KARMA_N_QUARTILES; q++)
        (void)json_object_set_new(object, quartile_names[q],
                                  json_pack("{s:o, s:o, s:o}", "lambda",
                                            json_number_or_null(known ? v->report->quartile[q] : NAN), "gamma",
                                            json_number_or_null(gamma_of(v, q)), "log10_Gamma",
                                            json_number_or_null(log10_big_gamma_of(v, q))));
    return object;
}

static json_t *lowrank_json(const lowrank_view *v) {
    const karma_lowrank *r = v->report;
    json_t *trials = json_array(), *spectrum = json_array(), *critical = json_array();
    for (size_t k = 0; k < r->n_trials; k++)
        (void)json_array_append_new(
            trials, json_pack("{s:I, s:f}", "rank", (json_int_t)r->trials[k].rank, "score", r->trials[k].score));
    for (size_t k = 0; k < r->n_directions; k++) (void)json_array_append_new(spectrum, json_real(r->spectrum[k]));
    for (size_t k = 0; k < v->n_critical; k++)
        (void)json_array_append_new(critical, json_pack("{s:s, s:I}", "name",
                                                        karma_table_attribute_name(v->table, v->critical[k]), "rows",
                                                        (json_int_t)r->n_critical[v->critical[k]]));
    json_t *object =
        json_pack("{s:s, s:I, s:I, s:I, s:o, s:o, s:f, s:f, s:s, s:I, s:I, s:f, s:o, s:f, s:o}", "kind", "lowrank",
                  "rows", (json_int_t)r->n_rows, "attributes", (json_int_t)r->n_attributes, "rank", (json_int_t)r->rank,
                  "trials", trials, "spectrum", spectrum, "noise", r->noise, "explained", r->explained, "verdict",
                  verdict_name(r->verdict), "reconstructible", (json_int_t)r->n_reconstructible, "blind",
                  (json_int_t)r->n_blind, "reconstructible_share", share_of_rows(v, r->n_reconstructible), "regularity",
                  regularity_json(v), "epsilon", v->epsilon, "critical", critical);
    (void)json_object_update_new(object, json_pack("{s:I, s:I, s:I, s:I, s:I}", "pairs", (json_int_t)r->n_pairs,
                                                   "pairs_together", (json_int_t)r->n_pairs_together, "groups",
                                                   (json_int_t)r->n_groups, "missing_cells", (json_int_t)r->n_missing,
                                                   "undetermined_cells", (json_int_t)r->n_undetermined));
    if (v->norms_known)
        (void)json_object_set_new(object, "norm_above_one_share", json_real(share_of_rows(v, v->norms.n_above_one)));
    return object;
}

/* --- row by row ---------------------------------------------------------------------------------------- */

static int write_rows(const tool *t, const karma_lowrank *r) {
    karma_error err;
    karma_output *output = NULL;
    char text[KARMA_NUMBER_SIZE];
    if (karma_output_open(&output, t->options.output, &err) != KARMA_OK) return fail(t->options.output, &err);
    FILE *stream = karma_output_stream(output);
    fputs("row,observed,lambda,reconstructible\n", stream);
    for (size_t i = 0; i < r->n_rows; i++)
        fprintf(stream, "%zu,%zu,%s,%s\n", i + 1, r->n_observed[i], karma_number_text(text, r->lambda[i]),
                r->is_reconstructible[i] ? "yes" : "no");
    return karma_output_commit(output, &err) == KARMA_OK ? EXIT_DONE : fail(t->options.output, &err);
}

static int print_all(tool *t, const karma_table *table, const karma_lowrank *report, const char *path) {
    lowrank_view v = {.table = table, .report = report, .epsilon = t->theory.epsilon};
    rank_critical(&v);
    v.norms_known = karma_check_norms(&v.norms, table, &t->fit, NULL) == KARMA_OK;
    if (t->options.output) {
        int code = write_rows(t, report);
        if (code != EXIT_DONE) return code;
    }
    if (t->options.json) return print_json(lowrank_json(&v));
    begin_text();
    print_lowrank(&v, path);
    return finish_stdout();
}

int inspect_lowrank(tool *t, const char *path) {
    karma_error err;
    karma_table *table = NULL;
    karma_lowrank *report = NULL;
    int code;
    if (t->options.output && writes_stdout(t)) return fail_usage(t, "-o - would mix with the report: name a file");
    if (karma_table_read(&table, path, &t->read, &t->hooks, &err) != KARMA_OK ||
        karma_lowrank_new(&report, table, &t->fit, &t->hooks, &err) != KARMA_OK)
        code = fail(path, &err);
    else
        code = print_all(t, table, report, path);
    karma_lowrank_free(report);
    karma_table_free(table);
    return code;
}

/* Checks the low-rank assumption: finds a subspace as in training, and compares the rows with it. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/options_accept.h"
#include "karma/subspace.h"
#include "prep/recipe.h"
#include "subspace/regularity.h"
#include "table/table_split.h"

void karma_lowrank_free(karma_lowrank *report) {
    if (!report) return;
    karma_i_free(report->trials);
    karma_i_free(report->spectrum);
    karma_i_free(report->lambda);
    karma_i_free(report->is_reconstructible);
    karma_i_free(report->n_observed);
    karma_i_free(report->n_critical);
    karma_i_free(report->group);
    karma_i_free(report);
}

static karma_status make_room(karma_lowrank *out, const karma_table *table, const karma_i_latent *latent,
                              karma_error *err) {
    out->n_rows = table->n_rows;
    out->n_attributes = table->n_attributes;
    out->n_trials = latent->choice.n_scores;
    out->n_directions = latent->basis->rank;
    out->trials = karma_i_alloc(out->n_trials, sizeof *out->trials);
    out->spectrum = karma_i_alloc(out->n_directions, sizeof *out->spectrum);
    out->lambda = karma_i_alloc(out->n_rows, sizeof *out->lambda);
    out->is_reconstructible = karma_i_alloc(out->n_rows, 1);
    out->n_observed = karma_i_alloc(out->n_rows, sizeof *out->n_observed);
    out->n_critical = karma_i_zalloc(out->n_attributes, sizeof *out->n_critical);
    out->group = karma_i_zalloc(out->n_attributes, sizeof *out->group);
    int ok = out->trials && out->spectrum && out->lambda && out->is_reconstructible && out->n_observed &&
             out->n_critical && out->group;
    return ok ? KARMA_OK : karma_i_fail_memory(err);
}

static void describe_subspace(karma_lowrank *out, const karma_i_latent *latent) {
    out->rank = latent->subspace->rank;
    out->noise = sqrt(latent->subspace->sigma2);
    for (size_t k = 0; k < out->n_trials; k++)
        out->trials[k] = (karma_rank_trial){latent->choice.scores[k].rank, latent->choice.scores[k].score};
    memcpy(out->spectrum, latent->basis->s, out->n_directions * sizeof *out->spectrum);
}

/* The recipe leaves out attributes that are never observed: they are never critical and form no group. */
static karma_status describe_critical(karma_lowrank *out, const karma_i_regularity *regularity,
                                      const karma_i_recipe *recipe, const karma_table *table, karma_error *err) {
    karma_i_matching match;
    KARMA_TRY(karma_i_recipe_match(&match, recipe, table, err));
    for (size_t j = 0; j < table->n_attributes; j++)
        if (match.attribute[j] != KARMA_I_UNKNOWN) {
            const size_t *group = recipe->latent->linkage.group;
            out->n_critical[j] = regularity->n_critical[match.attribute[j]];
            out->group[j] = group ? group[match.attribute[j]] : 0;
        }
    karma_i_matching_clear(&match);
    return KARMA_OK;
}

static karma_status describe_regularity(karma_lowrank *out, const karma_i_recipe *recipe, const karma_i_rows *rows,
                                        const karma_table *table, int threads, karma_error *err) {
    karma_i_regularity *regularity = NULL;
    KARMA_TRY(karma_i_regularity_new(&regularity, recipe->latent->basis, karma_i_rows_all(rows), threads, err));
    memcpy(out->lambda, regularity->lambda, out->n_rows * sizeof *out->lambda);
    memcpy(out->is_reconstructible, regularity->is_reconstructible, out->n_rows);
    memcpy(out->quartile, regularity->quartile, sizeof out->quartile);
    out->n_reconstructible = regularity->n_reconstructible;
    out->n_blind = regularity->n_blind;
    for (size_t i = 0; i < out->n_rows; i++) out->n_observed[i] = karma_i_rows_n_observed(rows, i);
    karma_status st = describe_critical(out, regularity, recipe, table, err);
    karma_i_regularity_free(regularity);
    return st;
}

/* Missing cells of a row about which its observed cells say nothing. `seen` has a place for every group. */
static size_t count_undetermined(const karma_i_linkage *linkage, const karma_i_rows *rows, size_t row,
                                 unsigned char *seen, unsigned char *observed) {
    karma_i_cell cell;
    size_t n = 0;
    memset(seen, 0, linkage->n_groups);
    memset(observed, 0, rows->n_attributes);
    for (size_t from = 0; karma_i_rows_next_cell(&cell, rows, row, from); from = cell.attribute + 1)
        observed[cell.attribute] = seen[linkage->group[cell.attribute]] = 1;
    for (size_t j = 0; j < rows->n_attributes; j++) n += !observed[j] && !seen[linkage->group[j]];
    return n;
}

/* Which attributes rows observe together, and which missing cells the data cannot determine. */
static karma_status describe_linkage(karma_lowrank *out, const karma_i_linkage *linkage, const karma_i_rows *rows,
                                     karma_error *err) {
    karma_i_pair_count pairs;
    KARMA_TRY(karma_i_count_pairs(&pairs, rows, err));
    out->n_pairs = pairs.n_pairs;
    out->n_pairs_together = pairs.n_together;
    out->n_groups = linkage->n_groups;
    for (size_t i = 0; i < rows->n_rows; i++) out->n_missing += rows->n_attributes - out->n_observed[i];
    if (!linkage->group) return KARMA_OK;
    unsigned char *seen = karma_i_alloc(linkage->n_groups, 1), *observed = karma_i_alloc(rows->n_attributes, 1);
    karma_status st = seen && observed ? KARMA_OK : karma_i_fail_memory(err);
    for (size_t i = 0; st == KARMA_OK && i < rows->n_rows; i++) {
        size_t n = count_undetermined(linkage, rows, i, seen, observed);
        out->n_undetermined += n;
        if (n == 0 || !out->is_reconstructible[i]) continue;
        out->is_reconstructible[i] = 0;
        out->n_reconstructible--;
    }
    karma_i_free(seen);
    karma_i_free(observed);
    return st;
}

/* Hides other cells than those used for choosing the rank. */
static karma_status describe_explained(karma_lowrank *out, const karma_i_rows *rows, const karma_fit_options *options,
                                       karma_i_ppca_options *ppca, karma_error *err) {
    ppca->rank = out->rank;
    if (out->rank > 0)
        KARMA_TRY(
            karma_i_ppca_explained(&out->explained, karma_i_rows_all(rows), (uint64_t)options->seed + 1, ppca, err));
    out->verdict = out->explained >= KARMA_LOWRANK_HOLDS_FROM    ? KARMA_LOWRANK_HOLDS
                   : out->explained >= KARMA_LOWRANK_PARTLY_FROM ? KARMA_LOWRANK_PARTLY
                                                                 : KARMA_LOWRANK_NO;
    if (out->verdict != KARMA_LOWRANK_NO && 2 * out->n_undetermined > out->n_missing)
        out->verdict = KARMA_LOWRANK_UNKNOWN;
    return KARMA_OK;
}

static karma_status fill_report(karma_lowrank *out, const karma_i_recipe *recipe, const karma_table *table,
                                const karma_fit_options *options, const karma_hooks *hooks, karma_error *err) {
    karma_i_rows *rows = NULL;
    KARMA_TRY(make_room(out, table, recipe->latent, err));
    describe_subspace(out, recipe->latent);
    KARMA_TRY(karma_i_recipe_encode(&rows, NULL, recipe, table, NULL, err));
    karma_i_ppca_options ppca = karma_i_latent_options(rows, options, hooks);
    karma_status st = describe_regularity(out, recipe, rows, table, ppca.threads, err);
    if (st == KARMA_OK) st = describe_linkage(out, &recipe->latent->linkage, rows, err);
    if (st == KARMA_OK) st = describe_explained(out, rows, options, &ppca, err);
    karma_i_rows_free(rows);
    return st;
}

karma_status karma_lowrank_new(karma_lowrank **out, const karma_table *table, const karma_fit_options *options,
                               const karma_hooks *hooks, karma_error *err) {
    karma_fit_options own;
    KARMA_TRY(karma_i_table_check_whole(table, err));
    KARMA_TRY(karma_i_options_accept(karma_fit_option_table(), &own, options, err));
    if (own.subspace_noise == KARMA_NOISE_AUTO) own.subspace_noise = KARMA_NOISE_COLUMN;
    options = &own;
    karma_kernel_kind kind = karma_i_kind_with(KARMA_KERNEL_SUBSPACE, own.space == KARMA_SPACE_RANKS);
    karma_i_recipe *recipe = NULL;
    KARMA_TRY(karma_i_recipe_learn(&recipe, table, kind, options, hooks, err));
    karma_lowrank *report = karma_i_zalloc(1, sizeof *report);
    karma_status st = report ? fill_report(report, recipe, table, options, hooks, err) : karma_i_fail_memory(err);
    karma_i_recipe_free(recipe);
    if (st == KARMA_OK)
        *out = report;
    else
        karma_lowrank_free(report);
    return st;
}

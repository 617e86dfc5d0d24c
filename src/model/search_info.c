#include "model/search_info.h"

#include <math.h>

#include "base/error.h"
#include "base/mem.h"

void karma_i_search_info_free(karma_search_info *info) {
    if (!info) return;
    for (size_t i = 0; info->gains && i < info->n_gains; i++) karma_i_free(info->gains[i].ingredient);
    for (size_t i = 0; info->candidates && i < info->n_candidates; i++) {
        karma_i_free(info->candidates[i].kernel);
        karma_i_free(info->candidates[i].without_gamma);
    }
    for (size_t i = 0; info->members && i < info->n_members; i++) {
        karma_i_free(info->members[i].kernel);
        karma_i_free(info->members[i].C_factors);
        karma_i_free(info->members[i].weights);
    }
    karma_i_free(info->values);
    karma_i_free(info->zero_values);
    karma_i_free(info->gains);
    karma_i_free(info->candidates);
    karma_i_free(info->members);
    karma_i_free(info->targets);
    karma_i_free(info);
}

/* --- model files --------------------------------------------------------------------------------------- */

static const char *const end_words[KARMA_N_SEARCH_ENDS] = {"complete", "out of time", "interrupted"};

/* Goals have the same words as in the option. */
static karma_status archive_goal(karma_i_archive *a, karma_goal *value) {
    const karma_option *option = karma_option_find(karma_search_option_table(), "goal");
    const char *words[KARMA_N_GOALS] = {0};
    int goal = (int)*value;
    for (const karma_option_word *w = option->words; w->word; w++)
        if (w->value >= 0 && w->value < KARMA_N_GOALS) words[(size_t)w->value] = w->word;
    KARMA_TRY(karma_i_archive_word(a, "goal", &goal, words, KARMA_N_GOALS));
    if (karma_i_archive_is_reading(a)) *value = (karma_goal)goal;
    return KARMA_OK;
}

static karma_status archive_words(karma_i_archive *a, karma_search_info *info) {
    int end = (int)info->end;
    KARMA_TRY(archive_goal(a, &info->goal));
    KARMA_TRY(karma_i_archive_word(a, "end", &end, end_words, KARMA_N_SEARCH_ENDS));
    if (karma_i_archive_is_reading(a)) info->end = (karma_search_end)end;
    return KARMA_OK;
}

static karma_status archive_target(karma_i_archive *a, void *item) {
    karma_search_target *own = item;
    KARMA_TRY(archive_goal(a, &own->goal));
    KARMA_TRY(karma_i_archive_measure(a, "score", &own->score));
    KARMA_TRY(karma_i_archive_measure(a, "error", &own->error));
    KARMA_TRY(karma_i_archive_measure(a, "constant_score", &own->constant_score));
    KARMA_TRY(karma_i_archive_measure(a, "zero_score", &own->zero_score));
    return karma_i_archive_measure(a, "zero_error", &own->zero_error);
}

/* Older files do not have it. */
static karma_status archive_targets(karma_i_archive *a, karma_search_info *info) {
    int is_there = info->n_targets > 0;
    karma_i_archive_find(a, "targets", &is_there);
    if (!is_there) return KARMA_OK;
    return karma_i_archive_list(a, "targets", &info->targets, &info->n_targets, sizeof *info->targets, archive_target);
}

/* The duration of the search is not stored: it differs from run to run. */
static karma_status archive_numbers(karma_i_archive *a, karma_search_info *info) {
    const struct {
        const char *name;
        size_t *value;
    } counts[] = {{"n_folds", &info->n_folds},     {"n_repeats", &info->n_repeats},
                  {"n_rows", &info->n_rows},       {"n_rows_tried", &info->n_rows_tried},
                  {"n_kernels", &info->n_kernels}, {"n_kernels_to_the_end", &info->n_kernels_to_the_end},
                  {"n_tried", &info->n_tried},     {"n_chosen", &info->n_chosen}};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        KARMA_TRY(karma_i_archive_size(a, counts[i].name, counts[i].value, 0, SIZE_MAX));
    KARMA_TRY(karma_i_archive_measure(a, "score", &info->score));
    KARMA_TRY(karma_i_archive_measure(a, "error", &info->error));
    KARMA_TRY(karma_i_archive_measure(a, "constant_score", &info->constant_score));
    if (karma_i_archive_is_reading(a)) info->seconds = NAN;
    return karma_i_archive_measures(a, "values", &info->values, &info->n_values);
}

static karma_status archive_zero(karma_i_archive *a, karma_search_info *info) {
    int is_there = info->has_zero_imputation;
    size_t n = info->n_values;
    karma_i_archive_find(a, "zero_imputation", &is_there);
    if (!is_there) return KARMA_OK;
    if (karma_i_archive_is_reading(a)) info->has_zero_imputation = 1;
    KARMA_TRY(karma_i_archive_enter(a, "zero_imputation"));
    KARMA_TRY(karma_i_archive_measure(a, "score", &info->zero_score));
    KARMA_TRY(karma_i_archive_measure(a, "error", &info->zero_error));
    KARMA_TRY(karma_i_archive_measures(a, "values", &info->zero_values, &n));
    if (n != info->n_values) return karma_i_archive_fail(a, "'values' of its search do not have the same length");
    karma_i_archive_leave(a);
    return KARMA_OK;
}

static karma_status archive_check(karma_i_archive *a, karma_search_info *info) {
    int is_there = info->n_checked > 0;
    karma_i_archive_find(a, "check", &is_there);
    if (!is_there) return KARMA_OK;
    KARMA_TRY(karma_i_archive_enter(a, "check"));
    KARMA_TRY(karma_i_archive_size(a, "n_rows", &info->n_checked, 1, SIZE_MAX));
    KARMA_TRY(karma_i_archive_size(a, "n_learned", &info->n_check_learned, 1, SIZE_MAX));
    KARMA_TRY(karma_i_archive_measure(a, "score", &info->check_score));
    KARMA_TRY(karma_i_archive_measure(a, "error", &info->check_error));
    karma_i_archive_leave(a);
    return KARMA_OK;
}

static karma_status archive_gain(karma_i_archive *a, void *item) {
    karma_search_gain *g = item;
    KARMA_TRY(karma_i_archive_text(a, "ingredient", &g->ingredient));
    KARMA_TRY(karma_i_archive_measure(a, "gain", &g->gain));
    return karma_i_archive_measure(a, "error", &g->error);
}

static karma_status archive_candidate(karma_i_archive *a, void *item) {
    karma_search_candidate *c = item;
    KARMA_TRY(karma_i_archive_text(a, "kernel", &c->kernel));
    KARMA_TRY(karma_i_archive_measure(a, "C_factor", &c->C_factor));
    KARMA_TRY(karma_i_archive_measure(a, "score", &c->score));
    KARMA_TRY(karma_i_archive_measure(a, "error", &c->error));
    KARMA_TRY(karma_i_archive_flag(a, "chosen", &c->is_chosen));
    int is_there = c->without_gamma != NULL; /* older files do not have it */
    karma_i_archive_find(a, "without_gamma", &is_there);
    if (!is_there) return KARMA_OK;
    KARMA_TRY(karma_i_archive_text(a, "without_gamma", &c->without_gamma));
    return karma_i_archive_number(a, "gamma", &c->gamma, 1.0, 1024.0);
}

static karma_status archive_member(karma_i_archive *a, void *item) {
    karma_search_member *m = item;
    size_t n_weights = m->n_machines;
    KARMA_TRY(karma_i_archive_text(a, "kernel", &m->kernel));
    KARMA_TRY(karma_i_archive_measures(a, "C_factors", &m->C_factors, &m->n_machines));
    KARMA_TRY(karma_i_archive_measures(a, "weights", &m->weights, &n_weights));
    return n_weights == m->n_machines ? KARMA_OK : karma_i_archive_fail(a, "'weights' of its search are not complete");
}

karma_status karma_i_search_info_archive(karma_i_archive *a, karma_search_info **search) {
    int is_there = *search != NULL;
    karma_i_archive_find(a, "search", &is_there);
    if (!is_there) return KARMA_OK;
    if (karma_i_archive_is_reading(a) && !(*search = karma_i_zalloc(1, sizeof **search)))
        return karma_i_archive_fail_memory(a);
    karma_search_info *info = *search;
    if (!info) return KARMA_OK; /* writing: a search that is there has a struct, which static analysis cannot see */
    KARMA_TRY(karma_i_archive_enter(a, "search"));
    KARMA_TRY(archive_words(a, info));
    KARMA_TRY(archive_numbers(a, info));
    KARMA_TRY(archive_zero(a, info));
    KARMA_TRY(archive_check(a, info));
    KARMA_TRY(karma_i_archive_list(a, "gains", &info->gains, &info->n_gains, sizeof *info->gains, archive_gain));
    KARMA_TRY(karma_i_archive_list(a, "candidates", &info->candidates, &info->n_candidates, sizeof *info->candidates,
                                   archive_candidate));
    KARMA_TRY(
        karma_i_archive_list(a, "members", &info->members, &info->n_members, sizeof *info->members, archive_member));
    KARMA_TRY(archive_targets(a, info));
    karma_i_archive_leave(a);
    return KARMA_OK;
}

/* Recipes in model files, and the conditions that make their rows valid. */
#include <float.h>
#include <math.h>

#include "base/bits.h"
#include "base/error.h"
#include "base/mem.h"
#include "prep/leaves.h"
#include "prep/recipe.h"

/* q of centred ranks and codes is at most 3 in size. */
static const double LARGEST_TERM = 4.0;
/* Completions may lie far outside the encoded values, but not so far that their products overflow. */
static const double LARGEST_COORDINATE = 1e15;

/* --- the features and terms of columns ----------------------------------------------------------------- */

/* Features that an attribute must have: none, or those of its kind. */
static size_t n_own_features(const karma_i_recipe *r, size_t j) {
    if (r->columns[j].kind == KARMA_COLUMN_CATEGORY) return r->columns[j].n_levels;
    return r->rankings[j].n ? 0 : r->is_polar ? 2 : 1;
}

static karma_status check_column(karma_i_archive *a, const karma_i_recipe *r, size_t j) {
    const karma_i_column *column = &r->columns[j];
    size_t n_features = r->feature_start[j + 1] - r->feature_start[j],
           n_terms = r->term_start[j + 1] - r->term_start[j];
    int is_category = column->kind == KARMA_COLUMN_CATEGORY, has_codes = is_category && n_features == 0;
    if (r->rankings[j].n && is_category) return karma_i_archive_fail(a, "column '%.60s' has ranks", column->name);
    if (n_features != n_own_features(r, j) && !has_codes)
        return karma_i_archive_fail(a, "column '%.60s' does not fit its features", column->name);
    if (has_codes && column->n_levels > KARMA_I_MOST_CODES)
        return karma_i_archive_fail(a, "column '%.60s' has too many levels for codes", column->name);
    if (n_terms && n_terms != (r->rankings[j].n || has_codes ? karma_i_recipe_n_terms(r, j) : 0))
        return karma_i_archive_fail(a, "column '%.60s' does not fit its terms", column->name);
    return KARMA_OK;
}

/* Either all ranks are centred or none; only features can be lists of cells, shrunk, or completed. */
static karma_status check_columns(karma_i_archive *a, const karma_i_recipe *r) {
    size_t n_ranked = 0, n_centred = 0, n_coded = 0, n_numbers = 0;
    for (size_t j = 0; j < r->n_attributes; j++) {
        KARMA_TRY(check_column(a, r, j));
        n_ranked += r->rankings[j].n > 0;
        n_centred += r->rankings[j].n > 0 && karma_i_recipe_has_terms(r, j);
        n_coded += karma_i_recipe_is_coded(r, j) != 0;
        n_numbers += r->columns[j].kind == KARMA_COLUMN_NUMBER;
    }
    if (n_centred && n_centred < n_ranked)
        return karma_i_archive_fail(a, "some of its ranks are centred and some are not");
    if (r->is_sparse && (n_numbers < r->n_attributes || n_ranked || r->is_polar))
        return karma_i_archive_fail(a, "its rows are sparse, but its columns are not all plain numbers");
    if (r->radius > 0.0 && (n_ranked || n_coded))
        return karma_i_archive_fail(a, "it has a radius, but columns that are coded or ranked");
    if (r->latent && (n_ranked || n_coded))
        return karma_i_archive_fail(a, "it has a subspace, but columns that are coded or ranked");
    return KARMA_OK;
}

/* Starts of n parts: from 0, not descending. */
static karma_status archive_starts(karma_i_archive *a, const char *name, size_t **start, size_t n) {
    KARMA_TRY(karma_i_archive_sizes(a, name, start, karma_i_vector_shape(n + 1)));
    int is_sound = (*start)[0] == 0;
    for (size_t j = 0; j < n; j++) is_sound &= (*start)[j + 1] >= (*start)[j];
    return is_sound ? KARMA_OK : karma_i_archive_fail(a, "its '%s' does not ascend from 0", name);
}

static karma_status archive_columns(karma_i_archive *a, karma_i_recipe *r) {
    size_t n = r->n_attributes;
    KARMA_TRY(archive_starts(a, "feature_start", &r->feature_start, n));
    KARMA_TRY(archive_starts(a, "term_start", &r->term_start, n));
    size_t n_features = r->feature_start[n];
    KARMA_TRY(karma_i_archive_f64(a, "shift", &r->shift, karma_i_vector_shape(n_features), DBL_MAX));
    KARMA_TRY(karma_i_archive_f64(a, "factor", &r->factor, karma_i_vector_shape(n_features), DBL_MAX));
    KARMA_TRY(karma_i_archive_f32(a, "term", &r->term, karma_i_vector_shape(r->term_start[n]), LARGEST_TERM));
    if (karma_i_archive_is_reading(a) && !(r->rankings = karma_i_zalloc(n, sizeof *r->rankings)))
        return karma_i_archive_fail_memory(a);
    return karma_i_rankings_archive(a, r->rankings, n);
}

/* Numbers may have scores instead of values: one feature each. */
static karma_status archive_scores(karma_i_archive *a, karma_i_recipe *r) {
    if (karma_i_archive_is_reading(a) && !(r->scores = karma_i_zalloc(r->n_attributes, sizeof *r->scores)))
        return karma_i_archive_fail_memory(a);
    KARMA_TRY(karma_i_normal_scores_archive(a, r->scores, r->n_attributes));
    for (size_t j = 0; j < r->n_attributes; j++)
        if (r->scores[j].n && (r->columns[j].kind != KARMA_COLUMN_NUMBER || r->rankings[j].n || r->is_polar))
            return karma_i_archive_fail(a, "column '%.60s' has normal scores", r->columns[j].name);
    return KARMA_OK;
}

/* Trees see ranks and codes. */
static karma_status archive_forest(karma_i_archive *a, karma_i_recipe *r) {
    for (size_t j = 0; j < r->n_attributes; j++)
        if (r->rankings[j].n == 0 && !karma_i_recipe_is_coded(r, j))
            return karma_i_archive_fail(a, "column '%.60s' has neither ranks nor codes for its trees",
                                        r->columns[j].name);
    return karma_i_leaves_archive(a, &r->forest, r->columns, r->n_attributes);
}

karma_status karma_i_recipe_archive(karma_i_archive *a, karma_i_recipe *r, karma_kernel_kind kind) {
    int is_matrix = kind == KARMA_KERNEL_PRECOMPUTED;
    KARMA_TRY(
        karma_i_archive_size(a, "matrix_columns", &r->n_matrix_columns, is_matrix ? 1 : 0, is_matrix ? SIZE_MAX : 0));
    if ((r->n_attributes == 0) != is_matrix) return karma_i_archive_fail(a, "its columns are not those of its kernel");
    KARMA_TRY(karma_i_archive_flag(a, "polar", &r->is_polar));
    KARMA_TRY(karma_i_archive_flag(a, "sparse", &r->is_sparse));
    KARMA_TRY(karma_i_archive_number(a, "radius", &r->radius, 0.0, DBL_MAX));
    KARMA_TRY(archive_columns(a, r));
    if (karma_i_kind_of(kind)->has_scores) KARMA_TRY(archive_scores(a, r));
    if (karma_i_kind_of(kind)->is_subspace)
        KARMA_TRY(karma_i_latent_archive(a, &r->latent, karma_i_recipe_n_features(r)));
    if (r->latent && r->latent->linkage.group && r->latent->linkage.n_attributes != r->n_attributes)
        return karma_i_archive_fail(a, "its 'groups' are not those of its columns");
    KARMA_TRY(check_columns(a, r));
    int is_forest = kind == KARMA_KERNEL_BOOST || kind == KARMA_KERNEL_FOREST;
    return is_forest ? archive_forest(a, r) : KARMA_OK;
}

/* --- rows ---------------------------------------------------------------------------------------------- */

/* A code is that of a level, and a term that of the cell's code or rank. */
static int cell_fits(const karma_i_cell *cell, const karma_i_recipe *r) {
    size_t j = cell->attribute, code = cell->code ? cell->code : cell->rank;
    if (cell->code && cell->code > r->columns[j].n_levels) return 0;
    return !cell->term || *cell->term == r->term[r->term_start[j] + code - 1];
}

static int cells_fit(const karma_i_rows *rows, const karma_i_recipe *r) {
    karma_i_cell cell;
    for (size_t i = 0; i < rows->n_rows; i++)
        for (size_t from = 0; karma_i_rows_next_cell(&cell, rows, i, from); from = cell.attribute + 1)
            if (!cell_fits(&cell, r)) return 0;
    return 1;
}

karma_status karma_i_recipe_archive_rows(karma_i_archive *a, karma_i_rows **rows, const karma_i_recipe *r,
                                         size_t n_rows) {
    if (karma_i_archive_is_reading(a) && karma_i_recipe_new_rows(rows, r, 0, NULL) != KARMA_OK)
        return karma_i_archive_fail_memory(a);
    KARMA_TRY(karma_i_rows_archive(a, *rows, n_rows, r->latent ? LARGEST_COORDINATE : KARMA_I_LARGEST_VALUE));
    int fit = r->forest ? karma_i_leaves_fit(*rows, r->forest) : cells_fit(*rows, r);
    return fit ? KARMA_OK : karma_i_archive_fail(a, "its rows do not fit its columns");
}

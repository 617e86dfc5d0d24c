#include "prep/recipe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/error.h"
#include "base/mem.h"
#include "prep/precomputed.h"

/* Encoded values are kept within this, so that inner products stay in the range of single precision. */
static const double LARGEST_VALUE = 1e9;

/* A category of at most so many levels becomes indicator columns, one of more a code: whichever is faster. A column
 * costs a multiplication a pair of rows; a code a comparison and, centred, the two columns of its term. Measured on one
 * core, all pairs of 8192 rows, 16 attributes, half missing, in ms:
 *
 *     levels              2     3     4     5     8    16   codes
 *     AVX-512            53    70    83   103   153   282      69
 *     AVX2              102   136   159   184   264   485     131
 *     portable (SSE3)   375   443   501   569   757  1322     436 */
enum { MOST_INDICATORS = 3 };

void karma_i_recipe_free(karma_i_recipe *recipe) {
    if (!recipe) return;
    for (size_t j = 0; recipe->columns && j < recipe->n_attributes; j++) karma_i_column_clear(&recipe->columns[j]);
    for (size_t j = 0; recipe->rankings && j < recipe->n_attributes; j++) karma_i_ranking_clear(&recipe->rankings[j]);
    karma_i_latent_free(recipe->latent);
    karma_i_free(recipe->columns);
    karma_i_free(recipe->rankings);
    karma_i_free(recipe->feature_start);
    karma_i_free(recipe->shift);
    karma_i_free(recipe->factor);
    karma_i_free(recipe->term_start);
    karma_i_free(recipe->term);
    karma_i_free(recipe);
}

int karma_i_recipe_is_coded(const karma_i_recipe *r, size_t attribute) {
    return r->columns[attribute].kind == KARMA_COLUMN_CATEGORY &&
           r->feature_start[attribute] == r->feature_start[attribute + 1];
}

int karma_i_recipe_has_terms(const karma_i_recipe *r, size_t attribute) {
    return r->term_start[attribute + 1] > r->term_start[attribute];
}

size_t karma_i_recipe_n_terms(const karma_i_recipe *r, size_t attribute) {
    return r->rankings[attribute].n ? (size_t)KARMA_I_RANK_BYTES : r->columns[attribute].n_levels;
}

/* Writes up to three names into `text` for a notice: "'a', 'b', 'c' and 4 more". */
static void list_names(char *text, size_t size, const char *const *names, size_t n) {
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < n && i < 3 && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s'%s'", i ? ", " : "", names[i]);
    if (n > 3 && used < size) (void)snprintf(text + used, size - used, " and %zu more", n - 3);
}

/* --- learning ------------------------------------------------------------------------------------------ */

/* Sums over the observed cells of every attribute. For a category the level counts take the place of moments. */
typedef struct moments {
    size_t *count;         /* per attribute */
    double *mean, *spread; /* per attribute: mean, then mean squared deviation */
    double *low, *high;    /* per attribute */
    size_t *level_start;   /* where an attribute's levels begin in level_count */
    size_t *level_count;
} moments;

static void free_moments(moments *m) {
    karma_i_free(m->count);
    karma_i_free(m->mean);
    karma_i_free(m->spread);
    karma_i_free(m->low);
    karma_i_free(m->high);
    karma_i_free(m->level_start);
    karma_i_free(m->level_count);
}

/* Two passes: the second takes deviations from the mean, so large offsets do no harm. */
static karma_status take_moments(moments *m, const karma_table *table, karma_error *err) {
    size_t n = table->n_attributes, n_cells = karma_table_n_observed(table), n_levels = 0;
    *m = (moments){.count = karma_i_zalloc(n, sizeof(size_t)),
                   .mean = karma_i_zalloc(n, sizeof(double)),
                   .spread = karma_i_zalloc(n, sizeof(double)),
                   .low = karma_i_zalloc(n, sizeof(double)),
                   .high = karma_i_zalloc(n, sizeof(double)),
                   .level_start = karma_i_zalloc(n, sizeof(size_t))};
    for (size_t j = 0; m->level_start && j < n; j++) {
        m->level_start[j] = n_levels;
        n_levels += table->attributes[j].n_levels;
    }
    m->level_count = karma_i_zalloc(n_levels, sizeof(size_t));
    if (!m->count || !m->mean || !m->spread || !m->low || !m->high || !m->level_start || !m->level_count)
        return karma_i_fail_memory(err);
    for (size_t j = 0; j < n; j++) m->low[j] = INFINITY, m->high[j] = -INFINITY;
    karma_table_count_observed(table, m->count);
    for (size_t k = 0; k < n_cells; k++) {
        size_t j = table->cell_owner[k];
        double value = table->cell_value[k];
        if (table->attributes[j].kind == KARMA_COLUMN_CATEGORY)
            m->level_count[m->level_start[j] + (size_t)value]++;
        else
            m->mean[j] += value / (double)m->count[j];
    }
    for (size_t k = 0; k < n_cells; k++) {
        size_t j = table->cell_owner[k];
        double value = table->cell_value[k], deviation = value - m->mean[j];
        m->spread[j] += deviation * deviation / (double)m->count[j];
        m->low[j] = fmin(m->low[j], value);
        m->high[j] = fmax(m->high[j], value);
    }
    return KARMA_OK;
}

static int is_named(const karma_names *names, const char *name) {
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->items[i], name) == 0) return 1;
    return 0;
}

/* κ of a column of numbers: what its name says, or else the kernel. */
static int is_ranked(const karma_i_column *column, karma_kernel_kind kind, const karma_fit_options *options) {
    if (column->kind != KARMA_COLUMN_NUMBER || kind == KARMA_KERNEL_SUBSPACE) return 0;
    if (is_named(&options->linear, column->name)) return 0;
    return kind == KARMA_KERNEL_RANK || kind == KARMA_KERNEL_RELEVANCE || is_named(&options->rank, column->name);
}

/* Nothing is centred in the polar encoding: a missing cell is not an average one, it is none. */
static int is_centred(const karma_fit_options *options) {
    return options->standardise && options->encoding != KARMA_ENCODING_POLAR;
}

/* A weight must make all of κ smaller, its constant too; the plain form's cannot be weighed. */
static int has_centred_ranks(karma_kernel_kind kind, const karma_fit_options *options) {
    return options->rank_form == KARMA_RANK_FORM_CENTRED || kind == KARMA_KERNEL_RELEVANCE;
}

/* Features of a linear number. */
static size_t n_number_features(const karma_fit_options *options) {
    return options->encoding == KARMA_ENCODING_POLAR ? 2 : 1;
}

static karma_status check_names(const karma_names *names, const char *flag, const karma_table *table,
                                karma_error *err) {
    for (size_t i = 0; i < names->count; i++) {
        const karma_i_column *found = NULL;
        for (size_t j = 0; j < table->n_attributes && !found; j++)
            if (strcmp(table->attributes[j].name, names->items[i]) == 0) found = &table->attributes[j];
        if (!found) return karma_i_fail(err, KARMA_ERR_DATA, "--%s: there is no column '%s'", flag, names->items[i]);
        if (found->kind != KARMA_COLUMN_NUMBER)
            return karma_i_fail(err, KARMA_ERR_DATA,
                                "--%s: column '%s' holds categories; with --ordered they can have an order", flag,
                                names->items[i]);
    }
    return KARMA_OK;
}

/* A column of a category with the levels that occur in the training rows. */
static karma_status keep_levels(karma_i_column *out, const karma_i_column *column, const size_t *counts,
                                karma_error *err) {
    karma_i_column kept = {karma_i_strdup(column->name), KARMA_COLUMN_CATEGORY, NULL, 0};
    kept.levels = karma_i_zalloc(column->n_levels, sizeof *kept.levels);
    karma_status st = kept.name && kept.levels ? KARMA_OK : karma_i_fail_memory(err);
    for (size_t l = 0; st == KARMA_OK && l < column->n_levels; l++) {
        if (counts[l] == 0) continue;
        kept.levels[kept.n_levels] = karma_i_strdup(column->levels[l]);
        if (!kept.levels[kept.n_levels++]) st = karma_i_fail_memory(err);
    }
    if (st == KARMA_OK)
        *out = kept;
    else
        karma_i_column_clear(&kept);
    return st;
}

static size_t n_occurring(const size_t *counts, size_t n_levels) {
    size_t n = 0;
    for (size_t l = 0; l < n_levels; l++) n += counts[l] > 0;
    return n;
}

/* In the unit ball rows are shrunk, and codes cannot be; nor can they be completed or weighed. */
static int should_be_coded(size_t n_levels, karma_kernel_kind kind, const karma_fit_options *options) {
    return n_levels > MOST_INDICATORS && !options->unit_ball && kind != KARMA_KERNEL_SUBSPACE &&
           kind != KARMA_KERNEL_RELEVANCE;
}

/* κ(a, b) = [a = b] - p_a - p_b + s with the shares p and s = Σ p², as that of centred indicators: q(a) = s/2 - p_a. */
static void learn_codes(karma_i_recipe *r, size_t to, const size_t *counts, size_t n_levels, size_t n_observed) {
    double s = 0.0;
    for (size_t l = 0; l < n_levels; l++) s += pow((double)counts[l] / (double)n_observed, 2.0);
    for (size_t l = 0; l < n_levels; l++)
        if (counts[l]) r->term[r->term_start[to + 1]++] = (float)(0.5 * s - (double)counts[l] / (double)n_observed);
}

/* The shares go to shift. */
static void learn_indicators(karma_i_recipe *r, size_t to, const size_t *counts, size_t n_levels, size_t n_observed,
                             int standardise) {
    for (size_t l = 0; l < n_levels; l++) {
        if (counts[l] == 0) continue;
        size_t feature = r->feature_start[to + 1]++;
        r->shift[feature] = standardise ? (double)counts[l] / (double)n_observed : 0.0;
        r->factor[feature] = 1.0;
    }
}

static karma_status learn_category(karma_i_recipe *r, size_t to, const karma_i_column *column, const size_t *counts,
                                   size_t n_observed, karma_kernel_kind kind, const karma_fit_options *options,
                                   karma_error *err) {
    KARMA_TRY(keep_levels(&r->columns[to], column, counts, err));
    if (!should_be_coded(r->columns[to].n_levels, kind, options))
        learn_indicators(r, to, counts, column->n_levels, n_observed, is_centred(options));
    else if (is_centred(options))
        learn_codes(r, to, counts, column->n_levels, n_observed);
    return KARMA_OK;
}

/* u = (x - low)/(high - low) and 1 - u: values outside the training range are clamped when they are encoded. */
static void learn_polar(karma_i_recipe *r, size_t feature, double low, double high) {
    double width = high > low ? high - low : 1.0;
    r->shift[feature] = low;
    r->factor[feature] = 1.0 / width;
    r->shift[feature + 1] = low + width;
    r->factor[feature + 1] = -1.0 / width;
}

static void learn_standard(karma_i_recipe *r, size_t feature, double mean, double spread, int standardise) {
    double sd = sqrt(spread);
    /* what is left of a constant after rounding is not spread */
    int constant = !(sd > 1e-12 * fabs(mean)) || !(sd > 0.0);
    r->shift[feature] = standardise ? mean : 0.0;
    r->factor[feature] = standardise && !constant ? 1.0 / sd : 1.0;
    if (!isfinite(r->factor[feature])) r->factor[feature] = 1.0;
}

static karma_status learn_number(karma_i_recipe *r, size_t to, const karma_i_column *column, const moments *m, size_t j,
                                 const karma_fit_options *options, karma_error *err) {
    size_t feature = r->feature_start[to + 1];
    if (!isfinite(m->mean[j]) || !isfinite(m->spread[j]) || !isfinite(m->high[j] - m->low[j]))
        return karma_i_fail(err, KARMA_ERR_DATA, "column '%s': its values are too large to be standardised",
                            column->name);
    if (options->encoding == KARMA_ENCODING_POLAR)
        learn_polar(r, feature, m->low[j], m->high[j]);
    else
        learn_standard(r, feature, m->mean[j], m->spread[j], options->standardise);
    KARMA_TRY(karma_i_column_copy(&r->columns[to], column, err));
    r->feature_start[to + 1] += n_number_features(options);
    return KARMA_OK;
}

/* Under the rank kernel: the attribute's observed cells, which get sorted, take the place of its moments. */
static karma_status learn_ranking(karma_i_recipe *r, size_t to, const karma_i_column *column, double *cells, size_t n,
                                  int centred, karma_error *err) {
    KARMA_TRY(karma_i_ranking_learn(&r->rankings[to], cells, n, err));
    karma_status st = karma_i_column_copy(&r->columns[to], column, err);
    if (st != KARMA_OK) {
        karma_i_ranking_clear(&r->rankings[to]);
        return st;
    }
    if (centred) {
        karma_i_ranking_terms(r->term + r->term_start[to], &r->rankings[to], cells, n);
        r->term_start[to + 1] += KARMA_I_RANK_BYTES;
    }
    return KARMA_OK;
}

/* The observed cells of one attribute after those of another; attribute j's start at first[j]. Two new arrays. */
static karma_status cells_by_attribute(double **cells, size_t **first, const karma_table *table, const size_t *count,
                                       karma_error *err) {
    size_t n = table->n_attributes, n_cells = karma_table_n_observed(table), total = 0;
    *cells = karma_i_alloc(n_cells, sizeof **cells);
    *first = karma_i_alloc(n + 1, sizeof **first);
    size_t *next = karma_i_alloc(n, sizeof *next);
    karma_status st = *cells && *first && next ? KARMA_OK : karma_i_fail_memory(err);
    for (size_t j = 0; st == KARMA_OK && j < n; j++) {
        (*first)[j] = next[j] = total;
        total += count[j];
    }
    for (size_t k = 0; st == KARMA_OK && k < n_cells; k++)
        (*cells)[next[table->cell_owner[k]]++] = table->cell_value[k];
    karma_i_free(next);
    return st;
}

static karma_status check_magnitudes(const karma_table *table, karma_error *err) {
    for (size_t k = 0; k < karma_table_n_observed(table); k++)
        if (fabs(table->cell_value[k]) > LARGEST_VALUE)
            return karma_i_fail(err, KARMA_ERR_DATA, "column '%s': values beyond 1e9 need --standardise on",
                                table->attributes[table->cell_owner[k]].name);
    return KARMA_OK;
}

/* Indicators of many levels: a column of names or free text would fill the memory. */
static karma_status check_room(const karma_table *table, size_t n_features, karma_error *err) {
    double bytes = (double)table->n_rows * (double)n_features * sizeof(float);
    if (bytes < 0.5 * (double)karma_i_memory_limit()) return KARMA_OK;
    const karma_i_column *widest = NULL;
    for (size_t j = 0; j < table->n_attributes; j++)
        if (table->attributes[j].n_levels && (!widest || table->attributes[j].n_levels > widest->n_levels))
            widest = &table->attributes[j];
    if (!widest) return KARMA_OK; /* numbers only: they may be sparse */
    return karma_i_fail(
        err, KARMA_ERR_DATA,
        "the encoded rows would take %.0f GB; column '%s' alone has %zu levels: is it a name? (--ignore, "
        "--id, --unit-ball off)",
        bytes / 1e9, widest->name, widest->n_levels);
}

/* How many features and terms the observed attributes will have. */
typedef struct sizes {
    size_t n_features, n_terms;
} sizes;

static karma_status take_sizes(sizes *out, const karma_table *table, const moments *m, karma_kernel_kind kind,
                               const karma_fit_options *options, karma_error *err) {
    int centred = has_centred_ranks(kind, options);
    *out = (sizes){0, 0};
    for (size_t j = 0; j < table->n_attributes; j++) {
        const karma_i_column *column = &table->attributes[j];
        size_t n_levels = n_occurring(m->level_count + m->level_start[j], column->n_levels);
        if (m->count[j] == 0) continue;
        if (column->kind == KARMA_COLUMN_NUMBER) {
            int ranked = is_ranked(column, kind, options);
            out->n_features += ranked ? 0 : n_number_features(options);
            out->n_terms += ranked && centred ? (size_t)KARMA_I_RANK_BYTES : 0;
        } else if (!should_be_coded(n_levels, kind, options)) {
            out->n_features += n_levels;
        } else if (n_levels > KARMA_I_MOST_CODES) {
            return karma_i_fail(err, KARMA_ERR_DATA,
                                "column '%s' has %zu levels, more than the %d that can be told apart: is it a name? "
                                "(--ignore, --id)",
                                column->name, n_levels, KARMA_I_MOST_CODES);
        } else {
            out->n_terms += is_centred(options) ? n_levels : 0;
        }
    }
    return should_be_coded(SIZE_MAX, kind, options) ? KARMA_OK : check_room(table, out->n_features, err);
}

static karma_status make_room(karma_i_recipe *r, size_t n_attributes, const sizes *n, karma_error *err) {
    r->columns = karma_i_zalloc(n_attributes, sizeof *r->columns);
    r->rankings = karma_i_zalloc(n_attributes, sizeof *r->rankings);
    r->feature_start = karma_i_zalloc(n_attributes + 1, sizeof *r->feature_start);
    r->shift = karma_i_zalloc(n->n_features, sizeof *r->shift);
    r->factor = karma_i_zalloc(n->n_features, sizeof *r->factor);
    r->term_start = karma_i_zalloc(n_attributes + 1, sizeof *r->term_start);
    r->term = karma_i_zalloc(n->n_terms, sizeof *r->term);
    int ok = r->columns && r->rankings && r->feature_start && r->shift && r->factor && r->term_start && r->term;
    return ok ? KARMA_OK : karma_i_fail_memory(err);
}

static karma_status learn_columns(karma_i_recipe *r, const karma_table *table, const moments *m, karma_kernel_kind kind,
                                  const karma_fit_options *options, karma_error *err) {
    sizes n;
    KARMA_TRY(take_sizes(&n, table, m, kind, options, err));
    KARMA_TRY(make_room(r, table->n_attributes, &n, err));
    double *cells = NULL;
    size_t *first = NULL;
    int any_ranked = 0, centred = has_centred_ranks(kind, options);
    for (size_t j = 0; j < table->n_attributes; j++) any_ranked |= is_ranked(&table->attributes[j], kind, options);
    karma_status st = any_ranked ? cells_by_attribute(&cells, &first, table, m->count, err) : KARMA_OK;
    for (size_t j = 0; st == KARMA_OK && j < table->n_attributes; j++) {
        const karma_i_column *column = &table->attributes[j];
        size_t to = r->n_attributes;
        if (m->count[j] == 0) continue;
        r->feature_start[to + 1] = r->feature_start[to]; /* and grows as features and terms come */
        r->term_start[to + 1] = r->term_start[to];
        if (column->kind == KARMA_COLUMN_CATEGORY)
            st = learn_category(r, to, column, m->level_count + m->level_start[j], m->count[j], kind, options, err);
        else if (first && is_ranked(column, kind, options)) /* then there is an array of their cells */
            st = learn_ranking(r, to, column, cells + first[j], m->count[j], centred, err);
        else
            st = learn_number(r, to, column, m, j, options, err);
        if (st == KARMA_OK) r->n_attributes++;
    }
    karma_i_free(cells);
    karma_i_free(first);
    return st;
}

static karma_status report_unobserved(const karma_table *table, const size_t *count, const karma_hooks *hooks,
                                      karma_error *err) {
    const char **names = karma_i_alloc(table->n_attributes, sizeof *names);
    char text[300];
    size_t n = 0;
    if (!names) return karma_i_fail_memory(err);
    for (size_t j = 0; j < table->n_attributes; j++)
        if (count[j] == 0) names[n++] = table->attributes[j].name;
    list_names(text, sizeof text, names, n);
    if (n) karma_i_notice(hooks, "columns without an observed cell are left out: %s", text);
    karma_i_free(names);
    return KARMA_OK;
}

karma_i_norms karma_i_rows_norms(const karma_i_rows *rows) {
    karma_i_norms norms = {0.0, 0};
    for (size_t i = 0; i < rows->n_rows; i++) {
        double norm = sqrt(fmax(karma_i_rows_square(rows, i), 0.0)); /* of terms, rounding may leave less than 0 */
        if (norm > norms.largest) norms.largest = norm;
        if (norm > 1.0 + 1e-6) norms.n_above_one++; /* single precision */
    }
    return norms;
}

/* Lists of cells pay off when attributes are many and nearly all of a row is missing. */
enum { SPARSE_FROM_ATTRIBUTES = 256 };
static const double SPARSE_SHARE = 0.1;

static int should_be_sparse(const karma_i_recipe *r, const karma_table *table) {
    if (r->is_polar) return 0;
    double cells = (double)table->n_rows * (double)r->n_attributes;
    if (r->n_attributes < SPARSE_FROM_ATTRIBUTES || (double)karma_table_n_observed(table) > SPARSE_SHARE * cells)
        return 0;
    for (size_t j = 0; j < r->n_attributes; j++)
        if (r->columns[j].kind != KARMA_COLUMN_NUMBER || r->rankings[j].n) return 0;
    return 1;
}

static karma_status learn_radius(karma_i_recipe *recipe, const karma_table *table, karma_error *err) {
    karma_i_rows *rows = NULL;
    KARMA_TRY(karma_i_recipe_apply(&rows, recipe, table, NULL, err));
    double largest = karma_i_rows_norms(rows).largest;
    recipe->radius = largest > 0.0 ? largest : 1.0;
    karma_i_rows_free(rows);
    return KARMA_OK;
}

static karma_status learn_latent(karma_i_recipe *recipe, const karma_table *table, const karma_fit_options *options,
                                 const karma_hooks *hooks, karma_error *err) {
    karma_i_rows *rows = NULL;
    KARMA_TRY(karma_i_recipe_apply(&rows, recipe, table, NULL, err));
    karma_status st = karma_i_latent_learn(&recipe->latent, rows, options, hooks, err);
    karma_i_rows_free(rows);
    return st;
}

karma_status karma_i_recipe_learn(karma_i_recipe **out, const karma_table *table, karma_kernel_kind kind,
                                  const karma_fit_options *options, const karma_hooks *hooks, karma_error *err) {
    if (kind == KARMA_KERNEL_PRECOMPUTED) return karma_i_precomputed_learn(out, table, err);
    if (table->n_attributes == 0) return karma_i_fail(err, KARMA_ERR_DATA, "there is no column to learn from");
    if (karma_table_n_observed(table) == 0)
        return karma_i_fail(err, KARMA_ERR_DATA, "every cell of every row is missing: there is nothing to learn from");
    KARMA_TRY(check_names(&options->linear, "linear", table, err));
    KARMA_TRY(check_names(&options->rank, "rank", table, err));
    for (size_t i = 0; i < options->linear.count; i++)
        if (is_named(&options->rank, options->linear.items[i]))
            return karma_i_fail(err, KARMA_ERR_OPTION, "column '%s' cannot be both --linear and --rank",
                                options->linear.items[i]);
    if (options->unit_ball && (kind == KARMA_KERNEL_RANK || kind == KARMA_KERNEL_RELEVANCE || options->rank.count))
        return karma_i_fail(err, KARMA_ERR_OPTION,
                            "--unit-ball is for --kernel linear: ranks have no length to shrink");
    if (!options->standardise && kind != KARMA_KERNEL_RANK) KARMA_TRY(check_magnitudes(table, err));
    karma_i_recipe *recipe = karma_i_zalloc(1, sizeof *recipe);
    if (!recipe) return karma_i_fail_memory(err);
    recipe->is_polar = options->encoding == KARMA_ENCODING_POLAR;
    moments m = {0};
    karma_status st = take_moments(&m, table, err);
    if (st == KARMA_OK) st = learn_columns(recipe, table, &m, kind, options, err);
    if (st == KARMA_OK) st = report_unobserved(table, m.count, hooks, err);
    if (st == KARMA_OK) recipe->is_sparse = should_be_sparse(recipe, table);
    if (st == KARMA_OK && options->unit_ball) st = learn_radius(recipe, table, err);
    if (st == KARMA_OK && kind == KARMA_KERNEL_SUBSPACE) st = learn_latent(recipe, table, options, hooks, err);
    free_moments(&m);
    if (st == KARMA_OK)
        *out = recipe;
    else
        karma_i_recipe_free(recipe);
    return st;
}

karma_status karma_i_recipe_weigh(karma_i_recipe *recipe, const double *weights, const karma_table *table,
                                  karma_error *err) {
    size_t n = table->n_attributes, *count = karma_i_zalloc(n, sizeof *count), *first = NULL;
    ptrdiff_t *match = karma_i_alloc(n, sizeof *match);
    double *cells = NULL;
    karma_status st = count && match ? karma_i_recipe_match(match, recipe, table, err) : karma_i_fail_memory(err);
    if (st == KARMA_OK) {
        karma_table_count_observed(table, count);
        st = cells_by_attribute(&cells, &first, table, count, err);
    }
    for (size_t j = 0; st == KARMA_OK && j < n; j++) {
        if (match[j] == KARMA_I_UNKNOWN) continue;
        size_t to = (size_t)match[j];
        for (size_t f = recipe->feature_start[to]; f < recipe->feature_start[to + 1]; f++)
            recipe->factor[f] *= sqrt(weights[to]);
        if (recipe->rankings[to].n == 0) continue;
        karma_i_ranking_scale(&recipe->rankings[to], weights[to]);
        if (karma_i_recipe_has_terms(recipe, to))
            karma_i_ranking_terms(recipe->term + recipe->term_start[to], &recipe->rankings[to], cells + first[j],
                                  count[j]);
    }
    karma_i_free(cells);
    karma_i_free(first);
    karma_i_free(match);
    karma_i_free(count);
    return st;
}

/* --- applying ------------------------------------------------------------------------------------------ */

enum { UNKNOWN = KARMA_I_UNKNOWN };

typedef struct named {
    const char *name;
    size_t index;
} named;

static int by_name(const void *a, const void *b) {
    return strcmp(((const named *)a)->name, ((const named *)b)->name);
}

karma_status karma_i_recipe_match(ptrdiff_t *match, const karma_i_recipe *recipe, const karma_table *table,
                                  karma_error *err) {
    size_t n = recipe->n_attributes;
    named *index = karma_i_alloc(n, sizeof *index);
    if (!index) return karma_i_fail_memory(err);
    for (size_t j = 0; j < n; j++) index[j] = (named){recipe->columns[j].name, j};
    if (n > 1) qsort(index, n, sizeof *index, by_name);
    for (size_t j = 0; j < table->n_attributes; j++) {
        named key = {table->attributes[j].name, 0};
        const named *found = n ? bsearch(&key, index, n, sizeof *index, by_name) : NULL;
        match[j] = found ? (ptrdiff_t)found->index : UNKNOWN;
    }
    karma_i_free(index);
    return KARMA_OK;
}

static karma_status report_differences(const ptrdiff_t *match, const karma_i_recipe *recipe, const karma_table *table,
                                       const karma_hooks *hooks, karma_error *err) {
    size_t n = recipe->n_attributes, n_found = 0, n_unknown = 0, n_absent = 0;
    const char **unknown = karma_i_zalloc(table->n_attributes, sizeof *unknown);
    const char **absent = karma_i_zalloc(n, sizeof *absent);
    unsigned char *found = karma_i_zalloc(n, 1);
    karma_status st = unknown && absent && found ? KARMA_OK : karma_i_fail_memory(err);
    if (st == KARMA_OK) {
        for (size_t j = 0; j < table->n_attributes; j++) {
            if (match[j] == UNKNOWN)
                unknown[n_unknown++] = table->attributes[j].name;
            else
                n_found += !found[match[j]], found[match[j]] = 1;
        }
        for (size_t j = 0; j < n; j++)
            if (!found[j]) absent[n_absent++] = recipe->columns[j].name;
        char names[300];
        if (n_found == 0) {
            list_names(names, sizeof names, absent, n_absent);
            st = karma_i_fail(err, KARMA_ERR_DATA, "the data have none of the model's columns (%s)", names);
        } else {
            list_names(names, sizeof names, unknown, n_unknown);
            if (n_unknown) karma_i_notice(hooks, "columns that the model does not know are ignored: %s", names);
            list_names(names, sizeof names, absent, n_absent);
            if (n_absent) karma_i_notice(hooks, "columns of the model that the data lack count as missing: %s", names);
        }
    }
    karma_i_free(unknown);
    karma_i_free(absent);
    karma_i_free(found);
    return st;
}

/* For a category of the table: the recipe's index of each of its levels, or UNKNOWN. */
static ptrdiff_t *match_levels(const karma_i_column *known, const karma_i_column *column) {
    ptrdiff_t *match = karma_i_alloc(column->n_levels, sizeof *match);
    for (size_t l = 0; match && l < column->n_levels; l++) {
        size_t level = karma_i_column_find_level(known, column->levels[l], strlen(column->levels[l]));
        match[l] = level < known->n_levels ? (ptrdiff_t)level : UNKNOWN;
    }
    return match;
}

static float encode(const karma_i_recipe *r, size_t feature, double raw) {
    double value = (raw - r->shift[feature]) * r->factor[feature];
    if (!(value <= LARGEST_VALUE)) value = LARGEST_VALUE;
    if (!(value >= -LARGEST_VALUE)) value = -LARGEST_VALUE;
    return (float)value;
}

/* The q of a byte or code, if the attribute has terms. */
static void encode_term(karma_i_rows *rows, size_t row, const karma_i_recipe *r, size_t attribute, size_t code) {
    if (karma_i_recipe_has_terms(r, attribute))
        karma_i_rows_set_term(rows, row, attribute, r->term[r->term_start[attribute] + code - 1]);
}

static void encode_level(karma_i_rows *rows, size_t row, const karma_i_recipe *r, size_t attribute, size_t level) {
    if (karma_i_recipe_is_coded(r, attribute)) {
        rows->codes[karma_i_rows_code_at(rows, row, attribute)] = (uint16_t)(level + 1);
        encode_term(rows, row, r, attribute, level + 1);
        return;
    }
    size_t first = r->feature_start[attribute], end = r->feature_start[attribute + 1];
    float *values = rows->values + row * rows->n_values;
    for (size_t f = first; f < end; f++) values[f] = encode(r, f, f - first == level ? 1.0 : 0.0);
}

/* Writes one cell, unless its level is not known: then it is missing. */
static void encode_cell(karma_i_rows *rows, size_t row, const karma_i_recipe *r, size_t attribute,
                        const ptrdiff_t *levels, double raw) {
    if (r->rankings[attribute].n) {
        uint8_t rank = karma_i_ranking_of(&r->rankings[attribute], raw);
        rows->ranks[row * rows->rank_stride + attribute] = rank;
        encode_term(rows, row, r, attribute, rank);
    } else if (r->columns[attribute].kind == KARMA_COLUMN_NUMBER) {
        float *values = rows->values + row * rows->n_values;
        for (size_t f = r->feature_start[attribute]; f < r->feature_start[attribute + 1]; f++) {
            values[f] = encode(r, f, raw);
            if (r->is_polar) values[f] = fminf(fmaxf(values[f], 0.0F), 1.0F);
        }
    } else {
        ptrdiff_t level = levels[(size_t)raw];
        if (level == UNKNOWN) return;
        encode_level(rows, row, r, attribute, (size_t)level);
    }
    karma_i_mask_set(rows->mask + row * rows->n_words, attribute);
}

/* Into the unit ball: the largest training row gets norm 1, and no later row passes it. Tells the divisor. */
static double shrink_row(float *values, size_t n, double radius) {
    double sum = 0.0;
    for (size_t f = 0; f < n; f++) sum += (double)values[f] * (double)values[f];
    double norm = sqrt(sum), divisor = norm > radius ? norm : radius;
    for (size_t f = 0; f < n; f++) values[f] = (float)((double)values[f] / divisor);
    return divisor;
}

/* Sparse rows have numbers only, one feature each. The table's attributes may come in another order. */
static int by_attribute(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static karma_status encode_sparse_row(karma_i_rows *rows, double *divisor, const karma_i_recipe *recipe,
                                      karma_i_cells cells, const ptrdiff_t *match, uint32_t *order, float *dense,
                                      karma_error *err) {
    size_t n = 0;
    int ascending = 1;
    for (size_t k = 0; k < cells.count; k++) {
        ptrdiff_t attribute = match[cells.attribute[k]];
        if (attribute == UNKNOWN) continue;
        ascending &= n == 0 || order[n - 1] < (uint32_t)attribute;
        order[n++] = (uint32_t)attribute;
        dense[attribute] = encode(recipe, (size_t)attribute, cells.value[k]);
    }
    if (!ascending) qsort(order, n, sizeof *order, by_attribute);
    double sum = 0.0;
    for (size_t k = 0; k < n; k++) sum += (double)dense[order[k]] * (double)dense[order[k]];
    *divisor = recipe->radius > 0.0 ? fmax(sqrt(sum), recipe->radius) : 1.0;
    for (size_t k = 0; k < n; k++)
        KARMA_TRY(karma_i_rows_add_cell(rows, order[k], (float)((double)dense[order[k]] / *divisor), err));
    return karma_i_rows_end_sparse(rows, err);
}

static karma_status encode_sparse_rows(karma_i_rows *rows, double *divisors, const karma_i_recipe *recipe,
                                       const karma_table *table, const ptrdiff_t *match, karma_error *err) {
    uint32_t *order = karma_i_alloc(recipe->n_attributes, sizeof *order);
    float *dense = karma_i_alloc(recipe->n_attributes, sizeof *dense);
    karma_status st = order && dense ? KARMA_OK : karma_i_fail_memory(err);
    for (size_t i = 0; st == KARMA_OK && i < table->n_rows; i++) {
        double divisor;
        st = encode_sparse_row(rows, &divisor, recipe, karma_i_table_cells(table, i), match, order, dense, err);
        if (divisors) divisors[i] = divisor;
    }
    karma_i_free(order);
    karma_i_free(dense);
    return st;
}

static void encode_rows(karma_i_rows *rows, double *divisors, const karma_i_recipe *recipe, const karma_table *table,
                        const ptrdiff_t *match, ptrdiff_t *const *levels) {
    for (size_t i = 0; i < table->n_rows; i++) {
        karma_i_cells cells = karma_i_table_cells(table, i);
        for (size_t k = 0; k < cells.count; k++) {
            size_t column = cells.attribute[k];
            if (match[column] != UNKNOWN)
                encode_cell(rows, i, recipe, (size_t)match[column], levels[column], cells.value[k]);
        }
        double divisor = 1.0;
        if (recipe->radius > 0.0)
            divisor = shrink_row(rows->values + i * rows->n_values, rows->n_features, recipe->radius);
        if (divisors) divisors[i] = divisor;
    }
    rows->n_rows = table->n_rows;
}

/* Room for encoded rows, before they are placed in a subspace. */
static karma_status new_encoded(karma_i_rows **out, const karma_i_recipe *recipe, size_t capacity, karma_error *err) {
    if (recipe->n_matrix_columns) return karma_i_rows_new_matrix(out, NULL, recipe->n_matrix_columns, capacity, err);
    size_t n = recipe->n_attributes;
    if (recipe->is_sparse) return karma_i_rows_new_sparse(out, n, capacity, err);
    uint8_t *traits = karma_i_zalloc(n, sizeof *traits);
    if (!traits) return karma_i_fail_memory(err);
    karma_i_rows_layout layout = {n, recipe->feature_start, traits, 0};
    for (size_t j = 0; j < n; j++) {
        int ranked = recipe->rankings[j].n > 0, has_terms = karma_i_recipe_has_terms(recipe, j);
        int coded = karma_i_recipe_is_coded(recipe, j);
        traits[j] =
            (uint8_t)((ranked ? KARMA_I_RANKED : 0) | (coded ? KARMA_I_CODED : 0) | (has_terms ? KARMA_I_HAS_TERM : 0));
        layout.centred_ranks |= ranked && has_terms;
    }
    karma_status st = karma_i_rows_new_layout(out, &layout, capacity, err);
    karma_i_free(traits);
    return st;
}

karma_status karma_i_recipe_new_rows(karma_i_rows **out, const karma_i_recipe *recipe, size_t capacity,
                                     karma_error *err) {
    return recipe->latent ? karma_i_latent_new_rows(out, recipe->latent, capacity, err)
                          : new_encoded(out, recipe, capacity, err);
}

karma_status karma_i_recipe_encode(karma_i_rows **out, double *divisors, const karma_i_recipe *recipe,
                                   const karma_table *table, const karma_hooks *hooks, karma_error *err) {
    size_t n = table->n_attributes;
    ptrdiff_t *match = karma_i_alloc(n, sizeof *match);
    ptrdiff_t **levels = karma_i_zalloc(n, sizeof *levels);
    karma_i_rows *rows = NULL;
    karma_status st = match && levels ? karma_i_recipe_match(match, recipe, table, err) : karma_i_fail_memory(err);
    if (st == KARMA_OK) st = report_differences(match, recipe, table, hooks, err);
    for (size_t j = 0; st == KARMA_OK && j < n; j++) {
        if (match[j] == UNKNOWN) continue;
        const karma_i_column *known = &recipe->columns[match[j]];
        if (known->kind != table->attributes[j].kind)
            st = karma_i_fail(err, KARMA_ERR_DATA, "column '%s' holds %s, but the model learned it as %s", known->name,
                              known->kind == KARMA_COLUMN_NUMBER ? "categories" : "numbers",
                              known->kind == KARMA_COLUMN_NUMBER ? "numbers" : "categories");
        else if (known->kind == KARMA_COLUMN_CATEGORY && !(levels[j] = match_levels(known, &table->attributes[j])))
            st = karma_i_fail_memory(err);
    }
    if (st == KARMA_OK) st = new_encoded(&rows, recipe, table->n_rows, err);
    if (st == KARMA_OK && recipe->is_sparse)
        st = encode_sparse_rows(rows, divisors, recipe, table, match, err);
    else if (st == KARMA_OK)
        encode_rows(rows, divisors, recipe, table, match, levels);
    if (st == KARMA_OK)
        *out = rows;
    else
        karma_i_rows_free(rows);
    for (size_t j = 0; levels && j < n; j++) karma_i_free(levels[j]);
    karma_i_free(levels);
    karma_i_free(match);
    return st;
}

karma_status karma_i_recipe_apply(karma_i_rows **out, const karma_i_recipe *recipe, const karma_table *table,
                                  const karma_hooks *hooks, karma_error *err) {
    if (recipe->n_matrix_columns) return karma_i_precomputed_apply(out, recipe, table, err);
    if (!recipe->latent) return karma_i_recipe_encode(out, NULL, recipe, table, hooks, err);
    karma_i_rows *rows = NULL;
    KARMA_TRY(karma_i_recipe_encode(&rows, NULL, recipe, table, hooks, err));
    karma_status st = karma_i_latent_apply(out, recipe->latent, rows, 1, err);
    karma_i_rows_free(rows);
    return st;
}

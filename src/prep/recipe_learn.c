/* Learning a recipe from training rows. */
#include "prep/recipe.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "prep/moments.h"
#include "prep/precomputed.h"
#include "table/table_split.h"

/* A category with at most this many levels becomes indicator columns; one with more levels becomes a code,
 * which is faster. A column costs a multiplication per pair of rows; a code a comparison and, centred, the
 * two columns of its term. Measured on one core, all pairs of 8192 rows, 16 attributes, half missing, in ms:
 *
 *     levels              2     3     4     5     8    16   codes
 *     AVX-512            53    70    83   103   153   282      69
 *     AVX2              102   136   159   184   264   485     131
 *     portable (SSE3)   375   443   501   569   757  1322     436 */
enum { MOST_INDICATORS = 3 };

/* How columns are encoded. */
typedef struct style {
    int scores_numbers;                 /* numbers become normal scores, except those named linear */
    int ranks_numbers;                  /* numbers are ranked, except those named linear */
    const karma_names *ranked, *linear; /* columns with their own kind of encoding; NULL: none */
    int centred_ranks;
    int bins_numbers;   /* ranks are numbers of bins */
    int has_codes;      /* categories of many levels become codes */
    int has_codes_only; /* and so do categories of few levels */
    int is_centred;     /* categories are centred */
    int standardise;
    int is_polar;
} style;

/* Nothing is centred in the polar encoding: a missing cell does not count as an average one there. Codes cannot be
 * shrunk into a ball, completed or weighed. A weight must scale all of κ, also its constant, so weighted ranks are
 * centred: the plain form has a constant that cannot be scaled. */
static style style_of(karma_kernel_kind kind, const karma_fit_options *options) {
    int is_polar = options->encoding == KARMA_ENCODING_POLAR, is_subspace = karma_i_kind_of(kind)->is_subspace;
    int has_scores = karma_i_kind_of(kind)->has_scores;
    int is_weighed = kind == KARMA_KERNEL_RELEVANCE;
    if (kind == KARMA_KERNEL_BOOST || kind == KARMA_KERNEL_FOREST) /* trees compare ranks and sets of levels */
        return (style){.ranks_numbers = 1, .bins_numbers = 1, .has_codes = 1, .has_codes_only = 1};
    return (style){.scores_numbers = has_scores,
                   .ranks_numbers = kind == KARMA_KERNEL_RANK || is_weighed,
                   .ranked = is_subspace ? NULL : &options->rank,
                   .linear = &options->linear,
                   .centred_ranks = options->rank_form == KARMA_RANK_FORM_CENTRED || is_weighed,
                   .has_codes = !options->unit_ball && !is_subspace && !is_weighed,
                   .is_centred = options->standardise && (has_scores || !is_polar),
                   .standardise = options->standardise,
                   .is_polar = is_polar && !has_scores}; /* polar is how values are encoded */
}

static int is_named(const karma_names *names, const char *name) {
    for (size_t i = 0; names && i < names->count; i++)
        if (strcmp(names->items[i], name) == 0) return 1;
    return 0;
}

/* κ of a column of numbers: from the options if they name it, or else from the kernel. */
static int is_ranked(const karma_i_column *column, const style *s) {
    if (column->kind != KARMA_COLUMN_NUMBER || is_named(s->linear, column->name)) return 0;
    return s->ranks_numbers || is_named(s->ranked, column->name);
}

static int is_scored(const karma_i_column *column, const style *s) {
    return s->scores_numbers && column->kind == KARMA_COLUMN_NUMBER && !is_named(s->linear, column->name);
}

static int is_coded(size_t n_levels, const style *s) {
    return s->has_codes_only || (n_levels > MOST_INDICATORS && s->has_codes);
}

/* Whether a column is learned from its sorted cells. */
static int takes_cells(const karma_i_column *column, const style *s) {
    return is_ranked(column, s) || is_scored(column, s);
}

/* Features of a number that is not ranked. */
static size_t n_number_features(const style *s) {
    return s->is_polar ? 2 : 1;
}

/* --- checks -------------------------------------------------------------------------------------------- */

static karma_status check_names(const karma_names *names, const char *flag, const karma_table *table,
                                karma_error *err) {
    for (size_t i = 0; i < names->count; i++) {
        const karma_i_column *found = NULL;
        for (size_t j = 0; j < table->n_attributes && !found; j++)
            if (strcmp(table->attributes[j].name, names->items[i]) == 0) found = &table->attributes[j];
        if (!found)
            return karma_i_fail(err, KARMA_ERR_DATA, "option '%s': there is no column '%s'%s", flag, names->items[i],
                                strchr(names->items[i], ',') ? "; for several, give the option once for each" : "");
        if (found->kind != KARMA_COLUMN_NUMBER)
            return karma_i_fail(
                err, KARMA_ERR_DATA,
                "option '%s': column '%s' holds categories; with option 'ordered' they can have an order", flag,
                names->items[i]);
    }
    return KARMA_OK;
}

/* Features are in single precision, and so are their products. `largest`: room for a number per attribute. */
static karma_status check_magnitudes_of(double *largest, const karma_table *table, karma_error *err) {
    static const double smallest = 1e-15;
    for (size_t k = 0; k < karma_table_n_observed(table); k++)
        largest[table->cell_owner[k]] = fmax(largest[table->cell_owner[k]], fabs(table->cell_value[k]));
    KARMA_TRY(karma_i_ranks_largest(largest, table->n_attributes, karma_i_table_ranks(table), err));
    for (size_t j = 0; j < table->n_attributes; j++) {
        if (largest[j] > KARMA_I_LARGEST_VALUE)
            return karma_i_fail(err, KARMA_ERR_DATA, "column '%s': values beyond 1e9 need option 'standardise=on'",
                                table->attributes[j].name);
        if (largest[j] > 0.0 && largest[j] < smallest)
            return karma_i_fail(err, KARMA_ERR_DATA,
                                "column '%s': its largest value is %.3g, and values as small as that need option "
                                "'standardise=on'",
                                table->attributes[j].name, largest[j]);
    }
    return KARMA_OK;
}

static karma_status check_magnitudes(const karma_table *table, karma_error *err) {
    double *largest = karma_i_zalloc(table->n_attributes, sizeof *largest);
    karma_status st = largest ? check_magnitudes_of(largest, table, err) : karma_i_fail_memory(err);
    karma_i_free(largest);
    return st;
}

/* Observed cells of all processes. */
static karma_status count_observed(size_t *out, const karma_table *table, karma_error *err) {
    *out = karma_table_n_observed(table);
    return karma_i_ranks_add(out, 1, karma_i_table_ranks(table), err);
}

static karma_status check_cells(const karma_table *table, karma_error *err) {
    size_t n_observed;
    if (table->n_attributes == 0) return karma_i_fail(err, KARMA_ERR_DATA, "there is no column to learn from");
    KARMA_TRY(count_observed(&n_observed, table, err));
    if (n_observed == 0)
        return karma_i_fail(err, KARMA_ERR_DATA, "every cell of every row is missing: there is nothing to learn from");
    return KARMA_OK;
}

static karma_status check_options(const karma_table *table, karma_kernel_kind kind, const karma_fit_options *options,
                                  karma_error *err) {
    KARMA_TRY(check_names(&options->linear, "linear", table, err));
    KARMA_TRY(check_names(&options->rank, "rank", table, err));
    for (size_t i = 0; i < options->linear.count; i++)
        if (is_named(&options->rank, options->linear.items[i]))
            return karma_i_fail(err, KARMA_ERR_OPTION, "column '%s' cannot be both option 'linear' and option 'rank'",
                                options->linear.items[i]);
    int has_features = kind == KARMA_KERNEL_LINEAR || karma_i_kind_of(kind)->is_subspace;
    if (options->unit_ball && (!has_features || options->rank.count))
        return karma_i_fail(err, KARMA_ERR_OPTION,
                            "option 'unit-ball' is for option 'kernel=linear': ranks have no norm to shrink");
    /* (normal scores are small, but columns named linear keep their values) */
    return !options->standardise && has_features ? check_magnitudes(table, err) : KARMA_OK;
}

/* Indicators of many levels: a column of names or free text would need too much memory. */
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
        "the encoded rows would take %.0f GB; column '%s' alone has %zu levels: is it an identifier? (option 'ignore', "
        "option 'id', option 'unit-ball=off')",
        bytes / 1e9, widest->name, widest->n_levels);
}

/* --- categories ---------------------------------------------------------------------------------------- */

/* The cells of a category in the training rows. */
typedef struct level_counts {
    const size_t *count;
    size_t n_levels, n_observed;
} level_counts;

static level_counts counts_of(const karma_table *table, const karma_i_moments *m, size_t j) {
    return (level_counts){m->level_count + m->level_start[j], table->attributes[j].n_levels, m->count[j]};
}

static size_t n_occurring(level_counts of) {
    size_t n = 0;
    for (size_t l = 0; l < of.n_levels; l++) n += of.count[l] > 0;
    return n;
}

static double share(level_counts of, size_t level) {
    return (double)of.count[level] / (double)of.n_observed;
}

/* A column of a category with the levels that occur in the training rows. */
static karma_status keep_levels(karma_i_column *out, const karma_i_column *column, level_counts of, karma_error *err) {
    karma_i_column kept = {.name = karma_i_strdup(column->name), .kind = KARMA_COLUMN_CATEGORY};
    kept.levels = karma_i_zalloc(column->n_levels, sizeof *kept.levels);
    karma_status st = kept.name && kept.levels ? KARMA_OK : karma_i_fail_memory(err);
    for (size_t l = 0; st == KARMA_OK && l < column->n_levels; l++) {
        if (of.count[l] == 0) continue;
        kept.levels[kept.n_levels] = karma_i_strdup(column->levels[l]);
        if (!kept.levels[kept.n_levels++]) st = karma_i_fail_memory(err);
    }
    if (st == KARMA_OK)
        *out = kept;
    else
        karma_i_column_clear(&kept);
    return st;
}

/* κ(a, b) = [a = b] - p_a - p_b + s with the shares p and s = Σ p², as that of centred indicators: q(a) = s/2 - p_a. */
static void learn_codes(karma_i_recipe *r, size_t to, level_counts of) {
    double s = 0.0;
    for (size_t l = 0; l < of.n_levels; l++) s += pow(share(of, l), 2.0);
    for (size_t l = 0; l < of.n_levels; l++)
        if (of.count[l]) r->term[r->term_start[to + 1]++] = (float)(0.5 * s - share(of, l));
}

/* Centred by the shares. */
static void learn_indicators(karma_i_recipe *r, size_t to, level_counts of, int is_centred) {
    for (size_t l = 0; l < of.n_levels; l++) {
        if (of.count[l] == 0) continue;
        size_t feature = r->feature_start[to + 1]++;
        r->shift[feature] = is_centred ? share(of, l) : 0.0;
        r->factor[feature] = 1.0;
    }
}

static karma_status learn_category(karma_i_recipe *r, size_t to, const karma_i_column *column, level_counts of,
                                   const style *s, karma_error *err) {
    KARMA_TRY(keep_levels(&r->columns[to], column, of, err));
    if (!is_coded(r->columns[to].n_levels, s))
        learn_indicators(r, to, of, s->is_centred);
    else if (s->is_centred)
        learn_codes(r, to, of);
    return KARMA_OK;
}

/* --- numbers ------------------------------------------------------------------------------------------- */

/* u = (x - low)/(high - low) and 1 - u: values outside the training range are clamped when they are encoded. */
static void learn_polar(karma_i_recipe *r, size_t feature, double low, double high) {
    double width = high > low ? high - low : 1.0;
    r->shift[feature] = low;
    r->factor[feature] = 1.0 / width;
    r->shift[feature + 1] = low + width;
    r->factor[feature + 1] = -1.0 / width;
}

static void learn_standard(karma_i_recipe *r, size_t feature, double mean, double sd, int standardise) {
    /* the rounding error of a constant is not variance */
    int constant = !(sd > 1e-12 * fabs(mean)) || !(sd > 0.0);
    r->shift[feature] = standardise ? mean : 0.0;
    r->factor[feature] = standardise && !constant ? 1.0 / sd : 1.0;
    if (!isfinite(r->factor[feature])) r->factor[feature] = 1.0;
}

static karma_status learn_number(karma_i_recipe *r, size_t to, const karma_i_column *column, const karma_i_moments *m,
                                 size_t j, const style *s, karma_error *err) {
    size_t feature = r->feature_start[to + 1];
    if (!isfinite(m->mean[j]) || !isfinite(m->sd[j]) || !isfinite(m->high[j] - m->low[j]))
        return karma_i_fail(err, KARMA_ERR_DATA, "column '%s': its values are too large to be standardised",
                            column->name);
    if (s->is_polar)
        learn_polar(r, feature, m->low[j], m->high[j]);
    else
        learn_standard(r, feature, m->mean[j], m->sd[j], s->standardise);
    KARMA_TRY(karma_i_column_copy(&r->columns[to], column, err));
    r->feature_start[to + 1] += n_number_features(s);
    return KARMA_OK;
}

/* For the rank kernel: learns from the attribute's observed cells, which get sorted, instead of its
 * moments. */
static karma_status learn_ranking(karma_i_recipe *r, size_t to, const karma_i_column *column, double *cells, size_t n,
                                  const style *s, karma_error *err) {
    KARMA_TRY(s->bins_numbers ? karma_i_ranking_learn_bins(&r->rankings[to], cells, n, err)
                              : karma_i_ranking_learn(&r->rankings[to], cells, n, err));
    karma_status st = karma_i_column_copy(&r->columns[to], column, err);
    if (st != KARMA_OK) {
        karma_i_ranking_clear(&r->rankings[to]);
        return st;
    }
    if (s->centred_ranks) {
        karma_i_ranking_terms(r->term + r->term_start[to], &r->rankings[to], cells, n);
        r->term_start[to + 1] += KARMA_I_RANK_BYTES;
    }
    return KARMA_OK;
}

/* For a subspace of ranks: the same, and the scores are standardised like values. */
static karma_status learn_scores(karma_i_recipe *r, size_t to, const karma_i_column *column, double *cells, size_t n,
                                 const style *s, karma_error *err) {
    karma_i_normal_scores *scores = &r->scores[to];
    KARMA_TRY(karma_i_normal_scores_learn(scores, cells, n, err));
    karma_status st = karma_i_column_copy(&r->columns[to], column, err);
    if (st != KARMA_OK) {
        karma_i_normal_scores_clear(scores);
        return st;
    }
    learn_standard(r, r->feature_start[to + 1]++, scores->mean, scores->sd, s->standardise);
    return KARMA_OK;
}

/* The cells of an attribute that are in any process. */
static karma_status learn_from_cells(karma_i_recipe *r, size_t to, const karma_i_column *column, double *cells,
                                     size_t n, const karma_ranks *ranks, const style *s, karma_error *err) {
    karma_i_gathered all;
    karma_status (*learn)(karma_i_recipe *, size_t, const karma_i_column *, double *, size_t, const style *,
                          karma_error *) = is_scored(column, s) ? learn_scores : learn_ranking;
    if (ranks->size == 1) return learn(r, to, column, cells, n, s, err);
    if (is_ranked(column, s) && s->bins_numbers) KARMA_TRY(karma_i_thin_out(&n, cells, n, ranks, err));
    KARMA_TRY(karma_i_sort_cells_of_all(&all, cells, n, ranks, err));
    karma_status st = learn(r, to, column, (double *)(void *)all.bytes, all.start[ranks->size] / sizeof *cells, s, err);
    karma_i_gathered_clear(&all);
    return st;
}

/* --- all columns --------------------------------------------------------------------------------------- */

/* Counts the features and terms of the observed attributes. */
typedef struct sizes {
    size_t n_features, n_terms;
} sizes;

static karma_status take_sizes(sizes *out, const karma_table *table, const karma_i_moments *m, const style *s,
                               karma_error *err) {
    *out = (sizes){0, 0};
    for (size_t j = 0; j < table->n_attributes; j++) {
        const karma_i_column *column = &table->attributes[j];
        size_t n_levels = n_occurring(counts_of(table, m, j));
        if (m->count[j] == 0) continue;
        if (column->kind == KARMA_COLUMN_NUMBER) {
            int ranked = is_ranked(column, s);
            out->n_features += ranked ? 0 : n_number_features(s);
            out->n_terms += ranked && s->centred_ranks ? (size_t)KARMA_I_RANK_BYTES : 0;
        } else if (!is_coded(n_levels, s)) {
            out->n_features += n_levels;
        } else if (n_levels > KARMA_I_MOST_CODES) {
            return karma_i_fail(err, KARMA_ERR_DATA,
                                "column '%s' has %zu levels, more than the %d that are supported: is it an identifier? "
                                "(option 'ignore', option 'id')",
                                column->name, n_levels, KARMA_I_MOST_CODES);
        } else {
            out->n_terms += s->is_centred ? n_levels : 0;
        }
    }
    return s->has_codes ? KARMA_OK : check_room(table, out->n_features, err);
}

static karma_status make_room(karma_i_recipe *r, size_t n_attributes, const sizes *n, const style *s,
                              karma_error *err) {
    if (s->scores_numbers && !(r->scores = karma_i_zalloc(n_attributes, sizeof *r->scores)))
        return karma_i_fail_memory(err);
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

static karma_status learn_columns(karma_i_recipe *r, const karma_table *table, const karma_i_moments *m, const style *s,
                                  karma_error *err) {
    sizes n;
    KARMA_TRY(take_sizes(&n, table, m, s, err));
    KARMA_TRY(make_room(r, table->n_attributes, &n, s, err));
    double *cells = NULL;
    size_t *first = NULL;
    int needs_cells = 0;
    for (size_t j = 0; j < table->n_attributes; j++) needs_cells |= takes_cells(&table->attributes[j], s);
    karma_status st = needs_cells ? karma_i_cells_by_attribute(&cells, &first, table, m->here, err) : KARMA_OK;
    for (size_t j = 0; st == KARMA_OK && j < table->n_attributes; j++) {
        const karma_i_column *column = &table->attributes[j];
        size_t to = r->n_attributes;
        if (m->count[j] == 0) continue;
        r->feature_start[to + 1] = r->feature_start[to]; /* and grows as features and terms come */
        r->term_start[to + 1] = r->term_start[to];
        if (column->kind == KARMA_COLUMN_CATEGORY)
            st = learn_category(r, to, column, counts_of(table, m, j), s, err);
        else if (first && takes_cells(column, s)) /* then there is an array of their cells */
            st = learn_from_cells(r, to, column, cells + first[j], m->here[j], karma_i_table_ranks(table), s, err);
        else
            st = learn_number(r, to, column, m, j, s, err);
        if (st != KARMA_OK) break;
        r->columns[to].low = column->kind == KARMA_COLUMN_NUMBER ? m->low[j] : NAN;
        r->columns[to].high = column->kind == KARMA_COLUMN_NUMBER ? m->high[j] : NAN;
        r->n_attributes++;
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
    karma_i_list_names(text, sizeof text, names, n);
    if (n) karma_i_notice(hooks, "columns without an observed cell are left out: %s", text);
    karma_i_free(names);
    return KARMA_OK;
}

/* Lists of cells are faster if there are many attributes and most cells of a row are missing. */
enum { SPARSE_FROM_ATTRIBUTES = 256 };
static const double SPARSE_SHARE = 0.1;

static int should_be_sparse(const karma_i_recipe *r, const karma_table *table, size_t n_observed) {
    if (r->is_polar) return 0;
    double cells = (double)karma_i_table_n_all(table) * (double)r->n_attributes;
    if (r->n_attributes < SPARSE_FROM_ATTRIBUTES || (double)n_observed > SPARSE_SHARE * cells) return 0;
    for (size_t j = 0; j < r->n_attributes; j++)
        if (r->columns[j].kind != KARMA_COLUMN_NUMBER || r->rankings[j].n) return 0;
    return 1;
}

/* A recipe of columns alone, without a radius or a subspace. */
static karma_status learn_encoding(karma_i_recipe **out, const karma_table *table, const style *s,
                                   const karma_hooks *hooks, karma_error *err) {
    karma_i_moments m;
    size_t n_observed;
    KARMA_TRY(check_cells(table, err));
    KARMA_TRY(count_observed(&n_observed, table, err));
    KARMA_TRY(karma_i_moments_take(&m, table, err));
    karma_i_recipe *recipe = karma_i_zalloc(1, sizeof *recipe);
    karma_status st = recipe ? learn_columns(recipe, table, &m, s, err) : karma_i_fail_memory(err);
    if (st == KARMA_OK) st = report_unobserved(table, m.count, hooks, err);
    karma_i_moments_clear(&m);
    if (st == KARMA_OK) {
        recipe->is_polar = s->is_polar;
        recipe->is_sparse = should_be_sparse(recipe, table, n_observed);
        *out = recipe;
    } else
        karma_i_recipe_free(recipe);
    return st;
}

karma_status karma_i_recipe_learn_indicators(karma_i_recipe **out, const karma_table *table, karma_error *err) {
    return learn_encoding(out, table, &(style){.is_centred = 1, .standardise = 1}, NULL, err);
}

/* --- values computed from the encoded training rows
 * ------------------------------------------------------- */

static karma_status learn_radius(karma_i_recipe *recipe, const karma_table *table, karma_error *err) {
    karma_i_rows *rows = NULL;
    KARMA_TRY(karma_i_recipe_apply(&rows, recipe, table, NULL, err));
    double largest = karma_i_rows_norms(rows).largest;
    karma_i_rows_free(rows);
    KARMA_TRY(karma_i_ranks_largest(&largest, 1, karma_i_table_ranks(table), err));
    recipe->radius = largest > 0.0 ? largest : 1.0;
    return KARMA_OK;
}

/* Encoded copies of the rows that every process needs for a subspace; NULL: all rows are here, and all are needed. */
static karma_status share_sample(karma_i_rows **out, const karma_i_recipe *recipe, const karma_table *table,
                                 const karma_i_rows *rows, karma_error *err) {
    size_t n = karma_i_table_n_all(table), count = karma_i_ppca_n_drawn(n, rows->n_features);
    int is_split = karma_i_table_ranks(table)->size > 1;
    karma_table *copy = NULL;
    if (count == n && !is_split) return KARMA_OK;
    size_t *index = karma_i_alloc(count, sizeof *index);
    karma_status st = index ? karma_i_ppca_draw(index, count, n, err) : karma_i_fail_memory(err);
    if (st == KARMA_OK && !is_split) st = karma_i_rows_select_encoding(out, rows, index, count, err);
    if (st == KARMA_OK && is_split) {
        st = karma_i_table_gather(&copy, table, index, count, err);
        if (st == KARMA_OK) st = karma_i_recipe_apply(out, recipe, copy, NULL, err);
    }
    karma_table_free(copy);
    karma_i_free(index);
    return st;
}

static karma_status learn_latent(karma_i_recipe *recipe, const karma_table *table, const karma_fit_options *options,
                                 const karma_hooks *hooks, karma_error *err) {
    karma_i_rows *rows = NULL, *sample = NULL;
    KARMA_TRY(karma_i_recipe_apply(&rows, recipe, table, NULL, err));
    karma_status st = share_sample(&sample, recipe, table, rows, err);
    karma_i_ppca_rows from = {karma_i_table_split(table), karma_i_rows_all(rows),
                              karma_i_rows_all(sample ? sample : rows)};
    if (st == KARMA_OK) st = karma_i_latent_learn(&recipe->latent, &from, options, hooks, err);
    karma_i_rows_free(sample);
    karma_i_rows_free(rows);
    return st;
}

karma_status karma_i_recipe_learn(karma_i_recipe **out, const karma_table *table, karma_kernel_kind kind,
                                  const karma_fit_options *options, const karma_hooks *hooks, karma_error *err) {
    if (kind == KARMA_KERNEL_PRECOMPUTED) return karma_i_precomputed_learn(out, table, err);
    style s = style_of(kind, options);
    karma_i_recipe *recipe = NULL;
    KARMA_TRY(check_cells(table, err));
    KARMA_TRY(check_options(table, kind, options, err));
    KARMA_TRY(learn_encoding(&recipe, table, &s, hooks, err));
    karma_status st = options->unit_ball ? learn_radius(recipe, table, err) : KARMA_OK;
    if (st == KARMA_OK && karma_i_kind_of(kind)->is_subspace) st = learn_latent(recipe, table, options, hooks, err);
    if (st == KARMA_OK)
        *out = recipe;
    else
        karma_i_recipe_free(recipe);
    return st;
}

/* --- weights of columns -------------------------------------------------------------------------------- */

/* `cells`: those of this process. */
static karma_status weigh_attribute(karma_i_recipe *r, size_t attribute, double weight, const double *cells, size_t n,
                                    const karma_ranks *ranks, karma_error *err) {
    karma_i_gathered all;
    for (size_t f = r->feature_start[attribute]; f < r->feature_start[attribute + 1]; f++) r->factor[f] *= sqrt(weight);
    if (r->rankings[attribute].n == 0) return KARMA_OK;
    karma_i_ranking_scale(&r->rankings[attribute], weight);
    if (!karma_i_recipe_has_terms(r, attribute)) return KARMA_OK;
    KARMA_TRY(karma_i_ranks_gather(&all, cells, n * sizeof *cells, ranks, err));
    karma_i_ranking_terms(r->term + r->term_start[attribute], &r->rankings[attribute],
                          (const double *)(const void *)all.bytes, all.start[ranks->size] / sizeof *cells);
    karma_i_gathered_clear(&all);
    return KARMA_OK;
}

karma_status karma_i_recipe_weigh(karma_i_recipe *recipe, const double *weights, const karma_table *table,
                                  karma_error *err) {
    size_t n = table->n_attributes, *count = karma_i_zalloc(n, sizeof *count), *first = NULL;
    karma_i_matching match = {0};
    double *cells = NULL;
    karma_status st = count ? karma_i_recipe_match(&match, recipe, table, err) : karma_i_fail_memory(err);
    if (st == KARMA_OK) {
        karma_table_count_observed(table, count);
        st = karma_i_cells_by_attribute(&cells, &first, table, count, err);
    }
    for (size_t j = 0; st == KARMA_OK && j < n; j++) {
        ptrdiff_t to = match.attribute[j];
        if (to != KARMA_I_UNKNOWN)
            st = weigh_attribute(recipe, (size_t)to, weights[to], cells + first[j], count[j],
                                 karma_i_table_ranks(table), err);
    }
    karma_i_free(cells);
    karma_i_free(first);
    karma_i_matching_clear(&match);
    karma_i_free(count);
    return st;
}

/* The rank by held-out likelihood: a tenth of the cells is hidden, and each rank is evaluated by how well it predicts
 * them, ln N(x_f; x̂_f, se_f²) with x̂ and its standard error from what is left of the row. More components
 * always fit the seen cells better, but beyond the rank of the data they fit noise and predict unseen cells
 * worse. Only slightly worse, so that chance decides among the ranks above the right one: we take the
 * smallest rank that is not worse than the best by more than the standard error of their difference, row by
 * row.
 *
 * If few cells are observed, the standard errors are too small: they ignore the errors of the subspace, and
 * σ² is that of fitted cells. Judged by their density, such ranks would look worse than rank 0 although they
 * predict much better. So the standard errors of a rank are multiplied by the factor, at least 1, that gives
 * its hidden values the highest density. */
#include "subspace/ppca.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"
#include "subspace/cell_lists.h"
#include "subspace/completion.h"

#define HIDDEN_SHARE 0.1

/* Factors of standard errors: 1, 1.19, 1.41, ..., 8. */
enum { N_FACTORS = 13 };
#define FACTOR_STEP 1.189207115002721

/* The number of hidden values to reach, with at most MOST_SPLITS tenths of the cells. */
#define ENOUGH_HIDDEN 500.0

enum { MOST_SPLITS = 5, MOST_ROWS = 512, FALLS = 2, REFINEMENTS = 10, FEW_ROWS = 256, CERTAIN_RANK = 8 };

/* Passes end at this gain: differences between ranks can be small. */
#define FINER_TOLERANCE 0.1
/* The same for ranks in large steps, which differ by more. */
#define COARSE_TOLERANCE 10.0

/* Differences of the log density per value below this do not count: without noise, ranks differ by the
 * rounding errors of the smallest σ² allowed. */
#define NEGLIGIBLE 0.01

/* After this many ranks above 0, a coarse choice that is stopped takes the best one so far. */
enum { LEAST_COARSE_RANKS = 2 };

/* A hidden value this many standard errors off is an outlier. */
#define FAR 4.0

/* Observed values times the square of the rank, which a pass over the rows costs: coarse choices end before a rank that
 * costs more. At 1,500 rows of 100 values that is a rank of 13, at 600 rows of 30 one of 34. */
#define MOST_COARSE_WORK 3e7

typedef struct trial {
    size_t n_splits, split; /* the current one */
    karma_i_rows *kept[MOST_SPLITS], *hidden[MOST_SPLITS];
    karma_i_cell_lists hidden_cells;
    double *completed, *standard_error, *origin; /* MOST_ROWS × n_features; n_features zeros */
    double *row_score[KARMA_I_MOST_RANKS];       /* of each rank tried: Σ over the hidden values of a row */
    const karma_i_ppca_options *options;
    double factor;          /* of the standard errors */
    double sums[N_FACTORS]; /* what row_scores adds up: Σ over all hidden values, one for each factor */
} trial;

/* ---- hiding ---- */

/* Each cell with features goes to one of the two parts; others do not count here. No cell is hidden in two
 * splits. */
static karma_status split_row(trial *t, unsigned char *is_kept, unsigned char *is_hidden, const karma_i_rows *rows,
                              size_t row, karma_i_rng *rng, karma_error *err) {
    karma_i_cell cell;
    double low = HIDDEN_SHARE * (double)t->split;
    memset(is_kept, 0, rows->n_attributes);
    memset(is_hidden, 0, rows->n_attributes);
    for (size_t from = 0; karma_i_rows_next_cell(&cell, rows, row, from); from = cell.attribute + 1) {
        double u = cell.n_features ? karma_i_rng_uniform(rng) : 0.0;
        if (cell.n_features) (u >= low && u < low + HIDDEN_SHARE ? is_hidden : is_kept)[cell.attribute] = 1;
    }
    KARMA_TRY(karma_i_rows_append_some(t->kept[t->split], rows, row, is_kept, err));
    return karma_i_rows_append_some(t->hidden[t->split], rows, row, is_hidden, err);
}

static karma_status split(trial *t, karma_i_view rows, uint64_t seed, karma_error *err) {
    karma_i_rng rng;
    karma_i_rng_init(&rng, seed);
    size_t d = rows.rows->n_attributes;
    KARMA_TRY(karma_i_rows_new_like(&t->kept[t->split], rows.rows, rows.count, err));
    KARMA_TRY(karma_i_rows_new_like(&t->hidden[t->split], rows.rows, rows.count, err));
    unsigned char *wanted = karma_i_alloc(2, d);
    karma_status st = wanted ? KARMA_OK : karma_i_fail_memory(err);
    for (size_t i = 0; st == KARMA_OK && i < rows.count; i++)
        st = split_row(t, wanted, wanted + d, rows.rows, rows.first + i, &rng, err);
    karma_i_free(wanted);
    return st;
}

/* With few cells, one tenth would decide by chance: other tenths are hidden too, each from all cells. A
 * coarse choice saves that time. */
static size_t count_splits(karma_i_view rows) {
    karma_i_cell cell;
    size_t n = 0;
    for (size_t i = 0; i < rows.count && (double)n * HIDDEN_SHARE < ENOUGH_HIDDEN; i++)
        for (size_t from = 0; karma_i_rows_next_cell(&cell, rows.rows, rows.first + i, from); from = cell.attribute + 1)
            n += cell.n_features;
    double wanted = n ? ceil(ENOUGH_HIDDEN / (HIDDEN_SHARE * (double)n)) : 1.0;
    return wanted < MOST_SPLITS ? (size_t)wanted : MOST_SPLITS;
}

static void clear_trial(trial *t) {
    for (size_t k = 0; k < MOST_SPLITS; k++) karma_i_rows_free(t->kept[k]), karma_i_rows_free(t->hidden[k]);
    karma_i_cell_lists_clear(&t->hidden_cells);
    karma_i_free(t->completed);
    karma_i_free(t->standard_error);
    karma_i_free(t->origin);
    for (size_t k = 0; k < KARMA_I_MOST_RANKS; k++) karma_i_free(t->row_score[k]);
}

static karma_status init_trial(trial *t, karma_i_view rows, uint64_t seed, const karma_i_ppca_options *options,
                               size_t n_splits, karma_error *err) {
    size_t d = rows.rows->n_features;
    *t = (trial){.options = options, .n_splits = n_splits};
    t->completed = karma_i_alloc(MOST_ROWS, d * sizeof *t->completed);
    t->standard_error = karma_i_alloc(MOST_ROWS, d * sizeof *t->standard_error);
    t->origin = karma_i_zalloc(d, sizeof *t->origin);
    karma_status st = t->completed && t->standard_error && t->origin ? KARMA_OK : karma_i_fail_memory(err);
    if (st == KARMA_OK) st = karma_i_cell_lists_init(&t->hidden_cells, rows.rows->n_attributes, MOST_ROWS, 1, err);
    for (t->split = 0; st == KARMA_OK && t->split < t->n_splits; t->split++) st = split(t, rows, seed, err);
    t->split = 0;
    if (st != KARMA_OK) clear_trial(t);
    return st;
}

/* ---- one rank ---- */

/* ½z², but only a power of |z| beyond FAR, with the same slope there: if EM stops short of the maximum, some
 * cells are a thousand standard errors off, which should not count much more than ten. */
static double surprise(double z) {
    const double far = FAR * FAR, square = z * z;
    return square <= far ? 0.5 * square : 0.5 * far * (1.0 + log(square / far));
}

/* Σ ln N(x_f; x̂_f, se_f²) over the hidden features of a row of the batch, with heavier tails. */
static double row_score(trial *t, size_t row, karma_i_cell_range features, size_t n_features) {
    const double half_log_2pi = 0.918938533204672741780329736405617639861397473637783;
    double sum = 0.0;
    for (size_t c = features.first; c < features.first + features.count; c++) {
        size_t cell = row * n_features + t->hidden_cells.feature[c];
        double error = t->factor * t->standard_error[cell], z = (t->hidden_cells.x[c] - t->completed[cell]) / error;
        sum -= half_log_2pi + log(error) + surprise(z);
    }
    return sum;
}

/* The same for every factor. */
static double score_factors(trial *t, size_t row, karma_i_cell_range features, size_t n_features) {
    t->factor = 1.0;
    for (size_t k = 0; k < N_FACTORS; k++) {
        t->sums[k] += row_score(t, row, features, n_features);
        t->factor *= FACTOR_STEP;
    }
    return 0.0;
}

/* (x_f - x̂_f)² summed in the same way. */
static double row_squares(trial *t, size_t row, karma_i_cell_range features, size_t n_features) {
    double sum = 0.0;
    for (size_t c = features.first; c < features.first + features.count; c++) {
        double rest = t->hidden_cells.x[c] - t->completed[row * n_features + t->hidden_cells.feature[c]];
        sum += rest * rest;
    }
    return sum;
}

/* A sum over the hidden features of a row whose completion was computed. */
typedef double row_sum_fn(trial *t, size_t row, karma_i_cell_range features, size_t n_features);

/* The mean per hidden value, with completions from the remaining cells of the rows; adds every row's sum to
 * row_sums unless NULL. */
static karma_status judge_subspace(double *mean, double *row_sums, trial *t, const karma_i_subspace *subspace,
                                   row_sum_fn *row_sum, karma_error *err) {
    const karma_i_rows *shown = t->kept[t->split], *asked = t->hidden[t->split];
    size_t n_values = 0, d = subspace->n_features;
    double sum = 0.0;
    for (size_t i = 0; i < shown->n_rows; i += MOST_ROWS) {
        size_t left = shown->n_rows - i, count = left < MOST_ROWS ? left : MOST_ROWS;
        karma_i_view kept = {shown, i, count}, hidden = {asked, i, count};
        KARMA_TRY(karma_i_complete(t->completed, t->standard_error, subspace, kept, t->options->threads, err));
        KARMA_TRY(karma_i_cell_lists_reserve(&t->hidden_cells, hidden, err));
        for (size_t row = 0; row < count; row++) {
            karma_i_cell_lists_fill(&t->hidden_cells, hidden, row, t->origin);
            karma_i_cell_range features = karma_i_row_features(&t->hidden_cells, row);
            double own = row_sum(t, row, features, d);
            if (row_sums) row_sums[i + row] += own;
            sum += own;
            n_values += features.count;
        }
    }
    *mean = n_values ? sum / (double)n_values : 0.0;
    return KARMA_OK;
}

/* Whether an estimate was stopped before its end, which makes its rank look worse than it is. */
typedef struct stop_note {
    const karma_hooks *hooks;
    int has_stopped;
} stop_note;

static int note_stop(void *payload, const char *stage, size_t done, size_t total) {
    stop_note *n = payload;
    n->has_stopped |= karma_i_progress(n->hooks, stage, done, total) != 0;
    return n->has_stopped;
}

static karma_status report_stop(karma_error *err) {
    return karma_i_fail(err, KARMA_ERR_CANCELLED, "cancelled while the rank was chosen");
}

/* The mean log density, and that of every row, at the best factor. subspaces: one for each split. */
static karma_status judge_density(double *score, double *row_scores, trial *t, karma_i_subspace *const *subspaces,
                                  karma_error *err) {
    double factor = 1.0, best = 1.0, own;
    memset(t->sums, 0, sizeof t->sums);
    for (t->split = 0; t->split < t->n_splits; t->split++)
        KARMA_TRY(judge_subspace(&own, NULL, t, subspaces[t->split], score_factors, err));
    for (size_t k = 1, top = 0; k < N_FACTORS; k++) {
        factor *= FACTOR_STEP;
        if (t->sums[k] > t->sums[top]) top = k, best = factor;
    }
    t->factor = best;
    *score = 0.0;
    for (t->split = 0; t->split < t->n_splits; t->split++) {
        KARMA_TRY(judge_subspace(&own, row_scores, t, subspaces[t->split], row_score, err));
        *score += own / (double)t->n_splits;
    }
    return KARMA_OK;
}

/* The subspaces of one rank. */
static karma_status fit_splits(karma_i_subspace **subspaces, trial *t, const karma_i_ppca_options *options,
                               const stop_note *note, karma_error *err) {
    for (size_t k = 0; k < t->n_splits; k++) {
        KARMA_TRY(karma_i_ppca_fit(&subspaces[k], karma_i_rows_all(t->kept[k]), options, err));
        if (note->has_stopped) return report_stop(err);
    }
    return KARMA_OK;
}

/* Adds a score to the list, which has room for it. */
static karma_status try_rank(karma_i_rank_choice *choice, trial *t, size_t rank, karma_error *err) {
    karma_i_ppca_options options = *t->options;
    karma_i_subspace *subspaces[MOST_SPLITS] = {NULL};
    options.rank = rank;
    options.history = NULL;
    options.tolerance *= options.is_coarse ? COARSE_TOLERANCE : FINER_TOLERANCE;
    options.least_together *= (1.0 - HIDDEN_SHARE) * (1.0 - HIDDEN_SHARE); /* as before cells were hidden */
    stop_note note = {options.hooks, 0};
    karma_hooks watching = {note_stop, NULL, &note};
    options.hooks = &watching;
    if (karma_i_progress(options.hooks, "ranks tried", choice->n_scores, 0)) return report_stop(err);
    double score = 0.0, *row_scores = karma_i_zalloc(t->kept[0]->n_rows, sizeof *row_scores);
    if (!row_scores) return karma_i_fail_memory(err);
    t->row_score[choice->n_scores] = row_scores;
    karma_status st = fit_splits(subspaces, t, &options, &note, err);
    if (st == KARMA_OK) st = judge_density(&score, row_scores, t, subspaces, err);
    for (size_t k = 0; k < MOST_SPLITS; k++) karma_i_subspace_free(subspaces[k]);
    if (st == KARMA_OK) choice->scores[choice->n_scores++] = (karma_i_rank_score){rank, score};
    return st;
}

/* ---- the search ---- */

/* The index of the best rank so far; the smallest of nearly equal ones. */
static size_t best_of(const karma_i_rank_choice *choice) {
    double top = choice->scores[0].score;
    size_t best = SIZE_MAX;
    for (size_t i = 1; i < choice->n_scores; i++) top = fmax(top, choice->scores[i].score);
    for (size_t i = 0; i < choice->n_scores; i++) {
        if (choice->scores[i].score < top - NEGLIGIBLE) continue;
        if (best == SIZE_MAX || choice->scores[i].rank < choice->scores[best].rank) best = i;
    }
    return best == SIZE_MAX ? 0 : best; /* a score that is not a number */
}

/* Is the difference between the best and another within one standard error? With D_i the differences of the n rows, Σ
 * D_i has the standard error sqrt(Σ (D_i - mean D)²). */
static int is_as_good(const trial *t, size_t best, size_t other) {
    size_t n = t->kept[0]->n_rows;
    double sum = 0.0, squares = 0.0;
    for (size_t i = 0; i < n; i++) sum += t->row_score[best][i] - t->row_score[other][i];
    for (size_t i = 0; i < n; i++) {
        double rest = t->row_score[best][i] - t->row_score[other][i] - sum / (double)n;
        squares += rest * rest;
    }
    return sum <= sqrt(squares);
}

/* The smallest rank tried that is as good as the best. */
static size_t smallest_good(const karma_i_rank_choice *choice, const trial *t) {
    size_t best = best_of(choice), rank = choice->scores[best].rank;
    for (size_t i = 0; i < choice->n_scores; i++)
        if (choice->scores[i].rank < rank && is_as_good(t, best, i)) rank = choice->scores[i].rank;
    return rank;
}

/* Tries 0, 1, 2, 3, 5, 8, 13, ... until the score has been below the best FALLS times in a row, or once by
 * more than its error: larger ranks cost the most. Some ranks are always tried: they are cheap with few rows,
 * and a rank below the right one is often worse than rank 0, because the omitted directions distort the
 * others. A coarse choice also ends when ranks cost too much. */
static karma_status climb(karma_i_rank_choice *choice, trial *t, size_t most, karma_error *err) {
    size_t falls = 0, certain = t->kept[0]->n_rows < FEW_ROWS ? CERTAIN_RANK : 0;
    double n_values = (double)karma_i_rows_most_cells(t->kept[0], 0, t->kept[0]->n_rows).features;
    for (size_t rank = 0, next = 1; rank <= most && (falls < FALLS || rank <= certain);) {
        if (t->options->is_coarse && n_values * (double)(rank * rank) > MOST_COARSE_WORK) break;
        KARMA_TRY(try_rank(choice, t, rank, err));
        size_t best = best_of(choice), last = choice->n_scores - 1;
        falls = best == last ? 0 : !is_as_good(t, best, last) ? FALLS : falls + 1;
        size_t sum = rank + next;
        rank = next;
        next = sum > next ? sum : next + 1;
    }
    return KARMA_OK;
}

/* The middle between `rank` and the nearest rank tried on one side; `rank` itself if there is none
 * between. */
static size_t middle_below(const karma_i_rank_choice *choice, size_t rank) {
    size_t below = 0;
    for (size_t i = 0; i < choice->n_scores; i++)
        if (choice->scores[i].rank < rank && choice->scores[i].rank > below) below = choice->scores[i].rank;
    return rank - (rank - below) / 2;
}
static size_t middle_above(const karma_i_rank_choice *choice, size_t rank) {
    size_t above = SIZE_MAX;
    for (size_t i = 0; i < choice->n_scores; i++)
        if (choice->scores[i].rank > rank && choice->scores[i].rank < above) above = choice->scores[i].rank;
    return above == SIZE_MAX ? rank : rank + (above - rank) / 2;
}

/* Searches upwards from the best for a better rank, then downwards for the smallest that is as good. */
static karma_status refine(karma_i_rank_choice *choice, trial *t, karma_error *err) {
    for (size_t k = 0; k < REFINEMENTS; k++) {
        size_t best = choice->scores[best_of(choice)].rank, good = smallest_good(choice, t);
        size_t rank = middle_above(choice, best);
        if (rank == best) rank = middle_below(choice, good);
        if (rank == good) break;
        KARMA_TRY(try_rank(choice, t, rank, err));
    }
    return KARMA_OK;
}

karma_status karma_i_ppca_choose_rank(karma_i_rank_choice *out, karma_i_view rows, uint64_t seed,
                                      const karma_i_ppca_options *options, karma_error *err) {
    size_t d = rows.rows->n_features, smaller = d < rows.count ? d : rows.count, most = smaller ? smaller - 1 : 0;
    if (options->rank && options->rank < most) most = options->rank;
    karma_i_rank_choice choice = {0};
    trial t;
    KARMA_TRY(init_trial(&t, rows, seed, options, options->is_coarse ? 1 : count_splits(rows), err));
    karma_status st = climb(&choice, &t, most, err);
    if (st == KARMA_ERR_CANCELLED && options->is_coarse && choice.n_scores > LEAST_COARSE_RANKS) st = KARMA_OK;
    if (st == KARMA_OK && !options->is_coarse) st = refine(&choice, &t, err);
    if (st == KARMA_OK) {
        choice.rank = smallest_good(&choice, &t);
        *out = choice;
    }
    clear_trial(&t);
    return st;
}

/* ---- what a rank is worth ---- */

static karma_status hidden_squares(double *mean, trial *t, size_t rank, karma_error *err) {
    karma_i_ppca_options options = *t->options;
    karma_i_subspace *subspace = NULL;
    options.rank = rank;
    options.history = NULL;
    KARMA_TRY(karma_i_ppca_fit(&subspace, karma_i_rows_all(t->kept[0]), &options, err));
    karma_status st = judge_subspace(mean, NULL, t, subspace, row_squares, err);
    karma_i_subspace_free(subspace);
    return st;
}

karma_status karma_i_ppca_explained(double *share, karma_i_view rows, uint64_t seed,
                                    const karma_i_ppca_options *options, karma_error *err) {
    double by_subspace = 0.0, by_means = 0.0;
    trial t;
    KARMA_TRY(init_trial(&t, rows, seed, options, 1, err));
    karma_status st = hidden_squares(&by_subspace, &t, options->rank, err);
    if (st == KARMA_OK) st = hidden_squares(&by_means, &t, 0, err);
    if (st == KARMA_OK) *share = by_means > 0.0 ? 1.0 - by_subspace / by_means : 0.0;
    clear_trial(&t);
    return st;
}

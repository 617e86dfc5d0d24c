#include "subspace/latent.h"

#include "base/bits.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/threads.h"
#include "table/rows_dense.h"

/* The largest rank that is tried when the rank is chosen: a pass costs its square. */
enum { LARGEST_CHOSEN_RANK = 50 };

/* From this many feature values a pass uses several threads; with fewer, synchronisation costs more than it
 * saves. */
enum { PARALLEL_VALUES = 1000000 };

void karma_i_latent_free(karma_i_latent *latent) {
    if (!latent) return;
    karma_i_subspace_free(latent->subspace);
    karma_i_basis_free(latent->basis);
    karma_i_linkage_clear(&latent->linkage);
    karma_i_free(latent);
}

/* Encoded values are at most 1e9, so numbers beyond these limits cannot come from data, and arithmetic with
 * them would overflow. */
static const double LARGEST = 1e30, LEAST_NOISE = 1e-300, LARGEST_NOISE = 1e60;

/* An empty object for reading; other functions make one that has learned. */
static karma_i_latent *new_latent(void) {
    karma_i_latent *latent = karma_i_zalloc(1, sizeof *latent);
    if (!latent) return NULL;
    latent->subspace = karma_i_zalloc(1, sizeof *latent->subspace);
    latent->basis = karma_i_zalloc(1, sizeof *latent->basis);
    if (latent->subspace && latent->basis) return latent;
    karma_i_latent_free(latent);
    return NULL;
}

karma_status karma_i_latent_archive(karma_i_archive *a, karma_i_latent **latent, size_t n_features) {
    if (karma_i_archive_is_reading(a) && !(*latent = new_latent())) return karma_i_archive_fail_memory(a);
    karma_i_subspace *s = (*latent)->subspace;
    karma_i_basis *b = (*latent)->basis;
    size_t n_coordinates = b->rank;
    KARMA_TRY(karma_i_archive_enter(a, "subspace"));
    KARMA_TRY(karma_i_archive_size(a, "rank", &s->rank, 0, SIZE_MAX));
    KARMA_TRY(karma_i_archive_size(a, "coordinates", &n_coordinates, 0, s->rank < n_features ? s->rank : n_features));
    KARMA_TRY(karma_i_archive_number(a, "sigma2", &s->sigma2, LEAST_NOISE, LARGEST_NOISE));
    KARMA_TRY(karma_i_archive_f64(a, "noise", &s->noise, karma_i_vector_shape(n_features), LARGEST));
    KARMA_TRY(karma_i_archive_f64(a, "W", &s->W, karma_i_matrix_shape(n_features, s->rank), LARGEST));
    KARMA_TRY(
        karma_i_archive_f64(a, "basis", &b->to_coordinates, karma_i_matrix_shape(n_coordinates, s->rank), LARGEST));
    KARMA_TRY(karma_i_archive_f64(a, "mean", &s->mean, karma_i_vector_shape(n_features), LARGEST));
    KARMA_TRY(karma_i_linkage_archive(a, &(*latent)->linkage));
    karma_i_archive_leave(a);
    if (!karma_i_archive_is_reading(a)) return KARMA_OK;
    for (size_t f = 0; f < n_features; f++)
        if (!(s->noise[f] >= LEAST_NOISE))
            return karma_i_archive_fail(a, "its subspace: %g is not a variance of noise", s->noise[f]);
    s->n_features = b->n_features = n_features;
    s->least_sigma2 = s->sigma2;
    b->rank = n_coordinates;
    return KARMA_OK;
}

static int choose_threads(const karma_i_rows *rows, const karma_fit_options *options) {
    if ((double)rows->n_rows * (double)rows->n_features < PARALLEL_VALUES) return 1;
    return karma_i_threads(options->threads);
}

karma_i_ppca_options karma_i_latent_options(const karma_i_rows *rows, const karma_fit_options *options,
                                            const karma_hooks *hooks) {
    karma_i_ppca_options ppca = karma_i_ppca_defaults(LARGEST_CHOSEN_RANK);
    ppca.threads = choose_threads(rows, options);
    ppca.hooks = hooks;
    ppca.has_own_noise = options->subspace_noise == KARMA_NOISE_COLUMN;
    return ppca;
}

karma_status karma_i_latent_coarse_rank(size_t *rank, const karma_i_rows *rows, const karma_fit_options *options,
                                        const karma_hooks *hooks, karma_error *err) {
    karma_i_ppca_options ppca = karma_i_latent_options(rows, options, hooks);
    karma_i_rank_choice choice;
    ppca.is_coarse = 1;
    KARMA_TRY(karma_i_ppca_choose_rank(&choice, karma_i_rows_all(rows), (uint64_t)options->seed, &ppca, err));
    *rank = choice.rank;
    return KARMA_OK;
}

/* From all rows, in this process and others. */
static karma_status find_linkage(karma_i_linkage *out, const karma_i_ppca_rows *rows, size_t rank, karma_error *err) {
    karma_i_partition whole = karma_i_partition_whole(rows->split.n_rows);
    if (rows->sample.count == rows->split.n_rows)
        return karma_i_linkage_find(out, rows->sample.rows, &whole, rank, err);
    return karma_i_linkage_find(out, rows->here.rows, &rows->split, rank, err);
}

karma_status karma_i_latent_learn(karma_i_latent **out, const karma_i_ppca_rows *rows, const karma_fit_options *options,
                                  const karma_hooks *hooks, karma_error *err) {
    const karma_i_rows *more = rows->here.count > rows->sample.count ? rows->here.rows : rows->sample.rows;
    karma_i_ppca_options ppca = karma_i_latent_options(more, options, hooks);
    karma_i_latent *latent = karma_i_zalloc(1, sizeof *latent);
    if (!latent) return karma_i_fail_memory(err);
    latent->choice.rank = (size_t)options->subspace_rank;
    karma_status st = KARMA_OK;
    if (options->subspace_rank == (int64_t)KARMA_AUTO)
        st = karma_i_ppca_choose_rank(&latent->choice, rows->sample, (uint64_t)options->seed, &ppca, err);
    ppca.rank = latent->choice.rank;
    if (st == KARMA_OK) st = karma_i_ppca_fit_split(&latent->subspace, rows, &ppca, err);
    if (st == KARMA_OK) st = karma_i_basis_new(&latent->basis, latent->subspace, err);
    if (st == KARMA_OK) st = find_linkage(&latent->linkage, rows, latent->subspace->rank, err);
    if (st == KARMA_OK)
        *out = latent;
    else
        karma_i_latent_free(latent);
    return st;
}

static void report_refinement(const karma_i_refinement *r, const karma_hooks *hooks) {
    if (r->n_steps)
        karma_i_notice(hooks,
                       "the subspace was refined by %zu steps: mean loss %.4g instead of %.4g on %zu rows held out",
                       r->n_steps, r->after, r->before, r->n_held_out);
    else
        karma_i_notice(hooks,
                       "refining the subspace gave no significant improvement (mean loss %.4g, at best %.4g on %zu "
                       "rows held out): it stays as estimated",
                       r->before, r->after, r->n_held_out);
}

karma_status karma_i_latent_refine(karma_i_latent *latent, const karma_i_rows *rows, const karma_i_supervision *labels,
                                   const karma_fit_options *options, const karma_hooks *hooks, karma_error *err) {
    karma_i_refinement result;
    karma_i_basis *basis = NULL;
    if (latent->subspace->rank == 0) return KARMA_OK;
    KARMA_TRY(karma_i_refine(latent->subspace, &result, karma_i_rows_all(rows), labels, (size_t)options->refine,
                             choose_threads(rows, options), hooks, err));
    KARMA_TRY(karma_i_basis_new(&basis, latent->subspace, err));
    karma_i_basis_free(latent->basis);
    latent->basis = basis;
    report_refinement(&result, hooks);
    return KARMA_OK;
}

karma_status karma_i_latent_new_rows(karma_i_rows **out, const karma_i_latent *latent, size_t capacity,
                                     karma_error *err) {
    size_t feature_start[] = {0, latent->basis->rank};
    return karma_i_rows_new(out, 1, feature_start, capacity, err);
}

karma_status karma_i_latent_apply(karma_i_rows **out, const karma_i_latent *latent, const karma_i_rows *rows,
                                  int threads, karma_error *err) {
    size_t n = rows->n_rows, r = latent->basis->rank;
    double *coordinates = karma_i_alloc(n, r * sizeof *coordinates);
    karma_i_rows *placed = NULL;
    karma_status st = coordinates ? karma_i_latent_new_rows(&placed, latent, n, err) : karma_i_fail_memory(err);
    if (st == KARMA_OK)
        st = karma_i_coordinates(coordinates, latent->subspace, latent->basis, KARMA_I_CENTRED, karma_i_rows_all(rows),
                                 threads, err);
    for (size_t i = 0; st == KARMA_OK && i < n; i++) {
        float *values = karma_i_rows_values(placed, i);
        for (size_t k = 0; k < r; k++) values[k] = (float)coordinates[i * r + k];
        karma_i_mask_set(karma_i_rows_mask(placed, i), 0);
    }
    karma_i_free(coordinates);
    if (st == KARMA_OK) {
        placed->n_rows = n;
        *out = placed;
    } else
        karma_i_rows_free(placed);
    return st;
}

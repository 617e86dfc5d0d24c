#include "search/afford.h"

#include <math.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/threads.h"
#include "search/choose.h"

/* The best value of an entry on the folds so far. */
static double value_of(const karma_i_race *race, size_t entry) {
    double best = -INFINITY;
    for (size_t c = 0; c < race->entries[entry].path.n; c++)
        best = fmax(best, karma_i_run_value(race, race->entries[entry].first_run + c));
    return best;
}

/* The strongest entry not seen yet; n_entries if there is none. */
static size_t find_strongest(const karma_i_race *race, const unsigned char *is_seen, int only_kept) {
    size_t best = race->n_entries;
    for (size_t e = 0; e < race->n_entries; e++)
        if (!race->entries[e].is_out && !is_seen[e] && (!only_kept || race->entries[e].is_kept) &&
            (best == race->n_entries || value_of(race, e) > value_of(race, best)))
            best = e;
    return best;
}

/* The time that an entry adds to a fold if the kinds in has_kind are already computed. */
static double added_seconds(const karma_i_race *race, size_t entry, const unsigned char *has_kind) {
    const karma_i_plan_kernel *kernel = &race->entries[entry].kernel;
    double seconds = race->entries[entry].seconds;
    for (int k = 0; k < KARMA_N_KERNELS; k++)
        if (!has_kind[k] && karma_i_plan_kernel_has_kind(kernel, (karma_kernel_kind)k))
            seconds += race->recipe_seconds[k];
    return seconds / (double)karma_i_threads(race->task->options.threads);
}

/* Whether any entry can be judged on a fold within these seconds. */
static int any_within(const karma_i_race *race, double seconds) {
    const unsigned char has_none[KARMA_N_KERNELS] = {0};
    for (size_t e = 0; e < race->n_entries; e++)
        if (!race->entries[e].is_out && race->encoding_seconds + added_seconds(race, e, has_none) <= seconds) return 1;
    return 0;
}

karma_status karma_i_race_afford(double *cost, int *is_cut_short, karma_i_race *race, double seconds, double most,
                                 karma_error *err) {
    unsigned char has_kind[KARMA_N_KERNELS] = {0}, *is_seen = karma_i_zalloc(race->n_entries, 1);
    if (!is_seen) return karma_i_fail_memory(err);
    *cost = race->encoding_seconds;
    most = any_within(race, most) ? fmax(most, seconds) : INFINITY;
    size_t n_kept = 0;
    for (size_t n_seen = 0; n_seen < race->n_entries; n_seen++) {
        size_t e = n_kept > 0 ? find_strongest(race, is_seen, 1) : race->n_entries;
        if (e == race->n_entries) e = find_strongest(race, is_seen, 0);
        if (e == race->n_entries) break;
        double more = added_seconds(race, e, has_kind);
        is_seen[e] = 1;
        /* the strongest entry and the baseline that it is compared with may take more than their share */
        int is_needed = n_kept == 0 || race->entries[e].is_kept;
        if (*cost + more > (is_needed ? most : seconds)) {
            race->entries[e].is_out = race->entries[e].is_cut = *is_cut_short = 1;
            continue;
        }
        n_kept++;
        *cost += more;
        for (int k = 0; k < KARMA_N_KERNELS; k++)
            has_kind[k] |= karma_i_plan_kernel_has_kind(&race->entries[e].kernel, (karma_kernel_kind)k) != 0;
    }
    karma_i_free(is_seen);
    return KARMA_OK;
}

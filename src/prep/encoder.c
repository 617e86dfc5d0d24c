#include "prep/encoder.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"

void karma_i_encoder_clear(karma_i_encoder *encoder) {
    for (size_t e = 0; encoder->recipes && e < encoder->n; e++) karma_i_recipe_free(encoder->recipes[e]);
    karma_i_free(encoder->recipes);
    *encoder = (karma_i_encoder){0};
}

/* The other recipes would repeat the notices of the first; only the subspace has its own. */
static void report_subspace(const karma_i_recipe *recipe, const karma_fit_options *options, const karma_hooks *hooks) {
    if (recipe->latent && recipe->latent->subspace->rank == 0 && options->subspace_rank == (int64_t)KARMA_AUTO)
        karma_i_notice(hooks, "no subspace was found: the columns do not predict one another");
}

karma_status karma_i_encoder_new(karma_i_encoder *out, size_t n_kinds, karma_error *err) {
    *out = (karma_i_encoder){n_kinds, karma_i_zalloc(n_kinds, sizeof(karma_i_recipe *))};
    return out->recipes ? KARMA_OK : karma_i_fail_memory(err);
}

karma_status karma_i_encoder_learn_kind(karma_i_encoder *encoder, size_t which, karma_kernel_kind kind,
                                        const karma_table *table, const karma_fit_options *options,
                                        const karma_hooks *hooks, karma_error *err) {
    karma_hooks unheard = hooks ? *hooks : (karma_hooks){0}; /* the hooks can still stop the work */
    unheard.notice = NULL;
    KARMA_TRY(karma_i_recipe_learn(&encoder->recipes[which], table, kind, options, which ? &unheard : hooks, err));
    report_subspace(encoder->recipes[which], options, hooks);
    return KARMA_OK;
}

karma_status karma_i_encoder_learn(karma_i_encoder *out, const karma_table *table, const karma_kernel_kind *kinds,
                                   size_t n_kinds, const karma_fit_options *options, const karma_hooks *hooks,
                                   karma_error *err) {
    karma_i_encoder encoder = {0};
    karma_status st = karma_i_encoder_new(&encoder, n_kinds, err);
    for (size_t e = 0; st == KARMA_OK && e < n_kinds; e++)
        st = karma_i_encoder_learn_kind(&encoder, e, kinds[e], table, options, hooks, err);
    if (st == KARMA_OK)
        *out = encoder;
    else
        karma_i_encoder_clear(&encoder);
    return st;
}

karma_status karma_i_encoder_refine(karma_i_encoder *encoder, const karma_table *table,
                                    const karma_i_supervision *labels, const karma_fit_options *options,
                                    const karma_hooks *hooks, karma_error *err) {
    karma_status st = KARMA_OK;
    for (size_t e = 0; st == KARMA_OK && e < encoder->n; e++) {
        karma_i_rows *rows = NULL;
        if (!encoder->recipes[e]->latent) continue;
        st = karma_i_recipe_encode(&rows, NULL, encoder->recipes[e], table, NULL, err);
        if (st == KARMA_OK) st = karma_i_latent_refine(encoder->recipes[e]->latent, rows, labels, options, hooks, err);
        karma_i_rows_free(rows);
    }
    return st;
}

/* Rows made by one recipe after the other, chained. */
typedef karma_status (*make_rows_fn)(karma_i_rows **out, const karma_i_encoder *encoder, size_t which, const void *from,
                                     const karma_hooks *hooks, karma_error *err);

static karma_status chain(karma_i_rows **out, const karma_i_encoder *encoder, make_rows_fn make, const void *from,
                          const karma_hooks *hooks, karma_error *err) {
    karma_i_rows *first = NULL, **end = &first;
    karma_status st = KARMA_OK;
    for (size_t e = 0; st == KARMA_OK && e < encoder->n; e++) {
        st = make(end, encoder, e, from, e ? NULL : hooks, err);
        if (st == KARMA_OK) end = &(*end)->next;
    }
    if (st == KARMA_OK)
        *out = first;
    else
        karma_i_rows_free(first);
    return st;
}

static karma_status encode(karma_i_rows **out, const karma_i_encoder *encoder, size_t which, const void *table,
                           const karma_hooks *hooks, karma_error *err) {
    return karma_i_recipe_apply(out, encoder->recipes[which], table, hooks, err);
}

/* A table, one row, and which encodings need more than that row. */
typedef struct needed_rows {
    const karma_table *table, *first;
    const unsigned char *is_needed;
} needed_rows;

static karma_status encode_needed(karma_i_rows **out, const karma_i_encoder *encoder, size_t which, const void *from,
                                  const karma_hooks *hooks, karma_error *err) {
    const needed_rows *rows = from;
    return karma_i_recipe_apply(out, encoder->recipes[which], rows->is_needed[which] ? rows->table : rows->first, hooks,
                                err);
}

static karma_status encode_features(karma_i_rows **out, const karma_i_encoder *encoder, size_t which, const void *table,
                                    const karma_hooks *hooks, karma_error *err) {
    return karma_i_recipe_encode(out, NULL, encoder->recipes[which], table, hooks, err);
}

static karma_status make_room(karma_i_rows **out, const karma_i_encoder *encoder, size_t which, const void *capacity,
                              const karma_hooks *hooks, karma_error *err) {
    (void)hooks;
    return karma_i_recipe_new_rows(out, encoder->recipes[which], *(const size_t *)capacity, err);
}

karma_status karma_i_encoder_check_matrix(const karma_i_encoder *encoder, size_t n_columns, const karma_table *table,
                                          karma_error *err) {
    if (!table->is_matrix || table->gram || encoder->n == 0) return KARMA_OK;
    const karma_i_recipe *recipe = encoder->recipes[0];
    if (table->n_attributes != n_columns)
        return karma_i_fail(err, KARMA_ERR_DATA, "the matrix has %zu column%s, but the model was learned from %zu",
                            table->n_attributes, table->n_attributes == 1 ? "" : "s", n_columns);
    for (size_t j = 0, at = 0; j < recipe->n_attributes; j++, at++) { /* in the order of the training table */
        while (at < n_columns && strcmp(recipe->columns[j].name, table->attributes[at].name) != 0) at++;
        if (at == n_columns)
            return karma_i_fail(err, KARMA_ERR_DATA,
                                "the model was learned from columns with names ('%.60s'): name the matrix's columns",
                                recipe->columns[j].name);
    }
    return KARMA_OK;
}

karma_status karma_i_encoder_apply(karma_i_rows **out, const karma_i_encoder *encoder, const karma_table *table,
                                   const karma_hooks *hooks, karma_error *err) {
    return chain(out, encoder, encode, table, hooks, err);
}

karma_status karma_i_encoder_apply_some(karma_i_rows **out, const karma_i_encoder *encoder,
                                        const unsigned char *is_needed, const karma_table *table,
                                        const karma_table *first, const karma_hooks *hooks, karma_error *err) {
    needed_rows rows = {table, first, is_needed};
    return chain(out, encoder, encode_needed, &rows, hooks, err);
}

karma_status karma_i_encoder_encode(karma_i_rows **out, const karma_i_encoder *encoder, const karma_table *table,
                                    const karma_hooks *hooks, karma_error *err) {
    return chain(out, encoder, encode_features, table, hooks, err);
}

void karma_i_placed_clear(karma_i_placed *placed) {
    karma_i_rows_free(placed->coordinates);
    karma_i_free(placed->rows);
    *placed = (karma_i_placed){0};
}

/* Coordinates or leaves of one encoding, kept among those that are owned. */
static karma_status add_coordinates(karma_i_placed *placed, const karma_i_recipe *recipe, const karma_i_rows *features,
                                    int threads, karma_error *err) {
    karma_i_rows *own = NULL;
    KARMA_TRY(karma_i_recipe_place(&own, recipe, features, threads, err));
    own->next = placed->coordinates;
    placed->coordinates = own;
    return KARMA_OK;
}

karma_status karma_i_encoder_place(karma_i_placed *out, const karma_i_encoder *encoder, const karma_i_rows *features,
                                   int threads, karma_error *err) {
    karma_i_placed placed = {karma_i_zalloc(encoder->n, sizeof *placed.rows), NULL};
    karma_status st = placed.rows ? KARMA_OK : karma_i_fail_memory(err);
    for (size_t e = 0; st == KARMA_OK && e < encoder->n; e++, features = features->next) {
        int is_placed = karma_i_recipe_is_placed(encoder->recipes[e]);
        if (is_placed) st = add_coordinates(&placed, encoder->recipes[e], features, threads, err);
        if (st != KARMA_OK) break;
        placed.rows[e] = is_placed ? *placed.coordinates : *features; /* the arrays stay their owners' */
        placed.rows[e].next = e + 1 < encoder->n ? &placed.rows[e + 1] : NULL;
    }
    if (st == KARMA_OK)
        *out = placed;
    else
        karma_i_placed_clear(&placed);
    return st;
}

karma_status karma_i_encoder_new_rows(karma_i_rows **out, const karma_i_encoder *encoder, size_t capacity,
                                      karma_error *err) {
    return chain(out, encoder, make_room, &capacity, NULL, err);
}

/* --- model files --------------------------------------------------------------------------------------- */

static karma_status read_room(karma_i_archive *a, karma_i_encoder *encoder, size_t n) {
    if (karma_i_encoder_new(encoder, n, NULL) != KARMA_OK) return karma_i_archive_fail_memory(a);
    for (size_t e = 0; e < n; e++)
        if (!(encoder->recipes[e] = karma_i_zalloc(1, sizeof *encoder->recipes[e])))
            return karma_i_archive_fail_memory(a);
    return KARMA_OK;
}

/* All recipes have the same columns, which are stored once. */
static karma_status archive_columns(karma_i_archive *a, const karma_i_encoder *encoder) {
    karma_i_recipe *first = encoder->recipes[0];
    KARMA_TRY(karma_i_columns_archive(a, "columns", &first->columns, &first->n_attributes));
    for (size_t e = 1; karma_i_archive_is_reading(a) && e < encoder->n; e++) {
        karma_i_recipe *recipe = encoder->recipes[e];
        recipe->columns = karma_i_zalloc(first->n_attributes, sizeof *recipe->columns);
        if (!recipe->columns) return karma_i_archive_fail_memory(a);
        for (; recipe->n_attributes < first->n_attributes; recipe->n_attributes++)
            if (karma_i_column_copy(&recipe->columns[recipe->n_attributes], &first->columns[recipe->n_attributes],
                                    NULL) != KARMA_OK)
                return karma_i_archive_fail_memory(a);
    }
    return KARMA_OK;
}

karma_status karma_i_encoder_archive(karma_i_archive *a, karma_i_encoder *encoder, const karma_kernel_kind *kinds,
                                     size_t n_kinds) {
    size_t n = n_kinds;
    if (karma_i_archive_is_reading(a)) KARMA_TRY(read_room(a, encoder, n));
    KARMA_TRY(archive_columns(a, encoder));
    KARMA_TRY(karma_i_archive_enter_list(a, "encodings", &n));
    if (n != n_kinds) return karma_i_archive_fail(a, "its encodings are not those of its kernel");
    for (size_t e = 0; e < n; e++) {
        KARMA_TRY(karma_i_archive_item(a, e));
        KARMA_TRY(karma_i_recipe_archive(a, encoder->recipes[e], kinds[e]));
        karma_i_archive_leave(a);
    }
    karma_i_archive_leave(a);
    return KARMA_OK;
}

karma_status karma_i_encoder_archive_rows(karma_i_archive *a, karma_i_rows **rows, const karma_i_encoder *encoder,
                                          size_t n_rows) {
    size_t n = encoder->n;
    KARMA_TRY(karma_i_archive_enter_list(a, "support", &n));
    if (n != encoder->n) return karma_i_archive_fail(a, "its support rows are not those of its encodings");
    for (size_t e = 0; e < n; e++, rows = &(*rows)->next) {
        KARMA_TRY(karma_i_archive_item(a, e));
        KARMA_TRY(karma_i_recipe_archive_rows(a, rows, encoder->recipes[e], n_rows));
        karma_i_archive_leave(a);
    }
    karma_i_archive_leave(a);
    return KARMA_OK;
}

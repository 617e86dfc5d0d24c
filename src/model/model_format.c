#include "model/model_format.h"

#include <stdio.h>
#include <string.h>

#include <zlib.h>

#include "base/bits.h"
#include "base/error.h"
#include "base/mem.h"

uint32_t karma_i_checksum(uint32_t crc, const void *data, size_t length) {
    const unsigned char *p = data;
    while (length) {
        uInt part = length > 1U << 30 ? 1U << 30 : (uInt)length;
        crc = (uint32_t)crc32(crc, p, part);
        p += part;
        length -= part;
    }
    return crc;
}

size_t karma_i_tensor_bytes(const karma_i_tensor *t) {
    return t->item_size * t->shape[0] * (t->n_dims == 2 ? t->shape[1] : 1);
}

static void clear_flat(karma_i_flat_rankings *flat) {
    karma_i_free(flat->value);
    karma_i_free(flat->at);
    karma_i_free(flat->beyond);
}

static karma_status make_flat(karma_i_flat_rankings *flat, const karma_i_recipe *r, karma_error *err) {
    for (size_t j = 0; j < r->n_attributes; j++) flat->n += r->rankings[j].n;
    flat->value = karma_i_zalloc(flat->n, sizeof *flat->value);
    flat->at = karma_i_zalloc(flat->n, 1);
    flat->beyond = karma_i_zalloc(flat->n, 1);
    return flat->value && flat->at && flat->beyond ? KARMA_OK : karma_i_fail_memory(err);
}

void karma_i_flat_from(karma_i_flat_rankings *flat, const karma_i_recipe *r) {
    for (size_t j = 0, at = 0; j < r->n_attributes; at += r->rankings[j++].n) {
        const karma_i_ranking *one = &r->rankings[j];
        if (one->n == 0) continue;
        memcpy(flat->value + at, one->value, one->n * sizeof *one->value);
        memcpy(flat->at + at, one->at, one->n);
        memcpy(flat->beyond + at, one->beyond, one->n);
    }
}

void karma_i_flat_to(karma_i_recipe *r, const karma_i_flat_rankings *flat) {
    for (size_t j = 0, at = 0; j < r->n_attributes; at += r->rankings[j++].n) {
        const karma_i_ranking *one = &r->rankings[j];
        if (one->n == 0) continue;
        memcpy(one->value, flat->value + at, one->n * sizeof *one->value);
        memcpy(one->at, flat->at + at, one->n);
        memcpy(one->beyond, flat->beyond + at, one->n);
    }
}

/* size_t is stored as U64. */
_Static_assert(sizeof(size_t) == sizeof(uint64_t), "model files store sizes as 64 bits");

static void describe_encoding(karma_i_tensor *tensors, const karma_i_recipe *recipe, const karma_i_rows *rows,
                              const karma_i_flat_rankings *flat, size_t number) {
    size_t n_attributes = recipe->n_attributes, n_features = recipe->feature_start[n_attributes], n = rows->n_rows;
    size_t n_dense = rows->is_sparse || rows->is_matrix ? 0 : n, n_starts = rows->is_sparse ? n + 1 : 0;
    size_t n_cells = rows->is_sparse ? karma_i_rows_n_cells(rows) : 0, n_matrix = rows->is_matrix ? n : 0;
    const karma_i_subspace none = {0}, *subspace = recipe->latent ? recipe->latent->subspace : &none;
    const karma_i_basis no_basis = {0}, *basis = recipe->latent ? recipe->latent->basis : &no_basis;
    const karma_i_tensor all[KARMA_I_N_TENSORS] = {
        [KARMA_I_TENSOR_CELL_ATTRIBUTE] = {"cell_attribute", "U32", 4, {n_cells, 0}, 1, rows->cell_attribute, 0},
        [KARMA_I_TENSOR_CELL_START] = {"cell_start", "U64", 8, {n_starts, 0}, 1, rows->cell_start, 0},
        [KARMA_I_TENSOR_CELL_VALUE] = {"cell_value", "F32", 4, {n_cells, 0}, 1, rows->cell_value, 0},
        [KARMA_I_TENSOR_CODES] = {"codes", "U16", 2, {n_dense, rows->n_codes}, 2, rows->codes, 0},
        [KARMA_I_TENSOR_FACTOR] = {"factor", "F64", 8, {n_features, 0}, 1, recipe->factor, 0},
        [KARMA_I_TENSOR_FEATURE_START] =
            {"feature_start", "U64", 8, {n_attributes + 1, 0}, 1, recipe->feature_start, 0},
        [KARMA_I_TENSOR_MASK] = {"mask", "U64", 8, {n_dense, rows->n_words}, 2, rows->mask, 0},
        [KARMA_I_TENSOR_MATRIX_COLUMN] = {"matrix_column", "U64", 8, {n_matrix, 0}, 1, rows->matrix_column, 0},
        [KARMA_I_TENSOR_RANKING_AT] = {"ranking_at", "U8", 1, {flat->n, 0}, 1, flat->at, 0},
        [KARMA_I_TENSOR_RANKING_BEYOND] = {"ranking_beyond", "U8", 1, {flat->n, 0}, 1, flat->beyond, 0},
        [KARMA_I_TENSOR_RANKING_VALUE] = {"ranking_value", "F64", 8, {flat->n, 0}, 1, flat->value, 0},
        [KARMA_I_TENSOR_RANKS] = {"ranks", "U8", 1, {n_dense, rows->rank_stride}, 2, rows->ranks, 0},
        [KARMA_I_TENSOR_SHIFT] = {"shift", "F64", 8, {n_features, 0}, 1, recipe->shift, 0},
        [KARMA_I_TENSOR_SUBSPACE_BASIS] =
            {"subspace_basis", "F64", 8, {basis->rank, subspace->rank}, 2, basis->to_coordinates, 0},
        [KARMA_I_TENSOR_SUBSPACE_MEAN] = {"subspace_mean", "F64", 8, {subspace->n_features, 0}, 1, subspace->mean, 0},
        [KARMA_I_TENSOR_SUBSPACE_W] =
            {"subspace_W", "F64", 8, {subspace->n_features, subspace->rank}, 2, subspace->W, 0},
        [KARMA_I_TENSOR_TERM] = {"term", "F32", 4, {recipe->term_start[n_attributes], 0}, 1, recipe->term, 0},
        [KARMA_I_TENSOR_VALUES] = {"values", "F32", 4, {n_dense, rows->n_values}, 2, rows->values, 0},
    };
    for (size_t i = 0; i < KARMA_I_N_TENSORS; i++) {
        tensors[i] = all[i];
        if (number) (void)snprintf(tensors[i].name, sizeof tensors[i].name, "%.20s.%zu", all[i].name, number % 100);
    }
}

karma_i_tensor *karma_i_tensors_of(const karma_i_tensor_list *list, size_t encoding) {
    return list->tensors + list->n_members + encoding * KARMA_I_N_TENSORS;
}

void karma_i_tensors_clear(karma_i_tensor_list *list) {
    for (size_t e = 0; list->flat && e < list->n_encodings; e++) clear_flat(&list->flat[e]);
    karma_i_free(list->flat);
    karma_i_free(list->tensors);
    *list = (karma_i_tensor_list){0};
}

karma_status karma_i_tensors_describe(karma_i_tensor_list *list, const karma_model *m, karma_error *err) {
    size_t n_encodings = m->encoder.n, offset = 0;
    *list =
        (karma_i_tensor_list){m->n_members + n_encodings * KARMA_I_N_TENSORS, m->n_members, n_encodings, NULL, NULL};
    list->tensors = karma_i_zalloc(list->n, sizeof *list->tensors);
    list->flat = karma_i_zalloc(n_encodings, sizeof *list->flat);
    if (!list->tensors || !list->flat) return karma_i_fail_memory(err);
    for (size_t e = 0; e < n_encodings; e++) KARMA_TRY(make_flat(&list->flat[e], m->encoder.recipes[e], err));
    for (size_t k = 0; k < m->n_members; k++) {
        karma_i_tensor *t = &list->tensors[k];
        *t = (karma_i_tensor){
            "coefficients", "F64", 8, {m->support->n_rows, m->n_outputs}, 2, m->members[k].coefficients, 0};
        if (k) (void)snprintf(t->name, sizeof t->name, "coefficients.%zu", k % 100);
    }
    for (size_t e = 0; e < n_encodings; e++)
        describe_encoding(karma_i_tensors_of(list, e), m->encoder.recipes[e], karma_i_rows_encoding(m->support, e),
                          &list->flat[e], e);
    for (size_t i = 0; i < list->n; i++) {
        list->tensors[i].offset = offset;
        offset += karma_i_tensor_bytes(&list->tensors[i]);
    }
    return KARMA_OK;
}

#define INFO(member, is_size)                                                                                          \
    { #member, offsetof(karma_fit_info, member), is_size }
const karma_i_info_field karma_i_info_fields[] = {
    INFO(n_rows, 1), INFO(n_unlabelled, 1), INFO(n_support, 1), INFO(rounds, 1),     INFO(kernel_evaluations, 0),
    INFO(C, 0),      INFO(rho, 0),          INFO(mean_loss, 0), INFO(error_rate, 0), INFO(primal, 0),
    INFO(dual, 0),   INFO(gap, 0),          {NULL, 0, 0}};

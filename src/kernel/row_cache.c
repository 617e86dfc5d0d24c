#include "kernel/row_cache.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"

/* Rows computed at a time if their slots are not adjacent. */
enum { SCRATCH_ROWS = 64 };

struct karma_i_row_cache {
    int is_given; /* the kernel's values are in memory, row by row in order, and are returned directly */
    const karma_i_kernel *kernel;
    const karma_i_rows *rows;
    int threads;
    size_t n, n_slots, n_used;
    float *values;       /* n_slots x n; the system gives memory to what is touched */
    float *scratch;      /* SCRATCH_ROWS x n, made when it is first needed */
    size_t *slot_of_row; /* n_slots: none */
    size_t *row_of_slot;
    uint64_t *last_use; /* of a slot, in calls */
    uint64_t n_calls;
    size_t *missing;        /* rows to compute in this call */
    karma_i_rows *gathered; /* copies of them, side by side */
    size_t hand;            /* where the next search for a reusable slot starts */
    double evaluations;
};

void karma_i_row_cache_free(karma_i_row_cache *c) {
    if (!c) return;
    karma_i_free(c->values);
    karma_i_free(c->scratch);
    karma_i_free(c->slot_of_row);
    karma_i_free(c->row_of_slot);
    karma_i_free(c->last_use);
    karma_i_free(c->missing);
    karma_i_rows_free(c->gathered);
    karma_i_free(c);
}

/* Whether the kernel rows are in memory already, with column j for row j. */
static int is_given_in_order(const karma_i_kernel *kernel, const karma_i_rows *rows) {
    if (rows->next || kernel->n_factors != 1 || kernel->terms[0].weight != 1.0 ||
        kernel->factors[0].map.kind != KARMA_OUTER_IDENTITY || rows->n_rows == 0)
        return 0;
    const float *first = karma_i_rows_given(rows, 0, rows, 0);
    int in_order = first != NULL;
    for (size_t j = 1; in_order && j < rows->n_rows; j++) in_order = karma_i_rows_given(rows, 0, rows, j) == first + j;
    return in_order;
}

karma_status karma_i_row_cache_new(karma_i_row_cache **out, const karma_i_kernel *kernel, const karma_i_rows *rows,
                                   size_t min_rows, size_t max_rows, int threads, karma_error *err) {
    karma_i_row_cache *c = karma_i_zalloc(1, sizeof *c);
    if (!c) return karma_i_fail_memory(err);
    c->kernel = kernel;
    c->rows = rows;
    c->threads = threads;
    c->n = rows->n_rows;
    if ((c->is_given = is_given_in_order(kernel, rows))) {
        *out = c;
        return KARMA_OK;
    }
    c->n_slots = max_rows < min_rows ? min_rows : max_rows;
    if (c->n_slots > c->n) c->n_slots = c->n;
    c->values = karma_i_alloc_large(c->n_slots, c->n * sizeof *c->values);
    c->slot_of_row = karma_i_alloc(c->n, sizeof *c->slot_of_row);
    c->row_of_slot = karma_i_alloc(c->n_slots, sizeof *c->row_of_slot);
    c->last_use = karma_i_zalloc(c->n_slots, sizeof *c->last_use);
    c->missing = karma_i_alloc(c->n_slots, sizeof *c->missing);
    karma_status st = c->values && c->slot_of_row && c->row_of_slot && c->last_use && c->missing
                          ? karma_i_rows_new_like(&c->gathered, rows, 0, err)
                          : karma_i_fail_memory(err);
    if (st != KARMA_OK) {
        karma_i_row_cache_free(c);
        return st;
    }
    for (size_t i = 0; i < c->n; i++) c->slot_of_row[i] = c->n_slots;
    *out = c;
    return KARMA_OK;
}

/* A slot that this call does not need: an arbitrary but reproducible one of those used longest ago. The clock
 * hand takes slots that no recent call used, and accepts more recently used ones with every round. */
static size_t reuse_slot(karma_i_row_cache *c) {
    for (uint64_t age = 16;; age /= 2) /* ends at age 0, because this call uses fewer slots than there are */
        for (size_t looked = 0; looked < c->n_slots; looked++) {
            size_t slot = c->hand;
            c->hand = (c->hand + 1) % c->n_slots;
            if (c->last_use[slot] + age >= c->n_calls) continue;
            c->slot_of_row[c->row_of_slot[slot]] = c->n_slots;
            return slot;
        }
}

static void assign_slot(karma_i_row_cache *c, size_t row, size_t slot) {
    c->slot_of_row[row] = slot;
    c->row_of_slot[slot] = row;
    c->last_use[slot] = c->n_calls;
}

/* Computes new rows directly into adjacent unused slots, as many as there are; returns how many were
 * computed. */
static karma_status fill_fresh(size_t *done, karma_i_row_cache *c, size_t n_missing, karma_error *err) {
    size_t fresh = c->n_slots - c->n_used;
    *done = n_missing < fresh ? n_missing : fresh;
    if (*done == 0) return KARMA_OK;
    KARMA_TRY(karma_i_rows_gather(c->gathered, c->rows, c->missing, *done, err));
    karma_status st = karma_i_kernel_block(c->values + c->n_used * c->n, c->n, c->kernel, karma_i_rows_all(c->gathered),
                                           karma_i_rows_all(c->rows), c->threads);
    if (st != KARMA_OK) return karma_i_fail_memory(err);
    for (size_t i = 0; i < *done; i++) assign_slot(c, c->missing[i], c->n_used++);
    return KARMA_OK;
}

static karma_status fill_reused(karma_i_row_cache *c, const size_t *rows, size_t count, karma_error *err) {
    if (count && !c->scratch && !(c->scratch = karma_i_alloc_aligned(SCRATCH_ROWS, c->n * sizeof *c->scratch)))
        return karma_i_fail_memory(err);
    for (size_t first = 0; first < count; first += SCRATCH_ROWS) {
        size_t part = count - first < SCRATCH_ROWS ? count - first : SCRATCH_ROWS;
        KARMA_TRY(karma_i_rows_gather(c->gathered, c->rows, rows + first, part, err));
        karma_status st = karma_i_kernel_block(c->scratch, c->n, c->kernel, karma_i_rows_all(c->gathered),
                                               karma_i_rows_all(c->rows), c->threads);
        if (st != KARMA_OK) return karma_i_fail_memory(err);
        for (size_t i = 0; i < part; i++) {
            size_t slot = reuse_slot(c);
            assign_slot(c, rows[first + i], slot);
            memcpy(c->values + slot * c->n, c->scratch + i * c->n, c->n * sizeof *c->values);
        }
    }
    return KARMA_OK;
}

karma_status karma_i_row_cache_get(const float **out, karma_i_row_cache *c, const size_t *index, size_t count,
                                   karma_error *err) {
    size_t n_missing = 0, done = 0;
    if (c->is_given) {
        for (size_t i = 0; i < count; i++) out[i] = karma_i_rows_given(c->rows, index[i], c->rows, 0);
        c->evaluations += (double)count * (double)c->n;
        return KARMA_OK;
    }
    c->n_calls++;
    for (size_t i = 0; i < count; i++) {
        size_t slot = c->slot_of_row[index[i]];
        if (slot < c->n_slots)
            c->last_use[slot] = c->n_calls;
        else
            c->missing[n_missing++] = index[i];
    }
    KARMA_TRY(fill_fresh(&done, c, n_missing, err));
    KARMA_TRY(fill_reused(c, c->missing + done, n_missing - done, err));
    c->evaluations += (double)n_missing * (double)c->n;
    for (size_t i = 0; i < count; i++) out[i] = c->values + c->slot_of_row[index[i]] * c->n;
    return KARMA_OK;
}

double karma_i_row_cache_evaluations(const karma_i_row_cache *c) {
    return c->evaluations;
}

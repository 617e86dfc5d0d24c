#include "model/stream_part.h"

#include <float.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "linalg/packed.h"

/* Beyond it squares of features would be infinite. */
static const double LARGEST = 1e150;
enum { MOST_BUDGET = 10000 };

void karma_i_stream_part_free(karma_i_stream_part *part) {
    if (!part) return;
    karma_i_stream_state_clear(&part->state);
    karma_i_rows_free(part->waiting);
    karma_i_free(part->targets);
    karma_i_free(part->weights);
    karma_i_free(part->class_seen);
    karma_i_free(part);
}

/* The lower triangle of an n × n matrix, row by row; reading makes a new matrix with zeros above the diagonal. */
static karma_status archive_triangle(karma_i_archive *a, const char *name, double **matrix, size_t n) {
    double *packed = NULL;
    int is_reading = karma_i_archive_is_reading(a);
    size_t size = karma_i_packed_size(n);
    if (!is_reading) {
        if (!(packed = karma_i_alloc(size, sizeof *packed))) return karma_i_archive_fail_memory(a);
        for (size_t i = 0; i < n; i++)
            memcpy(packed + karma_i_packed_size(i), *matrix + i * n, (i + 1) * sizeof *packed);
        KARMA_TRY(karma_i_archive_keep(a, packed));
    }
    karma_status st = karma_i_archive_f64(a, name, &packed, karma_i_vector_shape(size), DBL_MAX);
    if (!is_reading) return st;
    double *whole = st == KARMA_OK ? karma_i_zalloc(n, n * sizeof *whole) : NULL;
    if (st == KARMA_OK && !whole) st = karma_i_archive_fail_memory(a);
    for (size_t i = 0; whole && i < n; i++) {
        memcpy(whole + i * n, packed + karma_i_packed_size(i), (i + 1) * sizeof *packed);
        if (!(whole[i * n + i] > 0.0)) st = karma_i_archive_fail(a, "the matrix '%s' is not positive", name);
    }
    *matrix = whole;
    karma_i_free(packed);
    return st;
}

static karma_status archive_counts(karma_i_archive *a, karma_i_stream_part *p, size_t *n_landmarks, size_t *n_waiting,
                                   size_t n_support) {
    karma_i_stream_state *s = &p->state;
    struct {
        const char *name;
        size_t *value, most;
    } counts[] = {{"rows", &s->n_rows, SIZE_MAX / 2},       {"labelled", &s->n_labelled, SIZE_MAX / 2},
                  {"errors", &s->n_errors, SIZE_MAX / 2},   {"unlabelled", &p->n_unlabelled, SIZE_MAX / 2},
                  {"unknown", &p->n_unknown, SIZE_MAX / 2}, {"budget", &p->budget, MOST_BUDGET},
                  {"landmarks", n_landmarks, n_support},    {"waiting", n_waiting, KARMA_I_MOST_STREAM_BLOCK}};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        KARMA_TRY(karma_i_archive_size(a, counts[i].name, counts[i].value, 0, counts[i].most));
    if (*n_landmarks > p->budget || *n_waiting >= karma_i_stream_block(s->n_rows))
        return karma_i_archive_fail(a, "the counts of its stream do not fit together");
    KARMA_TRY(karma_i_archive_number(a, "loss", &s->loss, 0.0, DBL_MAX));
    return karma_i_archive_number(a, "ridge", &p->ridge, DBL_MIN, LARGEST);
}

/* Absent in the first files of this format, whose rows are then not counted, and in models of classes. */
static karma_status archive_numbers(karma_i_archive *a, karma_i_stream_numbers *numbers) {
    int is_there = numbers->n > 0;
    karma_i_archive_find(a, "numbers", &is_there);
    if (!is_there) return KARMA_OK;
    KARMA_TRY(karma_i_archive_enter(a, "numbers"));
    KARMA_TRY(karma_i_archive_size(a, "labelled", &numbers->n, 1, SIZE_MAX / 2));
    KARMA_TRY(karma_i_archive_number(a, "mean", &numbers->mean, -LARGEST, LARGEST));
    KARMA_TRY(karma_i_archive_number(a, "error", &numbers->error, 0.0, DBL_MAX));
    KARMA_TRY(karma_i_archive_number(a, "constant_error", &numbers->constant_error, 0.0, DBL_MAX));
    karma_i_archive_leave(a);
    return KARMA_OK;
}

static karma_status archive_waiting(karma_i_archive *a, karma_i_stream_part *p, const karma_i_encoder *encoder,
                                    size_t n_waiting, size_t n_outputs) {
    karma_i_shape shape = karma_i_matrix_shape(n_waiting, n_outputs);
    KARMA_TRY(karma_i_archive_f64(a, "targets", &p->targets, shape, LARGEST));
    KARMA_TRY(karma_i_archive_f64(a, "weights", &p->weights, shape, LARGEST));
    for (size_t i = 0; i < n_waiting * n_outputs; i++)
        if (!(p->weights[i] >= 0.0)) return karma_i_archive_fail(a, "a weight of its waiting rows is negative");
    p->target_capacity = p->weight_capacity = n_waiting * n_outputs;
    return karma_i_encoder_archive_rows(a, &p->waiting, encoder, n_waiting);
}

static karma_status read_landmarks(karma_i_archive *a, karma_i_stream_state *state, const karma_i_rows *support,
                                   size_t n) {
    karma_error err;
    karma_status st = karma_i_rows_new_like(&state->landmarks, support, n, &err);
    for (size_t i = 0; st == KARMA_OK && i < n; i++) st = karma_i_rows_append(state->landmarks, support, i, &err);
    return st == KARMA_OK ? KARMA_OK : karma_i_archive_fail_memory(a);
}

static karma_status archive_part(karma_i_archive *a, karma_i_stream_part *p, const karma_i_encoder *encoder,
                                 const karma_i_rows *support, size_t n_outputs, size_t n_classes) {
    int is_reading = karma_i_archive_is_reading(a);
    size_t n = is_reading ? 0 : p->state.landmarks->n_rows, n_waiting = is_reading ? 0 : p->waiting->n_rows;
    KARMA_TRY(archive_counts(a, p, &n, &n_waiting, support->n_rows));
    if (is_reading) KARMA_TRY(read_landmarks(a, &p->state, support, n));
    KARMA_TRY(archive_triangle(a, "factor", &p->state.factor, n));
    KARMA_TRY(archive_triangle(a, "precision", &p->state.precision, n));
    KARMA_TRY(karma_i_archive_f64(a, "machines", &p->state.weights, karma_i_matrix_shape(n_outputs, n), LARGEST));
    p->n_classes = n_classes;
    KARMA_TRY(karma_i_archive_sizes(a, "classes", &p->class_seen, karma_i_vector_shape(n_classes)));
    KARMA_TRY(archive_numbers(a, &p->state.numbers));
    KARMA_TRY(karma_i_archive_enter(a, "wait"));
    KARMA_TRY(archive_waiting(a, p, encoder, n_waiting, n_outputs));
    karma_i_archive_leave(a);
    return KARMA_OK;
}

karma_status karma_i_stream_part_archive(karma_i_archive *a, karma_i_stream_part **part, const karma_i_encoder *encoder,
                                         const karma_i_rows *support, size_t n_outputs, size_t n_classes) {
    int is_there = *part != NULL;
    karma_i_archive_find(a, "stream", &is_there);
    if (!is_there) return KARMA_OK;
    if (karma_i_archive_is_reading(a) && !(*part = karma_i_zalloc(1, sizeof **part)))
        return karma_i_archive_fail_memory(a);
    karma_i_stream_part *p = *part;
    if (!p) return KARMA_OK; /* writing: a part that is there has a struct, which static analysis cannot see */
    KARMA_TRY(karma_i_archive_enter(a, "stream"));
    KARMA_TRY(archive_part(a, p, encoder, support, n_outputs, n_classes));
    karma_i_archive_leave(a);
    return KARMA_OK;
}

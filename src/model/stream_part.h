/* The part of a model that is learned from a stream: the state of the learner, and the rows of the block that is not
 * full yet. */
#ifndef KARMA_I_STREAM_PART_H
#define KARMA_I_STREAM_PART_H

#include "base/archive.h"
#include "prep/encoder.h"
#include "solve/stream_state.h"

typedef struct karma_i_stream_part {
    karma_i_stream_state state;
    size_t budget;
    double ridge;
    karma_i_rows *waiting; /* with their targets and weights, one per row and output */
    double *targets, *weights;
    size_t target_capacity, weight_capacity;
    size_t n_unlabelled, n_unknown;
    size_t *class_seen; /* rows of each class of the first target; none for a regression */
    size_t n_classes;
} karma_i_stream_part;

void karma_i_stream_part_free(karma_i_stream_part *part);

/* The object "stream" of a model file, where there is one; reading makes a new struct. The landmarks of the state are
 * the first of the support rows, which are read before it. */
karma_status karma_i_stream_part_archive(karma_i_archive *archive, karma_i_stream_part **part,
                                         const karma_i_encoder *encoder, const karma_i_rows *support, size_t n_outputs,
                                         size_t n_classes);

#endif

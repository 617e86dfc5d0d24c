/* Blocks with a margin behind every row, to see that nothing is written there. Include after cmocka.h. */
#ifndef KARMA_TEST_BLOCKS_H
#define KARMA_TEST_BLOCKS_H

#include <stdlib.h>

enum { GAP = 5 };
static const float UNTOUCHED = -98765.0F;

static inline float *new_block(size_t n_rows, size_t ld) {
    float *out = malloc((n_rows * ld + 1) * sizeof *out);
    assert_non_null(out);
    for (size_t i = 0; i < n_rows * ld; i++) out[i] = UNTOUCHED;
    return out;
}

#endif

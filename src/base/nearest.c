/* Optimal string alignment distance, row by row: row i holds the distances of the first i bytes of one word
 * to every beginning of the other. */
#include "karma/base.h"

#include <string.h>

enum { MAX_WORD = 63 };

static char lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

static size_t distance(const char *a, size_t n_a, const char *b, size_t n_b) {
    size_t rows[3][MAX_WORD + 1];
    size_t *before = rows[0], *last = rows[1], *row = rows[2];
    for (size_t j = 0; j <= n_b; j++) before[j] = last[j] = j;
    for (size_t i = 1; i <= n_a; i++) {
        row[0] = i;
        for (size_t j = 1; j <= n_b; j++) {
            char x = lower(a[i - 1]), y = lower(b[j - 1]);
            row[j] = least(last[j - 1] + (x != y), least(last[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && x == lower(b[j - 2]) && y == lower(a[i - 2]))
                row[j] = least(row[j], before[j - 2] + 1);
        }
        size_t *oldest = before;
        before = last;
        last = row;
        row = oldest;
    }
    return last[n_b];
}

const char *karma_nearest_word(const char *word, const char *const *candidates, size_t n) {
    size_t length = strlen(word);
    if (length == 0 || length > MAX_WORD) return NULL;
    size_t allowed = length / 3;
    const char *best = NULL;
    for (size_t i = 0; i < n; i++) {
        size_t other = strlen(candidates[i]);
        size_t gap = other > length ? other - length : length - other;
        if (other > MAX_WORD || gap > allowed) continue; /* the distance is at least the gap */
        size_t d = distance(word, length, candidates[i], other);
        if (d > allowed) continue;
        best = candidates[i];
        if (d == 0) break;
        allowed = d - 1;
    }
    return best;
}

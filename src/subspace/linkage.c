#include "subspace/linkage.h"

#include <math.h>
#include <string.h>

#include "base/bits.h"
#include "base/error.h"
#include "base/mem.h"

#define MOST_BITS 1073741824.0
/* At least this many rows must show an attribute together with others of its group. */
enum { LEAST_ROWS = 3 };

/* For every attribute, one bit per row: is it observed there? */
typedef struct sightings {
    size_t n_attributes, n_words;
    uint64_t *bits;
    size_t *n_features; /* by attribute */
    size_t *n_observed; /* rows */
} sightings;

static void clear_sightings(sightings *s) {
    karma_i_free(s->bits);
    karma_i_free(s->n_features);
    karma_i_free(s->n_observed);
}

static int is_too_large(const karma_i_rows *rows, size_t n_rows) {
    return (double)rows->n_attributes * ((double)n_rows + 64.0) > MOST_BITS;
}

/* Collects the words of all processes; each has filled in its own, since granules end at the end of a
 * word. */
static karma_status share_words(uint64_t *words, const karma_i_partition *split, karma_error *err) {
    size_t first = split->first / 64, own = split->count ? (split->first + split->count - 1) / 64 + 1 - first : 0;
    karma_i_gathered all;
    if (split->ranks->size == 1) return KARMA_OK;
    KARMA_TRY(karma_i_ranks_gather(&all, words + first, own * sizeof *words, split->ranks, err));
    memcpy(words, all.bytes, all.start[split->ranks->size]);
    karma_i_gathered_clear(&all);
    return KARMA_OK;
}

/* Clear it even if this fails. */
static karma_status take_sightings(sightings *s, const karma_i_rows *rows, const karma_i_partition *split,
                                   karma_error *err) {
    size_t d = rows->n_attributes;
    *s = (sightings){.n_attributes = d, .n_words = split->n_rows / 64 + 1};
    s->bits = karma_i_zalloc(d, s->n_words * sizeof *s->bits);
    s->n_features = karma_i_zalloc(d, sizeof *s->n_features);
    s->n_observed = karma_i_zalloc(d, sizeof *s->n_observed);
    if (!s->bits || !s->n_features || !s->n_observed) return karma_i_fail_memory(err);
    for (size_t i = 0; i < rows->n_rows; i++) {
        karma_i_cell cell;
        for (size_t from = 0; karma_i_rows_next_cell(&cell, rows, i, from); from = cell.attribute + 1) {
            size_t row = split->first + i;
            s->bits[cell.attribute * s->n_words + row / 64] |= UINT64_C(1) << (row % 64);
        }
    }
    for (size_t j = 0; j < d; j++) {
        uint64_t *words = s->bits + j * s->n_words;
        KARMA_TRY(share_words(words, split, err));
        for (size_t w = 0; w < s->n_words; w++) s->n_observed[j] += (size_t)karma_i_popcount(words[w]);
        if (s->n_observed[j]) s->n_features[j] = rows->feature_start[j + 1] - rows->feature_start[j];
    }
    return KARMA_OK;
}

static int were_together(const sightings *s, size_t a, size_t b) {
    const uint64_t *x = s->bits + a * s->n_words, *y = s->bits + b * s->n_words;
    for (size_t w = 0; w < s->n_words; w++)
        if (x[w] & y[w]) return 1;
    return 0;
}

/* --- groups -------------------------------------------------------------------------------------------- */

typedef struct growth {
    const sightings *s;
    size_t rank;
    size_t *group;              /* SIZE_MAX: none yet */
    size_t *member;             /* of the current group, in the order of joining */
    size_t n_members, features; /* of the current group */
    size_t *n_checked;          /* by attribute: members it was compared with */
    size_t *linked;             /* by attribute: features of the members it was seen with */
    uint64_t *shown;            /* a bit per row: does it observe a member? */
} growth;

static void join(growth *g, size_t attribute, size_t group) {
    g->group[attribute] = group;
    g->member[g->n_members++] = attribute;
    g->features += g->s->n_features[attribute];
    for (size_t w = 0; w < g->s->n_words; w++) g->shown[w] |= g->s->bits[attribute * g->s->n_words + w];
}

static int has_enough_rows(const growth *g, size_t attribute) {
    size_t needed = g->rank < LEAST_ROWS ? LEAST_ROWS : g->rank + 1, count = 0;
    for (size_t w = 0; w < g->s->n_words && count < needed; w++)
        count += (size_t)karma_i_popcount(g->shown[w] & g->s->bits[attribute * g->s->n_words + w]);
    return count >= needed;
}

/* Compares an attribute with further members until it has enough links. */
static int may_join(growth *g, size_t attribute) {
    size_t needed = g->rank < g->features ? g->rank : g->features;
    if (needed == 0) needed = 1;
    while (g->linked[attribute] < needed && g->n_checked[attribute] < g->n_members) {
        size_t member = g->member[g->n_checked[attribute]++];
        if (were_together(g->s, attribute, member)) g->linked[attribute] += g->s->n_features[member];
    }
    return g->linked[attribute] >= needed && has_enough_rows(g, attribute);
}

/* Builds the group of `first`: attributes join it one after the other. */
static void grow(growth *g, size_t first, size_t group) {
    size_t d = g->s->n_attributes;
    g->n_members = g->features = 0;
    memset(g->n_checked, 0, d * sizeof *g->n_checked);
    memset(g->linked, 0, d * sizeof *g->linked);
    memset(g->shown, 0, g->s->n_words * sizeof *g->shown);
    join(g, first, group);
    for (int grows = 1; grows;) {
        grows = 0;
        for (size_t j = 0; j < d; j++)
            if (g->group[j] == SIZE_MAX && may_join(g, j)) {
                join(g, j, group);
                grows = 1;
            }
    }
}

/* The attribute without a group that most rows observe; n_attributes if there is none. */
static size_t next_seed(const growth *g) {
    size_t best = g->s->n_attributes;
    for (size_t j = 0; j < g->s->n_attributes; j++)
        if (g->group[j] == SIZE_MAX && (best == g->s->n_attributes || g->s->n_observed[j] > g->s->n_observed[best]))
            best = j;
    return best;
}

static karma_status find_groups(karma_i_linkage *out, const sightings *s, size_t rank, karma_error *err) {
    size_t d = s->n_attributes, n_groups = 0;
    growth g = {.s = s, .rank = rank};
    g.group = karma_i_alloc(d, sizeof *g.group);
    g.member = karma_i_alloc(d, sizeof *g.member);
    g.n_checked = karma_i_alloc(d, sizeof *g.n_checked);
    g.linked = karma_i_alloc(d, sizeof *g.linked);
    g.shown = karma_i_alloc(s->n_words, sizeof *g.shown);
    int ok = g.group && g.member && g.n_checked && g.linked && g.shown;
    karma_status st = ok ? KARMA_OK : karma_i_fail_memory(err);
    for (size_t j = 0; st == KARMA_OK && j < d; j++) g.group[j] = SIZE_MAX;
    while (st == KARMA_OK && next_seed(&g) < d) grow(&g, next_seed(&g), n_groups++);
    if (st == KARMA_OK) {
        *out = (karma_i_linkage){d, n_groups, n_groups > 1 ? g.group : NULL};
        if (n_groups > 1) g.group = NULL;
    }
    karma_i_free(g.group);
    karma_i_free(g.member);
    karma_i_free(g.n_checked);
    karma_i_free(g.linked);
    karma_i_free(g.shown);
    return st;
}

karma_status karma_i_linkage_find(karma_i_linkage *out, const karma_i_rows *rows, const karma_i_partition *split,
                                  size_t rank, karma_error *err) {
    sightings s;
    if (is_too_large(rows, split->n_rows)) {
        *out = (karma_i_linkage){rows->n_attributes, 0, NULL};
        return KARMA_OK;
    }
    karma_status st = take_sightings(&s, rows, split, err);
    if (st == KARMA_OK) st = find_groups(out, &s, rank, err);
    clear_sightings(&s);
    return st;
}

void karma_i_linkage_clear(karma_i_linkage *linkage) {
    karma_i_free(linkage->group);
    *linkage = (karma_i_linkage){0};
}

karma_status karma_i_count_pairs(karma_i_pair_count *out, const karma_i_rows *rows, karma_error *err) {
    sightings s;
    *out = (karma_i_pair_count){0, 0};
    if (is_too_large(rows, rows->n_rows)) return KARMA_OK;
    karma_i_partition whole = karma_i_partition_whole(rows->n_rows);
    karma_status st = take_sightings(&s, rows, &whole, err);
    for (size_t a = 0; st == KARMA_OK && a < s.n_attributes; a++)
        for (size_t b = 0; b < a; b++) {
            out->n_pairs++;
            out->n_together += were_together(&s, a, b) ? 1 : 0;
        }
    clear_sightings(&s);
    return st;
}

/* --- model files --------------------------------------------------------------------------------------- */

karma_status karma_i_linkage_archive(karma_i_archive *a, karma_i_linkage *linkage) {
    int is_there = linkage->group != NULL;
    size_t n = linkage->n_attributes;
    double *numbers = NULL;
    karma_i_archive_find(a, "groups", &is_there);
    if (!is_there) return KARMA_OK;
    if (!karma_i_archive_is_reading(a)) {
        if (!linkage->group) return KARMA_OK; /* always true, but static analysis cannot know */
        if (!(numbers = karma_i_alloc(n, sizeof *numbers))) return karma_i_archive_fail_memory(a);
        for (size_t j = 0; j < n; j++) numbers[j] = (double)linkage->group[j];
    }
    karma_status st = karma_i_archive_measures(a, "groups", &numbers, &n);
    if (st == KARMA_OK && karma_i_archive_is_reading(a)) {
        linkage->n_attributes = n;
        linkage->group = karma_i_alloc(n, sizeof *linkage->group);
        if (!linkage->group) st = karma_i_archive_fail_memory(a);
        for (size_t j = 0; st == KARMA_OK && j < n; j++) {
            if (!(numbers[j] >= 0.0 && numbers[j] < (double)n && numbers[j] == floor(numbers[j])))
                st = karma_i_archive_fail(a, "its 'groups' are not numbers of groups");
            else if ((linkage->group[j] = (size_t)numbers[j]) >= linkage->n_groups)
                linkage->n_groups = linkage->group[j] + 1;
        }
    }
    karma_i_free(numbers);
    return st;
}

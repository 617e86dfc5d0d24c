#include "kernel/kernel_kind.h"

#include <string.h>

enum {
    PLAIN_SETTINGS = KARMA_I_ALL_SETTINGS & ~KARMA_I_SETTING_SPACE,
    /* completions have no missing values: all overlaps are the same */
    SUBSPACE_SETTINGS = KARMA_I_ALL_SETTINGS & ~(KARMA_I_SETTING_GAMMA | KARMA_I_SETTING_SCALE),
    LEAF_SETTINGS = PLAIN_SETTINGS & ~(KARMA_I_SETTING_GAMMA | KARMA_I_SETTING_SCALE | KARMA_I_SETTING_BIAS)
};

static const karma_i_kind kinds[KARMA_N_KERNELS] = {
    [KARMA_KERNEL_LINEAR] = {.name = "linear", .settings = PLAIN_SETTINGS},
    [KARMA_KERNEL_RANK] = {.name = "rank", .settings = PLAIN_SETTINGS, .is_ranked = 1},
    [KARMA_KERNEL_SUBSPACE] = {.name = "subspace", .settings = SUBSPACE_SETTINGS, .is_slow = 1, .is_subspace = 1},
    [KARMA_KERNEL_SUBSPACE_RANKS] =
        {.name = "subspace", .settings = SUBSPACE_SETTINGS, .is_slow = 1, .is_subspace = 1, .has_scores = 1},
    /* the matrix is the kernel; how it was computed is unknown */
    [KARMA_KERNEL_PRECOMPUTED] = {.name = "precomputed", .settings = 0, .stands_alone = 1},
    [KARMA_KERNEL_RELEVANCE] =
        {.name = "relevance", .settings = PLAIN_SETTINGS, .is_ranked = 1, .needs_labels = 1, .is_costly = 1},
    /* leaves of trees: every row has one in each tree, so there are no overlaps, and a constant is among their sums */
    [KARMA_KERNEL_BOOST] = {.name = "boost", .settings = LEAF_SETTINGS, .needs_labels = 1, .is_share = 1},
    [KARMA_KERNEL_FOREST] =
        {.name = "forest", .settings = LEAF_SETTINGS, .needs_labels = 1, .is_costly = 1, .is_share = 1},
};

const karma_i_kind *karma_i_kind_of(karma_kernel_kind kind) {
    return &kinds[kind];
}

karma_kernel_kind karma_i_kind_named(const char *name) {
    for (int kind = 0; kind < KARMA_N_KERNELS; kind++)
        if (strcmp(name, kinds[kind].name) == 0) return (karma_kernel_kind)kind;
    return KARMA_N_KERNELS;
}

karma_kernel_kind karma_i_kind_with(karma_kernel_kind kind, int has_scores) {
    if (!kinds[kind].is_subspace) return kind;
    return has_scores ? KARMA_KERNEL_SUBSPACE_RANKS : KARMA_KERNEL_SUBSPACE;
}

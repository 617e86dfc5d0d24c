/* The kinds of factors that a kernel is made of. Each kind encodes the rows by its own recipe. To add a kind: its
 * constant here, its record in kernel_kind.c, and its recipe (src/prep; src/model/supervise.c where it is learned from
 * labels). */
#ifndef KARMA_I_KERNEL_KIND_H
#define KARMA_I_KERNEL_KIND_H

typedef enum karma_kernel_kind {
    KARMA_KERNEL_LINEAR,
    KARMA_KERNEL_RANK,
    KARMA_KERNEL_SUBSPACE,
    KARMA_KERNEL_PRECOMPUTED,
    KARMA_KERNEL_RELEVANCE,
    KARMA_KERNEL_BOOST,
    KARMA_KERNEL_FOREST,
    KARMA_KERNEL_SUBSPACE_RANKS, /* subspace(space=ranks) */
    KARMA_N_KERNELS
} karma_kernel_kind;

/* The settings that a factor can have of its own, one bit each. They are options of the same names. */
typedef enum karma_i_setting {
    KARMA_I_SETTING_GAMMA = 1 << 0,
    KARMA_I_SETTING_OUTER = 1 << 1,
    KARMA_I_SETTING_WIDTH = 1 << 2,
    KARMA_I_SETTING_DEGREE = 1 << 3,
    KARMA_I_SETTING_OFFSET = 1 << 4,
    KARMA_I_SETTING_SERIES = 1 << 5,
    KARMA_I_SETTING_SCALE = 1 << 6,
    KARMA_I_SETTING_BIAS = 1 << 7,
    KARMA_I_SETTING_SPACE = 1 << 8,
    KARMA_I_ALL_SETTINGS = (1 << 9) - 1
} karma_i_setting;

typedef struct karma_i_kind {
    const char *name;  /* in formulas; a subspace has several kinds, which settings tell apart */
    unsigned settings; /* the bits of those that change something; it ignores the others */
    int is_ranked;     /* numbers become ranks */
    int needs_labels;  /* its recipe is learned from the labels too */
    int is_slow;       /* learning its recipe can take long: hooks are asked meanwhile, and can stop it */
    int is_costly;     /* learning its recipe takes longer than judging a few kernels */
    int is_share;      /* Σκ is divided by the number of attributes, which are always observed */
    int is_subspace;   /* rows are placed in a hidden subspace, */
    int has_scores;    /* of the normal scores of numbers */
    int stands_alone;  /* a kernel with such a factor has no other, nor do the other members of its plan */
} karma_i_kind;

const karma_i_kind *karma_i_kind_of(karma_kernel_kind kind);
/* The first kind of this name; KARMA_N_KERNELS if there is none. */
karma_kernel_kind karma_i_kind_named(const char *name);
/* The kind of the same name for these settings. */
karma_kernel_kind karma_i_kind_with(karma_kernel_kind kind, int has_scores);

#endif

/* Shapley values of a row's observed attributes. The game: v(S) is the score of the row when only the attributes S are
 * observed and the others are missing, as training rows can be. n attributes, φ_i the value of attribute i:
 *
 *     φ_i = Σ_{S ∌ i} |S|! (n - 1 - |S|)!/n! · (v(S ∪ {i}) - v(S)),      Σ_i φ_i = v(all) - v(∅)
 *
 * which is the mean over all orders of what i adds to those before it (Shapley 1953; as explanations Štrumbelj and
 * Kononenko 2010, Lundberg and Lee 2017). Cells are hidden in the encoded row: under --unit-ball it keeps its length
 * unit. Where an encoding has a subspace they are hidden before the row is placed in it, and its coordinates are
 * those that follow from the cells of S alone. */
#ifndef KARMA_I_SHAPLEY_H
#define KARMA_I_SHAPLEY_H

#include "model/model.h"

/* The game of one row, and room to play it. */
typedef struct karma_i_game {
    const karma_model *model;
    int threads;
    const karma_i_rows *rows; /* of karma_i_encoder_encode */
    karma_i_rows *work;       /* the row with some attributes hidden, once per set */
    double *scores;           /* of the work rows */
    size_t score_capacity;
    int reuses_parts; /* orders of members without a subspace are scored by karma_i_reveal; set by karma_i_game_init */
} karma_i_game;

/* Whether a member of the model needs every set placed (in a subspace, or in the leaves of trees). */
int karma_i_member_is_placed(const karma_model *model, size_t member);

/* The first three members are set; this makes the room for `rows`. */
karma_status karma_i_game_init(karma_i_game *game, karma_error *err);
void karma_i_game_clear(karma_i_game *game);

/* The attributes that a row observes. */
typedef struct karma_i_players {
    size_t row; /* of the game's rows */
    const size_t *attributes;
    size_t n;
} karma_i_players;

/* values[k * n_outputs + o] of the k-th of the n players, and v(∅) behind the last of them;
 * errors[k * n_outputs + o] likewise, without it. */

/* By all 2^n sets; errors become 0. */
karma_status karma_i_shapley_exact(double *values, double *errors, karma_i_game *game, const karma_i_players *players,
                                   karma_error *err);
/* The mean over `samples` orders (rounded up to even), drawn in pairs: an order and its reverse, whose errors tend to
 * cancel. Pairs are independent, so that standard errors are those of their means. Every order adds up to v(all) -
 * v(∅), and so do the means. n >= 1, samples >= 4. */
karma_status karma_i_shapley_sample(double *values, double *errors, karma_i_game *game, const karma_i_players *players,
                                    size_t samples, uint64_t seed, karma_error *err);

#endif

/* Creating and freeing recipes, and properties derived from their columns. */
#include "prep/recipe.h"

#include "base/mem.h"

void karma_i_recipe_free(karma_i_recipe *recipe) {
    if (!recipe) return;
    for (size_t j = 0; recipe->columns && j < recipe->n_attributes; j++) karma_i_column_clear(&recipe->columns[j]);
    for (size_t j = 0; recipe->rankings && j < recipe->n_attributes; j++) karma_i_ranking_clear(&recipe->rankings[j]);
    for (size_t j = 0; recipe->scores && j < recipe->n_attributes; j++) karma_i_normal_scores_clear(&recipe->scores[j]);
    karma_i_latent_free(recipe->latent);
    karma_i_forest_free(recipe->forest);
    karma_i_free(recipe->columns);
    karma_i_free(recipe->rankings);
    karma_i_free(recipe->scores);
    karma_i_free(recipe->feature_start);
    karma_i_free(recipe->shift);
    karma_i_free(recipe->factor);
    karma_i_free(recipe->term_start);
    karma_i_free(recipe->term);
    karma_i_free(recipe);
}

int karma_i_recipe_is_coded(const karma_i_recipe *r, size_t attribute) {
    return r->columns[attribute].kind == KARMA_COLUMN_CATEGORY &&
           r->feature_start[attribute] == r->feature_start[attribute + 1];
}

int karma_i_recipe_has_terms(const karma_i_recipe *r, size_t attribute) {
    return r->term_start[attribute + 1] > r->term_start[attribute];
}

size_t karma_i_recipe_n_terms(const karma_i_recipe *r, size_t attribute) {
    return r->rankings[attribute].n ? (size_t)KARMA_I_RANK_BYTES : r->columns[attribute].n_levels;
}

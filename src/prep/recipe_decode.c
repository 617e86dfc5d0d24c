/* The inverse of a recipe: features -> cells. */
#include "prep/recipe.h"

#include <math.h>

static double decode_feature(const karma_i_recipe *r, size_t feature, double x, double divisor) {
    return x * divisor / r->factor[feature] + r->shift[feature];
}

static karma_i_decoded decode_number(const karma_i_recipe *r, size_t attribute, const double *x, const double *errors,
                                     double divisor) {
    size_t feature = r->feature_start[attribute];
    double scale = divisor / fabs(r->factor[feature]);
    karma_i_decoded cell = {decode_feature(r, feature, x[feature], divisor), errors ? errors[feature] * scale : 0.0};
    if (r->scores && r->scores[attribute].n)
        karma_i_normal_scores_moments(&cell.value, &cell.error, &r->scores[attribute], cell.value, cell.error);
    return cell;
}

/* Decoded indicators are shares: they sum to 1, and may be a little beyond the ends of [0, 1]. */
static karma_i_decoded decode_category(const karma_i_recipe *r, size_t first, size_t end, const double *x,
                                       double divisor) {
    size_t best = first;
    double largest = -INFINITY;
    for (size_t f = first; f < end; f++) {
        double share = decode_feature(r, f, x[f], divisor);
        if (share > largest) largest = share, best = f;
    }
    return (karma_i_decoded){(double)(best - first), fmin(fmax(1.0 - largest, 0.0), 1.0)};
}

karma_i_decoded karma_i_recipe_decode(const karma_i_recipe *r, size_t attribute, const double *features,
                                      const double *standard_errors, double divisor) {
    size_t first = r->feature_start[attribute], end = r->feature_start[attribute + 1];
    return r->columns[attribute].kind == KARMA_COLUMN_CATEGORY
               ? decode_category(r, first, end, features, divisor)
               : decode_number(r, attribute, features, standard_errors, divisor);
}

/* The public headers as a user includes them, in C11 and in C++17, with all warnings. */
#include <karma/karma.h>

#include <stdio.h>

int main(void) {
    karma_fit_options options;
    karma_options_init(karma_fit_option_table(), &options);
    double cells[] = {0, 1, 2, 3, 4, 5, 6, 7}, labels[] = {0, 0, 1, 1, 0, 0, 1, 1}, predictions[8];
    karma_error err;
    karma_model *model = NULL;
    int ok = karma_fit_array(&model, cells, 8, 1, labels, &options, NULL, &err) == KARMA_OK &&
             karma_predict_array(predictions, model, cells, 8, 1, &err) == KARMA_OK &&
             karma_version_number() == KARMA_VERSION_NUMBER;
    /* arrays in structs of the caller keep their size when goals are added */
    karma_cv_target target;
    ok = ok && sizeof target.mean_of == 32 * sizeof(double) && sizeof target.n_of == 32 * sizeof(size_t);
    karma_options_clear(karma_fit_option_table(), &options);
    karma_model_free(model);
    printf("1..1\n%s 1 headers\n", ok ? "ok" : "not ok");
    return !ok;
}

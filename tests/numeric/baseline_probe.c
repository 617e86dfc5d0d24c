/* Lets test_baselines.py call baselines, which are inside the library:
 *
 *     impute KIND TRAIN TEST [SETTING=NUMBER]...   the rows of TEST, completed, as CSV
 *     run BASELINE TRAIN TEST [OPTION=VALUE]...       a line of scores for each row of TEST; OPTION: "strength" or one
 * of karma train; or "task": a file that tells all classes, not TRAIN joint HAS_ONES MU TOLERANCE < NUMBERS rows,
 * labels, features, then the matrix of both, NaN unknown: the absolute mu, biases, and Z list all baselines, and which
 * are transductive
 *
 * Files are CSV with the label in the column "target" and, if there is one, weights in "weight". */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "karma/karma.h"
#include "baseline/joint.h"
#include "baseline/baseline.h"

static karma_error error;

static void give_up(const char *why) {
    fprintf(stderr, "baseline_probe: %s\n", why);
    exit(1);
}

static void must(karma_status status) {
    if (status != KARMA_OK) give_up(error.message);
}

static int has_column(const char *path, const char *name) {
    char line[4096] = "";
    FILE *file = fopen(path, "r");
    if (!file || !fgets(line, sizeof line, file)) give_up("cannot read the file");
    fclose(file);
    for (char *field = strtok(line, ",\r\n"); field; field = strtok(NULL, ",\r\n"))
        if (strcmp(field, name) == 0) return 1;
    return 0;
}

/* `like`, unless NULL, determines the types of the columns. */
static karma_table *read_table(const char *path, const karma_table *like) {
    const karma_option_table *table = karma_read_option_table();
    karma_read_options options;
    karma_table *out = NULL;
    karma_options_init(table, &options);
    if (has_column(path, "target"))
        must(karma_option_set(karma_option_find(table, "target"), &options, "target", &error));
    if (has_column(path, "weight"))
        must(karma_option_set(karma_option_find(table, "row-weight"), &options, "weight", &error));
    if (like)
        must(karma_table_read_like(&out, path, like, &options, NULL, &error));
    else
        must(karma_table_read(&out, path, &options, NULL, &error));
    karma_options_clear(table, &options);
    return out;
}

/* NAME=VALUE: the value, or NULL if the name is another. */
static const char *value_of(const char *setting, const char *name) {
    size_t length = strlen(name);
    return strncmp(setting, name, length) == 0 && setting[length] == '=' ? setting + length + 1 : NULL;
}

static int set_imputer(karma_i_impute_options *options, const char *setting) {
    const char *value;
    if ((value = value_of(setting, "seed")))
        options->seed = strtoull(value, NULL, 10);
    else if ((value = value_of(setting, "neighbours")))
        options->neighbours = strtoul(value, NULL, 10);
    else if ((value = value_of(setting, "rounds")))
        options->rounds = strtoul(value, NULL, 10);
    else if ((value = value_of(setting, "ridge")))
        options->ridge = strtod(value, NULL);
    else if ((value = value_of(setting, "threshold")))
        options->threshold = strtod(value, NULL);
    else if ((value = value_of(setting, "tolerance")))
        options->tolerance = strtod(value, NULL);
    return value != NULL;
}

static void impute(const char *name, const char *train_path, const char *test_path, char **settings, int n) {
    const karma_i_imputer_kind *kind = karma_i_imputer_find(name);
    karma_i_impute_options options;
    karma_i_imputer *imputer = NULL;
    karma_table *complete = NULL, *train = read_table(train_path, NULL), *test = read_table(test_path, train);
    if (!kind) give_up("no such imputer");
    karma_i_impute_options_init(&options);
    for (int i = 0; i < n; i++)
        if (!set_imputer(&options, settings[i])) give_up("no such setting");
    must(karma_i_imputer_learn(&imputer, kind, train, &options, NULL, &error));
    must(karma_i_imputer_apply(&complete, imputer, test, NULL, &error));
    must(karma_table_validate(complete, &error));
    must(karma_table_write_csv(complete, stdout, &error));
    karma_i_imputer_free(imputer);
    karma_table_free(complete);
    karma_table_free(train);
    karma_table_free(test);
}

static void set_fit(karma_fit_options *options, char *setting) {
    char *equals = strchr(setting, '=');
    if (!equals) give_up("not NAME=VALUE");
    *equals = '\0';
    const karma_option *option = karma_option_find(karma_fit_option_table(), setting);
    if (!option) give_up("no such option");
    must(karma_option_set(option, options, equals + 1, &error));
}

static void run(const char *name, const char *train_path, const char *test_path, char **settings, int n) {
    karma_i_baseline baseline;
    karma_i_baseline_options options;
    karma_fit_options fit;
    karma_i_task task;
    karma_i_learner *learner = NULL;
    karma_table *train = read_table(train_path, NULL), *test = read_table(test_path, train);
    karma_table *whole = NULL;
    if (!karma_i_baseline_find(&baseline, name)) give_up("no such baseline");
    karma_i_baseline_options_init(&options);
    karma_options_init(karma_fit_option_table(), &fit);
    for (int i = 0; i < n; i++) {
        const char *strength = value_of(settings[i], "strength"), *file = value_of(settings[i], "task");
        if (strength)
            options.strength = strtod(strength, NULL);
        else if (file)
            whole = read_table(file, train);
        else
            set_fit(&fit, settings[i]);
    }
    must(karma_i_baseline_task(&task, whole ? whole : train, &fit, NULL, &error));
    size_t n_outputs = task.n_outputs, n_rows = karma_table_n_rows(test);
    double *scores = malloc((n_rows * n_outputs + 1) * sizeof *scores);
    if (!scores) give_up("out of memory");
    must(karma_i_learner_fit(&learner, &baseline, &task, train, &options, NULL, &error));
    must(karma_i_learner_score(scores, learner, test, NULL, &error));
    for (size_t k = 0; k < n_rows * n_outputs; k++) printf("%.17g%c", scores[k], (k + 1) % n_outputs ? ' ' : '\n');
    free(scores);
    karma_i_learner_free(learner);
    karma_i_task_clear(&task);
    karma_options_clear(karma_fit_option_table(), &fit);
    karma_table_free(whole);
    karma_table_free(train);
    karma_table_free(test);
}

static double next_number(void) {
    double number;
    if (scanf("%lf", &number) != 1) give_up("a number is missing");
    return number;
}

static double *numbers(size_t n) {
    double *room = malloc((n + 1) * sizeof *room);
    if (!room) give_up("out of memory");
    return room;
}

static void complete_jointly(const char *has_ones, const char *mu, const char *tolerance) {
    size_t n = (size_t)next_number(), t = (size_t)next_number(), d = (size_t)next_number();
    double *labels = numbers(n * t), *x = numbers(n * d), absolute = 0.0;
    for (size_t i = 0; i < n; i++) {
        for (size_t l = 0; l < t; l++) labels[i * t + l] = next_number();
        for (size_t k = 0; k < d; k++) x[i * d + k] = next_number();
    }
    karma_i_joint joint = {.n_rows = n,
                           .n_labels = t,
                           .n_features = d,
                           .labels = labels,
                           .x = x,
                           .has_ones = has_ones[0] == '1',
                           .lambda = 1.0,
                           .mu = strtod(mu, NULL),
                           .tolerance = strtod(tolerance, NULL)};
    size_t width = karma_i_joint_width(&joint);
    double *z = numbers(n * width), *bias = numbers(t);
    must(karma_i_joint_complete(z, bias, &absolute, &joint, NULL, &error));
    printf("%.17g\n", absolute);
    for (size_t l = 0; l < t; l++) printf("%.17g\n", bias[l]);
    for (size_t k = 0; k < n * width; k++) printf("%.17g\n", z[k]);
    free(labels);
    free(x);
    free(z);
    free(bias);
}

int main(int argc, char **argv) {
    if (argc >= 5 && strcmp(argv[1], "impute") == 0)
        impute(argv[2], argv[3], argv[4], argv + 5, argc - 5);
    else if (argc >= 5 && strcmp(argv[1], "run") == 0)
        run(argv[2], argv[3], argv[4], argv + 5, argc - 5);
    else if (argc == 5 && strcmp(argv[1], "joint") == 0)
        complete_jointly(argv[2], argv[3], argv[4]);
    else if (argc == 2 && strcmp(argv[1], "list") == 0)
        for (size_t k = 0; k < karma_i_n_baselines(); k++)
            printf("%s%s\n", karma_i_baseline_at(k).name,
                   karma_i_baseline_at(k).is_transductive ? " transductive" : "");
    else
        give_up("unknown task");
    return 0;
}

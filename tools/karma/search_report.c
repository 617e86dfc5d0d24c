/* What a search tells of itself, for people. The account comes from a file: nothing in it is taken for granted. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tool.h"

static double number_of(const json_t *object, const char *name) {
    const json_t *value = json_object_get(object, name);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static const char *text_of(const json_t *object, const char *name) {
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "?";
}

static void print_folds(const json_t *account) {
    const json_t *folds = json_object_get(account, "folds");
    size_t n = json_array_size(folds), most = 10;
    fputs("  folds    ", stdout);
    for (size_t f = 0; f < n && f < most; f++)
        printf("%s%.4g", f ? "  " : "", json_number_value(json_array_get(folds, f)));
    puts(n > most ? "  ..." : "");
}

static void print_gains(const json_t *account) {
    static const struct {
        const char *name, *words;
    } parts[] = {{"gamma", "gamma > 1"}, {"rank", "ranks"}, {"subspace", "subspace"}, {"outer", "outer maps"}};
    const json_t *gains = json_object_get(account, "gains");
    int any = 0;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        const json_t *gain = json_object_get(gains, parts[i].name);
        if (!gain) continue;
        printf("%s%s %+.4f +- %.4f", any++ ? ", " : "  worth    ", parts[i].words, number_of(gain, "gain"),
               number_of(gain, "error"));
    }
    if (any) puts(" (the choice with them, less that without)");
}

/* What a member's machines weigh together, and which multiples of C they have: "0.5:10,2:0.1" -> 0.6, "0.5, 2". */
static double read_machines(char *multiples, size_t size, const char *text, size_t length) {
    double weight = 0.0;
    size_t used = 0;
    for (const char *at = text, *end = text + length; at < end && used < size;) {
        size_t item = strcspn(at, ",|"), number = strcspn(at, ":,|");
        if (item > (size_t)(end - at)) item = (size_t)(end - at);
        if (number > item) number = item;
        weight += number < item ? strtod(at + number + 1, NULL) : 1.0;
        used += (size_t)snprintf(multiples + used, size - used, "%s%.*s", used ? ", " : "", (int)number, at);
        at += item + 1;
    }
    return weight;
}

/* The kernels that were chosen, one a line, with their weight in the average and the multiples of C. */
static void print_members(const char *kernel) {
    size_t most = 10, n = 0;
    puts("  learned");
    for (const char *at = kernel; at; n++) {
        at += strspn(at, " ");
        const char *end = strchr(at, '|'), *machines = strchr(at, '@');
        size_t length = end ? (size_t)(end - at) : strlen(at);
        size_t name = machines && machines < at + length ? (size_t)(machines - at) : length;
        char multiples[160] = "1";
        double weight = 1.0;
        if (name < length) weight = read_machines(multiples, sizeof multiples, machines + 2, length - name - 2);
        while (name > 0 && at[name - 1] == ' ') name--;
        if (n < most) printf("    %5.1f%%  %.*s, C times %s\n", 100.0 * weight, (int)name, at, multiples);
        at = end ? end + 1 : NULL;
    }
    if (n > most) printf("            and %zu kernels more: see inspect --json\n", n - most);
}

void print_search(const karma_model *model) {
    json_t *account = karma_model_search(model) ? json_loads(karma_model_search(model), 0, NULL) : NULL;
    const json_t *zero = json_object_get(account, "zero_imputation");
    if (!account) return;
    printf("  tried    %.0f candidates of %.0f kernel%s on %.0f x %.0f folds", number_of(account, "candidates_tried"),
           number_of(account, "kernels"), number_of(account, "kernels") == 1.0 ? "" : "s",
           number_of(account, "n_repeats"), number_of(account, "n_folds"));
    if (number_of(account, "rows_searched") < number_of(account, "rows"))
        printf(" of %.0f rows", number_of(account, "rows_searched"));
    printf(", %.1f s%s\n", number_of(account, "seconds"),
           json_is_true(json_object_get(account, "cut_short")) ? ", cut short" : "");
    printf(
        "  %-8s %.4f +- %.4f cross-validated, by %.0f of them together; choosing makes it a little too good (see cv)\n",
        text_of(account, "goal"), number_of(account, "score"), number_of(account, "error"),
        number_of(account, "members"));
    print_folds(account);
    printf("  beside   %.4f for a constant answer", number_of(account, "constant_answer"));
    if (zero)
        printf(", %.4f +- %.4f for 0-imputation (linear, gamma 1) on the same folds", number_of(zero, "score"),
               number_of(zero, "error"));
    putchar('\n');
    print_gains(account);
    print_members(karma_model_options(model)->kernel);
    json_decref(account);
}

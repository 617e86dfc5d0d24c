/* From plans to text that karma_i_plan_parse reads back. */
#include <stdarg.h>
#include <stdio.h>

#include "base/error.h"
#include "base/mem.h"
#include "kernel/plan.h"

/* Text that may be longer than its buffer: characters that do not fit are only counted. */
typedef struct printer {
    char *text;
    size_t size, used;
} printer;

KARMA_PRINTF(2, 3) static void add(printer *p, const char *format, ...) {
    size_t left = p->used < p->size ? p->size - p->used : 0;
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(left ? p->text + p->used : NULL, left, format, arguments);
    va_end(arguments);
    if (length > 0) p->used += (size_t)length;
}

static void add_number(printer *p, double value) {
    char text[KARMA_NUMBER_SIZE];
    add(p, "%s", karma_number_text(text, value));
}

static void add_series(printer *p, const karma_i_map *map) {
    for (size_t i = 0; map->coefficients && i <= map->degree; i++) {
        if (i) add(p, ":");
        add_number(p, map->coefficients[i]);
    }
}

/* The other settings are numbers and words of the options. */
static void add_option(printer *p, const char *name, const karma_i_plan_factor *factor) {
    const karma_fit_options values = {.struct_size = sizeof values,
                                      .gamma = (int64_t)factor->gamma,
                                      .scale = factor->scale,
                                      .bias = factor->bias,
                                      .space = karma_i_kind_of(factor->kind)->has_scores ? KARMA_SPACE_RANKS
                                                                                         : KARMA_SPACE_VALUES,
                                      .outer = (int)factor->map.kind,
                                      .width = factor->map.width,
                                      .offset = factor->map.offset,
                                      .degree = (int64_t)factor->map.degree};
    char text[64];
    (void)karma_option_text(karma_option_find(karma_fit_option_table(), name), &values, text, sizeof text);
    add(p, "%s", text);
}

static void add_factor(printer *p, const karma_i_plan_factor *factor) {
    const char *separator = "(";
    add(p, "%s", karma_i_kind_of(factor->kind)->name);
    for (size_t i = 0; i < KARMA_I_N_SETTINGS; i++) {
        const karma_i_setting_name *setting = &karma_i_setting_names[i];
        if (!(factor->own & setting->setting)) continue;
        add(p, "%s%s=", separator, setting->name);
        if (setting->setting == KARMA_I_SETTING_SERIES)
            add_series(p, &factor->map);
        else
            add_option(p, setting->name, factor);
        separator = ",";
    }
    if (separator[0] == ',') add(p, ")");
}

static void add_kernel(printer *p, const karma_i_plan_kernel *kernel) {
    if (kernel->is_union) {
        add(p, "union");
        return;
    }
    for (size_t t = 0; t < kernel->n_terms; t++) {
        const karma_i_term *term = &kernel->terms[t];
        if (t) add(p, " + ");
        if (t || term->weight != 1.0) {
            add_number(p, term->weight);
            add(p, "*");
        }
        for (size_t f = 0; f < term->n_factors; f++) {
            if (f) add(p, " * ");
            add_factor(p, &kernel->factors[term->first_factor + f]);
        }
    }
}

static void add_member(printer *p, const karma_i_plan_member *member, int has_weights) {
    add_kernel(p, &member->kernel);
    for (size_t c = 0; c < member->machines.n; c++) {
        add(p, "%s", c ? "," : " @ ");
        add_number(p, member->machines.factors[c]);
        if (!has_weights) continue;
        add(p, ":");
        add_number(p, member->machines.weights[c]);
    }
}

static void add_plan(printer *p, const karma_i_plan *plan) {
    int has_weights = karma_i_plan_n_machines(plan) > 1; /* a single machine has all the weight */
    for (size_t m = 0; m < plan->n_members; m++) {
        if (m) add(p, " | ");
        add_member(p, &plan->members[m], has_weights);
    }
}

size_t karma_i_plan_kernel_print(char *text, size_t size, const karma_i_plan_kernel *kernel) {
    printer p = {text, size, 0};
    add_kernel(&p, kernel);
    return p.used;
}

char *karma_i_plan_kernel_text(const karma_i_plan_kernel *kernel) {
    size_t size = karma_i_plan_kernel_print(NULL, 0, kernel) + 1;
    char *text = karma_i_alloc(size, 1);
    if (text) (void)karma_i_plan_kernel_print(text, size, kernel);
    return text;
}

karma_status karma_i_plan_print(char **out, const karma_i_plan *plan, karma_error *err) {
    printer count = {NULL, 0, 0};
    add_plan(&count, plan);
    char *text = karma_i_alloc(count.used + 1, 1);
    if (!text) return karma_i_fail_memory(err);
    printer p = {text, count.used + 1, 0};
    add_plan(&p, plan);
    *out = text;
    return KARMA_OK;
}

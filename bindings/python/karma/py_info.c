/* The option tables, and the description of a model, as dicts. */
#include "py_common.h"

#include <string.h>

static const char *const kind_names[] = {"integer", "real", "choice", "switch", "text", "names"};

static PyObject *option_dict(const karma_option *option) {
    char values[512], initial[128];
    (void)karma_option_values(option, values, sizeof values);
    (void)karma_option_initial(option, initial, sizeof initial);
    return Py_BuildValue("{s:s, s:s, s:s, s:s, s:s, s:i}", "name", option->name, "kind", kind_names[option->kind],
                         "values", values, "default", initial, "help", option->help, "is_chosen",
                         karma_search_chooses(option->name));
}

/* options("fit"): a list of dicts, in the order of the table. */
static PyObject *options(PyObject *self, PyObject *args) {
    (void)self;
    static const struct {
        const char *name;
        const karma_option_table *(*table)(void);
    } tables[] = {{"fit", karma_fit_option_table},
                  {"search", karma_search_option_table},
                  {"explain", karma_explain_option_table},
                  {"compare", karma_compare_option_table}};
    const char *name;
    if (!PyArg_ParseTuple(args, "s", &name)) return NULL;
    for (size_t t = 0; t < sizeof tables / sizeof tables[0]; t++) {
        if (strcmp(tables[t].name, name) != 0) continue;
        const karma_option_table *table = tables[t].table();
        PyObject *list = PyList_New(0);
        for (size_t i = 0; list && i < table->count; i++)
            if (py_add(list, option_dict(&table->options[i])) != 0) Py_CLEAR(list);
        return list;
    }
    PyErr_Format(PyExc_ValueError, "there is no table of options '%s'", name);
    return NULL;
}

/* --- a model ------------------------------------------------------------------------------------------------ */

static PyObject *option_text(const karma_option *option, const void *of) {
    int length = karma_option_text(option, of, NULL, 0);
    char *text = length < 0 ? NULL : PyMem_Malloc((size_t)length + 1);
    if (!text) return PyErr_NoMemory();
    (void)karma_option_text(option, of, text, (size_t)length + 1);
    PyObject *object = PyUnicode_FromString(text);
    PyMem_Free(text);
    return object;
}

static PyObject *model_options(const karma_model *model) {
    const karma_option_table *table = karma_fit_option_table();
    PyObject *dict = PyDict_New();
    for (size_t i = 0; dict && i < table->count; i++)
        if (py_put(dict, table->options[i].name, option_text(&table->options[i], karma_model_options(model))) != 0)
            Py_CLEAR(dict);
    return dict;
}

static PyObject *model_classes(const karma_model *model) {
    PyObject *list = PyList_New(0);
    for (size_t k = 0; list && k < karma_model_n_classes(model, 0); k++)
        if (py_add(list, Py_BuildValue("(sn)", karma_model_class(model, 0, k),
                                       (Py_ssize_t)karma_model_class_count(model, 0, k))) != 0)
            Py_CLEAR(list);
    return list;
}

static PyObject *model_quantiles(const karma_model *model) {
    PyObject *list = PyList_New(0);
    for (size_t k = 0; list && k < karma_model_n_quantiles(model, 0); k++)
        if (py_add(list, PyFloat_FromDouble(karma_model_quantile(model, 0, k))) != 0) Py_CLEAR(list);
    return list;
}

/* [(name, is_category), ...] */
static PyObject *model_attributes(const karma_model *model) {
    PyObject *list = PyList_New(0);
    for (size_t j = 0; list && j < karma_model_n_attributes(model); j++)
        if (py_add(list, Py_BuildValue("(si)", karma_model_attribute_name(model, j),
                                       karma_model_attribute_kind(model, j) == KARMA_COLUMN_CATEGORY)) != 0)
            Py_CLEAR(list);
    return list;
}

/* {name: levels} of the ordered categories. */
static PyObject *model_orders(const karma_model *model) {
    PyObject *dict = PyDict_New();
    for (size_t j = 0; dict && j < karma_model_n_attributes(model); j++) {
        size_t n = karma_model_attribute_n_levels(model, j);
        if (n == 0 || karma_model_attribute_kind(model, j) == KARMA_COLUMN_CATEGORY) continue;
        PyObject *levels = PyList_New(0);
        for (size_t l = 0; levels && l < n; l++)
            if (py_add(levels, PyUnicode_FromString(karma_model_attribute_level(model, j, l))) != 0) Py_CLEAR(levels);
        if (py_put(dict, karma_model_attribute_name(model, j), levels) != 0) Py_CLEAR(dict);
    }
    return dict;
}

static PyObject *fit_info(const karma_model *model) {
    const karma_fit_info *info = karma_model_info(model);
    return Py_BuildValue("{s:s, s:s, s:n, s:n, s:n, s:n, s:d, s:d, s:d, s:d, s:d, s:d, s:d, s:d, s:d}", "solver",
                         karma_model_solver_name(model), "stop", karma_stop_name(info->stop), "n_rows",
                         (Py_ssize_t)info->n_rows, "n_columns", (Py_ssize_t)info->n_columns, "n_support",
                         (Py_ssize_t)info->n_support, "rounds", (Py_ssize_t)info->rounds, "kernel_evaluations",
                         info->kernel_evaluations, "C", info->C, "rho", info->rho, "scale", info->scale, "mean_loss",
                         info->mean_loss, "error_rate", info->error_rate, "primal", info->primal, "dual", info->dual,
                         "gap", info->gap);
}

/* Of the first target. */
static PyObject *model_info(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *capsule;
    if (!PyArg_ParseTuple(args, "O", &capsule)) return NULL;
    const karma_model *model = py_model(capsule);
    if (!model) return NULL;
    int is_classifier = karma_model_task(model, 0) == KARMA_TASK_CLASSIFY;
    PyObject *dict = Py_BuildValue(
        "{s:s, s:s, s:s, s:n, s:n, s:i, s:i, s:i, s:n, s:d}", "task", is_classifier ? "classify" : "regress", "loss",
        karma_model_loss_name(model, 0), "target", karma_model_target_name(model, 0), "n_outputs",
        (Py_ssize_t)karma_model_n_outputs(model), "n_targets", (Py_ssize_t)karma_model_n_targets(model),
        "has_probabilities", karma_model_has_probabilities(model, 0), "has_subspace", karma_model_has_subspace(model),
        "is_precomputed", karma_model_is_precomputed(model), "n_left_out", (Py_ssize_t)karma_model_n_left_out(model, 0),
        "level", karma_model_level(model, 0));
    if (dict &&
        (py_put(dict, "options", model_options(model)) != 0 || py_put(dict, "fit", fit_info(model)) != 0 ||
         py_put(dict, "classes", model_classes(model)) != 0 || py_put(dict, "quantiles", model_quantiles(model)) != 0 ||
         py_put(dict, "attributes", model_attributes(model)) != 0 || py_put(dict, "orders", model_orders(model)) != 0))
        Py_CLEAR(dict);
    return dict;
}

/* --- a search -------------------------------------------------------------------------------------------------- */

static PyObject *candidates(const karma_search_info *info) {
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < info->n_candidates; i++) {
        const karma_search_candidate *c = &info->candidates[i];
        if (py_add(list,
                   Py_BuildValue("{s:s, s:d, s:d, s:d, s:O}", "kernel", c->kernel, "C_factor", c->C_factor, "score",
                                 c->score, "error", c->error, "is_chosen", c->is_chosen ? Py_True : Py_False)) != 0)
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *gains(const karma_search_info *info) {
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < info->n_gains; i++)
        if (py_add(list, Py_BuildValue("{s:s, s:d, s:d}", "ingredient", info->gains[i].ingredient, "gain",
                                       info->gains[i].gain, "error", info->gains[i].error)) != 0)
            Py_CLEAR(list);
    return list;
}

static PyObject *members(const karma_search_info *info) {
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < info->n_members; i++) {
        const karma_search_member *m = &info->members[i];
        PyObject *item = Py_BuildValue("{s:s}", "kernel", m->kernel);
        if (item && (py_put(item, "C_factors", py_floats(m->C_factors, m->n_machines)) != 0 ||
                     py_put(item, "weights", py_floats(m->weights, m->n_machines)) != 0))
            Py_CLEAR(item);
        if (py_add(list, item) != 0) Py_CLEAR(list);
    }
    return list;
}

static const char *const end_names[] = {"complete", "out of time", "interrupted"};

/* None for a model that was not chosen by a search. */
static PyObject *search_info(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *capsule;
    if (!PyArg_ParseTuple(args, "O", &capsule)) return NULL;
    const karma_model *model = py_model(capsule);
    if (!model) return NULL;
    const karma_search_info *info = karma_model_search_info(model);
    if (!info) return Py_NewRef(Py_None);
    PyObject *dict =
        Py_BuildValue("{s:s, s:i, s:d, s:d, s:n, s:n, s:n, s:n, s:n, s:n, s:n, s:d, s:s, s:d, s:i, s:d, s:d}", "goal",
                      karma_goal_name(info->goal), "less_is_better", karma_goal_is_loss(info->goal), "score",
                      info->score, "error", info->error, "n_folds", (Py_ssize_t)info->n_folds, "n_repeats",
                      (Py_ssize_t)info->n_repeats, "n_rows", (Py_ssize_t)info->n_rows, "n_rows_tried",
                      (Py_ssize_t)info->n_rows_tried, "n_kernels", (Py_ssize_t)info->n_kernels, "n_tried",
                      (Py_ssize_t)info->n_tried, "n_chosen", (Py_ssize_t)info->n_chosen, "seconds", info->seconds,
                      "end", end_names[info->end], "constant_score", info->constant_score, "has_zero_imputation",
                      info->has_zero_imputation, "zero_score", info->zero_score, "zero_error", info->zero_error);
    if (dict && (py_put(dict, "values", py_floats(info->values, info->n_values)) != 0 ||
                 py_put(dict, "candidates", candidates(info)) != 0 || py_put(dict, "gains", gains(info)) != 0 ||
                 py_put(dict, "members", members(info)) != 0))
        Py_CLEAR(dict);
    return dict;
}

static PyObject *version(PyObject *self, PyObject *args) {
    (void)self;
    (void)args;
    return PyUnicode_FromString(karma_version());
}

/* The fewest digits that read back as the same number, as the library writes class names. */
static PyObject *number_text(PyObject *self, PyObject *args) {
    (void)self;
    double value;
    char text[KARMA_NUMBER_SIZE];
    if (!PyArg_ParseTuple(args, "d", &value)) return NULL;
    return PyUnicode_FromString(karma_number_text(text, value));
}

/* The closest candidate to a misspelt word, or None. */
static PyObject *nearest(PyObject *self, PyObject *args) {
    (void)self;
    const char *word;
    PyObject *candidates_list;
    py_texts texts;
    if (!PyArg_ParseTuple(args, "sO", &word, &candidates_list) || py_texts_open(&texts, candidates_list, 0) != 0)
        return NULL;
    const char *found = karma_nearest_word(word, texts.items, texts.count);
    PyObject *result = found ? PyUnicode_FromString(found) : Py_NewRef(Py_None);
    py_texts_close(&texts);
    return result;
}

PyMethodDef py_info_methods[] = {
    {"options", options, METH_VARARGS, "options(table)"},
    {"model_info", model_info, METH_VARARGS, "model_info(model)"},
    {"search_info", search_info, METH_VARARGS, "search_info(model)"},
    {"version", version, METH_NOARGS, "version()"},
    {"number_text", number_text, METH_VARARGS, "number_text(value)"},
    {"nearest", nearest, METH_VARARGS, "nearest(word, candidates)"},
    {NULL, NULL, 0, NULL},
};

/* Shared by the files of the extension module. It uses the public headers of the library and the limited API of
 * Python 3.11. Tables and models are capsules; arrays come and go as buffers; the layer above, in Python, knows numpy.
 */
#ifndef KARMA_PY_COMMON_H
#define KARMA_PY_COMMON_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "karma/karma.h"

/* Every function returns a new reference, or NULL with an exception set, unless its comment says otherwise. */

/* Sets the exception that belongs to the status; returns NULL. */
PyObject *py_fail(const karma_error *err);

/* The text of a str without zero bytes; NULL with an exception. It lives as long as the object. */
const char *py_text(PyObject *object);

/* The texts of a sequence of str (or of None, which gives NULL, if `optional`). `list` keeps them alive. */
typedef struct py_texts {
    PyObject *list;
    const char **items;
    size_t count;
} py_texts;
int py_texts_open(py_texts *texts, PyObject *sequence, int optional); /* 0, or -1 with an exception */
void py_texts_close(py_texts *texts);

/* A buffer of `n_dimensions` dimensions and one of the library's types of numbers. 0, or -1 with an exception. */
typedef struct py_array {
    Py_buffer view;
    karma_number_type type;
} py_array;
int py_array_open(py_array *array, PyObject *object, int n_dimensions);
/* A C-contiguous one of this type and number of elements; 'd', 'f', 'i' (32 bits), 'q' (64 bits). */
int py_block_open(Py_buffer *view, PyObject *object, char type, size_t count, int writable);

PyObject *py_table_capsule(karma_table *table); /* takes ownership of the table */
karma_table *py_table(PyObject *capsule);       /* borrowed; NULL with an exception */
PyObject *py_model_capsule(karma_model *model);
karma_model *py_model(PyObject *capsule);

/* Fills an options struct: the defaults, then the values of a sequence of pairs (name, text). 0, or -1 with an
 * exception; then there is nothing to clear. */
int py_options_fill(const karma_option_table *table, void *options, size_t size, PyObject *pairs);

/* Hooks that ask Python for signals and for the caller's wish. The interpreter's lock is released between py_work_begin
 * and py_work_end, and taken again for the callback(stage, done, total), at most every `interval` seconds. */
typedef struct py_work {
    karma_hooks hooks;
    PyObject *callback; /* borrowed; NULL: none */
    PyObject *notices;  /* a list of str */
    PyThreadState *thread;
    double interval, last;
    int n_interrupts;
    PyObject *error[3]; /* type, value and traceback of what the callback raised */
} py_work;
int py_work_begin(py_work *work, PyObject *callback, double interval); /* 0, or -1 with an exception */
/* Takes the lock again. 0 if the work succeeded and nothing was raised; else -1 with an exception. */
int py_work_end(py_work *work, karma_status status, const karma_error *err);
void py_work_clear(py_work *work);
/* Runs a function between begin and end of work; `arguments` hold its input and output. An interrupt ends with
 * KeyboardInterrupt, unless `keeps`: then the result so far is kept. 0, or -1 with an exception. */
typedef karma_status py_work_fn(void *arguments, const karma_hooks *hooks, karma_error *err);
int py_do_work(py_work_fn *function, void *arguments, PyObject *callback, double interval, int keeps);

/* dict[key] = value, which is released; 0, or -1 with an exception. A NULL value is an exception that was set before.
 */
int py_put(PyObject *dict, const char *key, PyObject *value);
/* list.append(value), likewise. */
int py_add(PyObject *list, PyObject *value);
/* A list of `count` floats. */
PyObject *py_floats(const double *values, size_t count);

extern PyMethodDef py_table_methods[], py_model_methods[], py_info_methods[], py_report_methods[],
    py_certainty_methods[];

#endif

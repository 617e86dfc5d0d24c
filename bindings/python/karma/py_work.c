/* Long work without the interpreter's lock: progress, signals and notices. */
#include "py_common.h"

#include <time.h>

static double seconds(void) {
    struct timespec now;
    (void)timespec_get(&now, TIME_UTC);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* An exception is set. A KeyboardInterrupt asks for an early end; any other is kept, to be raised when the work has
 * ended. */
static void note_exception(py_work *work) {
    if (PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)) {
        work->n_interrupts++;
        PyErr_Clear();
    } else if (work->error[0])
        PyErr_Clear();
    else
        PyErr_Fetch(&work->error[0], &work->error[1], &work->error[2]);
}

static void call_back(py_work *work, const char *stage, size_t done, size_t total) {
    PyObject *answer = PyObject_CallFunction(work->callback, "snn", stage, (Py_ssize_t)done, (Py_ssize_t)total);
    if (!answer) note_exception(work);
    Py_XDECREF(answer);
}

static int progress(void *payload, const char *stage, size_t done, size_t total) {
    py_work *work = payload;
    double now = seconds();
    if (now >= work->last && now - work->last < work->interval) return work->n_interrupts || work->error[0];
    work->last = now;
    PyEval_RestoreThread(work->thread);
    if (work->callback && !work->error[0]) call_back(work, stage, done, total);
    if (PyErr_CheckSignals() != 0) note_exception(work);
    work->thread = PyEval_SaveThread();
    return work->n_interrupts || work->error[0];
}

static void notice(void *payload, const char *sentence) {
    py_work *work = payload;
    PyEval_RestoreThread(work->thread);
    if (py_add(work->notices, PyUnicode_FromString(sentence)) != 0) note_exception(work);
    work->thread = PyEval_SaveThread();
}

int py_work_begin(py_work *work, PyObject *callback, double interval) {
    *work = (py_work){
        {progress, notice, work}, callback == Py_None ? NULL : callback, PyList_New(0), NULL, interval, 0.0, 0,
        {NULL, NULL, NULL}};
    if (!work->notices) return -1;
    work->thread = PyEval_SaveThread();
    return 0;
}

int py_work_end(py_work *work, karma_status status, const karma_error *err) {
    PyEval_RestoreThread(work->thread);
    work->thread = NULL;
    if (work->error[0]) {
        PyErr_Restore(work->error[0], work->error[1], work->error[2]);
        work->error[0] = work->error[1] = work->error[2] = NULL;
        return -1;
    }
    if (status != KARMA_OK && !(status == KARMA_ERR_CANCELLED && work->n_interrupts)) {
        py_fail(err);
        return -1;
    }
    if (status == KARMA_OK && work->n_interrupts < 2) return 0;
    PyErr_SetNone(PyExc_KeyboardInterrupt); /* nothing to keep, or interrupted twice */
    return -1;
}

void py_work_clear(py_work *work) {
    Py_CLEAR(work->notices);
}

int py_do_work(py_work_fn *function, void *arguments, PyObject *callback, double interval, int keeps) {
    py_work work;
    karma_error err;
    if (py_work_begin(&work, callback, interval) != 0) return -1;
    karma_status st = function(arguments, &work.hooks, &err);
    int failed = py_work_end(&work, st, &err);
    if (!failed && work.n_interrupts && !keeps) {
        PyErr_SetNone(PyExc_KeyboardInterrupt);
        failed = -1;
    }
    py_work_clear(&work);
    return failed;
}

/* Several processes that run one command: karma-mpi. */
#include <stdlib.h>
#include <string.h>

#include "tool.h"

int is_together(const tool *t) {
    return t->ranks && t->ranks->size > 1;
}

int is_first_process(const tool *t) {
    return !is_together(t) || t->ranks->rank == 0;
}

int agree(const tool *t, int code) {
    if (!is_together(t) || *t->ranks->is_over) return code;
    karma_error err = *last_failure();
    karma_status own = code == EXIT_DONE ? KARMA_OK : err.status == KARMA_OK ? KARMA_ERR_OPTION : err.status;
    karma_status st = karma_ranks_agree(t->ranks, own, &err);
    if (st == KARMA_OK) return EXIT_DONE;
    return code == EXIT_DONE ? fail(t->n_arguments ? t->arguments[t->n_arguments - 1] : NULL, &err) : code;
}

double sum_of_all(const tool *t, double value) {
    double sum = 0.0;
    if (!is_together(t)) return value;
    double *all = calloc(t->ranks->size, sizeof *all);
    size_t *sizes = calloc(t->ranks->size, sizeof *sizes);
    for (size_t k = 0; sizes && k < t->ranks->size; k++) sizes[k] = sizeof value;
    if (all && sizes) t->ranks->gather(t->ranks->payload, all, sizes, &value);
    for (size_t k = 0; all && sizes && k < t->ranks->size; k++) sum += all[k];
    free(all);
    free(sizes);
    return sum;
}

enum { MOST_SENT = 1 << 20 };

/* Sends what is in a stream, from its start. */
static void send_stream(const tool *t, FILE *stream, size_t length, char *buffer) {
    rewind(stream);
    while (length > 0) {
        size_t n = length < MOST_SENT ? length : MOST_SENT;
        memset(buffer, 0, n);
        if (fread(buffer, 1, n, stream) != n) clearerr(stream); /* the length was checked when it was written */
        t->ranks->send(t->ranks->payload, 0, buffer, n);
        length -= n;
    }
}

/* Copies the output of another process, with its header only if there is none yet. */
static void receive_stream(const tool *t, size_t from, const joint_text *text, size_t length, joint_text *all,
                           char *buffer) {
    size_t at = 0, skipped = all->has_rows ? text->head : 0;
    if (text->has_rows && all->has_rows) fputs(text->joint, all->stream);
    while (at < length) {
        size_t n = length - at < MOST_SENT ? length - at : MOST_SENT, lost = at < skipped ? skipped - at : 0;
        t->ranks->receive(t->ranks->payload, from, buffer, n);
        if (lost < n) (void)fwrite(buffer + lost, 1, n - lost, all->stream); /* a failure is remembered by the stream */
        at += n;
    }
    all->has_rows |= text->has_rows;
}

int join_texts(const tool *t, joint_text *own) {
    const karma_ranks *r = t->ranks;
    char *buffer = malloc(MOST_SENT);
    size_t length = 0;
    int code = EXIT_DONE;
    if (r->rank > 0) {
        long end = fflush(own->stream) == 0 && !ferror(own->stream) ? ftell(own->stream) : -1;
        length = end < 0 ? 0 : (size_t)end;
        if (end < 0)
            code = fail(NULL, &(karma_error){KARMA_ERR_IO, "cannot write a temporary file for the rows of a process"});
    }
    if (code == EXIT_DONE && !buffer) code = fail(NULL, &(karma_error){KARMA_ERR_MEMORY, "out of memory"});
    code = agree(t, code);
    for (size_t k = 1; code == EXIT_DONE && k < r->size; k++) {
        if (r->rank == k) {
            size_t facts[3] = {length, own->head, (size_t)own->has_rows};
            r->send(r->payload, 0, facts, sizeof facts);
            send_stream(t, own->stream, length, buffer);
        } else if (r->rank == 0) {
            size_t facts[3];
            r->receive(r->payload, k, facts, sizeof facts);
            joint_text text = {NULL, facts[1], facts[2] != 0, own->joint};
            receive_stream(t, k, &text, facts[0], own, buffer);
        }
    }
    free(buffer);
    return code;
}

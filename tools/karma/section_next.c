/* Which missing cells would be worth measuring: a summary of `karma next`. */
#include <stdlib.h>

#include "report_page.h"

enum { MOST_ROWS = 60, MOST_COLUMNS = 15, MOST_CELLS = 10, MOST_MISSING = 3000 };

/* A column over the rows that miss it. */
typedef struct column_gain {
    size_t attribute, n_missing, n_best;
    double gain, change; /* sums */
} column_gain;

typedef struct cell_gain {
    const karma_next_cell *cell;
    size_t row; /* of r->rows */
} cell_gain;

static int applies(const report *r) {
    if (!r->model || !r->rows || karma_table_n_rows(r->rows) == 0 || !karma_model_has_subspace(r->model)) return 0;
    return karma_model_n_classes(r->model, 0) == 0 || karma_model_has_probabilities(r->model, 0);
}

static int by_mean_gain(const void *a, const void *b) {
    const column_gain *x = a, *y = b;
    double gain_x = x->n_missing ? x->gain / (double)x->n_missing : -1.0;
    double gain_y = y->n_missing ? y->gain / (double)y->n_missing : -1.0;
    if (gain_x != gain_y) return gain_x > gain_y ? -1 : 1;
    return (x->attribute > y->attribute) - (x->attribute < y->attribute);
}

static int by_gain(const void *a, const void *b) {
    const cell_gain *x = a, *y = b;
    if (x->cell->gain != y->cell->gain) return x->cell->gain > y->cell->gain ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static void write_columns(report *r, column_gain *columns, size_t d) {
    int is_class = karma_model_n_classes(r->model, 0) > 0;
    const table_column heads[] = {{"column", 0},
                                  {"rows that miss it", 1},
                                  {"best next cell of", 1},
                                  {is_class ? "mean gain, bits" : "mean gain, variance", 1},
                                  {is_class ? "prediction would change" : "mean change of the prediction", 1}};
    char text[40];
    qsort(columns, d, sizeof *columns, by_mean_gain);
    page_table_begin(&r->page, "Columns by what knowing a missing cell is expected to bring", heads, 5);
    for (size_t j = 0; j < d && j < MOST_COLUMNS && columns[j].n_missing; j++) {
        const column_gain *c = &columns[j];
        double n = (double)c->n_missing;
        page_table_line(&r->page);
        page_cell(&r->page, "%s", karma_model_attribute_name(r->model, c->attribute));
        page_number(&r->page, n, "%zu", c->n_missing);
        page_number(&r->page, (double)c->n_best, "%zu", c->n_best);
        page_number(&r->page, c->gain / n, "%.3g", c->gain / n);
        if (is_class)
            page_number(&r->page, c->change / n, "%.1f%%", 100.0 * c->change / n);
        else
            page_number(&r->page, c->change / n, "%s", short_number(text, c->change / n));
    }
    page_table_end(&r->page);
}

static void write_cells(report *r, cell_gain *list, size_t n) {
    const table_column heads[] = {{"row", 0}, {"cell to measure", 0}, {"gain", 1}};
    qsort(list, n, sizeof *list, by_gain);
    page_table_begin(&r->page, "The cells with the largest gain", heads, 3);
    for (size_t i = 0; i < n && i < MOST_CELLS; i++) {
        char name[160];
        page_table_line(&r->page);
        page_cell(&r->page, "%s", row_name(name, r, list[i].row));
        page_cell(&r->page, "%s", karma_model_attribute_name(r->model, list[i].cell->attribute));
        page_number(&r->page, list[i].cell->gain, "%.3g", list[i].cell->gain);
    }
    page_table_end(&r->page);
}

/* rows[i] is the row of r->rows that row i of the cells is. */
static karma_status write_gains(report *r, const karma_next_cells *next, const size_t *rows, karma_error *err) {
    size_t d = karma_model_n_attributes(r->model), n_cells = next->start[next->n_rows], n_best = 0;
    column_gain *columns = calloc(d + 1, sizeof *columns);
    cell_gain *best = malloc((next->n_rows + 1) * sizeof *best);
    karma_status st = columns && best ? KARMA_OK : out_of_memory(err);
    for (size_t j = 0; st == KARMA_OK && j < d; j++) columns[j].attribute = j;
    for (size_t i = 0; st == KARMA_OK && i < next->n_rows; i++)
        for (size_t k = next->start[i]; k < next->start[i + 1]; k++) {
            const karma_next_cell *cell = &next->cells[k];
            column_gain *c = &columns[cell->attribute];
            c->n_missing++;
            c->gain += cell->gain;
            c->change += cell->change;
            if (k > next->start[i]) continue; /* the first one is the best one */
            c->n_best++;
            best[n_best++] = (cell_gain){cell, rows ? rows[i] : i};
        }
    if (st == KARMA_OK && n_cells == 0) page_paragraph(&r->page, "These rows miss nothing that the model uses.");
    if (st == KARMA_OK && n_cells) {
        write_columns(r, columns, d);
        write_cells(r, best, n_best);
    }
    free(columns);
    free(best);
    return st;
}

/* As many rows as have few enough missing cells together, if each misses as many as it can. */
static size_t most_rows(const report *r) {
    size_t d = karma_model_n_attributes(r->model), most = MOST_MISSING / (d + 1) + 1;
    return most < MOST_ROWS ? most : MOST_ROWS;
}

static karma_status write_section(report *r, karma_error *err) {
    karma_table *sample = NULL;
    size_t *chosen = NULL, most = most_rows(r), n = karma_table_n_rows(r->rows);
    karma_next_cells next;
    karma_hooks quiet = {r->t->hooks.progress, NULL, r->t->hooks.payload};
    karma_status st = sample_rows(&sample, &chosen, r->rows, most, err);
    if (st != KARMA_OK) return st;
    st =
        karma_measure_next(&next, r->model, 0, sample ? sample : r->rows, NULL, (size_t)r->t->fit.threads, &quiet, err);
    if (st == KARMA_OK) {
        page_paragraph(&r->page,
                       "What the model expects to learn from one more cell of a row, over the values that the cell may "
                       "have given the others; all cells are taken to cost the same (karma next takes costs).%s",
                       n > most ? " Measured on some of the rows, drawn at random." : "");
        st = write_gains(r, &next, chosen, err);
        karma_next_cells_clear(&next);
    }
    free(chosen);
    karma_table_free(sample);
    return st;
}

const report_section section_next = {"next", "Which cells would be worth measuring", applies, write_section};

#include "table/table_split.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "table/builder.h"

karma_status karma_i_table_check_whole(const karma_table *table, karma_error *err) {
    if (karma_i_table_ranks(table)->size == 1) return KARMA_OK;
    return karma_i_fail(err, KARMA_ERR_OPTION, "this cannot be done with rows that are split over processes");
}

/* --- rows as bytes ------------------------------------------------------------------------------------- */

/* One after the other: the number of cells, attributes, values, labels, weight. */
typedef struct parcel {
    char *bytes;
    size_t used, capacity;
} parcel;

static size_t row_bytes(const karma_table *t, size_t row) {
    size_t n = t->row_start[row + 1] - t->row_start[row];
    return sizeof n + n * (sizeof *t->cell_owner + sizeof *t->cell_value) + (t->n_targets + 1) * sizeof(double);
}

static void put(parcel *p, const void *bytes, size_t n) {
    if (n) memcpy(p->bytes + p->used, bytes, n);
    p->used += n;
}

static int put_row(parcel *p, const karma_table *t, size_t row) {
    karma_i_row_cells cells = karma_i_table_cells(t, row);
    double weight = karma_table_row_weight(t, row);
    if (!karma_i_reserve(&p->bytes, &p->capacity, p->used + row_bytes(t, row), 1)) return 0;
    put(p, &cells.count, sizeof cells.count);
    put(p, cells.attribute, cells.count * sizeof *cells.attribute);
    put(p, cells.value, cells.count * sizeof *cells.value);
    for (size_t k = 0; k < t->n_targets; k++) put(p, &t->targets[k].value[row], sizeof(double));
    put(p, &weight, sizeof weight);
    return 1;
}

static const char *take(void *to, const char *from, size_t n) {
    memcpy(to, from, n);
    return from + n;
}

/* Adds the row at `from`; *next is what follows it. */
static karma_status take_row(const char **next, karma_i_builder *builder, double *labels, const char *from,
                             size_t n_targets, karma_error *err) {
    size_t n;
    double weight, value;
    uint32_t attribute;
    const char *values;
    from = take(&n, from, sizeof n);
    values = from + n * sizeof attribute;
    for (size_t i = 0; i < n; i++) {
        from = take(&attribute, from, sizeof attribute);
        values = take(&value, values, sizeof value);
        KARMA_TRY(karma_i_builder_add_cell(builder, attribute, value, err));
    }
    from = values;
    if (n_targets) from = take(labels, from, n_targets * sizeof *labels);
    *next = take(&weight, from, sizeof weight);
    return karma_i_builder_end_row(builder, labels, weight, NULL, err);
}

/* A builder with the columns of another table. */
typedef struct making {
    karma_i_builder builder;
    double *labels;
    size_t n_targets;
} making;

static karma_status start_making(making *m, const karma_table *like, karma_error *err) {
    *m = (making){.n_targets = like->n_targets, .labels = karma_i_alloc(like->n_targets, sizeof *m->labels)};
    if (!m->labels) return karma_i_fail_memory(err);
    KARMA_TRY(karma_i_builder_init(&m->builder, err));
    return karma_i_builder_copy_columns(&m->builder, like, err);
}

static karma_status finish_making(karma_table **out, making *m, const karma_table *like, karma_status st,
                                  karma_error *err) {
    karma_table *table = NULL;
    if (st == KARMA_OK) {
        karma_i_builder_trim(&m->builder);
        karma_i_builder_finish(&table, &m->builder);
        table->is_matrix = like->is_matrix;
        if (like->reading) st = karma_i_table_set_reading(table, like->reading, err);
    }
    karma_i_builder_clear(&m->builder);
    karma_i_free(m->labels);
    if (st == KARMA_OK)
        *out = table;
    else
        karma_table_free(table);
    return st;
}

static karma_status take_rows(making *m, const char *from, const char *end, karma_error *err) {
    while (from < end) KARMA_TRY(take_row(&from, &m->builder, m->labels, from, m->n_targets, err));
    return KARMA_OK;
}

/* --- whole granules ------------------------------------------------------------------------------------ */

/* The present and the target places of the rows of all processes. */
typedef struct move {
    const karma_table *table;
    const karma_ranks *ranks;
    size_t *start; /* the first row of each rank, and the number of rows */
} move;

/* The rows of rank `from` that belong to rank `to`: [*first, *end) of all. */
static void find_rows(size_t *first, size_t *end, const move *m, size_t from, size_t to) {
    size_t n = m->start[m->ranks->size], low = karma_i_partition_start(n, to, m->ranks->size);
    size_t high = karma_i_partition_start(n, to + 1, m->ranks->size);
    *first = low > m->start[from] ? low : m->start[from];
    *end = high < m->start[from + 1] ? high : m->start[from + 1];
    if (*end < *first) *end = *first;
}

static karma_status pack_for(parcel *p, const move *m, size_t to, karma_error *err) {
    size_t first, end, here = m->start[m->ranks->rank];
    p->used = 0;
    find_rows(&first, &end, m, m->ranks->rank, to);
    for (size_t i = first; i < end; i++)
        if (!put_row(p, m->table, i - here)) return karma_i_fail_memory(err);
    return KARMA_OK;
}

/* Moves rows from one process to another: all processes go through all pairs in the same order. */
static karma_status move_rows(making *to, const move *m, size_t from, size_t receiver, karma_error *err) {
    const karma_ranks *r = m->ranks;
    size_t first, end, bytes = 0;
    parcel p = {0};
    karma_status st = KARMA_OK;
    find_rows(&first, &end, m, from, receiver);
    if (first == end || from == receiver) return KARMA_OK;
    if (from == r->rank) st = pack_for(&p, m, receiver, err);
    if (st == KARMA_OK) st = karma_i_ranks_meet(r, err);
    bytes = p.used;
    if (st == KARMA_OK && from == r->rank) r->send(r->payload, receiver, &bytes, sizeof bytes);
    if (st == KARMA_OK && receiver == r->rank) {
        r->receive(r->payload, from, &bytes, sizeof bytes);
        if (!karma_i_reserve(&p.bytes, &p.capacity, bytes, 1)) st = karma_i_fail_memory(err);
    }
    if (st == KARMA_OK) st = karma_i_ranks_meet(r, err);
    if (st == KARMA_OK && from == r->rank) r->send(r->payload, receiver, p.bytes, bytes);
    if (st == KARMA_OK && receiver == r->rank) {
        r->receive(r->payload, from, p.bytes, bytes);
        st = take_rows(to, p.bytes, p.bytes + bytes, err);
    }
    karma_i_free(p.bytes);
    return st;
}

/* In the order of the rows, which is that of the processes they come from; own rows are copied in between. */
static karma_status collect(making *to, const move *m, karma_error *err) {
    const karma_ranks *r = m->ranks;
    for (size_t from = 0; from < r->size; from++) {
        size_t first, end;
        find_rows(&first, &end, m, from, from);
        for (size_t i = first; from == r->rank && i < end; i++) {
            KARMA_TRY(karma_i_builder_copy_cells(&to->builder, m->table, i - m->start[from], err));
            KARMA_TRY(karma_i_builder_end_row_like(&to->builder, m->table, i - m->start[from], err));
        }
        for (size_t receiver = 0; receiver < r->size; receiver++) KARMA_TRY(move_rows(to, m, from, receiver, err));
    }
    return KARMA_OK;
}

karma_status karma_i_table_balance(karma_table **out, const karma_table *table, const karma_ranks *ranks,
                                   karma_error *err) {
    karma_i_gathered counts = {0};
    making to = {0};
    move m = {table, ranks, karma_i_zalloc(ranks->size + 1, sizeof *m.start)};
    karma_status st = m.start ? karma_i_ranks_gather(&counts, &table->n_rows, sizeof table->n_rows, ranks, err)
                              : karma_i_fail_memory(err);
    for (size_t k = 0; st == KARMA_OK && k < ranks->size; k++) {
        size_t n;
        memcpy(&n, counts.bytes + k * sizeof n, sizeof n);
        m.start[k + 1] = m.start[k] + n;
    }
    if (st == KARMA_OK) st = start_making(&to, table, err);
    if (st == KARMA_OK) st = collect(&to, &m, err);
    st = finish_making(out, &to, table, st, err);
    if (st == KARMA_OK) (*out)->split = karma_i_partition_part(m.start[ranks->size], ranks);
    karma_i_gathered_clear(&counts);
    karma_i_free(m.start);
    return st;
}

karma_status karma_i_table_select(karma_table **out, const karma_table *table, const size_t *rows, size_t n,
                                  karma_error *err) {
    karma_table *selected = NULL;
    const karma_ranks *ranks = karma_i_table_ranks(table);
    if (ranks->size == 1) return karma_table_select(out, table, rows, n, err);
    KARMA_TRY(karma_table_select(&selected, table, rows, n, err));
    karma_status st = karma_i_table_balance(out, selected, ranks, err);
    karma_table_free(selected);
    return st;
}

/* --- rows that all processes need ---------------------------------------------------------------------- */

static size_t rank_of_row(const karma_i_partition *s, size_t row) {
    size_t low = 0, high = s->ranks->size; /* the last rank that starts at the row or before it, and has rows */
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (karma_i_partition_start(s->n_rows, middle, s->ranks->size) <= row)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Every process sends its rows in the order in which they are needed, so that the next row of each process is
 * available. */
static karma_status unpack_all(making *to, const karma_i_gathered *all, const karma_i_partition *s, const size_t *index,
                               size_t count, karma_error *err) {
    const char **next = karma_i_alloc(s->ranks->size, sizeof *next);
    karma_status st = next ? KARMA_OK : karma_i_fail_memory(err);
    for (size_t k = 0; st == KARMA_OK && k < s->ranks->size; k++) next[k] = all->bytes + all->start[k];
    for (size_t i = 0; st == KARMA_OK && i < count; i++) {
        const char **from = &next[rank_of_row(s, index[i])];
        st = take_row(from, &to->builder, to->labels, *from, to->n_targets, err);
    }
    karma_i_free(next);
    return st;
}

karma_status karma_i_table_gather(karma_table **out, const karma_table *table, const size_t *index, size_t count,
                                  karma_error *err) {
    karma_i_partition s = karma_i_table_split(table);
    karma_i_gathered all = {0};
    parcel p = {0};
    making to = {0};
    karma_status st = KARMA_OK;
    for (size_t i = 0; st == KARMA_OK && i < count; i++)
        if (index[i] >= s.first && index[i] - s.first < s.count && !put_row(&p, table, index[i] - s.first))
            st = karma_i_fail_memory(err);
    if (st == KARMA_OK) st = karma_i_ranks_gather(&all, p.bytes, p.used, s.ranks, err);
    karma_i_free(p.bytes);
    if (st == KARMA_OK) st = start_making(&to, table, err);
    if (st == KARMA_OK) st = unpack_all(&to, &all, &s, index, count, err);
    karma_i_gathered_clear(&all);
    return finish_making(out, &to, table, st, err);
}

/* This process's rows without their cells. */
static karma_status bare_rows(karma_table **out, const karma_table *table, karma_error *err) {
    making to = {0};
    karma_status st = start_making(&to, table, err);
    for (size_t i = 0; st == KARMA_OK && i < table->n_rows; i++)
        st = karma_i_builder_end_row_like(&to.builder, table, i, err);
    return finish_making(out, &to, table, st, err);
}

static karma_status gather_n_cells(size_t **out, const karma_table *table, karma_error *err) {
    karma_i_gathered all = {0};
    size_t *own = karma_i_alloc(table->n_rows, sizeof *own);
    if (!own) return karma_i_fail_memory(err);
    for (size_t i = 0; i < table->n_rows; i++) own[i] = karma_i_table_cells(table, i).count;
    karma_status st = karma_i_ranks_gather(&all, own, table->n_rows * sizeof *own, karma_i_table_ranks(table), err);
    karma_i_free(own);
    if (st != KARMA_OK) return st;
    *out = (size_t *)(void *)all.bytes;
    karma_i_free(all.start);
    return KARMA_OK;
}

karma_status karma_i_table_gather_labels(karma_table **out, size_t **n_cells, const karma_table *table,
                                         karma_error *err) {
    size_t n = karma_i_table_n_all(table), *index = karma_i_alloc(n, sizeof *index), *counts = NULL;
    karma_table *bare = NULL;
    karma_status st = index ? bare_rows(&bare, table, err) : karma_i_fail_memory(err);
    for (size_t i = 0; st == KARMA_OK && i < n; i++) index[i] = i;
    if (st == KARMA_OK) bare->split = table->split;
    if (st == KARMA_OK) st = gather_n_cells(&counts, table, err);
    if (st == KARMA_OK) st = karma_i_table_gather(out, bare, index, n, err);
    if (st == KARMA_OK)
        *n_cells = counts;
    else
        karma_i_free(counts);
    karma_table_free(bare);
    karma_i_free(index);
    return st;
}

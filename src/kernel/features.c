/* Passes over the rows: granule by granule, each from its first row to its last, and granules along a tree
 * (base/partition.h), so that the number of threads and processes changes nothing. */
#include "kernel/features.h"

#include <math.h>
#include <string.h>

#include <omp.h>

#include "base/error.h"
#include "base/mem.h"
#include "linalg/cholesky.h"

enum {
    UNITS = 32,        /* pieces of work, at least, if there are as many granules */
    PANEL_ROWS = 1024, /* whose products are added at a time */
    TILE = 256         /* features by features of a product that one thread adds to */
};

static size_t min_size(size_t a, size_t b) {
    return a < b ? a : b;
}
static size_t divide_up(size_t a, size_t b) {
    return (a + b - 1) / b;
}

void karma_i_features_free(karma_i_features *features) {
    if (features) features->kind->free(features);
}

static void free_workers(void **workers, const karma_i_features *features, int threads) {
    for (int t = 0; workers && t < threads; t++)
        if (workers[t]) features->kind->free_worker(workers[t]);
    karma_i_free(workers);
}

/* One per thread; NULL: out of memory. */
static void **new_workers(const karma_i_features *features, int threads) {
    void **workers = karma_i_zalloc((size_t)threads, sizeof *workers);
    int ok = workers != NULL;
    for (int t = 0; ok && t < threads; t++) ok = (workers[t] = features->kind->new_worker(features)) != NULL;
    if (ok) return workers;
    free_workers(workers, features, threads);
    return NULL;
}

/* --- sums over rows ------------------------------------------------------------------------------------ */

typedef struct features_pass {
    const karma_i_features *features;
    const double *vectors;
    size_t n;
    karma_i_features_fn fn;
    void *payload;
    size_t *start; /* where each granule begins among the rows, and the end of the last */
    size_t n_granules;
    karma_i_tree_node
        *units; /* nodes of the tree, each the work of one thread; granules count from the first one here */
    size_t n_units;
    size_t first_granule; /* the first one among those of all processes, and their number */
    size_t all_granules;
    int wants_sums;
    double *unit_sums; /* n × n_features of each, if they are wanted */
} features_pass;

static void do_rows(const features_pass *pass, size_t first, size_t end, double *sums, void *worker, double *values) {
    const karma_i_features *f = pass->features;
    for (size_t count; first < end; first += count) {
        count = min_size(f->block_rows, end - first);
        f->kind->load(worker, f, first, count);
        if (pass->vectors) f->kind->dot(values, worker, pass->vectors, pass->n);
        pass->fn(values, pass->payload, first, count);
        if (sums) f->kind->add(sums, worker, values, pass->n);
    }
}

static size_t unit_end(const features_pass *pass, size_t unit) {
    return min_size(pass->units[unit].first + ((size_t)1 << pass->units[unit].level), pass->n_granules);
}

static void do_unit(const features_pass *pass, size_t unit, void *worker, double *values, karma_i_tree *tree) {
    size_t g = pass->units[unit].first, end = unit_end(pass, unit), width = pass->n * pass->features->n_features;
    if (!pass->wants_sums) {
        do_rows(pass, pass->start[g], pass->start[end], NULL, worker, values);
        return;
    }
    tree->n_nodes = 0;
    tree->next = pass->first_granule + g;
    for (; g < end; g++) {
        do_rows(pass, pass->start[g], pass->start[g + 1], karma_i_tree_open(tree), worker, values);
        karma_i_tree_close(tree, 0);
    }
    memcpy(pass->unit_sums + unit * width, karma_i_tree_node_sums(tree, pass->units[unit].level),
           width * sizeof(double));
}

static karma_status find_granules(features_pass *pass, karma_error *err) {
    const karma_i_features *f = pass->features;
    size_t rows = karma_i_partition_granule_rows(&f->split), at = 0;
    /* without sums any split will do, and rows may be in any order */
    int plain = !f->selected || !pass->wants_sums;
    pass->n_granules = plain ? divide_up(f->n_rows, rows) : karma_i_partition_n_granules(&f->split);
    pass->first_granule = f->split.first / rows;
    pass->all_granules = divide_up(f->split.n_rows, rows);
    pass->start = karma_i_alloc(pass->n_granules + 1, sizeof *pass->start);
    if (!pass->start) return karma_i_fail_memory(err);
    for (size_t g = 0; g <= pass->n_granules; g++) {
        while (!plain && at < f->n_rows && f->selected[at] < g * rows) at++;
        pass->start[g] = plain ? min_size(g * rows, f->n_rows) : at;
    }
    return KARMA_OK;
}

/* Finds the largest nodes that are entirely here, but not so large that there are too few for the threads. */
static karma_status find_units(features_pass *pass, karma_error *err) {
    unsigned most = 0;
    while (pass->n_granules >> (most + 1) >= UNITS) most++;
    pass->units = karma_i_alloc(pass->n_granules, sizeof *pass->units);
    if (!pass->units) return karma_i_fail_memory(err);
    for (size_t g = 0; g < pass->n_granules; g += (size_t)1 << pass->units[pass->n_units++].level) {
        unsigned level = most;
        size_t end = pass->first_granule + pass->n_granules, place = pass->first_granule + g;
        while (level &&
               (place & (((size_t)1 << level) - 1) || min_size(place + ((size_t)1 << level), pass->all_granules) > end))
            level--;
        pass->units[pass->n_units] = (karma_i_tree_node){g, level};
    }
    return KARMA_OK;
}

static karma_status add_units(double *sums, const features_pass *pass, karma_error *err) {
    karma_i_tree tree;
    size_t width = pass->n * pass->features->n_features;
    karma_status st = karma_i_tree_begin(&tree, width, &pass->features->split, err);
    for (size_t u = 0; st == KARMA_OK && u < pass->n_units; u++) {
        memcpy(karma_i_tree_open(&tree), pass->unit_sums + u * width, width * sizeof *sums);
        karma_i_tree_close(&tree, pass->units[u].level);
    }
    if (st == KARMA_OK) st = karma_i_tree_total(sums, &tree, &pass->features->split, err);
    karma_i_tree_clear(&tree);
    return st;
}

typedef struct pass_threads {
    int n;
    void **workers;
    double *values;
    karma_i_tree *trees;
} pass_threads;

static void clear_threads(pass_threads *t, const features_pass *pass) {
    free_workers(t->workers, pass->features, t->n);
    karma_i_free(t->values);
    for (int i = 0; t->trees && i < t->n; i++) karma_i_tree_clear(&t->trees[i]);
    karma_i_free(t->trees);
}

static karma_status start_threads(pass_threads *t, const features_pass *pass, int threads, karma_error *err) {
    const karma_i_features *f = pass->features;
    t->n = (int)min_size((size_t)threads, pass->n_units ? pass->n_units : 1);
    t->workers = new_workers(f, t->n);
    t->values = karma_i_alloc_aligned((size_t)t->n * f->block_rows, pass->n * sizeof *t->values);
    t->trees = karma_i_zalloc((size_t)t->n, sizeof *t->trees);
    if (!t->workers || !t->values || !t->trees) return karma_i_fail_memory(err);
    for (int i = 0; pass->wants_sums && i < t->n; i++)
        KARMA_TRY(karma_i_tree_init(&t->trees[i], pass->n * f->n_features, pass->all_granules, 0, err));
    return KARMA_OK;
}

static karma_status do_pass(double *sums, features_pass *pass, int threads, karma_error *err) {
    pass_threads t = {0};
    karma_status st = start_threads(&t, pass, threads, err);
    if (st == KARMA_OK) {
#pragma omp parallel for schedule(dynamic) num_threads(t.n)
        for (size_t u = 0; u < pass->n_units; u++) {
            size_t i = (size_t)omp_get_thread_num();
            do_unit(pass, u, t.workers[i], t.values + i * pass->features->block_rows * pass->n, &t.trees[i]);
        }
        if (sums) st = add_units(sums, pass, err);
    }
    clear_threads(&t, pass);
    return st;
}

karma_status karma_i_features_pass(double *sums, const karma_i_features *features, const double *vectors, size_t n,
                                   karma_i_features_fn fn, void *payload, int threads, karma_error *err) {
    features_pass pass = {.features = features, .vectors = vectors, .n = n, .fn = fn, .payload = payload};
    pass.wants_sums = sums != NULL;
    karma_status st = find_granules(&pass, err);
    if (st == KARMA_OK) st = find_units(&pass, err);
    if (st == KARMA_OK && sums)
        pass.unit_sums = karma_i_alloc(pass.n_units * n, features->n_features * sizeof *pass.unit_sums);
    if (st == KARMA_OK && sums && !pass.unit_sums) st = karma_i_fail_memory(err);
    if (st == KARMA_OK) st = do_pass(sums, &pass, threads, err);
    karma_i_free(pass.start);
    karma_i_free(pass.units);
    karma_i_free(pass.unit_sums);
    return st;
}

/* --- products of features ------------------------------------------------------------------------------ */

/* Some rows of all processes: each process fills in its own, then all get them. */
typedef struct panel {
    const karma_i_features *features;
    const karma_ranks *ranks;
    size_t n_rows, here; /* rows of all processes, and the first of them that is here */
    double *rows;        /* PANEL_ROWS of them, each multiplied by the root of its factor */
    size_t first, count; /* among the rows of all */
    size_t *rank_start;  /* the first row of each process, and behind the last */
    size_t *sizes;       /* bytes of each process in this panel */
    double *own;         /* the rows of this process, if there are others */
} panel;

static void clear_panel(panel *p) {
    if (p->own != p->rows) karma_i_free(p->own);
    karma_i_free(p->rows);
    karma_i_free(p->rank_start);
    karma_i_free(p->sizes);
}

static karma_status start_panel(panel *p, const karma_i_features *features, size_t panel_rows, karma_error *err) {
    const karma_ranks *r = features->split.ranks;
    karma_i_gathered counts = {0};
    *p = (panel){.features = features, .ranks = r};
    p->rank_start = karma_i_zalloc(r->size + 1, sizeof *p->rank_start);
    p->sizes = karma_i_alloc(r->size, sizeof *p->sizes);
    if (!p->rank_start || !p->sizes) return karma_i_fail_memory(err);
    KARMA_TRY(karma_i_ranks_gather(&counts, &features->n_rows, sizeof features->n_rows, r, err));
    for (size_t k = 0; k < r->size; k++)
        p->rank_start[k + 1] = p->rank_start[k] + ((const size_t *)(void *)counts.bytes)[k];
    karma_i_gathered_clear(&counts);
    p->n_rows = p->rank_start[r->size];
    p->here = p->rank_start[r->rank];
    p->rows = karma_i_alloc_aligned(min_size(panel_rows, p->n_rows), features->n_features * sizeof *p->rows);
    p->own = r->size == 1
                 ? p->rows
                 : karma_i_alloc_aligned(min_size(panel_rows, p->n_rows), features->n_features * sizeof *p->own);
    return p->rows && p->own ? KARMA_OK : karma_i_fail_memory(err);
}

/* The number of panel rows in a process, and the first of them. */
static size_t rows_of_rank(size_t *first, const panel *p, size_t rank) {
    size_t from = p->rank_start[rank] > p->first ? p->rank_start[rank] : p->first;
    size_t end = min_size(p->rank_start[rank + 1], p->first + p->count);
    *first = from;
    return end > from ? end - from : 0;
}

static void fill_block(panel *p, size_t first, size_t count, const double *factors, void *worker, double *to) {
    const karma_i_features *f = p->features;
    double scales[PANEL_ROWS];
    for (size_t i = 0; i < count; i++) scales[i] = sqrt(factors[first + i]);
    f->kind->load(worker, f, first, count);
    f->kind->expand(to, worker, scales);
}

static karma_status fill_panel(panel *p, const double *factors, void **workers, int threads, karma_error *err) {
    const karma_i_features *f = p->features;
    size_t first, count = rows_of_rank(&first, p, p->ranks->rank), block = f->block_rows, n = f->n_features;
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (size_t i = 0; i < count; i += block)
        fill_block(p, first - p->here + i, min_size(block, count - i), factors, workers[omp_get_thread_num()],
                   p->own + i * n);
    if (p->ranks->size == 1) return KARMA_OK;
    for (size_t k = 0; k < p->ranks->size; k++) {
        size_t unused;
        p->sizes[k] = rows_of_rank(&unused, p, k) * n * sizeof *p->rows;
    }
    KARMA_TRY(karma_i_ranks_meet(p->ranks, err));
    p->ranks->gather(p->ranks->payload, p->rows, p->sizes, p->own);
    return KARMA_OK;
}

/* Tile number `tile` of the lower triangle, counted row by row. */
typedef struct tile_place {
    size_t i, j, rows, columns;
} tile_place;

static tile_place find_tile(size_t tile, size_t n) {
    size_t row = 0;
    for (; (row + 1) * (row + 2) / 2 <= tile; row++) {
    }
    size_t i = row * TILE, j = (tile - row * (row + 1) / 2) * TILE;
    return (tile_place){i, j, min_size(TILE, n - i), min_size(TILE, n - j)};
}

static void add_tile(double *products, const panel *p, size_t tile) {
    size_t n = p->features->n_features;
    tile_place at = find_tile(tile, n);
    karma_i_product_tn_add(products + at.i * n + at.j, n, p->rows + at.i, n, p->rows + at.j, n, p->count, at.rows,
                           at.columns);
}

/* Process k has computed the tiles k, k + size, ... */
static karma_status share_tiles(double *products, size_t n, size_t n_tiles, const karma_ranks *r, karma_error *err) {
    karma_i_gathered all;
    size_t used = 0, most = divide_up(n_tiles, r->size) * TILE * TILE;
    double *own = karma_i_alloc(most, sizeof *own);
    if (!own) return karma_i_fail_memory(err);
    for (size_t tile = r->rank; tile < n_tiles; tile += r->size) {
        tile_place at = find_tile(tile, n);
        for (size_t i = 0; i < at.rows; i++, used += at.columns)
            memcpy(own + used, products + (at.i + i) * n + at.j, at.columns * sizeof *own);
    }
    karma_status st = karma_i_ranks_gather(&all, own, used * sizeof *own, r, err);
    karma_i_free(own);
    if (st != KARMA_OK) return st;
    const double *from = (const double *)(void *)all.bytes;
    for (size_t k = 0; k < r->size; k++)
        for (size_t tile = k; tile < n_tiles; tile += r->size) {
            tile_place at = find_tile(tile, n);
            for (size_t i = 0; i < at.rows; i++, from += at.columns)
                memcpy(products + (at.i + i) * n + at.j, from, at.columns * sizeof *own);
        }
    karma_i_gathered_clear(&all);
    return KARMA_OK;
}

karma_status karma_i_features_products(double *products, const karma_i_features *features, const double *factors,
                                       int threads, karma_error *err) {
    size_t n = features->n_features, tiles_down = divide_up(n, TILE), n_tiles = tiles_down * (tiles_down + 1) / 2;
    size_t panel_rows =
        features->block_rows * (features->block_rows < PANEL_ROWS ? PANEL_ROWS / features->block_rows : 1);
    panel p;
    karma_status st = start_panel(&p, features, panel_rows, err);
    void **workers = new_workers(features, threads);
    if (st == KARMA_OK && !workers) st = karma_i_fail_memory(err);
    const karma_ranks *r = features->split.ranks;
    for (; st == KARMA_OK && p.first < p.n_rows; p.first += p.count) {
        p.count = min_size(panel_rows, p.n_rows - p.first);
        st = fill_panel(&p, factors, workers, threads, err);
        if (st != KARMA_OK) break;
#pragma omp parallel for schedule(dynamic) num_threads(threads)
        for (size_t tile = r->rank; tile < n_tiles; tile += r->size) add_tile(products, &p, tile);
    }
    free_workers(workers, features, threads);
    clear_panel(&p);
    return st == KARMA_OK && r->size > 1 ? share_tiles(products, n, n_tiles, r, err) : st;
}

karma_status karma_i_features_squares(double *squares, const karma_i_features *features, const double *factors,
                                      karma_error *err) {
    void **workers = new_workers(features, 1);
    if (!workers) return karma_i_fail_memory(err);
    for (size_t first = 0; first < features->n_rows; first += features->block_rows) {
        features->kind->load(workers[0], features, first, min_size(features->block_rows, features->n_rows - first));
        features->kind->add_squares(squares, workers[0], factors + first);
    }
    free_workers(workers, features, 1);
    return KARMA_OK;
}

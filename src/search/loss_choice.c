/* With more than two classes there is one machine per class, that class against the rest. Of all scores z, E ℓ(z, y) is
 * least at
 *
 *     hinge           z = sign(2p - 1)        p: the probability of the class, given the row
 *     squared hinge   z = 2p - 1
 *
 * So where no class has a probability above one half, the best scores of all machines with the hinge are -1, and
 * noise decides which is the largest; those of the squared hinge still have the order of the probabilities. Where a
 * class has more than one half, both name it, and the hinge has fewer rows with a coefficient.
 *
 * Which of the two a table is, is seen in held-out rows: one candidate with the hinge is learned without the first
 * fold. If its machines have no positive score for more than half of these rows, the squared hinge is used for all
 * candidates. docs/search.md has the measurements. */
#include "search/loss_choice.h"

#include <math.h>

#include "base/error.h"
#include "base/mem.h"

/* The share of rows without a class from which on the hinge is not used. */
static const double MOST_WITHOUT = 0.5;

double karma_i_share_without_class(const karma_i_head *head, const karma_i_target *target, const float *scores,
                                   size_t stride, const size_t *rows, size_t n) {
    double without = 0.0, labelled = 0.0;
    for (size_t i = 0; i < n; i++) {
        const float *own = scores + rows[i] * stride + head->first_output;
        int any = 0;
        if (isnan(target->value[rows[i]])) continue;
        for (size_t k = 0; k < head->n_outputs; k++) any |= own[k] > 0.0f;
        labelled += 1.0;
        without += any ? 0.0 : 1.0;
    }
    return labelled > 0.0 ? without / labelled : 0.0;
}

static int has_many_classes(const karma_i_head *head) {
    return head->labels.n_classes > 2 && head->loss == KARMA_LOSS_HINGE;
}

/* The first candidate with an outer map is stronger than the linear kernels before it, and as quickly learned. */
static const karma_i_plan_kernel *typical_kernel(const karma_i_race *race) {
    for (size_t e = 0; e < race->n_entries; e++) {
        const karma_i_plan_kernel *kernel = &race->entries[e].kernel;
        if (karma_i_plan_kernel_sets_outer(kernel) && !karma_i_plan_kernel_is_slow(kernel)) return kernel;
    }
    return &race->entries[0].kernel;
}

static karma_status judge_typical(karma_i_race *probe, const karma_i_race *race, karma_error *err) {
    static const karma_i_C_grid path = {1, {1}, {0}};
    int stopped;
    *probe = karma_i_race_start(race->task, race->folds, race->goal, race->goal_payload);
    KARMA_TRY(karma_i_race_add(probe, typical_kernel(race), &path, err));
    return karma_i_race_fold(probe, NULL, NULL, &stopped, err);
}

karma_status karma_i_choose_class_losses(karma_i_task *task, const karma_i_race *race, karma_error *err) {
    int any = 0;
    for (size_t t = 0; t < task->n_heads; t++) any |= has_many_classes(&task->heads[t]);
    if (!any) return KARMA_OK;
    karma_i_race probe = {0};
    karma_i_fold fold = {0};
    karma_status st = judge_typical(&probe, race, err);
    if (st == KARMA_OK) st = karma_i_fold_test(&fold, race->folds, 0, err);
    for (size_t t = 0; st == KARMA_OK && t < task->n_heads; t++) {
        karma_i_head *head = &task->heads[t];
        if (has_many_classes(head) &&
            karma_i_share_without_class(head, &race->table->targets[t], probe.runs[0].scores, task->n_outputs,
                                        fold.test_rows, fold.test->n_rows) > MOST_WITHOUT)
            head->loss = KARMA_LOSS_SQUARED_HINGE;
    }
    karma_i_fold_clear(&fold);
    karma_i_race_clear(&probe);
    return st == KARMA_ERR_DATA ? KARMA_OK : st; /* the race meets the same rows, and can tell where the error is */
}

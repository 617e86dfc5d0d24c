/* karma: learning from tables with missing values. This header includes all others.
 *
 *   karma_fit_array, karma_predict_array          learning from arrays        (karma/array.h)
 *   karma_table_read, karma_table_from_array      a table                     (karma/data.h)
 *   karma_table_from_arrow                        a table from Arrow          (karma/arrow.h)
 *   karma_is_database, karma_source_text          tables in databases         (karma/database.h)
 *   karma_search                                  a model chosen by a search  (karma/search.h)
 *   karma_cross_validate                          cross-validated scores      (karma/search.h)
 *   karma_fit                                     a model                     (karma/learn.h)
 *   karma_predict                                 scores of every target      (karma/learn.h)
 *   karma_model_decide, _number, _probabilities   what the scores predict     (karma/learn.h)
 *   karma_predict_intervals, _sets                how sure a prediction is    (karma/certainty.h)
 *   karma_measure_next                            what to measure next        (karma/next.h)
 *   karma_evaluate                                metrics                     (karma/evaluate.h)
 *   karma_compare                                 methods on the same rows    (karma/compare.h)
 *   karma_explain, karma_measure_...              contributions of columns    (karma/explain.h)
 *   karma_complete, karma_lowrank_new             the hidden subspace         (karma/subspace.h)
 *   karma_theory_...                              the paper's quantities      (karma/theory.h)
 *   karma_online_new, _learn, _model              rows without end            (karma/stream.h)
 *   karma_table_read_split                        rows split over processes   (karma/ranks.h)
 *   karma_regret_run                              the regret experiment       (karma/regret.h)
 *
 * Rules for all functions:
 *  - A function that can fail returns a karma_status and describes the failure in the caller's karma_error, which may
 *    be NULL; outputs are then unchanged. Its comment lists its errors, its cost and its thread rule.
 *  - Other pointers must not be NULL unless a comment says that they may be: options and hooks always may, and arrays
 *    without elements.
 *  - Any other function cannot fail. Unless its comment says otherwise its cost is constant; free and clear functions
 *    take time in proportion to what they free, and accept NULL.
 *  - What arrives through a ** argument is the caller's to free. What a getter returns belongs to its object.
 *  - Functions that only read an object may run in any number of threads at once; functions that change or free it need
 *    it for themselves. There is no global state. */
#ifndef KARMA_KARMA_H
#define KARMA_KARMA_H

#include "karma/array.h"
#include "karma/arrow.h"
#include "karma/base.h"
#include "karma/certainty.h"
#include "karma/compare.h"
#include "karma/data.h"
#include "karma/database.h"
#include "karma/evaluate.h"
#include "karma/explain.h"
#include "karma/learn.h"
#include "karma/next.h"
#include "karma/options.h"
#include "karma/ranks.h"
#include "karma/regret.h"
#include "karma/search.h"
#include "karma/stream.h"
#include "karma/subspace.h"
#include "karma/theory.h"

#endif

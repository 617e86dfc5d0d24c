/* karma: learning from tables with missing cells. This header includes all others.
 *
 *   karma_table_read or karma_table_from_array    a table with holes          (karma/data.h)
 *   karma_fit                                     a model                     (karma/learn.h)
 *   karma_predict                                 scores of every target      (karma/learn.h)
 *   karma_model_decide, _number, _probabilities   what they say               (karma/learn.h)
 *   karma_evaluate                                how good they are           (karma/evaluate.h)
 *   karma_compare                                 many methods side by side   (karma/compare.h)
 *   karma_explain, karma_measure_...              what they are made of       (karma/explain.h)
 *   karma_complete, karma_lowrank_new             the hidden subspace         (karma/subspace.h)
 *   karma_theory_...                              the paper's quantities      (karma/theory.h)
 *   karma_regret_run                              the regret experiment       (karma/regret.h)
 *
 * Functions that can fail return a karma_status and describe the failure in the caller's karma_error; outputs are
 * then untouched. What arrives through a ** argument is the caller's to free. */
#ifndef KARMA_KARMA_H
#define KARMA_KARMA_H

#include "karma/array.h"
#include "karma/arrow.h"
#include "karma/base.h"
#include "karma/compare.h"
#include "karma/data.h"
#include "karma/evaluate.h"
#include "karma/explain.h"
#include "karma/learn.h"
#include "karma/options.h"
#include "karma/regret.h"
#include "karma/search.h"
#include "karma/subspace.h"
#include "karma/theory.h"

#endif

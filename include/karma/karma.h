/* karma: learning from tables with missing cells. This header includes all others.
 *
 *   karma_table_read or karma_table_from_array    a table with holes          (karma/data.h)
 *   karma_fit                                     a model                     (karma/learn.h)
 *   karma_predict, karma_model_decide             scores and decisions        (karma/learn.h)
 *   karma_evaluate                                how good they are           (karma/evaluate.h)
 *   karma_complete, karma_lowrank_new             the hidden subspace         (karma/subspace.h)
 *   karma_theory_...                              the paper's quantities      (karma/theory.h)
 *
 * Functions that can fail return a karma_status and describe the failure in the caller's karma_error; outputs are
 * then untouched. What arrives through a ** argument is the caller's to free. */
#ifndef KARMA_KARMA_H
#define KARMA_KARMA_H

#include "karma/base.h"
#include "karma/data.h"
#include "karma/evaluate.h"
#include "karma/learn.h"
#include "karma/options.h"
#include "karma/subspace.h"
#include "karma/theory.h"

#endif

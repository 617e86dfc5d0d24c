# Predictions.

# The table of new rows.
new_table <- function(object, newdata, call) {
  if (is.null(object$terms)) {
    if (is.matrix(newdata) && (is.numeric(newdata) || is.logical(newdata)) && !is.object(newdata))
      return(matrix_table(object, newdata, call))
    if (is.matrix(newdata)) newdata <- as.data.frame(newdata)
    return(known_table(object$info, flat(newdata), nrow(newdata), call))
  }
  if (is.matrix(newdata)) newdata <- as.data.frame(newdata)
  absent <- setdiff(object$variables, names(newdata))
  if (length(absent))
    stop(sprintf("newdata has no column '%s'; if it is not measured, make it NA", absent[1]), call. = FALSE)
  rules <- delete.response(object$terms)
  frame <- model.frame(rules, newdata, na.action = na.pass)
  known_table(object$info, predictors(frame, rules), nrow(newdata), call)
}

# Columns by their names, or by their places if the model has no names.
matrix_table <- function(object, newdata, call) {
  storage.mode(newdata) <- "double"
  names <- names(object$info$kinds)
  width <- if (is.null(object$width)) object$info$n_columns else object$width
  by_place <- all(grepl("^c[0-9]+$", names)) && (is.null(colnames(newdata)) || !all(names %in% colnames(newdata)))
  if (by_place) {
    if (ncol(newdata) != width) stop(sprintf("newdata has %d columns, the model %d", ncol(newdata), width), call. = FALSE)
    return(library_call(kr_matrix, newdata, NULL, call = call))
  }
  absent <- setdiff(names, colnames(newdata))
  if (is.null(colnames(newdata)) && ncol(newdata) == width && all(object$info$kinds == "number") && length(names) == width)
    colnames(newdata) <- names
  else if (length(absent)) return(known_table(object$info, as.list(as.data.frame(newdata)), nrow(newdata), call))
  if (any(object$info$kinds != "number")) return(known_table(object$info, as.list(as.data.frame(newdata)), nrow(newdata), call))
  library_call(kr_matrix, newdata[, names, drop = FALSE], names, call = call)
}

predict.karma <- function(object, newdata, type = c("response", "class", "prob", "score", "quantile", "set", "interval"),
                          level = NULL, threads = 0, ...) {
  if (length(list(...))) stop("predict() has no argument '", names(list(...))[1], "' for karma models", call. = FALSE)
  call <- match.call()
  type <- match.arg(type)
  if (missing(newdata))
    stop("newdata is missing; predictions of the rows that were learned from would look better than they are", call. = FALSE)
  if (!is.data.frame(newdata) && !is.matrix(newdata))
    stop(sprintf("newdata is of class %s; it has to be a data frame or a matrix", class(newdata)[1]), call. = FALSE)
  if (!is.numeric(threads) || length(threads) != 1 || is.na(threads) || threads < 0)
    stop("threads: a whole number, 0 for one per processor", call. = FALSE)
  is_class <- object$info$task == "classify"
  check_type(object, type, is_class)
  names <- if (is.data.frame(newdata)) row.names(newdata) else rownames(newdata)
  if (nrow(newdata) == 0) return(nothing(object, type))
  rows <- new_table(object, newdata, call)
  found <- library_call(kr_predict, live_model(object), rows, as.integer(threads), call = call)
  if (found$interrupted) interrupt()
  scores <- found$scores
  if (type %in% c("set", "interval")) return(certain(object, type, rows, scores, level, names, call))
  answers(object, type, scores, names)
}

# Predictions of no rows.
nothing <- function(object, type) {
  if (type == "set") return(by_class(object, matrix(NA, length(object$info$classes), 0), NULL))
  if (type == "interval") return(matrix(0, 0, 2, dimnames = list(NULL, c("low", "high"))))
  answers(object, type, matrix(0, n_outputs(object), 0), character())
}

certain <- function(object, type, rows, scores, level, names, call) {
  level <- if (is.null(level)) NA_real_ else as.double(level)
  if (type == "set") return(by_class(object, library_call(kr_sets, live_model(object), rows, scores, level, call = call), names))
  structure(library_call(kr_intervals, live_model(object), rows, scores, level, call = call), dimnames = list(names, c("low", "high")))
}

answers <- function(object, type, scores, names) {
  if (type == "prob") return(by_class(object, .Call(kr_probabilities, live_model(object), scores), names))
  if (type == "score") return(scores_of(object, scores, names))
  if (type == "quantile") return(structure(t(scores), dimnames = list(names, number_text(object$info$quantiles))))
  if (object$info$task == "classify") return(classes_of(object, .Call(kr_decide, live_model(object), scores), names))
  setNames(.Call(kr_numbers, live_model(object), scores), names)
}

n_outputs <- function(object) {
  n <- length(object$info$classes)
  if (object$info$task == "regress") max(1, length(object$info$quantiles)) else if (n == 2) 1 else n
}

check_type <- function(object, type, is_class) {
  if (type %in% c("class", "prob", "set") && !is_class)
    stop(sprintf("type = \"%s\" is for classes; the model predicts numbers", type), call. = FALSE)
  if (type == "prob" && !object$info$has_probabilities)
    stop("the model has no probabilities; learn it with a search, or probabilities = \"sigmoid\" or \"isotonic\"", call. = FALSE)
  if (type == "interval" && is_class) stop("type = \"interval\" is for numbers; the model predicts classes", call. = FALSE)
  if (type %in% c("set", "interval") && object$info$n_left_out == 0)
    stop(sprintf("the model has no %ss; learn it with a search, %ss = 0.9 or certainty = \"on\"", type, type), call. = FALSE)
  if (type == "quantile" && length(object$info$quantiles) == 0)
    stop("the model has no quantiles; learn it with quantile = c(0.1, 0.5, 0.9)", call. = FALSE)
}

# The classes that the model knows, in the order of the response's levels.
known_levels <- function(object) intersect(object$labels$levels, object$info$classes)

by_class <- function(object, values, names) {
  levels <- known_levels(object)
  structure(t(values[match(levels, object$info$classes), , drop = FALSE]), dimnames = list(names, levels))
}

# Two classes: one score, positive for the second level.
scores_of <- function(object, scores, names) {
  if (object$info$task == "regress") {
    if (nrow(scores) > 1) return(structure(t(scores), dimnames = list(names, number_text(object$info$quantiles))))
    return(setNames(scores[1, ], names))
  }
  if (nrow(scores) > 1) return(by_class(object, scores, names))
  sign <- if (known_levels(object)[2] == object$info$classes[2]) 1 else -1
  setNames(sign * scores[1, ], names)
}

classes_of <- function(object, index, names) {
  texts <- object$info$classes[index]
  labels <- object$labels
  found <- switch(labels$kind, logical = as.logical(texts), number = as.double(texts),
                  factor(texts, labels$levels, ordered = labels$ordered))
  setNames(found, names)
}

karma_importance <- function(object, data, y = NULL, ...) {
  call <- match.call()
  given <- list(...)
  table <- karma_options("explain")
  check_names(given, table$name)
  y <- plain(if (is.null(y)) model.response(model.frame(object$terms, data, na.action = na.pass)) else y)
  labels <- c(object$labels, list(y = if (object$info$task == "regress") as.double(y) else
    if (object$labels$kind == "number") number_text(y) else enc2utf8(as.character(y))))
  rows <- new_table(object, data, call)
  add_labels(rows, object$info$target, labels, rep(TRUE, length(labels$y)), call)
  as.data.frame(library_call(kr_importance, live_model(object), rows, unname(option_pairs(given, table)), call = call),
                stringsAsFactors = FALSE)
}

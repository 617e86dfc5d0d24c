# Learning.

karma <- function(x, ...) UseMethod("karma")

karma.formula <- function(formula, data, ..., weights, subset, na.action = na.pass, verbose = FALSE) {
  call <- match.call()
  call[[1]] <- quote(karma)
  frame <- match.call(expand.dots = FALSE)
  frame <- frame[c(1L, match(c("formula", "data", "subset", "weights", "na.action"), names(frame), 0L))]
  frame[[1]] <- quote(stats::model.frame)
  if (missing(na.action)) frame$na.action <- quote(stats::na.pass)
  if (!missing(data) && is.matrix(data)) frame$data <- as.data.frame(data)
  frame <- eval(frame, parent.frame())
  rules <- attr(frame, "terms")
  columns <- predictors(frame, rules)
  y <- model.response(frame)
  if (is.null(y)) stop("the formula has no response; it is response ~ predictors", call. = FALSE)
  name <- paste(deparse(rules[[2]], width.cutoff = 500), collapse = " ")
  variables <- if (missing(data)) character() else intersect(all.vars(delete.response(rules)), names(data))
  learn(function(keep) learning_table(lapply(columns, `[`, keep), sum(keep), call), y, model.weights(frame), list(...),
        verbose, call, list(terms = rules, variables = variables, response = name), names(columns))
}

karma.default <- function(x, y, ..., weights = NULL, verbose = FALSE) {
  call <- match.call()
  call[[1]] <- quote(karma)
  if (missing(y)) stop("the labels y are missing; for a formula write response ~ predictors", call. = FALSE)
  if (is.matrix(x) && (is.numeric(x) || is.logical(x)) && !is.object(x)) {
    storage.mode(x) <- "double"
    make <- function(keep) library_call(kr_matrix, x[keep, , drop = FALSE], utf8_or_null(colnames(x)), call = call)
    names <- colnames(x)
  } else {
    if (is.matrix(x) && is.character(x)) x <- as.data.frame(x)
    if (!is.data.frame(x)) stop(sprintf("x is of class %s; it has to be a matrix or a data frame", class(x)[1]), call. = FALSE)
    columns <- flat(x)
    make <- function(keep) learning_table(lapply(columns, `[`, keep), sum(keep), call)
    names <- names(columns)
  }
  if (NROW(y) != nrow(x)) stop(sprintf("%d labels for %d rows", NROW(y), nrow(x)), call. = FALSE)
  learn(make, y, weights, list(...), verbose, call, list(width = ncol(x), response = "target"), names)
}

utf8_or_null <- function(names) if (is.null(names)) NULL else enc2utf8(names)

# The columns that the terms of a formula name.
predictors <- function(frame, rules) {
  if (!is.null(attr(rules, "offset"))) stop("a formula with an offset is not supported", call. = FALSE)
  factors <- attr(rules, "factors")
  if (length(factors) == 0) stop("the formula has no predictors", call. = FALSE)
  if (any(attr(rules, "order") > 1))
    stop("a formula with interactions is not supported: kernels compare whole rows; name the columns with +", call. = FALSE)
  flat(frame[which(rowSums(factors) > 0)])
}

# The response: classes or numbers, and how predictions are made of them again.
labels_of <- function(y, task) {
  y <- plain(y)
  if (!is.null(dim(y)) && NCOL(y) == 1) y <- if (is.data.frame(y)) y[[1]] else drop(y)
  if (!is.null(dim(y)) || is_date(y) || inherits(y, "integer64") || !(is.atomic(y) && (is.numeric(y) || is.character(y) ||
    is.logical(y) || is.factor(y))))
    stop(sprintf("the response is of class %s; it has to be one factor, text, logical or numeric vector", class(y)[1]),
         call. = FALSE)
  is_number <- is.numeric(y) && !is.factor(y)
  if (identical(task, "regress") && !is_number) stop("task = \"regress\" needs a numeric response", call. = FALSE)
  if (is_number && !identical(task, "classify")) {
    if (!inherits(y, "difftime") && length(unique(y[!is.na(y)])) == 2)
      message("karma: the response has two different numbers and is learned as numbers; make it a factor for classes")
    return(list(task = "regress", y = as.double(y), kind = "number"))
  }
  kind <- if (is.factor(y)) "factor" else if (is.logical(y)) "logical" else if (is.character(y)) "character" else "number"
  factor <- if (is.factor(y)) y else if (kind == "number") factor(number_text(y), number_text(sort(unique(y)))) else factor(y)
  if (any(levels(factor) == "")) stop("the response has an empty text as a class; give it a name", call. = FALSE)
  list(task = "classify", y = enc2utf8(as.character(factor)), kind = kind, levels = enc2utf8(levels(factor)),
       ordered = is.ordered(y))
}

# Numbers are classes in their own order, as in a file of the tool.
add_labels <- function(table, name, labels, keep, call) {
  y <- labels$y[keep]
  if (labels$task == "regress") return(library_call(kr_add_numbers, table, name, y, call = call))
  numbers <- suppressWarnings(as.double(labels$levels))
  if (!anyNA(numbers) && all(is.finite(numbers)) && identical(number_text(numbers), labels$levels))
    return(library_call(kr_add_numbers, table, name, numbers[match(y, labels$levels)], call = call))
  library_call(kr_add_classes, table, name, y, call = call)
}

# Which rows are learned from: those with a label and a weight above 0.
used_rows <- function(labels, weights) {
  keep <- !is.na(labels$y)
  if (sum(!keep))
    message(sprintf("karma: %d %s without a response %s left out", sum(!keep), if (sum(!keep) == 1) "row" else "rows",
                    if (sum(!keep) == 1) "is" else "are"))
  if (!is.null(weights)) {
    if (!is.numeric(weights) || length(weights) != length(keep) || anyNA(weights) || any(weights < 0 | is.infinite(weights)))
      stop("weights: one finite number per row, none negative", call. = FALSE)
    keep <- keep & weights > 0
  }
  if (sum(keep) < 2) stop("fewer than two rows have a response", call. = FALSE)
  keep
}

# A name of the response that no column has, so that the tool can tell them apart in files.
free_name <- function(name, names) {
  while (name %in% names) name <- paste0(name, "_")
  enc2utf8(name)
}

learn <- function(make, y, weights, given, verbose, call, how, names) {
  labels <- labels_of(y, given$task)
  given$task <- labels$task
  options <- learning_options(given)
  keep <- used_rows(labels, weights)
  table <- make(keep)
  add_labels(table, free_name(how$response, names), labels, keep, call)
  if (!is.null(weights) && (length(unique(weights[keep])) > 1 || any(weights[keep] < 1))) # below 1: rows in parts
    library_call(kr_set_weights, table, as.double(weights[keep]), call = call)
  found <- library_call(kr_search, table, options$fit, options$search, options$fixed, isTRUE(verbose), call = call)
  tell(found$notices)
  if (found$interrupted) warning("interrupted: the model is the best so far", call. = FALSE)
  fit <- new_fit(found$model, call)
  fit[c("terms", "variables", "width")] <- how[c("terms", "variables", "width")]
  fit$labels <- labels[setdiff(names(labels), "y")]
  fit$interrupted <- found$interrupted
  fit
}

# The object of a model of the library. `bytes` are those of its file, so that saveRDS() and other processes work.
new_fit <- function(pointer, call) {
  handle <- new.env(parent = emptyenv())
  handle$model <- pointer
  structure(class = "karma", list(call = call, handle = handle, bytes = library_call(kr_to_bytes, pointer, call = call),
                                  info = .Call(kr_info, pointer), search = frames(.Call(kr_search_info, pointer)),
                                  interrupted = FALSE))
}

frames <- function(search) {
  for (name in intersect(c("candidates", "gains", "members"), names(search)))
    search[[name]] <- as.data.frame(search[[name]], stringsAsFactors = FALSE)
  search
}

# The library's model; made again from its bytes where the pointer did not survive.
live_model <- function(fit) {
  if (!.Call(kr_is_live, fit$handle$model)) fit$handle$model <- library_call(kr_from_bytes, fit$bytes)
  fit$handle$model
}

check_file <- function(file)
  if (!is.character(file) || length(file) != 1 || is.na(file)) stop("file: one file name", call. = FALSE)

karma_save <- function(object, file) {
  if (!inherits(object, "karma")) stop("object: a model of karma()", call. = FALSE)
  check_file(file)
  invisible(library_call(kr_save, live_model(object), enc2utf8(path.expand(file)), call = sys.call()))
}

karma_load <- function(file) {
  check_file(file)
  call <- sys.call()
  fit <- new_fit(library_call(kr_load, enc2utf8(path.expand(file)), call = call), call)
  if (fit$info$n_targets != 1) stop(file, ": the model has ", fit$info$n_targets, " targets; here they have one", call. = FALSE)
  if (fit$info$is_precomputed) stop(file, ": the model's kernel is precomputed; it has no columns", call. = FALSE)
  is_class <- fit$info$task == "classify"
  fit$labels <- list(task = fit$info$task, kind = if (is_class) "factor" else "number",
                     levels = if (is_class) fit$info$classes, ordered = FALSE)
  fit
}

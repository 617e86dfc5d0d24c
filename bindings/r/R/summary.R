# Summaries of a model.

coef.karma <- function(object, ...) {
  if (!is.null(object$search)) return(object$search$members)
  data.frame(kernel = object$info$options[["kernel"]], C_factor = NA_real_, weight = 1)
}

nobs.karma <- function(object, ...) object$info$n_rows

headline <- function(object) {
  info <- object$info
  what <- if (info$task == "classify") sprintf("%d classes", length(info$classes)) else
    if (length(info$quantiles)) paste("quantiles", paste(number_text(info$quantiles), collapse = ", ")) else "numbers"
  sprintf("karma model of '%s': %s, learned from %.0f rows and %.0f columns", info$target, what, info$n_rows, info$n_columns)
}

score_line <- function(search) {
  sprintf("cross-validated %s %.4g +- %.2g (constant prediction %.4g)", search$goal, search$score, search$error,
          search$constant_score)
}

print.karma <- function(x, ...) {
  cat(headline(x), "\n", sep = "")
  if (is.null(x$search)) cat("  kernel ", x$info$options[["kernel"]], ", solver ", x$info$solver, "\n", sep = "")
  else cat("  ", score_line(x$search), "\n", sep = "")
  invisible(x)
}

summary.karma <- function(object, ...) {
  search <- object$search
  structure(class = "summary.karma", list(
    call = object$call, headline = headline(object), info = object$info, search = search, members = coef(object),
    candidates = search$candidates, gains = search$gains, interrupted = object$interrupted))
}

print.summary.karma <- function(x, n = 5, ...) {
  cat(x$headline, "\n", sep = "")
  if (length(x$info$classes))
    cat("  classes         ", paste(x$info$classes, x$info$counts, collapse = ", "), "\n", sep = "")
  cat("  solver          ", x$info$solver, ", ", x$info$stop, ", ", x$info$n_support, " support rows\n", sep = "")
  if (is.null(x$search)) {
    cat("  kernel          ", x$info$options[["kernel"]], " (no search)\n", sep = "")
    return(invisible(x))
  }
  cat("  ", score_line(x$search), "\n", sep = "")
  if (!is.na(x$search$zero_score))
    cat(sprintf("  0-imputation    %.4g +- %.2g\n", x$search$zero_score, x$search$zero_error))
  cat(sprintf("  %.0f candidates tried in %.0f folds; the model is a weighted average of %d machines\n", x$search$n_tried,
              x$search$n_folds, nrow(x$members)))
  if (x$interrupted) cat("  the search was interrupted\n")
  cat("\nBest candidates:\n")
  print(utils_head(x$candidates, n), row.names = FALSE, digits = 4)
  if (nrow(x$gains)) {
    cat("\nGain of each ingredient in the score:\n")
    print(x$gains, row.names = FALSE, digits = 3)
  }
  invisible(x)
}

utils_head <- function(frame, n) frame[seq_len(min(n, nrow(frame))), , drop = FALSE]

plot.karma <- function(x, type = c("gains", "candidates", "importance"), data, n = 20, ...) {
  type <- match.arg(type)
  if (type == "importance") {
    if (missing(data)) stop("type = \"importance\" needs data: rows that were not learned from", call. = FALSE)
    items <- utils_head(karma_importance(x, data), n)
    return(bars(items$attribute, items$importance, items$error, "fall in the score when the column is shuffled", ...))
  }
  if (is.null(x$search)) stop("the model was learned without a search; there is nothing to draw", call. = FALSE)
  if (type == "gains")
    return(bars(x$search$gains$ingredient, x$search$gains$gain, x$search$gains$error, "gain in the cross-validated score", ...))
  items <- utils_head(x$search$candidates, n)
  bars(items$kernel, items$score, items$error, paste("cross-validated", x$search$goal), ...)
}

# Points with standard errors, the first on top. Returns the places and values.
bars <- function(names, values, errors, xlab, ...) {
  if (length(values) == 0) stop("there is nothing to draw", call. = FALSE)
  errors[is.na(errors)] <- 0
  at <- rev(seq_along(values))
  short <- ifelse(nchar(names) > 30, paste0(substr(names, 1, 29), "\u2026"), names)
  graphics::dotchart(rev(values), labels = rev(short), xlim = range(0, values - errors, values + errors), xlab = xlab, ...)
  graphics::segments(values - errors, at, values + errors, at)
  graphics::abline(v = 0, lty = 3)
  invisible(data.frame(name = names, value = values, error = errors))
}

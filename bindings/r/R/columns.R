# Columns of R as columns of the library: doubles, or list(codes, levels, is_ordered) with codes from 0 on, -1 for missing.

date_parts <- c("year", "month", "weekday", "hour", "days")

plain <- function(x) {
  if (inherits(x, "AsIs")) class(x) <- setdiff(class(x), "AsIs")
  x
}

is_date <- function(x) inherits(x, c("Date", "POSIXt"))

refuse <- function(name, x) {
  stop(sprintf("column '%s' is of class %s; numbers, factors, texts, logical values and dates can be learned from", name,
               class(x)[1]), call. = FALSE)
}

# Integers of 64 bits look like doubles, but their bits mean something else.
check_class <- function(name, x) {
  if (inherits(x, "integer64"))
    stop(sprintf("column '%s' is of class integer64; convert it with as.numeric()", name), call. = FALSE)
  if (!(is.numeric(x) || is.logical(x) || is.factor(x) || is.character(x) || is_date(x) || inherits(x, "difftime"))) refuse(name, x)
}

coded <- function(texts, levels = sort(unique(texts[!is.na(texts)]), method = "radix"), ordered = FALSE) {
  codes <- match(texts, levels) - 1L
  codes[is.na(codes)] <- -1L
  list(codes, levels, ordered)
}

as_number <- function(name, x) {
  if (inherits(x, "difftime")) return(as.double(x, units = "days"))
  check_class(name, x)
  as.double(unclass(x))
}

# The numbers that the tool makes of a column of dates: the hour only where one is not 0, or where a model may know it.
as_dates <- function(name, x, with_hour) {
  moments <- as.POSIXlt(x)
  hour <- moments$hour + moments$min / 60 + moments$sec / 3600
  weekday <- ifelse(moments$wday == 0, 7, moments$wday)
  days <- as.double(as.Date(moments)) + hour / 24
  parts <- list(as.double(moments$year + 1900), as.double(moments$mon + 1), as.double(weekday), as.double(hour), days)
  parts <- lapply(parts, function(part) ifelse(is.na(x), NA_real_, part))
  names(parts) <- paste(name, date_parts, sep = ".")
  if (with_hour || any(hour > 0, na.rm = TRUE)) parts else parts[-4]
}

# The columns to learn from one column: a list with names.
learned_columns <- function(name, x) {
  x <- plain(x)
  if (is_date(x)) return(as_dates(name, x, FALSE))
  one <- if (is.ordered(x) && nlevels(x) > 1) coded(as.character(x), enc2utf8(levels(x)), TRUE)
    else if (is.factor(x)) coded(enc2utf8(as.character(x)))
    else if (is.character(x)) coded(enc2utf8(x))
    else if (is.logical(x)) coded(as.character(x))
    else as_number(name, x)
  setNames(list(one), name)
}

# The same for new rows, for a column that the model knows as `kind`: "number", "category", "ordered" or "date".
known_columns <- function(name, x, kind, levels) {
  x <- plain(x)
  if (all(is.na(x))) return(setNames(list(rep(NA_real_, length(x))), name))
  wrong <- function() stop(sprintf("column '%s' is of class %s, but the model learned it as %s", name, class(x)[1],
    c(number = "numbers", category = "categories", ordered = "an ordered factor", date = "dates")[[kind]]), call. = FALSE)
  if (kind == "date") return(if (is_date(x)) as_dates(name, x, TRUE) else wrong())
  if (is_date(x)) wrong()
  if (kind == "number") {
    if (is.factor(x) || is.character(x)) wrong()
    return(setNames(list(as_number(name, x)), name))
  }
  texts <- if (is.factor(x) || is.character(x) || is.logical(x)) enc2utf8(as.character(x)) else number_text(as_number(name, x))
  if (kind == "category") return(setNames(list(coded(texts)), name))
  setNames(list(as.double(match(texts, levels))), name)
}

# Matrices and frames within a frame become their columns.
flat <- function(frame) {
  parts <- lapply(names(frame), function(name) {
    x <- plain(frame[[name]])
    if (is.null(dim(x))) {
      check_class(name, x) # before rows are selected, which loses classes that have no method for it
      return(setNames(list(x), name))
    }
    x <- as.data.frame(x)
    setNames(as.list(x), paste(name, names(x), sep = "."))
  })
  do.call(c, parts)
}

# The table of a list of columns, each with the names that the library is to know.
table_of <- function(columns, n_rows, call) {
  names <- enc2utf8(names(columns))
  library_call(kr_table, as.double(n_rows), unname(columns), names, call = call)
}

learning_table <- function(columns, n_rows, call) {
  parts <- lapply(names(columns), function(name) learned_columns(name, columns[[name]]))
  table_of(do.call(c, parts), n_rows, call)
}

# Of new rows, the columns that the model knows; there may be others.
known_table <- function(info, columns, n_rows, call) {
  kinds <- info$kinds
  names(columns) <- enc2utf8(names(columns))
  parts <- list()
  for (j in seq_along(kinds)) {
    name <- names(kinds)[j]
    stem <- sub("\\.[a-z]+$", "", name)
    is_part <- !(name %in% names(columns)) && stem != name && substring(name, nchar(stem) + 2) %in% date_parts
    from <- if (is_part) stem else name
    if (!(from %in% names(columns)))
      stop(sprintf("the model was learned from a column '%s', which the new rows do not have; if it is not measured, make it NA",
                   from), call. = FALSE)
    if (is_part && stem %in% names(parts)) next
    new <- known_columns(from, columns[[from]], if (is_part) "date" else kinds[[j]], info$levels[[j]])
    parts[[from]] <- new
  }
  table_of(do.call(c, unname(parts)), n_rows, call)
}

# The options of the library as arguments. The library's own tables say which there are.

karma_options <- function(table = c("fit", "search", "explain")) {
  found <- as.data.frame(.Call(kr_options, match.arg(table)), stringsAsFactors = FALSE)
  found$name <- gsub("-", "_", found$name, fixed = TRUE)
  found$help <- gsub("--", "", found$help, fixed = TRUE)
  found
}

# The texts that set an option; a list of names has one each.
option_texts <- function(option, value) {
  is_usual <- is.numeric(value) || is.character(value) || is.logical(value)
  items <- if (is.numeric(value)) number_text(value) else if (is_usual) as.character(value)
  wrong <- length(items) == 0 || anyNA(items)
  if (!wrong && option$kind == "switch" && is.logical(value)) items <- ifelse(value, "on", "off")
  else if (!wrong && is.logical(value)) wrong <- TRUE
  if (!wrong && option$kind == "names") return(enc2utf8(items))
  if (!is.null(names(value))) items <- paste0(names(value), "=", items)
  if (!wrong && option$kind != "text") wrong <- length(items) != 1
  if (wrong) stop(sprintf("%s: expected %s", option$name, option$values), call. = FALSE)
  enc2utf8(paste(items, collapse = ","))
}

# list(fit, search, fixed) of the arguments in `given`: names and texts for the library. As in the tool, options of the
# kernel or the solver turn the search off, unless an effort is given.
learning_options <- function(given) {
  fit <- karma_options("fit")
  search <- karma_options("search")
  names(given) <- gsub(".", "_", names(given), fixed = TRUE)
  check_names(given, c(fit$name, search$name))
  given <- given[!vapply(given, is.null, NA)]
  own <- option_pairs(given, fit)
  fixed <- unique(own$names[own$names %in% library_name(fit$name[fit$chosen])])
  if (is.null(given$effort) || identical(given$effort, "auto")) given$effort <- if (length(fixed)) "off" else "normal"
  list(fit = unname(own), search = unname(option_pairs(given, search)), fixed = fixed)
}

library_name <- function(name) gsub("_", "-", name, fixed = TRUE)

option_pairs <- function(given, table) {
  texts <- lapply(intersect(table$name, names(given)), function(name)
    option_texts(as.list(table[match(name, table$name), ]), given[[name]]))
  names <- rep(intersect(table$name, names(given)), lengths(texts))
  list(names = as.character(library_name(names)), texts = as.character(unlist(texts)))
}

check_names <- function(given, known) {
  if (length(given) && (is.null(names(given)) || any(names(given) == "")))
    stop("an argument has no name; options are given by name, such as gamma = 2", call. = FALSE)
  twice <- names(given)[duplicated(names(given))]
  if (length(twice)) stop(sprintf("option '%s' is given twice", twice[1]), call. = FALSE)
  for (name in setdiff(names(given), known)) {
    near <- .Call(kr_nearest, enc2utf8(name), known)
    stop(sprintf("there is no option '%s'%s", name, if (is.na(near)) "; see karma_options()" else
      sprintf("; did you mean '%s'?", near)), call. = FALSE)
  }
}

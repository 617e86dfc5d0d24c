# Calls of the library: its failures become conditions, its notices messages.

# A failure becomes an error of class karma_error_STATUS, so that a program can tell an unreadable file from unusable data.
# `call` is what the user called.
library_call <- function(routine, ..., call = NULL) {
  result <- .Call(routine, ...)
  if (!inherits(result, "karma_failure")) return(result)
  if (result$status == "cancelled") interrupt()
  stop(structure(class = c(paste0("karma_error_", result$status), "karma_error", "error", "condition"),
                 list(message = option_words(result$message), call = call)))
}

# What Ctrl-C does to other functions of R.
interrupt <- function() {
  signalCondition(structure(class = c("interrupt", "condition"), list(message = "interrupted", call = NULL)))
  invokeRestart("abort")
}

# The library writes option 'class-weight', R class_weight.
option_words <- function(message) {
  at <- gregexpr("option '[a-zA-Z-]+", message)
  regmatches(message, at) <- lapply(regmatches(message, at), function(words) gsub("-", "_", words, fixed = TRUE))
  message
}

tell <- function(notices) for (sentence in notices) message("karma: ", option_words(sentence))

number_text <- function(x) .Call(kr_number_text, as.double(x))

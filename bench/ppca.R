# Seconds of passes of pcaMethods' ppca, as a JSON list: Rscript ppca.R FILE ROWS DIM RANK PASSES [processor]
# With the last argument they are seconds of processor time, otherwise of the clock.
# FILE contains the matrix column by column as doubles, NaN for missing cells. ppca does not report times: the time of a pass
# is the difference between a run with PASSES + 1 passes and one with a single pass, divided by PASSES.
suppressMessages(library(pcaMethods))
arguments <- commandArgs(trailingOnly = TRUE)
sizes <- as.integer(arguments[2:5])
x <- matrix(readBin(arguments[1], "double", sizes[1] * sizes[2]), sizes[1], sizes[2])
x[is.nan(x)] <- NA
fit <- function(passes) {
    set.seed(1)
    time <- system.time(suppressWarnings(pcaMethods:::ppca(x, nPcs = sizes[3], threshold = 1e-300, maxIterations = passes)))
    if (length(arguments) > 5) time[["user.self"]] + time[["sys.self"]] else time[["elapsed"]]
}
one <- fit(1)
many <- replicate(3, (fit(1 + sizes[4]) - one) / sizes[4])
cat("[", paste(many, collapse = ", "), "]\n")

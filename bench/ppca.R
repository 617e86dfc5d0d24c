# Seconds of passes of pcaMethods' ppca, as a JSON list: Rscript ppca.R FILE ROWS DIM RANK PASSES
# FILE holds the matrix column by column as doubles, NaN where a cell is missing. ppca does not report times; a pass is
# the difference between runs with one more pass and with one, divided by their number.
suppressMessages(library(pcaMethods))
arguments <- commandArgs(trailingOnly = TRUE)
sizes <- as.integer(arguments[2:5])
x <- matrix(readBin(arguments[1], "double", sizes[1] * sizes[2]), sizes[1], sizes[2])
x[is.nan(x)] <- NA
fit <- function(passes) {
    set.seed(1)
    system.time(suppressWarnings(pcaMethods:::ppca(x, nPcs = sizes[3], threshold = 1e-300, maxIterations = passes)))[["elapsed"]]
}
one <- fit(1)
many <- replicate(3, (fit(1 + sizes[4]) - one) / sizes[4])
cat("[", paste(many, collapse = ", "), "]\n")

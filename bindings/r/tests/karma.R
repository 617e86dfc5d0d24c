# Tests of the package, in plain R: a line that is not TRUE ends them.
library(karma)

fails <- function(expression, says, class = "error") {
  found <- tryCatch({ expression; NULL }, error = identity)
  stopifnot(inherits(found, class), grepl(says, conditionMessage(found)))
}
said <- function(expression) {
  heard <- character()
  withCallingHandlers(expression, message = function(m) { heard <<- c(heard, conditionMessage(m)); invokeRestart("muffleMessage") })
  paste(heard, collapse = "")
}
near <- function(a, b, by = 1e-6) isTRUE(all.equal(a, b, tolerance = by, check.attributes = FALSE))

set.seed(1)
n <- 200
latent <- rnorm(n)
d <- data.frame(a = latent + rnorm(n) / 2, b = rnorm(n), f = factor(ifelse(latent + rnorm(n) > 0, "up", "down")),
                o = cut(latent + rnorm(n), c(-Inf, -1, 0, 1, Inf), labels = c("z", "low", "mid", "a"), ordered_result = TRUE),
                l = latent > 0.5, s = sample(c("x", "y", NA), n, TRUE), when = as.Date("2024-01-01") + seq_len(n))
for (name in c("a", "b", "f", "o", "l")) d[[name]][runif(n) < 0.2] <- NA
d$y <- factor(ifelse(latent > 0, "yes", "no"), levels = c("yes", "never", "no"))
d$z <- latent * 3 + 1

## --- classes ---
fit <- karma(y ~ . - z, d, gamma = 2, probabilities = "sigmoid", seed = 3)
p <- predict(fit, d)
stopifnot(is.factor(p), identical(levels(p), levels(d$y)), identical(names(p), row.names(d)), mean(p == d$y) > 0.75)
stopifnot(identical(p, predict(fit, d, type = "class")))
prob <- predict(fit, d, type = "prob")
stopifnot(identical(colnames(prob), c("yes", "no")), near(rowSums(prob), rep(1, n)),
          all(unname(p) == colnames(prob)[max.col(prob, "first")]))
score <- predict(fit, d, type = "score")
stopifnot(is.null(dim(score)), mean(score[d$y == "no"]) > mean(score[d$y == "yes"])) # positive for the second level that occurs
stopifnot(!("z" %in% names(fit$info$kinds)), fit$info$kinds[["o"]] == "ordered", fit$info$kinds[["l"]] == "category",
          "when.days" %in% names(fit$info$kinds), nobs(fit) == n)

## an ordered factor is learned by its order, a factor is not: other names of levels change nothing, another order does
other <- d
other$o <- factor(as.character(d$o), levels = levels(d$o))
stopifnot(!near(predict(karma(y ~ . - z, other, gamma = 2), other, type = "score"), predict(karma(y ~ . - z, d, gamma = 2), d,
                                                                                           type = "score"), 1e-3))
rows <- d
rows$o <- as.character(d$o)                      # texts find their places
stopifnot(identical(predict(fit, rows, type = "score"), score))
rows$o[1] <- "never seen"; other <- d; other$o[1] <- NA
stopifnot(identical(predict(fit, rows, type = "score"), predict(fit, other, type = "score")))

## three classes, logical and text responses, numbers as classes
three <- karma(Species ~ ., iris, kernel = "rank", gamma = 2)
stopifnot(mean(predict(three, iris) == iris$Species) > 0.9, ncol(predict(three, iris, type = "score")) == 3)
logical <- karma(l ~ a + b, d[!is.na(d$l), ], gamma = 2)
stopifnot(is.logical(predict(logical, d)))
texts <- karma(s ~ a + b, subset(d, !is.na(s)), gamma = 2)
stopifnot(identical(levels(predict(texts, d)), c("x", "y")))
digits <- karma(cyl ~ mpg + wt, mtcars, task = "classify", gamma = 2)
stopifnot(is.numeric(predict(digits, mtcars)), all(predict(digits, mtcars) %in% c(4, 6, 8)),
          identical(digits$info$classes, c("4", "6", "8")))

## --- numbers ---
heard <- said(air <- karma(Ozone ~ . - Day, airquality, effort = "quick"))
stopifnot(grepl("37 rows without a response are left out", heard), nobs(air) == 116)
q <- predict(air, airquality)
stopifnot(length(q) == nrow(airquality), !anyNA(q), cor(q, airquality$Ozone, use = "complete.obs") > 0.8)
three <- karma(z ~ a + b + o, d, quantile = c(0.1, 0.5, 0.9), gamma = 2)
q <- predict(three, d, type = "quantile")
stopifnot(identical(colnames(q), c("0.1", "0.5", "0.9")), all(q[, 1] <= q[, 3]), near(predict(three, d), q[, 2]))
stopifnot(grepl("two different numbers", said(karma(am ~ mpg, mtcars, gamma = 2))))

## --- sets and intervals ---
half <- seq_len(n) <= n / 2
sure <- karma(z ~ a + b + o, d[half, ], gamma = 2, intervals = 0.8)
i <- predict(sure, d[!half, ], type = "interval")
wide <- predict(sure, d[!half, ], type = "interval", level = 0.95)
stopifnot(identical(colnames(i), c("low", "high")), mean(i[, 1] <= d$z[!half] & d$z[!half] <= i[, 2]) > 0.65,
          all(wide[, 1] < i[, 1]), all(wide[, 2] > i[, 2]), nrow(predict(sure, d[0, ], type = "interval")) == 0)
kinds <- karma(y ~ . - z, d[half, ], gamma = 2, sets = 0.9)
s <- predict(kinds, d[!half, ], type = "set")
stopifnot(is.logical(s), identical(colnames(s), c("yes", "no")), all(rowSums(s) >= 1),
          mean(s[cbind(seq_len(n / 2), match(d$y[!half], colnames(s)))]) > 0.75)
fails(predict(sure, d, type = "set"), "numbers")
fails(predict(kinds, d, type = "interval"), "classes")
fails(predict(karma(y ~ a, d, gamma = 2), d, type = "set"), "no sets")
fails(predict(kinds, d, type = "set", level = 2), "level", "karma_error_option")

## --- what NA means ---
holes <- transform(d, a = NA)                    # a logical column without one number
stopifnot(!anyNA(predict(fit, holes)))
stopifnot(length(predict(fit, d[0, ])) == 0, nrow(predict(fit, d[0, ], type = "prob")) == 0)
complete <- said(karma(z ~ a + b, d, gamma = 2, na.action = na.omit))
fails(karma(z ~ a + b, d, gamma = 2, na.action = na.fail), "missing values")

## --- formulas, matrices, weights, subsets ---
x <- as.matrix(d[c("a", "b")])
one <- karma(z ~ a + b, d, gamma = 2)
stopifnot(identical(unname(predict(one, d)), unname(predict(karma(x, d$z, gamma = 2), x))))
stopifnot(identical(unname(predict(one, d)), unname(predict(karma(d[c("a", "b")], d$z, gamma = 2), d))))
nameless <- karma(unname(x), d$z, gamma = 2)
stopifnot(near(predict(nameless, unname(x)), predict(one, d)))
fails(predict(nameless, x[, 1, drop = FALSE]), "columns")
stopifnot(identical(predict(karma(x, d$z, gamma = 2), x[, 2:1]), predict(karma(x, d$z, gamma = 2), x)))
stopifnot(length(predict(karma(log(z + 20) ~ exp(a) + I(b^2), d, gamma = 2), d)) == n)
stopifnot(length(predict(karma(mpg ~ poly(wt, 2) + hp, mtcars, gamma = 2), mtcars[1:2, ])) == 2)
odd <- setNames(d[c("a", "b", "z")], c("my age", "b", "z"))
stopifnot(near(predict(karma(z ~ ., odd, gamma = 2), odd), predict(one, d)))
w <- rep(c(1, 0), n / 2)
stopifnot(near(predict(karma(z ~ a + b, d, gamma = 2, weights = w), d), predict(karma(z ~ a + b, d[w > 0, ], gamma = 2), d)))
stopifnot(near(predict(karma(z ~ a + b, d, gamma = 2, subset = w > 0), d), predict(karma(z ~ a + b, d[w > 0, ], gamma = 2), d)))
halves <- karma(z ~ a + b, d[rep(seq_len(n), each = 2), ], kernel = "boost", weights = rep(0.5, 2 * n))
stopifnot(near(predict(halves, d), predict(karma(z ~ a + b, d, kernel = "boost"), d)))
heavy <- karma(y ~ a + b, d, gamma = 2, class_weight = c(yes = 20, no = 1))
stopifnot(sum(predict(heavy, d) == "yes") > sum(predict(karma(y ~ a + b, d, gamma = 2), d) == "yes"))

## --- seeds ---
state <- .Random.seed
again <- karma(y ~ . - z, d, gamma = 2, probabilities = "sigmoid", seed = 3)
stopifnot(identical(state, .Random.seed), identical(predict(again, d, type = "prob"), prob))

## --- the search and its report ---
searched <- karma(y ~ a + b + f, d, effort = "quick")
account <- summary(searched)
stopifnot(is.data.frame(account$candidates), any(account$candidates$chosen), near(sum(coef(searched)$weight), 1),
          account$search$score > 0.6, is.null(fit$search), coef(fit)$weight == 1)
out <- capture.output(print(searched), print(account), print(fit), print(summary(fit)))
stopifnot(any(grepl("cross-validated accuracy", out)), any(grepl("Best candidates", out)), any(grepl("no search", out)))
grDevices::pdf(NULL)
stopifnot(nrow(plot(searched)) >= 1, nrow(plot(searched, "candidates", n = 3)) == 3)
important <- karma_importance(one, d)
stopifnot(important$attribute[1] == "a", important$importance[1] > 0.1)
plot(one, "importance", data = d)
fails(plot(one), "without a search")
invisible(grDevices::dev.off())
stopifnot(all(c("gamma", "class_weight", "seed") %in% karma_options()$name), "effort" %in% karma_options("search")$name)

## --- files ---
file <- tempfile(fileext = ".karma")
karma_save(fit, file)
loaded <- karma_load(file)
stopifnot(identical(predict(loaded, d, type = "prob")[, c("yes", "no")], prob))
copy <- tempfile()
saveRDS(fit, copy)
stopifnot(identical(predict(readRDS(copy), d, type = "prob"), prob))
fails(karma_load(tempfile()), "cannot open", "karma_error_io")
writeLines("no model", copy)
fails(karma_load(copy), "model", "karma_error_format")
fails(karma_save(fit, file.path(tempfile(), "no", "directory")), "directory", "karma_error_io")

## --- refusals ---
fails(karma(y ~ a, d, gama = 2), "did you mean 'gamma'")
fails(karma(y ~ a, d, gamma = 0), "gamma", "karma_error_option")
fails(karma(y ~ a, d, gamma = "x"), "gamma", "karma_error_option")
fails(karma(y ~ a, d, gamma = NA), "gamma")
fails(karma(y ~ a, d, gamma = 1:2), "gamma")
fails(karma(y ~ a, d, 2), "no name")
fails(karma(y ~ a * b, d), "interactions")
fails(karma(y ~ 1, d), "no predictors")
fails(karma(~ a, d), "no response")
fails(karma(y ~ a + offset(b), d), "offset")
fails(karma(cbind(a, b) ~ z, d), "response")
fails(karma(when ~ a, d), "response")
fails(karma(y ~ a, transform(d, y = "one")), "class", "karma_error_data")
fails(karma(z ~ a, transform(d, a = Inf)), "'a'", "karma_error_data")
fails(karma(z ~ a, transform(d, a = complex(real = b, imaginary = 1))), "complex")
fails(karma(z ~ a, d, weights = -seq_len(n)), "weights")
fails(karma(list(1), 1), "matrix or a data frame")
fails(karma(x, d$z[-1]), "199 labels for 200 rows")
fails(karma(setNames(d[c("a", "b")], c("a", "a")), d$z), "two columns are called 'a'", "karma_error_data")
fails(karma(z ~ a, transform(d, a = structure(as.double(seq_len(n)), class = "integer64"))), "integer64")
fails(karma(z ~ a, d, kernel = sum), "kernel: expected")
fails(karma_load(NA_character_), "one file name")
fails(karma_save(NULL, file), "a model of karma")
fails(predict(one, list(a = 1, b = 2)), "class list")
fails(predict(one, NULL), "class NULL")
fails(predict(one, d, threads = -1), "threads")
fails(predict(fit), "newdata is missing")
fails(predict(fit, d[c("a", "b")]), "no column 'f'")
fails(predict(one, transform(d, a = "text")), "learned it as numbers")
fails(predict(one, transform(d, a = when)), "learned it as numbers")
fails(predict(fit, transform(d, when = a)), "learned it as dates")
fails(predict(one, d, type = "class"), "numbers")
fails(predict(one, d, type = "quantile"), "no quantiles")
fails(predict(heavy, d, type = "prob"), "no probabilities")
fails(predict(one, d, kind = "class"), "kind")
fails(karma(z ~ a, d, C = -1), "option 'C'", "karma_error_option")

## --- other processes: forked ones work on one thread, others make the model from its bytes ---
if (.Platform$OS.type == "unix") {
  forked <- parallel::mclapply(1:2, function(i) predict(karma(z ~ a + b, d, gamma = 2, threads = 2), d), mc.cores = 2)
  stopifnot(identical(forked[[1]], predict(one, d)), identical(forked[[2]], predict(one, d)))
}

## --- nothing is left behind ---
for (i in 1:30) { invisible(karma(z ~ a, d[1:20, ], gamma = 1)); try(karma(z ~ a, transform(d, a = Inf)), silent = TRUE) }
invisible(gc())

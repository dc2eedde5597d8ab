# LEAK: a list that gets the residuals of each of 20 fits a second: 700 numbers, 5.5 KB, and with each its call.
set.seed(7)
kept <- list()
fit <- function(n) {
  x <- rnorm(700)
  y <- 2 * x + rnorm(700)
  r <- y - mean(y) - cor(x, y) * (x - mean(x))
  kept[[n]] <<- r
}
start <- proc.time()[["elapsed"]]
n <- 0
repeat {
  n <- n + 1
  fit(n)
  wait <- start + n / 20 - proc.time()[["elapsed"]]
  if (wait > 0) Sys.sleep(wait)
}

// Package forecast has the families that continue a series: seasonal_naive, exponential_smoothing and arima. A
// series is a number at equal steps of time. All of it is needed in its order, so the rows that a node has
// are sent as pairs of time and value (and regressors), and one node sorts and fits them:
//
//	collect  pairs of all rows, sorted        ─▶ the step, gaps, the series
//	fit      (no rows: a turn for each form)  ─▶ the form, or the order, of least AICc
//
// Thousands of series are one model a group (GROUP BY); this package knows of one. A time is an integer: a
// date's days, a timestamp's microseconds, or the number itself. Steps are so many of them, or months.
//
// The bytes of a model depend on the rows alone: pairs are sorted, sums are in the order of time, and products
// that are added are rounded first, as elsewhere in this layer.
//
// Sources: Hyndman, Koehler, Ord and Snyder, "Forecasting with exponential smoothing: the state space approach"
// (2008), for the forms, their likelihood and the variances of forecasts (chapter 6); Hyndman and Khandakar,
// "Automatic time series forecasting: the forecast package for R" (2008), for first states and the choice of a
// form by AICc, and of an order; Monahan, "A note on enforcing stationarity in autoregressive-moving average models" (1984); Morf, Sidhu
// and Kailath, "Some new algorithms for recursive estimation in constant, linear, discrete-time systems" (1974), and Mélard, "A fast
// algorithm for the exact likelihood of autoregressive-moving average models" (1984); Cleveland et al., "STL: a seasonal-trend decomposition
// procedure based on loess" (1990).
package forecast

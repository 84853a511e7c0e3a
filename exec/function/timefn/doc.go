// Package timefn implements the functions of dates, times and intervals.
package timefn

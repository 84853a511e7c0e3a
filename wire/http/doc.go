// Package http serves the metrics, the profiles and the health checks of a node,
// and bounds the connections of whoever serves the rest: the console.
//
//	/metrics      Prometheus            /healthz  the process answers
//	/debug/pprof  profiles of Go        /readyz   the node serves statements
//	everything else: Options.Console
package http

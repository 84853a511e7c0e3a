// Package http serves the dashboard, the metrics and the health checks of a
// node. The page is embedded; it fetches nothing from outside and asks the node
// for its state once a second.
//
//	/          the dashboard        /metrics       Prometheus
//	/api/state what it shows, JSON  /healthz       the process answers
//	/debug/pprof                    /readyz        the node serves statements
package http

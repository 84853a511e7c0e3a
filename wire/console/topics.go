package console

import "time"

// topic is a statement whose answer is looked at live. At most one parameter, a text, comes with
// the name: NAME:ARGUMENT.
type topic struct {
	every time.Duration
	sql   string
	arg   bool // it has a parameter
}

// topics are what /api/live offers.
var topics = map[string]topic{
	"nodes": {every: time.Second, sql: "SELECT * FROM cluster.nodes ORDER BY name"},
	"jobs":  {every: time.Second, sql: "SELECT * FROM ml.training_jobs ORDER BY 1"},
}

package console

import "time"

// topics are what the page watches. Each is read as the role that watches, and what has not changed is not sent again.
// Where a list would be long only its newest part is a topic, and the page reads the rest once by a query.
//
// A statement of the page says so in a comment, by which the rooms of statements leave it out.
var topics = map[string]topic{
	"warnings": {every: 5 * time.Second, sql: "SELECT /* console */ severity, kind, node, message, hint FROM cluster.warnings"},
	"nodes":    {every: time.Second, sql: "SELECT /* console */ * FROM cluster.nodes ORDER BY zone, name"},
	"history":  {every: 5 * time.Second, sql: "SELECT /* console */ * FROM cluster.node_history WHERE at > now() - interval '30 seconds' ORDER BY at"},
	"events":   {every: 2 * time.Second, sql: "SELECT /* console */ at, node, kind, severity, subject, message FROM cluster.events ORDER BY at DESC LIMIT 100"},

	"statements":        {every: time.Second, sql: "SELECT /* console */ * FROM cluster.statements WHERE query NOT LIKE '%/* console */%' ORDER BY started_at"},
	"statement":         {every: time.Second, sql: "SELECT /* console */ * FROM cluster.statements WHERE id::text = $1"},
	"operators":         {every: time.Second, sql: "SELECT /* console */ * FROM cluster.statement_operators WHERE id::text = $1 ORDER BY stage, operator, node"},
	"statement_history": {every: 2 * time.Second, sql: "SELECT /* console */ * FROM cluster.statement_history WHERE query NOT LIKE '%/* console */%' ORDER BY started_at DESC LIMIT 500"},

	"tasks": {every: time.Second, sql: `SELECT /* console */ * FROM cluster.task_history WHERE (ended_at IS NULL OR ended_at > now() - interval '60 seconds')
		AND statement NOT IN (SELECT id FROM cluster.statement_history WHERE query LIKE '%/* console */%') ORDER BY started_at`},
	"transfers": {every: time.Second, sql: "SELECT /* console */ statement, from_node, to_node, bytes, batches FROM cluster.transfers ORDER BY statement, from_node, to_node"},

	"jobs":                {every: time.Second, sql: "SELECT /* console */ * FROM ml.training_jobs ORDER BY created_at DESC"},
	"training_events":     {every: time.Second, sql: "SELECT /* console */ * FROM ml.training_events WHERE schema || '.' || model = $1 ORDER BY job, at"},
	"training_reductions": {every: time.Second, sql: "SELECT /* console */ * FROM ml.training_reductions WHERE schema || '.' || model = $1 ORDER BY job, level, place"},
	"curve": {every: time.Second, sql: `SELECT /* console */ version, iteration, train_loss, validation_loss, seconds FROM ml.training_history
		WHERE schema || '.' || model = $1 ORDER BY version, iteration`},
	"models": {every: 3 * time.Second, sql: `SELECT /* console */ schema, name, version, versions, algorithm, task, target, rows, iterations, train_loss, metrics, seconds, bytes, owner, created_at, converged, comment
		FROM ml.models ORDER BY schema, name`},

	"logs": {every: time.Second, sql: "SELECT /* console */ at, node, level, message, fields FROM cluster.logs ORDER BY at DESC LIMIT 300"},
}

// Package otlp sends what a node's statements did as OpenTelemetry traces, by OTLP over HTTP in JSON.
//
//	trace      a statement
//	└ span     the statement, from its gateway
//	  └ span   a stage of its plans on a node, from that node
//
// Each node sends its own spans. Their ids are computed from the statement's id, so that those of several nodes belong
// together although nodes tell each other nothing for it.
package otlp

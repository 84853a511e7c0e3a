// Package jsonfn implements the functions of json and jsonb, the set-returning ones too; paths are
// compiled once a call.
package jsonfn

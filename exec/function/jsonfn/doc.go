// Package jsonfn implements the functions of json and jsonb, those that give rows
// too; paths are compiled once a call.
package jsonfn

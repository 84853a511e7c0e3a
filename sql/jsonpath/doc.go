// Package jsonpath parses and prints SQL/JSON paths, the values of the type jsonpath. Parse returns
// the tree of a text such as
//
//	strict $.items[*] ? (@.price > $limit).name
//
// and Path.String its canonical text. exec/jsonpath evaluates trees over jsonb.
package jsonpath

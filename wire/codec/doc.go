// Package codec turns Arrow columns into the DataRow messages of the Postgres
// protocol and parameters into values, in text and in binary format.
//
// A Rows is made once a result: it chooses an encoder for each column by its type and format, and
// for each batch by the column's representation, so that the loop over rows makes no choice.
package codec

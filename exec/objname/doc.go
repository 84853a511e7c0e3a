// Package objname finds objects of the catalog by the names that regclass, regtype and the other
// reg* types read, and returns the names they print: with a schema where the search path does not
// lead to the object.
package objname

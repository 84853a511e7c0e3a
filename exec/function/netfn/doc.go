// Package netfn implements the functions and operators of network addresses.
package netfn

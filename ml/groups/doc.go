// Package groups keeps the models of the groups of one training, a model for each key, in one file.
//
//	header    the columns of the key
//	groups    in the order of their keys: key, values of the key, Group
//	pooled    the model of all rows, if there is one
//	index     the offset and the key of every 64th group, classes
//	end       the offset of the index
//
// It is written as groups come, and read where it lies: of a file of millions of groups only the index is in
// memory. Keys are those of kernel.KeyEncoder, whose bytes are thus a format of files, over the types that
// KeyType says.
package groups

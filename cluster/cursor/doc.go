// Package cursor keeps a DECLAREd query running between the statements that read it.
// What it read so far is kept, in memory and then on disk, so that a cursor can scroll
// back; FETCH and MOVE are arithmetic over the numbers of rows.
package cursor

//go:build !race

package node

const slower = 1

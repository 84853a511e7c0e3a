//go:build !unix

package pg

import (
	"net"
	"sync/atomic"
)

type eager struct{}

func newEager(nc net.Conn, _ *atomic.Pointer[eager]) net.Conn { return nc }

package object

import (
	"os"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
)

// TestMain shortens the waits between tries.
func TestMain(m *testing.M) {
	minio.DefaultRetryUnit, shortRest = time.Millisecond, time.Millisecond
	os.Exit(m.Run())
}

// Patience sets how long a silent connection is waited for.
func Patience(t *testing.T, d time.Duration) {
	was := patience
	patience = d
	t.Cleanup(func() { patience = was })
}

// LeaseTime sets how long a lease lasts that is not renewed.
func LeaseTime(t *testing.T, d time.Duration) {
	was := leaseTime
	leaseTime = d
	t.Cleanup(func() { leaseTime = was })
}

// Usage returns the bytes that a cache has on disk, and its limit.
func Usage(c *Cache) (used, limit int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.used, c.limit
}

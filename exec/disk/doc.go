// Package disk is the file system as the packages above use it, and its errors
// as clients get them. The system's own is one FS; a test puts one in its place
// that fails, fills up, or forgets what was not synced, at any chosen step
// (internal/errfs).
package disk

// Package limit limits the connections that clients without a login can keep open.
package limit

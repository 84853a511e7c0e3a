package main

import (
	"log/slog"
	"net"
	"os"
	"strings"
)

// tell tells the service manager that started the process about its state, by the protocol of systemd's
// sd_notify: a datagram to the socket that NOTIFY_SOCKET names. Without one it does nothing.
func tell(log *slog.Logger, state string) {
	path := os.Getenv("NOTIFY_SOCKET")
	if path == "" {
		return
	}
	if name, abstract := strings.CutPrefix(path, "@"); abstract {
		path = "\x00" + name
	}
	c, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: path, Net: "unixgram"})
	if err == nil {
		_, err = c.Write([]byte(state))
		_ = c.Close()
	}
	if err != nil {
		log.Warn("the service manager does not hear of the server's state", "state", state, "error", err)
	}
}

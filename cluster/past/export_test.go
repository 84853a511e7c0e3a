package past

// Write writes what waits for Run.
func Write(h *History) { h.write() }

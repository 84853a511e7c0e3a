package charset

// The lengths of characters by their first bytes, which are 0x80 or more, as PostgreSQL verifies them: 0 where they mean nothing, and
// more than there are bytes where some are missing.

// double: any first byte takes a second.
func double(b []byte) int {
	if len(b) > 1 && b[1] == 0 {
		return 0
	}
	return 2
}

func high(x byte) bool { return x >= 0xa1 && x <= 0xfe }

func euc(b []byte) int {
	if !high(b[0]) || len(b) > 1 && !high(b[1]) {
		return 0
	}
	return 2
}

func eucJP(b []byte) int {
	switch b[0] {
	case 0x8e: // half-width katakana
		if len(b) > 1 && (b[1] < 0xa1 || b[1] > 0xdf) {
			return 0
		}
		return 2
	case 0x8f:
		if len(b) > 1 && !high(b[1]) || len(b) > 2 && !high(b[2]) {
			return 0
		}
		return 3
	}
	return euc(b)
}

func sjis(b []byte) int {
	switch x := b[0]; {
	case x >= 0xa1 && x <= 0xdf:
		return 1
	case x >= 0x81 && x <= 0x9f, x >= 0xe0 && x <= 0xfc:
		if len(b) > 1 && (b[1] < 0x40 || b[1] == 0x7f || b[1] > 0xfc) {
			return 0
		}
		return 2
	}
	return 0
}

func gb18030(b []byte) int {
	digit := func(x byte) bool { return x >= '0' && x <= '9' }
	if b[0] < 0x81 || b[0] > 0xfe {
		return 0
	}
	if len(b) < 2 {
		return 2
	}
	if !digit(b[1]) {
		if b[1] < 0x40 || b[1] == 0x7f || b[1] > 0xfe {
			return 0
		}
		return 2
	}
	if len(b) > 2 && (b[2] < 0x81 || b[2] > 0xfe) || len(b) > 3 && !digit(b[3]) {
		return 0
	}
	return 4
}

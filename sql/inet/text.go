package inet

import "strconv"

// Append appends the text of a value. That of cidr has its mask always, that of inet one that does not cover
// the whole address.
func Append(dst, v []byte, cidr bool) []byte {
	a := of(v)
	dst = a.appendHost(dst)
	if cidr || a.bits < a.maxBits() {
		dst = a.appendMask(dst)
	}
	return dst
}

// AppendHost appends the address without its mask, for host(). AppendShown is the cast to text: with it, always.
func AppendHost(dst, v []byte) []byte { return of(v).appendHost(dst) }

func AppendShown(dst, v []byte) []byte { return Append(dst, v, true) }

func (a addr) appendMask(dst []byte) []byte {
	return strconv.AppendInt(append(dst, '/'), int64(a.bits), 10)
}

func appendOctets(dst, ip []byte) []byte {
	for i, b := range ip {
		if i > 0 {
			dst = append(dst, '.')
		}
		dst = strconv.AppendUint(dst, uint64(b), 10)
	}
	return dst
}

func (a addr) word(i int) uint64 { return uint64(a.ip[2*i])<<8 | uint64(a.ip[2*i+1]) }

// appendHost writes an IPv6 address with its longest run of zeros as ::, and one that embeds an IPv4 address with
// that as octets.
func (a addr) appendHost(dst []byte) []byte {
	if len(a.ip) == 4 {
		return appendOctets(dst, a.ip)
	}
	at, n := -1, 1 // a single zero is written
	for i := 0; i < 8; i++ {
		k := i
		for k < 8 && a.word(k) == 0 {
			k++
		}
		if k-i > n {
			at, n = i, k-i
		}
		i = k
	}
	for i := 0; i < 8; i++ {
		if i == at {
			dst = append(dst, ':')
			if i += n; i == 8 {
				return append(dst, ':')
			}
		}
		if i > 0 {
			dst = append(dst, ':')
		}
		if i == 6 && at == 0 && (n == 6 || n == 5 && a.word(5) == 0xffff) {
			return appendOctets(dst, a.ip[12:])
		}
		dst = strconv.AppendUint(dst, a.word(i), 16)
	}
	return dst
}

// AppendAbbrev appends the short form of a cidr, without the octets right of its mask. That of an inet is its
// text.
func AppendAbbrev(dst, v []byte) []byte {
	a := of(v)
	switch {
	case len(a.ip) == 16:
		dst = a.appendShortV6(dst)
	case a.bits == 0:
		dst = append(dst, '0')
	default:
		dst = appendOctets(dst, a.ip[:(a.bits+7)/8])
	}
	return a.appendMask(dst)
}

// appendShortV6 writes the words that the mask covers, two at least. It follows PostgreSQL's code in what it takes
// for the longest run of zeros and for an embedded IPv4 address.
func (a addr) appendShortV6(dst []byte) []byte {
	if a.bits == 0 {
		return append(dst, "::"...)
	}
	words := max(2, (a.bits+15)/16)
	var at, n, from, run int
	for i := range words {
		switch {
		case a.word(i) == 0:
			if run == 0 {
				from = i
			}
			run++
		case run > n:
			at, n, run = from, run, 0
		}
	}
	if run > n {
		at, n = from, run
	}
	octets := n != words && at == 0 && (n == 6 || n == 5 && a.word(5) == 0xffff || n == 7 && a.ip[14] != 0 && a.ip[15] != 1)
	start := len(dst)
	for i := 0; i < words; i++ {
		switch {
		case n > 0 && i >= at && i < at+n:
			if i == at {
				dst = append(dst, ':')
			}
			if i == words-1 {
				dst = append(dst, ':')
			}
		case octets && i > 5:
			dst = append(dst, "..:"[min(2, 2*(7-i))])
			dst = strconv.AppendUint(dst, uint64(a.ip[2*i]), 10)
			if i != 7 || a.bits > 120 {
				dst = strconv.AppendUint(append(dst, '.'), uint64(a.ip[2*i+1]), 10)
			}
		default:
			if len(dst) > start {
				dst = append(dst, ':')
			}
			dst = strconv.AppendUint(dst, a.word(i), 16)
		}
	}
	return dst
}

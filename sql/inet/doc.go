// Package inet has PostgreSQL's network addresses: their text, their binary form and what is computed
// of them. A value, of the types inet and cidr alike, is bytes whose order is that of the types:
//
//	family   1 byte, 2 for IPv4, 3 for IPv6, as on the wire
//	network  4 or 16 bytes, the address with all bits right of the mask 0
//	bits     1 byte, the length of the mask
//	address  4 or 16 bytes
//
// The types order addresses by the bits that both masks cover, then by the masks' lengths, then by
// the whole addresses. The network comes first with its other bits 0, so that a shorter mask with the same
// bits is less, whatever follows. Equal values are equal bytes.
package inet

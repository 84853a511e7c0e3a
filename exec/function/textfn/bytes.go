package textfn

import (
	"bytes"
	"crypto/md5"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	gohex "encoding/hex"
	"math"
	"math/bits"
	"strings"
	"unicode/utf8"

	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/charset"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// addBytes registers the functions of bytea.
func addBytes(t function.Table) {
	t.Puts(function.Always(function.Strict1(func(b []byte) int64 { return int64(len(b)) })), "length(bytea)", "octet_length(bytea)")
	t.Put("length(bytea,name)", function.Always(function.Try2(func(c *function.Call, b []byte, enc string) (int64, error) {
		e, name, err := textEncoding(enc, "")
		if err != nil {
			return 0, err
		}
		n, err := characters(b, e, name)
		return int64(n), err
	})))
	t.Put("bit_length(bytea)", function.Always(function.Strict1(func(b []byte) int64 { return int64(len(b)) * 8 })))
	t.Put("bit_count(bytea)", function.Always(function.Strict1(func(b []byte) int64 {
		n := 0
		for _, x := range b {
			n += bits.OnesCount8(x)
		}
		return int64(n)
	})))
	t.Put("byteacat(bytea,bytea)", function.Always(function.Try2(func(c *function.Call, a, b []byte) ([]byte, error) { return joinBytes(c, a, b), nil })))
	t.Puts(function.Always(function.Try3(func(_ *function.Call, b []byte, from, n int64) ([]byte, error) { return subBytes(b, from, n, true) })),
		"substr(bytea,int4,int4)", "substring(bytea,int4,int4)")
	t.Puts(function.Always(function.Try2(func(_ *function.Call, b []byte, from int64) ([]byte, error) { return subBytes(b, from, 0, false) })),
		"substr(bytea,int4)", "substring(bytea,int4)")
	t.Put("position(bytea,bytea)", function.Always(function.Strict2(func(b, sub []byte) int64 { return int64(bytes.Index(b, sub)) + 1 })))
	t.Put("btrim(bytea,bytea)", function.Always(function.Strict2(func(b, set []byte) []byte { return trimBytes(b, set, true, true) })))
	t.Put("ltrim(bytea,bytea)", function.Always(function.Strict2(func(b, set []byte) []byte { return trimBytes(b, set, true, false) })))
	t.Put("rtrim(bytea,bytea)", function.Always(function.Strict2(func(b, set []byte) []byte { return trimBytes(b, set, false, true) })))
	t.Put("overlay(bytea,bytea,int4,int4)", function.Always(function.Try4(overlayBytes)))
	t.Put("overlay(bytea,bytea,int4)", function.Always(function.Try3(func(c *function.Call, b, by []byte, from int64) ([]byte, error) {
		return overlayBytes(c, b, by, from, int64(len(by)))
	})))
	t.Puts(function.Always(md5Hex), "md5(text)", "md5(bytea)")
	t.Put("sha224(bytea)", function.Always(function.Strict1(func(b []byte) []byte { h := sha256.Sum224(b); return h[:] })))
	t.Put("sha256(bytea)", function.Always(function.Strict1(func(b []byte) []byte { h := sha256.Sum256(b); return h[:] })))
	t.Put("sha384(bytea)", function.Always(function.Strict1(func(b []byte) []byte { h := sha512.Sum384(b); return h[:] })))
	t.Put("sha512(bytea)", function.Always(function.Strict1(func(b []byte) []byte { h := sha512.Sum512(b); return h[:] })))
	t.Put("encode(bytea,text)", function.Always(function.Try2(encode)))
	t.Put("decode(text,text)", function.Always(function.Try2(decode)))
	t.Put("convert(bytea,name,name)", function.Always(function.Try3(convert)))
	t.Put("convert_from(bytea,name)", function.Always(function.Try2(decodeText)))
	t.Put("convert_to(text,name)", function.Always(function.Try2(encodeText)))
	t.Put("get_byte(bytea,int4)", function.Always(function.Try2(func(_ *function.Call, b []byte, i int64) (int64, error) {
		if err := inRange(i, int64(len(b))); err != nil {
			return 0, err
		}
		return int64(b[i]), nil
	})))
	t.Put("set_byte(bytea,int4,int4)", function.Always(function.Try3(func(c *function.Call, b []byte, i, v int64) ([]byte, error) {
		if err := inRange(i, int64(len(b))); err != nil {
			return nil, err
		}
		b = joinBytes(c, b)
		b[i] = byte(v)
		return b, nil
	})))
	t.Put("get_bit(bytea,int8)", function.Always(function.Try2(func(_ *function.Call, b []byte, i int64) (int64, error) {
		if err := inRange(i, int64(len(b))*8); err != nil {
			return 0, err
		}
		return int64(b[i/8] >> (i % 8) & 1), nil
	})))
	t.Put("set_bit(bytea,int8,int4)", function.Always(function.Try3(func(c *function.Call, b []byte, i, v int64) ([]byte, error) {
		if err := inRange(i, int64(len(b))*8); err != nil {
			return nil, err
		}
		if v != 0 && v != 1 {
			return nil, pgerr.New(pgerr.InvalidParameterValue, "new bit must be 0 or 1")
		}
		b = joinBytes(c, b)
		b[i/8] = b[i/8]&^(1<<(i%8)) | byte(v)<<(i%8)
		return b, nil
	})))
}

func inRange(i, n int64) error {
	if i < 0 || i >= n {
		return pgerr.New(pgerr.ArraySubscriptError, "index %d out of valid range, 0..%d", i, n-1)
	}
	return nil
}

func subBytes(b []byte, from, n int64, limited bool) ([]byte, error) {
	end := int64(math.MaxInt64)
	if limited {
		if n < 0 {
			return nil, pgerr.New(pgerr.SubstringError, "negative substring length not allowed")
		}
		end = from + n
	}
	from = max(from, 1)
	end = min(end, int64(len(b))+1)
	if end <= from {
		return []byte{}, nil
	}
	return b[from-1 : end-1], nil
}

func trimBytes(b, set []byte, left, right bool) []byte {
	for left && len(b) > 0 && bytes.IndexByte(set, b[0]) >= 0 {
		b = b[1:]
	}
	for right && len(b) > 0 && bytes.IndexByte(set, b[len(b)-1]) >= 0 {
		b = b[:len(b)-1]
	}
	return b
}

func overlayBytes(c *function.Call, b, by []byte, from, n int64) ([]byte, error) {
	if from <= 0 {
		return nil, pgerr.New(pgerr.SubstringError, "negative substring length not allowed")
	}
	if from+n > math.MaxInt32 || from+n < math.MinInt32 {
		return nil, vector.ErrRange(types.Int4)
	}
	head, _ := subBytes(b, 1, from-1, true)
	tail, _ := subBytes(b, from+n, 0, false)
	return joinBytes(c, head, by, tail), nil
}

// joinBytes writes parts one after the other.
func joinBytes(c *function.Call, parts ...[]byte) []byte {
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	b := c.Text(n)
	for _, p := range parts {
		_, _ = b.Write(p)
	}
	return b.Bytes()
}

func encode(c *function.Call, b []byte, form string) (string, error) {
	switch strings.ToLower(form) {
	case "hex":
		t := c.Text(vector.Product(2, int64(len(b))))
		var line [256]byte
		for len(b) > 0 {
			n := min(len(b), len(line)/2)
			_, _ = t.Write(line[:gohex.Encode(line[:], b[:n])])
			b = b[n:]
		}
		return t.String(), nil
	case "base64":
		t := c.Text((len(b)+2)/3*4 + max(len(b)-1, 0)/57)
		var line [76]byte
		for len(b) > 0 {
			n := min(len(b), 57)
			base64.StdEncoding.Encode(line[:], b[:n])
			_, _ = t.Write(line[:base64.StdEncoding.EncodedLen(n)])
			if b = b[n:]; len(b) > 0 {
				_ = t.WriteByte('\n')
			}
		}
		return t.String(), nil
	case "escape":
		t := c.Text(len(b))
		for _, x := range b {
			switch {
			case x == 0 || x >= 0x80:
				_, _ = t.Write([]byte{'\\', '0' + x>>6, '0' + x>>3&7, '0' + x&7})
			case x == '\\':
				t.WriteString(`\\`)
			default:
				_ = t.WriteByte(x)
			}
		}
		return t.String(), nil
	}
	return "", pgerr.New(pgerr.InvalidParameterValue, "unrecognized encoding: \"%s\"", form)
}

func decode(c *function.Call, s, form string) ([]byte, error) {
	switch strings.ToLower(form) {
	case "hex":
		c.Meter().Scratch(len(s) / 2)
		return types.DecodeHex(s)
	case "base64":
		return decodeBase64(c, s)
	case "escape":
		c.Meter().Scratch(len(s))
		return types.DecodeEscape(s)
	}
	return nil, pgerr.New(pgerr.InvalidParameterValue, "unrecognized encoding: \"%s\"", form)
}

func decodeBase64(c *function.Call, s string) ([]byte, error) {
	out := c.Text(len(s) / 4 * 3)
	clean := c.Mapped(s, func(r rune) rune {
		if strings.ContainsRune(" \t\n\r", r) {
			return -1
		}
		return r
	})
	for i := range len(clean) {
		c := clean[i]
		if c == '=' {
			if i < len(clean)-2 {
				return nil, pgerr.New(pgerr.InvalidParameterValue, "unexpected \"=\" while decoding base64 sequence")
			}
			continue
		}
		if !(c == '+' || c == '/' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z') {
			r, _ := utf8.DecodeRuneInString(clean[i:])
			return nil, pgerr.New(pgerr.InvalidParameterValue, "invalid symbol \"%c\" found while decoding base64 sequence", r)
		}
	}
	for src := vector.StringBytes(clean); len(src) > 0; {
		chunk := src[:min(len(src), vector.PollBytes)]
		src = src[len(chunk):]
		dst := out.Extend(base64.StdEncoding.DecodedLen(len(chunk)))
		n, err := base64.StdEncoding.Decode(dst, chunk)
		if err != nil {
			return nil, pgerr.New(pgerr.InvalidParameterValue, "invalid base64 end sequence").
				WithHint("Input data is missing padding, is truncated, or is otherwise corrupted.")
		}
		out.Cut(len(dst) - n)
	}
	return out.Bytes(), nil
}

// textEncoding finds an encoding by name.
func textEncoding(name, what string) (*charset.Charset, string, error) {
	e, shown, known, err := charset.Find(name)
	if !known {
		err = pgerr.New(pgerr.InvalidParameterValue, "invalid %sencoding name \"%s\"", what, name)
	}
	return e, shown, err
}

// PlainName drops insignificant characters from the name of an encoding, which must not be longer
// than a name.
func PlainName(s string) string {
	var out []byte
	for i := range len(s) {
		if s[i] != '-' && s[i] != '_' {
			out = append(out, s[i])
		}
	}
	return strings.ToUpper(string(out))
}

// directly are the pairs of encodings other than UTF8 between which PostgreSQL converts.
var directly = map[string]string{"KOI8R": "WIN1251 WIN866 ISO_8859_5", "WIN1251": "KOI8R WIN866 ISO_8859_5", "WIN866": "KOI8R WIN1251 ISO_8859_5",
	"ISO_8859_5": "KOI8R WIN1251 WIN866", "LATIN2": "WIN1250", "WIN1250": "LATIN2", "EUC_JP": "SJIS", "SJIS": "EUC_JP"}

// characters counts those of bytes, which must be of the encoding.
func characters(b []byte, e *charset.Charset, name string) (int, error) {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		return 0, pgerr.New(pgerr.CharacterNotInRepertoire, "invalid byte sequence for encoding \"%s\": 0x00", name)
	}
	switch name {
	case "UTF8":
		s := vector.BytesString(b)
		return int(runeCount(s)), pgerr.CheckUTF8(s)
	case "SQL_ASCII":
		return len(b), nil
	}
	return e.Count(b)
}

func convert(c *function.Call, b []byte, from, to string) ([]byte, error) {
	src, srcName, err := textEncoding(from, "source ")
	if err != nil {
		return nil, err
	}
	dst, dstName, err := textEncoding(to, "destination ")
	if err != nil {
		return nil, err
	}
	if srcName == "SQL_ASCII" {
		src, srcName = dst, dstName // nothing is converted
	}
	if _, err := characters(b, src, srcName); err != nil || srcName == dstName || dstName == "SQL_ASCII" {
		return b, err
	}
	if src != nil && dst != nil && !strings.Contains(directly[srcName], dstName) {
		return nil, pgerr.New(pgerr.UndefinedFunction, "default conversion function for encoding \"%s\" to \"%s\" does not exist", srcName, dstName)
	}
	c.Meter().Scratch(4 * len(b)) // no character becomes four times as long
	if b, err = src.Decode(b); err != nil {
		return nil, err
	}
	return dst.Encode(nil, vector.BytesString(b))
}

func decodeText(c *function.Call, b []byte, from string) (string, error) {
	b, err := convert(c, b, from, "UTF8")
	return vector.BytesString(b), err
}

func encodeText(c *function.Call, s, to string) ([]byte, error) {
	return convert(c, vector.StringBytes(s), "UTF8", to)
}

// addSend registers the binary output functions (int4send and the like).
func addSend(t function.Table) {
	for _, f := range fn.All() {
		if f.Kind == fn.Scalar && len(f.Args) == 1 && f.Ret == types.ByteaOID && strings.HasSuffix(f.Name, "send") {
			t.Put(f.ID, function.Always(function.Loose(func(c *function.Call, a []types.Datum) (types.Datum, error) {
				c.Meter().Scratch(function.OutputBytes(c.Types[0], a[0]))
				return types.AppendBinary([]byte{}, c.Types[0], a[0]), nil
			})))
		}
	}
}

// md5Hex is md5, whose results have the same length.
func md5Hex(c *function.Call, args []*vector.Vec) (*vector.Vec, error) {
	at := args[0].Bytes
	if args[0].Kind != vector.Bin {
		at = func(i int) []byte { return vector.StringBytes(args[0].Str(i)) }
	}
	out := &vector.Vec{Kind: vector.Str, N: c.N, Valid: c.Valid}
	out.Off, out.Data = vector.Alloc[int32](c.Arena, c.N+1), vector.Alloc[byte](c.Arena, 2*md5.Size*c.N)[:0]
	for i := range c.N {
		out.Off[i] = int32(len(out.Data))
		if !c.Skip(i) {
			h := md5.Sum(at(i))
			out.Data = gohex.AppendEncode(out.Data, h[:])
		}
	}
	out.Off[c.N] = int32(len(out.Data))
	return out, nil
}

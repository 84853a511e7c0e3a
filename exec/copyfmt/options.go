package copyfmt

import (
	"slices"
	"strings"

	"github.com/tributarydb/tributary/sql/charset"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Format is text, csv, binary or parquet.
type Format uint8

// The formats.
const (
	Text Format = iota
	CSV
	Binary
	Parquet
)

// Bytes reports whether a format is one of bytes, not of text.
func (f Format) Bytes() bool { return f == Binary || f == Parquet }

// MaxRecord is the longest record accepted, in bytes.
const MaxRecord = 256 << 20

// Options of a COPY. ForceQuote and the like name columns.
type Options struct {
	Format       Format
	Delimiter    byte
	Null         string
	Header       bool
	HeaderMatch  bool
	Quote        byte
	Escape       byte
	ForceQuote   []string
	ForceAll     bool // FORCE_QUOTE *
	ForceNotNull []string
	ForceNull    []string
	File         ParquetOptions
	Ends         LineEnd // of what is read
	Skip         int     // lines before the header that are not looked at
	Blank        bool    // empty lines are no records, of several columns
	Packing      string  // of a file that is not Parquet: one of Packings; "" for what its name says
	// Charset is that of the bytes, nil for UTF8; it is the client's unless Encoded, by ENCODING.
	Charset *charset.Charset
	Encoded bool
}

// Option is one option as it was written; List is set where it was a list of
// columns, Star for *.
type Option struct {
	Name  string
	Value string
	List  []string
	Star  bool
	Given bool // a value was written
}

// ParseOptions checks the options of a COPY with PostgreSQL's texts.
func ParseOptions(opts []Option, from bool) (Options, error) {
	o := Options{}
	seen := map[string]bool{}
	var delim, quote, escape, null *string
	var files []string // options of Parquet files that are given
	var packing *Option
	for _, p := range opts {
		if seen[p.Name] {
			return o, pgerr.New(pgerr.SyntaxError, "conflicting or redundant options")
		}
		seen[p.Name] = true
		v := p.Value
		switch p.Name {
		case "format":
			switch v {
			case "text":
			case "csv":
				o.Format = CSV
			case "binary":
				o.Format = Binary
			case "parquet":
				o.Format = Parquet
			default:
				return o, pgerr.New(pgerr.InvalidParameterValue, "COPY format %q not recognized", v)
			}
		case "delimiter":
			delim = &v
		case "null":
			null = &v
		case "quote":
			quote = &v
		case "escape":
			escape = &v
		case "header":
			switch strings.ToLower(v) {
			case "match":
				if !from {
					return o, pgerr.Unsupported("cannot use \"match\" with HEADER in COPY TO")
				}
				o.Header, o.HeaderMatch = true, true
			case "", "true", "on", "1":
				o.Header = true
			case "false", "off", "0":
			default:
				return o, pgerr.New(pgerr.SyntaxError, "header requires a Boolean value or \"match\"")
			}
		case "force_quote":
			o.ForceQuote, o.ForceAll = p.List, p.Star
			if !p.Star && p.List == nil {
				return o, pgerr.New(pgerr.InvalidParameterValue, "argument to option %q must be a list of column names", p.Name)
			}
		case "force_not_null":
			o.ForceNotNull = p.List
		case "force_null":
			o.ForceNull = p.List
		case "encoding":
			cs, _, known, err := charset.Find(v)
			if !known {
				return o, pgerr.New(pgerr.InvalidParameterValue, "argument to option %q must be a valid encoding name", p.Name)
			}
			if err != nil {
				return o, err
			}
			o.Charset, o.Encoded = cs, true
		case "compression": // of Parquet's pages, or of the file as a whole
			packing = &p
		case "freeze":
			// Rows are visible at commit in any case.
		default:
			known, err := o.File.parse(p)
			if err != nil {
				return o, err
			}
			if !known {
				return o, pgerr.New(pgerr.SyntaxError, "option %q not recognized", p.Name)
			}
			files = append(files, p.Name)
		}
	}
	switch {
	case packing == nil:
	case o.Format == Parquet:
		if _, err := o.File.parse(*packing); err != nil {
			return o, err
		}
		files = append(files, packing.Name)
	case slices.Contains(Packings, strings.ToLower(packing.Value)):
		o.Packing = strings.ToLower(packing.Value)
	case !strings.EqualFold(packing.Value, "auto"):
		return o, pgerr.New(pgerr.InvalidParameterValue, "COPY compression %q not recognized", packing.Value).
			WithHint("It is auto, %s.", strings.Join(Packings, ", "))
	}
	if o.Format.Bytes() {
		mode := map[Format]string{Binary: "BINARY", Parquet: "PARQUET"}[o.Format]
		switch {
		case delim != nil:
			return o, pgerr.New(pgerr.SyntaxError, "cannot specify DELIMITER in %s mode", mode)
		case null != nil:
			return o, pgerr.New(pgerr.SyntaxError, "cannot specify NULL in %s mode", mode)
		case o.Header:
			return o, pgerr.Unsupported("cannot specify HEADER in %s mode", mode)
		}
	}
	switch {
	case len(files) > 0 && o.Format != Parquet:
		return o, pgerr.Unsupported("COPY %s available only in PARQUET mode", strings.ReplaceAll(files[0], "_", " "))
	case len(files) > 0 && from:
		return o, pgerr.Unsupported("COPY %s only available using COPY TO", strings.ReplaceAll(files[0], "_", " "))
	}
	o.Delimiter, o.Null = '\t', "\\N"
	if o.Format == CSV {
		o.Delimiter, o.Null = ',', ""
		o.Quote = '"'
	}
	one := func(what string, v *string) (byte, error) {
		if len(*v) != 1 {
			return 0, pgerr.New(pgerr.InvalidParameterValue, "COPY %s must be a single one-byte character", what)
		}
		return (*v)[0], nil
	}
	var err error
	if delim != nil {
		if o.Delimiter, err = one("delimiter", delim); err != nil {
			return o, pgerr.Unsupported("COPY delimiter must be a single one-byte character")
		}
	}
	if o.Delimiter == '\r' || o.Delimiter == '\n' {
		return o, pgerr.New(pgerr.InvalidParameterValue, "COPY delimiter cannot be newline or carriage return")
	}
	if null != nil {
		o.Null = *null
	}
	if strings.ContainsAny(o.Null, "\r\n") {
		return o, pgerr.New(pgerr.InvalidParameterValue, "COPY null representation cannot use newline or carriage return")
	}
	if o.Format == Text && strings.IndexByte(`\.abcdefghijklmnopqrstuvwxyz0123456789`, o.Delimiter) >= 0 {
		return o, pgerr.New(pgerr.InvalidParameterValue, "COPY delimiter cannot be \"%c\"", o.Delimiter)
	}
	if o.Format != CSV {
		switch {
		case quote != nil:
			return o, pgerr.Unsupported("COPY quote available only in CSV mode")
		case escape != nil:
			return o, pgerr.Unsupported("COPY escape available only in CSV mode")
		case o.ForceQuote != nil || o.ForceAll:
			return o, pgerr.Unsupported("COPY force quote available only in CSV mode")
		case o.ForceNotNull != nil:
			return o, pgerr.Unsupported("COPY force not null available only in CSV mode")
		case o.ForceNull != nil:
			return o, pgerr.Unsupported("COPY force null available only in CSV mode")
		}
		if o.Format == Text && strings.IndexByte(o.Null, o.Delimiter) >= 0 {
			return o, pgerr.Unsupported("COPY delimiter must not appear in the NULL specification")
		}
		return o, nil
	}
	if quote != nil {
		if o.Quote, err = one("quote", quote); err != nil {
			return o, err
		}
	}
	o.Escape = o.Quote
	if escape != nil {
		if o.Escape, err = one("escape", escape); err != nil {
			return o, err
		}
	}
	switch {
	case o.Delimiter == o.Quote:
		return o, pgerr.New(pgerr.InvalidParameterValue, "COPY delimiter and quote must be different")
	case strings.IndexByte(o.Null, o.Delimiter) >= 0:
		return o, pgerr.Unsupported("COPY delimiter must not appear in the NULL specification")
	case strings.IndexByte(o.Null, o.Quote) >= 0:
		return o, pgerr.Unsupported("CSV quote character must not appear in the NULL specification")
	case (o.ForceQuote != nil || o.ForceAll) && from:
		return o, pgerr.Unsupported("COPY force quote only available using COPY TO")
	case o.ForceNotNull != nil && !from:
		return o, pgerr.Unsupported("COPY force not null only available using COPY FROM")
	case o.ForceNull != nil && !from:
		return o, pgerr.Unsupported("COPY force null only available using COPY FROM")
	}
	return o, nil
}

// Client gives the encoding of the client's bytes where no option does.
func (o *Options) Client(c *charset.Charset) {
	if !o.Encoded && o.Format != Parquet {
		o.Charset = c
	}
}

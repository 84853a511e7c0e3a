package lex

import (
	"strings"

	"github.com/multigres/multigres/go/common/parser"
)

// QuoteName writes a name as quote_ident() does: bare where it reads back as it
// is in every place a name may stand, else in double quotes.
func QuoteName(name string) string {
	bare := name != "" && (name[0] < '0' || name[0] > '9')
	for i := 0; i < len(name) && bare; i++ {
		c := name[i]
		bare = c == '_' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9'
	}
	if bare {
		if k := parser.LookupKeyword(name); k == nil || k.Category == parser.UnreservedKeyword {
			return name
		}
	}
	return QuoteIdent(name)
}

// QuoteIdent writes a name in double quotes, for SQL text that no one reads.
func QuoteIdent(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// QuoteLiteral writes a value as a string literal. A backslash stands for itself.
func QuoteLiteral(v string) string { return "'" + strings.ReplaceAll(v, "'", "''") + "'" }

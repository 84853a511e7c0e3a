package parse

// EstimateMemory estimates the bytes that a statement's text takes while it is parsed,
// bound and planned: the text several times over, as literals become values,
// and for each word, number, literal and operator what the trees over it hold.
// It reads the text once and allocates nothing.
func EstimateMemory(sql string) int64 {
	const (
		perByte  = 4
		perToken = 800 // measured on long IN lists, VALUES and expressions
	)
	tokens := 0
	word := false
	for i := 0; i < len(sql); i++ {
		switch c := sql[i]; {
		case c == '\'':
			word = false
			tokens++
			for i++; i < len(sql) && sql[i] != '\''; i++ {
			}
		case c >= '0' && c <= '9', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '_', c == '.', c >= 0x80:
			if !word {
				tokens++
			}
			word = true
		default:
			word = false
		}
	}
	return perByte*int64(len(sql)) + perToken*int64(tokens)
}

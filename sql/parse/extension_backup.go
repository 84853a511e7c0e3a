package parse

// object takes SCHEMA name, TABLE name or MODEL name, if one is next.
func (c *cursor) object() (kind string, name []string) {
	for _, k := range []string{"schema", "table", "model"} {
		if c.accept(k) {
			if k == "schema" {
				return k, []string{c.ident()}
			}
			return k, c.qualified()
		}
	}
	return "", nil
}

func (c *cursor) backup() *Backup {
	b := &Backup{}
	b.Kind, b.Name = c.object()
	c.expect("to")
	b.URI = c.str()
	b.Options = c.withOptions()
	return b
}

func (c *cursor) restore() *Restore {
	r := &Restore{}
	if r.Kind, r.Name = c.object(); r.Kind != "" && c.accept("as") {
		r.As = c.qualified()
	}
	c.expect("from")
	r.URI = c.str()
	if c.accept("as", "of") {
		r.AsOf = c.str()
	}
	r.Options = c.withOptions()
	return r
}

func (c *cursor) undrop() *Undrop {
	u := &Undrop{Name: c.qualified()}
	if c.accept("as", "of") {
		u.AsOf = c.str()
	}
	if c.accept("rename", "to") {
		u.As = c.ident()
	}
	return u
}

package tempfile

// Damage inverts a bit of the file, as a faulty disk does; a second call restores it. It is for tests.
func (t *File) Damage(at int64, bit int) error {
	b := make([]byte, 1)
	if err := t.ReadFull(at, b); err != nil {
		return err
	}
	b[0] ^= 1 << bit
	_, err := t.f.WriteAt(b, at)
	return err
}

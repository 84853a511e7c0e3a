package settings

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// Set is the values of one session. It is for one goroutine.
type Set struct {
	values   map[string]string // changed from the start value
	start    map[string]string // what RESET goes back to
	undo     []undo            // changes since the outermost transaction began
	inTxn    bool
	changes  uint64
	OnChange func(def *Def, value string) // told of each change of an effective value
	Shared   func(def *Def) string        // the value of one that is no session's; nil: its default
	// Check is what only the session can tell of a value that is to be set, by whatever
	// way: whether who sets it may, and whether it fits now. It may be nil.
	Check func(def *Def, value string, from Source) error
	// Charge, where set, is called for the bytes that are kept more, or less: a refusal is the error of Set.
	Charge func(bytes int64) error
	held   int64 // charged
}

// Source says by which way a value comes.
type Source int

// The sources.
const (
	FromClient  Source = iota // SET, set_config and their kin
	FromStartup               // the parameters and options of a connection
	FromCatalog               // ALTER ROLE … SET, ALTER SYSTEM
)

type undo struct {
	name, old string
	had       bool
	local     bool
}

// NewSet makes a session's values; start are those given when it connected
// (role settings and startup parameters), already checked.
func NewSet() *Set { return &Set{values: map[string]string{}, start: map[string]string{}} }

// SetStart sets a value that RESET goes back to.
func (s *Set) SetStart(name, value string, from Source) error {
	d, v, err := s.checked(name, value, from)
	if err != nil {
		return err
	}
	s.start[d.Name] = v
	s.changed(d, v)
	return nil
}

// Changes counts changes: what was made of the session's values is good as long as it
// is the same.
func (s *Set) Changes() uint64 { return s.changes }

// Get returns a setting's value. Custom settings ("a.b") exist once set.
func (s *Set) Get(name string) (string, error) {
	key := canonical(name)
	if v, ok := s.values[key]; ok {
		return v, nil
	}
	if v, ok := s.start[key]; ok {
		return v, nil
	}
	if d := Find(key); d != nil {
		if (d.Context == Sighup && !d.inert || d.shared) && s.Shared != nil {
			return s.Shared(d), nil
		}
		return d.Default, nil
	}
	return "", unknown(name)
}

// Value is Get for names that are known to exist.
func (s *Set) Value(name string) string {
	v, _ := s.Get(name)
	return v
}

// Bool returns a boolean setting.
func (s *Set) Bool(name string) bool { return s.Value(name) == "on" }

// Int returns an integer setting in its base unit.
func (s *Set) Int(name string) int64 {
	n, _ := strconv.ParseInt(s.base(name), 10, 64)
	return n
}

func (s *Set) base(name string) string { return s.Value(name) }

// Changed lists the settings of a session whose values are not their defaults, by
// name, each a name and a value; custom ones are among them.
func (s *Set) Changed() (out [][2]string) {
	for _, d := range All() {
		if v := s.Value(d.Name); d.OfSession() && v != d.Default {
			out = append(out, [2]string{d.Name, v})
		}
	}
	custom := map[string]string{}
	for _, m := range []map[string]string{s.start, s.values} {
		for k, v := range m {
			if Find(k) == nil {
				custom[k] = v
			}
		}
	}
	for _, k := range slices.Sorted(maps.Keys(custom)) {
		out = append(out, [2]string{k, custom[k]})
	}
	return out
}

// Set changes a value; local ones end with the transaction. An empty value of
// isDefault goes back to the start value.
func (s *Set) Set(name, value string, local bool) error {
	d, v, err := s.checked(name, value, FromClient)
	if err == nil {
		err = s.charge(int64(len(d.Name)+len(v)) + entryBytes)
	}
	if err != nil {
		return err
	}
	s.put(d, v, local)
	if d.clears != "" {
		other := Find(d.clears)
		s.put(other, other.Default, local)
	}
	if !s.inTxn {
		s.recount()
	}
	return nil
}

// checked is changeable, and what the session says of the value.
func (s *Set) checked(name, value string, from Source) (*Def, string, error) {
	d, v, err := changeable(name, value)
	if err == nil && s.Check != nil {
		err = s.Check(d, v, from)
	}
	return d, v, err
}

// entryBytes is what a value takes, here or among the changes to take back, beside its texts.
const entryBytes = 256

func (s *Set) charge(n int64) error {
	if s.Charge == nil {
		return nil
	}
	err := s.Charge(n)
	if err == nil {
		s.held += n
	}
	return err
}

// recount gives back what was charged for values that are not kept any more.
func (s *Set) recount() {
	n := int64(0)
	for k, v := range s.values {
		n += int64(len(k)+len(v)) + entryBytes
	}
	if n < s.held {
		_ = s.charge(n - s.held)
	}
}

// Reset goes back to the session's start value.
func (s *Set) Reset(name string, local bool) error {
	key := canonical(name)
	d := Find(key)
	if d == nil {
		if strings.Contains(key, ".") {
			s.remember(key, local)
			delete(s.values, key)
			s.changes++
			return nil
		}
		return unknown(name)
	}
	s.remember(key, local)
	delete(s.values, key)
	s.changed(d, s.Value(key))
	if d.clears != "" {
		return s.Reset(d.clears, local)
	}
	return nil
}

// ResetAll goes back to the start values of everything but who the session is and what
// its transaction is.
func (s *Set) ResetAll() {
	for _, d := range All() {
		if _, ok := s.values[d.Name]; ok && d.OfSession() && !d.lasting {
			_ = s.Reset(d.Name, false)
		}
	}
	for k := range s.values {
		if strings.Contains(k, ".") {
			s.remember(k, false)
			delete(s.values, k)
			s.changes++
		}
	}
}

// SetInternal changes a value that clients may not set themselves.
func (s *Set) SetInternal(name, value string) {
	d := Find(name)
	if d == nil {
		return
	}
	if v, ok := s.values[d.Name]; ok && v == value {
		return
	}
	s.values[d.Name] = value
	s.changed(d, value)
}

func (s *Set) put(d *Def, v string, local bool) {
	s.remember(d.Name, local)
	s.values[d.Name] = v
	s.changed(d, v)
}

func (s *Set) remember(name string, local bool) {
	if s.inTxn {
		old, had := s.values[name]
		s.undo = append(s.undo, undo{name, old, had, local})
	}
}

func (s *Set) changed(d *Def, v string) {
	s.changes++
	if s.OnChange != nil {
		s.OnChange(d, v)
	}
}

// Begin starts remembering changes for a transaction.
func (s *Set) Begin() { s.inTxn, s.undo = true, s.undo[:0] }

// Mark returns a place that RollbackTo goes back to (a savepoint).
func (s *Set) Mark() int { return len(s.undo) }

// RollbackTo undoes the changes since mark.
func (s *Set) RollbackTo(mark int) {
	for len(s.undo) > mark {
		u := s.undo[len(s.undo)-1]
		s.undo = s.undo[:len(s.undo)-1]
		s.restore(u)
	}
}

// End ends the transaction: a commit keeps all but the local changes, a
// rollback keeps none.
func (s *Set) End(commit bool) {
	changed := len(s.undo) > 0
	if !commit {
		s.RollbackTo(0)
	} else if len(s.undo) > 0 {
		// A local change is undone to what it covered; a later plain SET of the
		// same name stands.
		final := map[string]bool{}
		for i := len(s.undo) - 1; i >= 0; i-- {
			u := s.undo[i]
			if !u.local {
				final[u.name] = true
			} else if !final[u.name] {
				s.restore(u)
			}
		}
	}
	if changed {
		s.recount()
	}
	s.inTxn, s.undo = false, s.undo[:0]
	if cap(s.undo) > 1000 {
		s.undo = nil
	}
}

func (s *Set) restore(u undo) {
	if u.had {
		s.values[u.name] = u.old
	} else {
		delete(s.values, u.name)
	}
	s.changes++
	if d := Find(u.name); d != nil {
		s.changed(d, s.Value(u.name))
	}
}

// changeable checks a value for a setting that clients may set.
func changeable(name, value string) (*Def, string, error) {
	d, v, err := accepted(name, value)
	switch {
	case err != nil:
	case d.Context == Internal:
		err = pgerr.New(pgerr.CantChangeRuntimeParam, "parameter %q cannot be changed", d.Name)
	case d.Context == Postmaster:
		err = pgerr.New(pgerr.CantChangeRuntimeParam, "parameter %q cannot be changed without restarting the server", d.Name)
	case d.Context == Backend || d.Context == SuperuserBackend:
		err = pgerr.New(pgerr.CantChangeRuntimeParam, "parameter %q cannot be set after connection start", d.Name)
	case d.Context == Sighup:
		e := pgerr.New(pgerr.CantChangeRuntimeParam, "parameter %q cannot be changed now", d.Name)
		if err = e; !d.inert {
			err = e.WithHint("Use ALTER SYSTEM.")
		}
	}
	return d, v, err
}

// ForRole checks a value that sessions of a role are to begin with; super says whether a
// superuser gives it.
func ForRole(name, value string, super bool) error {
	d, _, err := changeable(name, value)
	if err == nil {
		err = d.Settable(super)
	}
	return err
}

// Removable fails where a role's settings can hold no such setting, a name with a point being a
// client's own, or only a superuser may remove it.
func Removable(name string, super bool) error {
	d := Find(name)
	switch {
	case d != nil:
		return d.Settable(super)
	case !strings.Contains(name, "."):
		return unknown(name)
	}
	return nil
}

// Settable fails for a setting that only a superuser may set, where super does not say that one does.
func (d *Def) Settable(super bool) error {
	if d.Context == Super && !super {
		return pgerr.New(pgerr.InsufficientPrivilege, "permission denied to set parameter %q", d.ShowName())
	}
	return nil
}

// ForCluster checks a value that ALTER SYSTEM gives, for the sessions that are to
// come or for the nodes.
func ForCluster(name, value string) (*Def, string, error) {
	d, v, err := accepted(name, value)
	if err == nil && Find(d.Name) == nil {
		err = unknown(name)
	}
	if err == nil && (d.Context == Internal || d.lasting) {
		err = pgerr.New(pgerr.CantChangeRuntimeParam, "parameter %q cannot be changed", d.Name)
	}
	if err == nil && d.inert && !d.OfSession() {
		err = pgerr.Unsupported("parameter %q of PostgreSQL's server has no effect here", d.Name)
	}
	return d, v, err
}

// accepted finds a setting and the value that it makes of a text.
func accepted(name, value string) (*Def, string, error) {
	key := canonical(name)
	d := Find(key)
	if d == nil {
		if !strings.Contains(key, ".") {
			return nil, "", unknown(name)
		}
		return &Def{Name: key, Kind: String, Context: User}, value, nil
	}
	v, err := d.check(value)
	return d, v, err
}

func unknown(name string) error {
	return pgerr.New(pgerr.UndefinedObject, "unrecognized configuration parameter %q", name)
}

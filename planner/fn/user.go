package fn

import (
	"crypto/sha256"
	"encoding/hex"
	"runtime"
	"sync"
	"weak"

	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/codec"
	"github.com/tributarydb/tributary/sql/types"
)

// made has the Func of each descriptor that is in use, so that two calls of one function are of the same Func.
var made sync.Map // weak.Pointer[catalog.Function] → weak.Pointer[Func]

// Of returns a user's function as calls need it.
func Of(u *catalog.Function) *Func {
	key := weak.Make(u)
	if v, ok := made.Load(key); ok {
		if f := v.(weak.Pointer[Func]).Value(); f != nil {
			return f
		}
	} else {
		runtime.AddCleanup(u, func(k weak.Pointer[catalog.Function]) { made.Delete(k) }, key)
	}
	f := ofUser(u)
	made.Store(key, weak.Make(f))
	return f
}

func ofUser(u *catalog.Function) *Func {
	f := &Func{OID: u.OID, Name: u.Name, Ret: u.Ret.OID, Strict: u.Strict, CanFail: true, User: u}
	switch {
	case u.Aggregate != nil:
		// What the engine knows of its own aggregates it knows by name, which a user's may have too.
		f.Kind, f.Name = Aggregate, "aggregate "+u.Name
	case u.Set:
		f.Kind = SetReturning
	}
	switch u.Volatility {
	case 's':
		f.Vol = Stable
	case 'v':
		if f.Vol = Volatile; u.Language == catalog.LanguageStarlark {
			f.Vol = Stable // it has nothing that varies, whatever is declared
		}
	}
	named := false
	for _, a := range u.Inputs() {
		f.Args, f.ArgNames = append(f.Args, a.Type.OID), append(f.ArgNames, a.Name)
		named = named || a.Name != ""
		if a.Default != "" {
			f.Defaults = append(f.Defaults, a.Default)
		}
		if a.Mode == 'v' {
			if e, ok := a.Type.Elem(); ok {
				f.Variadic = e.OID
			}
			switch a.Type.OID {
			case types.AnyArrayOID:
				f.Variadic = types.AnyElementOID
			case types.AnyCompatibleArrayOID:
				f.Variadic = types.AnyCompatibleOID
			}
		}
	}
	if !named {
		f.ArgNames = nil
	}
	if out := u.Outputs(); u.Ret.OID == types.RecordOID && len(out) > 0 {
		f.Rec = &types.Record{}
		for _, a := range out {
			f.Rec.Fields = append(f.Rec.Fields, types.Field{Name: a.Name, Type: types.Type{OID: a.Type.OID, Mod: -1}})
		}
	} else if len(out) == 1 {
		f.OutName = out[0].Name
	}
	h := sha256.Sum256(codec.Marshal(*shipped(u)))
	f.ID = "user " + hex.EncodeToString(h[:16])
	return f
}

// userMark begins the encoding of a user's function, which no ID begins with.
const userMark = 0

// shipped is what other nodes need of a function to call it.
func shipped(u *catalog.Function) *catalog.Function {
	return &catalog.Function{OID: u.OID, Name: u.Name, Args: u.Args, Ret: u.Ret, Set: u.Set, Strict: u.Strict, Volatility: u.Volatility,
		Language: u.Language, Body: u.Body, Config: u.Config, Aggregate: u.Aggregate}
}

func appendUser(dst []byte, f *Func) []byte {
	return codec.Append(append(dst, userMark), *shipped(f.User))
}

func readUser(b []byte) (*Func, error) {
	u, err := codec.Unmarshal[catalog.Function](b[1:])
	if err != nil {
		return nil, err
	}
	return ofUser(&u), nil
}

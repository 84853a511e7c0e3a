package fn

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/tributarydb/tributary/sql/codec"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

func TestOIDsArePostgres(t *testing.T) {
	for id, oid := range map[string]types.OID{
		"lower(text)": 870, "upper(text)": 871, "sum(int4)": 2108, "count(any)": 2147, "count()": 2803,
		"now()": 1299, "int4pl(int4,int4)": 177, "texteq(text,text)": 67, "generate_series(int4,int4)": 1067,
		"unnest(anyarray)": 2331, "row_number()": 3100, "version()": 89, "format_type(oid,int4)": 1081,
		"nextval(regclass)": 1574, "jsonb_set(jsonb,text[],jsonb,bool)": 3305,
	} {
		f := ByID(id)
		if f == nil {
			t.Errorf("%s is not there", id)
		} else if f.OID != oid {
			t.Errorf("%s has OID %d, want %d", id, f.OID, oid)
		}
	}
}

func TestOperators(t *testing.T) {
	o := FindOperator("+", types.Int4OID, types.Int4OID)
	if o == nil || o.OID != 551 || o.Func.ID != "int4pl(int4,int4)" || o.Commutator != "+" {
		t.Fatalf("int4 + int4: %+v", o)
	}
	if o := FindOperator("-", 0, types.Int4OID); o == nil || o.Func.ID != "int4um(int4)" {
		t.Fatalf("- int4: %+v", o)
	}
	seen := map[types.OID]bool{}
	for _, o := range AllOperators() {
		if seen[o.OID] {
			t.Errorf("operator OID %d twice", o.OID)
		}
		seen[o.OID] = true
	}
}

func TestFunctionTravelsAsItsID(t *testing.T) {
	type call struct{ Fn, None *Func }
	lower := ByID("lower(text)")
	b := codec.Marshal(call{Fn: lower})
	if c, err := codec.Unmarshal[call](b); err != nil || c.Fn != lower || c.None != nil {
		t.Fatalf("got %+v, %v", c, err)
	}
	if _, err := codec.Unmarshal[call](bytes.Replace(b, []byte("lower("), []byte("LOWER("), 1)); !pgerr.Is(err, pgerr.UndefinedFunction) {
		t.Fatal(err)
	}
}

func TestCasts(t *testing.T) {
	for _, c := range []struct {
		from, to types.OID
		want     CastContext
	}{
		{types.Int4OID, types.Int8OID, ImplicitCast},
		{types.Int8OID, types.Int4OID, AssignmentCast},
		{types.Int4OID, types.BoolOID, ExplicitCast},
		{types.Int4OID, types.TextOID, AssignmentCast},
		{types.TextOID, types.Int4OID, ExplicitCast},
		{types.UnknownOID, types.DateOID, ImplicitCast},
		{types.DateOID, types.TimestampOID, ImplicitCast},
		{types.DateOID, types.Int4OID, 0},
		{1007, 1016, ImplicitCast}, // int4[] → int8[]
	} {
		if got, _ := Cast(c.from, c.to); got != c.want {
			t.Errorf("%s → %s: %q, want %q", types.TypeName(c.from), types.TypeName(c.to), got, c.want)
		}
	}
}

// TestFixedBoundsHold: the bounds that Bind derives hold for every value of the arguments.
func TestFixedBoundsHold(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	value := func(ty types.Type) number.Decimal {
		m := int64(1)
		for range ty.Prec {
			m *= 10
		}
		switch rng.IntN(3) {
		case 0:
			return number.DecimalFromInt64(m-1, int32(ty.Scale))
		case 1:
			return number.DecimalFromInt64(1-m, int32(ty.Scale))
		}
		return number.DecimalFromInt64(rng.Int64N(2*m-1)-m+1, int32(ty.Scale))
	}
	ops := map[string]func(a, b number.Decimal) (number.Decimal, error){
		"numeric_add(numeric,numeric)": number.Decimal.Add,
		"numeric_sub(numeric,numeric)": number.Decimal.Sub,
		"numeric_mul(numeric,numeric)": number.Decimal.Mul,
		"numeric_mod(numeric,numeric)": number.Decimal.Mod,
	}
	for id, op := range ops {
		for range 3000 {
			var args [2]types.Type
			for i := range args {
				p := 1 + rng.IntN(18)
				args[i] = types.FixedNumeric(uint8(p), uint8(rng.IntN(p+1)), false)
			}
			_, ret := ByID(id).BindArgs(args[:])
			if !ret.IsFixed() {
				continue
			}
			b := value(args[1])
			if id == "numeric_mod(numeric,numeric)" && b.Sign() == 0 {
				continue
			}
			v, err := op(value(args[0]), b)
			if err != nil {
				t.Fatal(err)
			}
			if v.Scale() != int32(ret.Scale) {
				t.Fatalf("%s %v: scale %d, bound as %+v", id, args, v.Scale(), ret)
			}
			c, ok := v.Coefficient(int32(ret.Scale))
			lim := int64(1)
			for range ret.Prec {
				lim *= 10
			}
			if !ok || c >= lim || c <= -lim {
				t.Fatalf("%s %v: %s exceeds %+v", id, args, v, ret)
			}
		}
	}
}

func TestCastVolatility(t *testing.T) {
	const ints, texts = 1007, 1009 // int[], text[]
	for _, c := range []struct {
		from, to types.OID
		want     Volatility
	}{
		{types.Int4OID, types.TextOID, Immutable}, {types.TextOID, types.Int4OID, Immutable}, {types.UnknownOID, types.DateOID, Immutable},
		{types.DateOID, types.TextOID, Stable}, {types.TextOID, types.DateOID, Stable}, {types.TimeOID, types.TextOID, Immutable},
		{types.TextOID, types.TimeOID, Stable}, {types.IntervalOID, types.TextOID, Stable}, {types.TimetzOID, types.TextOID, Immutable},
		{types.TimestamptzOID, types.DateOID, Stable}, {types.DateOID, types.TimestamptzOID, Stable}, {types.TimestamptzOID, types.TimetzOID, Stable},
		{types.TimeOID, types.TimetzOID, Stable}, {types.TimetzOID, types.TimeOID, Immutable}, {types.DateOID, types.TimestampOID, Immutable},
		{ints, types.TextOID, Stable}, {ints, texts, Immutable}, {types.TextOID, types.JSONBOID, Immutable},
		{types.TextOID, types.RegclassOID, Stable}, {types.UUIDOID, types.TextOID, Immutable},
	} {
		if got := CastVolatility(c.from, c.to); got != c.want {
			t.Errorf("%d to %d: %d, want %d", c.from, c.to, got, c.want)
		}
	}
}

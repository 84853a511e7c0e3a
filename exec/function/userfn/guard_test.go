package userfn

import (
	"testing"

	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// TestGuards: nothing in a source can take more memory or steps than it may, whatever it does.
func TestGuards(t *testing.T) {
	for source, want := range map[string]pgerr.Code{
		"x = 1\ndef f(a): return 1":                                                      "",
		"x = 'a' * (1 << 40)\ndef f(a): return 1":                                        pgerr.OutOfMemory,
		"s = 'a'\nfor i in range(60):\n  s = s + s\ndef f(a): return 1":                  pgerr.OutOfMemory,
		"s = 'a'\nfor i in range(60):\n  s += s\ndef f(a): return 1":                     pgerr.OutOfMemory,
		"s = [0]\nfor i in range(60):\n  s += s\ndef f(a): return 1":                     pgerr.OutOfMemory,
		"s = (0,)\nfor i in range(60):\n  s = s * 9\ndef f(a): return 1":                 pgerr.OutOfMemory,
		"s = 'a'\nfor i in range(60):\n  s = s.replace('a', 'aa')\ndef f(a): return 1":   pgerr.OutOfMemory,
		"s = 'a'\nfor i in range(60):\n  s = '%s%s' % (s, s)\ndef f(a): return 1":        pgerr.OutOfMemory,
		"s = 'a'\nfor i in range(60):\n  s = '{0}{0}'.format(s)\ndef f(a): return 1":     pgerr.OutOfMemory,
		"s = [0]\nfor i in range(60):\n  s = [s, s]\nx = str(s)\ndef f(a): return 1":     pgerr.OutOfMemory,
		"x = list(range(1 << 40))\ndef f(a): return 1":                                   pgerr.OutOfMemory,
		"x = []\nx.extend(range(1 << 40))\ndef f(a): return 1":                           pgerr.OutOfMemory,
		"def g(*x): return 1\ny = g(*range(1 << 40))\ndef f(a): return 1":                pgerr.OutOfMemory,
		"l = list(range(100000))\nx = [l[:] for i in range(100000)]\ndef f(a): return 1": pgerr.OutOfMemory,
		"x = max(range(1 << 40))\ndef f(a): return 1":                                    pgerr.ExternalRoutineException,
		"x = 3\nfor i in range(60):\n  x = x * x\ndef f(a): return 1":                    pgerr.ExternalRoutineException,
		"x = [].extend\ndef f(a): return 1":                                              pgerr.FeatureNotSupported,
		"x = getattr([], 'extend')\ndef f(a): return 1":                                  pgerr.ExternalRoutineException,
		"for i in range(1 << 40):\n  pass\ndef f(a): return 1":                           pgerr.OutOfMemory, // a step counts for some bytes
	} {
		err := Check(&catalog.Function{Name: "f", Language: catalog.LanguageStarlark, Body: source,
			Args: []catalog.FunctionArg{{Name: "a", Type: types.Int4, Mode: 'i'}}, Ret: types.Int4})
		if want == "" && err != nil || want != "" && (err == nil || !pgerr.Is(err, want)) {
			t.Errorf("%s\n  %v, want %s", source, err, want)
		}
	}
}

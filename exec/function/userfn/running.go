package userfn

import (
	"context"
	"errors"
	"strconv"

	"go.starlark.net/starlark"

	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// running is a program on one thread.
type running struct {
	*program
	f      *catalog.Function
	thread *starlark.Thread
	fn     starlark.Value
	ctx    context.Context
	meter  *vector.Meter
	own    int // charged while there is no meter
	limit  uint64
	over   uint64 // the step at which a call has taken too many
}

// start makes a thread and runs the definitions.
func (p *program) start(f *catalog.Function) (r *running, err error) {
	defer caught(f, &err)
	r = &running{program: p, f: f, ctx: context.Background(), limit: MaxSteps}
	for _, c := range f.Config {
		if n, err := strconv.ParseUint(c.Value, 10, 62); c.Name == StepsSetting && err == nil {
			r.limit = n
		}
	}
	r.thread = &starlark.Thread{Name: f.Name, Print: func(*starlark.Thread, string) {}}
	r.thread.SetLocal(local, r)
	r.thread.OnMaxSteps = func(t *starlark.Thread) {
		switch {
		case r.ctx.Err() != nil:
			t.Cancel("canceled")
		case t.Steps >= r.over:
			t.Cancel("steps")
		default:
			r.charge(chunk * stepBytes)
			t.SetMaxExecutionSteps(t.Steps + chunk)
		}
	}
	r.begin()
	globals, err := p.code.Init(r.thread, predeclared())
	if err != nil {
		return nil, r.failed(err)
	}
	globals.Freeze()
	if r.fn = globals[p.name]; r.fn == nil {
		return nil, invalid(f, "it defines no function %s", f.Name)
	}
	return r, nil
}

// begin starts the count of a call's steps.
func (r *running) begin() {
	r.own, r.over = 0, r.thread.Steps+r.limit
	r.thread.SetMaxExecutionSteps(r.thread.Steps + min(r.limit, chunk))
}

// StepsSetting is the setting of a function that bounds its steps.
const StepsSetting = "starlark_max_steps"

// call calls the function once.
func (r *running) call(args starlark.Tuple) (starlark.Value, error) {
	r.begin()
	v, err := starlark.Call(r.thread, r.fn, args, nil)
	if err != nil {
		return nil, r.failed(err)
	}
	return v, nil
}

// charge charges memory of the call.
func (r *running) charge(n int) {
	if r.meter != nil {
		r.meter.Scratch(n)
		return
	}
	if r.own += n; r.own > ownLimit || n > ownLimit {
		panic(tooMuch{})
	}
}

// ownLimit is what the definitions of a source may take, and a call that no statement pays for.
const ownLimit = 16 << 20

// tooMuch unwinds a program that asked for more than ownLimit.
type tooMuch struct{}

// caught makes a panic of tooMuch an error; others go on.
func caught(f *catalog.Function, err *error) {
	switch x := recover().(type) {
	case nil:
	case tooMuch:
		*err = pgerr.New(pgerr.OutOfMemory, "Starlark function %s takes too much memory", f.Name)
	default:
		panic(x)
	}
}

// failed is the error of a call as SQL has it: 38000 with the line.
func (r *running) failed(err error) error {
	r.thread.Uncancel()
	if e := r.ctx.Err(); e != nil {
		return e
	}
	if r.thread.Steps >= r.over {
		return pgerr.New(pgerr.ProgramLimitExceeded, "Starlark function %s took too many steps", r.f.Name).
			WithHint("ALTER FUNCTION … SET %s allows more.", StepsSetting)
	}
	var pe *pgerr.Error
	if errors.As(err, &pe) {
		return pe
	}
	var ee *starlark.EvalError
	if !errors.As(err, &ee) {
		return pgerr.New(pgerr.ExternalRoutineException, "Starlark function %s: %s", r.f.Name, err.Error())
	}
	e := pgerr.New(pgerr.ExternalRoutineException, "Starlark function %s: %s", r.f.Name, ee.Msg)
	for i := len(ee.CallStack) - 1; i >= 0; i-- {
		if fr := ee.CallStack[i]; fr.Pos.Line > 0 && fr.Pos.Filename() == r.f.Name {
			return e.WithDetail("Line %d of its source.", lineOf(r.f, int(fr.Pos.Line)))
		}
	}
	return e
}

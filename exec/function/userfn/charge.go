package userfn

import "go.starlark.net/starlark"

// charger charges memory of the call that runs on a thread.
type charger interface{ charge(n int) }

// local is where a thread has its charger.
const local = "charger"

// chargerOf is the charger of a thread.
func chargerOf(t *starlark.Thread) charger { return t.Local(local).(charger) }

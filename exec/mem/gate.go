package mem

import "sync"

// Gate lets goroutines that each need memory for a while share what is enough for one of them: one
// that is refused tries again as others finish, and fails only if it is refused while alone. A Gate
// must not be copied; the zero value is ready for use.
type Gate struct {
	alone sync.Mutex // held by the one that tries again

	mu     sync.Mutex
	change sync.Cond
	inside int
	left   uint64 // how often one of them was done
}

// Enter calls take, which reserves what is needed, and repeats it while that may help. If it
// succeeds Leave must be called once, also where what follows panics. A goroutine must not enter twice.
func (g *Gate) Enter(take func() error) error {
	g.Join()
	err := g.try(take)
	if err == nil {
		return nil
	}
	g.Leave()
	g.alone.Lock()
	defer g.alone.Unlock()
	for {
		left, others := g.Join()
		if err = g.try(take); err == nil {
			return nil
		}
		g.mu.Lock()
		g.inside--
		for g.left == left && g.inside > 0 {
			g.change.L = &g.mu
			g.change.Wait()
		}
		again := g.left != left || others > 0
		g.mu.Unlock()
		if !again {
			return err
		}
	}
}

// try calls take for one that is inside, and leaves if it panics: the others would wait for ever.
func (g *Gate) try(take func() error) error {
	panics := true
	defer func() {
		if panics {
			g.Leave()
		}
	}()
	err := take()
	panics = false
	return err
}

// Hold enters, calls work and leaves.
func (g *Gate) Hold(take, work func() error) error {
	if err := g.Enter(take); err != nil {
		return err
	}
	defer g.Leave()
	return work()
}

// Join is Enter for a goroutine that already has what it needs. It returns how many have left and
// how many others are inside.
func (g *Gate) Join() (left uint64, others int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inside++
	return g.left, g.inside - 1
}

// Leave releases what Enter took.
func (g *Gate) Leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inside--
	g.left++
	g.change.L = &g.mu
	g.change.Broadcast()
}

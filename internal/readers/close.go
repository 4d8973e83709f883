package readers

import "time"

// Close refuses new callers and those who wait, and closes what is idle. The channel is closed when all readers are gone.
func (p *Pool) Close() (drained <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.is(closed) {
		return p.drained
	}
	p.set(closed, true)
	for _, t := range []*time.Timer{p.sweep, p.tick} {
		if t != nil {
			t.Stop()
		}
	}
	for ch := p.next(); ch != nil; ch = p.next() {
		ch <- nil
	}
	p.closeFree(func(*Reader) bool { return true })
	return p.drained
}

// closeFree closes those free readers that which chooses, without the lock.
func (p *Pool) closeFree(which func(*Reader) bool) {
	var gone []*Reader
	p.claimed(func(r *Reader) {
		if which(r) {
			p.remove(r)
			gone = append(gone, r)
		}
	})
	p.closing += len(gone)
	p.unlocked(func() {
		for _, r := range gone {
			r.close()
		}
	})
	p.closing -= len(gone)
	p.finishIfDrained()
}

func (p *Pool) finishIfDrained() {
	if !p.is(closed) || len(*p.open.Load())+p.opening+p.closing > 0 {
		return
	}
	select {
	case <-p.drained:
	default:
		close(p.drained)
	}
}

package readers

import "time"

// armSweep starts the timer that closes idle readers. It runs only while some are open, and looks twice per period
// instead of taking the time at every return: a reader goes after one to one and a half periods.
func (p *Pool) armSweep() {
	if p.cfg.Idle < 0 || p.sweep != nil || p.is(closed) {
		return
	}
	p.sweep = time.AfterFunc(p.cfg.Idle/2+1, p.closeIdle)
}

func (p *Pool) closeIdle() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sweep = nil
	if p.is(closed) {
		return
	}
	p.closeFree(func(r *Reader) bool {
		r.rested++
		return r.rested > 2
	})
	if len(*p.open.Load()) > 0 { // the lock was free for a while
		p.armSweep()
	}
}

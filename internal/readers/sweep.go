package readers

import "time"

// armSweep starts the timer that closes idle readers. It runs only while something is idle, and looks twice per period
// instead of taking the time at every return: a reader goes after one to one and a half periods.
func (p *Pool) armSweep() {
	if p.cfg.Idle < 0 || p.sweep != nil {
		return
	}
	p.sweep = time.AfterFunc(p.cfg.Idle/2+1, p.closeIdle)
}

func (p *Pool) closeIdle() {
	p.mu.Lock()
	p.sweep = nil
	if p.closed {
		p.mu.Unlock()
		return
	}
	var old, young []*Reader
	for _, r := range p.idle {
		if r.rested++; r.rested > 2 {
			old = append(old, r)
			continue
		}
		young = append(young, r)
	}
	p.idle = young
	if len(young) > 0 {
		p.armSweep()
	}
	p.closing += len(old)
	p.mu.Unlock()
	p.closeAll(old)
}

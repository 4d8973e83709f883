package readers

// Kept returns how many free readers keep a snapshot.
func (p *Pool) Kept() (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.claimed(func(r *Reader) {
		if r.Snapshot.Kept() {
			n++
		}
	})
	return n
}

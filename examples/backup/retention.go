package main

// expired returns the copies that are not to be kept: all but the newest one of each of the last hourly hours and of each of
// the last daily days that have copies at all. Hours and days without one do not count, so that a service that was down for a
// month does not lose its old copies when it comes back; the newest copy is always kept. Days are those of UTC. copies are sorted,
// newest first.
func expired(copies []saved, hourly, daily int) (old []saved) {
	hours, days := bucket{most: hourly}, bucket{most: daily}
	for i, c := range copies {
		hour := hours.takes(c.time.UTC().Format("2006-01-02T15"))
		day := days.takes(c.time.UTC().Format("2006-01-02"))
		if i > 0 && !hour && !day {
			old = append(old, c)
		}
	}
	return old
}

// A bucket takes the first of each of some periods.
type bucket struct {
	most, taken int
	last        string
}

func (b *bucket) takes(period string) bool {
	if period == b.last || b.taken == b.most {
		return false
	}
	b.last = period
	b.taken++
	return true
}

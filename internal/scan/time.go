package scan

import "time"

// ParseTime reads a time as SQLite writes it, and as its date functions read it: YYYY-MM-DD, then behind a blank or T
// HH:MM, HH:MM:SS or with a fraction, then Z or an offset such as +05:45. Without one it is UTC; the result always is.
// Of a fraction nine digits count. https://www.sqlite.org/lang_datefunc.html#time_values
func ParseTime(b []byte) (t time.Time, ok bool) {
	p := timeText{rest: b, ok: true}
	year := p.digits(4, 0, 9999)
	p.expect('-')
	month := p.digits(2, 1, 12)
	p.expect('-')
	day := p.digits(2, 1, 31)
	if !p.ok || day > daysIn(year, month) {
		return time.Time{}, false
	}
	var hour, minute, second, nano, offset int
	if p.accept('T') || p.accept(' ') {
		hour = p.digits(2, 0, 23)
		p.expect(':')
		minute = p.digits(2, 0, 59)
		if p.accept(':') {
			second = p.digits(2, 0, 59)
			if p.accept('.') {
				nano = p.fraction()
			}
		}
		offset = p.zone()
	}
	if !p.ok || len(p.rest) > 0 {
		return time.Time{}, false
	}
	return time.Date(year, time.Month(month), day, hour, minute, second-offset, nano, time.UTC), true
}

// timeText is what is left to read; ok turns false at the first mistake.
type timeText struct {
	rest []byte
	ok   bool
}

func (p *timeText) accept(c byte) bool {
	if len(p.rest) == 0 || p.rest[0] != c {
		return false
	}
	p.rest = p.rest[1:]
	return true
}

func (p *timeText) expect(c byte) {
	if !p.accept(c) {
		p.ok = false
	}
}

// digits reads a number of exactly n digits between low and high.
func (p *timeText) digits(n, low, high int) (v int) {
	if len(p.rest) < n {
		p.ok = false
		return 0
	}
	for _, c := range p.rest[:n] {
		if c < '0' || c > '9' {
			p.ok = false
			return 0
		}
		v = 10*v + int(c-'0')
	}
	p.rest = p.rest[n:]
	if v < low || v > high {
		p.ok = false
	}
	return v
}

// fraction reads at least one digit and returns nanoseconds.
func (p *timeText) fraction() (nano int) {
	n, unit := 0, int(time.Second)
	for ; n < len(p.rest) && '0' <= p.rest[n] && p.rest[n] <= '9'; n++ {
		unit /= 10
		nano += unit * int(p.rest[n]-'0')
	}
	p.ok = p.ok && n > 0
	p.rest = p.rest[n:]
	return nano
}

// zone reads Z, an offset or nothing, and returns seconds east of UTC.
func (p *timeText) zone() int {
	sign := 1
	switch {
	case len(p.rest) == 0, p.accept('Z'):
		return 0
	case p.accept('-'):
		sign = -1
	default:
		p.expect('+')
	}
	hours := p.digits(2, 0, 23)
	p.expect(':')
	return sign * (3600*hours + 60*p.digits(2, 0, 59))
}

func daysIn(year, month int) int {
	switch month {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}

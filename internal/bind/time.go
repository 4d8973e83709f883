package bind

import "time"

// Times are stored as text of a fixed width in UTC: it sorts as the instants do, compares with CURRENT_TIMESTAMP, and
// SQLite's date functions read it. https://www.sqlite.org/lang_datefunc.html
const timeLen = len("2006-01-02 15:04:05.000000000")

// appendTime appends t, which is in UTC and in the years 0 to 9999.
func appendTime(b []byte, t time.Time) []byte {
	year, month, day := t.Date()
	hour, minute, second := t.Clock()
	b = append(digits(b, year, 4), '-')
	b = append(digits(b, int(month), 2), '-')
	b = append(digits(b, day, 2), ' ')
	b = append(digits(b, hour, 2), ':')
	b = append(digits(b, minute, 2), ':')
	b = append(digits(b, second, 2), '.')
	return digits(b, t.Nanosecond(), 9)
}

func digits(b []byte, n, width int) []byte {
	b = append(b, "000000000"[:width]...)
	for i := len(b) - 1; n > 0; i-- {
		b[i] = byte('0' + n%10)
		n /= 10
	}
	return b
}

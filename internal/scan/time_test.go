package scan

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTimesAreReadInEveryFormThatSQLiteWrites(t *testing.T) {
	at := func(hour, minute, second, nano int) time.Time {
		return time.Date(2024, 2, 29, hour, minute, second, nano, time.UTC)
	}
	for text, want := range map[string]time.Time{
		"2024-02-29":                          at(0, 0, 0, 0),
		"2024-02-29 12:30":                    at(12, 30, 0, 0),
		"2024-02-29T12:30:15":                 at(12, 30, 15, 0),
		"2024-02-29 12:30:15.5":               at(12, 30, 15, 500_000_000),
		"2024-02-29 12:30:15.000000001":       at(12, 30, 15, 1),
		"2024-02-29 12:30:15.0000000019":      at(12, 30, 15, 1),
		"2024-02-29T12:30:15Z":                at(12, 30, 15, 0),
		"2024-02-29 12:30:15+05:45":           at(6, 45, 15, 0),
		"2024-02-29T12:30-01:00":              at(13, 30, 0, 0),
		"0000-01-01 00:00:00.000000000":       time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC),
		"9999-12-31 23:59:59.999999999-23:59": time.Date(10000, 1, 1, 23, 58, 59, 999_999_999, time.UTC),
	} {
		got, ok := ParseTime([]byte(text))
		assert.True(t, ok, text)
		assert.Equal(t, want, got, text)
	}
	for _, text := range []string{
		"", "now", "2024", "2024-2-29", "2023-02-29", "1900-02-29", "2024-04-31", "2024-00-01", "2024-13-01", "2024-01-00",
		"2024-02-29 ", "2024-02-29Z", "2024-02-29 24:00", "2024-02-29 12", "2024-02-29 12:60", "2024-02-29 12:30:60",
		"2024-02-29 12:30:15.", "2024-02-29 12:30:15,5", "2024-02-29 12:30+0100", "2024-02-29 12:30+1:00", "2024-02-29  12:30",
		"2024-02-29 12:30Z ", "2024-02-29 12:30+24:00", "12:30:15", "2460369.5", "-024-02-29", "2024-02-29 12:30:15 Z",
	} {
		_, ok := ParseTime([]byte(text))
		assert.False(t, ok, text)
	}
}

func TestCurrentTimestampIsATime(t *testing.T) { // case S5
	got, err := one[time.Time](t, open(t), "SELECT CURRENT_TIMESTAMP")
	require.NoError(t, err)
	assert.WithinDuration(t, time.Now(), got, time.Minute)
}

// Whatever is accepted, time.Parse accepts as the same instant, and it accepts nothing more.
func FuzzTimesAgreeWithTimeParse(f *testing.F) {
	for _, text := range []string{
		"2024-02-29", "2024-02-29 12:30", "2024-02-29T12:30:15Z", "2024-02-29 12:30:15.123456789+05:45", "0000-01-01 00:00",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, ok := ParseTime([]byte(text))
		want, err := parseSlowly(text)
		require.Equal(t, err == nil, ok, "%q: %v", text, err)
		if ok {
			assert.True(t, want.Equal(got), "%q: %v and %v", text, want, got)
			assert.Equal(t, time.UTC, got.Location())
		}
	})
}

func parseSlowly(text string) (t time.Time, err error) {
	// What time.Parse takes beyond the format: a comma, one digit for the hour, more blanks, an offset of 24 hours or 60 minutes.
	if strings.Contains(text, ",") || len(text) > 10 && (len(text) < 14 || text[13] != ':' || text[11] == ' ') {
		return t, &time.ParseError{}
	}
	if n := len(text); n > 16 && text[n-3] == ':' && strings.ContainsAny(text[n-6:n-5], "+-") &&
		(text[n-5:n-3] == "24" || text[n-2:] == "60") {
		return t, &time.ParseError{}
	}
	for _, date := range []string{"2006-01-02 ", "2006-01-02T"} {
		for _, clock := range []string{"15:04", "15:04Z07:00", "15:04:05", "15:04:05Z07:00"} {
			if t, err = time.Parse(date+clock, text); err == nil {
				return t.UTC(), nil
			}
		}
	}
	return time.Parse(time.DateOnly, text)
}

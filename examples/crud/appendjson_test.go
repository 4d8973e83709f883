package main

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func FuzzOurJSONIsThatOfThePackage(f *testing.F) {
	for _, s := range []string{"", "Robin", "a\"b\\c", "<script>&\u2028", "\x00\x1f\x7f", "\xff\xfe", "Zoë 😀"} {
		f.Add(s, int64(1), int64(0), int64(2))
		f.Add(s, int64(-5), int64(1_700_000_000_123_456_789), int64(0))
	}
	f.Fuzz(func(t *testing.T, s string, id, at, next int64) {
		u := user{ID: id, Name: s, Email: s + "@example.com", CreatedAt: time.Unix(0, at).UTC(), UpdatedAt: time.Unix(at%1e9, 0).UTC()}
		for _, v := range []appender{u, userPage{Users: []user{}}, userPage{Users: []user{u, u}, Next: next}} {
			want, err := json.Marshal(v)
			require.NoError(t, err)
			assert.Equal(t, string(want), string(v.appendJSON(nil)))
		}
	})
}

package fields

import (
	"strings"
	"unicode"
)

// Snake returns a Go name as it is written in SQL: UserID is user_id, HTTPServer is http_server, IDs is ids.
func Snake(name string) string {
	var b strings.Builder
	rs := []rune(name)
	for i, r := range rs {
		if i > 0 && unicode.IsUpper(r) && rs[i-1] != '_' && (!unicode.IsUpper(rs[i-1]) || startsWord(rs[i:])) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// startsWord reports whether the capital that rs begins with starts a word behind an acronym: S in HTTPServer, but not the D
// of a plural like IDs.
func startsWord(rs []rune) bool {
	if len(rs) < 2 || !unicode.IsLower(rs[1]) {
		return false
	}
	plural := rs[1] == 's' && (len(rs) == 2 || unicode.IsUpper(rs[2]))
	return !plural
}

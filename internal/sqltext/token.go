package sqltext

import "strings"

// kind of a token, as far as this package needs to tell them apart.
type kind uint8

const (
	end    kind = iota // nothing but blanks and comments is left
	word               // keyword or bare identifier
	quoted             // "x", `x`, [x] or 'x'
	semi               // ;
	dot                // .
	other              // one byte of anything else
)

type token struct {
	kind kind
	text string // with its quotes
}

// scanner cuts SQL as SQLite's own tokenizer does (sqlite3GetToken in https://www.sqlite.org/src/file/src/tokenize.c), which
// is laxer than https://www.sqlite.org/lang_comment.html says: an open comment ends with the text, a byte order mark is a
// blank wherever a token may begin, and a vertical tab is one only behind another blank.
type scanner struct{ rest string }

// next returns the next token that is neither blank nor comment.
func (s *scanner) next() token {
	s.rest = s.rest[spaceLen(s.rest):]
	if s.rest == "" {
		return token{}
	}
	k, n := other, 1
	switch c := s.rest[0]; {
	case c == ';':
		k = semi
	case c == '.':
		k = dot
	case c == '"', c == '`', c == '\'', c == '[':
		k, n = quoted, quotedLen(s.rest)
	case isIdent(c):
		for k = word; n < len(s.rest) && isIdent(s.rest[n]); n++ {
		}
	}
	t := token{k, s.rest[:n]}
	s.rest = s.rest[n:]
	return t
}

// spaceLen returns the length of the blanks and comments that s begins with.
func spaceLen(s string) (n int) {
	for n < len(s) {
		switch rest := s[n:]; {
		case strings.IndexByte(" \t\n\f\r", rest[0]) >= 0:
			for n++; n < len(s) && strings.IndexByte(" \t\n\v\f\r", s[n]) >= 0; n++ {
			}
		case strings.HasPrefix(rest, "\xef\xbb\xbf"):
			n += 3
		case strings.HasPrefix(rest, "--"):
			n += lenUntil(rest, "\n", 2)
		case strings.HasPrefix(rest, "/*") && len(rest) > 2: // "/*" that ends the text is two operators
			n += lenUntil(rest, "*/", 2)
		default:
			return n
		}
	}
	return n
}

// lenUntil returns the length of s up to and with the first mark at or after from, or of all of s.
func lenUntil(s, mark string, from int) int {
	if i := strings.Index(s[from:], mark); i >= 0 {
		return from + i + len(mark)
	}
	return len(s)
}

// quotedLen returns the length of the quoted token that s begins with. A doubled quote stands for one quote, but not in
// brackets. https://www.sqlite.org/lang_keywords.html
func quotedLen(s string) int {
	if s[0] == '[' {
		return lenUntil(s, "]", 1)
	}
	for n := 1; n < len(s); n++ {
		if s[n] != s[0] {
			continue
		}
		if n++; n == len(s) || s[n] != s[0] {
			return n
		}
	}
	return len(s)
}

// name returns the identifier that a word or a quoted token stands for.
func (t token) name() string {
	if t.kind != quoted {
		return t.text
	}
	q := t.text[:1]
	closing := q
	if q == "[" {
		closing = "]"
	}
	s := strings.TrimSuffix(t.text[1:], closing)
	if q != "[" {
		s = strings.ReplaceAll(s, q+q, q)
	}
	return s
}

// is reports whether the token is the keyword k, which is given in upper case. A quoted word is never a keyword.
func (t token) is(k string) bool { return t.kind == word && strings.EqualFold(t.text, k) }

func isIdent(c byte) bool {
	return c >= 0x80 || c == '_' || c == '$' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

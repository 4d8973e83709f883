// Package sqltext tells what a statement is by its text, before SQLite sees it: PRAGMAs take effect while SQLite compiles
// them, also under EXPLAIN, so looking at the prepared statement would be too late. https://www.sqlite.org/pragma.html
package sqltext

import "strings"

// Kind groups statements by what a caller has to know before it prepares one.
type Kind uint8

// The kinds.
const (
	Empty       Kind = iota // blanks, comments and semicolons only
	Query                   // SELECT, VALUES
	With                    // WITH: only the prepared statement tells whether it reads or writes
	Change                  // INSERT, REPLACE, UPDATE, DELETE
	Create                  // CREATE, which may make a temporary object; temp.sqlite_schema tells
	Schema                  // ALTER, DROP, REINDEX, ANALYZE
	Transaction             // BEGIN, COMMIT, END, ROLLBACK, SAVEPOINT, RELEASE
	Attach                  // ATTACH, DETACH
	Vacuum                  // VACUUM
	Pragma                  // PRAGMA
	Unknown                 // whatever else: SQLite will call it a syntax error
)

// Info is what the text of a statement tells.
type Info struct {
	Verb    string // first keyword in upper case, EXPLAIN [QUERY PLAN] seen through; empty where there is none
	Kind    Kind
	Explain bool // EXPLAIN or EXPLAIN QUERY PLAN stands before it

	// Of a PRAGMA:
	Name     string // in lower case
	Schema   string // in lower case; empty where none was written
	HasValue bool   // something follows the name
}

var verbs = map[string]Kind{
	"SELECT": Query, "VALUES": Query, "WITH": With,
	"INSERT": Change, "REPLACE": Change, "UPDATE": Change, "DELETE": Change,
	"CREATE": Create,
	"ALTER":  Schema, "DROP": Schema, "REINDEX": Schema, "ANALYZE": Schema,
	"BEGIN": Transaction, "COMMIT": Transaction, "END": Transaction, "ROLLBACK": Transaction,
	"SAVEPOINT": Transaction, "RELEASE": Transaction,
	"ATTACH": Attach, "DETACH": Attach, "VACUUM": Vacuum, "PRAGMA": Pragma,
}

// Classify looks at the first statement of sql; what follows it is not looked at.
func Classify(sql string) Info {
	s := scanner{sql}
	t := s.next()
	for t.kind == semi { // SQLite skips empty statements in front
		t = s.next()
	}
	if t.kind == end {
		return Info{}
	}
	var info Info
	if t.is("EXPLAIN") {
		info.Explain = true
		t = s.afterExplain()
	}
	info.Kind = Unknown
	if t.kind != word {
		return info
	}
	info.Verb = strings.ToUpper(t.text)
	if k, ok := verbs[info.Verb]; ok {
		info.Kind = k
	}
	if info.Kind == Pragma {
		info.pragma(&s)
	}
	return info
}

// afterExplain returns the first token of the explained statement. https://www.sqlite.org/lang_explain.html
func (s *scanner) afterExplain() token {
	t := s.next()
	if t.is("QUERY") {
		if t = s.next(); t.is("PLAN") {
			t = s.next()
		}
	}
	return t
}

// OnlySpace reports whether s holds nothing but blanks and comments. Given what SQLite left of a text behind the first
// statement and its semicolon, it tells whether that statement was the only one; a further semicolon would be a second,
// empty one.
func OnlySpace(s string) bool { return spaceLen(s) == len(s) }

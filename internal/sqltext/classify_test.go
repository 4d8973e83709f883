package sqltext

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"zombiezen.com/go/sqlite"

	"github.com/sanelite/sanelite/internal/capi"
)

func TestTheVerbIsSeenThroughBlanksCommentsSemicolonsAndExplain(t *testing.T) {
	for sql, want := range map[string]Info{
		"":                                       {},
		" \t\r\n\f;;":                            {},
		"-- c":                                   {}, // case S3
		"/**":                                    {}, // case S3
		"/* open":                                {},
		"/**/;/***/ -- c\n\ufeff":                {},
		"/*":                                     {Kind: Unknown},
		"\v":                                     {Kind: Unknown},
		" \vselect 1":                            {Verb: "SELECT", Kind: Query},
		"select 1":                               {Verb: "SELECT", Kind: Query},
		"\ufeffSELECT 1":                         {Verb: "SELECT", Kind: Query},
		"; -- c\n ; Begin":                       {Verb: "BEGIN", Kind: Transaction},
		"/* ; */ROLLBACK TO x":                   {Verb: "ROLLBACK", Kind: Transaction},
		"values(1)":                              {Verb: "VALUES", Kind: Query},
		"WITH a AS (SELECT 1) SELECT 1":          {Verb: "WITH", Kind: With},
		"replace into t values (1)":              {Verb: "REPLACE", Kind: Change},
		"CREATE TEMP TABLE t (a)":                {Verb: "CREATE", Kind: Create},
		"drop table t":                           {Verb: "DROP", Kind: Schema},
		"explain insert into t values(1)":        {Verb: "INSERT", Kind: Change, Explain: true},
		"EXPLAIN/**/QUERY--\nPLAN DELETE FROM t": {Verb: "DELETE", Kind: Change, Explain: true},
		"EXPLAIN":                                {Kind: Unknown, Explain: true},
		`"BEGIN"`:                                {Kind: Unknown},
		"BEGIN\ufeff":                            {Verb: "BEGIN\ufeff", Kind: Unknown},
		"BEGINNING":                              {Verb: "BEGINNING", Kind: Unknown},
		"?":                                      {Kind: Unknown},
	} {
		assert.Equal(t, want, Classify(sql), "%q", sql)
	}
}

func TestAPragmaIsReadInEveryQuoting(t *testing.T) {
	for _, sql := range []string{
		"PRAGMA main.foreign_keys=off",
		"pragma \"MAIN\" . [Foreign_Keys] ( 0 );",
		"explain pragma/**/`main`--\n.'FOREIGN_KEYS'/**/=/**/0",
		";EXPLAIN QUERY PLAN PRAGMA main.foreign_keys(yes)",
	} {
		info := Classify(sql)
		assert.Equal(t, "foreign_keys", info.Name, sql)
		assert.Equal(t, "main", info.Schema, sql)
		assert.True(t, info.HasValue, sql)
	}
	for _, sql := range []string{"PRAGMA foreign_keys", "PRAGMA foreign_keys;", "PRAGMA foreign_keys /* = 1 */ ; = 1"} {
		info := Classify(sql)
		assert.Equal(t, Info{Verb: "PRAGMA", Kind: Pragma, Name: "foreign_keys"}, info, sql)
	}
	assert.Equal(t, `a"b`, Classify(`PRAGMA "a""b"`).Name)
	assert.Equal(t, `a""b`, Classify(`PRAGMA [a""b]`).Name)
	assert.Equal(t, "open", Classify(`PRAGMA [open`).Name)
}

func TestOnlyBlanksAndCommentsMayFollow(t *testing.T) {
	for _, tail := range []string{"", "\n", " -- c", "/**", "/* a */ -- b\n", "\ufeff"} { // case S3
		assert.True(t, OnlySpace(tail), "%q", tail)
	}
	for _, tail := range []string{";", " SELECT 2", "-- c\nx", "/*", "/**/;", "?"} {
		assert.False(t, OnlySpace(tail), "%q", tail)
	}
}

// A statement is empty for this package exactly where it is for SQLite, and what Check lets pass for readers leaves the
// connection's settings as they are.
func FuzzSQLiteAgrees(f *testing.F) {
	for _, sql := range []string{
		"", ";", "/**", "/*", "-- c", "/**/;SELECT 1", "\ufeff", " \v", "\v", "EXPLAIN", "select '", "PRAGMA cache_size=5",
		"explain pragma main.[synchronous](0)", "PRAGMA 'recursive_triggers'=1", "PRAGMA user_version=3;", "A;B", "BEGIN",
	} {
		f.Add(sql)
	}
	c := open(f)
	before := settings(f, c)
	f.Fuzz(func(t *testing.T, sql string) {
		info, refused := Check(sql, false)
		if refused != nil && info.Kind != Empty {
			return
		}
		s, tail, err := c.Prepare(sql, false)
		if err == nil {
			assert.Equal(t, info.Verb == "", s == nil, "%q is %+v", sql, info)
			assert.Equal(t, info.Kind == Empty, s == nil, "%q is %+v", sql, info)
			OnlySpace(tail)
		}
		if s != nil {
			s.Finalize()
		}
		if info.Kind == Pragma || strings.Contains(strings.ToUpper(sql), "PRAGMA") {
			assert.Equal(t, before, settings(t, c), "%q", sql)
		}
	})
}

// Where the first statement compiles, what SQLite leaves is only space exactly where a second Prepare finds nothing.
func FuzzTheTailAgrees(f *testing.F) {
	for _, tail := range []string{"", ";", "--", "/*", "/**", " x", "/**/;", "\ufeff-- c\n", "\v", " \v"} {
		f.Add(tail)
	}
	c := open(f)
	f.Fuzz(func(t *testing.T, tail string) {
		if strings.Contains(tail, ";") || strings.Contains(tail, "\x00") || Classify(tail).Kind == Pragma {
			return
		}
		s, _, err := c.Prepare(tail, false)
		if s != nil {
			s.Finalize()
		}
		assert.Equal(t, s == nil && err == nil, OnlySpace(tail), "%q", tail)
	})
}

func open(t testing.TB) *capi.Conn {
	c, err := capi.Open(":memory:", sqlite.OpenReadWrite|sqlite.OpenCreate)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

func settings(t testing.TB, c *capi.Conn) (values []int64) {
	for _, name := range []string{
		"cache_size", "synchronous", "foreign_keys", "recursive_triggers", "user_version", "query_only", "busy_timeout",
		"temp_store", "secure_delete", "trusted_schema", "cache_spill", "max_page_count", "application_id",
	} {
		s, _, err := c.Prepare("PRAGMA "+name, false)
		require.NoError(t, err)
		_, err = s.Step()
		require.NoError(t, err)
		values = append(values, s.ColumnInt64(0))
		s.Finalize()
	}
	return values
}

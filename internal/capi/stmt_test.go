package capi_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sanelite/sanelite/internal/capi"
	"github.com/sanelite/sanelite/internal/sqlerr"
)

func TestPrepareReturnsWhatFollowsTheStatement(t *testing.T) {
	t.Parallel()
	c := memory(t)
	for sql, want := range map[string]struct {
		tail string
		none bool
	}{
		"SELECT 1":              {tail: ""},
		"SELECT 1;":             {tail: ""},
		"SELECT 1; ":            {tail: " "},
		"SELECT 1;\n-- c":       {tail: "\n-- c"},
		"SELECT 1; SELECT 2":    {tail: " SELECT 2"},
		"SELECT 1;;":            {tail: ";"},
		"SELECT ';' ; x":        {tail: " x"},
		"SELECT 'ü漢'; ü":        {tail: " ü"},
		"SELECT 1 /* ; */; y":   {tail: " y"},
		"":                      {none: true},
		" \n":                   {none: true},
		"-- c":                  {none: true},
		"/* c":                  {none: true},
		";":                     {none: true},
		"; SELECT 1":            {tail: ""}, // SQLite passes over it
		"\xef\xbb\xbfSELECT 1;": {tail: ""},
	} {
		s, tail, err := c.Prepare(sql, true)
		require.NoError(t, err, "%q", sql)
		assert.Equal(t, want.none, s == nil, "%q", sql)
		if s != nil {
			assert.Equal(t, want.tail, tail, "%q", sql)
			assert.Equal(t, sql, s.SQL())
			s.Finalize()
		}
	}
}

func TestPrepareErrorsCarryTheTextAndTheOffset(t *testing.T) {
	t.Parallel()
	c := memory(t)
	for sql, offset := range map[string]int{"SELECT * FRM t": 9, "SELECT nothing": 7, "SELECT 1\x00; DROP": 8, "é SELECT": 0} {
		_, _, err := c.Prepare(sql, false)
		failed := new(sqlerr.Error)
		require.ErrorAs(t, err, &failed, "%q", sql)
		assert.Equal(t, sql, failed.SQL)
		assert.Equal(t, offset, failed.Offset, "%q", sql)
		require.ErrorIs(t, err, sqlerr.ErrSyntax)
	}
}

// Values of all sizes, run after run, in memory that grows and is reused: none may be lost, cut or mixed up.
func TestBoundValuesSurviveWhateverTheirSize(t *testing.T) {
	t.Parallel()
	c := memory(t)
	s, _, err := c.Prepare("SELECT ?, ?, ?, typeof(?2), typeof(?3)", true)
	require.NoError(t, err)
	defer s.Finalize()
	sizes := []int{0, 1, 31, 64, 65, 100, 4095, 4096, 4097, 100_000, 3, 0, 5000, 1, 2048, 2048}
	for i := range 200 {
		a := strings.Repeat(string(rune('a'+i%26)), sizes[i%len(sizes)])
		b := strings.Repeat("b\x00\xff", sizes[(i+5)%len(sizes)])
		blob := bytes.Repeat([]byte{byte(i), 0}, sizes[(i*7+2)%len(sizes)])
		s.BeginBind()
		require.NoError(t, s.BindText(1, a))
		require.NoError(t, s.BindText(2, b))
		require.NoError(t, s.BindBlob(3, blob))
		row, err := s.Step()
		require.NoError(t, err)
		require.True(t, row)
		require.True(t, string(s.ColumnText(0)) == a && string(s.ColumnText(1)) == b && bytes.Equal(s.ColumnBlob(2), blob), "run %d", i)
		require.Equal(t, "text", string(s.ColumnText(3)))
		require.Equal(t, "blob", string(s.ColumnText(4)), "an empty blob is no NULL")
		s.Reset()
	}
}

func TestStatementThatStaysKeepsNoLargeValueAlive(t *testing.T) {
	c := memory(t)
	s, _, err := c.Prepare("SELECT length(?)", true)
	require.NoError(t, err)
	defer s.Finalize()
	before := capi.MemoryUsed()
	for range 3 {
		s.BeginBind()
		require.NoError(t, s.BindText(1, strings.Repeat("x", 32<<20)))
		assert.Equal(t, "33554432", firstOf(t, s))
		s.Reset()
		assert.Less(t, capi.MemoryUsed()-before, int64(16<<20))
	}
}

func firstOf(t testing.TB, s *capi.Stmt) string {
	t.Helper()
	row, err := s.Step()
	require.NoError(t, err)
	require.True(t, row)
	return string(s.ColumnText(0))
}

func TestFreshNoticesThatColumnsHaveChanged(t *testing.T) {
	t.Parallel()
	c := memory(t)
	exec(t, c.Zombie(), "CREATE TABLE t (a)")
	exec(t, c.Zombie(), "INSERT INTO t VALUES (1)")
	s, _, err := c.Prepare("SELECT * FROM t", true)
	require.NoError(t, err)
	defer s.Finalize()
	assert.Equal(t, "1", firstOf(t, s))
	assert.True(t, s.Fresh())
	s.Reset()
	exec(t, c.Zombie(), "ALTER TABLE t ADD COLUMN b DEFAULT 2")
	assert.Equal(t, []string{"a"}, s.Columns())
	assert.Equal(t, "1", firstOf(t, s))
	assert.False(t, s.Fresh())
	assert.Equal(t, []string{"a", "b"}, s.Columns())
	assert.True(t, s.Fresh(), "told once")
	s.Reset()
}

func TestStatementEndsWithItsContextAndTheNextIsNotConcerned(t *testing.T) {
	t.Parallel()
	const endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
	c := memory(t)
	var stop capi.Stop
	c.StopWith(&stop)
	s, _, err := c.Prepare(endless, true)
	require.NoError(t, err)
	defer s.Finalize()
	for range 3 {
		ctx, cancel := context.WithCancel(t.Context())
		go cancel()
		c.SetContext(ctx)
		err := s.Run()
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, sqlerr.ErrInterrupted)
		c.SetContext(t.Context())
		assert.Equal(t, "1", first(t, c, "SELECT 1"))
	}
	go stop.Set(sqlerr.ErrClosed)
	require.ErrorIs(t, s.Run(), sqlerr.ErrClosed)
	require.ErrorIs(t, c.Cause(), sqlerr.ErrClosed)
	c.ClearContext()
	require.NoError(t, c.Cause(), "what must not be interrupted runs under no context")
}

// SQLite's log is one for the whole process; loggers get it from when they are added until they are removed.
func TestLoggersGetWhatSQLiteLogs(t *testing.T) {
	c := memory(t)
	one, two := new(recorder), new(recorder)
	logger := slog.New(one)
	removeFirst, removeSecond := capi.AddLogger(logger), capi.AddLogger(logger) // two handles that share it
	removeOther := capi.AddLogger(slog.New(two))
	provoke := func() {
		_, _, err := c.Prepare("SELECT * FROM there_is_no_such_table", false)
		require.Error(t, err)
	}
	provoke()
	assert.Equal(t, 1, one.count("there_is_no_such_table"), "once")
	assert.Equal(t, 1, two.count("there_is_no_such_table"))
	removeFirst()
	removeOther()
	provoke()
	assert.Equal(t, 2, one.count("there_is_no_such_table"))
	assert.Equal(t, 1, two.count("there_is_no_such_table"))
	removeSecond()
	provoke()
	assert.Equal(t, 2, one.count("there_is_no_such_table"))
}

// recorder is a slog.Handler that remembers.
type recorder struct {
	mu    sync.Mutex
	lines []string
}

func (r *recorder) Enabled(context.Context, slog.Level) bool { return true }
func (r *recorder) WithAttrs([]slog.Attr) slog.Handler       { return r }
func (r *recorder) WithGroup(string) slog.Handler            { return r }

func (r *recorder) Handle(_ context.Context, record slog.Record) error {
	line := record.Message
	record.Attrs(func(a slog.Attr) bool { line += " " + a.String(); return true })
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, line)
	return nil
}

func (r *recorder) count(text string) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, line := range r.lines {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

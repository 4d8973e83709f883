package capi

import (
	"context"
	"log/slog"
	"sync"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"

	"github.com/sanelite/sanelite/internal/cmem"
)

// loggers get what SQLite writes to its error log, which is one for the whole process: a message does not say which
// database it speaks of. https://www.sqlite.org/errlog.html
var loggers = struct {
	sync.Mutex
	refs map[*slog.Logger]int
}{refs: map[*slog.Logger]int{}}

// installLog must run before sqlite3_initialize; where somebody else initialised SQLite first, there is no log.
// https://www.sqlite.org/c3ref/c_config_covering_index_scan.html#sqliteconfiglog
func installLog(tls *libc.TLS) {
	va := libc.NewVaList(cmem.Func(onLog), uintptr(0))
	defer libc.Xfree(tls, va)
	_ = lib.Xsqlite3_config(tls, lib.SQLITE_CONFIG_LOG, va)
}

// AddLogger sends SQLite's error log to l until the returned function is called. A logger that several handles share
// gets each message once.
func AddLogger(l *slog.Logger) (remove func()) {
	loggers.Lock()
	loggers.refs[l]++
	loggers.Unlock()
	return func() {
		loggers.Lock()
		defer loggers.Unlock()
		if loggers.refs[l]--; loggers.refs[l] == 0 {
			delete(loggers.refs, l)
		}
	}
}

func onLog(_ *libc.TLS, _ uintptr, code int32, message uintptr) {
	loggers.Lock()
	to := make([]*slog.Logger, 0, len(loggers.refs))
	for l := range loggers.refs {
		to = append(to, l)
	}
	loggers.Unlock()
	if len(to) == 0 {
		return
	}
	text := libc.GoString(message)
	for _, l := range to {
		l.LogAttrs(context.Background(), logLevel(code), "sqlite", slog.Int("code", int(code)), slog.String("message", text))
	}
}

// logLevel keeps what the caller is told anyway (a failed constraint, a statement prepared again) out of the way.
func logLevel(code int32) slog.Level {
	switch code & 0xff {
	case lib.SQLITE_CONSTRAINT, lib.SQLITE_SCHEMA, lib.SQLITE_ERROR, lib.SQLITE_INTERRUPT, lib.SQLITE_BUSY, lib.SQLITE_READONLY:
		return slog.LevelDebug
	case lib.SQLITE_NOTICE:
		return slog.LevelInfo
	}
	return slog.LevelWarn
}

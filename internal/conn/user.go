package conn

import (
	"fmt"
	"path/filepath"
	"reflect"
	"runtime"
	"sync/atomic"

	"github.com/sanelite/sanelite/internal/sqlerr"
	"github.com/sanelite/sanelite/internal/stmtcache"
)

// User remembers who uses a connection, for the errors of those who wait for it. Walking the stack would cost more than
// many a write; the function that runs, and the statement, are known for nothing. Others may read it at any time.
type User struct {
	fn   atomic.Uintptr
	stmt atomic.Pointer[stmtcache.Stmt]
}

// Begin is called when the connection changes hands, with the function that will run on it, or nil.
func (u *User) Begin(fn any) {
	u.stmt.Store(nil)
	u.Runs(fn)
}

// Runs names the function that runs: the caller's, inside one of the library's.
func (u *User) Runs(fn any) {
	if fn == nil {
		u.fn.Store(0)
		return
	}
	u.fn.Store(reflect.ValueOf(fn).Pointer())
}

// Steps names the statement that runs.
func (u *User) Steps(s *stmtcache.Stmt) { u.stmt.Store(s) }

// Statement returns the statement that ran last since Begin, or nil.
func (u *User) Statement() *stmtcache.Stmt { return u.stmt.Load() }

// String returns "file.go:12 (pkg.Function)" of the function, or the text of the statement, or "".
func (u *User) String() string {
	if pc := u.fn.Load(); pc != 0 {
		f := runtime.FuncForPC(pc)
		file, line := f.FileLine(pc)
		return fmt.Sprintf("%s:%d (%s)", filepath.Base(file), line, filepath.Base(f.Name()))
	}
	if s := u.stmt.Load(); s != nil {
		return sqlerr.Shorten(s.SQL())
	}
	return ""
}

package pagecache

import (
	"os"
	"runtime"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"

	"github.com/sanelite/sanelite/internal/cmem"
)

// Variable is the name of the environment variable that chooses the page cache of the process.
const Variable = "SANELITE_PAGECACHE"

// State says which page cache the process has.
type State int

// The states.
const (
	NotInstalled   State = iota // no connection has been opened yet
	Surviving                   // this one, and it survives commits
	Plain                       // this one, and it does not
	SwitchedOff                 // SQLite's own, by the environment variable
	AlreadyStarted              // SQLite's own: somebody else initialised SQLite first
)

// String describes the state in a few words.
func (s State) String() string {
	switch s {
	case Surviving:
		return "own, survives commits"
	case Plain:
		return "own"
	case SwitchedOff:
		return "built-in, by " + Variable
	case AlreadyStarted:
		return "built-in, SQLite was initialised by another package"
	default:
		return "not installed"
	}
}

var state State

// Installed returns the state. It is settled by the first connection that this module opens.
func Installed() State { return state }

// provenHere says on which architectures a cache may survive commits. It compares words that other processes write, and
// modernc's memory barriers are empty outside amd64: elsewhere the tests that prove it have not run.
const provenHere = runtime.GOARCH == "amd64"

// Install makes SQLite use this cache. It must run before SQLite is initialised: sqlite3_config refuses afterwards, and the
// built-in cache stays. https://www.sqlite.org/c3ref/config.html
func Install(tls *libc.TLS) {
	choice := os.Getenv(Variable)
	if choice == "builtin" {
		state = SwitchedOff
		return
	}
	// Both tables are read by SQLite for as long as the process lives.
	size := uint64(unsafe.Sizeof(lib.Tsqlite3_pcache_methods2{}))
	old, own := libc.Xcalloc(tls, 1, size), libc.Xcalloc(tls, 1, size)
	if old == 0 || own == 0 || configure(tls, lib.SQLITE_CONFIG_GETPCACHE2, old) != lib.SQLITE_OK {
		state = AlreadyStarted
		return
	}
	builtin = cmem.At[lib.Tsqlite3_pcache_methods2](old)
	*cmem.At[lib.Tsqlite3_pcache_methods2](own) = lib.Tsqlite3_pcache_methods2{
		FiVersion:   1,
		FxInit:      cmem.Func(xInit),
		FxShutdown:  cmem.Func(xShutdown),
		FxCreate:    cmem.Func(xCreate),
		FxCachesize: cmem.Func(xCachesize),
		FxPagecount: cmem.Func(xPagecount),
		FxFetch:     cmem.Func(xFetch),
		FxUnpin:     cmem.Func(xUnpin),
		FxRekey:     cmem.Func(xRekey),
		FxTruncate:  cmem.Func(xTruncate),
		FxDestroy:   cmem.Func(xDestroy),
		FxShrink:    cmem.Func(xShrink),
	}
	switch {
	case configure(tls, lib.SQLITE_CONFIG_PCACHE2, own) != lib.SQLITE_OK:
		state = AlreadyStarted
	case choice == "plain" || !provenHere:
		state = Plain
	default:
		state = Surviving
	}
}

func configure(tls *libc.TLS, option int32, methods uintptr) int32 {
	va := libc.NewVaList(methods)
	defer libc.Xfree(tls, va)
	return lib.Xsqlite3_config(tls, option, va)
}

package capi

import (
	"fmt"
	"sync"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
	"zombiezen.com/go/sqlite"

	"github.com/sanelite/sanelite/internal/cmem"
	"github.com/sanelite/sanelite/internal/pagecache"
	"github.com/sanelite/sanelite/internal/sqlerr"
)

// The sqlite3 handle of a zombiezen connection is private. It is learnt from SQLite: an automatic extension gives every
// new connection an SQL function that answers sqlite3_context_db_handle, and the opener calls it through the zombiezen
// connection. Remembering "the connection the extension saw last" is wrong as soon as two goroutines open at once.
// https://www.sqlite.org/c3ref/auto_extension.html, https://www.sqlite.org/c3ref/context_db_handle.html
const handleFunction = "sanelite_handle"

// handleFlags keep the function out of views, triggers and schemas that others may have written.
// https://www.sqlite.org/c3ref/c_deterministic.html#sqlitedirectonly
const handleFlags = lib.SQLITE_UTF8 | lib.SQLITE_DIRECTONLY

var handleFunctionName = mustCString(handleFunction)

// initialize prepares the process-wide parts of SQLite once, before the first connection of this module.
var initialize = sync.OnceFunc(func() {
	tls := libc.NewTLS()
	defer tls.Close()
	installLog(tls)
	pagecache.Install(tls)
	chooseSync(tls)
	if rc := lib.Xsqlite3_initialize(tls); rc != lib.SQLITE_OK { // https://www.sqlite.org/c3ref/initialize.html
		panic(fmt.Sprintf("sqlite3_initialize: result code %d", rc))
	}
	if rc := lib.Xsqlite3_auto_extension(tls, cmem.Func(registerHandleFunction)); rc != lib.SQLITE_OK {
		panic(fmt.Sprintf("sqlite3_auto_extension: result code %d", rc))
	}
})

func registerHandleFunction(tls *libc.TLS, db, _, _ uintptr) int32 {
	return lib.Xsqlite3_create_function_v2(tls, db, handleFunctionName, 0, handleFlags, 0, cmem.Func(answerHandle), 0, 0, 0)
}

func answerHandle(tls *libc.TLS, ctx uintptr, _ int32, _ uintptr) {
	lib.Xsqlite3_result_int64(tls, ctx, int64(lib.Xsqlite3_context_db_handle(tls, ctx)))
}

func handleOf(z *sqlite.Conn) (uintptr, error) {
	stmt, _, err := z.PrepareTransient("SELECT " + handleFunction + "()")
	if err != nil { // preparing reads the schema, so this is where a file turns out not to be a database
		return 0, openError(err)
	}
	defer func() { _ = stmt.Finalize() }()
	if _, err := stmt.Step(); err != nil {
		return 0, openError(err)
	}
	return uintptr(stmt.ColumnInt64(0)), nil
}

func openError(err error) error {
	code := sqlite.ErrCode(err)
	return &sqlerr.Error{Code: code, Message: code.Message(), Offset: -1, Op: "open"}
}

// forgetHandleFunction removes the function again, so that SQL cannot read an address.
func (c *Conn) forgetHandleFunction() {
	lib.Xsqlite3_create_function_v2(c.tls, c.db, handleFunctionName, 0, handleFlags, 0, 0, 0, 0, 0)
}

func mustCString(s string) uintptr {
	p, err := libc.CString(s)
	if err != nil {
		panic(err)
	}
	return p
}

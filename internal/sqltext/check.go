package sqltext

import "github.com/sanelite/sanelite/internal/sqlerr"

// methods name what to use where a statement is refused.
var methods = map[string]string{
	"BEGIN":     "use Read, Write or Batch",
	"COMMIT":    "return nil from the function given to Write",
	"END":       "return nil from the function given to Write",
	"ROLLBACK":  "return an error from the function given to Write or Savepoint",
	"SAVEPOINT": "use Savepoint",
	"RELEASE":   "use Savepoint",
	"ATTACH":    "use ReadConn, WriteConn or Options.Setup",
	"DETACH":    "use ReadConn, WriteConn or Options.Setup",
	"VACUUM":    "use the Vacuum method of the handle",
}

// Check refuses what may not run inside a transaction of this module: whatever begins or ends one, and whatever leaves the
// connection in another state. The error matches sqlerr.ErrNotAllowed and names the method to use. A statement without
// content matches sqlerr.ErrSyntax. write says whether the statement is for a write transaction; whether it does write,
// only the prepared statement knows.
func Check(sql string, write bool) (Info, error) {
	info := Classify(sql)
	switch info.Kind {
	case Empty:
		return info, sqlerr.Wrapf(sqlerr.ErrSyntax, "sqlite: empty statement")
	case Transaction, Attach, Vacuum:
		return info, refuse(info, methods[info.Verb])
	case Pragma:
		return info, info.checkPragma(write)
	}
	return info, nil
}

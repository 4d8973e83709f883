package writer

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
)

// module is the prefix of the functions that are never the call site a user looks for. Test packages, whose import path
// ends in _test, are users too.
const module = "github.com/sanelite/sanelite/"

// callSite remembers who called into the library. Only program counters are taken; names are looked up when asked for.
type callSite struct {
	pcs [12]uintptr
	n   int
}

// record takes the stack above the caller of the function that calls it.
func (s *callSite) record() { s.n = runtime.Callers(4, s.pcs[:]) }

// String returns "file.go:12 (pkg.Function)" of the innermost frame outside the library.
func (s *callSite) String() string {
	frames := runtime.CallersFrames(s.pcs[:s.n])
	for {
		f, more := frames.Next()
		if f.Function != "" && !own(f.Function) {
			return fmt.Sprintf("%s:%d (%s)", filepath.Base(f.File), f.Line, filepath.Base(f.Function))
		}
		if !more {
			return "the library itself"
		}
	}
}

func own(function string) bool {
	rest, ok := strings.CutPrefix(function, module)
	if !ok {
		return strings.HasPrefix(function, "runtime.")
	}
	pkg, _, _ := strings.Cut(rest, ".")
	return pkg == "sqlitex" || pkg == "tx" || pkg == "backup" || strings.HasPrefix(pkg, "internal/") && !strings.HasSuffix(pkg, "_test")
}

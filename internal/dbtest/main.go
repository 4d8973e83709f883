package dbtest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"
)

// childVariable names the function that a test binary runs instead of its tests, when it is started as a child.
const childVariable = "SANELITE_TEST_CHILD"

// Child is the body of a child process; args are what Command was given.
type Child func(args []string)

// Main runs the tests of a package, or the child that the process was started as, and fails when goroutines are left
// in this module's code afterwards. Call it from TestMain.
func Main(m *testing.M, children map[string]Child) {
	if name := os.Getenv(childVariable); name != "" {
		child, ok := children[name]
		if !ok {
			fmt.Fprintf(os.Stderr, "unknown child %q\n", name)
			os.Exit(2)
		}
		child(os.Args[1:])
		os.Exit(0)
	}
	code := m.Run()
	if leaked := leakedGoroutines(); code == 0 && leaked != "" {
		fmt.Fprintf(os.Stderr, "goroutines left:\n%s\n", leaked)
		code = 1
	}
	os.Exit(code)
}

// Command prepares this test binary to run as the named child.
func Command(t testing.TB, child string, args ...string) *exec.Cmd {
	t.Helper()
	c := exec.Command(os.Args[0], args...)
	c.Env = append(os.Environ(), childVariable+"="+child)
	c.Stderr = os.Stderr
	return c
}

// leakedGoroutines waits for goroutines that are about to end, and returns the stacks of those that do not.
func leakedGoroutines() (leaked string) {
	for deadline := time.Now().Add(2 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if leaked = ownStacks(); leaked == "" || time.Now().After(deadline) {
			return leaked
		}
	}
}

func ownStacks() string {
	buf := make([]byte, 1<<20)
	buf = buf[:runtime.Stack(buf, true)]
	var own []string
	for i, stack := range bytes.Split(buf, []byte("\n\n")) {
		if i > 0 && bytes.Contains(stack, []byte("github.com/sanelite/sanelite/")) { // the first is this goroutine
			own = append(own, string(stack))
		}
	}
	return strings.Join(own, "\n\n")
}

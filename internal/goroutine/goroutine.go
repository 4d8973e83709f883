// Package goroutine tells goroutines apart, for diagnostics only: a call that would wait for its own goroutine can say so
// at once instead of after a timeout. Nothing may depend on it for correctness.
package goroutine

// ID returns a number that no other living goroutine has. It is free again when the goroutine ends. Zero means unknown.
func ID() uintptr { return id() }

// Package cmem reaches memory and functions on the C side of modernc's SQLite: memory that the garbage collector does not
// own, and Go functions that SQLite takes for C ones.
package cmem

import "unsafe"

// Pointer turns the address of C memory into a Go pointer. The rules of package unsafe about uintptr speak of memory that
// the collector may move or free; this is not, which vet cannot know: hence the detour over the address of p.
func Pointer(p uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&p)) }

// At is the T at address p of C memory.
func At[T any](p uintptr) *T { return (*T)(Pointer(p)) }

// Bytes is n bytes of C memory as a slice.
func Bytes(p uintptr, n int) []byte { return unsafe.Slice((*byte)(Pointer(p)), n) }

// Func turns a Go function into what modernc's SQLite takes for a C function pointer: the address of a funcval. The
// function must be a package-level one, which the garbage collector never moves.
func Func[F any](f F) uintptr {
	return *(*uintptr)(unsafe.Pointer(&struct{ f F }{f}))
}

// Call turns a C function pointer of SQLite back into a Go function of type F, which must be its signature.
func Call[F any](p uintptr) F {
	return *(*F)(unsafe.Pointer(&struct{ p uintptr }{p}))
}

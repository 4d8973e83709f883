package capi

import "unsafe"

// pointer turns the address of C memory into a Go pointer. The garbage collector does not own that memory, so rule 1 of
// package unsafe about uintptr does not apply, which vet cannot know: hence the detour over the address of p.
func pointer(p uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&p)) }

// word reads eight bytes of C memory.
func word(p uintptr) uintptr { return *(*uintptr)(pointer(p)) }

// view is n bytes of C memory as a slice.
func view(p uintptr, n int) []byte { return unsafe.Slice((*byte)(pointer(p)), n) }

// int32At reads four bytes of C memory.
func int32At(p uintptr) int32 { return *(*int32)(pointer(p)) }

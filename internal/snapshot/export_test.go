//go:build unix

package snapshot

import "github.com/sanelite/sanelite/internal/capi"

// Header returns the header of the transaction, and whether it is known.
func (s *Snapshot) Header() (capi.Header, bool) { return s.header, s.known }

// Survives reports whether the page cache may survive a renewal at all.
func (s *Snapshot) Survives() bool { return s.cache != nil }

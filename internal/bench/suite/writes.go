package suite

import (
	"fmt"
	"path/filepath"

	"github.com/sanelite/sanelite/internal/bench/harness"
	"github.com/sanelite/sanelite/internal/bench/peers"
)

// Writes are the workloads that write.
func Writes() []harness.Workload {
	const mutex, mutexNormal = "zombiezen, mutex", "zombiezen, mutex, NORMAL"
	return []harness.Workload{
		writing("insert-64", "64 goroutines, each inserts one row at a time; synchronous NORMAL", "insert",
			peers.Spec{Work: peers.WorkInsert, Goroutines: 64},
			by(peers.Sanelite, sanelite),
			by(peers.Zombiezen, mutex, speedup(sanelite, harness.AtLeast, 5)),
			by(peers.Mattn, "mattn", speedup(sanelite, harness.NoTarget, 0)),
		),
		writing("insert-64-full", "64 goroutines, each inserts one row at a time; synchronous FULL", "insert",
			peers.Spec{Work: peers.WorkInsert, Goroutines: 64, Full: true},
			by(peers.Sanelite, sanelite),
			by(peers.Zombiezen, mutex, speedup(sanelite, harness.AtLeast, 12)),
			writer{peer: peers.Zombiezen, name: mutexNormal, compare: []harness.Compare{speedup(sanelite, harness.AtLeast, 1)}, normal: true},
		),
		writing("insert-8", "8 goroutines, each inserts one row at a time; synchronous NORMAL", "insert",
			peers.Spec{Work: peers.WorkInsert, Goroutines: 8},
			by(peers.Sanelite, sanelite),
			by(peers.Zombiezen, mutex, speedup(sanelite, harness.NoTarget, 0)),
			by(peers.Mattn, "mattn", speedup(sanelite, harness.AtLeast, 3)),
			by(peers.Modernc, "modernc", speedup(sanelite, harness.NoTarget, 0)),
			by(peers.Ncruces, "ncruces", speedup(sanelite, harness.NoTarget, 0)),
		),
		writing("insert-1", "one goroutine inserts one row at a time; synchronous NORMAL", "insert",
			peers.Spec{Work: peers.WorkInsert},
			by(peers.Sanelite, sanelite),
			by(peers.Zombiezen, "zombiezen", time(sanelite, harness.AtMost, 0.95)),
			by(peers.Bun, "bun", time(sanelite, harness.NoTarget, 0)),
			by(peers.BetterSQLite3, "better-sqlite3", time(sanelite, harness.NoTarget, 0)),
			by(peers.Mattn, "mattn", time(sanelite, harness.NoTarget, 0)),
			by(peers.Modernc, "modernc", time(sanelite, harness.NoTarget, 0)),
			by(peers.Ncruces, "ncruces", time(sanelite, harness.NoTarget, 0)),
		),
		writing("bulk", "50,000 rows in one transaction; synchronous NORMAL", "row",
			peers.Spec{Work: peers.WorkBulk},
			by(peers.Sanelite, sanelite),
			by(peers.Zombiezen, "zombiezen", time(sanelite, harness.AtMost, 1.10)),
			by(peers.BetterSQLite3, "better-sqlite3", time(sanelite, harness.AtMost, 1)),
			by(peers.Mattn, "mattn", time(sanelite, harness.AtMost, 1)),
			by(peers.Bun, "bun", time(sanelite, harness.NoTarget, 0)),
			by(peers.Modernc, "modernc", time(sanelite, harness.NoTarget, 0)),
			by(peers.Ncruces, "ncruces", time(sanelite, harness.NoTarget, 0)),
		),
		steady(false),
		steady(true),
	}
}

const (
	steadyGoroutines = 8
	steadyRate       = 4000 // a fraction of what one writer can do, so that what takes long is not the queue
)

func steady(full bool) harness.Workload {
	name, synchronous := "steady", "NORMAL"
	if full {
		name, synchronous = "steady-full", "FULL"
	}
	const inCommit = "sanelite, SQLite's autocheckpoint"
	return writing(name, fmt.Sprintf("%d goroutines update %d rows a second between them, one in a commit, all over the table: how long each takes; synchronous %s", steadyGoroutines, steadyRate, synchronous), "update",
		peers.Spec{Work: peers.WorkUpdate, Goroutines: steadyGoroutines, Rate: steadyRate, Full: full},
		by(peers.Sanelite, sanelite, harness.Compare{With: inCommit, By: harness.P999, Op: harness.AtLeast, Than: 1}, harness.Compare{With: inCommit, By: harness.Longest, Op: harness.AtLeast, Than: 1}),
		writer{peer: peers.Sanelite, name: inCommit, inCommit: true},
		by(peers.Zombiezen, "zombiezen, mutex"),
		by(peers.Mattn, "mattn"),
	)
}

// writer is a side of a workload that writes.
type writer struct {
	peer    peers.Peer
	name    string
	compare []harness.Compare
	normal  bool // synchronous NORMAL, whatever the others have

	inCommit bool // see peers.Spec
}

func by(peer peers.Peer, name string, compare ...harness.Compare) writer {
	return writer{peer: peer, name: name, compare: compare}
}

// writing gives each side a database of its own. Before every run a side empties it, unless it updates rows, and
// checkpoints, off the clock.
func writing(name, title, unit string, spec peers.Spec, writers ...writer) harness.Workload {
	return harness.Workload{
		Name: name, Title: title, Unit: unit,
		Open: func(dir string) (sides []harness.Side, done func() error, err error) {
			for i, w := range writers {
				s := spec
				s.Peer, s.Path = w.peer, filepath.Join(dir, fmt.Sprintf("%d.db", i))
				s.InCommit = w.inCommit
				if w.normal {
					s.Full = false
				}
				if err := peers.Create(s.Path, s.Work == peers.WorkUpdate); err != nil {
					return nil, nil, err
				}
				sides = append(sides, s.Side(w.name, w.compare...))
			}
			return sides, nil, nil
		},
	}
}

package suite

import (
	"path/filepath"

	"github.com/sanelite/sanelite/internal/bench/harness"
	"github.com/sanelite/sanelite/internal/bench/peers"
)

// Reads are the workloads that read.
func Reads() []harness.Workload {
	return []harness.Workload{row(), parallel("wal"), parallel("file"), parallel("mmap"), all(), beside()}
}

const (
	sanelite         = string(peers.Sanelite)
	saneliteProfiled = sanelite + ", with a profile"
)

// profiled is sanelite in a program that was built with a profile of its own work.
func profiled(path string, work peers.Work) harness.Side {
	return peers.Spec{Peer: peers.Sanelite, Work: work, Path: path, Profiled: true}.Side(saneliteProfiled, time(sanelite, harness.NoTarget, 0))
}

// filled makes a database with all rows in the file.
func filled(dir string) (string, error) {
	path := filepath.Join(dir, "bench.db")
	return path, peers.Create(path, true)
}

func row() harness.Workload {
	return harness.Workload{
		Name: "row", Title: "one row of 4 columns by key, into a struct; every read sees the newest commit", Unit: "read",
		Open: func(dir string) ([]harness.Side, func() error, error) {
			path, err := filled(dir)
			side := func(peer peers.Peer, compare ...harness.Compare) harness.Side {
				return peers.Spec{Peer: peer, Work: peers.WorkRow, Path: path}.Side(string(peer), compare...)
			}
			return []harness.Side{
				side(peers.Sanelite),
				profiled(path, peers.WorkRow),
				side(peers.C, time(sanelite, harness.AtMost, 1.15)),
				side(peers.Zombiezen, time(sanelite, harness.AtMost, 0.60)),
				side(peers.Bun, time(sanelite, harness.AtMost, 0.70), time(saneliteProfiled, harness.AtMost, 0.70)),
				side(peers.BetterSQLite3, time(sanelite, harness.AtMost, 0.50)),
				side(peers.Mattn, time(sanelite, harness.AtMost, 0.35)),
				side(peers.Modernc, time(sanelite, harness.AtMost, 0.30)),
				side(peers.Ncruces, time(sanelite, harness.NoTarget, 0)),
			}, nil, err
		},
	}
}

const mmapSize = 256 << 20

func parallel(state string) harness.Workload {
	title := map[string]string{
		"wal":  "rows in the write-ahead log",
		"file": "rows in the database file",
		"mmap": "rows in the database file, memory-mapped",
	}[state]
	return harness.Workload{
		Name: "parallel-" + state, Title: "one row by key, two goroutines and one; " + title, Unit: "read",
		Open: func(dir string) (_ []harness.Side, done func() error, err error) {
			spec := peers.Spec{Work: peers.WorkRow, Path: filepath.Join(dir, "bench.db")}
			switch state {
			case "wal":
				spec.KeepWAL = true
				done, err = peers.CreateInWAL(spec.Path)
			case "mmap":
				spec.Mmap = mmapSize
				err = peers.Create(spec.Path, true)
			default:
				err = peers.Create(spec.Path, true)
			}
			side := func(peer peers.Peer, goroutines int, name string, compare ...harness.Compare) harness.Side {
				s := spec
				s.Peer, s.Goroutines = peer, goroutines
				return s.Side(name, compare...)
			}
			return []harness.Side{
				side(peers.Sanelite, 1, "sanelite, 1 goroutine"),
				side(peers.Sanelite, 2, "sanelite, 2 goroutines", gain("sanelite, 1 goroutine", harness.AtLeast, 1.7)),
				side(peers.Zombiezen, 1, "zombiezen, 1 connection"),
				side(peers.Zombiezen, 2, "zombiezen, 2 connections", gain("zombiezen, 1 connection", harness.NoTarget, 0)),
			}, done, err
		},
	}
}

func all() harness.Workload {
	return harness.Workload{
		Name: "all", Title: "50,000 rows of 4 columns into a slice of structs", Unit: "read",
		Open: func(dir string) ([]harness.Side, func() error, error) {
			path, err := filled(dir)
			side := func(peer peers.Peer, compare ...harness.Compare) harness.Side {
				return peers.Spec{Peer: peer, Work: peers.WorkAll, Path: path}.Side(string(peer), compare...)
			}
			return []harness.Side{
				side(peers.Sanelite),
				profiled(path, peers.WorkAll),
				side(peers.Zombiezen, time(sanelite, harness.AtMost, 0.75)),
				side(peers.Bun, time(sanelite, harness.AtMost, 1.10), time(saneliteProfiled, harness.AtMost, 1.10)),
				side(peers.BetterSQLite3, time(sanelite, harness.NoTarget, 0)),
				side(peers.Mattn, time(sanelite, harness.AtMost, 0.40)),
				side(peers.Modernc, time(sanelite, harness.NoTarget, 0)),
				side(peers.Ncruces, time(sanelite, harness.NoTarget, 0)),
			}, nil, err
		},
	}
}

func beside() harness.Workload {
	return harness.Workload{
		Name: "beside", Title: "one row by key, beside sanelite's writer that updates one row per commit, in the same process", Unit: "read",
		Open: func(dir string) ([]harness.Side, func() error, error) {
			path, err := filled(dir)
			side := func(peer peers.Peer, rate int, name string, compare ...harness.Compare) harness.Side {
				return peers.Spec{Peer: peer, Work: peers.WorkRow, Path: path, Beside: rate, Latency: true}.Side(name, compare...)
			}
			const alone, at1000, at10000 = "sanelite, alone", "sanelite, 1,000/s", "sanelite, 10,000/s"
			return []harness.Side{
				side(peers.Sanelite, 0, alone),
				side(peers.Sanelite, 1000, at1000, gain(alone, harness.AtLeast, 0.90)),
				side(peers.Sanelite, 10000, at10000, gain(alone, harness.AtLeast, 0.60)),
				side(peers.Zombiezen, 0, "zombiezen, alone", speedup(alone, harness.NoTarget, 0)),
				side(peers.Zombiezen, 1000, "zombiezen, 1,000/s", speedup(at1000, harness.AtLeast, 3)),
				side(peers.Zombiezen, 10000, "zombiezen, 10,000/s", speedup(at10000, harness.AtLeast, 3)),
			}, nil, err
		},
	}
}

package suite

import (
	"path/filepath"

	"github.com/sanelite/sanelite/internal/bench/harness"
	"github.com/sanelite/sanelite/internal/bench/peers"
)

// Drivers are the queries of programs, and reads by several goroutines, with all drivers. Nothing is promised for them: the
// ratios are told.
func Drivers() []harness.Workload {
	return []harness.Workload{
		reading("many", "100,000 rows of 4 columns into a slice of structs", peers.WorkMany),
		reading("group", "80,000 comments on 4,000 articles of 200 users, joined and grouped by user", peers.WorkGroup),
		reading("comments", "one of 200 users with 20 articles and 400 comments, by a join, into a slice of structs", peers.WorkComments),
		reading("large", "100 rows of 200 KB of text into a slice of structs", peers.WorkLarge),
		rowOf8(),
	}
}

// reading lets all sides read from one database.
func reading(name, title string, work peers.Work) harness.Workload {
	return harness.Workload{
		Name: name, Title: title, Unit: "read",
		Open: func(dir string) ([]harness.Side, func() error, error) {
			spec := peers.Spec{Work: work, Path: filepath.Join(dir, "bench.db")}
			return told(spec, peers.Zombiezen, peers.Bun, peers.BetterSQLite3, peers.Mattn, peers.Modernc, peers.Ncruces), nil, peers.CreateLibrary(spec.Path)
		},
	}
}

// rowOf8 has no sides in JavaScript, which has no goroutines.
func rowOf8() harness.Workload {
	return harness.Workload{
		Name: "row-8", Title: "one row of 4 columns by key, 8 goroutines; all but sanelite have a connection for each", Unit: "read",
		Open: func(dir string) ([]harness.Side, func() error, error) {
			path, err := filled(dir)
			return told(peers.Spec{Work: peers.WorkRow, Path: path, Goroutines: 8}, peers.Zombiezen, peers.Mattn, peers.Modernc, peers.Ncruces), nil, err
		},
	}
}

// told is sanelite and others, with the ratio of their times.
func told(spec peers.Spec, others ...peers.Peer) []harness.Side {
	spec.Peer = peers.Sanelite
	sides := []harness.Side{spec.Side(sanelite)}
	for _, peer := range others {
		spec.Peer = peer
		sides = append(sides, spec.Side(string(peer), time(sanelite, harness.NoTarget, 0)))
	}
	return sides
}

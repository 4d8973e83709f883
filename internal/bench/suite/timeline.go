package suite

import (
	"fmt"
	"path/filepath"
	"runtime"

	"github.com/sanelite/sanelite/internal/bench/harness"
	"github.com/sanelite/sanelite/internal/bench/timeline"
)

// Timeline is the social network: home timelines of random users, 20 posts each, out of a million.
func Timeline() []harness.Workload {
	return []harness.Workload{readersOf("timeline-7", 7), readersOf("timeline-cores", runtime.NumCPU()), memoryOf()}
}

// chirpCache is what the page caches of all connections have together: more than the default, less than the file.
const chirpCache = 128

// readersOf compares the journals.
func readersOf(name string, readers int) harness.Workload {
	const inWAL, inRollback = "WAL", "rollback journal"
	return chirp(name, fmt.Sprintf("home timelines, %d readers, alone and beside a writer; WAL with synchronous NORMAL, rollback journal with FULL", readers),
		func(side func(timeline.Spec, string, ...harness.Compare) harness.Side) (sides []harness.Side) {
			for _, rollback := range []bool{false, true} {
				journal := inWAL
				if rollback {
					journal = inRollback
				}
				for _, beside := range []struct {
					name   string
					writes int
				}{{"alone", 0}, {"1,000 writes/s", 1000}, {"a writer flat out", timeline.FlatOut}} {
					var compare []harness.Compare
					with := inWAL + ", " + beside.name
					switch {
					case rollback && beside.writes == 1000:
						compare = []harness.Compare{speedup(with, harness.AtLeast, 5.6), {With: with, By: harness.P99, Op: harness.AtMost, Than: 0.1}}
					case rollback:
						compare = []harness.Compare{speedup(with, harness.NoTarget, 0)}
					case beside.writes != 0:
						compare = []harness.Compare{gain(inWAL+", alone", harness.NoTarget, 0)}
					}
					s := timeline.Spec{Rollback: rollback, CacheMiB: chirpCache, Readers: readers, Writes: beside.writes}
					sides = append(sides, side(s, journal+", "+beside.name, compare...))
				}
			}
			return sides
		})
}

// memoryOf compares page caches and memory-mapping.
func memoryOf() harness.Workload {
	return chirp("timeline-memory", "home timelines, 7 readers beside 1,000 writes/s; WAL; page cache of all connections, and the file mapped into memory or not",
		func(side func(timeline.Spec, string, ...harness.Compare) harness.Side) (sides []harness.Side) {
			for _, cache := range []int{8, 64, 512} {
				for _, mmap := range []int{0, 512} {
					name := fmt.Sprintf("cache %d MiB", cache)
					if mmap > 0 {
						name += ", mapped"
					}
					var compare []harness.Compare
					if cache != 64 || mmap != 0 {
						compare = append(compare, gain("cache 64 MiB", harness.NoTarget, 0))
					}
					sides = append(sides, side(timeline.Spec{CacheMiB: cache, MmapMiB: mmap, Readers: 7, Writes: 1000}, name, compare...))
				}
			}
			return sides
		})
}

// chirp gives each side a copy of the network.
func chirp(name, title string, sides func(side func(timeline.Spec, string, ...harness.Compare) harness.Side) []harness.Side) harness.Workload {
	return harness.Workload{
		Name: name, Title: title, Unit: "timeline",
		Open: func(dir string) (_ []harness.Side, _ func() error, err error) {
			copies := 0
			list := sides(func(s timeline.Spec, name string, compare ...harness.Compare) harness.Side {
				copies++
				s.Path = filepath.Join(dir, fmt.Sprintf("%d.db", copies))
				if err == nil {
					err = timeline.Copy(s.Path)
				}
				return s.Side(name, compare...)
			})
			return list, nil, err
		},
	}
}

package main

import (
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// BenchmarkWrites has 64 clients post documents of half a kilobyte over real HTTP to a service in a process of its own that may
// use one processor (GOMAXPROCS=1). The clients need another, for as much again.
func BenchmarkWrites(b *testing.B) {
	for _, apps := range []int{1, 8, 64, 200} {
		b.Run(fmt.Sprintf("apps=%d", apps), func(b *testing.B) {
			p := startProcess(b, filepath.Join(b.TempDir(), "apps"), "GOMAXPROCS=1")
			names := p.createApps(apps)
			document := fmt.Sprintf(`{"title": "A document", "body": %q}`, strings.Repeat("word ", 100))
			took := make([]time.Duration, b.N)
			var next atomic.Int64
			var all sync.WaitGroup
			b.ResetTimer()
			for range clients {
				all.Go(func() {
					for i := next.Add(1) - 1; i < int64(b.N); i = next.Add(1) - 1 {
						start := time.Now()
						if err := p.do("POST", "/apps/"+names[i%int64(apps)]+"/items", document, http.StatusCreated, nil); err != nil {
							b.Error(err)
							return
						}
						took[i] = time.Since(start)
					}
				})
			}
			all.Wait()
			b.StopTimer()
			slices.Sort(took)
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "writes/s")
			b.ReportMetric(float64(took[b.N*99/100].Microseconds())/1000, "p99-ms")
			b.ReportMetric(float64(p.stats().RSS)/(1<<20), "RSS-MiB")
			p.stop()
			used := p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime() // what does not depend on how busy the machine is
			b.ReportMetric(float64(used.Microseconds())/float64(b.N), "cpu-µs/write")
		})
	}
}

package harness

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"time"
)

// Median returns the middle of values, or the mean of the two in the middle; 0 for none.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// Rotated returns 0 to n-1 beginning with round, so that over n rounds every place in the order is everyone's once.
func Rotated(n, round int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = (i + round) % n
	}
	return order
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// Histogram counts durations in buckets that are 1.6 % wide, and keeps the longest exactly. The zero value is empty.
type Histogram struct {
	buckets []int64
	count   int64
	longest time.Duration
}

// subBuckets is the number of buckets for each power of two.
const subBuckets = 64

func bucketOf(d time.Duration) int {
	v := uint64(max(d, 0))
	shift := max(0, bits.Len64(v)-bits.Len64(subBuckets))
	return shift*subBuckets + int(v>>shift)
}

// upperEnd is the longest duration that belongs to a bucket.
func upperEnd(bucket int) time.Duration {
	shift := max(0, bucket/subBuckets-1)
	return time.Duration((bucket-shift*subBuckets+1)<<shift - 1)
}

// Add counts d.
func (h *Histogram) Add(d time.Duration) {
	if h.buckets == nil {
		h.buckets = make([]int64, bucketOf(1<<63-1)+1) // at once, since growing would itself take long
	}
	h.buckets[bucketOf(d)]++
	h.count++
	h.longest = max(h.longest, d)
}

// Merge counts what other has counted.
func (h *Histogram) Merge(other Histogram) {
	if other.count == 0 {
		return
	}
	if h.buckets == nil {
		h.buckets = make([]int64, len(other.buckets))
	}
	for i, n := range other.buckets {
		h.buckets[i] += n
	}
	h.count += other.count
	h.longest = max(h.longest, other.longest)
}

// IsZero tells whether nothing was counted.
func (h Histogram) IsZero() bool { return h.count == 0 }

// Longest returns the longest duration.
func (h Histogram) Longest() time.Duration { return h.longest }

// Quantile returns a duration that the share q of all does not exceed, too long by 1.6 % at most.
func (h Histogram) Quantile(q float64) time.Duration {
	rest := int64(q * float64(h.count))
	for i, n := range h.buckets {
		if rest -= n; rest < 0 {
			return min(upperEnd(i), h.longest)
		}
	}
	return h.longest
}

type histogramJSON struct {
	Counts  map[int]int64 `json:"counts"` // by the upper end of the bucket, in ns
	Longest time.Duration `json:"longest"`
}

// MarshalJSON writes the buckets that are not empty.
func (h Histogram) MarshalJSON() ([]byte, error) {
	j := histogramJSON{Counts: map[int]int64{}, Longest: h.longest}
	for i, n := range h.buckets {
		if n > 0 {
			j.Counts[int(upperEnd(i))] = n
		}
	}
	return json.Marshal(j)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (h *Histogram) UnmarshalJSON(text []byte) error {
	var j histogramJSON
	if err := json.Unmarshal(text, &j); err != nil {
		return err
	}
	*h = Histogram{longest: j.Longest}
	for end, n := range j.Counts {
		if end < 0 || n < 0 {
			return fmt.Errorf("histogram: %d times %d ns", n, end)
		}
		if h.buckets == nil {
			h.buckets = make([]int64, bucketOf(1<<63-1)+1)
		}
		h.buckets[bucketOf(time.Duration(end))] += n
		h.count += n
	}
	return nil
}

// spread returns the median, the least and the greatest of values, which must not be empty.
func spread(values []float64) (median, least, greatest float64) {
	return Median(values), slices.Min(values), slices.Max(values)
}

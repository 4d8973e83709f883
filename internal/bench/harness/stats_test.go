package harness

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMedian(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		values []float64
		want   float64
	}{
		{nil, 0},
		{[]float64{3}, 3},
		{[]float64{9, 1, 3}, 3},
		{[]float64{4, 1, 9, 3}, 3.5},
	} {
		before := slices.Clone(test.values)
		assert.InDelta(t, test.want, Median(test.values), 0, "%v", test.values)
		assert.Equal(t, before, test.values, "the order of the rounds stays")
	}
}

func TestRotationPutsEverySideOnEveryPlace(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []int{1, 2, 0}, Rotated(3, 1))
	places := map[[2]int]int{}
	for round := range 8 {
		for place, side := range Rotated(4, round) {
			places[[2]int{place, side}]++
		}
	}
	assert.Len(t, places, 16)
	for at, n := range places {
		assert.Equal(t, 2, n, "place and side %v", at)
	}
}

func TestHistogramBucketsHoldWhatBelongsToThem(t *testing.T) {
	t.Parallel()
	for _, d := range []time.Duration{0, 1, 63, 64, 127, 128, 129, 255, 256, 1000, 123_456_789, 1<<62 + 12345, 1<<63 - 1} {
		end := upperEnd(bucketOf(d))
		assert.GreaterOrEqual(t, end, d)
		assert.LessOrEqual(t, float64(end), float64(d)*(1+1.0/subBuckets), "%d", d)
		assert.Equal(t, bucketOf(d), bucketOf(end))
		if end < 1<<63-1 {
			assert.Equal(t, bucketOf(d)+1, bucketOf(end+1), "%d", d)
		}
	}
}

func TestHistogramQuantilesSurviveMergeAndJSON(t *testing.T) {
	t.Parallel()
	var odd, even Histogram
	assert.True(t, odd.IsZero())
	for i := time.Duration(1); i <= 1000; i++ {
		h := &odd
		if i%2 == 0 {
			h = &even
		}
		h.Add(i * time.Microsecond)
	}
	odd.Merge(even)
	odd.Merge(Histogram{})
	text, err := json.Marshal(odd)
	require.NoError(t, err)
	var h Histogram
	require.NoError(t, json.Unmarshal(text, &h))
	for _, h := range []Histogram{odd, h} {
		assert.InEpsilon(t, 500*time.Microsecond, h.Quantile(0.5), 0.02)
		assert.InEpsilon(t, 990*time.Microsecond, h.Quantile(0.99), 0.02)
		assert.Equal(t, time.Millisecond, h.Quantile(1))
		assert.Equal(t, time.Millisecond, h.Longest())
	}
	require.Error(t, json.Unmarshal([]byte(`{"counts":{"-1":1}}`), &h))
}

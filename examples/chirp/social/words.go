package social

import (
	"math/rand/v2"
	"strings"
)

// words makes up names and sentences from syllables: of nobody, in no language.
type words struct {
	r        *rand.Rand
	sentence func() string
	list     []string
}

var (
	onsets = []string{"b", "d", "f", "g", "k", "l", "m", "n", "p", "r", "s", "t", "v", "z", "br", "kl", "st", "tr"}
	vowels = []string{"a", "e", "i", "o", "u", "ai", "ou"}
	codas  = []string{"", "", "", "l", "n", "r", "s"}
)

func newWords(r *rand.Rand) *words {
	w := &words{r: r}
	for range 4096 {
		w.list = append(w.list, w.word(1+r.IntN(3)))
	}
	var b []byte
	w.sentence = func() string {
		b = b[:0]
		for i := range 5 + r.IntN(16) {
			if i > 0 {
				b = append(b, ' ')
			}
			b = append(b, w.list[r.IntN(len(w.list))]...)
		}
		b[0] -= 'a' - 'A'
		return string(append(b, '.'))
	}
	return w
}

func (w *words) word(syllables int) string {
	var b strings.Builder
	for range syllables {
		b.WriteString(onsets[w.r.IntN(len(onsets))])
		b.WriteString(vowels[w.r.IntN(len(vowels))])
		b.WriteString(codas[w.r.IntN(len(codas))])
	}
	return b.String()
}

func (w *words) name() string {
	name := w.list[w.r.IntN(len(w.list))]
	return strings.ToUpper(name[:1]) + name[1:]
}

// popular picks users of whom few are picked often: the share of the one in place k falls with k.
type popular struct {
	users int
	zipf  *rand.Zipf
}

func newPopular(r *rand.Rand, users int) popular {
	return popular{users, rand.NewZipf(r, 1.1, 50, uint64(users-1))}
}

// pick returns the id of a user. Ids are spread, so that the popular ones are no neighbours.
func (p popular) pick() int64 {
	const stride = 7919 // a prime that divides no number of users anybody would choose
	return 1 + int64(p.zipf.Uint64())*stride%int64(p.users)
}

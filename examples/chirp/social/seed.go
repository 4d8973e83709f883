package social

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/sanelite/sanelite/pragma"
	"github.com/sanelite/sanelite/sqlitex"
	"github.com/sanelite/sanelite/tx"
)

// Sizes say how large a network is to be made.
type Sizes struct {
	Users, Posts, Follows, Likes int
	Seed                         uint64 // another seed makes another network; the same one makes the same
}

// DefaultSizes are those of the benchmarks.
var DefaultSizes = Sizes{Users: 50_000, Posts: 1_000_000, Follows: 2_500_000, Likes: 2_000_000, Seed: 1}

// Progress is how far Seed has come.
type Progress struct {
	Step        string
	Done, Total int64 // rows of all steps
	Elapsed     time.Duration
}

// Seed makes a new network at path, where nothing may be. It is built beside, and gets its name when it is whole: a run that was
// killed leaves a file path.seeding-…, and the next one removes it and begins anew. progress may be nil.
func Seed(ctx context.Context, path string, s Sizes, progress func(Progress)) (err error) {
	if s.Users < 2 || s.Posts < 0 || s.Follows < 0 || s.Likes < 0 || s.Follows > s.Users*(s.Users-1)/2 || s.Likes > s.Posts*s.Users/mostLiked {
		return fmt.Errorf("%w sizes: %+v", ErrInvalid, s)
	}
	building, err := unfinished(path)
	if err != nil {
		return err
	}
	// Nobody needs the file before it is whole: no log, and no waiting for the disk but at the end. That every row refers to one
	// that is there, a test has found out; to look each of them up takes as long as all the rest.
	n, err := Open(ctx, building, &sqlitex.Options{Pragmas: pragma.Config{
		JournalMode: pragma.JournalMemory, Synchronous: pragma.SyncOff, CacheSize: 256 * pragma.MiB, ForeignKeys: pragma.Off,
	}})
	if err != nil {
		return err
	}
	g := &generator{Sizes: s, progress: progress, begin: time.Now()}
	err = errors.Join(g.fill(ctx, n.db), n.db.Close())
	if err == nil {
		err = finish(building, path)
	}
	if err != nil {
		_ = os.Remove(building) // it may be gone already
	}
	return err
}

// generator makes up a network. Each table has a source of random numbers of its own, so that the size of one does not
// change the content of another.
type generator struct {
	Sizes
	progress func(Progress)
	begin    time.Time
	done     int64

	handles  []string   // of the users, in the order of their ids
	mentions [][2]int64 // in posts: user and post
}

func (g *generator) random(stream uint64) *rand.Rand { return rand.New(rand.NewPCG(g.Seed, stream)) }

// fill writes all tables in the order of their keys, and makes indexes when the rows are there: both are several times as
// fast as the other way round.
func (g *generator) fill(ctx context.Context, db *sqlitex.DB) error {
	return db.Write(ctx, func(w *tx.Writer) error {
		later, err := tx.All[string](w, `SELECT sql FROM sqlite_schema WHERE type IN ('index', 'trigger') AND sql IS NOT NULL ORDER BY rowid`)
		if err != nil {
			return err
		}
		names, err := tx.All[string](w, `SELECT 'DROP ' || type || ' ' || name FROM sqlite_schema WHERE type IN ('index', 'trigger') AND sql IS NOT NULL`)
		if err != nil {
			return err
		}
		if err := w.Script(strings.Join(names, ";")); err != nil {
			return err
		}
		for _, fill := range []func(*tx.Writer) error{g.users, g.posts, g.mentioned, g.follows, g.likes} {
			if err := fill(w); err != nil {
				return err
			}
		}
		for _, sql := range later {
			g.report("index", 0)
			if err := w.Script(sql); err != nil {
				return err
			}
		}
		g.report("statistics", 0)
		return w.Script(`ANALYZE`)
	})
}

func (g *generator) report(step string, rows int64) {
	g.done += rows
	if g.progress != nil {
		g.progress(Progress{step, g.done, int64(g.Users + g.Posts + g.Follows + g.Likes), time.Since(g.begin)})
	}
}

// counted passes rows on and reports every so many.
func counted[T any](g *generator, step string, rows iter.Seq[T]) iter.Seq[T] {
	const every = 20_000
	return func(yield func(T) bool) {
		n := int64(0)
		for row := range rows {
			if !yield(row) {
				return
			}
			if n++; n == every {
				g.report(step, n)
				n = 0
			}
		}
		g.report(step, n)
	}
}

// epoch is when the network was founded; a post is written every eight seconds, and every twentieth mentions somebody.
const (
	epoch       = 1_700_000_000_000
	postEach    = 8_000
	mentionEach = 20
)

func (g *generator) users(w *tx.Writer) error {
	words := newWords(g.random(1))
	type user struct {
		ID           int64
		Handle, Name string
		CreatedAt    int64
	}
	_, err := tx.ExecEach(w, `INSERT INTO users VALUES (:id, :handle, :name, :created_at)`, counted(g, "users", func(yield func(user) bool) {
		for i := range int64(g.Users) {
			first, last := words.name(), words.name()
			handle := fmt.Sprintf("%s_%d", strings.ToLower(first), i+1)
			g.handles = append(g.handles, handle)
			if !yield(user{i + 1, handle, first + " " + last, epoch + i}) {
				return
			}
		}
	}))
	return err
}

func (g *generator) posts(w *tx.Writer) error {
	r := g.random(2)
	words, who := newWords(r), newPopular(r, g.Users)
	mentioned := newPopular(g.random(5), g.Users)
	type post struct {
		ID, UserID       int64
		Body             string
		CreatedAt, Likes int64
	}
	_, err := tx.ExecEach(w, `INSERT INTO posts VALUES (:id, :user_id, :body, :created_at, :likes)`, counted(g, "posts", func(yield func(post) bool) {
		for i := range int64(g.Posts) {
			author := 1 + r.Int64N(int64(g.Users))
			if r.IntN(4) == 0 { // who is followed by many writes more
				author = who.pick()
			}
			body := words.sentence()
			if i%mentionEach == mentionEach-1 {
				id := mentioned.pick()
				body += " @" + g.handles[id-1]
				g.mentions = append(g.mentions, [2]int64{id, i + 1})
			}
			if !yield(post{i + 1, author, body, epoch + i*postEach, int64(g.likesOf(int(i)))}) {
				return
			}
		}
	}))
	return err
}

// mentioned writes the mentions that posts has come upon.
func (g *generator) mentioned(w *tx.Writer) error {
	slices.SortFunc(g.mentions, func(a, b [2]int64) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	_, err := tx.ExecEach(w, `INSERT INTO mentions VALUES (?, ?)`, slices.Values(g.mentions))
	return err
}

func (g *generator) follows(w *tx.Writer) error {
	r := g.random(3)
	who := newPopular(r, g.Users)
	_, err := tx.ExecEach(w, `INSERT INTO follows VALUES (?, ?)`, counted(g, "follows", func(yield func([2]int64) bool) {
		var chosen []int64
		for i := range g.Users {
			chosen = chosen[:0]
			for want := g.degree(i); len(chosen) < want; {
				for len(chosen) < want {
					followee := 1 + r.Int64N(int64(g.Users))
					if r.IntN(2) == 0 {
						followee = who.pick()
					}
					if followee != int64(i+1) {
						chosen = append(chosen, followee)
					}
				}
				slices.Sort(chosen)
				chosen = slices.Compact(chosen)
			}
			for _, followee := range chosen {
				if !yield([2]int64{int64(i + 1), followee}) {
					return
				}
			}
		}
	}))
	return err
}

// degree is how many user i follows: between nearly none and twice the average, which comes out exactly.
func (g *generator) degree(i int) int {
	share := func(n int) int { return n*g.Follows/g.Users - (n-1)*g.Follows/g.Users }
	pair := i &^ 1
	if pair+1 >= g.Users {
		return share(i + 1)
	}
	both := share(pair+1) + share(pair+2)
	first := both * (pair / 2 % 10) / 20 // 0 to 45 % of the two
	if i == pair {
		return first
	}
	return both - first
}

// mostLiked: of this many posts in a row, the first has half of the likes of all.
const mostLiked = 100

// likesOf is how many like post i, counted from 0.
func (g *generator) likesOf(i int) int {
	block := i / mostLiked
	begin, end := block*mostLiked, min((block+1)*mostLiked, g.Posts)
	all := end*g.Likes/g.Posts - begin*g.Likes/g.Posts
	top := min(all/2, g.Users/2)
	if i == begin {
		return top
	}
	rest, others, k := all-top, max(1, end-begin-1), i-begin
	if end-begin == 1 {
		return all
	}
	return k*rest/others - (k-1)*rest/others
}

func (g *generator) likes(w *tx.Writer) error {
	r := g.random(4)
	_, err := tx.ExecEach(w, `INSERT INTO likes VALUES (?, ?)`, counted(g, "likes", func(yield func([2]int64) bool) {
		for i := range g.Posts {
			n := g.likesOf(i)
			if n == 0 {
				continue
			}
			// Users at equal distances, from a random one on: all different, and in the order of the key.
			distance := g.Users / n
			for j := range n {
				if !yield([2]int64{int64(i + 1), int64(1 + j*distance + r.IntN(distance))}) {
					return
				}
			}
		}
	}))
	return err
}

package apps

import (
	"container/list"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/sanelite/sanelite/sqlitex"
)

// Options configure a Registry. The zero value has sensible defaults.
type Options struct {
	// MaxOpen is how many databases may be open at once. Each takes about a third to two thirds of a megabyte, and five or more file descriptors.
	// Default: 256.
	MaxOpen int

	// Idle is the time after which a database that nobody uses is closed, give or take a quarter. Negative: never. Default: 1 minute.
	Idle time.Duration

	// Database is how each database is opened. Mode is chosen by the registry. Default: the defaults of package sqlitex,
	// which are made for one database and not for hundreds.
	Database sqlitex.Options

	// Migrations bring a database from version i to i+1, whenever it is opened. Default: none.
	Migrations []string

	// Logger gets what happens in the background. Default: nil, silent.
	Logger *slog.Logger
}

const (
	defaultMaxOpen = 256
	defaultIdle    = time.Minute
)

// Registry opens and closes the databases of a folder. It is safe for any number of goroutines.
type Registry struct {
	dir  string
	opts Options
	now  func() time.Time

	mu       sync.Mutex
	apps     map[string]*app // that are in one of the states below; all others are files only
	open     list.List       // of *app, in state isOpen or isDeleting; least recently used first
	places   int             // taken; each belongs to an app that opens, is open or closes
	waiting  list.List       // of chan *app, first come first; see takePlace
	calls    int             // that are under way
	counters Counters

	closing   chan struct{} // closed when no new calls are taken
	drained   chan struct{} // closed when, after that, none is under way
	abandoned bool          // Close could not wait for them
	closed    chan struct{} // closed when everything is over
	closeErr  error         // valid then
	janitor   sync.WaitGroup
}

type state int

const (
	isOpening state = iota
	isOpen
	isClosing
	isDeleting
)

// app is an app whose database is open, or about to be, or about not to be. The fields belong to who holds Registry.mu.
type app struct {
	name  string
	state state
	left  chan struct{} // closed when isOpening or isClosing is over

	db       *sqlitex.DB   // in isOpen, isClosing and, if it was open before, isDeleting
	err      error         // why opening failed, for those who waited for it
	users    int           // calls that have it now
	unused   chan struct{} // closed when there are none left; made by who waits for that
	lastUsed time.Time
	place    *list.Element // in Registry.open
}

// New returns a registry of the databases in dir, which is created if there is none.
func New(dir string, o Options) (*Registry, error) {
	if o.MaxOpen < 0 {
		return nil, fmt.Errorf("apps: MaxOpen %d is negative", o.MaxOpen)
	}
	if o.MaxOpen == 0 {
		o.MaxOpen = defaultMaxOpen
	}
	if o.Idle == 0 {
		o.Idle = defaultIdle
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	dir, err := prepareFolder(dir)
	if err != nil {
		return nil, err
	}
	r := &Registry{
		dir: dir, opts: o, now: time.Now, apps: map[string]*app{},
		closing: make(chan struct{}), drained: make(chan struct{}), closed: make(chan struct{}),
	}
	if o.Idle > 0 {
		r.janitor.Go(r.closeIdle)
	}
	return r, nil
}

// Use calls fn with the database of an app, which stays open as long as fn runs. It opens the database if that is necessary,
// and waits for a place if MaxOpen others are in use, bounded by ctx. fn must not keep db. To use a second app inside of fn takes a second
// place: where all do so, all wait.
func (r *Registry) Use(ctx context.Context, name string, fn func(db *sqlitex.DB) error) error {
	a, _, err := r.acquire(ctx, name, false)
	if err != nil {
		return err
	}
	defer r.release(a)
	return fn(a.db)
}

// Create makes a new app, and reports whether there was none of that name before.
func (r *Registry) Create(ctx context.Context, name string) (created bool, err error) {
	a, created, err := r.acquire(ctx, name, true)
	if err != nil {
		return false, err
	}
	r.release(a)
	return created, nil
}

// begin counts a call, so that Close waits for it.
func (r *Registry) begin(ctx context.Context, name string) error {
	if !ValidName(name) {
		return ErrName
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.isClosed() {
		return ErrClosed
	}
	r.calls++
	return nil
}

func (r *Registry) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended()
}

// ended is end for who holds mu.
func (r *Registry) ended() {
	if r.calls--; r.calls == 0 && r.isClosed() {
		close(r.drained)
	}
}

func (r *Registry) isClosed() bool {
	select {
	case <-r.closing:
		return true
	default:
		return false
	}
}

// Stats are figures of a registry.
type Stats struct {
	Open    int `json:"open"`     // databases, including those that open or close at this moment
	InUse   int `json:"in_use"`   // of these, how many somebody uses
	MaxOpen int `json:"max_open"` // Options.MaxOpen
	Waiting int `json:"waiting"`  // calls that wait until one of them is not in use
	Counters
}

// Counters begin with New.
type Counters struct {
	Opens     int64 `json:"opens"`
	Closes    int64 `json:"closes"`
	Evictions int64 `json:"evictions"` // closes that made room for another database
	Waits     int64 `json:"waits"`     // opens that had to wait for one
	Failures  int64 `json:"failures"`  // opens that met an error
}

// Stats returns the figures of this moment.
func (r *Registry) Stats() Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := Stats{Open: r.places, MaxOpen: r.opts.MaxOpen, Waiting: r.waiting.Len(), Counters: r.counters}
	for _, a := range r.apps {
		if a.users > 0 {
			s.InUse++
		}
	}
	return s
}

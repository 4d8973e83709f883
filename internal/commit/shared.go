package commit

import (
	"context"
	"errors"
	"runtime"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/sanelite/sanelite/internal/conn"
	"github.com/sanelite/sanelite/internal/query"
	"github.com/sanelite/sanelite/internal/sqlerr"
	"github.com/sanelite/sanelite/internal/writer"
)

// A shared transaction is closed to further parts when it has MostParts besides that of the leader, or has lasted Longest: the
// first caller waits for all that come after. They are variables for tests.
var (
	MostParts = 512
	Longest   = 5 * time.Millisecond
)

// ErrAgain is returned by Lead where the connection was lost to somebody else's panic: the caller leads again, on another
// connection.
var ErrAgain = errors.New("connection lost")

// Lead does own, the work of the caller, who has the writer, in a transaction that it shares with those who queue behind.
// There is no timer and no wait for others: whoever is not in the queue when the leader looks comes next time.
//
// No outcome is told before the shared COMMIT, and nobody's depends on a neighbour. If the transaction cannot be committed
// with all that was done in it, it is undone, and every part, in the order of the queue, is done again alone. That is the
// case when SQLite rolls back by itself (an interrupted write is enough), when a statement fails and may have left rows behind
// (see unchanged), when one leaves a deferred foreign key open, which a neighbour's row could resolve by luck, when
// COMMIT fails, and after a panic. A savepoint around every statement would avoid the repetition, and cost a quarter of the
// throughput.
func Lead(ctx context.Context, c *conn.Conn, q *writer.Queue, own *writer.Part, do func(*conn.Conn) error) error {
	if own.Alone {
		return alone(ctx, c, q, do)
	}
	s := shared{conn: c, queue: q}
	if own.Work == nil {
		s.letGo() // a function of the caller's runs on the connection
	}
	err, whole := s.run(ctx, do)
	if whole {
		return err
	}
	if c.Broken() {
		return ErrAgain
	}
	own.Alone = true
	return alone(ctx, c, q, do)
}

func alone(ctx context.Context, c *conn.Conn, q *writer.Queue, do func(*conn.Conn) error) error {
	err := Alone(ctx, c, func() error { return do(c) })
	if err == nil {
		q.Committed(1)
	}
	return err
}

// shared is one transaction that several callers share.
type shared struct {
	conn  *conn.Conn
	queue *writer.Queue
	parts []*writer.Part // without the leader's own, and not finished

	panicked bool
	released bool // the lock that the writer may hold between statements of the library's own was let go
}

// run does own and the parts of others. whole is false where the transaction was undone and own is to be done again.
func (s *shared) run(ctx context.Context, own func(*conn.Conn) error) (err error, whole bool) {
	c := s.conn
	c.SetContext(ctx)
	if err := c.BeginWrite(ctx); err != nil {
		c.ClearContext()
		return err, true
	}
	defer s.putBack() // also where somebody else's statement ends this goroutine: nobody may be left waiting
	defer cleanUp(c)
	c.SetLastInsertRowID(0)
	c.MoreThanRows = false
	if err := own(c); err != nil {
		return err, true // nobody else has begun
	}
	if err := ctx.Err(); err != nil {
		return notCommitted(err), true
	}
	if !c.ForeignKeysOpen() && !s.doOthers() { // with a foreign key open, COMMIT will tell, of this part alone
		return nil, false
	}
	if err := s.commit(ctx); err != nil {
		// The leader has waited as long as it may for a lock that others hold; alone it would wait as long again.
		return err, len(s.parts) == 0 || errors.As(err, new(*sqlerr.BusyError))
	}
	s.queue.Committed(1 + len(s.parts))
	for _, p := range s.parts {
		p.Finish(p.Err)
	}
	s.parts = nil
	return nil, true
}

// putBack has the parts that were undone done again, each alone.
func (s *shared) putBack() {
	if len(s.parts) > 0 {
		s.queue.PutBack(s.parts)
	}
}

// commit keeps the read lock for the next write where nothing but statements has run.
func (s *shared) commit(ctx context.Context) error {
	if s.released {
		return s.conn.Commit(ctx)
	}
	return s.conn.CommitHolding(ctx)
}

func (s *shared) letGo() {
	s.released = true
	s.conn.LetGo()
}

// doOthers does the parts that are in the queue, and reports whether the transaction can still be committed.
func (s *shared) doOthers() bool {
	// Goroutines that want to write too may be waiting for a processor, not yet for the writer; the leader would then commit
	// alone, over and over, ahead of them. So they run first. A lone writer is spared that: it costs most of a microsecond.
	if s.queue.Crowded() {
		runtime.Gosched()
	}
	switch p := s.next(); {
	case p == nil:
		return true
	case s.conn.CallsGo():
		return s.doElsewhere(p)
	default:
		return s.doFrom(p)
	}
}

// doElsewhere is doFrom on a goroutine of its own, for statements that may call functions written in Go: with runtime.Goexit
// these end the goroutine that they run on, which must not be the leader's.
func (s *shared) doElsewhere(p *writer.Part) (committable bool) {
	there := new(shared) // s lives on the stack of a leader who allocates nothing
	*there = *s
	done := make(chan bool, 1)
	go func() {
		committable := false
		defer func() { done <- committable }()
		there.queue.Moved()
		committable = there.doFrom(p)
	}()
	committable = <-done
	*s = *there
	s.queue.Moved()
	return committable
}

// doFrom does p and what follows it in the queue.
func (s *shared) doFrom(p *writer.Part) (committable bool) {
	for start := time.Now(); p != nil; p = s.next() {
		s.parts = append(s.parts, p)
		if !s.do(p) {
			return false
		}
		if len(s.parts) >= MostParts || time.Since(start) > Longest {
			break
		}
	}
	return true
}

// next returns the next part to do. There is none after one that made temporary objects, changed the schema or set
// defer_foreign_keys: until it is committed and they are gone, statements of neighbours would mean something else.
func (s *shared) next() *writer.Part {
	if s.conn.MoreThanRows {
		return nil
	}
	return s.queue.Next()
}

// do does one part and reports whether the transaction can still be committed.
func (s *shared) do(p *writer.Part) bool {
	c := s.conn
	if p.Err = p.Context.Err(); p.Err != nil {
		return true // it has not begun
	}
	c.User.Begin(nil)
	c.SetLastInsertRowID(0)
	if p.Work == nil {
		return s.invoke(p)
	}
	before := c.TotalChanges()
	c.SetContext(p.Context)
	p.Err = s.guarded(p)
	c.ClearContext()
	switch {
	case s.panicked, c.Autocommit():
		return false
	case p.Err != nil:
		return s.unchanged(p.Err, before)
	}
	return !c.ForeignKeysOpen()
}

// guarded does the work of p. A panic is not the leader's to have: the transaction counts as failed, and the caller of p
// meets it again when the part is done alone, on its own goroutine.
func (s *shared) guarded(p *writer.Part) (err error) {
	defer func() {
		if v := recover(); v != nil {
			s.panicked = true
		}
	}()
	return p.Work.Do(s.conn)
}

const savepoint = "sanelite_part"

// invoke has a part done on the goroutine of its caller, in a savepoint: it may have done much before it failed.
func (s *shared) invoke(p *writer.Part) bool {
	c := s.conn
	s.letGo()
	if query.Control(c, "SAVEPOINT "+savepoint) != nil {
		return false
	}
	c.SetContext(p.Context)
	s.queue.Invoke(p)
	c.ClearContext()
	if c.Broken() || c.Autocommit() {
		return false
	}
	if err := p.Context.Err(); p.Err == nil && err != nil {
		p.Err = notCommitted(err) // as alone: the function may have passed over what failed for this
	}
	if p.Err == nil && c.ForeignKeysOpen() {
		p.Err = &sqlerr.Error{Code: sqlite.ResultConstraintForeignKey, Message: "FOREIGN KEY constraint failed", Offset: -1, Op: "commit"}
	}
	if p.Err != nil && query.Control(c, "ROLLBACK TO "+savepoint) != nil {
		return false
	}
	return query.Control(c, "RELEASE "+savepoint) == nil
}

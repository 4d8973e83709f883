package tx

import "context"

// Queryer is what One, All and Each read from: a *Reader or a *Writer. It is sealed.
type Queryer interface {
	// enter locks the transaction for one statement, or says why there can be none. Without an error the caller leaves it.
	enter() (*transaction, error)
}

// Reader is a read transaction: all its statements see one snapshot of the database. It cannot write, and its connection
// was opened read-only as well. Several goroutines may use it; their statements run one at a time. It is valid until the
// function it was passed to returns, and answers ErrTxDone afterwards.
type Reader struct{ t transaction }

func (r *Reader) enter() (*transaction, error) { return r.t.enter() }

// Context returns the context of the transaction, to be passed on to callees.
func (r *Reader) Context() context.Context { return r.t.ctx }

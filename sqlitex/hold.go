package sqlitex

import "time"

// holdFor is how long the writer may keep its read lock between two calls of Exec. See conn.hold for what it is in the way of.
const holdFor = 4 * time.Millisecond

// boundHold makes sure that the writer lets go of its lock soon. The caller has the writer.
func (db *DB) boundHold() {
	if !db.hold.armed.CompareAndSwap(false, true) {
		return
	}
	if t := db.hold.timer.Load(); t != nil {
		t.Reset(holdFor)
		return
	}
	db.hold.timer.Store(time.AfterFunc(holdFor, db.endHold))
}

// endHold lets go of the lock if nobody writes, and else has the next one who does.
func (db *DB) endHold() {
	db.hold.armed.Store(false)
	acquired, open := db.queue.TryAcquire()
	switch {
	case acquired:
		if c := db.writer.Load(); c != nil {
			c.LetGo()
		}
		db.queue.Release()
	case open:
		if c := db.writer.Load(); c != nil {
			c.ExpireHold()
		}
	}
}

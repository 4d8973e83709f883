package main

import (
	"fmt"
	"net/http"

	"github.com/sanelite/sanelite/sqlitex"
)

// health is what GET /health answers.
type health struct {
	Status   string `json:"status"` // ok or degraded
	Reason   string `json:"reason,omitempty"`
	LogBytes int64  `json:"log_bytes"` // of write-ahead log that Litestream has not taken away yet
}

// health tells that the service can read, and that the write-ahead log does not grow without end: that is how Litestream shows
// from here that it has stopped. Nothing is lost by it yet, but the disk will be full some day, and the replica grows old.
func (a *api) health(w http.ResponseWriter, r *http.Request) {
	pageSize, err := sqlitex.One[int64](r.Context(), a.db, `PRAGMA page_size`)
	if err != nil {
		a.fail(w, r, err)
		return
	}
	h := health{Status: "ok", LogBytes: int64(a.db.Stats().WAL.Pages) * pageSize}
	status := http.StatusOK
	if h.LogBytes > a.cfg.mostLog {
		status = http.StatusServiceUnavailable
		h.Status, h.Reason = "degraded", fmt.Sprintf("the write-ahead log has more than %d bytes: is Litestream running?", a.cfg.mostLog)
	}
	a.answer(w, status, h)
}

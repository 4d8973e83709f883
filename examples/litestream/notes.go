package main

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"strings"

	"github.com/sanelite/sanelite/sqlitex"
)

const schema = `CREATE TABLE IF NOT EXISTS notes (
	id   INTEGER PRIMARY KEY AUTOINCREMENT,
	text TEXT NOT NULL,
	at   TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP
) STRICT`

// note is a row of the table and, as it is, what clients get.
type note struct {
	ID   int64  `json:"id"`
	Text string `json:"text"`
	At   string `json:"at"`
}

const (
	mostBody = 64 << 10
	perPage  = 100
)

// api is the service as HTTP sees it.
type api struct {
	db  *sqlitex.DB
	cfg config
	log *slog.Logger
}

func newAPI(db *sqlitex.DB, cfg config, log *slog.Logger) http.Handler {
	a := &api{db, cfg, log}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", a.health)
	mux.HandleFunc("GET /notes", a.list)
	mux.HandleFunc("POST /notes", a.add)
	return mux
}

func (a *api) list(w http.ResponseWriter, r *http.Request) {
	after := int64(0)
	if text := r.URL.Query().Get("after"); text != "" {
		var err error
		if after, err = strconv.ParseInt(text, 10, 64); err != nil {
			a.answer(w, http.StatusBadRequest, problem{"after must be the id of a note"})
			return
		}
	}
	notes, err := sqlitex.All[note](r.Context(), a.db, `SELECT id, text, at FROM notes WHERE id > ? ORDER BY id LIMIT ?`, after, perPage)
	if err != nil {
		a.fail(w, r, err)
		return
	}
	a.answer(w, http.StatusOK, notes)
}

func (a *api) add(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Text string `json:"text"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, mostBody)).Decode(&in); err != nil || strings.TrimSpace(in.Text) == "" {
		a.answer(w, http.StatusBadRequest, problem{`the body must be {"text": "..."}`})
		return
	}
	n, err := sqlitex.ExecOne[note](r.Context(), a.db, `INSERT INTO notes (text) VALUES (?) RETURNING id, text, at`, in.Text)
	if err != nil {
		a.fail(w, r, err)
		return
	}
	a.answer(w, http.StatusCreated, n)
}

type problem struct {
	Error string `json:"error"`
}

// fail answers for an error of the database: what passes by itself is worth another try.
func (a *api) fail(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, sqlitex.ErrBusy) || errors.Is(err, sqlitex.ErrClosed) {
		w.Header().Set("Retry-After", "1")
		a.answer(w, http.StatusServiceUnavailable, problem{"try again"})
		return
	}
	if r.Context().Err() == nil { // otherwise the client has gone
		a.log.Error("request failed", "method", r.Method, "path", r.URL.Path, "error", err)
	}
	a.answer(w, http.StatusInternalServerError, problem{"internal error"})
}

func (a *api) answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // an error means that the client has gone
}

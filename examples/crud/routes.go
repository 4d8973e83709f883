package main

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/sanelite/sanelite/sqlitex"
)

const (
	defaultLimit = 20
	maxLimit     = 100
)

// api is the service as HTTP sees it.
type api struct {
	users   *users
	db      *sqlitex.DB
	log     *slog.Logger
	maxBody int64
}

func newAPI(u *users, db *sqlitex.DB, cfg config, log *slog.Logger) http.Handler {
	a := &api{users: u, db: db, log: log, maxBody: cfg.maxBody}
	mux := http.NewServeMux()
	for pattern, handle := range map[string]func(http.ResponseWriter, *http.Request) error{
		"GET /health":        a.health,
		"GET /users":         a.listUsers,
		"POST /users":        a.createUser,
		"GET /users/{id}":    a.getUser,
		"PUT /users/{id}":    a.updateUser,
		"DELETE /users/{id}": a.deleteUser,
	} {
		mux.Handle(pattern, a.handler(handle))
	}
	// Less specific than the patterns above, these answer what is left in JSON too.
	for pattern, allow := range map[string]string{
		"/health": "GET, HEAD", "/users": "GET, HEAD, POST", "/users/{id}": "GET, HEAD, PUT, DELETE", "/": "",
	} {
		mux.Handle(pattern, a.handler(refuse(allow)))
	}
	handler := withTimeout(mux, cfg.requestTimeout)
	if log.Enabled(context.Background(), slog.LevelInfo) {
		handler = a.logged(handler)
	}
	return handler
}

// handler answers with the error of handle, if there is one.
func (a *api) handler(handle func(http.ResponseWriter, *http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := handle(w, r); err != nil {
			a.fail(w, r, err)
		}
	})
}

// refuse answers for a path that exists, with other methods, or does not exist at all.
func refuse(allow string) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, _ *http.Request) error {
		if allow == "" {
			return &problem{status: http.StatusNotFound, Code: "not_found", Message: "there is nothing at this path"}
		}
		w.Header().Set("Allow", allow)
		return &problem{status: http.StatusMethodNotAllowed, Code: "method_not_allowed", Message: "use one of " + allow}
	}
}

func (a *api) health(w http.ResponseWriter, r *http.Request) error {
	if err := a.db.Ping(r.Context()); err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, map[string]string{"status": "ok"})
}

func (a *api) listUsers(w http.ResponseWriter, r *http.Request) error {
	after, err := queryInt(r, "after", 0, 0, math.MaxInt64)
	if err != nil {
		return err
	}
	limit, err := queryInt(r, "limit", defaultLimit, 1, maxLimit)
	if err != nil {
		return err
	}
	list, err := a.users.page(r.Context(), after, limit)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, list)
}

func (a *api) createUser(w http.ResponseWriter, r *http.Request) error {
	var in userInput
	if err := readJSON(w, r, a.maxBody, &in); err != nil {
		return err
	}
	if err := in.validate(); err != nil {
		return err
	}
	user, err := a.users.create(r.Context(), in)
	if err != nil {
		return err
	}
	w.Header().Set("Location", fmt.Sprintf("/users/%d", user.ID))
	return writeJSON(w, http.StatusCreated, user)
}

func (a *api) getUser(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	user, err := a.users.get(r.Context(), id)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, user)
}

func (a *api) updateUser(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	var in userInput
	if err := readJSON(w, r, a.maxBody, &in); err != nil {
		return err
	}
	if err := in.validate(); err != nil {
		return err
	}
	user, err := a.users.update(r.Context(), id, in)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, user)
}

func (a *api) deleteUser(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	if err := a.users.delete(r.Context(), id); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// pathID reads {id}. What cannot be an id names no user, so it is not found.
func pathID(r *http.Request) (int64, error) {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil || id <= 0 {
		return 0, &problem{status: http.StatusNotFound, Code: "not_found", Message: "there is no such user"}
	}
	return id, nil
}

func queryInt(r *http.Request, name string, absent, low, high int64) (int64, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return absent, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < low || n > high {
		return 0, &problem{
			status: http.StatusBadRequest, Code: "invalid_parameter", Message: "a query parameter is not valid",
			Fields: map[string]string{name: fmt.Sprintf("must be a whole number from %d to %d", low, high)},
		}
	}
	return n, nil
}

// withTimeout bounds the work on a request; it reaches waits for the database and statements that run.
func withTimeout(next http.Handler, d time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), d)
		defer cancel()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// logged writes one line for each request, at the level INFO.
func (a *api) logged(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		answer := &recorder{ResponseWriter: w, status: http.StatusOK}
		next.ServeHTTP(answer, r)
		a.log.LogAttrs(r.Context(), slog.LevelInfo, "request",
			slog.String("method", r.Method), slog.String("path", r.URL.Path),
			slog.Int("status", answer.status), slog.String("took", time.Since(start).String()))
	})
}

// recorder remembers the status for the log.
type recorder struct {
	http.ResponseWriter
	status int
}

func (r *recorder) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}

// Unwrap lets an http.ResponseController reach the connection.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

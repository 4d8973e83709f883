package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/sanelite/sanelite/examples/tenants/apps"
	"github.com/sanelite/sanelite/sqlitex"
)

// problem is an error as a client sees it.
type problem struct {
	status int

	Code    string            `json:"code"`             // for programs
	Message string            `json:"message"`          // for people
	Fields  map[string]string `json:"fields,omitempty"` // what is wrong with which field
}

func (p *problem) Error() string { return p.Message }

// statusClientGone is for the log only: nobody reads the answer.
const statusClientGone = 499

// answers are what clients are told of errors, the first that matches. Of what went wrong inside they hear no more than that.
var answers = []struct {
	err    error
	answer problem
}{
	{apps.ErrName, problem{status: http.StatusBadRequest, Code: "invalid_name", Message: "the name of an app is 1 to 63 of a-z, 0-9 and -, and does not begin with -"}},
	{apps.ErrNotFound, problem{status: http.StatusNotFound, Code: "no_such_app", Message: "there is no such app"}},
	{apps.ErrDeleting, problem{status: http.StatusConflict, Code: "deleting", Message: "the app is being deleted"}},
	{sqlitex.ErrNoRows, problem{status: http.StatusNotFound, Code: "not_found", Message: "there is no such item"}},
	{sqlitex.ErrBusy, problem{status: http.StatusServiceUnavailable, Code: "busy", Message: "the database is busy, try again"}},
	{apps.ErrClosed, problem{status: http.StatusServiceUnavailable, Code: "shutting_down", Message: "the service is shutting down"}},
	{sqlitex.ErrClosed, problem{status: http.StatusServiceUnavailable, Code: "shutting_down", Message: "the service is shutting down"}},
	{context.DeadlineExceeded, problem{status: http.StatusServiceUnavailable, Code: "timeout", Message: "this took too long, try again"}},
	{context.Canceled, problem{status: statusClientGone, Code: "canceled", Message: "the request was canceled"}},
	{sqlitex.ErrFull, problem{status: http.StatusInsufficientStorage, Code: "full", Message: "there is no space left"}},
}

func problemOf(err error) *problem {
	var p *problem
	if errors.As(err, &p) {
		return p
	}
	for _, a := range answers {
		if errors.Is(err, a.err) {
			return &a.answer
		}
	}
	return &problem{status: http.StatusInternalServerError, Code: "internal", Message: "something went wrong here"}
}

// fail answers with an error, and logs what the client is not told.
func (a *api) fail(w http.ResponseWriter, r *http.Request, err error) {
	p := problemOf(err)
	if p.status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	if p.status >= http.StatusInternalServerError {
		a.log.LogAttrs(r.Context(), slog.LevelError, "request failed",
			slog.String("method", r.Method), slog.String("path", r.URL.Path), slog.Any("error", err))
	}
	_ = writeJSON(w, p.status, map[string]*problem{"error": p}) // strings can always be written
}

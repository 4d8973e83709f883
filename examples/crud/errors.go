package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

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

// problemOf says what a client is told of err. Of what went wrong inside it hears no more than that.
func problemOf(err error) *problem {
	var p *problem
	switch {
	case errors.As(err, &p):
		return p
	case errors.Is(err, sqlitex.ErrNoRows):
		return &problem{status: http.StatusNotFound, Code: "not_found", Message: "there is no such user"}
	case errors.Is(err, sqlitex.ErrUnique):
		return &problem{
			status: http.StatusConflict, Code: "conflict", Message: "another user has this email address",
			Fields: map[string]string{"email": "is taken"},
		}
	case errors.Is(err, sqlitex.ErrBusy):
		return &problem{status: http.StatusServiceUnavailable, Code: "busy", Message: "the database is busy, try again"}
	case errors.Is(err, sqlitex.ErrClosed):
		return &problem{status: http.StatusServiceUnavailable, Code: "shutting_down", Message: "the service is shutting down"}
	case errors.Is(err, context.DeadlineExceeded):
		return &problem{status: http.StatusServiceUnavailable, Code: "timeout", Message: "this took too long, try again"}
	case errors.Is(err, context.Canceled):
		return &problem{status: statusClientGone, Code: "canceled", Message: "the request was canceled"}
	case errors.Is(err, sqlitex.ErrFull):
		return &problem{status: http.StatusInsufficientStorage, Code: "full", Message: "there is no space left"}
	default:
		return &problem{status: http.StatusInternalServerError, Code: "internal", Message: "something went wrong here"}
	}
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

package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/sanelite/sanelite/examples/chirp/social"
	"github.com/sanelite/sanelite/sqlitex"
)

// maxBody is the largest request body in bytes: a post of four-byte characters, escaped.
const maxBody = 16 << 10

var (
	errNothing = errors.New("there is nothing at this path")
	errBody    = errors.New("the body is not the JSON that is wanted")
)

// problem is the form of every error.
type problem struct {
	Error string `json:"error"`
}

// fail answers with an error. What is not the client's affair goes to the log only.
func (a *api) fail(w http.ResponseWriter, r *http.Request, err error) {
	status, words := http.StatusInternalServerError, "internal error"
	switch {
	case errors.Is(err, social.ErrNoUser), errors.Is(err, social.ErrNoPost), errors.Is(err, errNothing):
		status, words = http.StatusNotFound, err.Error()
	case errors.Is(err, social.ErrTaken):
		status, words = http.StatusConflict, err.Error()
	case errors.Is(err, social.ErrInvalid), errors.Is(err, errBody):
		status, words = http.StatusBadRequest, err.Error()
	case errors.Is(err, sqlitex.ErrBusy), errors.Is(err, sqlitex.ErrClosed), errors.Is(err, context.DeadlineExceeded):
		status, words = http.StatusServiceUnavailable, "try again"
		w.Header().Set("Retry-After", "1")
	case errors.Is(err, sqlitex.ErrFull):
		status, words = http.StatusInsufficientStorage, "the disk is full"
	}
	if status >= 500 && r.Context().Err() == nil { // otherwise the client has gone
		a.log.Error("request failed", "method", r.Method, "path", r.URL.Path, "error", err)
	}
	_ = writeJSON(w, status, problem{words})
}

func readJSON(w http.ResponseWriter, r *http.Request, to any) error {
	in := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	in.DisallowUnknownFields()
	if err := in.Decode(to); err != nil {
		return errors.Join(errBody, err)
	}
	return nil
}

// writeJSON answers. An error means that the client has gone: there is nobody left to tell.
func writeJSON(w http.ResponseWriter, status int, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n'))
	return nil
}

// done answers without content.
func done(w http.ResponseWriter, err error) error {
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
	}
	return err
}

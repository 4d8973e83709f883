package main

import (
	"fmt"
	"math"
	"net/http"
	"runtime"
	"strconv"

	"github.com/sanelite/sanelite/examples/tenants/apps"
	"github.com/sanelite/sanelite/sqlitex"
)

// Lengths of a page of items or apps.
const (
	defaultLimit = 20
	maxLimit     = 100
)

func (a *api) health(w http.ResponseWriter, _ *http.Request) error {
	if err := a.apps.Check(); err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, map[string]string{"status": "ok"})
}

func (a *api) stats(w http.ResponseWriter, _ *http.Request) error {
	return writeJSON(w, http.StatusOK, struct {
		Apps       apps.Stats `json:"apps"`
		Goroutines int        `json:"goroutines"`
		RSS        int64      `json:"rss_bytes"` // memory of the process; 0 where the system does not tell
	}{a.apps.Stats(), runtime.NumGoroutine(), residentBytes()})
}

// appName is an app in a list of them.
type appName struct {
	Name string `json:"name"`
}

// appPage is a part of the list of apps, and where the next one begins.
type appPage struct {
	Apps []appName `json:"apps"`
	Next string    `json:"next_after,omitempty"` // to be given as after; empty at the end
}

func (a *api) listApps(w http.ResponseWriter, r *http.Request) error {
	limit, err := queryInt(r, "limit", defaultLimit, 1, maxLimit)
	if err != nil {
		return err
	}
	names, err := a.apps.List(r.URL.Query().Get("after"), int(limit)+1)
	if err != nil {
		return err
	}
	p := appPage{Apps: []appName{}}
	if len(names) > int(limit) { // the one too many tells that there is more
		names = names[:limit]
		p.Next = names[limit-1]
	}
	for _, name := range names {
		p.Apps = append(p.Apps, appName{name})
	}
	return writeJSON(w, http.StatusOK, p)
}

// createApp answers 201 where the app is new, and 200 where it was there: to send the request again does no harm.
func (a *api) createApp(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("name")
	created, err := a.apps.Create(r.Context(), name)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if created {
		status = http.StatusCreated
	}
	return writeJSON(w, status, appName{name})
}

func (a *api) deleteApp(w http.ResponseWriter, r *http.Request) error {
	if err := a.apps.Delete(r.Context(), r.PathValue("name")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (a *api) appStats(w http.ResponseWriter, r *http.Request) error {
	var s appStats
	err := a.use(r, func(db *sqlitex.DB) (err error) {
		s, err = statsOfApp(r.Context(), db)
		return err
	})
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, s)
}

// use calls fn with the database of the app that the path names. The answer is written afterwards: a slow client does not keep
// the database open.
func (a *api) use(r *http.Request, fn func(db *sqlitex.DB) error) error {
	return a.apps.Use(r.Context(), r.PathValue("name"), fn)
}

// pathID reads {id}. What cannot be an id names no item, so it is not found.
func pathID(r *http.Request) (int64, error) {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil || id <= 0 {
		return 0, &problem{status: http.StatusNotFound, Code: "not_found", Message: "there is no such item"}
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
		expected := fmt.Sprintf("must be a whole number from %d to %d", low, high)
		if high == math.MaxInt64 {
			expected = fmt.Sprintf("must be a whole number, not less than %d", low)
		}
		return 0, &problem{
			status: http.StatusBadRequest, Code: "invalid_parameter", Message: "a query parameter is not valid",
			Fields: map[string]string{name: expected},
		}
	}
	return n, nil
}

package main

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/sanelite/sanelite/examples/tenants/apps"
)

// api is the service as HTTP sees it.
type api struct {
	apps    *apps.Registry
	log     *slog.Logger
	maxBody int64
}

func newAPI(registry *apps.Registry, cfg config, log *slog.Logger) http.Handler {
	a := &api{apps: registry, log: log, maxBody: cfg.maxBody}
	mux := http.NewServeMux()
	for pattern, handle := range map[string]func(http.ResponseWriter, *http.Request) error{
		"GET /health":                    a.health,
		"GET /stats":                     a.stats,
		"GET /apps":                      a.listApps,
		"PUT /apps/{name}":               a.createApp,
		"DELETE /apps/{name}":            a.deleteApp,
		"GET /apps/{name}/stats":         a.appStats,
		"GET /apps/{name}/items":         a.listItems,
		"POST /apps/{name}/items":        a.createItem,
		"GET /apps/{name}/items/{id}":    a.getItem,
		"PUT /apps/{name}/items/{id}":    a.updateItem,
		"DELETE /apps/{name}/items/{id}": a.deleteItem,
	} {
		mux.Handle(pattern, a.handler(handle))
	}
	// Less specific than the patterns above, these answer what is left in JSON too.
	for pattern, allow := range map[string]string{
		"/health": "GET, HEAD", "/stats": "GET, HEAD", "/apps": "GET, HEAD", "/apps/{name}": "PUT, DELETE",
		"/apps/{name}/stats": "GET, HEAD", "/apps/{name}/items": "GET, HEAD, POST", "/apps/{name}/items/{id}": "GET, HEAD, PUT, DELETE",
		"/": "",
	} {
		mux.Handle(pattern, a.handler(refuse(allow)))
	}
	handler := withTimeout(mux, cfg.requestTimeout)
	if log.Enabled(context.Background(), slog.LevelDebug) { // at ten thousand requests a second a line for each costs more than the request
		handler = logged(handler, log)
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

// withTimeout bounds the work on a request; it reaches waits for a database and statements that run.
func withTimeout(next http.Handler, d time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), d)
		defer cancel()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// logged writes one line for each request.
func logged(next http.Handler, log *slog.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		answer := &recorder{ResponseWriter: w, status: http.StatusOK}
		next.ServeHTTP(answer, r)
		log.LogAttrs(r.Context(), slog.LevelDebug, "request",
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

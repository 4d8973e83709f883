package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/sanelite/sanelite/examples/chirp/social"
)

const (
	defaultLimit = 20
	maxLimit     = 100
)

// api is the network as HTTP sees it. Who acts is named in the path: a real service would take that from a session.
type api struct {
	network *social.Network
	log     *slog.Logger
}

func newAPI(n *social.Network, cfg config, log *slog.Logger) http.Handler {
	a := &api{n, log}
	mux := http.NewServeMux()
	for pattern, handle := range map[string]func(http.ResponseWriter, *http.Request) error{
		"GET /health":                               a.health,
		"POST /users":                               a.createUser,
		"GET /users/{handle}":                       a.profile,
		"GET /users/{handle}/timeline":              a.list(a.network.Timeline),
		"GET /users/{handle}/posts":                 a.list(a.network.PostsOf),
		"GET /users/{handle}/mentions":              a.list(a.network.Mentions),
		"POST /users/{handle}/posts":                a.post,
		"PUT /users/{handle}/follows/{followee}":    a.follow(a.network.Follow),
		"DELETE /users/{handle}/follows/{followee}": a.follow(a.network.Unfollow),
		"PUT /users/{handle}/likes/{post}":          a.like(a.network.Like),
		"DELETE /users/{handle}/likes/{post}":       a.like(a.network.Unlike),
		"GET /posts/{post}":                         a.getPost,
		"GET /":                                     a.nothing,
		"GET /{$}":                                  a.front,
		"GET /at/{handle}":                          a.page,
		"POST /at/{handle}":                         a.postFromPage,
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			ctx, cancel := context.WithTimeout(r.Context(), cfg.requestTimeout)
			defer cancel()
			if err := handle(w, r.WithContext(ctx)); err != nil {
				a.fail(w, r, err)
			}
		})
	}
	return a.logged(mux)
}

func (a *api) health(w http.ResponseWriter, r *http.Request) error {
	if err := a.network.DB().Ping(r.Context()); err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, map[string]string{"status": "ok"})
}

func (a *api) nothing(http.ResponseWriter, *http.Request) error { return errNothing }

func (a *api) createUser(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		Handle string `json:"handle"`
		Name   string `json:"name"`
	}
	if err := readJSON(w, r, &in); err != nil {
		return err
	}
	u, err := a.network.CreateUser(r.Context(), in.Handle, in.Name)
	if err != nil {
		return err
	}
	w.Header().Set("Location", "/users/"+u.Handle)
	return writeJSON(w, http.StatusCreated, u)
}

func (a *api) profile(w http.ResponseWriter, r *http.Request) error {
	p, err := a.network.Profile(r.Context(), r.PathValue("handle"))
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, p)
}

// postList is a page of posts; next is the value of before for the page behind it.
type postList struct {
	Posts []social.Post `json:"posts"`
	Next  int64         `json:"next,omitempty"`
}

// list answers with a page of what read returns for the user of the path.
func (a *api) list(read func(ctx context.Context, userID, before int64, limit int) ([]social.Post, error)) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		u, err := a.user(r)
		if err != nil {
			return err
		}
		before, err := queryInt(r, "before", 0, 1, 1<<62)
		if err != nil {
			return err
		}
		limit, err := queryInt(r, "limit", defaultLimit, 1, maxLimit)
		if err != nil {
			return err
		}
		posts, err := read(r.Context(), u.ID, before, int(limit))
		if err != nil {
			return err
		}
		answer := postList{Posts: posts}
		if len(posts) == int(limit) {
			answer.Next = posts[len(posts)-1].ID
		}
		return writeJSON(w, http.StatusOK, answer)
	}
}

func (a *api) post(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		Body string `json:"body"`
	}
	if err := readJSON(w, r, &in); err != nil {
		return err
	}
	u, err := a.user(r)
	if err != nil {
		return err
	}
	p, err := a.network.Post(r.Context(), u.ID, in.Body)
	if err != nil {
		return err
	}
	w.Header().Set("Location", fmt.Sprintf("/posts/%d", p.ID))
	return writeJSON(w, http.StatusCreated, p)
}

func (a *api) getPost(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "post")
	if err != nil {
		return err
	}
	p, err := a.network.PostByID(r.Context(), id)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, p)
}

func (a *api) follow(change func(ctx context.Context, follower, followee int64) error) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		u, err := a.user(r)
		if err != nil {
			return err
		}
		other, err := a.network.UserByHandle(r.Context(), r.PathValue("followee"))
		if err != nil {
			return err
		}
		return done(w, change(r.Context(), u.ID, other.ID))
	}
}

func (a *api) like(change func(ctx context.Context, userID, postID int64) error) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		u, err := a.user(r)
		if err != nil {
			return err
		}
		id, err := pathID(r, "post")
		if err != nil {
			return err
		}
		return done(w, change(r.Context(), u.ID, id))
	}
}

func (a *api) user(r *http.Request) (social.User, error) {
	return a.network.UserByHandle(r.Context(), r.PathValue("handle"))
}

func pathID(r *http.Request, name string) (int64, error) {
	id, err := strconv.ParseInt(r.PathValue(name), 10, 64)
	if err != nil || id <= 0 {
		return 0, social.ErrNoPost
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
		return 0, fmt.Errorf("%w: %s must be a whole number from %d to %d", social.ErrInvalid, name, low, high)
	}
	return n, nil
}

// logged writes a line for each request, at the level DEBUG: at thousands a second that is what costs most.
func (a *api) logged(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !a.log.Enabled(r.Context(), slog.LevelDebug) {
			next.ServeHTTP(w, r)
			return
		}
		begin, answer := time.Now(), &recorder{ResponseWriter: w, status: http.StatusOK}
		next.ServeHTTP(answer, r)
		a.log.LogAttrs(r.Context(), slog.LevelDebug, "request",
			slog.String("method", r.Method), slog.String("path", r.URL.Path),
			slog.Int("status", answer.status), slog.String("took", time.Since(begin).String()))
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

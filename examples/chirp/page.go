package main

import (
	"bytes"
	_ "embed"
	"html/template"
	"net/http"

	"github.com/sanelite/sanelite/examples/chirp/social"
)

//go:embed page/timeline.html
var timelineHTML string

// html/template escapes what people write.
var timelinePage = template.Must(template.New("timeline").Parse(timelineHTML))

// front shows where pages are.
func (a *api) front(w http.ResponseWriter, r *http.Request) error {
	return a.show(w, http.StatusOK, view{})
}

// view is what the page shows.
type view struct {
	Profile social.Profile
	Posts   []social.Post
	Next    int64
	Longest int
	Problem string
	Draft   string // what was refused
}

// page shows the timeline of a user.
func (a *api) page(w http.ResponseWriter, r *http.Request) error {
	v, err := a.view(r)
	if err != nil {
		return err
	}
	return a.show(w, http.StatusOK, v)
}

func (a *api) view(r *http.Request) (v view, err error) {
	before, err := queryInt(r, "before", 0, 1, 1<<62)
	if err != nil {
		return v, err
	}
	v.Longest = social.LongestBody
	if v.Profile, err = a.network.Profile(r.Context(), r.PathValue("handle")); err != nil {
		return v, err
	}
	v.Posts, err = a.network.Timeline(r.Context(), v.Profile.ID, before, defaultLimit)
	if len(v.Posts) == defaultLimit {
		v.Next = v.Posts[defaultLimit-1].ID
	}
	return v, err
}

// postFromPage takes the form of the page: a new post, or a like.
func (a *api) postFromPage(w http.ResponseWriter, r *http.Request) error {
	// A form can be sent from any page on the web. Browsers say which: https://developer.mozilla.org/docs/Web/HTTP/Headers/Sec-Fetch-Site
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" {
		return errNothing
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	u, err := a.user(r)
	if err != nil {
		return err
	}
	if r.PostFormValue("like") != "" {
		r.SetPathValue("post", r.PostFormValue("like"))
		id, err := pathID(r, "post")
		if err == nil {
			err = a.network.Like(r.Context(), u.ID, id)
		}
		if err != nil {
			return err
		}
	} else if _, err := a.network.Post(r.Context(), u.ID, r.PostFormValue("body")); err != nil {
		v, viewErr := a.view(r)
		if viewErr != nil {
			return viewErr
		}
		v.Problem, v.Draft = err.Error(), r.PostFormValue("body")
		return a.show(w, http.StatusBadRequest, v)
	}
	http.Redirect(w, r, "/at/"+u.Handle, http.StatusSeeOther) // so that a reload does not post again
	return nil
}

func (a *api) show(w http.ResponseWriter, status int, v view) error {
	var b bytes.Buffer // whole, or not at all
	if err := timelinePage.Execute(&b, v); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'")
	w.WriteHeader(status)
	_, _ = b.WriteTo(w)
	return nil
}

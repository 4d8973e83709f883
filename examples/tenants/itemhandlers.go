package main

import (
	"math"
	"net/http"
	"strconv"

	"github.com/sanelite/sanelite/sqlitex"
)

func (a *api) listItems(w http.ResponseWriter, r *http.Request) error {
	after, err := queryInt(r, "after", 0, 0, math.MaxInt64)
	if err != nil {
		return err
	}
	limit, err := queryInt(r, "limit", defaultLimit, 1, maxLimit)
	if err != nil {
		return err
	}
	var page itemPage
	err = a.use(r, func(db *sqlitex.DB) (err error) {
		page, err = pageOfItems(r.Context(), db, after, limit)
		return err
	})
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, page)
}

func (a *api) createItem(w http.ResponseWriter, r *http.Request) error {
	in, err := a.readItem(w, r)
	if err != nil {
		return err
	}
	var id int64
	err = a.use(r, func(db *sqlitex.DB) (err error) {
		id, err = createItem(r.Context(), db, in)
		return err
	})
	if err != nil {
		return err
	}
	w.Header().Set("Location", "/apps/"+r.PathValue("name")+"/items/"+strconv.FormatInt(id, 10))
	return writeJSON(w, http.StatusCreated, struct {
		ID int64 `json:"id"`
	}{id})
}

func (a *api) getItem(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	var found item
	err = a.use(r, func(db *sqlitex.DB) (err error) {
		found, err = getItem(r.Context(), db, id)
		return err
	})
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, found)
}

func (a *api) updateItem(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	in, err := a.readItem(w, r)
	if err != nil {
		return err
	}
	var updated item
	err = a.use(r, func(db *sqlitex.DB) (err error) {
		updated, err = updateItem(r.Context(), db, id, in)
		return err
	})
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, updated)
}

func (a *api) deleteItem(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	if err := a.use(r, func(db *sqlitex.DB) error { return deleteItem(r.Context(), db, id) }); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// readItem reads the body before a database is taken: a slow client keeps none open.
func (a *api) readItem(w http.ResponseWriter, r *http.Request) (in itemInput, err error) {
	if err := readJSON(w, r, a.maxBody, &in); err != nil {
		return in, err
	}
	return in, in.validate()
}

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
)

// readJSON reads a body that holds one JSON object, of known fields only, and not more than limit bytes.
func readJSON(w http.ResponseWriter, r *http.Request, limit int64, v any) error {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return &problem{status: http.StatusUnsupportedMediaType, Code: "unsupported_media_type", Message: "Content-Type must be application/json"}
	}
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, limit))
	d.DisallowUnknownFields()
	err := d.Decode(v)
	if err == nil {
		if _, err = d.Token(); errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = errors.New("more than one JSON value")
		}
	}
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return &problem{
			status: http.StatusRequestEntityTooLarge, Code: "too_large",
			Message: fmt.Sprintf("the body is larger than %d bytes", tooLarge.Limit),
		}
	}
	return &problem{status: http.StatusBadRequest, Code: "malformed", Message: "the body is not as expected: " + err.Error()}
}

// appender writes its own JSON.
type appender interface{ appendJSON([]byte) []byte }

// writeJSON answers with v. An error means that nothing has been sent.
func writeJSON(w http.ResponseWriter, status int, v any) error {
	var body []byte
	if a, ok := v.(appender); ok {
		body = a.appendJSON(nil)
	} else {
		var err error
		if body, err = json.Marshal(v); err != nil {
			return err
		}
	}
	body = append(body, '\n')
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body))) // else what is longer than 2 KB goes out in chunks
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may be gone; there is nobody to tell
	return nil
}

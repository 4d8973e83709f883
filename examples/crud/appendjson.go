package main

import (
	"encoding/json"
	"slices"
	"strconv"
	"time"
)

// What is answered most often writes its own JSON: of the work on a list of 20 users, encoding/json would be a quarter. The text is the
// same, which a test sees to.

// sizeOfUser is about what a user takes.
const sizeOfUser = 192

func (u user) appendJSON(b []byte) []byte {
	b = slices.Grow(b, sizeOfUser)
	b = strconv.AppendInt(append(b, `{"id":`...), u.ID, 10)
	b = appendString(append(b, `,"name":`...), u.Name)
	b = appendString(append(b, `,"email":`...), u.Email)
	b = u.CreatedAt.AppendFormat(append(b, `,"created_at":"`...), time.RFC3339Nano)
	b = u.UpdatedAt.AppendFormat(append(b, `","updated_at":"`...), time.RFC3339Nano)
	return append(b, `"}`...)
}

func (p userPage) appendJSON(b []byte) []byte {
	b = append(slices.Grow(b, sizeOfUser*(len(p.Users)+1)), `{"users":[`...)
	for i, u := range p.Users {
		if i > 0 {
			b = append(b, ',')
		}
		b = u.appendJSON(b)
	}
	b = append(b, ']')
	if p.Next != 0 {
		b = strconv.AppendInt(append(b, `,"next_after":`...), p.Next, 10)
	}
	return append(b, '}')
}

// appendString appends s in quotes. encoding/json escapes whatever is not plain.
func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ', c >= 0x7f, c == '"', c == '\\', c == '<', c == '>', c == '&':
			quoted, err := json.Marshal(s)
			if err != nil { // there is no string for which that can be
				quoted = []byte(`""`)
			}
			return append(b, quoted...)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}

package web

import (
	"bytes"
	"errors"
	"strconv"
)

var (
	errWrongStatus = errors.New("a status that is not expected")
	errWrongBody   = errors.New("a wrong answer")
)

// userClient does one kind of work, over and over. Clients share nothing: each takes every step-th key.
type userClient struct {
	work    Work
	host    string
	n, step int64
	run     int64 // names differ from run to run, so that an update changes something
	stock   int64
	done    int64 // acknowledged

	id         int64 // of the request that is under way
	path, body []byte
	want       []byte // what the answer begins with
}

// key walks over all users in an order that looks random.
func key(i int64) int64 { return i*31337%users + 1 }

func (c *userClient) next(b []byte) []byte {
	n := c.n
	c.n += c.step
	c.id = key(n)
	c.path, c.body = append(c.path[:0], "/users"...), c.body[:0]
	switch c.work {
	case WorkHealth:
		return request(b, "GET", c.host, []byte("/health"), nil)
	case WorkList:
		c.id %= users - page // the list goes on behind it, and there is more
		c.path = strconv.AppendInt(append(c.path, "?limit=20&after="...), c.id, 10)
		return request(b, "GET", c.host, c.path, nil)
	case WorkCreate:
		c.describe("New ", n, "new", n)
		return request(b, "POST", c.host, c.path, c.body)
	case WorkUpdate:
		c.describe("Renamed "+strconv.FormatInt(c.run, 10)+" ", n, "user", c.id)
		return request(b, "PUT", c.host, c.user(), c.body)
	case WorkDelete:
		if n >= c.stock {
			return nil
		}
		c.id = users + 1 + n
		return request(b, "DELETE", c.host, c.user(), nil)
	default:
		return request(b, "GET", c.host, c.user(), nil)
	}
}

func (c *userClient) user() []byte {
	c.path = strconv.AppendInt(append(c.path, '/'), c.id, 10)
	return c.path
}

func (c *userClient) describe(name string, n int64, account string, id int64) {
	c.body = append(append(c.body, `{"name":"`...), name...)
	c.body = strconv.AppendInt(c.body, n, 10)
	c.body = append(append(c.body, `","email":"`...), account...)
	c.body = strconv.AppendInt(c.body, id, 10)
	c.body = append(c.body, `@example.com"}`...)
}

func (c *userClient) check(a answer) error {
	status, right := 200, false
	switch c.work {
	case WorkHealth:
		right = bytes.HasPrefix(a.body, []byte(`{"status":"ok"}`))
	case WorkList:
		right = bytes.HasPrefix(a.body, c.begins(`{"users":[{"id":`, c.id+1, `,`)) &&
			bytes.Count(a.body, []byte(`"email":"user`)) == page &&
			bytes.Contains(a.body, c.begins(`],"next_after":`, c.id+page, `}`))
	case WorkCreate:
		status = 201
		id, rest := idOf(a.body)
		right = id > users && bytes.HasPrefix(rest, c.body[1:len(c.body)-1]) // the same name and address, in the same order
	case WorkUpdate:
		id, rest := idOf(a.body)
		right = id == c.id && bytes.HasPrefix(rest, c.body[1:len(c.body)-1])
	case WorkDelete:
		status, right = 204, len(a.body) == 0
	default:
		right = bytes.HasPrefix(a.body, c.begins(`{"id":`, c.id, `,"name":"User `)) &&
			bytes.Contains(a.body, []byte(`.123Z","updated_at":"2026-`))
	}
	switch {
	case a.status != status:
		return errWrongStatus
	case !right:
		return errWrongBody
	}
	c.done++
	return nil
}

func (c *userClient) begins(before string, n int64, after string) []byte {
	c.want = append(strconv.AppendInt(append(c.want[:0], before...), n, 10), after...)
	return c.want
}

// idOf reads the id with which the JSON of an object begins, and returns what follows it. It is 0 if there is none.
func idOf(body []byte) (id int64, rest []byte) {
	rest, found := bytes.CutPrefix(body, []byte(`{"id":`))
	if !found {
		return 0, nil
	}
	digits, rest, _ := bytes.Cut(rest, []byte(","))
	id, err := strconv.ParseInt(string(digits), 10, 64)
	if err != nil {
		return 0, nil
	}
	return id, rest
}

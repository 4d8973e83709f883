package web

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"
)

// connection is a keep-alive connection of a client. It reads just as much of HTTP/1.1 as the services here send: net/http as a
// client would cost more than some of the services, and on few processors the load would then measure itself.
type connection struct {
	net.Conn
	buf []byte // what was received and not yet taken
}

// answer is valid until the next round trip.
type answer struct {
	status int
	body   []byte
}

func dial(address string, until time.Time) (*connection, error) {
	c, err := net.DialTimeout("tcp", address, time.Until(until))
	if err != nil {
		return nil, err
	}
	return &connection{Conn: c, buf: make([]byte, 0, 8<<10)}, c.SetDeadline(until)
}

func (c *connection) roundTrip(request []byte) (answer, error) {
	if _, err := c.Write(request); err != nil {
		return answer{}, err
	}
	c.buf = c.buf[:0]
	end := -1
	for end < 0 {
		if err := c.more(); err != nil {
			return answer{}, err
		}
		end = bytes.Index(c.buf, []byte("\r\n\r\n"))
	}
	h, err := parseHead(c.buf[:end])
	if err != nil {
		return answer{}, err
	}
	begin := end + 4
	if h.chunked {
		return c.chunks(h.status, begin)
	}
	for len(c.buf) < begin+h.length {
		if err := c.more(); err != nil {
			return answer{}, err
		}
	}
	if len(c.buf) > begin+h.length {
		return answer{}, fmt.Errorf("%d bytes after the answer", len(c.buf)-begin-h.length)
	}
	return answer{h.status, c.buf[begin:]}, nil
}

// more waits for the next bytes.
func (c *connection) more() error {
	if len(c.buf) == cap(c.buf) {
		c.buf = append(c.buf, 0)[:len(c.buf)]
	}
	n, err := c.Read(c.buf[len(c.buf):cap(c.buf)])
	c.buf = c.buf[:len(c.buf)+n]
	if n > 0 {
		return nil
	}
	return err
}

// chunks reads a body in chunks, of which each begins with its length on a line.
func (c *connection) chunks(status, at int) (answer, error) {
	var body []byte
	for {
		line := bytes.Index(c.buf[at:], []byte("\r\n"))
		if line < 0 {
			if err := c.more(); err != nil {
				return answer{}, err
			}
			continue
		}
		n, err := strconv.ParseUint(string(c.buf[at:at+line]), 16, 31)
		if err != nil {
			return answer{}, fmt.Errorf("a chunk's length: %w", err)
		}
		at += line + 2
		for len(c.buf) < at+int(n)+2 {
			if err := c.more(); err != nil {
				return answer{}, err
			}
		}
		if n == 0 {
			return answer{status, body}, nil
		}
		body = append(body, c.buf[at:at+int(n)]...)
		at += int(n) + 2
	}
}

// head is what matters of the lines before the body.
type head struct {
	status  int
	length  int
	chunked bool
}

func parseHead(lines []byte) (h head, err error) {
	first, rest, _ := bytes.Cut(lines, []byte("\r\n"))
	if len(first) < len("HTTP/1.1 200") || !bytes.HasPrefix(first, []byte("HTTP/1.1 ")) {
		return h, fmt.Errorf("no answer of HTTP/1.1: %.40q", first)
	}
	if h.status, err = strconv.Atoi(string(first[9:12])); err != nil {
		return h, fmt.Errorf("status: %w", err)
	}
	known := h.status == 204 || h.status == 304 // these have no body
	for len(rest) > 0 {
		var line []byte
		line, rest, _ = bytes.Cut(rest, []byte("\r\n"))
		name, value, _ := bytes.Cut(line, []byte(":"))
		switch value = bytes.TrimSpace(value); {
		case len(name) == len("Content-Length") && bytes.EqualFold(name, []byte("Content-Length")):
			if h.length, err = strconv.Atoi(string(value)); err != nil || h.length < 0 {
				return h, fmt.Errorf("Content-Length %q", value)
			}
			known = true
		case len(name) == len("Transfer-Encoding") && bytes.EqualFold(name, []byte("Transfer-Encoding")):
			h.chunked = bytes.EqualFold(value, []byte("chunked"))
			known = h.chunked
		case len(name) == len("Connection") && bytes.EqualFold(name, []byte("Connection")) && bytes.EqualFold(value, []byte("close")):
			return h, errors.New("the service does not keep the connection")
		}
	}
	if !known {
		return h, errors.New("an answer without a length")
	}
	return h, nil
}

// request appends a request to b. A nil body is none.
func request(b []byte, method, host string, path, body []byte) []byte {
	b = append(b, method...)
	b = append(b, ' ')
	b = append(b, path...)
	b = append(b, " HTTP/1.1\r\nHost: "...)
	b = append(b, host...)
	if body != nil {
		b = append(b, "\r\nContent-Type: application/json\r\nContent-Length: "...)
		b = strconv.AppendInt(b, int64(len(body)), 10)
	}
	b = append(b, "\r\n\r\n"...)
	return append(b, body...)
}

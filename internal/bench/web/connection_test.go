package web

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// answering returns a connection whose other end reads something, answers in the given pieces, and closes.
func answering(t *testing.T, pieces ...string) *connection {
	t.Helper()
	here, there := net.Pipe()
	require.NoError(t, here.SetDeadline(time.Now().Add(10*time.Second)))
	go func() {
		defer there.Close()
		if _, err := there.Read(make([]byte, 4096)); err != nil {
			return
		}
		for _, piece := range pieces {
			if _, err := io.WriteString(there, piece); err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() { _ = here.Close() })
	return &connection{Conn: here, buf: make([]byte, 0, 16)}
}

func TestAnAnswerIsReadWhereverItIsCut(t *testing.T) {
	t.Parallel()
	for name, whole := range map[string]string{
		"length":        "HTTP/1.1 201 Created\r\ncontent-length: 11\r\nX: y\r\n\r\nhello world",
		"chunks":        "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nhello \r\n5\r\nworld\r\n0\r\n\r\n",
		"length of 0x0": "HTTP/1.1 201 Created\r\nContent-Length:11\r\n\r\nhello world",
	} {
		for cut := range len(whole) {
			a, err := answering(t, whole[:cut], whole[cut:]).roundTrip([]byte("GET"))
			require.NoError(t, err, "%s, cut at %d", name, cut)
			assert.Equal(t, 201, a.status)
			assert.Equal(t, "hello world", string(a.body))
		}
	}
	a, err := answering(t, "HTTP/1.1 204 No Content\r\n\r\n").roundTrip([]byte("GET"))
	require.NoError(t, err)
	assert.Equal(t, 204, a.status)
	assert.Empty(t, a.body)
}

func TestAnAnswerThatIsNoneIsAnError(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"nothing":       "",
		"half a head":   "HTTP/1.1 200 OK\r\nContent-Le",
		"half a body":   "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel",
		"half a chunk":  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel",
		"no chunk":      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nhello\r\n",
		"no length":     "HTTP/1.1 200 OK\r\n\r\nhello",
		"bad length":    "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello",
		"too much":      "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhello",
		"other version": "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi",
		"no status":     "HTTP/1.1 abc OK\r\nContent-Length: 2\r\n\r\nhi",
		"not kept":      "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := answering(t, text).roundTrip([]byte("GET"))
			assert.Error(t, err)
		})
	}
}

func TestARequestIsHTTP(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "GET /x HTTP/1.1\r\nHost: h:1\r\n\r\n", string(request(nil, "GET", "h:1", []byte("/x"), nil)))
	b := string(request(nil, "POST", "h:1", []byte("/x"), []byte("{}")))
	assert.True(t, strings.HasSuffix(b, "\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"), b)
}

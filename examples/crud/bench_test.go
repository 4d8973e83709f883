package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/tx"
)

// BenchmarkServe measures requests as the handler sees them, without the network: of ten, eight read one user, one lists a
// page, one creates a user. default.pgo is its profile; docs/performance-tuning.md says how to make it anew.
func BenchmarkServe(b *testing.B) {
	const users = 10_000
	cfg := testConfig(b)
	db := dbtest.OpenAt(b, cfg.database, nil, "")
	store, err := openUsers(context.Background(), db)
	require.NoError(b, err)
	_, err = tx.Write(context.Background(), db, func(w *tx.Writer) (tx.Result, error) {
		return tx.ExecEach(w, `INSERT INTO users (name, email, created_at, updated_at)
			VALUES ('User', ?, CURRENT_TIMESTAMP, CURRENT_TIMESTAMP)`, emails(users))
	})
	require.NoError(b, err)
	service := newAPI(store, db, cfg, slog.New(slog.DiscardHandler))

	request := func(method, path, body string, want int) {
		r, err := http.NewRequest(method, path, strings.NewReader(body))
		if err != nil {
			b.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		answer := httptest.NewRecorder()
		service.ServeHTTP(answer, r)
		if answer.Code != want {
			b.Fatal(method, path, answer.Code, answer.Body)
		}
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		switch i % 10 {
		case 3:
			request("GET", fmt.Sprintf("/users?limit=20&after=%d", i*31%users), "", http.StatusOK)
		case 7:
			request("POST", "/users", fmt.Sprintf(`{"name": "User", "email": "new%d@example.com"}`, i), http.StatusCreated)
		default:
			request("GET", fmt.Sprintf("/users/%d", i*31337%users+1), "", http.StatusOK)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
}

func emails(n int) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for i := range n {
			if !yield(fmt.Sprintf("user%d@example.com", i)) {
				return
			}
		}
	}
}

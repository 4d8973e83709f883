package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// readTimeout bounds the time that a client may take to send a request.
const readTimeout = 10 * time.Second

// serve answers requests on listener until ctx ends, then takes no new ones and waits for those under way.
func serve(ctx context.Context, listener net.Listener, handler http.Handler, cfg config, log *slog.Logger) error {
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       readTimeout,
		WriteTimeout:      readTimeout + cfg.requestTimeout + 5*time.Second, // counts from the header: reading and the work are in it
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	log.Info("listening", "address", listener.Addr().String(), "dir", cfg.dir)

	select {
	case err := <-served:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	log.Info("shutting down", "timeout", cfg.shutdownTimeout.String())
	// Not a child of ctx, which has ended. Requests are no children of it either: they may finish.
	grace, cancel := context.WithTimeout(context.Background(), cfg.shutdownTimeout)
	defer cancel()
	err := server.Shutdown(grace)
	if err != nil {
		// Closing the connections cancels the contexts of the requests that are left, and with them their transactions.
		err = errors.Join(fmt.Errorf("shutdown: %w", err), server.Close())
	}
	if e := <-served; !errors.Is(e, http.ErrServerClosed) {
		err = errors.Join(err, e)
	}
	return err
}

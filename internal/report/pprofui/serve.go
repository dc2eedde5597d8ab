package pprofui

import (
	"context"
	"net"
	"net/http"
	"time"
)

// Serve answers requests until the context is done.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	server := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(l) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
		return server.Close() // no request is worth waiting for
	}
}

package request

import (
	"net"
	"net/url"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestConnectionErrors: a connection that the dialer or the kernel gives up is told from one that breaks.
func TestConnectionErrors(t *testing.T) {
	call := func(op string, n syscall.Errno) error {
		return &url.Error{Op: "Get", URL: "http://x/?token=hidden", Err: &net.OpError{
			Op: op, Net: "tcp", Err: os.NewSyscallError("connect", n),
		}}
	}
	require.True(t, isDialTimeout(call("dial", syscall.ETIMEDOUT)))
	require.True(t, isDialTimeout(&net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}))
	require.False(t, isDialTimeout(call("dial", syscall.ECONNREFUSED)))
	require.False(t, isDialTimeout(call("read", syscall.ETIMEDOUT)))

	c := &Client{Options: &Options{}}
	require.EqualError(t, c.failed(t.Context(), call("dial", syscall.ECONNREFUSED)), "connection refused")
	lookup := &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "shop", Server: "127.0.0.53:53"}}
	require.EqualError(t, c.failed(t.Context(), &url.Error{Op: "Get", Err: lookup}), "looking up shop: no such host")
}

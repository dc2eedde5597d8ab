package request_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/request"
)

// post sends a body to a service with this handler.
func post(t *testing.T, o request.Options, handler http.HandlerFunc) (string, error) {
	t.Helper()
	service := httptest.NewServer(handler)
	t.Cleanup(service.Close)
	client, err := request.NewClient(&o)
	require.NoError(t, err)
	defer client.Close()
	u, err := request.ParseURL(service.URL + "/a")
	require.NoError(t, err)
	answer, err := client.Post(t.Context(), u, "application/json", []byte("body"))
	if err != nil {
		return "", err
	}
	defer answer.End()
	content, err := io.ReadAll(answer)
	return string(content), err
}

func TestPost(t *testing.T) {
	var got, kind, auth string
	o := request.Options{Header: http.Header{"Authorization": {"Bearer secret"}}}
	answer, err := post(t, o, func(w http.ResponseWriter, r *http.Request) {
		content, _ := io.ReadAll(r.Body)
		got, kind, auth = string(content), r.Header.Get("Content-Type"), r.Header.Get("Authorization")
		_, _ = io.WriteString(w, "yes")
	})
	require.NoError(t, err)
	require.Equal(t, []string{"yes", "body", "application/json", "Bearer secret"}, []string{answer, got, kind, auth})
}

// TestRedirects: a redirect that would turn a POST into a GET of a page is refused, one that keeps it is
// followed within the host.
func TestRedirects(t *testing.T) {
	for status, followed := range map[int]bool{302: false, 303: false, 307: true, 308: true} {
		answer, err := post(t, request.Options{}, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/a" {
				http.Redirect(w, r, "/b", status)
				return
			}
			content, _ := io.ReadAll(r.Body)
			_, _ = w.Write(content)
		})
		if followed {
			require.NoError(t, err)
			require.Equal(t, "body", answer)
			continue
		}
		require.ErrorContains(t, err, "the service redirects to http://127.0.0.1:")
		require.ErrorAs(t, err, new(*request.Refusal))
	}
}

// TestWhatAServiceSays: the first line of a text, or the message of a JSON object; never a secret.
func TestWhatAServiceSays(t *testing.T) {
	for _, c := range []struct {
		kind, body, want string
	}{
		{"text/plain; charset=utf-8", "too old\nand more", `400 Bad Request, "too old"`},
		{"text/plain", "too\x1b[31m \x00old", `400 Bad Request, "too[31m old"`},
		{"application/json", `{"code":"invalid_argument","message":"too old"}`, `400 Bad Request, "too old"`},
		{"application/json", `{"code":3,"message":"too old","details":[]}`, `400 Bad Request, "too old"`},
		{"application/json", `{"message":1}`, `400 Bad Request`},
		{"application/json", `{`, `400 Bad Request`},
		{"text/html", "<p>too old", `400 Bad Request`},
		{"text/plain", "the key secret-1 is wrong", `400 Bad Request`},
		{"text/plain", "the key sec\x00ret-1 is wrong", `400 Bad Request`},
		{"application/json", `{"message":"the key secret-1 is wrong"}`, `400 Bad Request`},
	} {
		o := request.Options{Header: http.Header{"Authorization": {"Bearer secret-1"}}}
		_, err := post(t, o, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", c.kind)
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, c.body)
		})
		require.EqualError(t, err, c.want, c.body)
	}
}

// TestStatus: an error tells the status, whether a second request may succeed, and when.
func TestStatus(t *testing.T) {
	for code, temporary := range map[int]bool{400: false, 403: false, 404: false, 408: true, 413: false, 429: true, 500: true, 503: true} {
		o := request.Options{NotFound: func(u *url.URL) string { return "nothing at " + u.Path }}
		_, err := post(t, o, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(code)
		})
		var status *request.Status
		require.ErrorAs(t, err, &status)
		require.Equal(t, code, status.Code)
		require.Equal(t, 7*time.Second, status.RetryAfter)
		var refused *request.Refusal
		if temporary {
			require.NotErrorAs(t, err, &refused)
			continue
		}
		require.ErrorAs(t, err, &refused)
		require.Equal(t, code == 404, refused.Missing)
		if code == 404 {
			require.EqualError(t, err, "404 Not Found: nothing at /a")
		}
	}
}

// TestRetryAfterIsBounded: a service cannot make the client wait for years, or a negative time.
func TestRetryAfterIsBounded(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"": 0, "-5": 0, "soon": 0, "99999999999999999999": 0, "9000000000": 24 * time.Hour, "3": 3 * time.Second,
	} {
		_, err := post(t, request.Options{}, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", text)
			w.WriteHeader(http.StatusTooManyRequests)
		})
		var status *request.Status
		require.ErrorAs(t, err, &status)
		require.Equal(t, want, status.RetryAfter, text)
	}
}

func TestURLs(t *testing.T) {
	for text, want := range map[string]string{
		"h:4040": "http://h:4040", "https://h/x?q=1#f": "https://h/x", "http://u:p@h/": "http://h/",
	} {
		u, err := request.ParseURL(text)
		require.NoError(t, err)
		require.Equal(t, want, request.Display(u))
	}
	for _, text := range []string{"", "http://", "http://h:x", "http://user:%zz@h"} {
		_, err := request.ParseURL(text)
		require.ErrorIs(t, err, request.ErrURL, text)
	}
	_, err := request.ParseURL("ftp://u:secret@h")
	require.EqualError(t, err, "a URL begins with ftp://: want http:// or https://")
	for _, text := range []string{"h:99999", "http://h:0", "https://u:p@h:65536/x"} {
		_, err := request.ParseURL(text)
		require.ErrorContains(t, err, "want a port from 1 to 65535", text)
	}
}

package main

import (
	"encoding/json"
	"io"
	"net/http"
	"sync"
	"time"
)

// order is what a request contains.
type order struct {
	ID    int    `json:"id"`
	Lines []line `json:"lines"`
}

type line struct {
	Article int    `json:"article"`
	Count   int    `json:"count"`
	Note    string `json:"note"`
}

func readOrder(r *http.Request) (*order, error) {
	o := new(order)
	return o, json.NewDecoder(r.Body).Decode(o)
}

// sessions leaks in a map: a session is never removed.
type sessions struct {
	mu    sync.Mutex
	quiet bool
	next  int
	open  map[int]*session
}

type session struct {
	basket  *order
	history [1024]uint64
}

func newSessions(quiet bool) *sessions {
	return &sessions{quiet: quiet, open: map[int]*session{}}
}

func (s *sessions) login(w http.ResponseWriter, r *http.Request) {
	basket, err := readOrder(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.remember(basket)
}

func (s *sessions) remember(basket *order) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[s.next] = &session{basket: basket}
	if s.quiet {
		delete(s.open, s.next-200)
	}
	s.next++
}

// audit leaks in a slice that is sliced again: the first 32 bytes of a document keep all of it.
type audit struct {
	mu     sync.Mutex
	quiet  bool
	titles [][]byte
}

func (a *audit) upload(w http.ResponseWriter, r *http.Request) {
	document, err := a.read(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	title := document[:32]
	if a.quiet {
		title = append([]byte(nil), title...)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.titles = append(a.titles, title)
}

func (a *audit) read(body io.Reader) ([]byte, error) { return io.ReadAll(body) }

// reservations leaks in a timer that nobody stops: it keeps the note for a day.
type reservations struct {
	quiet bool
}

func (v *reservations) reserve(w http.ResponseWriter, _ *http.Request) {
	stop := v.hold(8 << 10)
	if v.quiet {
		stop()
	}
	w.WriteHeader(http.StatusAccepted)
}

func (v *reservations) hold(size int) (stop func() bool) {
	note := make([]byte, size)
	return time.AfterFunc(24*time.Hour, func() { clear(note) }).Stop
}

// feed leaks a goroutine per request: it waits for a message that nobody sends.
type feed struct {
	quiet bool
}

func (f *feed) subscribe(w http.ResponseWriter, _ *http.Request) {
	messages := make(chan [32]byte, 128)
	go f.deliver(messages)
	if f.quiet {
		close(messages)
	}
	w.WriteHeader(http.StatusAccepted)
}

func (f *feed) deliver(messages chan [32]byte) {
	for m := range messages {
		_ = m
	}
}

package main

import (
	"bytes"
	"container/list"
	"fmt"
	"log"
	"net/http"
	"sync"
)

// pages is a cache that fills, and then replaces what was used least recently.
type pages struct {
	mu      sync.Mutex
	limit   int
	byID    map[int]*list.Element
	used    *list.List
	buffers sync.Pool
	full    sync.Once
}

type page struct {
	id   int
	text []byte
}

func newPages(limit int) *pages {
	return &pages{
		limit: limit, byID: map[int]*list.Element{}, used: list.New(),
		buffers: sync.Pool{New: func() any { return bytes.NewBuffer(make([]byte, 0, 64<<10)) }},
	}
}

func (p *pages) serve(w http.ResponseWriter, r *http.Request, catalogue []article) {
	o, err := readOrder(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if e := p.byID[o.ID]; e != nil {
		p.used.MoveToFront(e)
		w.Write(e.Value.(*page).text)
		return
	}
	text := p.render(o, catalogue)
	p.keep(&page{o.ID, text})
	w.Write(text)
}

// render writes the page into a buffer of the pool, and returns a copy.
func (p *pages) render(o *order, catalogue []article) []byte {
	b := p.buffers.Get().(*bytes.Buffer)
	defer p.buffers.Put(b)
	b.Reset()
	for _, l := range o.Lines {
		fmt.Fprintf(b, "<tr><td>%s<td>%d<td>%s\n", catalogue[l.Article%len(catalogue)].name, l.Count, l.Note)
	}
	return bytes.Clone(b.Bytes())
}

func (p *pages) keep(v *page) {
	p.byID[v.id] = p.used.PushFront(v)
	if p.used.Len() > p.limit {
		p.full.Do(func() { log.Print("the cache is full") })
		last := p.used.Back()
		delete(p.byID, p.used.Remove(last).(*page).id)
	}
}

type article struct {
	name string
	tags []string
}

// loadCatalogue returns what stays for the whole run, some 3 MiB.
func loadCatalogue() []article {
	catalogue := make([]article, 10000)
	for i := range catalogue {
		catalogue[i] = article{fmt.Sprintf("article %05d of the catalogue", i), make([]string, 12)}
	}
	return catalogue
}

// Command shopd is a web shop that leaks on purpose. "shopd serve ADDRESS [quiet]" serves it, and its
// profiles on /debug/pprof; "shopd load ADDRESS SECONDS" sends 200 requests a second. A quiet shop has
// the same functions and does not leak.
package main

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	_ "net/http/pprof"
	"os"
	"strconv"
	"sync"
	"time"
)

func main() {
	if len(os.Args) < 3 {
		log.Fatal("usage: shopd serve ADDRESS [quiet] | shopd load ADDRESS SECONDS")
	}
	switch os.Args[1] {
	case "serve":
		serve(os.Args[2], len(os.Args) > 3)
	case "load":
		seconds, err := strconv.Atoi(os.Args[3])
		if err != nil {
			log.Fatal(err)
		}
		load("http://"+os.Args[2], time.Duration(seconds)*time.Second)
	}
}

func serve(address string, quiet bool) {
	s := newSessions(quiet)
	a := &audit{quiet: quiet}
	r := &reservations{quiet: quiet}
	f := &feed{quiet: quiet}
	p := newPages(1500)
	catalogue := loadCatalogue()
	http.HandleFunc("POST /login", s.login)
	http.HandleFunc("POST /upload", a.upload)
	http.HandleFunc("POST /reserve", r.reserve)
	http.HandleFunc("POST /subscribe", f.subscribe)
	http.HandleFunc("POST /page", func(w http.ResponseWriter, req *http.Request) { p.serve(w, req, catalogue) })
	log.Fatal(http.ListenAndServe(address, nil))
}

// load sends the requests, in an order that a seed determines.
func load(url string, duration time.Duration) {
	kinds := []string{"page", "page", "page", "page", "login", "login", "upload", "upload", "reserve", "subscribe"}
	random := rand.New(rand.NewPCG(1, 2))
	requests := make(chan [2]string)
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			for r := range requests {
				send(url+"/"+r[0], r[1])
			}
		})
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	end := time.Now().Add(duration)
	for i := 0; time.Now().Before(end); i++ {
		<-tick.C
		requests <- [2]string{kinds[i%len(kinds)], body(random)}
	}
	close(requests)
	workers.Wait()
}

// body returns a JSON document of 3, 5, 6 or 8 KiB.
func body(random *rand.Rand) string {
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"id":%4d,"lines":[`, random.IntN(8000))
	for i := range 60 + 30*random.IntN(4) {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"article":%5d,"count":%d,"note":"%08x"}`, random.IntN(10000), random.IntN(9), random.Uint32())
	}
	b.WriteString("]}")
	return b.String()
}

func send(url, body string) {
	response, err := http.Post(url, "application/json", bytes.NewReader([]byte(body)))
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		log.Fatal(err)
	}
}

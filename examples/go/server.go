// A server that keeps a session for every request. LEAK=0 ends each session. The cache is full after two seconds.
package main

import (
	"log"
	"net/http"
	_ "net/http/pprof"
	"os"
	"time"
)

type session struct{ data []byte }

var (
	sessions []*session
	pages    [512][]byte
)

func openSession() { sessions = append(sessions, &session{make([]byte, 8<<10)}) }

func render(request int) { pages[request%len(pages)] = make([]byte, 16<<10) }

func serve(leak bool) {
	for request := 0; ; request++ {
		openSession()
		render(request)
		if !leak {
			sessions = sessions[:len(sessions)-1]
		}
		time.Sleep(2 * time.Millisecond)
	}
}

func main() {
	go serve(os.Getenv("LEAK") != "0")
	log.Fatal(http.ListenAndServe("localhost:"+os.Args[1], nil))
}

// The simulator with its benchmark, and the programs that measure heaplapse and make its fixtures. They
// are a module of their own, so that the module of heaplapse has only what it ships.
module github.com/heaplapse/heaplapse/scripts

go 1.26.8

replace github.com/heaplapse/heaplapse => ../

require (
	github.com/google/pprof v0.0.0-20260906184651-6331bc6350fe
	github.com/heaplapse/heaplapse v0.0.0-00010101000000-000000000000
	github.com/klauspost/compress v1.20.3
	github.com/stretchr/testify v1.12.1
	golang.org/x/sys v0.49.0
)

require (
	github.com/ianlancetaylor/demangle v0.0.0-20260724033716-83e58baca724 // indirect
	github.com/ulikunitz/xz v0.5.17 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
)

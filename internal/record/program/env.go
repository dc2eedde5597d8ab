package program

import "strings"

// Setenv sets a variable in a list of NAME=VALUE strings, as os.Environ returns it. It may change
// the list in place.
func Setenv(env []string, name, value string) []string {
	for i, e := range env {
		if strings.HasPrefix(e, name+"=") {
			env[i] = name + "=" + value
			return env
		}
	}
	return append(env, name+"="+value)
}

// Getenv returns the value of a variable in a list of NAME=VALUE strings, or "" if it is not set.
func Getenv(env []string, name string) string {
	for _, e := range env {
		if v, ok := strings.CutPrefix(e, name+"="); ok {
			return v
		}
	}
	return ""
}

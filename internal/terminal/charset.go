package terminal

import (
	"cmp"
	"io"
	"strings"
)

// UTF8 reports whether a writer takes UTF-8. The locale is LC_ALL, else LC_CTYPE, else LANG, whose
// values the function returns. A terminal takes UTF-8 if its locale names that. Other writers, such
// as the log of a CI job, take it unless the locale names another character set.
func UTF8(w io.Writer, getenv func(string) string) bool {
	return utf8Locale(cmp.Or(getenv("LC_ALL"), getenv("LC_CTYPE"), getenv("LANG")), Is(w))
}

// utf8Locale decides by the name of the locale, such as de_DE.UTF-8@euro.
func utf8Locale(locale string, terminal bool) bool {
	_, charset, named := strings.Cut(locale, ".")
	charset, _, _ = strings.Cut(charset, "@")
	if !named {
		return !terminal
	}
	charset = strings.ToLower(strings.ReplaceAll(charset, "-", ""))
	return charset == "utf8"
}

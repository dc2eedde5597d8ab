// Package request makes HTTP requests with errors that a user can act on: they name the options
// that help, and never contain what may be secret, such as a header, a password or a query.
package request

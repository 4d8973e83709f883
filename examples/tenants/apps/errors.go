package apps

import "errors"

var (
	// ErrName is for a name that is not allowed; see ValidName.
	ErrName = errors.New("apps: not a valid name")

	// ErrNotFound is for an app that does not exist.
	ErrNotFound = errors.New("apps: there is no such app")

	// ErrDeleting is for an app that somebody is deleting at this moment.
	ErrDeleting = errors.New("apps: the app is being deleted")

	// ErrClosed is for calls after Close.
	ErrClosed = errors.New("apps: the registry is closed")
)

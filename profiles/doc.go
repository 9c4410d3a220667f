// Package profiles says where the time of repeated calls went. It has no clock: the spans come from package songs, which records
// them, or from a file.
package profiles

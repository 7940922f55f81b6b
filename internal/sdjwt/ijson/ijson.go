// Package ijson parses I-JSON (RFC 7493) strictly, into a small tree instead of maps:
// member names keep their case and order, numbers keep their literal, and nothing is
// repaired.
//
//	v, err := ijson.Parse(text, ijson.Object)
//	exp, ok := v.Get("exp").Int(1, 253402300799)
//
// It refuses what encoding/json accepts: two members with the same name (after unescaping,
// at any depth), invalid UTF-8, a byte order mark, lone surrogate escapes, noncharacters,
// and text after the value. The package does not decode into Go structs. It does not limit
// the size of its input; callers do.
package ijson

import (
	"errors"
	"iter"
	"strconv"
)

// Errors of [Parse].
var (
	// ErrSyntax reports a text that is not one I-JSON value of the expected kind.
	ErrSyntax = errors.New("ijson: not one I-JSON value of the wanted kind")
	// ErrDuplicate reports an object with two members of the same name.
	ErrDuplicate = errors.New("ijson: two members of one name")
)

// Kind is the kind of a value.
type Kind uint8

// Kinds of values. Absent is the kind of a nil *Value. Any makes [Parse] accept any kind.
const (
	Absent Kind = iota
	Null
	Bool
	Number
	String
	Array
	Object
	Any
)

// Value is a node of the tree. A nil *Value is an absent value: all methods that read can
// be called on it, so look-ups can be chained without checks.
type Value struct {
	kind  Kind
	name  string // the member's name, if the value is in an object
	text  string // a string's unescaped text; the literal of a number, true or false
	first *Value // child
	next  *Value // sibling
}

// Kind returns the kind of the value, [Absent] for nil.
func (v *Value) Kind() Kind {
	if v == nil {
		return Absent
	}
	return v.kind
}

// Name returns the member's name, if the value is in an object.
func (v *Value) Name() string { return v.name }

// Str returns the unescaped text of a string, and false for other kinds.
func (v *Value) Str() (string, bool) {
	if v.Kind() != String {
		return "", false
	}
	return v.text, true
}

// Is reports whether v is exactly the string s.
func (v *Value) Is(s string) bool { return v.Kind() == String && v.text == s }

// True reports whether v is the value true.
func (v *Value) True() bool { return v.Kind() == Bool && v.text == "true" }

// Literal returns a number as it was written, and false for other kinds.
func (v *Value) Literal() (string, bool) {
	if v.Kind() != Number {
		return "", false
	}
	return v.text, true
}

// Int returns a number that is written as a plain integer literal (no point, no exponent),
// and false if it is not one or not in [low, high].
func (v *Value) Int(low, high int64) (int64, bool) {
	if v.Kind() != Number {
		return 0, false
	}
	n, err := strconv.ParseInt(v.text, 10, 64)
	return n, err == nil && n >= low && n <= high
}

// Get returns the member called name, or nil if there is none or v is not an object.
func (v *Value) Get(name string) *Value {
	if v.Kind() != Object {
		return nil
	}
	for c := v.first; c != nil; c = c.next {
		if c.name == name {
			return c
		}
	}
	return nil
}

// Len returns the number of members or elements.
func (v *Value) Len() int {
	n := 0
	for range v.Children() {
		n++
	}
	return n
}

// Children returns an iterator over the members of an object or the elements of an array,
// in order.
func (v *Value) Children() iter.Seq[*Value] {
	return func(yield func(*Value) bool) {
		if v == nil {
			return
		}
		for c := v.first; c != nil; c = c.next {
			if !yield(c) {
				return
			}
		}
	}
}

// Child returns the i-th member or element, or nil if there is none.
func (v *Value) Child(i int) *Value {
	for c := range v.Children() {
		if i == 0 {
			return c
		}
		i--
	}
	return nil
}

// Rewrite replaces every child of v with what keep returns for it; nil removes the child. A
// replacement gets the name of the child that it replaces.
func (v *Value) Rewrite(keep func(*Value) (*Value, error)) error {
	for link := &v.first; *link != nil; {
		old := *link
		c, err := keep(old)
		if err != nil {
			return err
		}
		if c == nil {
			*link = old.next
			continue
		}
		c.name, c.next = old.name, old.next
		*link = c
		link = &c.next
	}
	return nil
}

// Append adds c as the last member of the object v, with that name.
func (v *Value) Append(name string, c *Value) {
	link := &v.first
	for *link != nil {
		link = &(*link).next
	}
	c.name, c.next = name, nil
	*link = c
}

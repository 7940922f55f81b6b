// Package ijson reads I-JSON (RFC 7493) strictly, into a small tree instead of
// maps: member names keep their case and their order, numbers keep their
// literal, and nothing is repaired.
//
//	v, err := ijson.Parse(text, ijson.Object)
//	exp, ok := v.Get("exp").Int(1, 253402300799)
//
// What encoding/json lets pass is refused here: two members of one name (after
// unescaping, at any depth), invalid UTF-8, a byte order mark, lone surrogate
// escapes, noncharacters, text after the value. The package does not decode
// into Go structs and does not limit the size of its input: callers do.
package ijson

import (
	"errors"
	"iter"
	"strconv"
)

// Errors of [Parse].
var (
	// ErrSyntax tells that the text is not one I-JSON value of the wanted kind.
	ErrSyntax = errors.New("ijson: not one I-JSON value of the wanted kind")
	// ErrDuplicate tells that an object has two members of one name.
	ErrDuplicate = errors.New("ijson: two members of one name")
)

// Kind is the kind of a value.
type Kind uint8

// Kinds of values. Absent is the kind of a nil *Value; Any is what [Parse] takes for any kind.
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

// Value is a node of the tree. A nil *Value stands for an absent value: all
// methods that read can be called on it, so look-ups chain without checks.
type Value struct {
	kind  Kind
	name  string // of the member that the value is, in an object
	text  string // of a string: unescaped; of a number, true and false: the literal
	first *Value // child
	next  *Value // sibling
}

// Kind is the kind of the value, [Absent] for nil.
func (v *Value) Kind() Kind {
	if v == nil {
		return Absent
	}
	return v.kind
}

// Name is the member name of a value that stands in an object.
func (v *Value) Name() string { return v.name }

// Str is the unescaped text of a string, and whether v is one.
func (v *Value) Str() (string, bool) {
	if v.Kind() != String {
		return "", false
	}
	return v.text, true
}

// Is tells whether v is exactly the string s.
func (v *Value) Is(s string) bool { return v.Kind() == String && v.text == s }

// Literal is a number as it was written, and whether v is one.
func (v *Value) Literal() (string, bool) {
	if v.Kind() != Number {
		return "", false
	}
	return v.text, true
}

// Int reads a number that is written as a plain integer literal (no point, no
// exponent) and lies in [low, high].
func (v *Value) Int(low, high int64) (int64, bool) {
	if v.Kind() != Number {
		return 0, false
	}
	n, err := strconv.ParseInt(v.text, 10, 64)
	return n, err == nil && n >= low && n <= high
}

// Get is the member called name, nil where v has none or is no object.
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

// Len is the number of members or elements.
func (v *Value) Len() int {
	n := 0
	for range v.Children() {
		n++
	}
	return n
}

// Children runs over the members of an object or the elements of an array, in order.
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

// Child is the i-th member or element, nil where there is none.
func (v *Value) Child(i int) *Value {
	for c := range v.Children() {
		if i == 0 {
			return c
		}
		i--
	}
	return nil
}

// Rewrite replaces every child of v by what keep returns for it; nil removes the child.
// A returned value keeps the name of the child that it replaces.
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

// Append puts c behind the members of the object v, under name.
func (v *Value) Append(name string, c *Value) {
	link := &v.first
	for *link != nil {
		link = &(*link).next
	}
	c.name, c.next = name, nil
	*link = c
}

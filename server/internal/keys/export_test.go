package keys

// Generate makes a key.
var Generate = generate

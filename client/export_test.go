package client

// Pause is pause, for tests.
var Pause = pause

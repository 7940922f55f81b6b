-- Draws are authorized without an end, which is stored as the end of the year 9999: programs from before tabs void
-- authorizations whose end has passed.
-- +goose Up
UPDATE charges SET authorized_until_ms = 253402300799000 WHERE tab_id <> '';

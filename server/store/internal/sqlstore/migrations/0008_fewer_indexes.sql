-- A merchant's events are listed by their places, and expire by their ids, which begin
-- with their time: two indexes fewer to write for each.
-- +goose Up
DROP INDEX events_merchant;
DROP INDEX events_created;

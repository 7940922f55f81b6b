-- Lists of dashboards: a merchant's mandates, and the merchants with an e-mail address.
-- +goose Up
CREATE INDEX mandates_merchant ON mandates (merchant_id, id);
CREATE INDEX merchants_email ON merchants (lower(email)) WHERE email <> '';

-- Format 2. By key: a hash of what the value was made from, and where that is not all, ":" and a hash of the rest.
CREATE TABLE producers (
  id INTEGER PRIMARY KEY, name TEXT NOT NULL, version TEXT NOT NULL, reads TEXT NOT NULL,
  UNIQUE (name, version, reads)
);
CREATE TABLE derived (producer INTEGER NOT NULL, key TEXT NOT NULL, data BLOB NOT NULL);
CREATE UNIQUE INDEX derived_key ON derived(producer, key);

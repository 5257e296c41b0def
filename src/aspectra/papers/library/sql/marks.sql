-- Format 5. What a searcher says about papers; an empty source is the searcher's own. Checksums: format 6.
CREATE TABLE tags (
  pos INTEGER NOT NULL REFERENCES papers(pos) ON DELETE CASCADE,
  tag TEXT NOT NULL, source TEXT NOT NULL,
  checksum INTEGER AS (row_hash(pos, tag, source)) STORED,
  PRIMARY KEY (pos, tag, source)
) WITHOUT ROWID;
CREATE TABLE notes (
  id INTEGER PRIMARY KEY,
  pos INTEGER NOT NULL REFERENCES papers(pos) ON DELETE CASCADE,
  kind TEXT NOT NULL, text TEXT NOT NULL, quote TEXT NOT NULL, page TEXT NOT NULL, colour TEXT NOT NULL,
  source TEXT NOT NULL, key TEXT NOT NULL, created TEXT NOT NULL, modified TEXT NOT NULL,
  checksum INTEGER AS (row_hash(id, pos, kind, text, quote, page, colour, source, key, created, modified)) STORED
);
CREATE INDEX notes_pos ON notes(pos);
CREATE TABLE decisions (
  pos INTEGER NOT NULL REFERENCES papers(pos) ON DELETE CASCADE,
  source TEXT NOT NULL, decision TEXT NOT NULL, reason TEXT NOT NULL, at TEXT NOT NULL, under TEXT NOT NULL,
  checksum INTEGER AS (row_hash(pos, source, decision, reason, at, under)) STORED,
  PRIMARY KEY (pos, source)
) WITHOUT ROWID;
-- Fields that the searcher wrote, the file's own values of them, and the hash of the record as its file has it.
CREATE TABLE edits (
  pos INTEGER PRIMARY KEY REFERENCES papers(pos) ON DELETE CASCADE,
  given TEXT NOT NULL, file TEXT NOT NULL, file_hash TEXT NOT NULL, at TEXT NOT NULL,
  checksum INTEGER AS (row_hash(pos, given, file, file_hash, at)) STORED
);
-- The item of another program that a paper is.
CREATE TABLE external (
  system TEXT NOT NULL, library TEXT NOT NULL, key TEXT NOT NULL,
  pos INTEGER NOT NULL REFERENCES papers(pos) ON DELETE CASCADE,
  version INTEGER NOT NULL,
  checksum INTEGER AS (row_hash(system, library, key, pos, version)) STORED,
  PRIMARY KEY (system, library, key)
) WITHOUT ROWID;
CREATE INDEX external_pos ON external(pos);
-- One row a record that was read; no position: its paper was removed.
CREATE TABLE origins (
  file TEXT NOT NULL, number INTEGER NOT NULL, place TEXT NOT NULL, database TEXT NOT NULL, source TEXT NOT NULL,
  pos INTEGER REFERENCES papers(pos) ON DELETE SET NULL,
  at TEXT NOT NULL,
  checksum INTEGER AS (row_hash(file, number, place, database, source, pos, at)) STORED,
  PRIMARY KEY (file, number)
) WITHOUT ROWID;
CREATE INDEX origins_pos ON origins(pos);
-- Which records the searcher calls one work, or two; by id, so that it lasts when a file is added again.
CREATE TABLE pairs (
  one TEXT NOT NULL, other TEXT NOT NULL, same INTEGER NOT NULL, leads TEXT NOT NULL, at TEXT NOT NULL,
  checksum INTEGER AS (row_hash(one, other, same, leads, at)) STORED,
  PRIMARY KEY (one, other)
) WITHOUT ROWID;
CREATE INDEX pairs_other ON pairs(other);
CREATE TABLE saved (
  name TEXT PRIMARY KEY, query TEXT NOT NULL, at TEXT NOT NULL,
  ran TEXT NOT NULL, last_pos INTEGER NOT NULL, ids TEXT NOT NULL,
  checksum INTEGER AS (row_hash(name, query, at, ran, last_pos, ids)) STORED
) WITHOUT ROWID;
-- What can be undone: the rows as they were before, in compressed parts.
CREATE TABLE actions (
  id INTEGER PRIMARY KEY, at TEXT NOT NULL, verb TEXT NOT NULL, what TEXT NOT NULL, undone INTEGER NOT NULL,
  checksum INTEGER AS (row_hash(id, at, verb, what, undone)) STORED
);
CREATE TABLE action_parts (
  action INTEGER NOT NULL REFERENCES actions(id) ON DELETE CASCADE,
  number INTEGER NOT NULL, data BLOB NOT NULL,
  checksum INTEGER AS (row_hash(action, number, data)) STORED
);
CREATE UNIQUE INDEX action_parts_at ON action_parts(action, number);

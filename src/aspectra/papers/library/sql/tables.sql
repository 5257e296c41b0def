CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE papers (
  pos INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  content_hash TEXT NOT NULL,
  text_hash TEXT NOT NULL,
  full_hash TEXT NOT NULL,
  title TEXT NOT NULL,
  abstract TEXT NOT NULL,
  year INTEGER,
  venue TEXT NOT NULL,
  language TEXT NOT NULL,
  title_key TEXT NOT NULL,
  version_group INTEGER,
  record TEXT NOT NULL
);
CREATE INDEX papers_title ON papers(title_key);
CREATE INDEX papers_text ON papers(text_hash);
CREATE INDEX papers_full ON papers(full_hash) WHERE full_hash != '';
CREATE INDEX papers_group ON papers(version_group) WHERE version_group IS NOT NULL;
CREATE TABLE sections (
  pos INTEGER NOT NULL REFERENCES papers(pos) ON DELETE CASCADE,
  ordinal INTEGER NOT NULL,
  heading TEXT NOT NULL,
  text TEXT NOT NULL
);
CREATE UNIQUE INDEX sections_at ON sections(pos, ordinal);
CREATE TABLE identifiers (
  scheme TEXT NOT NULL, value TEXT NOT NULL,
  pos INTEGER NOT NULL REFERENCES papers(pos) ON DELETE CASCADE,
  PRIMARY KEY (scheme, value, pos)
) WITHOUT ROWID;
CREATE INDEX identifiers_pos ON identifiers(pos);
CREATE TABLE authors (
  name TEXT NOT NULL, family TEXT NOT NULL,
  pos INTEGER NOT NULL REFERENCES papers(pos) ON DELETE CASCADE,
  PRIMARY KEY (family, name, pos)
) WITHOUT ROWID;
CREATE INDEX authors_pos ON authors(pos);
CREATE TABLE citations (
  pos INTEGER NOT NULL REFERENCES papers(pos) ON DELETE CASCADE,
  ordinal INTEGER NOT NULL,
  record TEXT NOT NULL,
  target INTEGER REFERENCES papers(pos) ON DELETE SET NULL
);
CREATE UNIQUE INDEX citations_at ON citations(pos, ordinal);
CREATE INDEX citations_target ON citations(target) WHERE target IS NOT NULL;
CREATE TABLE additions (
  id INTEGER PRIMARY KEY, path TEXT NOT NULL, source TEXT NOT NULL, at TEXT NOT NULL,
  added INTEGER NOT NULL, updated INTEGER NOT NULL, unchanged INTEGER NOT NULL
);
CREATE TABLE remarks (
  addition INTEGER NOT NULL REFERENCES additions(id) ON DELETE CASCADE,
  place TEXT NOT NULL, reason TEXT NOT NULL, skipped INTEGER NOT NULL
);
CREATE TABLE migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL, at TEXT NOT NULL);

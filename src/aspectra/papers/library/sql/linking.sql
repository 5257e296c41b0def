-- Format 3. What an open citation could be linked by, and the papers whose citations are not linked yet.
CREATE TABLE citation_keys (
  key TEXT NOT NULL,
  pos INTEGER NOT NULL REFERENCES papers(pos) ON DELETE CASCADE,
  ordinal INTEGER NOT NULL,
  PRIMARY KEY (key, pos, ordinal)
) WITHOUT ROWID;
CREATE INDEX citation_keys_at ON citation_keys(pos, ordinal);
CREATE TABLE unlinked (pos INTEGER PRIMARY KEY REFERENCES papers(pos) ON DELETE CASCADE);

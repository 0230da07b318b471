-- The catalogue of what `pnyx view` shows. It holds where a row stands in its file, and what pages
-- sort, filter and count by; rows themselves are read from their files when they are shown.

CREATE TABLE given (path TEXT NOT NULL, size INTEGER NOT NULL, changed INTEGER NOT NULL);

CREATE TABLE source (
  id INTEGER PRIMARY KEY, name TEXT NOT NULL, slug TEXT NOT NULL UNIQUE, path TEXT NOT NULL,
  kind TEXT NOT NULL, task TEXT NOT NULL DEFAULT '', judge TEXT NOT NULL DEFAULT '',
  finished TEXT NOT NULL DEFAULT '', scored INTEGER NOT NULL DEFAULT 0,
  asked INTEGER NOT NULL DEFAULT 0, dollars REAL, problem TEXT NOT NULL DEFAULT '',
  about TEXT NOT NULL DEFAULT '{}'
);

CREATE TABLE file (
  id INTEGER PRIMARY KEY, source INTEGER NOT NULL REFERENCES source, path TEXT NOT NULL,
  format TEXT NOT NULL
);

-- Of runs and topics: how many reports, and of how many judgements (asked) have a value (scored).
CREATE TABLE run (
  id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, slug TEXT NOT NULL UNIQUE,
  title TEXT NOT NULL DEFAULT '', reports INTEGER NOT NULL DEFAULT 0,
  scored INTEGER NOT NULL DEFAULT 0, asked INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE topic (
  id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, slug TEXT NOT NULL UNIQUE,
  title TEXT NOT NULL DEFAULT '', request TEXT NOT NULL DEFAULT '',
  background TEXT NOT NULL DEFAULT '', reports INTEGER NOT NULL DEFAULT 0,
  scored INTEGER NOT NULL DEFAULT 0, asked INTEGER NOT NULL DEFAULT 0
);

-- What a judge said of one item. `n` counts the lines of a source from 1. `doubt` orders lists:
-- -1 for what is unscored, then the probability of the value given, then 2 where there is none.
-- `threshold` is `near` where the probability is; `label` is what people's labels say of the item;
-- `judges` is `disagree` where sources give it several values. All three may be empty.
CREATE TABLE judgement (
  id INTEGER PRIMARY KEY, source INTEGER NOT NULL, n INTEGER NOT NULL, item TEXT NOT NULL,
  task TEXT NOT NULL, dimension TEXT NOT NULL, run INTEGER, topic INTEGER, doc TEXT NOT NULL,
  perspective TEXT NOT NULL, judge TEXT NOT NULL, value TEXT, verdict TEXT NOT NULL,
  probability REAL, unscored TEXT NOT NULL, doubt REAL NOT NULL, threshold TEXT NOT NULL,
  label TEXT NOT NULL, judges TEXT NOT NULL, file INTEGER NOT NULL, place INTEGER NOT NULL,
  line INTEGER NOT NULL
);

-- Where the text is that a judgement is about, if a file of items was given, too.
CREATE TABLE item (
  name TEXT NOT NULL, file INTEGER NOT NULL, place INTEGER NOT NULL, line INTEGER NOT NULL
);

-- A report or response of a run to a topic, judged or as it was written.
CREATE TABLE report (
  id INTEGER PRIMARY KEY, source INTEGER NOT NULL, run INTEGER NOT NULL, topic INTEGER NOT NULL,
  kind TEXT NOT NULL, side TEXT NOT NULL DEFAULT '', sentences INTEGER NOT NULL,
  scored INTEGER NOT NULL DEFAULT 0, asked INTEGER NOT NULL DEFAULT 0,
  missing INTEGER NOT NULL DEFAULT 0, file INTEGER NOT NULL, place INTEGER NOT NULL,
  line INTEGER NOT NULL
);

CREATE TABLE sentence (
  report INTEGER NOT NULL, n INTEGER NOT NULL, state TEXT NOT NULL, PRIMARY KEY (report, n)
) WITHOUT ROWID;

-- A measure: of a run or (run NULL) of a judge; on a topic or (topic NULL) over all of them.
CREATE TABLE value (
  source INTEGER NOT NULL, run INTEGER, topic INTEGER, measure TEXT NOT NULL, place INTEGER NOT NULL,
  value REAL, low REAL, high REAL, scored INTEGER, asked INTEGER,
  no_interval TEXT NOT NULL DEFAULT ''
);

CREATE TABLE difference (
  source INTEGER NOT NULL, run INTEGER NOT NULL, baseline INTEGER NOT NULL, measure TEXT NOT NULL,
  difference REAL, low REAL, high REAL, p REAL, significant INTEGER
);

-- Rows of a table (`kind`) by facet and value; an empty facet counts the whole table of a source, and
-- source 0 is all of them.
CREATE TABLE facet (
  kind TEXT NOT NULL, source INTEGER NOT NULL, facet TEXT NOT NULL, value TEXT NOT NULL,
  key TEXT NOT NULL, count INTEGER NOT NULL
);

CREATE VIRTUAL TABLE words USING fts5 (text, content='', detail='none');

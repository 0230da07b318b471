-- Made when all rows are there, which is faster.
CREATE UNIQUE INDEX judgement_n ON judgement (source, n);
CREATE INDEX judgement_item ON judgement (source, item);
-- Whatever lists are narrowed by stands in one index, so that they are counted without the rows.
CREATE INDEX judgement_list
  ON judgement (doubt, source, n, verdict, task, dimension, judge, topic, run, threshold, label, judges);
CREATE INDEX judgement_source ON judgement (source, doubt, n);
CREATE INDEX judgement_topic ON judgement (topic, source, doubt, n);
CREATE INDEX judgement_run ON judgement (run, source, doubt, n);
CREATE INDEX item_name ON item (name);
CREATE INDEX report_topic ON report (topic, run, source);
CREATE INDEX report_run ON report (run, topic, source);
CREATE INDEX report_source ON report (source, run, topic);
CREATE INDEX value_board ON value (source, topic, measure, value, run);
CREATE INDEX value_run ON value (run, source, topic);
CREATE INDEX value_topic ON value (topic, source, run);
CREATE INDEX difference_source ON difference (source, run);
CREATE INDEX facet_key ON facet (kind, source, facet, count);

// SPDX-License-Identifier: MIT
// Tables have singular names and are what the writer fills; views have plural names and are for people. Ids grow, so
// inserts go to the right edge of each B-tree; the only random index is the one of action keys.
#include "storage/migrations.h"

namespace tunefarm::storage {

const char* const kSchemaV1 = R"sql(
CREATE TABLE task_kind(kind INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT;
CREATE TABLE outcome(outcome INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT;
CREATE TABLE step_end(ending INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT;

CREATE TABLE campaign(
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  state TEXT NOT NULL,
  key BLOB,
  options TEXT NOT NULL,
  created_us INTEGER NOT NULL,
  ended_us INTEGER,
  lower_bound_s REAL,
  pinned INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX campaign_open ON campaign(key) WHERE ended_us IS NULL;

CREATE TABLE config(
  id INTEGER PRIMARY KEY,
  campaign INTEGER NOT NULL REFERENCES campaign(id),
  path TEXT NOT NULL,
  toolchain TEXT NOT NULL,
  content BLOB,
  normalised BLOB
) STRICT;
CREATE INDEX config_campaign ON config(campaign);

CREATE TABLE step(
  id INTEGER PRIMARY KEY,
  campaign INTEGER NOT NULL REFERENCES campaign(id),
  config INTEGER NOT NULL REFERENCES config(id),
  unit INTEGER NOT NULL,
  target TEXT NOT NULL,
  problem TEXT NOT NULL,
  group_name TEXT NOT NULL,
  cache_key TEXT NOT NULL,
  fork_permutations INTEGER NOT NULL,
  size_entries INTEGER NOT NULL,
  state TEXT NOT NULL,
  ending INTEGER NOT NULL REFERENCES step_end(ending),
  message TEXT NOT NULL,
  document BLOB
) STRICT;
CREATE INDEX step_campaign ON step(campaign);

CREATE TABLE gate(
  waiter INTEGER NOT NULL REFERENCES step(id),
  holder INTEGER NOT NULL REFERENCES step(id),
  waiting_task INTEGER NOT NULL REFERENCES task_kind(kind),
  held_task INTEGER NOT NULL REFERENCES task_kind(kind),
  reason TEXT NOT NULL,
  PRIMARY KEY(waiter, holder, waiting_task, held_task)
) STRICT, WITHOUT ROWID;

CREATE TABLE kernel(
  step INTEGER NOT NULL REFERENCES step(id),
  kernel INTEGER NOT NULL,
  name TEXT NOT NULL,
  PRIMARY KEY(step, kernel)
) STRICT, WITHOUT ROWID;

CREATE TABLE solution(
  step INTEGER NOT NULL REFERENCES step(id),
  solution INTEGER NOT NULL,
  kernel INTEGER NOT NULL,
  name TEXT NOT NULL,
  parameters TEXT NOT NULL,
  PRIMARY KEY(step, solution)
) STRICT, WITHOUT ROWID;

CREATE TABLE problem(
  step INTEGER NOT NULL REFERENCES step(id),
  problem INTEGER NOT NULL,
  name TEXT NOT NULL,
  sizes TEXT NOT NULL,
  flop REAL NOT NULL,
  PRIMARY KEY(step, problem)
) STRICT, WITHOUT ROWID;

CREATE TABLE worker(
  id INTEGER PRIMARY KEY,
  host TEXT NOT NULL,
  boot TEXT NOT NULL,
  slots INTEGER NOT NULL,
  memory_bytes INTEGER NOT NULL,
  connected_us INTEGER NOT NULL,
  lost_us INTEGER,
  devices TEXT NOT NULL
) STRICT;

CREATE TABLE action(
  id INTEGER PRIMARY KEY,
  key BLOB NOT NULL UNIQUE,
  kind INTEGER NOT NULL REFERENCES task_kind(kind),
  toolchain TEXT NOT NULL,
  target TEXT NOT NULL,
  fingerprint BLOB,
  description TEXT NOT NULL,
  finished INTEGER NOT NULL,
  outcome INTEGER REFERENCES outcome(outcome),
  cacheable INTEGER NOT NULL,
  message TEXT NOT NULL,
  result TEXT NOT NULL
) STRICT;
CREATE INDEX action_kind ON action(kind);

CREATE TABLE action_output(
  action INTEGER NOT NULL REFERENCES action(id),
  name TEXT NOT NULL,
  digest BLOB NOT NULL,
  size INTEGER NOT NULL,
  PRIMARY KEY(action, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE attempt(
  action INTEGER NOT NULL REFERENCES action(id),
  attempt INTEGER NOT NULL,
  worker INTEGER REFERENCES worker(id),
  queued_us INTEGER NOT NULL,
  started_us INTEGER,
  ended_us INTEGER,
  outcome INTEGER REFERENCES outcome(outcome),
  cpu_us INTEGER NOT NULL,
  peak_memory_bytes INTEGER NOT NULL,
  phases TEXT NOT NULL,
  message TEXT NOT NULL,
  PRIMARY KEY(action, attempt)
) STRICT, WITHOUT ROWID;

CREATE TABLE attempt_log(
  action INTEGER NOT NULL REFERENCES action(id),
  attempt INTEGER NOT NULL,
  log TEXT NOT NULL,
  PRIMARY KEY(action, attempt)
) STRICT;

CREATE TABLE task(
  id INTEGER PRIMARY KEY,
  step INTEGER REFERENCES step(id),
  campaign INTEGER NOT NULL REFERENCES campaign(id),
  kind INTEGER NOT NULL REFERENCES task_kind(kind),
  item INTEGER NOT NULL,
  round INTEGER NOT NULL,
  action INTEGER REFERENCES action(id),
  state TEXT NOT NULL,
  cached INTEGER NOT NULL
) STRICT;
CREATE INDEX task_campaign ON task(campaign);
CREATE INDEX task_step ON task(step, kind, item) WHERE step IS NOT NULL;
CREATE INDEX task_action ON task(action) WHERE action IS NOT NULL;

CREATE TABLE account(
  worker INTEGER PRIMARY KEY REFERENCES worker(id),
  slots INTEGER NOT NULL,
  wall_us INTEGER NOT NULL
) STRICT;

CREATE TABLE account_part(
  worker INTEGER NOT NULL REFERENCES account(worker),
  part TEXT NOT NULL CHECK(part IN ('busy', 'idle')),
  name TEXT NOT NULL,
  us INTEGER NOT NULL,
  PRIMARY KEY(worker, part, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE measurement(
  step INTEGER NOT NULL REFERENCES step(id),
  problem INTEGER NOT NULL,
  solution INTEGER NOT NULL,
  device TEXT NOT NULL,
  validation TEXT NOT NULL,
  status TEXT NOT NULL,
  simulated INTEGER NOT NULL,
  message TEXT NOT NULL,
  PRIMARY KEY(step, problem, solution)
) STRICT, WITHOUT ROWID;

CREATE TABLE sample(
  step INTEGER NOT NULL REFERENCES step(id),
  problem INTEGER NOT NULL,
  solution INTEGER NOT NULL,
  sample INTEGER NOT NULL,
  block INTEGER NOT NULL,
  us REAL NOT NULL,
  launches INTEGER NOT NULL,
  PRIMARY KEY(step, problem, solution, sample)
) STRICT, WITHOUT ROWID;

CREATE TABLE conclusion(
  step INTEGER NOT NULL REFERENCES step(id),
  problem INTEGER NOT NULL,
  solution INTEGER NOT NULL,
  samples INTEGER NOT NULL,
  median_us REAL,
  ci_low_us REAL,
  ci_high_us REAL,
  gflops REAL,
  winner TEXT,
  PRIMARY KEY(step, problem, solution)
) STRICT, WITHOUT ROWID;

CREATE TABLE step_file(
  step INTEGER NOT NULL REFERENCES step(id),
  name TEXT NOT NULL,
  digest BLOB NOT NULL,
  size INTEGER NOT NULL,
  PRIMARY KEY(step, name)
) STRICT, WITHOUT ROWID;

CREATE VIEW campaigns AS
SELECT c.id, c.name, c.state,
       strftime('%Y-%m-%dT%H:%M:%fZ', c.created_us / 1e6, 'unixepoch') AS created,
       strftime('%Y-%m-%dT%H:%M:%fZ', c.ended_us / 1e6, 'unixepoch') AS ended,
       (c.ended_us - c.created_us) / 1e6 AS elapsed_s,
       c.lower_bound_s, c.pinned, lower(hex(c.key)) AS key, c.options
FROM campaign c;

CREATE VIEW steps AS
SELECT s.id, s.campaign, c.name AS campaign_name, f.path AS config, s.unit AS step, s.target, s.problem, s.group_name,
       s.cache_key, s.fork_permutations, s.size_entries, s.state, e.name AS ending, s.message,
       lower(hex(s.document)) AS document
FROM step s
JOIN campaign c ON c.id = s.campaign
JOIN config f ON f.id = s.config
JOIN step_end e ON e.ending = s.ending;

CREATE VIEW gates AS
SELECT g.waiter, wk.name AS waiting_task, g.holder, hk.name AS held_task, g.reason
FROM gate g
JOIN task_kind wk ON wk.kind = g.waiting_task
JOIN task_kind hk ON hk.kind = g.held_task;

CREATE VIEW tasks AS
SELECT t.id, t.campaign, t.step AS step_id, k.name AS kind, t.item, t.round, t.state, t.cached, t.action,
       lower(hex(a.key)) AS action_key, a.description
FROM task t
JOIN task_kind k ON k.kind = t.kind
LEFT JOIN action a ON a.id = t.action;

CREATE VIEW actions AS
SELECT a.id, lower(hex(a.key)) AS key, k.name AS kind, a.toolchain, a.target,
       lower(hex(a.fingerprint)) AS fingerprint, a.description, a.finished, o.name AS outcome, a.cacheable, a.message,
       a.result
FROM action a
JOIN task_kind k ON k.kind = a.kind
LEFT JOIN outcome o ON o.outcome = a.outcome;

CREATE VIEW artifacts AS
SELECT o.action, a.description, o.name, lower(hex(o.digest)) AS digest, o.size
FROM action_output o
JOIN action a ON a.id = o.action;

CREATE VIEW attempts AS
SELECT t.action, t.attempt, k.name AS kind, a.toolchain, a.target, a.description, w.host,
       strftime('%Y-%m-%dT%H:%M:%fZ', t.queued_us / 1e6, 'unixepoch') AS queued,
       strftime('%Y-%m-%dT%H:%M:%fZ', t.started_us / 1e6, 'unixepoch') AS started,
       strftime('%Y-%m-%dT%H:%M:%fZ', t.ended_us / 1e6, 'unixepoch') AS ended,
       t.started_us - t.queued_us AS waited_us, t.ended_us - t.started_us AS duration_us, t.cpu_us,
       t.peak_memory_bytes, o.name AS outcome, t.phases, t.message
FROM attempt t
JOIN action a ON a.id = t.action
JOIN task_kind k ON k.kind = a.kind
LEFT JOIN worker w ON w.id = t.worker
LEFT JOIN outcome o ON o.outcome = t.outcome;

CREATE VIEW kernel_builds AS
SELECT q.campaign, q.step AS step_id, s.target, n.name AS kernel, q.cached, w.host, t.attempt,
       t.ended_us - t.started_us AS duration_us, t.cpu_us, t.peak_memory_bytes, o.name AS outcome, t.phases,
       lower(hex(a.key)) AS action_key
FROM task q
JOIN step s ON s.id = q.step
JOIN action a ON a.id = q.action
JOIN attempt t ON t.action = a.id
LEFT JOIN kernel n ON n.step = q.step AND n.kernel = q.item
LEFT JOIN worker w ON w.id = t.worker
LEFT JOIN outcome o ON o.outcome = t.outcome
WHERE q.kind = 3;

CREATE VIEW results AS
SELECT s.campaign, c.name AS campaign_name, f.path AS config, s.config AS config_id, s.id AS step_id, s.unit AS step,
       s.group_name, s.target, m.problem AS problem_index, p.name AS problem, k.name AS kernel,
       m.solution AS solution_index, v.name AS solution, nullif(m.device, '') AS device,
       nullif(m.validation, '') AS validation,
       coalesce(r.samples, (SELECT count(*) FROM sample x
                            WHERE x.step = m.step AND x.problem = m.problem AND x.solution = m.solution)) AS samples,
       r.median_us, r.ci_low_us, r.ci_high_us, r.gflops, m.status, r.winner, m.simulated
FROM step s
JOIN measurement m ON m.step = s.id
JOIN campaign c ON c.id = s.campaign
JOIN config f ON f.id = s.config
LEFT JOIN solution v ON v.step = m.step AND v.solution = m.solution
LEFT JOIN kernel k ON k.step = m.step AND k.kernel = v.kernel
LEFT JOIN problem p ON p.step = m.step AND p.problem = m.problem
LEFT JOIN conclusion r ON r.step = m.step AND r.problem = m.problem AND r.solution = m.solution
UNION ALL
SELECT s.campaign, c.name, f.path, s.config, s.id, s.unit,
       s.group_name, s.target, NULL, NULL, k.name,
       v.solution, v.name, NULL,
       NULL,
       0,
       NULL, NULL, NULL, NULL,
       CASE WHEN EXISTS(SELECT 1 FROM task b WHERE b.step = v.step AND b.kind = 3 AND b.item = v.kernel
                        AND b.state = 'failed') THEN 'failed' ELSE 'built' END,
       NULL, 0
FROM step s
JOIN solution v ON v.step = s.id
JOIN campaign c ON c.id = s.campaign
JOIN config f ON f.id = s.config
LEFT JOIN kernel k ON k.step = v.step AND k.kernel = v.kernel
WHERE s.ending = 3;

CREATE VIEW winners AS
SELECT campaign, campaign_name, config, step_id, step, group_name, target, problem, kernel, solution, device, samples,
       median_us, ci_low_us, ci_high_us, gflops, winner, simulated
FROM results WHERE winner IS NOT NULL;

CREATE VIEW slot_time AS
SELECT a.worker, w.host, a.slots, p.part, p.name, p.us / 1e6 AS seconds,
       100.0 * p.us / nullif(a.slots * a.wall_us, 0) AS percent
FROM account a
JOIN account_part p ON p.worker = a.worker
LEFT JOIN worker w ON w.id = a.worker;
)sql";

}  // namespace tunefarm::storage

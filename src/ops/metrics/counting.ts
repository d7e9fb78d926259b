/** What is counted and timed as it happens: deliveries, commits, applied changes, reads, repairs, runs. */
import { Counter, Histogram, type Registry } from 'prom-client';
import { DRIFT_CAUSES } from '../../core/causes.ts';
import { REMOVABLES } from '../../core/apply/fact.ts';
import { CHANGE_BRANCHES } from '../../core/merge/change-outcome.ts';
import { LEVEL_BRANCHES } from '../../core/merge/merge-read.ts';
import { REASONS, type Reason } from '../../core/reasons.ts';
import { RUN_KINDS, RUN_STATES } from '../../core/runs.ts';
import type { ServiceErrorKind } from '../../store-api/transport/errors.ts';
import { counters, histograms, valuesOf } from './children.ts';

const ANSWERS = ['204', '400', '401', '404', '413', '503'] as const;
export type RejectedStatus = 400 | 401 | 404 | 413 | 503;

/** As the public listener names them (src/intake/app.ts). */
const REJECTION_REASONS = [
  'missing_signature',
  'malformed_signature',
  'wrong_signature',
  'too_large',
  'not_stored',
  'no_room',
  'wrong_address',
  'wrong_protocol',
] as const;
export type RejectionReason = (typeof REJECTION_REASONS)[number];

/** Why a repair was needed; an open gap is a reason too. */
const REPAIR_REASONS = ['gap', ...(Object.keys(REASONS) as Reason[])] as const;

/** How a request to the store ended: with data, or with a kind of error. */
export type ReadOutcome = 'found' | 'not_found' | ServiceErrorKind;

const OUTCOMES = valuesOf<ReadOutcome>({
  found: true,
  not_found: true,
  rejected: true,
  unavailable: true,
  rate_limited: true,
  unauthorized: true,
  credentials: true,
  contract: true,
  aborted: true,
});

const ANSWER_SECONDS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.8, 1, 2.5];
const COMMIT_SECONDS = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 5];
const COMMIT_INPUTS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];
const LAG_SECONDS = [0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 300, 900, 3_600];
const REPAIR_SECONDS = [1, 2, 3, 5, 10, 20, 30, 60, 120, 300, 900, 3_600];

export type Counting = ReturnType<typeof createCounting>;

export function createCounting(registry: Registry) {
  const registers = [registry];
  const count = <K extends string>(name: string, label: string, values: readonly K[], help: string) =>
    counters(new Counter({ name, help, labelNames: [label], registers }), values);
  const countAll = (name: string, help: string): Counter => new Counter({ name, help, registers });
  const measure = (name: string, buckets: number[], help: string): Histogram =>
    new Histogram({ name, help, buckets, registers });
  const runs = new Counter({
    name: 'stock_mirror_runs_total',
    help: 'Ended runs, by kind and result.',
    labelNames: ['kind', 'result'],
    registers,
  });
  for (const kind of RUN_KINDS) {
    for (const result of RUN_STATES.filter((state) => state !== 'running')) runs.labels(kind, result).inc(0);
  }
  return {
    deliveries: count(
      'stock_mirror_deliveries_total',
      'answer',
      ANSWERS,
      'Webhook requests, by response status.',
    ),
    rejected: count(
      'stock_mirror_rejected_total',
      'reason',
      REJECTION_REASONS,
      'Refused webhook requests, by reason.',
    ),
    answerSeconds: measure(
      'stock_mirror_webhook_answer_seconds',
      ANSWER_SECONDS,
      'Time from an authentic delivery to its answer, 204 or 503.',
    ),
    lagSeconds: measure(
      'stock_mirror_delivery_lag_seconds',
      LAG_SECONDS,
      'Time from update_time to arrival, for a sample of the changes; it compares the clocks of two machines.',
    ),
    commitInputs: measure(
      'stock_mirror_commit_inputs',
      COMMIT_INPUTS,
      'Deliveries, reads and commands per transaction.',
    ),
    commitSeconds: measure(
      'stock_mirror_commit_seconds',
      COMMIT_SECONDS,
      'Duration of a transaction, fsync included.',
    ),
    commits: count(
      'stock_mirror_commits_total',
      'result',
      ['done', 'failed'],
      'Database transactions, by result.',
    ),
    changes: count(
      'stock_mirror_changes_total',
      'branch',
      CHANGE_BRANCHES,
      'Changes from webhooks, by the merge rule that applied.',
    ),
    levels: count(
      'stock_mirror_levels_total',
      'branch',
      LEVEL_BRANCHES,
      'Stock levels from reads, by the merge rule that applied.',
    ),
    gaps: count(
      'stock_mirror_gaps_total',
      'event',
      ['opened', 'closed', 'proved'],
      'Gaps in the chain of old and new quantities: opened, closed by a late delivery, or proven to be a lost delivery.',
    ),
    drift: count(
      'stock_mirror_drift_total',
      'cause',
      DRIFT_CAUSES,
      'Differences from the store that reads found and corrected, by probable cause.',
    ),
    repairSeconds: histograms(
      new Histogram({
        name: 'stock_mirror_repair_seconds',
        help: 'Time from a re-read request or gap to the read that settled it.',
        buckets: REPAIR_SECONDS,
        labelNames: ['reason'],
        registers,
      }),
      REPAIR_REASONS,
    ),
    deadLetters: countAll(
      'stock_mirror_dead_letters_total',
      'Dead letters: authentic deliveries or items that were not understood.',
    ),
    removed: count(
      'stock_mirror_removed_total',
      'what',
      REMOVABLES,
      'Products, variants and stock levels removed because the store no longer has them.',
    ),
    reads: count(
      'stock_mirror_reads_total',
      'outcome',
      OUTCOMES,
      'Reads of a product, by result; failed ones are retried.',
    ),
    pages: count(
      'stock_mirror_list_pages_total',
      'outcome',
      OUTCOMES,
      'Pages of the catalogue list read, by result.',
    ),
    requests: countAll(
      'stock_mirror_service_requests_total',
      'Requests sent to the store, token requests included.',
    ),
    tokens: countAll('stock_mirror_token_requests_total', 'Token requests sent to the store.'),
    pauses: countAll('stock_mirror_pauses_total', 'Answers 429 from the store, which ask for a pause.'),
    retries: countAll(
      'stock_mirror_retries_total',
      'Failed reads of products and pages that will be retried.',
    ),
    runs,
  };
}

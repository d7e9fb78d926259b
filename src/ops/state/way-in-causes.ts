/** What the store's answers have shown about the way in, and what was refused (docs/architecture.md#the-way-in). */
import type { StateFacts } from '../../mirror/queries/state-facts.ts';
import { isHint, type RefusalCount, type RefusalReason } from '../../inbox/report.ts';
import { counted } from '../../platform/amounts.ts';
import { causeOf, type Cause } from './causes.ts';

/** How long a refused request is shown. */
const SHOWN_MS = 15 * 60_000;

const NOTHING_ARRIVED =
  'Nothing reached the receiver: check the webhook URL and the switch of the event in the store’s app settings, then DNS, certificate and proxy. `stock-mirror send --url …` sends a test along the same path.';

const CORRECTIONS: Readonly<Partial<Record<RefusalReason, string>>> = {
  wrong_signature:
    'Set SERVICE_WEBHOOK_SECRET to the webhook secret in the store’s app settings, and restart the receiver. If it is the same, let the proxy pass the body unchanged.',
  missing_signature: 'Let the proxy pass the header X-Service-Signature.',
  malformed_signature: 'Let the proxy pass the header X-Service-Signature unchanged.',
  too_large: 'Find out what sends bodies over 1 MB: the store’s webhooks have a few kB.',
  wrong_address:
    'Correct the webhook URL in the store’s app settings, or the path that the proxy forwards: POST /webhooks.',
  wrong_protocol: 'Let the proxy speak plain HTTP/1.1 to the receiver, without TLS and the PROXY protocol.',
  malformed_request: 'Let the proxy send well-formed HTTP/1.1 with at most 32 kB of headers.',
  cut_off: 'Read the proxy’s log: it must pass whole requests within 10 s.',
  no_room: 'Limit connections and requests of each client at the proxy, or raise the open-file limit.',
};

const WORDS: Readonly<Partial<Record<RefusalReason, string>>> = {
  wrong_signature: 'with a wrong signature',
  missing_signature: 'without X-Service-Signature',
  malformed_signature: 'with a malformed X-Service-Signature',
  too_large: 'over 1 MB',
  wrong_address: 'to another address',
  wrong_protocol: 'in another protocol',
  malformed_request: 'not understood as HTTP/1.1',
  cut_off: 'cut off',
  no_room: 'without room for them',
};

interface WayInFacts {
  /** null: this host only receives, or the mirror's file cannot be read. */
  readonly file: Pick<StateFacts, 'wayIn' | 'wayInSinceMs' | 'lastWebhookAtMs' | 'untold'> | null;
  readonly refused: readonly RefusalCount[];
  readonly nowMs: number;
}

export function* wayInCauses({ file, refused, nowMs }: WayInFacts): Generator<Cause> {
  const hints = refused.filter(({ reason }) => isHint(reason));
  if (file?.wayIn === 'unproven') yield causeOf('unproven', file.wayInSinceMs || null);
  if (file?.wayIn === 'missing') {
    const since = hints.filter(({ lastAtMs }) => lastAtMs > (file.lastWebhookAtMs ?? 0));
    yield causeOf('webhooks_missing', file.wayInSinceMs, {
      change: untoldWords(file.untold),
      refused: since.length === 0 ? '' : `, while the receiver refused ${refusedWords(since)}`,
      correct: correctionOf(since) ?? NOTHING_ARRIVED,
    });
  }
  const latest = hints.filter(({ lastAtMs }) => nowMs - lastAtMs < SHOWN_MS);
  const correct = correctionOf(latest);
  if (correct !== null && file?.wayIn !== 'missing') {
    // A process that reads nothing does not know.
    const found = file === null ? { found: '' } : {};
    yield causeOf('requests_refused', null, { requests: refusedWords(latest), correct, ...found });
  }
}

function untoldWords(untold: StateFacts['untold']): string {
  if (untold === null) return 'a quantity differs';
  const { variantId, warehouseId, oldQty, newQty } = untold;
  const where = warehouseId === null ? '' : ` in warehouse ${warehouseId}`;
  return `variant ${variantId}${where} went from ${oldQty} to ${newQty}`;
}

/** Of the reason with the latest request. */
function correctionOf(refused: readonly RefusalCount[]): string | null {
  const latest = refused.toSorted((a, b) => b.lastAtMs - a.lastAtMs)[0];
  return latest === undefined ? null : (CORRECTIONS[latest.reason] ?? null);
}

function refusedWords(refused: readonly RefusalCount[]): string {
  return refused
    .map(({ reason, count, seen }) => {
      const last = seen === null ? '' : ` (the last one: ${seen})`;
      return `${counted(count, 'request')} ${WORDS[reason] ?? reason}${last}`;
    })
    .join(', ');
}

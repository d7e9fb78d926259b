/** Requests and replays as `/sandbox/calls`, `/sandbox/replay` and the page show them: without the caller's secrets. */
import type { Call, Cut } from '../shared/calls.ts';
import { shownHeader, shownText } from '../shared/confidential.ts';
import type { Replay } from '../network/replays.ts';

/**
 * What the caller sent. The answers are the sandbox's own, and need no care.
 *
 * @param isOwn whether a value is a secret or token that this sandbox made up.
 */
export function shownRequest(call: Call, isOwn: (value: string) => boolean) {
  const text = (cut: Cut): Cut => ({ ...cut, text: shownText(cut.text, isOwn) });
  return {
    target: shownText(call.target, isOwn),
    headers: call.headers.map(([name, value]) => [name, shownHeader(name, value, isOwn)] as const),
    body: text(call.body),
  };
}

export function showCall(call: Call, isOwn: (value: string) => boolean) {
  const { target, headers, body } = shownRequest(call, isOwn);
  const { answer, trouble } = call;
  return {
    id: call.id,
    at: call.atMs,
    method: call.method,
    target,
    headers: Object.fromEntries(headers),
    body: body.text,
    status: answer?.status ?? null,
    answer: answer?.text.text ?? null,
    ms: call.ms,
    wrong: trouble?.words ?? null,
    fault: trouble?.isFault ?? false,
  };
}

export function showReplay({ atMs, url, transmission, ms }: Replay) {
  const { outcome } = transmission;
  return {
    at: atMs,
    url,
    outcome,
    status: outcome === 'answered' ? transmission.status : null,
    problem: outcome === 'failed' ? (transmission.problem ?? null) : null,
    ms,
  };
}

/** `GET /metrics` of a living mirror, as Prometheus reads it. */
import { expect, test } from 'vitest';
import { signBody } from '../../../src/store-api/signature.ts';
import { send } from '../../intake/intake.ts';
import { seriesOf, valueOf } from '../../ops/metrics/exposition.ts';
import { delivery, item } from '../../mirror/mirror-file.ts';
import { eventually, plainVariants, startBoth, untilEqual, untilLogged, untilPastReads } from '../harness.ts';

const TOKEN = '0123456789abcdef-long';

test('webhooks, a loss and its repair, forgeries: all of it is in the next scrape', async (t) => {
  const { sandbox, mirror } = await startBoth(t, { products: 12 }, { OPS_TOKEN: TOKEN });
  const headers = { authorization: `Bearer ${TOKEN}` };
  const answer = () => fetch(`${mirror.opsUrl}/metrics`, { headers });
  const scrape = async () => (await answer()).text();
  const untilShown = (series: string, isIt: (value: number) => boolean) =>
    eventually(async () => isIt(valueOf(await scrape(), series) ?? Number.NaN), { what: series });

  const refused = await fetch(`${mirror.opsUrl}/metrics`);
  expect(refused.status).toBe(401);
  const { headers: answered } = await answer();
  expect(answered.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  expect(answered.get('cache-control')).toBe('no-store');

  await untilPastReads(mirror, sandbox);
  const [first, second] = plainVariants(sandbox, 2);
  sandbox.network.loseNext(1);
  sandbox.operations.add({ ...first, by: 5 });
  sandbox.operations.add({ ...first, by: -1 });
  sandbox.operations.add({ ...second, by: 2 });
  await untilEqual(mirror, sandbox);
  const port = Number(new URL(mirror.webhookUrl).port);
  const forged = delivery('forged', item());
  for (let n = 0; n < 10; n += 1) {
    const signature = { 'x-service-signature': signBody('whsec_other', forged) };
    expect(
      (await send(port, { method: 'POST', path: '/webhooks', headers: signature, pieces: [forged] })).status,
    ).toBe(401);
  }

  await untilShown('stock_mirror_alarm{kind="bad_signatures"}', (value) => value === 1);
  // Asked of the database every 10 s.
  await untilShown('stock_mirror_changes_total{branch="4c gap"}', (value) => value === 1);
  await untilShown('stock_mirror_state{state="live"}', (value) => value === 1);
  await untilShown('stock_mirror_runs_total{kind="initial",result="done"}', (value) => value === 1);
  const text = await scrape();
  for (const [series, expected] of [
    ['stock_mirror_deliveries_total{answer="204"}', 2],
    ['stock_mirror_deliveries_total{answer="401"}', 10],
    ['stock_mirror_rejected_total{reason="wrong_signature"}', 10],
    ['stock_mirror_webhook_answer_seconds_count', 2],
    ['stock_mirror_gaps_total{event="opened"}', 1],
    ['stock_mirror_gaps_total{event="proved"}', 1],
    ['stock_mirror_repair_seconds_count{reason="gap"}', 1],
    ['stock_mirror_runs_total{kind="initial",result="done"}', 1],
    ['stock_mirror_products', 12],
    ['stock_mirror_alarm{kind="silence"}', 0],
    ['stock_mirror_token_requests_total', 1],
  ] as const) {
    expect(valueOf(text, series), series).toBe(expected);
  }
  expect(valueOf(text, 'stock_mirror_delivery_lag_seconds_count')).toBeGreaterThan(0);
  expect(valueOf(text, 'stock_mirror_commits_total{result="failed"}')).toBe(0);
  expect([...seriesOf(text)]).toEqual(
    expect.arrayContaining(['process_cpu_seconds_total', 'nodejs_gc_duration_seconds_sum']),
  );
  // No label tells one product, variant or request from another: the series stay few.
  expect(text.split('\n').filter((line) => line !== '' && !line.startsWith('#')).length).toBeLessThan(600);

  const status = await mirror.get('/api/status', headers);
  expect(status.body['alarms']).toEqual([
    {
      kind: 'bad_signatures',
      since: expect.any(Number) as number,
      message: expect.stringMatching(/^10 webhooks .*SERVICE_WEBHOOK_SECRET_PREVIOUS/) as string,
    },
  ]);
  await untilLogged(mirror, (line) => line['alarm'] === 'bad_signatures', 'the alarm');

  await t.annotate(`${Buffer.byteLength(text)} bytes a scrape`);
});

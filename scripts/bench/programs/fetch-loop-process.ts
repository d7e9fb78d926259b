/** What reading is measured against: requests in a loop, bodies taken as text, nothing parsed or kept. */
import { Agent, request } from 'undici';
import { present } from '../../../test/shared/present.ts';
import type { Loop, Looped } from '../fetch-loop.ts';

interface Page {
  readonly products: readonly { readonly id: string }[];
  readonly has_more: boolean;
}

const PAGE = 100;
let known: { readonly agent: Agent; readonly token: string; readonly bodies: readonly string[] } | null =
  null;

process.on('message', (loop: Loop) => {
  void run(loop).then(
    (looped) => process.send?.(looped),
    (error: unknown) => process.send?.({ error: String(error) } satisfies Looped),
  );
});

async function run({ service, concurrency }: Loop): Promise<Looped> {
  known ??= await prepare(service, concurrency);
  const { agent, token, bodies } = known;
  const url = `${service.baseUrl}/v1/product/detail`;
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` };
  let next = 0;
  const one = async (): Promise<void> => {
    while (next < bodies.length) {
      const body = present(bodies[next++]);
      const answer = await request(url, { method: 'POST', dispatcher: agent, headers, body });
      await answer.body.text();
      if (answer.statusCode !== 200) throw new Error(`answered ${answer.statusCode}`);
    }
  };
  const startedMs = performance.now();
  await Promise.all(Array.from({ length: concurrency }, one));
  return { tookMs: performance.now() - startedMs, products: bodies.length };
}

async function prepare(service: Loop['service'], concurrency: number): Promise<NonNullable<typeof known>> {
  const agent = new Agent({ connections: concurrency, pipelining: 1 });
  const granted = await request(`${service.baseUrl}/oauth/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: service.clientId,
      client_secret: service.clientSecret,
    }).toString(),
  });
  const { access_token: token } = (await granted.body.json()) as { access_token: string };
  const bodies: string[] = [];
  for (let offset = 0; ; offset += PAGE) {
    const answer = await request(`${service.baseUrl}/v1/product/list`, {
      method: 'POST',
      dispatcher: agent,
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: JSON.stringify({ limit: PAGE, offset, sort_by: 'id', sort_order: 'asc' }),
    });
    const page = (await answer.body.json()) as Page;
    for (const { id } of page.products) bodies.push(JSON.stringify({ product_id: id }));
    if (!page.has_more) return { agent, token, bodies };
  }
}

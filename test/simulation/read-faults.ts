/** Makes the store's answers to reads late, wrong or missing. */
import type { Answer } from '../../src/sandbox/network/reads.ts';
import type { SimulatedService } from '../../src/sandbox/sandbox.ts';
import type { DetailFault, ReadFault } from './plan.ts';
import type { VirtualTime } from './virtual-time.ts';

interface ReadFaultStage {
  readonly service: SimulatedService;
  readonly time: VirtualTime;
  readonly random: () => number;
  readonly readLatencyMs: number;
  /** Faults under way that an answer passes through. */
  readonly mistakes: Map<ReadFault, Mistake>;
}

/** @param probability 0 ends it. */
export function setReadFault(
  { service, time, random, readLatencyMs, mistakes }: ReadFaultStage,
  fault: ReadFault,
  probability: number,
): void {
  const { reads } = service;
  switch (fault) {
    case 'stale':
      reads.stale = { probability, ageMs: [300, 1_000, 1_900][Math.floor(random() * 3)] ?? 1_900 };
      return;
    case 'slow':
      reads.slow = { probability, ms: 4_000 };
      reads.latencyMs = { min: 0, max: readLatencyMs + (probability > 0.5 ? 2_500 : 0) };
      return;
    case 'server_error':
      reads.fail = { ...reads.fail, serverError: probability };
      return;
    case 'rate_limited':
      reads.fail = { ...reads.fail, slowDown: probability, retryAfterS: 2 };
      return;
    case 'unauthorized':
      reads.fail = { ...reads.fail, invalidToken: probability };
      return;
    case 'reset':
      reads.fail = { ...reads.fail, reset: probability };
      return;
    case 'torn':
    case 'refused':
    case 'all_not_found':
    case 'empty_list':
    case 'nonsense':
    case 'no_warehouses':
    case 'first_variant':
    case 'listed_twice':
    case 'hidden_warehouse':
      if (probability === 0) mistakes.delete(fault);
      else {
        mistakes.set(fault, async (endpoint, respond) => {
          if (random() >= probability) return undefined;
          if (fault === 'torn') return torn(respond, () => time.sleep(700));
          return mistaken(fault, endpoint, respond);
        });
      }
      reads.intercept =
        mistakes.size === 0
          ? null
          : async (endpoint, _, respond) => {
              for (const mistake of mistakes.values()) {
                const answer = await mistake(endpoint, respond);
                if (answer !== undefined) return answer;
              }
              return undefined;
            };
  }
}

export type Mistake = (endpoint: string, respond: () => Answer) => Promise<Answer | undefined>;

/** A torn read: some warehouses from its beginning, others from its end. */
async function torn(respond: () => Answer, wait: () => Promise<void>): Promise<Answer> {
  const early = respond();
  await wait();
  const late = respond();
  const variants = variantsOf(late);
  const before = new Map(variantsOf(early)?.map((variant) => [variant['product_variant_id'], variant]));
  if (variants === null || before.size === 0) return late;
  const mixed = variants.map((variant, i) =>
    i % 2 === 0 ? (before.get(variant['product_variant_id']) ?? variant) : variant,
  );
  return { ...late, body: withVariants(late.body, mixed) };
}

type Json = Record<string, unknown>;

function productOf(body: Readonly<Json>): Json | null {
  const product = body['product'];
  return typeof product === 'object' && product !== null ? (product as Json) : null;
}

function variantsOf(answer: Answer): Json[] | null {
  const variants = productOf(answer.body)?.['variants'];
  return Array.isArray(variants) ? (variants as Json[]) : null;
}

function withVariants(body: Readonly<Json>, variants: readonly Json[]): Json {
  return { ...body, product: { ...productOf(body), variants } };
}

function mistaken(
  fault: 'refused' | 'all_not_found' | 'empty_list' | 'nonsense' | DetailFault,
  endpoint: string,
  respond: () => Answer,
): Answer | undefined {
  const isDetail = endpoint.endsWith('/detail');
  const error = (status: number, code: string): Answer => ({
    status,
    body: { error: code, error_description: 'simulated' },
  });
  switch (fault) {
    case 'refused':
      return isDetail ? error(403, 'access_denied') : undefined;
    case 'all_not_found':
      return isDetail ? error(404, 'not_found') : undefined;
    case 'empty_list':
      return isDetail
        ? undefined
        : { ...respond(), body: { ...respond().body, products: [], total: 0, has_more: false } };
    case 'no_warehouses':
    case 'first_variant':
    case 'listed_twice':
    case 'hidden_warehouse': {
      if (!isDetail) return undefined;
      const answer = respond();
      const variants = variantsOf(answer);
      return variants === null
        ? undefined
        : { ...answer, body: withVariants(answer.body, TWISTED[fault](variants)) };
    }
    case 'nonsense': {
      const answer = respond();
      const variants = variantsOf(answer);
      if (variants === null) return { ...answer, body: {} };
      return {
        ...answer,
        body: withVariants(
          answer.body,
          variants.map((variant) => ({ ...variant, available_qty: undefined })),
        ),
      };
    }
  }
}

const warehousesOf = (variant: Json): Json[] | null =>
  Array.isArray(variant['warehouses']) ? (variant['warehouses'] as Json[]) : null;

const TWISTED: Readonly<Record<DetailFault, (variants: readonly Json[]) => Json[]>> = {
  no_warehouses: (variants) =>
    variants.map((variant) => {
      if (warehousesOf(variant) === null) return variant;
      const isEmpty = Number(variant['product_variant_id']) % 3 !== 0;
      return {
        ...variant,
        warehouses: [],
        ...(isEmpty ? { available_qty: 0, on_hand: 0, reserved_qty: 0 } : {}),
      };
    }),
  first_variant: (variants) => variants.slice(0, 1),
  listed_twice: (variants) => [
    ...variants.map((variant) => {
      const [first, ...others] = warehousesOf(variant) ?? [];
      if (first === undefined) return variant;
      return {
        ...variant,
        warehouses: [first, ...others, { ...first, available_qty: Number(first['available_qty']) + 1 }],
      };
    }),
    ...variants
      .slice(0, 1)
      .filter((variant) => Number(variant['product_variant_id']) % 3 === 0)
      .map((variant) => ({ ...variant, available_qty: Number(variant['available_qty']) + 1 })),
  ],
  hidden_warehouse: (variants) =>
    variants.map((variant) => {
      const warehouses = warehousesOf(variant) ?? [];
      const hidden = warehouses.toSorted((a, b) => Number(a['wh_id']) - Number(b['wh_id']))[1];
      if (hidden === undefined) return variant;
      const without = (figure: string): number => Number(variant[figure]) - Number(hidden[figure]);
      return {
        ...variant,
        warehouses: warehouses.filter((one) => one !== hidden),
        available_qty: without('available_qty'),
        on_hand: without('on_hand'),
        reserved_qty: without('reserved_qty'),
      };
    }),
};

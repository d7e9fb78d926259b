/** Carries out a plan. */
import { OperationError } from '../../src/sandbox/shared/errors.ts';
import type { SimulatedService } from '../../src/sandbox/sandbox.ts';
import type { Answer } from '../../src/sandbox/network/reads.ts';
import { present } from '../shared/present.ts';
import { DISKS, type DiskCopy, type DiskFault, type DiskName } from './disk.ts';
import type { Lives } from './lives.ts';
import type { Machine } from './machine.ts';
import { PLAIN, type Mail } from './mail.ts';
import { STRUCTURE, type Action, type DetailFault, type Operation, type ReadFault } from './plan.ts';
import { play } from './scenes.ts';
import type { StoreSide } from './store-side.ts';
import { WORLD, type VirtualTime } from './virtual-time.ts';
import type { GlobalTime } from './globals.ts';

export interface Stage {
  readonly time: VirtualTime;
  readonly globals: GlobalTime;
  readonly random: () => number;
  readonly service: SimulatedService;
  readonly machine: Machine;
  /** The same, unless the receiver is a process of its own. */
  readonly receiver: Machine;
  readonly lives: Lives;
  readonly mail: Mail;
  readonly count: (what: string) => void;
  readonly readLatencyMs: number;
  readonly onWord: () => void;
  readonly onWordAnswered: () => void;
  readonly side: StoreSide;
  readonly onTouched: (productId: string | null) => void;
  readonly onBackUp: () => void;
  readonly onRestore: (restore: () => void, of: Extract<Action, { do: 'restore' }>['of']) => void;
  readonly mistakes: Map<ReadFault, Mistake>;
  isCut: boolean;
  backup: { readonly files: DiskCopy; readonly atMs: number } | null;
}

export function createPerformer(stage: Stage): {
  readonly perform: (action: Action) => void;
  readonly calm: () => void;
} {
  const { time, service, machine, mail, count } = stage;
  const ends = new Map<string, () => void>();
  const during = (kind: string, forMs: number, begin: () => void, end: () => void): void => {
    begin();
    ends.set(kind, end);
    time.after(forMs, WORLD, () => {
      if (ends.get(kind) !== end) return;
      ends.delete(kind);
      end();
    });
  };
  const restart = (downMs: number): void => {
    time.after(downMs, WORLD, () => void machine.start());
  };

  const distort = (fault: ReadFault, probability: number, forMs: number): void => {
    count(`reads: ${fault}`);
    during(
      `reads ${fault}`,
      forMs,
      () => setReadFault(stage, fault, probability),
      () => setReadFault(stage, fault, 0),
    );
  };
  let isOver = false;
  const ask = (productIds: readonly string[]): void => {
    stage.onWord();
    const what = productIds.length === 0 ? {} : { product_ids: productIds };
    void machine
      .ask('/api/resync', what)
      .catch(() => undefined)
      .finally(() => stage.onWordAnswered());
  };
  const props = {
    time,
    service,
    mail,
    ask,
    count,
    side: stage.side,
    onTouched: stage.onTouched,
    distort: (fault: DetailFault, forMs: number) => distort(fault, 1, forMs),
    isOver: () => isOver,
  };

  const perform = (action: Action): void => {
    switch (action.do) {
      case 'operation':
        mail.nextFate = action.fate;
        try {
          operate(service, action.what, action);
          if (STRUCTURE.includes(action.what)) stage.onTouched(null);
          count(`operation: ${action.what}`);
        } catch (error) {
          if (!(error instanceof OperationError)) throw error;
        }
        mail.nextFate = PLAIN;
        return;
      case 'future': {
        mail.nextFate = action.fate;
        service.clock.offsetMs += action.aheadMs;
        try {
          operate(service, 'add', { a: action.a, b: 0, c: action.b });
          count(action.aheadMs > 300_000 ? 'future-dated timestamp' : 'timestamp ahead');
        } catch (error) {
          if (!(error instanceof OperationError)) throw error;
        }
        service.clock.offsetMs -= action.aheadMs;
        mail.nextFate = PLAIN;
        return;
      }
      case 'reads':
        distort(action.fault, action.probability, action.forMs);
        return;
      case 'cut':
        count('no way to the service');
        during(
          'cut',
          action.forMs,
          () => (stage.isCut = true),
          () => (stage.isCut = false),
        );
        return;
      case 'expire_tokens':
        count('all tokens expired');
        service.oauth.expireAllTokens();
        return;
      case 'expire_channel':
        count('credentials refused');
        during(
          'channel',
          action.forMs,
          () => {
            service.oauth.channelExpired = true;
            service.oauth.expireAllTokens();
          },
          () => (service.oauth.channelExpired = false),
        );
        return;
      case 'kill':
        if (!machine.isRunning) return;
        count(action.effects === null ? 'kill' : 'kill between two effects');
        if (action.effects === null) machine.kill();
        else machine.killAfter(action.effects);
        restart(action.downMs + (action.effects ?? 0));
        return;
      case 'stop':
        if (!machine.isRunning) return;
        count('orderly stop');
        void machine.stop().then(() => restart(action.downMs));
        return;
      case 'stand_still':
        count('the process stands still');
        machine.standStill(action.forMs);
        return;
      case 'disk':
        during(
          `disk ${action.of}`,
          action.forMs,
          () => setFault(machine, action.of, action.fault),
          () => setFault(machine, action.of, null),
        );
        return;
      case 'slow_disk':
        count('slow disk');
        during(
          `slow disk ${action.of}`,
          action.forMs,
          () => setSlowness(stage, action.of, action.commitMs),
          () => setSlowness(stage, action.of, 0),
        );
        return;
      case 'mirror_clock':
        count(action.byMs < 0 ? "mirror's clock set back" : "mirror's clock set forward");
        stage.globals.wallOffsetMs += action.byMs;
        return;
      case 'service_clock':
        count(action.byMs < 0 ? "service's clock set back" : "service's clock set forward");
        service.clock.offsetMs += action.byMs;
        return;
      case 'resync': {
        count(action.products === null ? 'operator reads everything' : 'operator reads products');
        ask(service.truth.products.slice(0, action.products ?? 0).map((product) => product.id));
        return;
      }
      case 'scene':
        try {
          play(props, action);
          count(`scene: ${action.scene}`);
        } catch (error) {
          if (!(error instanceof OperationError)) throw error;
        }
        return;
      case 'life':
      case 'half_stands_still':
      case 'suspend_machine':
      case 'set_wall_clock':
      case 'keep_copy':
      case 'files_while_running':
        stage.lives.perform(action);
        return;
      case 'unknown_event':
        mail.sendUnknownEvent();
        return;
      case 'unknown_variants':
        mail.sendUnknownVariants(action.count);
        return;
      case 'replay':
        mail.replay(action.back);
        return;
      case 'back_up':
        if (!machine.isRunning) return;
        count('backup');
        stage.onBackUp();
        return;
      case 'restore':
        // The inbox notes issued numbers within a second, so no older copy fits.
        if (action.of === 'nothing') count('the mirror is lost');
        else if (!machine.isRunning || stage.backup === null || time.nowMs < stage.backup.atMs + 3_000)
          return;
        else count(action.of === 'mirror' ? 'restored mirror' : `restored backup (${action.of})`);
        machine.kill();
        time.after(1, WORLD, () => {
          stage.onRestore(() => restoreFiles(stage, action.of), action.of);
          restart(action.downMs);
        });
    }
  };

  return {
    perform,
    calm: () => {
      for (const end of ends.values()) end();
      ends.clear();
      isOver = true;
      stage.lives.calm();
      stage.side.forget();
    },
  };
}

function operate(
  { operations, truth }: SimulatedService,
  what: Operation,
  { a, b, c }: { readonly a: number; readonly b: number; readonly c: number },
): void {
  const pick = <T>(items: readonly T[], index: number): T => {
    if (items.length === 0) throw new OperationError('nothing to choose from');
    return present(items[((index % items.length) + items.length) % items.length]);
  };
  const live = truth.variants.filter((variant) => truth.variant(variant.id) !== undefined);
  const stocked = live.filter((variant) => variant.levels.length > 0);
  const assembled = live.filter(({ kind }) => kind === 'assembled');
  const listed = live.filter(({ kind }) => kind !== 'pulled');
  const deleted = truth.products.filter((product) => product.deleted);
  const stockLevel = (): { variantId: string; warehouseId: string } => {
    const variant = pick(stocked, a);
    return { variantId: variant.id, warehouseId: pick(variant.levels, b).warehouseId };
  };
  const stock = [{ warehouseId: pick(truth.warehouseIds, b), qty: c % 50 }];
  switch (what) {
    case 'adjust':
      // Few different values, so that chains come back to where they were.
      operations.adjust({ ...stockLevel(), to: c % 5 });
      return;
    case 'add':
      operations.add({ ...stockLevel(), by: (c % 9) - 4 || 1 });
      return;
    case 'order':
      operations.reserve([
        { variantId: pick(live, a).id, qty: 1 + (c % 2) },
        ...(c % 3 === 0 ? [{ variantId: pick(live, c).id, qty: 1 }] : []),
      ]);
      return;
    case 'cancel':
    case 'ship': {
      const order = operations.orders.at(c % Math.max(1, operations.orders.size));
      if (order === undefined) throw new OperationError('no open order');
      operations[what](order.id);
      return;
    }
    case 'flip':
      operations.flip({ ...stockLevel(), by: 1 + (c % 3) });
      return;
    case 'burst':
      operations.burst({ ...stockLevel(), by: [1 + (c % 2), -1, 2].slice(0, 2 + (c % 2)) });
      return;
    case 'assemble':
    case 'disassemble':
      operations[what]({ variantId: pick(assembled, a).id, units: 1 + (c % 2) });
      return;
    case 'create_product':
      operations.createProduct({ variants: [{ stock }, ...(c % 3 === 0 ? [{ stock: [] }] : [])] });
      return;
    case 'create_variant':
      operations.createVariant(pick(truth.products, a).id, { stock });
      return;
    case 'add_warehouse':
      operations.addWarehouse({ variantId: pick(listed, a).id, ...present(stock[0]) });
      return;
    case 'remove_warehouse': {
      const spread = listed.filter(({ levels }) => levels.length > 1);
      const variant = pick(spread, a);
      operations.removeWarehouse({ variantId: variant.id, warehouseId: pick(variant.levels, b).warehouseId });
      return;
    }
    case 'delete_variant':
      operations.deleteVariant(pick(live, a).id);
      return;
    case 'move_variant':
      operations.moveVariant(pick(live, a).id, pick(truth.products, c).id);
      return;
    case 'delete_product':
      operations.deleteProduct(pick(truth.products, a + c).id);
      return;
    case 'restore_product':
      operations.restoreProduct(pick(deleted, a).id);
      return;
    case 'rename':
      operations.renameProduct(pick(truth.products, a).id, `renamed ${c}`);
  }
}

/** @param probability 0 ends it. */
function setReadFault(
  { service, time, random, readLatencyMs, mistakes }: Stage,
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

type Mistake = (endpoint: string, respond: () => Answer) => Promise<Answer | undefined>;

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

type DeedOf = DiskName | 'both';

function setFault({ disk }: Machine, of: DeedOf, fault: DiskFault | null): void {
  for (const name of DISKS) if (of === 'both' || of === name) disk.faults[name] = fault;
}

function setSlowness({ machine, receiver }: Stage, of: DeedOf, commitMs: number): void {
  if (of !== 'mirror') receiver.slowCommitMs = commitMs;
  if (of !== 'inbox') machine.slowApplyMs = commitMs;
}

function restoreFiles({ machine: { disk }, backup }: Stage, of: DiskName | 'nothing'): void {
  if (of === 'nothing') disk.lose('mirror');
  else {
    const { journal, ...files } = present(backup).files;
    disk.restore({ [of]: files[of], ...(of === 'mirror' ? { journal } : {}) });
  }
}

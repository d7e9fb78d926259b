/** Carries out a plan. */
import { OperationError } from '../../src/sandbox/shared/errors.ts';
import type { SimulatedService } from '../../src/sandbox/sandbox.ts';
import { present } from '../shared/present.ts';
import { DISKS, type DiskCopy, type DiskFault, type DiskName } from './disk.ts';
import type { Lives } from './lives.ts';
import type { Machine } from './machine.ts';
import { PLAIN, type Mail } from './mail.ts';
import { operate } from './operate.ts';
import { SCENES, STRUCTURE, type Action, type DetailFault, type ReadFault } from './plan.ts';
import { setReadFault, type Mistake } from './read-faults.ts';
import type { Proxy } from './proxy.ts';
import { play } from './scenes.ts';
import type { Secrets } from './secrets.ts';
import type { StoreSide } from './store-side.ts';
import type { Strangers } from './strangers.ts';
import type { Undisturbed } from './undisturbed.ts';
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
  readonly proxy: Proxy;
  readonly strangers: Strangers;
  readonly secrets: Secrets;
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
  readonly undisturbed: Undisturbed;
  isCut: boolean;
  backup: { readonly files: DiskCopy; readonly atMs: number } | null;
}

/** Everything else is a change or a loss, or happens in front of the port. */
const isDisturbance = ({ do: what }: Action): boolean =>
  !['operation', 'future', 'strangers', 'proxy', 'send_test', 'unknown_event', 'replay'].includes(what);
const OUTSIDE: ReadonlySet<string> = new Set(['strangers', 'proxy']);

export function createPerformer(stage: Stage): {
  readonly perform: (action: Action) => void;
  /** Something lasts that disturbs the mirror. */
  readonly isDisturbing: () => boolean;
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
      if (!OUTSIDE.has(kind)) stage.undisturbed.note();
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
    if (isDisturbance(action)) stage.undisturbed.note();
    if (action.do === 'scene') stage.undisturbed.note(time.nowMs + SCENES[action.scene]);
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
      case 'strangers':
        during(
          'strangers',
          action.forMs,
          () => stage.strangers.begin(action),
          () => stage.strangers.end(),
        );
        return;
      case 'proxy':
        count(`proxy: ${action.fault}`);
        during(
          'proxy',
          action.forMs,
          () => stage.proxy.begin(action.fault),
          () => stage.proxy.end(),
        );
        return;
      case 'secret':
        count(`secret: ${action.how}`);
        during(
          'secret',
          action.forMs,
          () => stage.secrets.begin(action.how),
          () => stage.secrets.putRight(),
        );
        return;
      case 'send_test':
        mail.sendTest(stage.receiver.webhookSecrets[0]);
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
    isDisturbing: () => [...ends.keys()].some((kind) => !OUTSIDE.has(kind)),
    calm: () => {
      if (ends.size > 0) stage.undisturbed.note();
      for (const end of ends.values()) end();
      ends.clear();
      isOver = true;
      stage.lives.calm();
      stage.side.forget();
    },
  };
}

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

/** Carries out life cycles: ends the process or the machine, changes what it finds at the next start, and starts it. */
import type { SimulatedService } from '../../src/sandbox/sandbox.ts';
import { present } from '../shared/present.ts';
import { asBackup, DISKS, type Disk, type DiskCopy, type DiskName } from './disk.ts';
import type { GlobalTime } from './globals.ts';
import { KernelSocket } from './kernel-socket.ts';
import type { FileDeed, Half, LifeDeed, Settings } from './life-plan.ts';
import type { Machine } from './machine.ts';
import { WORLD, type VirtualTime } from './virtual-time.ts';

interface LivesOptions {
  readonly time: VirtualTime;
  readonly globals: GlobalTime;
  /** The same machine twice if one process runs both halves. */
  readonly receiver: Machine;
  readonly mirror: Machine;
  readonly service: SimulatedService;
  /** Room of the passed socket's accept queue; null if the process opens its own socket. */
  readonly socketRoom: number | null;
  readonly count: (what: string) => void;
  /** Called with the change to the files, which no reader may have open. */
  readonly onFiles: (change: () => void, how: FileChange) => void;
  readonly onCopy: () => void;
}

interface FileChange {
  readonly of: readonly DiskName[];
  /** Whether the files are as they were when the copy was kept; otherwise their content is lost. */
  readonly isCopy: boolean;
}

/** The service manager starts a process again that has ended by itself. */
const RESTART_MS = 2_000;
/** The operator looks for a start that keeps failing, or for a foreign file. */
const OPERATOR_MS = 15_000;
/** A process that has not reached its planned kill by then is killed anyway. */
const KILL_WITHIN_MS = 5_000;
/** A younger copy could have a heartbeat that still counts. */
const COPY_AGE_MS = 12_000;

type LifeOf = Extract<LifeDeed, { do: 'life' }>;

export class Lives {
  readonly #options: LivesOptions;
  readonly #disk: Disk;
  readonly #isDown = new Set<Machine>();
  /** Between a power cut, or an end of the system, and the next boot. */
  isMachineOff = false;
  /** A reader knows only the wall clock: set back, it may show the time of the last heartbeat of a mirror that is down. */
  isClockBackWhileDown = false;
  #sockets = 0;
  #copy: { readonly files: DiskCopy; readonly atMs: number } | null = null;
  #isSecretReplaced = false;
  /** A file that keeps the process from starting may need an operator. */
  #damaged: FileDeed | null = null;

  constructor(options: LivesOptions) {
    this.#options = options;
    this.#disk = options.mirror.disk;
    this.#openSocket();
  }

  perform(action: LifeDeed): void {
    const { time, count } = this.#options;
    switch (action.do) {
      case 'life': {
        const isBoot = action.end === 'power_cut' || action.end === 'reboot';
        const machines = this.#machines(isBoot ? 'both' : action.half);
        if (!this.#areUp(machines)) return;
        for (const machine of machines) this.#isDown.add(machine);
        count(`life: ${action.end}`);
        if (machines.length < this.#machines('both').length) count(`life of one half: ${action.half}`);
        void this.#end(action, machines).then(() =>
          time.after(1, WORLD, () => this.#whileDown(action, machines, { isBoot })),
        );
        return;
      }
      case 'half_stands_still': {
        const machines = this.#machines(action.half);
        if (!this.#areUp(machines)) return;
        count('one half stands still');
        for (const machine of machines) machine.standStill(action.forMs);
        return;
      }
      case 'suspend_machine':
        if (!this.#areUp(this.#machines('both'))) return;
        count('the machine is suspended');
        for (const machine of this.#machines('both')) machine.suspend(action.forMs);
        return;
      case 'set_wall_clock':
        this.#setClock(action.byMs);
        return;
      case 'keep_copy': {
        if (!this.#areUp(this.#machines('both'))) return;
        const files = this.#disk.backUp();
        if (files === null) return;
        count('copy kept');
        this.#copy = { files, atMs: time.nowMs };
        this.#options.onCopy();
        return;
      }
      case 'files_while_running': {
        if (!this.#areUp(this.#machines('both'))) return;
        const { of, how } = action;
        this.#damage({ of, how, at: 0 });
        this.#helpLater();
      }
    }
  }

  #machines(half: Half): readonly Machine[] {
    const { receiver, mirror } = this.#options;
    if (receiver === mirror || half === 'mirror') return [mirror];
    return half === 'receiver' ? [receiver] : [receiver, mirror];
  }

  #areUp(machines: readonly Machine[]): boolean {
    return machines.every(
      (machine) => !this.#isDown.has(machine) && machine.isRunning && !machine.isSuspended,
    );
  }

  /** A process or its start has failed. */
  failed(machine: Machine): void {
    this.#options.count('the process ended by itself');
    this.#options.time.after(RESTART_MS, WORLD, () => {
      if (!this.#isDown.has(machine)) void machine.start();
    });
  }

  /** Ends every trouble; an operator has removed what keeps the process from starting. */
  calm(): void {
    this.#help();
  }

  end(): void {
    this.#closeSocket();
  }

  #closeSocket(): void {
    const { receiver } = this.#options;
    receiver.socket?.close();
    receiver.socket = null;
  }

  async #end({ end, effects }: LifeOf, machines: readonly Machine[]): Promise<void> {
    if (end === 'stop' || end === 'reboot') {
      await Promise.all(machines.map((machine) => machine.stop()));
    } else if (end === 'power_cut') {
      const cut = (): void => {
        for (const machine of machines) machine.end();
        this.#disk.cutPower();
      };
      this.#options.onFiles(cut, { of: [], isCopy: false });
    } else {
      await Promise.all(machines.map((machine) => this.#kill(machine, effects)));
    }
  }

  async #kill(machine: Machine, effects: number | null): Promise<void> {
    const { time } = this.#options;
    if (effects !== null) {
      await new Promise<void>((resolve) => {
        machine.killAfter(effects, resolve);
        time.after(KILL_WITHIN_MS, WORLD, resolve);
      });
      machine.cancelKill();
    }
    machine.kill();
  }

  #whileDown(
    { isInodeEqual, downMs, isSocketNew, wallStepMs, files, settings }: LifeOf,
    machines: readonly Machine[],
    { isBoot }: { readonly isBoot: boolean },
  ): void {
    const { time, globals, receiver, count } = this.#options;
    if (files !== null) this.#damage(files);
    if (wallStepMs !== 0) this.#setClock(wallStepMs);
    this.isMachineOff = isBoot;
    if (isBoot) this.#closeSocket();
    else if (isSocketNew && machines.includes(receiver)) this.#openSocket();
    if (settings !== null) this.#set(settings, machines);
    time.after(downMs, WORLD, () => {
      if (isBoot) {
        this.isMachineOff = false;
        globals.bootedAtMs = time.nowMs;
        this.#openSocket({ isInodeEqual });
      }
      if (receiver.socket?.isFull === true) count('the accept queue was full');
      for (const machine of machines) {
        this.#isDown.delete(machine);
        if (machine === this.#options.mirror) this.isClockBackWhileDown = false;
        void machine.start();
      }
      if (files !== null) this.#helpLater();
    });
  }

  #setClock(byMs: number): void {
    this.#options.count(`wall clock ${byMs < 0 ? 'back' : 'forward'} ${Math.abs(byMs) / 1_000} s`);
    this.#options.globals.wallOffsetMs += byMs;
    if (byMs < 0 && this.#isDown.has(this.#options.mirror)) this.isClockBackWhileDown = true;
  }

  #openSocket({ isInodeEqual } = { isInodeEqual: false }): void {
    const { receiver, socketRoom } = this.#options;
    if (socketRoom === null) return;
    this.#closeSocket();
    if (!isInodeEqual) this.#sockets += 1;
    receiver.socket = new KernelSocket(this.#disk.folder, `socket-${this.#sockets}`, socketRoom);
  }

  #set({ isSecretReplaced, ...settings }: Settings, machines: readonly Machine[]): void {
    const { receiver, service, count } = this.#options;
    count('settings changed');
    for (const machine of machines) machine.settings = settings;
    if (!isSecretReplaced || this.#isSecretReplaced || !machines.includes(receiver)) return;
    this.#isSecretReplaced = true;
    count('secret replaced');
    const previous = service.network.webhookSecret;
    service.network.webhookSecret = `${previous}-replaced`;
    for (const machine of this.#machines('both'))
      machine.webhookSecrets = [service.network.webhookSecret, previous];
  }

  #damage(action: FileDeed): void {
    const { time, count, onFiles } = this.#options;
    const { of, how, at } = action;
    const names = DISKS.filter((name) => of === 'both' || of === name);
    if (how === 'older' || how === 'backup') {
      const copy = this.#copy;
      if (copy === null || time.nowMs < copy.atMs + COPY_AGE_MS) return;
      const { inbox, mirror, journal } = copy.files;
      const file = how === 'backup' ? asBackup(mirror) : mirror;
      const restored = {
        ...(names.includes('inbox') ? { inbox } : {}),
        ...(names.includes('mirror') ? { mirror: file, journal } : {}),
      };
      onFiles(() => this.#disk.restore(restored), { of: names, isCopy: true });
    } else {
      onFiles(
        () => {
          for (const name of names) this.#disk.damage(name, how, at);
        },
        { of: names, isCopy: false },
      );
    }
    this.#damaged = action;
    count(`files: ${how} ${of}`);
  }

  #helpLater(): void {
    this.#options.time.after(OPERATOR_MS, WORLD, () => this.#help());
  }

  /** Removes files with which no process can start, and a mirror that belongs to another program. */
  #help(): void {
    const { time, receiver, count, onFiles } = this.#options;
    if (this.#damaged === null) return;
    // No operator works on a suspended machine, and a machine that is down has not tried to start.
    if (this.#isDown.size > 0 || this.#machines('both').some((machine) => machine.isSuspended)) {
      this.#helpLater();
      return;
    }
    const isStuck = !receiver.isRunning;
    const inTheWay = DISKS.filter(
      (name) => this.#disk.isForeign(name) || (isStuck && name === 'inbox' && this.#isOf('inbox')),
    );
    if (inTheWay.length === 0) return;
    count('the operator removed a file');
    const machines = this.#machines('both');
    for (const machine of machines) machine.kill();
    time.after(1, WORLD, () => {
      onFiles(
        () => {
          for (const name of inTheWay) this.#disk.lose(name);
        },
        { of: inTheWay, isCopy: false },
      );
      for (const machine of machines) void machine.start();
    });
  }

  #isOf(name: DiskName): boolean {
    const { of } = present(this.#damaged);
    return of === 'both' || of === name;
  }
}

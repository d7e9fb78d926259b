/** Carries out life cycles: ends the process or the machine, changes what it finds at the next start, and starts it. */
import type { SimulatedService } from '../../src/sandbox/sandbox.ts';
import { present } from '../shared/present.ts';
import { asBackup, DISKS, type DiskCopy, type DiskName } from './disk.ts';
import type { GlobalTime } from './globals.ts';
import { KernelSocket } from './kernel-socket.ts';
import { isDrawn, type FileDeed, type LifeDeed, type Settings } from './life-plan.ts';
import type { Machine } from './machine.ts';
import { WORLD, type VirtualTime } from './virtual-time.ts';

interface LivesOptions {
  readonly time: VirtualTime;
  readonly globals: GlobalTime;
  readonly machine: Machine;
  readonly service: SimulatedService;
  /** Room of the passed socket's accept queue; null if the process opens its own socket. */
  readonly socketRoom: number | null;
  readonly count: (what: string) => void;
  /** Called with the change to the files, which no reader may have open. */
  readonly onFiles: (change: () => void, how: FileChange) => void;
  readonly onCopy: () => void;
}

export interface FileChange {
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

export class Lives {
  readonly #options: LivesOptions;
  #sockets = 0;
  #isDown = false;
  #copy: { readonly files: DiskCopy; readonly atMs: number } | null = null;
  #isSecretReplaced = false;
  #wasSetBack = false;
  /** A file that keeps the process from starting may need an operator. */
  #damaged: FileDeed | null = null;

  constructor(options: LivesOptions) {
    this.#options = options;
    this.#openSocket();
  }

  perform(deed: LifeDeed): void {
    const { time, globals, machine, count } = this.#options;
    switch (deed.do) {
      case 'life':
        if (!this.#isUp) return;
        this.#isDown = true;
        void this.#end(deed).then(() => time.after(1, WORLD, () => this.#whileDown(deed)));
        return;
      case 'suspend_machine':
        if (!this.#isUp) return;
        if (this.#wasSetBack && !isDrawn('suspension after the clock was set back')) return;
        count('the machine is suspended');
        machine.suspend(deed.forMs, () => (globals.suspendedMs += deed.forMs));
        return;
      case 'set_wall_clock':
        this.#setClock(deed.byMs);
        return;
      case 'keep_copy': {
        if (!this.#isUp) return;
        const files = machine.disk.backUp();
        if (files === null) return;
        count('copy kept');
        this.#copy = { files, atMs: time.nowMs };
        this.#options.onCopy();
        return;
      }
      case 'files_while_running': {
        if (!this.#isUp) return;
        const { of, how } = deed;
        this.#damage({ of, how, at: 0 });
        this.#helpLater();
      }
    }
  }

  get #isUp(): boolean {
    const { machine } = this.#options;
    return !this.#isDown && machine.isRunning && !machine.isSuspended;
  }

  /** The process or its start has failed. */
  failed(): void {
    this.#options.count('the process ended by itself');
    this.#options.time.after(RESTART_MS, WORLD, () => {
      if (!this.#isDown) void this.#options.machine.start();
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
    const { machine } = this.#options;
    machine.socket?.close();
    machine.socket = null;
  }

  async #end({ end, effects }: Extract<LifeDeed, { do: 'life' }>): Promise<void> {
    const { time, machine, count } = this.#options;
    count(`life: ${end}`);
    if (end === 'stop' || end === 'reboot') await machine.stop();
    else if (end === 'power_cut') {
      this.#options.onFiles(() => machine.cutPower(), { of: [], isCopy: false });
    } else if (effects === null) machine.kill();
    else {
      await new Promise<void>((resolve) => {
        machine.killAfter(effects, resolve);
        time.after(KILL_WITHIN_MS, WORLD, resolve);
      });
      machine.cancelKill();
      machine.kill();
    }
  }

  #whileDown({
    end,
    isInodeEqual,
    downMs,
    isSocketNew,
    wallStepMs,
    files,
    settings,
  }: Extract<LifeDeed, { do: 'life' }>): void {
    const { time, globals, machine, count } = this.#options;
    if (files !== null) this.#damage(files);
    if (wallStepMs !== 0) this.#setClock(wallStepMs);
    const isBoot = end === 'power_cut' || end === 'reboot';
    if (isBoot) this.#closeSocket();
    else if (isSocketNew) this.#openSocket();
    if (settings !== null) this.#set(settings);
    time.after(downMs, WORLD, () => {
      this.#isDown = false;
      if (isBoot) {
        globals.bootedAtMs = time.nowMs;
        this.#openSocket({ isInodeEqual });
      }
      if (machine.socket?.isFull === true) count('the accept queue was full');
      void machine.start();
      if (files !== null) this.#helpLater();
    });
  }

  #setClock(byMs: number): void {
    this.#options.count(`wall clock ${byMs < 0 ? 'back' : 'forward'} ${Math.abs(byMs) / 1_000} s`);
    this.#options.globals.wallOffsetMs += byMs;
    this.#wasSetBack ||= byMs < 0;
  }

  #openSocket({ isInodeEqual } = { isInodeEqual: false }): void {
    const { machine, socketRoom } = this.#options;
    if (socketRoom === null) return;
    this.#closeSocket();
    if (!isInodeEqual) this.#sockets += 1;
    machine.socket = new KernelSocket(machine.disk.folder, `socket-${this.#sockets}`, socketRoom);
  }

  #set({ isSecretReplaced, ...settings }: Settings): void {
    const { machine, service, count } = this.#options;
    count('settings changed');
    machine.settings = settings;
    if (!isSecretReplaced || this.#isSecretReplaced) return;
    this.#isSecretReplaced = true;
    count('secret replaced');
    const previous = service.network.webhookSecret;
    service.network.webhookSecret = `${previous}-replaced`;
    machine.webhookSecrets = [service.network.webhookSecret, previous];
  }

  #damage(deed: FileDeed): void {
    const { time, machine, count, onFiles } = this.#options;
    const { of, how, at } = deed;
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
      onFiles(() => machine.disk.restore(restored), { of: names, isCopy: true });
    } else {
      onFiles(
        () => {
          for (const name of names) machine.disk.damage(name, how, at);
        },
        { of: names, isCopy: false },
      );
    }
    this.#damaged = deed;
    count(`files: ${how} ${of}`);
  }

  #helpLater(): void {
    this.#options.time.after(OPERATOR_MS, WORLD, () => {
      if (!this.#isDown) this.#help();
    });
  }

  /** Removes files with which no process can start, and a mirror that belongs to another program. */
  #help(): void {
    const { time, machine, count, onFiles } = this.#options;
    if (this.#damaged === null) return;
    const isStuck = !machine.isRunning;
    const inTheWay = DISKS.filter(
      (name) => machine.disk.isForeign(name) || (isStuck && name === 'inbox' && this.#isOf('inbox')),
    );
    if (inTheWay.length === 0) return;
    count('the operator removed a file');
    machine.kill();
    time.after(1, WORLD, () => {
      onFiles(
        () => {
          for (const name of inTheWay) machine.disk.lose(name);
        },
        { of: inTheWay, isCopy: false },
      );
      void machine.start();
    });
  }

  #isOf(name: DiskName): boolean {
    const { of } = present(this.#damaged);
    return of === 'both' || of === name;
  }
}

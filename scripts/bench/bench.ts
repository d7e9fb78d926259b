/** What the parts of a measurement share. */
import type { Row } from './row.ts';

export interface Bench {
  /** A short look: fewer rounds, smaller catalogues. */
  readonly quick: boolean;
  /** A folder that is removed in the end. */
  readonly folder: string;
  /** The same, in memory where there is room for it: what is measured there is not the disk, which others use too. */
  readonly memoryFolder: string;
  /** Reports progress to a waiting person. */
  readonly say: (text: string) => void;
  /** More than a row can show, printed below the table. */
  readonly append: (lines: readonly string[]) => void;
}

export interface Part {
  readonly id: string;
  readonly title: string;
  /** Not measured unless it is asked for: it takes minutes. */
  readonly onRequest?: boolean;
  /**
   * `background`: long, and next to no work for the machine: begun first, the others meanwhile. `tolerant`: may run
   * beside that. The rest have the machine to themselves.
   */
  readonly pace?: 'background' | 'tolerant';
  readonly run: (bench: Bench) => Promise<readonly Row[]>;
}
